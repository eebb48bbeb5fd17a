"""Several estimates side by side: for several losses, and for several costs of an undecided item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._cards import Card, Rows, Shown, Table
from epluribus._parallel import Stopper
from epluribus._text import to_frame, worded
from epluribus._typing import DrawsLike, FloatArray, LossLike, RngLike
from epluribus._validate import check_positive, make_rng
from epluribus.changes import EQUAL, what_differs
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import SimilarityMatrix, expected_loss
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.losses.values import loss
from epluribus.partition import by_size
from epluribus.search._greedy import descend
from epluribus.search._minimize import minimize
from epluribus.search.constrained import added_by_each, price_of
from epluribus.search.large import LARGE
from epluribus.search.problem import Problem


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Shown):
    """One estimate per loss, and how they relate."""

    estimates: tuple[Estimate, ...]
    """The estimates; a name or a number picks one: ``comparison["vi"]``."""
    expected_losses: FloatArray
    """Entry (i, j): expected loss of the estimate made for loss i, under loss j."""
    distances: FloatArray
    """Entry (i, j): variation of information between estimates i and j, in bits."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the losses."""
        return tuple(estimate.loss.name for estimate in self.estimates)

    @property
    def changes(self) -> list[str]:
        """For each estimate but the first, how it differs from the first, in words."""
        first = self.estimates[0]
        others = [(one.labels, f"that for {one.loss.name}") for one in self.estimates[1:]]
        return [what_differs(first.labels, z, names=first.items, other=name) for z, name in others]

    def __getitem__(self, name: str | int) -> Estimate:
        # By the name of its loss or by its place.
        return self.estimates[self.names.index(name) if isinstance(name, str) else name]

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.names)})"

    def _card(self) -> Card:
        # Column j of the matrix is a column of the table: all estimates under loss j. Small distances in the
        # second table mean that the choice of the loss matters little.
        expected: dict[str, Any] = {
            "estimate for": self.names,
            "clusters": [one.n_clusters for one in self],
        }
        apart: dict[str, Any] = {"bits of VI between": self.names}
        for j, name in enumerate(self.names):
            expected[f"E {name}"] = [f"{value:.6g}" for value in self.expected_losses[:, j]]
            apart[name] = [f"{value:.4f}" for value in self.distances[:, j]]
        below = worded("E: expected loss under each loss", self.estimates[0].kind)
        return Card(
            "",
            Table(expected, below),
            Table(apart),
            *(f"{text[0].upper()}{text[1:]}." for text in self.changes if text != EQUAL),
            heading=f"Estimates for {len(self)} losses",
            indent="",
        )

    def to_pandas(self) -> Any:
        """A pandas DataFrame: the expected loss of each estimate under each loss."""
        columns = dict(zip(self.names, self.expected_losses.T, strict=True))
        clusters = [one.n_clusters for one in self]
        return to_frame({"estimate for": list(self.names), "clusters": clusters, **columns})


def minimize_all(
    draws: DrawsLike | None,
    losses: Sequence[LossLike],
    *,
    rng: RngLike = None,
    time_limit: float | None = None,
    **options: Any,
) -> Comparison:
    """Find the best partition for each of several losses, and set the estimates side by side.

    None of them is worse, under its own loss, than that for another loss.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample; None if `psm` is given.
    losses : list of str or Loss
        See `epluribus.losses.available`.
    rng : int, Generator or SeedSequence, optional
        Source of randomness, the same for all losses.
    time_limit : float, optional
        Seconds for all searches together.
    **options
        As for `minimize`.

    Returns
    -------
    Comparison
        One estimate per loss, ``found["vi"]``, their expected losses and distances; print it.

    Examples
    --------
    >>> from epluribus.search import minimize_all
    >>> found = minimize_all([[0, 0, 1], [0, 0, 1], [0, 1, 1]], ["vi", "binder"], rng=1)
    >>> [best.n_clusters for best in found]
    [2, 2]
    """
    if isinstance(losses, str | Loss) or not len(losses):
        raise TypeError(f"'losses' must be a list of losses, at least one; got {losses!r}.")
    if options.get("undecided") is not None:
        raise ValueError(
            "'undecided' must be used with one loss, since estimates that leave out different items cannot be "
            "compared. Call minimize once for each."
        )
    sample: Any = options.get("psm")
    if sample is None:
        sample = draws = as_draws(draws, LARGE)
    else:
        sample = SimilarityMatrix.of(sample)
    # One seed for all losses, so that they share the draws searched first and the starts.
    seed = rng if isinstance(rng, int) else int(make_rng(rng).integers(1 << 63))
    stopper, found = Stopper(time_limit), []
    for number, one in enumerate(losses):
        with stopper.for_a_share(1 / (len(losses) - number)) as mine:
            found.append(minimize(draws, one, rng=seed, time_limit=mine, **options))
    return _compared(sample, found, np.random.default_rng(seed))


