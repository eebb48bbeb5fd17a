"""Which items an estimate leaves undecided, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus._text import plain_table, to_frame
from epluribus._typing import DrawsLike, FloatArray, IntArray
from epluribus.draws import as_draws
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.partition import check_estimate
from epluribus.search.problem import Problem
from epluribus.search.rules import added_by_each, price_of

_SHOWN = 15
"""Rows that are printed."""


@dataclass(frozen=True, repr=False, eq=False)
class LeftOut:
    """The undecided items, those first that would add most to the loss."""

    names: tuple[str, ...]
    """Their names."""
    numbers: IntArray
    """Their numbers."""
    adds: FloatArray
    """What each would add to the expected loss in the cluster that suits it best, in the unit of the cost."""
    cost: float
    """The cost of leaving an item out."""
    places: IntArray
    """(n, 2) the two clusters that it is with most; -1 if there is no other."""
    probabilities: FloatArray
    """(n, 2) mean probability of sharing a cluster with the items of these; NaN if there is no other."""
    alone: FloatArray
    """Probability of being alone."""
    loss: Loss
    """The loss."""

    def columns(self) -> dict[str, Any]:
        """The table as lists and arrays by name."""
        return {
            "item": list(self.names),
            "adds": self.adds,
            "cluster": self.places[:, 0],
            "probability": self.probabilities[:, 0],
            "second": self.places[:, 1],
            "second_probability": self.probabilities[:, 1],
            "alone": self.alone,
        }

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame, indexed by item."""
        return to_frame(self.columns(), index="item")

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"LeftOut({len(self)} items, cost={self.cost:g}, loss={self.loss.name!r})"

    def __str__(self) -> str:
        if len(self) == 0:
            return "No item is undecided."
        table = {
            name: [
                np.nan if name in ("cluster", "second") and x < 0 else x for x in values[:_SHOWN]
            ]
            for name, values in self.columns().items()
        }
        more = len(self) - _SHOWN
        lines = plain_table({name: list(values) for name, values in table.items()})
        return "\n".join([*lines, *([f"and {more:,} more"] if more > 0 else [])])


def left_out(best: Estimate, draws: DrawsLike) -> LeftOut:
    """The items that an estimate leaves undecided: what each would add, and where it might belong.

    Parameters
    ----------
    best : Estimate
        Made by `minimize` with a cost for `undecided` items.
    draws : Draws or array_like of shape (n_draws, n_items)
        The draws that it was made from.

    Returns
    -------
    LeftOut
        A table, the most expensive items first.

    Notes
    -----
    `adds` is compared with the cost: it is how much the expected loss of the decided items would rise if the
    item joined the cluster that suits it best, or a new one, in bits for VI and in pairs of items for
    Binder's loss. It may be below the cost where constraints keep the item out of that cluster.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1, 0], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1]]
    >>> best = epl.minimize(draws, undecided=0.5, rng=1)
    >>> print(epl.uncertainty.left_out(best, draws))
    item   adds  cluster  probability  second  second_probability   alone
    4     1.837        0       0.3333       1              0.3333  0.3333
    """
    check_estimate(best)
    sample, n = as_draws(draws), len(best.labels)
    if best.settings.undecided is None:
        raise ValueError(
            "'best' must be an estimate that may leave items undecided, made by minimize with 'undecided'."
        )
    if sample.n_items != n:
        raise ValueError(f"'draws' must have the {n} items of 'best'; got {sample.n_items}.")
    out = best.undecided
    problem = Problem.of(sample, best.loss)
    unit = problem.total_weight * price_of(best.loss, 1.0, n)
    adds = added_by_each(problem, best.labels, out) / unit
    order = np.argsort(-adds, kind="stable")
    out, adds = out[order], adds[order]
    places, probabilities, alone = _affinities(best, sample.item_major, sample.shares, out)
    names = tuple(sample.item_names[i] for i in out)
    cost = best.settings.undecided
    return LeftOut(names, out, adds, cost, places, probabilities, alone, best.loss)


def _affinities(
    best: Estimate, table: Any, shares: FloatArray, items: IntArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """The two clusters that each item is with most, how much, and how often it is alone."""
    inside, sizes = best.labels >= 0, best.sizes
    places = np.full((len(items), 2), -1)
    probabilities, alone = np.full((len(items), 2), np.nan), np.zeros(len(items))
    for q, i in enumerate(items.tolist()):
        together = table == table[i]
        alone[q] = float(shares @ (together.sum(axis=0) == 1))
        # Mean over the items of a cluster of the probability of being together.
        sums = np.bincount(best.labels[inside], weights=together[inside] @ shares)
        order = np.argsort(-sums / sizes, kind="stable")[:2]
        places[q, : len(order)] = order
        probabilities[q, : len(order)] = (sums / sizes)[order]
    return places, probabilities, alone
