"""Several partitions with weights, when one is not a fair summary.

The posterior is summarized by M partitions a_1..a_M such that a draw is near one of them,

    V(M) = min over a_1..a_M of sum_t p_t min_m loss(a_m, z_t),

and the weight of a mode is the probability of the draws nearest to it: the best approximation of
the posterior by M points in Wasserstein distance (WASABI, Balocchi & Wade 2025). As in k-means,
draws are assigned to their nearest mode and each mode is replaced by the minimizer of the expected
loss over its draws, until nothing changes; the starts are draws chosen far apart (k-means++), and
the groups of a Ward linkage of the draws.

How many? With a the loss of a draw to its mode and b to the next, its silhouette is
(b - a) / max(a, b). M modes are admitted if each beyond the first brings draws nearer by 20 %,
V(M) <= (1 - 0.2 (M - 1)) V(1), if each has a weight of at least 0.05, and if the mean silhouette is
at least 0.25, the value below which Kaufman & Rousseeuw (1990) see no structure. The number is the
admitted M of largest mean silhouette, else 1.

Balocchi, C., Wade, S. (2025). Understanding uncertainty in Bayesian cluster analysis.
doi:10.48550/arXiv.2506.16295

Kaufman, L., Rousseeuw, P. J. (1990). Finding groups in data. Wiley. doi:10.1002/9780470316801
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopper, resolve_jobs
from epluribus._validate import check_count, make_rng
from epluribus._text import percent
from epluribus.draws import as_draws
from epluribus.losses.values import loss_values
from epluribus.engine import Engine, Settings
from epluribus.search._greedy import descend
from epluribus.search import minimize
from epluribus._parallel import run_all
from epluribus.engine import draw_losses
from epluribus._text import plain_table, sentence_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from epluribus._typing import DrawsLike, IntArray, LossLike, RngLike
    from epluribus.draws import Draws
    from epluribus.estimate import Estimate
    from epluribus.losses.base import Loss

__all__ = ["Modes", "modes"]

T = TypeVar("T")

SILHOUETTE = 0.25
"""Smallest mean silhouette: below it Kaufman & Rousseeuw see no structure."""
DROP = 0.2
"""Share of V(1) that each added mode must take off; noise around one mode of 10 items reaches 0.17."""
WEIGHT = 0.05
"""Smallest weight of a mode: a handful of odd draws is none."""

_TINY = 0.01
"""A group of smaller weight is said to be none, where a number of modes was asked for."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_DRAWS = 400
"""Draws on which numbers of modes are tried: silhouettes are known to about 0.02."""
_STARTS = 2
"""Starts of k-means++ for each number of modes, besides the one by linkage."""
_LINKED = 200
"""Draws that are linked: their losses to each other are all computed."""
_TOO_LATE = "'time_limit' was reached before the modes were found."
_ROUNDS = 20
"""Rounds of assignment and minimization; they end after a few."""


