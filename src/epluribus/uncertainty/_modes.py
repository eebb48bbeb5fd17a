"""Several partitions with weights, when one is not a fair summary.

`_draw_modes.py` says into how many groups the draws fall. A draw belongs to the group with the nearest mean, in the
space of pairs of items; the partition nearest by the loss would not do, since a coarse partition is near to many
noisy draws of finer ones. Each mode is the partition with the smallest expected loss over the draws of a group, and
its weight is their share. Weights are trusted only if the chains entered each group several times.
For a given number, or one chosen by the elbow of the mean distance, groups are found as in k-means, from a cut of
Ward's tree of the draws. Balocchi & Wade (2025) do the same with distances by the loss.

Balocchi, C., Wade, S. (2025). Understanding uncertainty in Bayesian cluster analysis. doi:10.48550/arXiv.2506.16295
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._cards import Alert, Card, Rows, Table
from epluribus._parallel import Stopper, resolve_jobs
from epluribus._progress import Progress, ProgressLike
from epluribus._text import count, percent, percents, sentence_list
from epluribus._typing import DrawsLike, FloatArray, IntArray, LossLike, RngLike
from epluribus._validate import check_count, make_rng, shown
from epluribus.changes import EQUAL, what_differs
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import raise_if_interrupted
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.search._minimize import minimize_within
from epluribus.uncertainty._draw_modes import (
    DrawGroups,
    count_entries,
    find_groups,
    groups_of_all,
    inner_products,
    look,
    members_of,
    nearest_mean,
    nothing_varies,
)
from epluribus.uncertainty._items import items

_TINY = 0.05
"""A group of smaller weight is not called a mode, even if this number of modes was asked for."""
_ROUNDS = 5
"""Rounds in which means and nearest draws are found in turn; most change nothing after two."""
_MOST = 8
"""Largest number that the elbow may be at."""
_NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True, repr=False, eq=False)
class Modes(Rows):
    """Partitions with weights that stand for the draws, the heaviest first."""

    labels: IntArray
    """(n_modes, n_items) canonical labels."""
    weights: FloatArray
    """(n_modes,) share of the draws in the group of each mode."""
    expected_losses: FloatArray
    """(n_modes,) mean loss between each mode and its own draws."""
    assignments: IntArray
    """(n_draws,) number of the mode to whose group each draw belongs."""
    distances: FloatArray
    """(n_modes, n_modes) loss between modes; symmetric only if the loss is."""
    expected_loss: float
    """Mean loss between a draw and its mode."""
    single_loss: float
    """The same with one partition."""
    entries: IntArray
    """(n_modes,) how often the chains entered each mode, in the order of the draws."""
    n_distinct: int
    """Number of distinct partitions among the draws."""
    loss: Loss
    """The loss, as a distance between draws and modes."""
    choice: str
    """Where the number of modes is from: "auto" (the rule), "elbow", or "asked"."""
    groups: DrawGroups | None
    """What the rule found; None if the number was asked for, or time was up."""
    weak: float | None
    """Share of items that are with the others of their cluster in fewer than half of the draws, if `fair` needs it."""
    converged: bool
    """Whether the search ended by itself, not by the time limit."""
    items: tuple[str, ...] | None
    """Names of the items, if the draws have them."""
    ensemble: bool
    """Whether the draws are an ensemble of clusterings, not a posterior sample."""

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return len(self.weights)

    @property
    def headline(self) -> str:
        """Whether one partition is a fair summary, in a few words; the same as in `health`."""
        return self._verdict[0]

    @property
    def fair(self) -> bool | None:
        """Whether one partition is a fair summary; None if that was not tested, or cannot be known."""
        return self._verdict[1]

    @property
    def _verdict(self) -> tuple[str, bool | None]:
        if self.n_distinct == 1:
            return nothing_varies(len(self.assignments), self._draw), None
        return ("not checked", None) if self.groups is None else self.groups.verdict(self.weak)

    @property
    def diffuse(self) -> bool:
        """Whether no partition is a fair summary, because two draws agree hardly better than by chance."""
        return self.groups is not None and self.groups.diffuse

    @property
    def trusted(self) -> bool:
        """Whether each mode was entered often enough for its weight to mean something; True for ensembles."""
        return self.groups is None or self.groups.trusted

    @property
    def burn_in(self) -> int:
        """Draws at the beginning of chains that are a group of their own: they are not called a mode."""
        return 0 if self.groups is None else int(self.groups.early.sum())

    @property
    def changes(self) -> list[str]:
        """For each mode but the first, how it differs from the first."""
        told = [
            what_differs(self.labels[0], mode, names=self.items, other=f"the {_ordinal(m)}")
            for m, mode in enumerate(self.labels[1:], 1)
        ]
        same = "is the same partition: only the draws around it differ"
        return [f"the {_ordinal(m)} {same}" if x == EQUAL else x for m, x in enumerate(told, 1)]

    @property
    def sentence(self) -> str:
        """Whether one estimate is a fair summary, and why."""
        text = self._one() if self.n_modes == 1 else self._several()
        if self.burn_in and self.n_modes > 1:
            text += (
                f" {count(self.burn_in, 'draw')} in all, at the beginning of chains, are burn-in."
            )
        if not self.converged:
            text += " Time was up before the search ended: this is the best so far."
        return text

    @property
    def _draw(self) -> str:
        """What one of the partitions is called."""
        return "clustering" if self.ensemble else "draw"

    def _one(self) -> str:
        """Why one partition is reported."""
        if self.fair is None and self.n_distinct > 1:
            known = "was not tested" if self.groups is None else self.headline
            return f"Whether one partition is a fair summary {known}."
        why = f": the {self._draw}s show no second group with a gap between" if self.fair else ""
        return f"{self.headline[0].upper()}{self.headline[1:]}{why}."

    def _several(self) -> str:
        """How the modes differ, and their weights if these mean something."""
        number = f"{_NUMBERS.get(self.n_modes, str(self.n_modes))} competing partitions"
        if self.trusted:
            number += f", {sentence_list(percents(self.weights.tolist()))}"
        if self.choice != "auto":
            how = "As asked for" if self.choice == "asked" else "At the elbow of the mean distance"
            number = f"{how}, {number[0].lower()}{number[1:]}"
        text = f"{number}: {'; '.join(self.changes)}."
        if not self.trusted:
            which = int(self.entries.argmin())
            times = {1: "only once", 2: "only twice"}.get(int(self.entries[which]), "too rarely")
            text += (
                f" But the chains entered the {_ordinal(which)} {times}: it may be burn-in or poor mixing, and the "
                "weights are not to be trusted."
            )
        small = [_ordinal(int(m)) for m in np.flatnonzero(self.weights < _TINY)]
        if small and self.choice != "auto":
            text += (
                f" But the {sentence_list(small)} {'has' if len(small) == 1 else 'have'} less than "
                f"{percent(_TINY)} of the {self._draw}s: too few to be called a mode."
            )
        return text

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        plain = "n_modes choice converged sentence fair diffuse trusted burn_in changes expected_loss single_loss"
        arrays = "entries weights expected_losses distances labels assignments"
        return {
            "loss": self.loss.name,
            **{name: getattr(self, name) for name in plain.split()},
            **{name: getattr(self, name).tolist() for name in arrays.split()},
            "n_clusters": (self.labels.max(axis=1) + 1).tolist(),
        }

    def __len__(self) -> int:
        return self.n_modes

    def columns(self) -> dict[str, Any]:
        """The modes with their weights, as lists by name."""
        columns = {
            "mode": list(range(self.n_modes)),
            "weight": [float(weight) for weight in self.weights],
            "clusters": [int(labels.max()) + 1 for labels in self.labels],
            "entries": self.entries.tolist(),
            "loss within": [float(value) for value in self.expected_losses],
        }
        if self.ensemble:  # no order, no entries
            del columns["entries"]
        return columns

    def _card(self) -> Card:
        columns = self.columns()
        columns["weight"] = [f"{weight:.3f}" for weight in self.weights]
        verdict = Alert(self.sentence) if self.fair is False else self.sentence
        return Card("", verdict, Table(columns), heading=count(self.n_modes, "mode"), indent="")


def modes(
    draws: DrawsLike,
    loss: LossLike = "vi",
    n_modes: int | str = "auto",
    *,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = None,
    time_limit: float | None = None,
) -> Modes:
    """A few partitions with weights that stand for the draws, and whether one is enough.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample, or an ensemble of clusterings.
    loss : str or Loss, default "vi"
        The loss of the partitions; see `epluribus.losses.available`. The number of modes does not depend on it.
    n_modes : int, "auto" or "elbow", default "auto"
        Number of modes; "auto" finds it by the rule in the notes, "elbow" takes the one of up to eight after which
        more modes bring the draws least nearer.
    rng : int, Generator or SeedSequence, optional
        Source of randomness of the searches: the same gives the same answer.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    progress : bool or callable, optional
        By default a bar appears after two seconds; True shows it at once, False never. A function is called as
        ``(done, total, info)``.
    time_limit : float, optional
        Seconds after which the best so far is returned, marked ``converged=False``.

    Returns
    -------
    Modes
        Labels and weights, the heaviest first; `sentence` says whether one estimate is a fair summary.

    Notes
    -----
    The rule looks for directions in which items move together, and for groups of draws along them, with fewer
    draws between two groups than chance explains and at least 4% of the draws in each; then for single partitions
    that return far more often than all others. Partitions between which items move one by one are one group. It
    looks at no more than 400 draws and 300 items, and depends on the draws alone: the same draws give the same number
    of modes. One mode is a fair summary if it is worth some 40 independent draws, and if most items are with the
    others of their cluster in at least half of the draws.

    A draw belongs to the group with the nearest mean, in the space of pairs of items, whatever the loss: many noisy
    draws are nearer by VI to a coarse partition than to the finer one that they vary around. So the mean loss between
    draws and their modes may be above that to the nearest modes, and need not fall with each mode asked for.

    Examples
    --------
    >>> import epluribus as epl
    >>> one, other = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]
    >>> found = epl.uncertainty.modes([one, other, one, other, one] * 20, rng=1)
    >>> found.labels
    array([[0, 0, 0, 1, 1, 1],
           [0, 0, 1, 1, 2, 2]])
    >>> found.weights
    array([0.6, 0.4])
    """
    sample, chosen = as_draws(draws), losses.get(loss)
    choice = n_modes if isinstance(n_modes, str) else "asked"
    if choice not in ("auto", "elbow", "asked"):
        raise ValueError(f"'n_modes' must be an integer, 'auto' or 'elbow'; got {shown(n_modes)}.")
    if choice == "asked":
        n_modes = check_count(n_modes, "n_modes", way_out=" Leave it out to let the draws decide.")
    stopper = Stopper(time_limit)
    bar = Progress(progress, 2, "modes", stopper)
    generator, n_jobs, complete = make_rng(rng), resolve_jobs(n_jobs), []
    keep, groups = np.flatnonzero(sample.draw_weights > 0), None

    def minimize(rows: IntArray) -> IntArray:
        """The best partition for some of the draws, in half of the time that is left."""
        limit = None if stopper.left is None else max(1e-3, stopper.left / 2)
        part = sample if len(rows) == sample.n_draws else sample[rows]
        found = minimize_within(part, chosen, limit, rng=generator.spawn(1)[0], n_jobs=n_jobs)
        raise_if_interrupted(found)
        complete.append(found.converged)
        return found.labels

    try:
        single = minimize(keep)
        bar.show(1, {})
        stopper.check()
        group = np.zeros(sample.n_distinct, dtype=np.int64)
        if choice == "auto" and not stopper.stopped:
            groups = find_groups(sample)
            group = groups_of_all(sample, groups.group)
            keep = keep[~groups.early[keep]]
        elif choice != "auto":
            group = groups_of_all(sample, _cut(sample, n_modes))
        kept = sample if len(keep) == sample.n_draws else sample[keep]
        own, shares = group[sample.index], kept.draw_weights / kept.total_weight
        weights = np.bincount(own[keep], weights=shares).astype(np.float64)
        order = np.argsort(-weights, kind="stable")  # the heaviest first
        weights, own = weights[order], np.argsort(order)[own]
        several = len(weights) > 1 or (groups is not None and groups.early.any())
        parts = [keep[own[keep] == m] for m in range(len(weights))]
        labels = np.stack([minimize(rows) for rows in parts]) if several else single[None]
        bar.show(2, {})
    finally:
        bar.close()
    values = np.stack([draw_losses(mode, sample, chosen)[sample.index] for mode in labels])
    least = values[own, np.arange(len(own))][keep] * shares
    weak = None
    if groups is not None and len(labels) == 1:
        weak = float((items(labels[0], kept, n_jobs=n_jobs).support < 0.5).mean())
    columns = np.ascontiguousarray(labels.T.astype(np.uint32))  # item-major, as draws are stored
    return Modes(
        labels=labels,
        weights=weights,
        expected_losses=np.bincount(own[keep], weights=least) / weights,
        assignments=own,
        distances=np.stack([loss_values(mode, columns, chosen) for mode in labels]),
        expected_loss=float(least.sum()),
        single_loss=kept.mean(draw_losses(single, kept, chosen)),
        entries=count_entries(own[keep], sample.chains[keep], len(labels))[0],
        n_distinct=int((sample.weights > 0).sum()),
        loss=chosen,
        choice=choice,
        groups=groups,
        weak=weak,
        converged=all(complete),
        items=sample.items,
        ensemble=sample.kind == "ensemble",
    )


def _cut(draws: Draws, n: int | str) -> IntArray:
    """The groups of the draws looked at: at most n, or as many as the elbow says.

    Ward's tree of their distances is cut; then, as in k-means, means and nearest draws are found in turn.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    rows, labels, _ = look(draws, np.random.default_rng(0))
    if len(rows) < 2:
        return np.zeros(len(rows), dtype=np.int64)
    inner = inner_products(labels)
    square = np.maximum(np.diag(inner)[:, None] + np.diag(inner) - 2 * inner, 0)
    square[np.arange(len(rows)), np.arange(len(rows))] = 0
    tree = linkage(squareform(np.sqrt(square), checks=False), "ward")
    cuts = {m: fcluster(tree, m, criterion="maxclust") for m in range(1, _MOST + 2)}
    if n == "elbow":
        # Mean distance of a draw to the central draw of its group; the elbow is where its fall slows down most.
        groups = ([square[np.ix_(g, g)] for g in members_of(cut)] for cut in cuts.values())
        mean = [sum(own.sum(axis=0).min() for own in parts) for parts in groups]
        n = int(np.argmax(np.diff(mean, 2))) + 2 if mean[0] > 0 else 1
    group = fcluster(tree, n, criterion="maxclust") - 1
    for _ in range(_ROUNDS):
        group = nearest_mean(labels, labels, group)
    return group


def _ordinal(m: int) -> str:
    """'first', 'second', ..."""
    return _ORDINALS[m] if m < len(_ORDINALS) else f"{m + 1}th"
