"""Is a given partition plausible? P-values of partitions, and credible sets of any shape.

The score of a partition z is high where draws are dense around it:

    s(z) = mean over the scoring draws of exp(-gamma loss(z, draw)).

The draws are thinned to nearly independent ones. The first half of each chain gives the scoring draws, the second
half the n calibration draws, and

    p(z) = (1 + number of calibration draws with a score of at most s(z)) / (1 + n).

A calibration draw and a new draw from the posterior are exchangeable given the scoring draws: for a new draw
P(p <= alpha) is at most alpha, and the set of all partitions with p > alpha holds at least 1 - alpha of the posterior
(conformal inference). It may have several parts, where a ball has one.

gamma is 2 over the median distance of a scoring draw to its sqrt(n)-th nearest one, so that mainly the draws nearest
to a partition count: on enumerated posteriors, sets are then smallest. Neither the partition nor the calibration
draws enter this choice.

Bariletto, N., Ho, N., Rinaldo, A. (2025). Conformalized Bayesian inference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._cards import Alert, Card, Shown, Table
from epluribus._text import count, or_none, percent, to_frame
from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus._validate import check_fraction
from epluribus.diagnostics import halves
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import draw_losses
from epluribus.draws.rows import resample
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import matched
from epluribus.uncertainty._error import mean_with_error

_LEAST = 40
"""Independent draws below which nothing is said: the p-value would have fewer than 20 draws behind it."""
_MOST = 500, 2000
"""Scoring draws and calibration draws at most: more change scores and p-values by less than anyone reads."""
_WELL = 0.1
"""A p-value from which on a partition is called not atypical."""


@dataclass(frozen=True, repr=False, eq=False)
class Plausibility(Shown):
    """How plausible given partitions are under the posterior."""

    p_values: FloatArray
    """(n_partitions,) share of draws that are as atypical; NaN if the draws are too few to know."""
    scores: FloatArray
    """(n_partitions,) mean of exp(-gamma loss) over the scoring draws; NaN if the draws are too few."""
    draw_scores: FloatArray
    """(n_calibration,) scores of the calibration draws, ascending."""
    names: tuple[str, ...]
    """Names of the partitions."""
    n_independent: float
    """Independent draws that the sample is worth."""
    gamma: float
    """How fast the weight of a draw falls with its distance."""
    loss: Loss
    """The loss, as a distance."""
    ensemble: bool = False
    """Whether the draws are an ensemble of clusterings, not a posterior sample."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What can be said of each partition."""
        return tuple(map(self._sentence, self.p_values.tolist(), self.scores.tolist()))

    @property
    def sentence(self) -> str:
        """What can be said, partition by partition."""
        if self.names == ("0",):  # it has no name
            return self.sentences[0]
        return "; ".join(f"{n}: {s}" for n, s in zip(self.names, self.sentences, strict=True))

    def _sentence(self, p: float, score: float) -> str:
        draw = "clustering" if self.ensemble else "draw"
        if np.isnan(p):
            worth = f"{self.n_independent:.0f} independent ones"
            return f"cannot know: the {draw}s are worth {worth}, and {_LEAST} are needed"
        n = len(self.draw_scores)
        if p <= 1 / (n + 1):
            return f"p < {1 / n:.2g}: fewer than 1 in {n:,} {draw}s are as far from the others"
        if score > self.draw_scores[-1] * (1 + 1e-9):
            return f"p = 1.00: nearer to the {draw}s than any of them, in their middle"
        begin = f"p = {p:.2f}: not atypical," if p >= _WELL else f"p = {p:.2g}:"
        return f"{begin} {percent(p)} of the {draw}s are as far from the others"

    def to_pandas(self) -> Any:
        """A pandas frame: score, p-value and sentence of each partition."""
        columns = {"score": self.scores, "p_value": self.p_values, "sentence": self.sentences}
        return to_frame({"partition": self.names, **columns}, "partition")

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "loss": self.loss.name,
            "gamma": self.gamma,
            "n_independent": self.n_independent,
            "n_calibration": len(self.draw_scores),
            "names": list(self.names),
            "scores": or_none(self.scores),
            "p_values": or_none(self.p_values),
            "sentences": list(self.sentences),
        }

    def _card(self) -> Card:
        title = f"Plausibility of {count(len(self.names), 'partition')} ({self.loss.name})"
        more = ""
        if np.any(self.p_values >= _WELL):
            more = "near does not mean supported: see epl.uncertainty.clusters"
        if len(self.names) == 1:
            p = self.p_values[0]
            return Card(title, Alert(self.sentence) if p < 0.05 else self.sentence, more)
        columns = {"partition": self.names, "how plausible": self.sentences}
        return Card(title, Table(columns, more, words=2))