@dataclass(frozen=True, repr=False, eq=False)
class Modes:
    """Partitions with weights that stand for the posterior, the heaviest first."""

    labels: IntArray
    """(n_modes, n_items) canonical labels."""
    weights: NDArray[np.float64]
    """Posterior probability of the draws nearest to each mode."""
    expected_losses: NDArray[np.float64]
    """Mean loss between each mode and its own draws."""
    assignments: IntArray
    """(n_draws,) the mode nearest to each draw."""
    distances: NDArray[np.float64]
    """(n_modes, n_modes) loss between modes."""
    expected_loss: float
    """Mean loss between a draw and its mode, V(M)."""
    single_loss: float
    """The same with one partition, V(1)."""
    silhouettes: dict[int, float]
    """Mean silhouette for each number of modes tried, on a part of the draws."""
    drops: dict[int, float]
    """1 - V(M) / V(1) for each number of modes tried, on the same draws."""
    chosen: bool
    """Whether the number of modes was chosen by the rule."""
    n_distinct: int
    """Number of distinct partitions among the draws."""
    loss: Loss

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return len(self.weights)

    @property
    def sentence(self) -> str:
        """Whether one estimate is a fair summary, and why."""
        if self.n_modes == 1:
            return self._fair()
        share = sentence_list([percent(weight) for weight in self.weights])
        apart = self.distances[np.triu_indices(self.n_modes, 1)]
        far = f"{apart.min():.3g}" + (f" to {apart.max():.3g}" if len(apart) > 1 else "")
        verdict = (
            "One estimate is not a fair summary: the draws"
            if self.chosen
            else "As asked for, the draws"
        )
        return (
            f"{verdict} fall into {self.n_modes} groups ({share}) whose modes are "
            f"{self.loss.with_unit(far)} apart ({self.loss.name}), while a draw is "
            f"{self.expected_loss:.3g} from its own mode on average; with a single partition that "
            f"would be {self.single_loss:.3g}.{self._tiny()}"
        )

    def _tiny(self) -> str:
        """Which of the groups that were asked for are none."""
        counts = np.bincount(self.assignments, minlength=self.n_modes)
        tiny = (self.weights < _TINY) | ((counts == 1) & (self.weights < WEIGHT))
        if self.chosen or not tiny.any():
            return ""
        names = []
        for m in np.flatnonzero(tiny):
            what = "a single draw" if counts[m] == 1 else f"{percent(self.weights[m])} of the draws"
            which = _ORDINALS[m] if m < len(_ORDINALS) else f"{m + 1}th"
            names.append(f"the {which} group is {what}")
        left = int((~tiny).sum())
        has = "one mode" if left == 1 else f"no more than {left} modes"
        return f" But {sentence_list(names)}: the sample has {has}."

    def _fair(self) -> str:
        if self.n_distinct == 1:
            return "All draws are equal: one partition says all."
        if not self.silhouettes:
            asked = "No more than one partition was" if self.chosen else "One partition was"
            return f"{asked} asked for; whether it is a fair summary was not tried."
        m = max(self.silhouettes, key=lambda number: self.drops[number])
        return (
            f"One estimate is a fair summary: with {m} partitions instead of one a draw would be "
            f"{100 * self.drops[m]:.0f} % nearer on average, with a mean silhouette of "
            f"{self.silhouettes[m]:.2f}; to report several the rule asks for {100 * DROP:.0f} % for each "
            f"one added, {SILHOUETTE}, and {100 * WEIGHT:.0f} % of the draws in each group."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "loss": self.loss.name,
            "n_modes": self.n_modes,
            "chosen": self.chosen,
            "sentence": self.sentence,
            "weights": self.weights.tolist(),
            "n_clusters": (self.labels.max(axis=1) + 1).tolist(),
            "expected_losses": self.expected_losses.tolist(),
            "expected_loss": self.expected_loss,
            "single_loss": self.single_loss,
            "distances": self.distances.tolist(),
            "labels": self.labels.tolist(),
            "assignments": self.assignments.tolist(),
        }

    def __len__(self) -> int:
        return self.n_modes

    def __repr__(self) -> str:
        weights = ", ".join(f"{weight:.3g}" for weight in self.weights)
        return f"Modes(n_modes={self.n_modes}, weights=[{weights}], loss={self.loss.name!r})"

    def __str__(self) -> str:
        table = plain_table(
            {
                "mode": [str(m) for m in range(self.n_modes)],
                "weight": [f"{weight:.3f}" for weight in self.weights],
                "clusters": [int(labels.max()) + 1 for labels in self.labels],
                "loss within": [float(value) for value in self.expected_losses],
            }
        )
        return "\n".join([self.sentence, *table])


