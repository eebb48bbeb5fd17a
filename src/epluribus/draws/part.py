"""Draws of some of the items."""

from __future__ import annotations

import numpy as np

from epluribus._typing import AnyArray, IntArray
from epluribus.draws.draws import Draws
from epluribus.readers.source import Source


def only_these(draws: Draws, items: IntArray) -> Draws:
    """All draws of some of the items, given by number; items without names are named by their numbers.

    Draws that have seen none of these items are left out.

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> from epluribus.draws.part import only_these
    >>> only_these(epl.Draws([[0, 0, 1], [0, 1, 1]]), np.array([0, 2])).items
    ('0', '2')
    """
    rows: AnyArray = np.ascontiguousarray(draws.store.rows(items).T)[draws.index]
    keep, names = np.arange(draws.n_draws), draws.item_names
    if draws.has_missing:
        keep, rows = np.flatnonzero((rows > 0).any(axis=1)), np.ma.masked_equal(rows, 0)
    source = Source(
        rows[keep],
        [names[i] for i in items],
        draws.chains[keep],
        draws.variable,
        draws.dimension,
    )
    return Draws(source, weights=draws.draw_weights[keep], kind=draws.kind)
