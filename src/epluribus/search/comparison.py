"""Several estimates side by side: for several losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from epluribus._cards import Card, Shown, Table
from epluribus._parallel import Stopper
from epluribus._text import to_frame, worded
from epluribus._typing import DrawsLike, FloatArray, LossLike, RngLike
from epluribus._validate import make_rng
from epluribus.changes import EQUAL, what_differs
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import SimilarityMatrix, expected_loss
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.losses.values import loss
from epluribus.partition import by_size
from epluribus.search._greedy import descend
from epluribus.search._minimize import minimize
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