def modes(
    draws: DrawsLike,
    loss: LossLike = "vi",
    n_modes: int | str = "auto",
    *,
    max_modes: int = 5,
    rng: RngLike = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
) -> Modes:
    """A few partitions with weights that stand for the posterior, and whether one is enough.

    In a paper: *the posterior has two modes; 61 % of the draws are nearest to the first, with three
    clusters, and 39 % to the second, in which two of them are one*.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    n_modes : int or "auto", default "auto"
        Number of modes; "auto" chooses it by the rule in the notes.
    max_modes : int, default 5
        Largest number tried.
    rng : int, Generator or SeedSequence, optional
        Source of randomness: the same gives the same answer.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    time_limit : float, optional
        Seconds after which `TimeoutError` is raised: what is there by then would depend on the
        machine.

    Returns
    -------
    Modes
        Labels and weights, the heaviest first; `sentence` says whether one estimate is a fair
        summary.

    Notes
    -----
    Several modes are reported if each beyond the first brings draws 20 % nearer on average (of their
    mean loss to a single partition), if none has less than 5 % of the draws, and if their groups are
    distinct: a mean silhouette of at least 0.25. Of several such numbers the one of largest
    silhouette is taken. Numbers are tried in turn until two in a row fail, on at most 400 draws; the
    modes are then found on all.

    Examples
    --------
    >>> import epluribus as epl
    >>> one, other = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]
    >>> found = epl.uncertainty.modes([one] * 6 + [other] * 4, rng=1)
    >>> found.labels
    array([[0, 0, 0, 1, 1, 1],
           [0, 0, 1, 1, 2, 2]])
    >>> found.weights
    array([0.6, 0.4])
    """
    sample, chosen = as_draws(draws), losses.get(loss)
    highest = check_count(max_modes, "max_modes")
    automatic = isinstance(n_modes, str)
    if automatic and n_modes != "auto":
        raise ValueError(f"'n_modes' must be a whole number or 'auto'; got {n_modes!r}.")
    fixed = None if automatic else check_count(n_modes, "n_modes", way_out=" Or say 'auto'.")
    fit_rng, *rngs = make_rng(rng).spawn(2 + max(highest, fixed or 0))
    fitter = _Fitter(sample, chosen, rngs, resolve_jobs(n_jobs), fit_rng, Stopper(time_limit))
    if fixed is None:
        fixed = fitter.choose(highest)
    labels = fitter.solve(fixed)
    return _result(sample, chosen, labels, fitter, automatic)


