"""Draws of some of the items."""

from __future__ import annotations

import numpy as np

from epluribus._typing import IntArray
from epluribus.draws.draws import Draws


def only_these(draws: Draws, items: IntArray) -> Draws:
    """All draws of some of the items, given by number; items without names are named by their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> from epluribus.draws.part import only_these
    >>> only_these(epl.Draws([[0, 0, 1], [0, 1, 1]]), np.array([0, 2])).items
    ('0', '2')
    """
    rows = np.ascontiguousarray(draws.store.rows(items).T)[draws.index]
    names = [draws.item_names[i] for i in items]
    return Draws(rows, weights=draws.draw_weights, items=names, chains=draws.chains)
