"""Where chains begin: far apart by default, so that agreement between them means something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._validate import check_choice
from epluribus.partition import as_labels

if TYPE_CHECKING:
    from epluribus._typing import IntArray
    from epluribus.models.base import Model, Side

__all__ = ["check_start", "first_labels"]

_NAMES = ("dispersed", "one", "many", "random")


def check_start(start: Any, model: Model, n_chains: int) -> str | list[tuple[IntArray, ...]]:
    """The name of a kind of start, or the labels of each chain and side."""
    if isinstance(start, str):
        return check_choice(start, _NAMES, "start")
    if len(model.sides) == 1:
        tables = [_tables(start, model.sides[0], n_chains)]
    else:
        if not isinstance(start, tuple | list) or len(start) != len(model.sides):
            names = " and ".join(side.name for side in model.sides)
            raise TypeError(f"'start' must be a name or two sets of labels, of {names}.")
        pairs = zip(start, model.sides, strict=True)
        tables = [_tables(own, side, n_chains) for own, side in pairs]
    return list(zip(*tables, strict=True))


def _tables(start: Any, side: Side, n_chains: int) -> list[IntArray]:
    """Canonical labels of one side for every chain."""
    table = np.asarray(start)
    if table.ndim == 1:
        table = np.broadcast_to(table, (n_chains, table.size))
    if table.shape != (n_chains, side.n_items):
        raise ValueError(
            f"'start' must have {side.n_items} labels, one for each of the {side.name}, or one "
            "such row for "
            f"each of the {n_chains} chains; got shape {np.shape(start)}."
        )
    rows = [as_labels(row, argument="start") for row in table]
    slots = side.tables.slots
    for number, row in enumerate(rows):
        if row.max() >= slots:
            raise ValueError(
                f"'start' must have at most {slots} clusters, the bound of the prior; chain "
                f"{number} has "
                f"{row.max() + 1}."
            )
    return rows


def first_labels(
    start: str, side: Side, slots: int, chain: int, rng: np.random.Generator
) -> IntArray:
    """Labels of the given kind.

    `one`: one cluster; `many`: as many as the prior allows; `random`: uniform labels among a random
    number of clusters; `dispersed`: the first chain `one`, the second `many`, the others `random`.
    """
    kind = ("one", "many", "random")[min(chain, 2)] if start == "dispersed" else start
    if kind == "one":
        return np.zeros(side.n_items, dtype=np.int64)
    if kind == "many":
        return np.asarray(as_labels(rng.permutation(np.arange(side.n_items) % slots)))
    k = int(rng.integers(1, slots + 1))
    return np.asarray(as_labels(rng.integers(0, k, side.n_items)))