class CredibleSet(Shown):
    """The partitions that are plausible at a level: `partition in found` is True if p > 1 - mass.

    Attributes
    ----------
    mass : float
        Probability that the set holds, at least.
    p_values : ndarray of shape (n_draws,)
        P-value of each draw, in the order of the draws.
    inside : ndarray of shape (n_draws,)
        Whether each draw is in the set.
    typical : ndarray of shape (n_items,)
        The most typical draw, the one with the highest score.
    ball_radius : float
        Radius of the smallest ball around the most typical draw that holds as many draws as the set.
    shared : float
        Share of the draws of the set, by weight, that lie in that ball too.
    """

    def __init__(self, scores: _Scores, mass: float) -> None:
        draws = scores.draws
        self.mass, self._scores = mass, scores
        values = scores.of_draws()
        self.p_values = scores.p_values(values)[draws.index]
        self.inside = self.p_values > 1 - mass
        self.typical: IntArray = draws.distinct[int(values.argmax())].astype(np.int64)
        far = draw_losses(self.typical, draws, scores.loss)[draws.index]
        weights = draws.draw_weights
        nearest = np.argsort(far, kind="stable")
        held = float(weights[self.inside].sum())
        last = int(np.searchsorted(np.cumsum(weights[nearest]), held * (1 - 1e-12)))
        self.ball_radius = float(far[nearest[min(last, len(far) - 1)]])
        both = self.inside & (far <= self.ball_radius)
        self.shared = float(weights[both].sum()) / max(held, 1e-300)

    def __contains__(self, partition: LabelsLike) -> bool:
        labels = matched(partition, self._scores.draws, "partition")
        return bool(self._scores.p_values(self._scores.of([labels]))[0] > 1 - self.mass)

    @property
    def sentence(self) -> str:
        """What the set holds, and how it differs from a ball."""
        draw = "clustering" if self._scores.draws.kind == "ensemble" else "draw"
        n = int(np.count_nonzero(self.inside))
        text = (
            f"The set holds {n:,} of the {count(len(self.inside), draw)}; the most typical one has "
            f"{count(int(self.typical.max()) + 1, 'cluster')}."
        )
        return (
            f"{text} A ball around it that holds as many has radius {self.ball_radius:.3g} "
            f"({self._scores.loss.name}), and {percent(self.shared)} of the set lie in it."
        )

    def _card(self) -> Card:
        kind = "set" if self._scores.draws.kind == "ensemble" else "credible set"
        return Card(f"{percent(self.mass)} {kind} of any shape", self.sentence)


