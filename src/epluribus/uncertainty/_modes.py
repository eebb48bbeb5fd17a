"""Several partitions with weights, when one is not a fair summary.

The posterior is summarized by M partitions a_1..a_M such that a draw is near one of them,

    V(M) = min over a_1..a_M of sum_t p_t min_m loss(a_m, z_t),

and the weight of a mode is the probability of the draws nearest to it. This is the best approximation of
the posterior by M points in Wasserstein distance (WASABI, Balocchi & Wade 2025), found by `_mode_search.py`.

`_mode_rule.py` says how many there are, and whether the draws are so diffuse that no partition is a
fair summary. Weights are trusted only if each mode was entered several times: with r_1, r_2, ... the lengths
of the stretches of draws in a mode, it was entered (sum r)^2 / sum r^2 times, effectively, so that stray
draws hardly count. A group that is one stretch at the beginning of a chain is burn-in, not a mode.

Balocchi, C., Wade, S. (2025). Understanding uncertainty in Bayesian cluster analysis.
doi:10.48550/arXiv.2506.16295
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from epluribus import losses
from epluribus._cards import Alert, Card, Shown, Table
from epluribus._parallel import Stopper, resolve_jobs
from epluribus._progress import ProgressLike, make_progress
from epluribus._text import count, percent, sentence_list
from epluribus._typing import DrawsLike, FloatArray, IntArray, LossLike, RngLike
from epluribus._validate import check_count, make_rng, shown
from epluribus.changes import what_differs
from epluribus.draws import Draws, as_draws
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.uncertainty._mode_rule import WEIGHT
from epluribus.uncertainty._mode_search import Assignment, ModeSearch
from epluribus.uncertainty._mode_words import burn_in_draws, count_entries, find_questions, ordinal
from epluribus.uncertainty._part import n_looked_at

_TINY = 0.01
"""A group of smaller weight is not called a mode, even if this number of modes was asked for."""
_ENTRIES = 3.0
"""Effective number of entries into a mode below which its weight is not to be trusted."""
_NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight"}


@dataclass(frozen=True, repr=False, eq=False)
class Modes(Shown):
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
    """Mean silhouette for each number of modes tried, on a part of the draws; the rule does not use it."""
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
    entries: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(n_modes,) how often the chains entered each mode, in the order of the draws."""
    trusted: bool = True
    """Whether each mode was entered often enough for its weight to mean something. True for ensembles, which
    have no order."""
    chance: float = math.nan
    """Mean loss between a draw and the single partition, relative to that of draws whose items are shuffled;
    NaN if it was not computed."""
    diffuse: bool = False
    """Whether no partition is a fair summary, because a draw is as far from the estimate as chance."""
    burn_in: int = 0
    """Draws at the beginning of chains that are a group of their own: they are not called a mode."""
    items: tuple[str, ...] | None = None
    """Names of the items, if the draws have them."""
    ensemble: bool = False
    """Whether the draws are an ensemble of clusterings, not a posterior sample."""

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return len(self.weights)

    @property
    def fair(self) -> bool | None:
        """Whether one partition is a fair summary; None if that was not tested."""
        if not self.chosen or not self.converged:
            return None
        return self.n_modes == 1 and not self.diffuse

    @property
    def changes(self) -> list[str]:
        """For each mode but the first, how it differs from the first."""
        return [
            what_differs(self.labels[0], mode, names=self.items, other=f"the {ordinal(m)}")
            for m, mode in enumerate(self.labels[1:], 1)
        ]

    @property
    def questions(self) -> list[str]:
        """The modes as independent questions, where all combinations of a few ambiguities occur."""
        return find_questions(self.labels, self.weights)

    @property
    def sentence(self) -> str:
        """Whether one estimate is a fair summary, and why."""
        parts = [self._summary()]
        if self.burn_in:
            parts.append(
                f"The first {count(self.burn_in, 'draw')} of the chains are a group of their own, which was "
                "never entered again: burn-in that should be left out."
            )
        if not self.converged:
            parts.append("Time was up before the search ended: this is the best so far.")
        return " ".join(parts)

    def _summary(self) -> str:
        if self.n_modes == 1:
            return self._why_one()
        share = sentence_list([percent(weight) for weight in self.weights])
        number = _NUMBERS.get(self.n_modes, str(self.n_modes))
        text = f"{number} competing partitions, {share}"
        if not self.chosen:
            text = f"As asked for, {text[0].lower()}{text[1:]}"
        questions = self.questions
        if questions:
            text += f": they are {len(questions)} independent questions. {'. '.join(questions)}."
        else:
            text += f": {'; '.join(self.changes)}."
        return f"{text}{self._too_small()}{self._few_entries()}"

    def _few_entries(self) -> str:
        """A sentence on modes that were entered too rarely; or nothing."""
        if self.trusted:
            return ""
        which = int(self.entries.argmin())
        times = {1: "only once", 2: "only twice"}.get(int(self.entries[which]), "too rarely")
        return (
            f" But the chains entered the {ordinal(which)} {times}: it may be burn-in or poor mixing, "
            "and the weights are not to be trusted."
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
            share = f"{percent(self.weights[m])} of the {self._draw}s"
            what = f"a single {self._draw}" if counts[m] == 1 else share
            names.append(f"the {ordinal(int(m))} group is {what}")
        # At least one is left: the weights sum to 1.
        left = int((~tiny).sum())
        has = "one mode" if left == 1 else f"no more than {left} modes"
        return f" But {sentence_list(names)}: the sample has {has}."

    @property
    def _draw(self) -> str:
        """What one of the partitions is called."""
        return "clustering" if self.ensemble else "draw"

    def _why_one(self) -> str:
        """Why one partition is reported."""
        if self.n_distinct == 1:
            return f"All {self._draw}s are equal: one partition says it all."
        if not self.silhouettes:
            asked = "No more than one partition was" if self.chosen else "One partition was"
            return f"{asked} asked for; whether it is a fair summary was not tested."
        if self.diffuse:
            return (
                f"No partition is a fair summary: a {self._draw} is as far from the estimate as one with "
                f"shuffled items ({percent(min(1.0, self.chance))})."
            )
        none = f"the {self._draw}s show no second group with a gap between"
        return f"One partition is a fair summary: {none}."

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "loss": self.loss.name,
            "n_modes": self.n_modes,
            "chosen": self.chosen,
            "converged": self.converged,
            "sentence": self.sentence,
            "fair": self.fair,
            "diffuse": self.diffuse,
            "entries": self.entries.tolist(),
            "trusted": self.trusted,
            "burn_in": self.burn_in,
            "changes": self.changes,
            "questions": self.questions,
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

    def _card(self) -> Card:
        columns: dict[str, list[Any]] = {
            "mode": [str(m) for m in range(self.n_modes)],
            "weight": [f"{weight:.3f}" for weight in self.weights],
            "clusters": [int(labels.max()) + 1 for labels in self.labels],
            "entries": self.entries.tolist(),
            "loss within": [float(value) for value in self.expected_losses],
        }
        heading = count(self.n_modes, "mode")
        verdict = Alert(self.sentence) if self.fair is False else self.sentence
        return Card("", verdict, Table(columns), heading=heading, indent="")


def modes(
    draws: DrawsLike,
    loss: LossLike = "vi",
    n_modes: int | str = "auto",
    *,
    max_modes: int = 8,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = None,
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
    max_modes : int, default 8
        Largest number tried by "auto".
    rng : int, Generator or SeedSequence, optional
        Source of randomness: the same gives the same answer.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    progress : bool or callable, optional
        By default a bar appears, on a terminal or in a notebook, when the work has taken two seconds; True
        shows it at once, False never. A function is called as ``(done, total, info)``: the single partition,
        each number of modes tried, and the modes are one step each.
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
    The number of modes is the largest for which each has at least 5 % of the draws, the draws between two
    of them are at most 0.3 times as dense as at the sparser one, and items move together between them; the
    head of `_mode_rule.py` has the formulas. All numbers are tried, on at most 400 draws, and judged on at
    most 2,000; the modes are then found on all draws. A mode that differs in one item is not reported.

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
    if n_looked_at(sample) < sample.n_items:
        sample.check_complete("Finding modes among this many items")
    highest = check_count(max_modes, "max_modes")
    automatic = isinstance(n_modes, str)
    if automatic and n_modes != "auto":
        raise ValueError(f"'n_modes' must be an integer or 'auto'; got {shown(n_modes)}.")
    fixed = 1 if automatic else check_count(n_modes, "n_modes", way_out=" Or give 'auto'.")
    # For the part of the draws, for the single partition, and for each number of modes.
    rngs = make_rng(rng).spawn(2 + max(highest, fixed))
    stopper = Stopper(time_limit)
    bar = make_progress(progress, highest + 1 if automatic else 2, "modes", stopper)
    steps = itertools.count(1)

    def step() -> None:
        bar.show(next(steps), {})
        stopper.check()

    try:
        found = _search(
            sample, chosen, rngs, resolve_jobs(n_jobs), stopper, step, highest, fixed, automatic
        )
        bar.grow(len(found.silhouettes) + 2)  # not all numbers may have been tried
        early = burn_in_draws(found.assignments, sample.chains, found.n_modes)
        if automatic and found.converged and len(early) and sample.kind != "ensemble":
            rest = sample[np.setdiff1d(np.arange(sample.n_draws), early)]
            bar.grow(2 * (highest + 1))
            again = _search(
                rest, chosen, rngs, resolve_jobs(n_jobs), stopper, step, highest, fixed, True
            )
            nearest = Assignment(sample, chosen, again.labels).nearest[sample.index]
            found = replace(again, assignments=nearest, burn_in=len(early))
        step()
    finally:
        bar.close()
    return found


def _search(
    sample: Draws,
    loss: Loss,
    rngs: list[Generator],
    n_jobs: int,
    stopper: Stopper,
    step: Callable[[], None],
    highest: int,
    fixed: int,
    automatic: bool,
) -> Modes:
    """The modes of a sample: their number, by the rule or as asked for, and where they are."""
    search = ModeSearch(sample, loss, rngs, n_jobs, stopper, step)
    number = search.choose(highest) if automatic else fixed
    labels = search.placed(search.solve(number))
    # The heaviest mode first. Draws are then assigned again, because one that is as near to two modes goes
    # to the first of them.
    order = np.argsort(-Assignment(sample, loss, labels).weights, kind="stable")
    labels = labels[order]
    found = Assignment(sample, loss, labels)
    nearest, ensemble = found.nearest[sample.index], sample.kind == "ensemble"
    entries, effective = count_entries(nearest, sample.chains, len(labels))
    chance, diffuse = math.nan, False
    if automatic and len(labels) == 1 and search.silhouettes:
        chance, diffuse = search.judge.diffuse(search.single.labels)
    columns = np.ascontiguousarray(labels.T.astype(np.uint32))  # item-major, as draws are stored
    return Modes(
        labels=labels,
        weights=found.weights,
        expected_losses=found.expected_losses,
        assignments=nearest,
        distances=np.stack([loss_values(mode, columns, loss) for mode in labels]),
        expected_loss=found.expected_loss,
        single_loss=_single_loss(search, labels, found),
        silhouettes=search.silhouettes,
        drops=search.drops,
        chosen=automatic,
        n_distinct=int((sample.weights > 0).sum()),
        loss=loss,
        converged=search.converged,
        entries=entries,
        trusted=ensemble or len(labels) == 1 or bool(effective.min() >= _ENTRIES),
        chance=chance,
        diffuse=diffuse,
        items=sample.items,
        ensemble=ensemble,
    )


def _single_loss(search: ModeSearch, labels: IntArray, found: Assignment) -> float:
    """V(1) on all items."""
    if search.items is None:
        return search.single.expected_loss
    if len(labels) == 1:
        return found.expected_loss
    return Assignment(search.whole, search.loss, search.placed_single()[None]).expected_loss
