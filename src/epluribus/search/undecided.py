"""What each cost of an undecided item means: how many items stay out, and what the others gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._text import plain_table, to_frame
from epluribus._typing import DrawsLike, FloatArray, LossLike, RngLike
from epluribus._validate import check_positive, make_rng
from epluribus.draws import as_draws
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.search._minimize import minimize
from epluribus.search.problem import Problem
from epluribus.search.rules import added_by_each, price_of


@dataclass(frozen=True, repr=False, eq=False)
class UndecidedCosts:
    """The best answer for each of several costs of an undecided item, the highest cost first."""

    costs: FloatArray
    """The costs."""
    estimates: tuple[Estimate, ...]
    """The answer for each cost, with labels of -1 for undecided items."""
    loss: Loss
    """The loss."""

    def columns(self) -> dict[str, Any]:
        """The table by columns: cost, decided and undecided items, clusters, expected loss of the decided."""
        undecided = np.array([len(one.undecided) for one in self.estimates])
        return {
            "cost": self.costs,
            "decided": len(self.estimates[0].labels) - undecided,
            "undecided": undecided,
            "clusters": np.array([one.n_clusters for one in self.estimates]),
            "expected_loss": np.array([one.expected_loss for one in self.estimates]),
        }

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return to_frame(self.columns())

    def __len__(self) -> int:
        return len(self.costs)

    def __repr__(self) -> str:
        return f"UndecidedCosts({len(self)} costs, loss={self.loss.name!r})"

    def __str__(self) -> str:
        table = {name: values.tolist() for name, values in self.columns().items()}
        return "\n".join(plain_table(table, words=0))


def undecided_costs(
    draws: DrawsLike,
    loss: LossLike = "vi",
    costs: Sequence[float] | None = None,
    *,
    rng: RngLike = None,
    **options: Any,
) -> UndecidedCosts:
    """How many items stay undecided at each of several costs, to choose one for `minimize`.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, default "vi"
        VI or Binder's loss.
    costs : sequence of float, optional
        The costs, in bits for VI and in pairs of items for Binder's loss. By default seven of them, from one
        that leaves out hardly anybody down to one that about half of the items exceed.
    rng : int, Generator or SeedSequence, optional
        Source of randomness.
    **options
        Bounds and constraints, as for `minimize`.

    Returns
    -------
    UndecidedCosts
        A table; print it, or take `to_pandas()`.

    Examples
    --------
    The last item is with the first two in one draw of three, and with nobody in the others:

    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1, 0], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1]]
    >>> print(epl.search.undecided_costs(draws, costs=[2.0, 0.5], rng=1))
    cost  decided  undecided  clusters  expected_loss
       2        5          0         3         0.3673
     0.5        4          1         2              0
    """
    sample, chosen = as_draws(draws), losses.get(loss)
    seed: Any = make_rng(rng).bit_generator.seed_seq
    seed = seed.spawn(1)[0]
    fresh = partial(np.random.SeedSequence, seed.entropy, spawn_key=seed.spawn_key)
    if costs is None:
        whole = minimize(sample, chosen, rng=fresh(), **options)
        costs = _quantiles(Problem.of(sample, chosen), whole)
    wanted = np.sort([check_positive(cost, "costs") for cost in costs])[::-1]
    found = [
        minimize(sample, chosen, undecided=float(cost), rng=fresh(), **options) for cost in wanted
    ]
    # One answer may be better than another at that one's cost. The best of all for each cost are in order: a
    # lower cost never leaves out fewer items.
    out = np.array([len(one.undecided) for one in found])
    values, n = np.array([one.expected_loss for one in found]), sample.n_items
    if chosen.family == "vi":
        values *= (n - out) / n
    best = []
    for cost in wanted.tolist():
        at = int(np.argmin(np.round(values + out * price_of(chosen, cost, n), 12)))
        settings = replace(found[at].settings, undecided=cost)
        best.append(replace(found[at], settings=settings))
    return UndecidedCosts(wanted, tuple(best), chosen)


def _quantiles(problem: Problem, whole: Estimate) -> list[float]:
    """Costs between what half of the items add to the loss, and what the last one adds."""
    unit = problem.total_weight * price_of(problem.loss, 1.0, problem.n_items)
    added = added_by_each(problem, whole.labels, np.arange(problem.n_items)) / unit
    # Several items together may be worth leaving out at a cost that none of them exceeds alone.
    levels = [*np.quantile(added, (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)), 2.0 * added.max()]
    return sorted({float(f"{level:.2g}") for level in levels if level > 0}) or [1.0]
