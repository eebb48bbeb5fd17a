"""Several partitions with weights, when one is not a fair summary.

The posterior is summarized by M partitions a_1..a_M such that a draw is near one of them,

    V(M) = min over a_1..a_M of sum_t p_t min_m loss(a_m, z_t),

and the weight of a mode is the probability of the draws nearest to it. This is the best approximation of
the posterior by M points in Wasserstein distance (WASABI, Balocchi & Wade 2025). `_mode_search.py` finds
them.

How many? If a is the loss between a draw and its mode and b that to the next mode, the silhouette of the
draw is (b - a) / max(a, b). M modes are admitted if each beyond the first brings draws nearer by 20 %,
V(M) <= (1 - 0.2 (M - 1)) V(1), if each has a weight of at least 0.05, and if the mean silhouette is
at least 0.25, the value below which Kaufman & Rousseeuw (1990) see no structure. The number chosen is the
admitted M with the largest mean silhouette, or 1 if none is admitted.

Balocchi, C., Wade, S. (2025). Understanding uncertainty in Bayesian cluster analysis.
doi:10.48550/arXiv.2506.16295

Kaufman, L., Rousseeuw, P. J. (1990). Finding groups in data. Wiley. doi:10.1002/9780470316801
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopper, resolve_jobs
from epluribus._progress import ProgressLike, make_progress
from epluribus._text import percent, plain_table, sentence_list
from epluribus._typing import DrawsLike, FloatArray, IntArray, LossLike, RngLike
from epluribus._validate import check_count, make_rng
from epluribus.draws import as_draws
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.uncertainty._mode_search import DROP, SILHOUETTE, WEIGHT, Assignment, ModeSearch

_TINY = 0.01
"""A group of smaller weight is not called a mode, even if this number of modes was asked for."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True, repr=False, eq=False)
class Modes:
    """Partitions with weights that stand for the posterior, the heaviest first."""

    labels: IntArray
    """(n_modes, n_items) canonical labels."""
    weights: FloatArray
    """(n_modes,) posterior probability of the draws nearest to each mode."""
    expected_losses: FloatArray
    """(n_modes,) mean loss between each mode and its own draws."""
    assignments: IntArray
    """(n_draws,) number of the mode nearest to each draw."""
    distances: FloatArray
    """(n_modes, n_modes) loss between modes; symmetric only if the loss is."""
    expected_loss: float
    """Mean loss between a draw and its mode, V(M)."""
    single_loss: float
    """The same with one partition, V(1)."""
    silhouettes: dict[int, float]
    """Mean silhouette for each number of modes tried, on a part of the draws."""
    drops: dict[int, float]
    """1 - V(M) / V(1) for each number of modes tried, on the same draws."""
    chosen: bool
    """Whether the number of modes was chosen by the rule, not asked for."""
    n_distinct: int
    """Number of distinct partitions among the draws."""
    loss: Loss
    """The loss, as a distance between draws and modes."""
    converged: bool = True
    """Whether the search ended by itself, not by the time limit."""

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return len(self.weights)

    @property
    def sentence(self) -> str:
        """Whether one estimate is a fair summary, and why."""
        late = (
            ""
            if self.converged
            else " Time was up before the search ended: this is the best so far."
        )
        return self._summary() + late

    def _summary(self) -> str:
        if self.n_modes == 1:
            return self._why_one()
        share = sentence_list([percent(weight) for weight in self.weights])
        # Each pair of modes once.
        apart = self.distances[np.triu_indices(self.n_modes, 1)]
        far = f"{apart.min():.3g}" + (f" to {apart.max():.3g}" if len(apart) > 1 else "")
        verdict = "One estimate is not a fair summary:" if self.chosen else "As asked for,"
        return (
            f"{verdict} the draws fall into {self.n_modes} groups ({share}) whose modes are "
            f"{self.loss.with_unit(far)} apart ({self.loss.name}), while a draw is "
            f"{self.expected_loss:.3g} from its own mode on average; with a single partition that "
            f"would be {self.single_loss:.3g}.{self._too_small()}"
        )

    def _too_small(self) -> str:
        """A sentence on the groups that are too small to be modes, if a number was asked for; or nothing."""
        counts = np.bincount(self.assignments, minlength=self.n_modes)
        # Groups of tiny weight, and single draws: but a single draw of large weight may well be a mode.
        tiny = (self.weights < _TINY) | ((counts == 1) & (self.weights < WEIGHT))
        if self.chosen or not tiny.any():
            return ""
        names = []
        for m in np.flatnonzero(tiny):
            what = "a single draw" if counts[m] == 1 else f"{percent(self.weights[m])} of the draws"
            which = _ORDINALS[m] if m < len(_ORDINALS) else f"{m + 1}th"
            names.append(f"the {which} group is {what}")
        # At least one is left: the weights sum to 1.
        left = int((~tiny).sum())
        has = "one mode" if left == 1 else f"no more than {left} modes"
        return f" But {sentence_list(names)}: the sample has {has}."

    def _why_one(self) -> str:
        """Why one partition is reported."""
        if self.n_distinct == 1:
            return "All draws are equal: one partition says it all."
        if not self.silhouettes:
            asked = "No more than one partition was" if self.chosen else "One partition was"
            return f"{asked} asked for; whether it is a fair summary was not tested."
        # Of the numbers tried, the one that brought draws nearest: none passed all conditions of the rule.
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
            "converged": self.converged,
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
        columns: dict[str, list[Any]] = {
            "mode": [str(m) for m in range(self.n_modes)],
            "weight": [f"{weight:.3f}" for weight in self.weights],
            "clusters": [int(labels.max()) + 1 for labels in self.labels],
            "loss within": [float(value) for value in self.expected_losses],
        }
        return "\n".join([self.sentence, *plain_table(columns)])