def set_side_by_side(sample: Draws | SimilarityMatrix, estimates: Sequence[Estimate]) -> Comparison:
    """Every estimate under every loss, and the distance between every two estimates."""
    known: Any = {"psm" if isinstance(sample, SimilarityMatrix) else "draws": sample}
    # Row a, column b: loss b of estimate a. VI is a metric, whatever losses the estimates are for.
    values = [[expected_loss(a.labels, loss=b.loss, **known) for b in estimates] for a in estimates]
    distances = [[loss(a.labels, b.labels, "vi") for b in estimates] for a in estimates]
    return Comparison(tuple(estimates), np.array(values), np.array(distances))


def _compared(
    sample: Draws | SimilarityMatrix, estimates: Sequence[Estimate], rng: np.random.Generator
) -> Comparison:
    """The estimates side by side; one that is better under another's loss takes its place, polished for that loss."""
    while True:
        now = set_side_by_side(sample, estimates)
        values = now.expected_losses
        better = values.min(axis=0) < values.diagonal() * (1 - 1e-9)
        if isinstance(sample, SimilarityMatrix) or not better.any():
            return now
        # What was found for one loss may help another: until nothing changes.
        estimates = list(estimates)
        for b in np.flatnonzero(better):
            mine, labels = estimates[b], now[int(values[:, b].argmin())].labels
            problem = Problem.of(sample, mine.loss)
            run = descend(problem, labels, rng, mine.settings, sample.n_draws, "other loss")
            labels, runs = by_size(run.labels), (*mine.runs, run)
            estimates[b] = replace(mine, labels=labels, expected_loss=run.expected_loss, runs=runs)


@dataclass(frozen=True, repr=False, eq=False)
class UndecidedCosts(Rows):
    """The best answer for each of several costs of an undecided item, the highest cost first."""

    costs: FloatArray
    """The costs."""
    estimates: tuple[Estimate, ...]
    """The answer for each cost, with labels of -1 for undecided items."""
    loss: Loss
    """The loss."""

    _heading = "Items that stay undecided, by cost"

    def columns(self) -> dict[str, Any]:
        """The table by columns: cost, decided and undecided items, clusters, expected loss of the decided."""
        undecided = np.array([len(one.undecided) for one in self.estimates])
        return {
            "cost": self.costs,
            "decided": len(self.estimates[0].labels) - undecided,
            "undecided": undecided,
            "clusters": [one.n_clusters for one in self.estimates],
            "expected_loss": [one.expected_loss for one in self.estimates],
        }

    def __repr__(self) -> str:
        return f"UndecidedCosts({len(self)} costs, loss={self.loss.name!r})"


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

    >>> from epluribus.search import undecided_costs
    >>> draws = [[0, 0, 1, 1, 0], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1]]
    >>> print(undecided_costs(draws, costs=[2.0, 0.5], rng=1))
    cost  decided  undecided  clusters  expected loss
    2           5          0         3         0.3673
    0.5         4          1         2              0
    """
    sample, chosen = as_draws(draws), losses.get(loss)
    seed = rng if isinstance(rng, int) else int(make_rng(rng).integers(1 << 63))
    if costs is None:
        whole = minimize(sample, chosen, rng=seed, **options)
        costs = _quantiles(Problem.of(sample, chosen), whole)
    wanted = np.sort([check_positive(cost, "costs") for cost in costs])[::-1]
    found = [
        minimize(sample, chosen, undecided=float(cost), rng=seed, **options) for cost in wanted
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