def plausibility(
    partition: Estimate | LabelsLike | list[Any] | Mapping[str, Any],
    draws: DrawsLike,
    loss: LossLike | None = None,
) -> Plausibility:
    """Whether the posterior can live with a partition: an expert's, last year's, or a simpler one.

    In a paper: *the expert's classification is not plausible under the posterior (p < 0.002)*.

    Parameters
    ----------
    partition : Estimate, array_like of shape (n_items,), or several
        One partition; or a list of them, the rows of a matrix, or a mapping from names to partitions.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample, without missing labels.
    loss : str or Loss, optional
        The distance; by default the loss that all partitions were made for, if they are Estimates, else "vi".

    Returns
    -------
    Plausibility
        With `p_values`, `scores` and `sentence`. A p-value is NaN, "cannot know", if the draws are worth fewer
        than 40 independent ones.

    Notes
    -----
    The p-value is the share of posterior draws that are at least as far from the bulk of the draws; the head of
    `_plausibility.py` has the formulas. A small one says that the posterior does not support the partition, not
    that the partition is wrong. A large one says that it is near to the draws, not that they have its clusters: where
    draws vary much, a partition in their middle is nearer to them than they are to each other, though it may join what
    all of them keep apart. `clusters` says how well each of its clusters is supported.

    Draws are thinned by systematic resampling, which also takes their weights into account, to as many as they are
    worth, at most 500 for scores and 2,000 for calibration.

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> noise = np.random.default_rng(1).random((800, 12)) < 0.1
    >>> draws = (noise ^ (np.arange(12) < 6)).astype(int)
    >>> print(epl.uncertainty.plausibility([1] * 6 + [0] * 6, draws).sentence)
    p = 1.00: not atypical, 100% of the draws are as far from the others
    >>> print(epl.uncertainty.plausibility([0, 1] * 6, draws).sentence)
    p < 0.0027: fewer than 1 in 364 draws are as far from the others
    """
    names, given = _partitions(partition)
    if loss is None:
        made_for = [one.loss for one in given if isinstance(one, Estimate)]
        common = len(made_for) == len(given) and len({one.name for one in made_for}) == 1
        loss = made_for[0] if common else "vi"
    sample, chosen = as_draws(draws), losses.get(loss)
    labels = [matched(one, sample, "partition") for one in given]
    scores = _Scores(sample, chosen)
    values = scores.of(labels)
    return Plausibility(
        scores.p_values(values), values, np.sort(scores.calibration), names, scores.n_independent,
        scores.gamma, chosen, sample.kind == "ensemble",
    )  # fmt: skip


def credible_set(draws: DrawsLike, mass: float = 0.95, loss: LossLike = "vi") -> CredibleSet:
    """The set of all partitions whose p-value is above 1 - mass: it may have several parts.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample, without missing labels; worth at least 40 independent draws.
    mass : float, default 0.95
        Posterior probability that the set holds, at least.
    loss : str or Loss, default "vi"
        The distance.

    Returns
    -------
    CredibleSet
        ``partition in found``, its draws, the most typical one, and a comparison with a ball.

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> noise = np.random.default_rng(1).random((800, 12)) < 0.1
    >>> found = epl.uncertainty.credible_set((noise ^ (np.arange(12) < 6)).astype(int))
    >>> [1] * 6 + [0] * 6 in found, [0, 1] * 6 in found
    (True, False)
    """
    check_fraction(mass, "mass", one=False)
    scores = _Scores(as_draws(draws), losses.get(loss))
    if not scores.known:
        raise ValueError(
            f"'draws' must be worth at least {_LEAST} independent ones for a set of plausible partitions; these are "
            f"worth {scores.n_independent:.0f}. Give more of them."
        )
    return CredibleSet(scores, mass)