def modes(
    draws: DrawsLike,
    loss: LossLike = "vi",
    n_modes: int | str = "auto",
    *,
    max_modes: int = 5,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
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
        The distance; see `epluribus.losses.available`.
    n_modes : int or "auto", default "auto"
        Number of modes; "auto" chooses it by the rule in the notes.
    max_modes : int, default 5
        Largest number tried by "auto".
    rng : int, Generator or SeedSequence, optional
        Source of randomness: the same gives the same answer.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    progress : bool or callable, default False
        True for a progress bar on a terminal, or a function called as ``(done, total, info)``: the single
        partition, each number of modes tried, and the modes are one step each.
    time_limit : float, optional
        Seconds after which the best so far is returned, marked ``converged=False``; it then depends on the
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
    distinct: a mean silhouette of at least 0.25. Of several such numbers the one with the largest
    silhouette is taken. Numbers are tried in turn until two in a row fail, on at most 400 draws; the
    modes are then found on all draws.

    With more than 20 million labels (items times distinct draws) the search looks at some 5 million of them,
    those of a random part of the items in all draws. All other items are then placed, in each mode, where
    they cost least given its draws; weights, losses and assignments are those of all items.

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
    sample.check_complete("Finding modes")
    highest = check_count(max_modes, "max_modes")
    # The only string allowed is "auto".
    automatic = isinstance(n_modes, str)
    if automatic and n_modes != "auto":
        raise ValueError(f"'n_modes' must be an integer or 'auto'; got {n_modes!r}.")
    fixed = 1 if automatic else check_count(n_modes, "n_modes", way_out=" Or give 'auto'.")
    # Generators for the part of the draws, for the single partition, and for each number of modes.
    rngs = make_rng(rng).spawn(2 + max(highest, fixed))
    stopper = Stopper(time_limit)
    bar = make_progress(progress, highest + 1 if automatic else 2, "modes", stopper)
    steps = count(1)

    def step() -> None:
        bar.show(next(steps), {})
        stopper.check()

    try:
        search = ModeSearch(sample, chosen, rngs, resolve_jobs(n_jobs), stopper, step)
        number = search.choose(highest) if automatic else fixed
        bar.grow(len(search.silhouettes) + 2)  # not all numbers may have been tried
        labels = search.placed(search.solve(number))
        step()
    finally:
        bar.close()
    # The heaviest mode first. Draws are then assigned again, because one that is as near to two modes goes
    # to the first of them.
    order = np.argsort(-Assignment(sample, chosen, labels).weights, kind="stable")
    labels = labels[order]
    found = Assignment(sample, chosen, labels)
    # Item-major, as draws are stored, to compare each mode with all modes.
    columns = np.ascontiguousarray(labels.T.astype(np.uint32))
    return Modes(
        labels=labels,
        weights=found.weights,
        expected_losses=found.expected_losses,
        assignments=found.nearest[sample.index],
        distances=np.stack([loss_values(mode, columns, chosen) for mode in labels]),
        expected_loss=found.expected_loss,
        single_loss=_single_loss(search, labels, found),
        silhouettes=search.silhouettes,
        drops=search.drops,
        chosen=automatic,
        n_distinct=int((sample.weights > 0).sum()),
        loss=chosen,
        converged=search.converged,
    )


def _single_loss(search: ModeSearch, labels: IntArray, found: Assignment) -> float:
    """V(1) on all items."""
    if search.items is None:
        return search.single.expected_loss
    if len(labels) == 1:
        return found.expected_loss
    return Assignment(search.whole, search.loss, search.placed_single()[None]).expected_loss