class _Fitter:
    """Modes of one sample: numbers of them tried on a part of the draws, then found on all."""

    def __init__(
        self,
        draws: Draws,
        loss: Loss,
        rngs: list[np.random.Generator],
        n_jobs: int,
        rng: np.random.Generator,
        stopper: Stopper,
    ) -> None:
        self.draws, self.loss, self.rngs, self.n_jobs = draws, loss, rngs, n_jobs
        self.stopper = stopper
        self.part = draws
        if draws.n_draws > _DRAWS:
            rows = np.sort(rng.choice(draws.n_draws, _DRAWS, replace=False))
            if draws.draw_weights[rows].sum() > 0:
                self.part = draws[rows]
        self.silhouettes: dict[int, float] = {}
        self.drops: dict[int, float] = {}
        self._tree: tuple[Any, NDArray[np.float64], IntArray] | None = None
        self.single = self._search(draws, rngs[0])

    def _search(self, draws: Draws, rng: np.random.Generator) -> Estimate:
        """The best partition for all or some draws."""
        left = None
        if self.stopper.deadline is not None:
            left = max(1e-3, self.stopper.deadline - time.perf_counter())
        found = minimize(draws, self.loss, rng=rng, n_jobs=self.n_jobs, time_limit=left)
        if found.interrupted:
            raise KeyboardInterrupt
        if not found.converged:
            raise TimeoutError(_TOO_LATE)
        return found

    def _run(self, tasks: list[Callable[[], T]]) -> list[T]:
        """Results of tasks that look at the stopper; none if time is up."""
        found = run_all(tasks, self.n_jobs, self.stopper)
        if self.stopper.stopped:
            raise TimeoutError(_TOO_LATE)
        return found

    def _alternate(self, draws: Draws, labels: IntArray, rng: np.random.Generator) -> IntArray:
        [(found, _)] = self._run([partial(_alternate, draws, self.loss, labels, rng, self.stopper)])
        return found

    def choose(self, highest: int) -> int:
        """The number of modes by the rule."""
        one = self._alternate(self.part, self.single.labels[None], self.rngs[0])
        single = _value(_distances(self.part, self.loss, one), self.part)
        admitted = {}
        for m in range(2, min(highest, self.part.n_distinct) + 1):
            if single == 0:
                break
            table = _distances(self.part, self.loss, self._fit(m))
            if len(table) < m:  # a mode has lost all its draws to the others: none to be added
                self.silhouettes[m] = self.drops[m] = 0.0
                break
            self.silhouettes[m] = _silhouette(table, self.part)
            self.drops[m] = 1.0 - _value(table, self.part) / single
            if (
                self.silhouettes[m] >= SILHOUETTE
                and self.drops[m] >= DROP * (m - 1)
                and _mass(table, self.part).min() >= WEIGHT
            ):
                admitted[m] = self.silhouettes[m]
            if m > 2 and not {m - 1, m} & admitted.keys():
                break
        return max(admitted, key=lambda m: admitted[m]) if admitted else 1

    def _fit(self, m: int) -> IntArray:
        """The best of several starts on the part."""
        tasks: list[Callable[[], tuple[IntArray, float]]] = [
            partial(_start, self.part, self.loss, m, rng, self.stopper)
            for rng in self.rngs[m].spawn(_STARTS)
        ]
        linked, rng = self._linked(m), self.rngs[m].spawn(1)[0]
        tasks.append(partial(_alternate, self.part, self.loss, linked, rng, self.stopper))
        return min(self._run(tasks), key=lambda one: one[1])[0]

    def _linked(self, m: int) -> IntArray:
        """The central draws of `m` groups of a Ward linkage."""
        from scipy.cluster.hierarchy import fcluster

        if self._tree is None:
            self._tree = _link(self.part, self.loss)
        tree, distance, columns = self._tree
        groups = fcluster(tree, m, criterion="maxclust")
        centres = []
        for group in np.unique(groups):
            mine = np.flatnonzero(groups == group)
            centres.append(mine[distance[np.ix_(mine, mine)].sum(axis=1).argmin()])
        return self.part.distinct[columns[centres]].astype(np.int64)

    def solve(self, m: int) -> IntArray:
        """`m` modes on all draws."""
        m = min(m, self.part.n_distinct)
        if m == 1:
            return self.single.labels[None]
        labels = self._fit(m)
        labels = np.stack(
            [
                self._minimize(rows, labels[number])
                for number, rows in enumerate(_groups(self.draws, self.loss, labels))
            ]
        )
        return self._alternate(self.draws, labels, self.rngs[m])

    def _minimize(self, columns: IntArray, labels: IntArray) -> IntArray:
        """The best partition for some of the distinct draws; at least as good as `labels`."""
        if len(columns) == 0:
            return labels
        group = self.draws[np.flatnonzero(np.isin(self.draws.index, columns))]
        found = self._search(group, self.rngs[-1])
        value = loss_values(labels, group.item_major, self.loss) @ group.shares
        return found.labels if found.expected_loss <= value else labels


def _start(
    draws: Draws, loss: Loss, m: int, rng: np.random.Generator, stopper: Stopper
) -> tuple[IntArray, float]:
    """Modes from draws chosen far apart: each with probability in proportion to its loss (k-means++)."""
    chance = draws.shares
    chosen: list[IntArray] = []
    nearest = np.full(draws.n_distinct, np.inf)
    for _ in range(m):
        if not chance.sum() > 0:  # every draw is one of the chosen
            break
        at = int(rng.choice(draws.n_distinct, p=chance / chance.sum()))
        chosen.append(draws.distinct[at].astype(np.int64))
        nearest = np.minimum(nearest, np.maximum(0.0, loss_values(chosen[-1], draws.item_major, loss)))
        chance = draws.weights * nearest
    return _alternate(draws, loss, np.stack(chosen), rng, stopper)