class _Scores:
    """Scores of partitions, and of the calibration draws."""

    def __init__(self, draws: Draws, loss: Loss) -> None:
        draws.check_complete("Plausibility")
        self.draws, self.loss = draws, loss
        self.n_independent = _independent(draws, loss)
        self.known = self.n_independent >= _LEAST
        self.gamma, self.calibration = np.nan, np.empty(0)
        if not self.known:
            return
        first, second = halves(draws)
        n, most = int(self.n_independent) // 2, _MOST
        self.scoring = draws.index[first[resample(draws.draw_weights[first], min(n, most[0]))]]
        distinct, inverse = np.unique(self.scoring, return_inverse=True)
        self.shares = np.bincount(inverse) / len(inverse)
        self.columns = distinct
        self.table = draws.store.columns(distinct)
        self.gamma = self._choose_gamma(inverse)
        chosen, again = np.unique(
            draws.index[second[resample(draws.draw_weights[second], min(n, most[1]))]],
            return_inverse=True,
        )
        self.calibration = self.of(draws.distinct[chosen].astype(np.int64))[again]

    def _choose_gamma(self, inverse: IntArray) -> float:
        """Two over the median distance of a scoring draw to its sqrt(n)-th nearest one."""
        n = len(self.scoring)
        # A hundred of them tell the median well enough.
        some = self.scoring[:: max(1, n // 100)]
        rows = self.draws.distinct[some].astype(np.int64)
        values = [loss_values(row, self.table, self.loss)[inverse] for row in rows]
        distances = np.sort(values, axis=1)
        near = float(np.median(distances[:, int(np.ceil(np.sqrt(n)))]))
        positive = distances[distances > 0]
        if near == 0 and len(positive):  # many draws are equal: the next partition is near
            near = float(positive.min())
        return 2.0 / near if near > 0 else 1.0

    def of(self, labels: AnyArray | list[IntArray]) -> FloatArray:
        """(n_partitions,) score of each partition; NaN if the draws are too few."""
        if not self.known:
            return np.full(len(labels), np.nan)
        far = (loss_values(one, self.table, self.loss) for one in labels)
        return np.array([np.exp(-self.gamma * values) @ self.shares for values in far])

    def of_draws(self) -> FloatArray:
        """(n_distinct,) score of each distinct draw; a scoring draw does not count once for itself."""
        values = self.of(self.draws.distinct.astype(np.int64))
        n = len(self.scoring)
        values[self.columns] = (values[self.columns] * n - 1.0) / (n - 1)
        return values

    def p_values(self, scores: FloatArray) -> FloatArray:
        """(n_partitions,) p-value of each score; NaN if the draws are too few."""
        if not self.known:
            return np.full(len(scores), np.nan)
        # Equal scores count as equal although they were summed in another order.
        below = np.searchsorted(np.sort(self.calibration), scores * (1 + 1e-9), side="right")
        return np.asarray((1.0 + below) / (1.0 + len(self.calibration)), dtype=np.float64)


def _independent(draws: Draws, loss: Loss) -> float:
    """Independent draws that the sample is worth: the least over the distances from a few draws.

    The clusterings of an ensemble have no order, and only their weights count.
    """
    if draws.kind == "ensemble":
        return float(draws.total_weight**2 / (draws.draw_weights**2).sum())
    order = np.argsort(draws.chains, kind="stable")  # chains may be stored in turns
    some = order[resample(draws.draw_weights[order], 4)]
    rows = draws.distinct[draws.index[some]].astype(np.int64)
    worth = (mean_with_error(draw_losses(row, draws, loss), draws).ess for row in rows)
    found = min(np.nan_to_num(one, nan=0.0) for one in worth)
    return float(min(found, np.count_nonzero(draws.draw_weights)))


def _partitions(given: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Names and partitions, of one or of several."""
    if isinstance(given, Mapping) and any(_is_partition(one) for one in given.values()):
        return tuple(map(str, given)), list(given.values())
    rows = isinstance(given, np.ndarray) and given.ndim == 2
    several = isinstance(given, list | tuple) and all(_is_partition(one) for one in given)
    if rows or (several and len(given)):
        return tuple(str(i) for i in range(len(given))), list(given)
    return ("0",), [given]


def _is_partition(one: Any) -> bool:
    """Whether it is a partition by itself, not the label or the cluster of an item."""
    return isinstance(one, Estimate | Mapping) or (
        not isinstance(one, str | set | frozenset) and np.ndim(one) == 1
    )