def _link(draws: Draws, loss: Loss) -> tuple[Any, NDArray[np.float64], IntArray]:
    """Ward linkage of draws spread over the sample, their losses to each other, and which they are."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    columns = draws.index[
        np.linspace(0, draws.n_draws - 1, min(_LINKED, draws.n_draws)).astype(int)
    ]
    table = np.ascontiguousarray(draws.item_major[:, columns])
    distance = np.stack([loss_values(column.astype(np.int64), table, loss) for column in table.T])
    distance = np.maximum(0.0, distance + distance.T) / 2.0  # a cost other than 1 is lopsided
    np.fill_diagonal(distance, 0.0)
    return linkage(squareform(distance, checks=False), "ward"), distance, columns


def _alternate(
    draws: Draws, loss: Loss, labels: IntArray, rng: np.random.Generator, stopper: Stopper
) -> tuple[IntArray, float]:
    """Assign draws, move each mode downhill on its own draws, until assignments stay; modes and V.

    Of no use if stopped.
    """
    groups = _groups(draws, loss, labels)
    for _ in range(_ROUNDS):
        if stopper.stopped:
            break
        kept = [number for number, columns in enumerate(groups) if len(columns)]
        labels = np.stack(
            [
                descend(
                    Engine.of(draws, loss, groups[number]),
                    labels[number],
                    rng,
                    Settings(stopper=stopper),
                ).labels
                for number in kept
            ]
        )
        before, groups = [groups[number] for number in kept], _groups(draws, loss, labels)
        if all(np.array_equal(a, b) for a, b in zip(before, groups, strict=True)):
            break
    return labels, _value(_distances(draws, loss, labels), draws)


def _distances(draws: Draws, loss: Loss, labels: IntArray) -> NDArray[np.float64]:
    """(n_modes, n_distinct) loss between each mode and each distinct draw."""
    return np.stack([draw_losses(mode, draws, loss) for mode in labels])


def _groups(draws: Draws, loss: Loss, labels: IntArray) -> list[IntArray]:
    """Distinct draws, with any weight, nearest to each mode; the first of a tie."""
    nearest = _distances(draws, loss, labels).argmin(axis=0)
    counts = draws.weights > 0
    return [np.flatnonzero((nearest == number) & counts) for number in range(len(labels))]


def _value(table: NDArray[np.float64], draws: Draws) -> float:
    """V: the mean loss between a draw and its nearest mode."""
    return float(table.min(axis=0) @ draws.shares)


def _mass(table: NDArray[np.float64], draws: Draws) -> NDArray[np.float64]:
    """Probability of the draws nearest to each mode."""
    return np.bincount(table.argmin(axis=0), weights=draws.shares, minlength=len(table)).astype(
        np.float64
    )


def _silhouette(table: NDArray[np.float64], draws: Draws) -> float:
    """Mean of (b - a) / max(a, b), a the loss to the nearest mode and b to the next."""
    a, b = np.partition(table, 1, axis=0)[:2]
    each = np.divide(b - a, b, out=np.zeros_like(b), where=b > 0)
    return float(each @ draws.shares)


def _result(draws: Draws, loss: Loss, labels: IntArray, fitter: _Fitter, automatic: bool) -> Modes:
    order = np.argsort(-_mass(_distances(draws, loss, labels), draws), kind="stable")
    labels = labels[order]
    table = _distances(draws, loss, labels)
    nearest, mass = table.argmin(axis=0), _mass(table, draws)
    within = np.bincount(nearest, weights=table.min(axis=0) * draws.shares, minlength=len(labels))
    between: list[Any] = [
        loss_values(mode, np.ascontiguousarray(labels.T.astype(np.uint32)), loss) for mode in labels
    ]
    return Modes(
        labels=labels,
        weights=mass,
        expected_losses=np.divide(within, mass, out=np.zeros_like(mass), where=mass > 0),
        assignments=nearest[draws.index],
        distances=np.stack(between),
        expected_loss=_value(table, draws),
        single_loss=fitter.single.expected_loss,
        silhouettes=fitter.silhouettes,
        drops=fitter.drops,
        chosen=automatic,
        n_distinct=int((draws.weights > 0).sum()),
        loss=loss,
    )
