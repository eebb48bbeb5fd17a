"""How many groups the draws fall into: the one rule behind `modes`, the line of `health`, and the report.

In the space of pairs of items (1 if together) Binder's loss is a squared Euclidean distance, so that classical
scaling of the draws is exact. Three steps, repeated within every group that is found:

1. *Directions.* Labels of all draws are matched to a consensus, and those of each item shuffled over the draws: what
   items share is gone. A direction is kept if the draws vary along it more than along any after the shuffle.
2. *Groups.* Along these directions the density of draws is a sum of Gaussian kernels. From high to low density
   draws join the groups near them. Two groups that meet stay apart if the lower peak is clearly denser than the place
   where they meet (persistence; Chazal, Guibas, Oudot & Skraba 2013). The scale is a *move*: how far one item gets
   that moves alone. A border that moves item by item is one group; draws between which two items jump together are two.
3. *A second look.* Directions bend: along a path on which items move one by one, they crowd its ends. For every two
   groups draws are therefore counted along the number of items that are placed as in the second group, and the groups
   are one if step 2 finds no gap there.

Draws are *diffuse* if two draws of a group agree no better than if the items of one were shuffled.

Chazal, F., Guibas, L. J., Oudot, S. Y., Skraba, P. (2013). Persistence-based clustering in Riemannian manifolds.
Journal of the ACM 60 (6). doi:10.1145/2535927
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from epluribus._kernels.modes import draw_distances, single_moves
from epluribus._typing import FloatArray, IntArray
from epluribus.diagnostics import by_chain, ess
from epluribus.draws import Draws
from epluribus.draws.rows import resample

_SIZE = (400, 500)
"""Numbers of draws and of items that are looked at: enough to see a group of 5 %, in less than a second."""
_FEWEST = 0.04
"""Smallest share of a group: a little less than 5 %, since the share in a sample varies."""
_COHERENT = 1.1
"""Variance of a direction, relative to shuffled labels, from which it is kept: noise alone stays below."""
_PEAK = 3.0
"""How much denser a peak must be than the place where groups meet, in standard errors of the log ratio."""
_MOST = 6
"""Largest number of directions at a time; further groups are found within the first ones."""
_DIFFUSE = 0.05
"""Agreement of two draws beyond chance, as a share of the largest, below which they are diffuse."""
_ENOUGH, _ENTRIES = 40, 3.0
"""Independent draws below which one group proves little; effective entries below which a weight is not trusted."""


class Looked(NamedTuple):
    """The draws that are looked at."""

    rows: IntArray
    """Their numbers, in order; one of large weight may be there several times."""
    labels: IntArray
    """(n_rows, n_chosen) canonical labels of the items looked at; -1 if missing."""
    square: FloatArray
    """(n_rows, n_rows) numbers of pairs on which two draws disagree."""
    left_out: int
    """Draws left out because they share no pair of items with most others."""


@dataclass(frozen=True)
class DrawGroups:
    """The groups of draws, the largest first."""

    rows: IntArray
    """Numbers of the draws looked at, in order; one of large weight may be there several times."""
    group: IntArray
    """The group of each of these; -1 for stray draws and burn-in."""
    n: int
    """Number of groups."""
    diffuse: bool
    """Whether two draws agree no better than by chance; they are then one group."""
    n_effective: float
    """Number of independent draws that say as much, from weights, autocorrelation and missing labels."""
    entries: FloatArray
    """(n,) effective number of times that the chains entered each group."""
    early: NDArray[np.bool_]
    """(n_draws,) the draws at the beginning of chains that are a group of their own: burn-in."""
    left_out: int
    """Draws left out because they share no pair of items with most others."""
    ensemble: bool
    """Whether the draws are an ensemble of clusterings, which have no order."""

    @property
    def trusted(self) -> bool:
        """Whether every group was entered often enough for its weight to mean something."""
        return self.n == 1 or bool(self.entries.min() >= _ENTRIES)

    def verdict(self, weak: float | None) -> tuple[str, bool | None]:
        """Whether one partition is a fair summary, without a full stop; None if that is not known.

        `weak` is the share of items that are with the others of their cluster in fewer than half of the draws.
        """
        draws = "clusterings" if self.ensemble else "draws"
        if self.n > 1:
            doubt = "" if self.trusted else ", between which the chains hardly move"
            return f"{self.n} competing partitions{doubt}", False
        if self.early.any():
            return (
                f"{int(self.early.sum()):,} draws at the beginning of the chains are burn-in",
                False,
            )
        if self.n_effective < _ENOUGH:
            worth = f"worth only {self.n_effective:.0f} independent ones"
            return f"cannot be known: these {draws} are {worth}", None
        if self.diffuse:
            return f"no partition is a fair summary: the {draws} are diffuse", False
        if weak is not None and weak > 0.5:
            return "one mode, but most items are seldom with the others of their cluster", False
        if weak is None:
            return "one mode; whether its clusters hold together was not checked", None
        return "one partition is a fair summary", True


def look(draws: Draws) -> Looked:
    """At most 400 draws, on at most 500 items, and the distances between them."""
    rows = _choose_draws(draws)
    labels = _labels(draws, rows, _choose_items(draws, np.random.default_rng(0)))
    square = draw_distances(labels, int(labels.max()) + 1)
    known = np.isnan(square).mean(axis=1) <= 0.5
    known |= not known.any()
    square = _filled(square[np.ix_(known, known)])
    return Looked(rows[known], labels[known], square, int((~known).sum()))


def find_groups(draws: Draws) -> DrawGroups:
    """The groups of draws. They depend on the draws alone: random numbers have a fixed seed."""
    rows, labels, square, left_out = look(draws)
    group = np.full(len(rows), -1)
    fewest, rng = max(3.0, _FEWEST * len(rows)), np.random.default_rng(0)
    found = _split(np.arange(len(rows)), labels, square, fewest, rng)
    for number, members in enumerate(sorted(found, key=len, reverse=True)):
        group[members] = number
    diffuse = _are_diffuse(labels, square, group)
    if diffuse:
        group[:] = 0
    early = np.zeros(draws.n_draws, dtype=bool)
    if draws.kind != "ensemble" and group.max() > 0:
        group, early = _without_burn_in(draws, rows, group)
    n = int(group.max()) + 1
    ensemble = draws.kind == "ensemble"
    if ensemble:  # no order, no entries; the clusterings are all there is
        entries, effective = np.full(n, np.inf), np.inf
    else:
        entries = count_entries(group, draws.chains[rows], n)[1]
        later = ~early[rows]
        square = square[np.ix_(later, later)]
        effective = _effective(draws, rows[later], labels[later], square)
    return DrawGroups(rows, group, n, diffuse, effective, entries, early, left_out, ensemble)


def _choose_draws(draws: Draws) -> IntArray:
    """At most 400 draws in their order, drawn systematically by their weights."""
    weights = draws.draw_weights
    n = min(_SIZE[0], draws.n_draws)
    if n == draws.n_draws and (weights == weights[0]).all():
        return np.arange(n)
    return resample(weights, n)


def _choose_items(draws: Draws, rng: Generator) -> IntArray:
    """At most 500 items: in fives that share a cluster in one draw, since clusters may be small."""
    n = draws.n_items
    if n <= _SIZE[1]:
        return np.arange(n)
    listed = np.argsort(draws.store.columns(draws.index[:1])[:, 0], kind="stable")
    begin = rng.choice(n // 5, _SIZE[1] // 5, replace=False) * 5
    return np.sort(listed[(begin[:, None] + np.arange(5)).ravel()])


def _labels(draws: Draws, rows: IntArray, items: IntArray) -> IntArray:
    """(n_rows, n_chosen) canonical labels of the chosen items in the chosen draws; -1 if missing."""
    table = draws.store.rows(items)[:, draws.index[rows]].T.astype(np.int64) - draws.has_missing
    return _canonical(table)


def _canonical(labels: IntArray) -> IntArray:
    """Rows of labels numbered from 0; -1 stays."""
    out = np.full(labels.shape, -1)
    for row, new in zip(labels, out, strict=True):
        seen = row >= 0
        new[seen] = np.unique(row[seen], return_inverse=True)[1]
    return out


def _split(
    rows: IntArray, labels: IntArray, square: FloatArray, fewest: float, rng: Generator
) -> list[IntArray]:
    """Groups of the given draws, and groups within these."""
    if len(rows) < 2 * fewest or not square[np.ix_(rows, rows)].any():
        return [rows]
    found = _groups_of(labels[rows], square[np.ix_(rows, rows)], fewest, rng)
    if len(found) < 2:
        return [rows]
    return [part for own in found for part in _split(rows[own], labels, square, fewest, rng)]


def _groups_of(
    labels: IntArray, square: FloatArray, fewest: float, rng: Generator
) -> list[IntArray]:
    """The groups that the draws fall into at once; a single one if they do not."""
    matched = _match_labels(labels, labels[square.sum(axis=1).argmin()])
    values, vectors = np.linalg.eigh(_gram(square))
    shuffled = _canonical(_shuffle(matched, rng))
    by_chance = _filled(draw_distances(shuffled, int(shuffled.max()) + 1))
    kept = np.flatnonzero(values > _COHERENT * np.linalg.eigvalsh(_gram(by_chance))[-1])[-_MOST:]
    if len(kept) == 0:
        return [np.arange(len(labels))]
    scale = np.sqrt(values[kept])
    places = vectors[:, kept] * scale
    move = np.median(single_moves(labels, int(labels.max()) + 1, vectors[:, kept] / scale))
    distance = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    found = _peaks(distance / move, fewest)
    # The second look: groups without a gap between them are one.
    name = np.arange(len(found))
    for a, b in combinations(range(len(found)), 2):
        placed = _placed_as_second(matched[found[a]], matched[found[b]])
        if len(_peaks(np.abs(placed[:, None] - placed), fewest)) < 2:
            name[name == name[b]] = name[a]
    return [
        np.concatenate([found[g] for g in np.flatnonzero(name == n)]) for n in sorted(set(name))
    ]


def _filled(square: FloatArray) -> FloatArray:
    """Distances, where unknown ones are taken for the mean."""
    known = ~np.isnan(square)
    return np.where(known, square, square[known].mean())


def _gram(square: FloatArray) -> FloatArray:
    """Inner products about the mean, from squared distances."""
    return (
        np.asarray(square.mean(axis=0) + square.mean(axis=1)[:, None] - square - square.mean()) / 2
    )


def _match_labels(labels: IntArray, target: IntArray) -> IntArray:
    """Labels of all draws named after the clusters of a consensus that begins with `target`."""
    n = labels.shape[1]
    matched = labels
    for _ in range(3):
        matched = np.stack([_match(row, target) for row in labels])
        counts = np.zeros((n, int(matched.max()) + 1), dtype=np.int64)
        t, i = np.nonzero(matched >= 0)
        np.add.at(counts, (i, matched[t, i]), 1)
        # The most frequent label of each item.
        target = np.where(counts.max(axis=1) > 0, counts.argmax(axis=1), -1)
        target = _canonical(target[None])[0]
    return matched


def _match(row: IntArray, target: IntArray) -> IntArray:
    """Clusters named after those that they share most items with, if that is mutual; others by their first item."""
    both = (row >= 0) & (target >= 0)
    k, n = int(target.max()) + 1, int(row.max()) + 1
    shared = np.bincount(row[both] * k + target[both], minlength=n * k).reshape(n, k)
    nearest = shared.argmax(axis=1)
    mutual = (shared.argmax(axis=0)[nearest] == np.arange(n)) & (shared.max(axis=1) > 0)
    seen = row >= 0
    first = np.flatnonzero(seen)[np.unique(row[seen], return_index=True)[1]]
    return np.where(seen, np.where(mutual, nearest, k + first)[row], -1)


def _shuffle(labels: IntArray, rng: Generator) -> IntArray:
    """The labels of each item in random order over the draws that have seen it."""
    out = labels.copy()
    for i in range(labels.shape[1]):
        seen = np.flatnonzero(labels[:, i] >= 0)
        out[seen, i] = labels[rng.permutation(seen), i]
    return out


def _peaks(distance: FloatArray, fewest: float) -> list[IntArray]:
    """Groups of draws around peaks of their density, from distances in moves of one item."""
    n = len(distance)
    near = np.sort(distance, axis=1)[:, round(np.sqrt(n))]
    # Neighbors are mutually among the nearest, or about one move apart. A kernel narrower than that would see
    # peaks at every step of a path on which items move one by one.
    width = max(0.5, float(np.median(near)))
    linked = (distance <= np.minimum(near[:, None], near)) | (distance <= 1.25)
    density = np.exp(-0.5 * (distance / width) ** 2).sum(axis=1)
    root, size = np.arange(n), np.ones(n)
    group = np.full(n, -1)  # the peak of the group of each draw, once it has joined one
    for t in np.argsort(-density, kind="stable"):
        peaks = np.unique(group[linked[t] & (group >= 0)])
        if len(peaks) == 0:
            group[t] = t
            continue
        peaks = peaks[np.argsort(-density[peaks], kind="stable")]
        group[t] = peaks[0]
        size[peaks[0]] += 1
        for lower in peaks[1:]:
            rise = np.log(density[lower] / density[t])
            error = np.sqrt(1 / density[lower] + 1 / density[t])
            large = min(size[lower], size[peaks[0]]) >= fewest
            if not (large and rise > _PEAK * error):
                group[group == lower] = peaks[0]
                size[peaks[0]] += size[lower]
    found = [
        np.flatnonzero(group == peak) for peak in root[np.bincount(group, minlength=n) >= fewest]
    ]
    return found or [np.arange(n)]


def _placed_as_second(first: IntArray, second: IntArray) -> FloatArray:
    """How many items each draw of two groups has placed as in the second group; half of them at a tie."""
    n_items, k = first.shape[1], int(max(first.max(), second.max())) + 1
    labels = np.concatenate([first, second])
    item = np.arange(n_items)

    def shares(rows: IntArray) -> tuple[FloatArray, FloatArray]:
        cells = (rows + item * k)[rows >= 0]
        seen = np.maximum(1, (rows >= 0).sum(axis=0))[:, None]
        return np.bincount(cells, minlength=n_items * k).reshape(n_items, k) / seen, seen

    (one, n_one), (other, n_other), (mean, _) = shares(first), shares(second), shares(labels)
    error = np.sqrt(mean * (1 - mean) * (1 / n_one + 1 / n_other))
    sign = np.where(np.abs(other - one) > 3 * error + 1e-9, np.sign(other - one), 0.0)
    counted = (sign != 0).any(axis=1) & (labels >= 0)
    total = np.where(counted, sign[item, labels], 0.0).sum(axis=1) / 2
    # Where labels are missing, as if all had been seen.
    return np.asarray(total * (sign != 0).any(axis=1).sum() / np.maximum(1, counted.sum(axis=1)))


# --- what is said of the groups ---


def _are_diffuse(labels: IntArray, square: FloatArray, group: IntArray) -> bool:
    """Whether two draws of a group agree hardly better than by chance."""
    n = labels.shape[1]
    sizes = np.stack([np.bincount(row[row >= 0], minlength=n) for row in labels]).astype(float)
    seen = sizes.sum(axis=1)
    together = (sizes * (sizes - 1)).sum(axis=1) / np.maximum(1, seen * (seen - 1))
    one, other = together[:, None], together[None]
    by_chance = n * (n - 1) / 2 * (one * (1 - other) + other * (1 - one))
    same = (group[:, None] == group) & (group >= 0)[:, None]
    np.fill_diagonal(same, False)
    # Shuffling changes nothing where nearly all items are together, or alone: then that is the summary.
    alone = ((sizes == 1).sum(axis=1) / np.maximum(1, seen)).mean()
    if max(together.mean(), alone) >= 0.7:
        return False
    return bool(square[same].sum() > (1 - _DIFFUSE) * by_chance[same].sum())


def _without_burn_in(
    draws: Draws, rows: IntArray, group: IntArray
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Groups without those that are only in the first quarter of the chains, and the draws up to there."""
    early = np.zeros(draws.n_draws, dtype=bool)
    lengths = np.bincount(draws.chains)
    place = np.zeros(draws.n_draws)
    for chain in range(draws.n_chains):
        place[draws.chains == chain] = np.arange(lengths[chain]) / lengths[chain]
    number, kept = np.full(len(group), -1), 0
    for g in range(int(group.max()) + 1):
        own = group == g
        if np.quantile(place[rows[own]], 0.9) >= 0.25:
            number[own], kept = kept, kept + 1
            continue
        for row in rows[own & (place[rows] < 0.25)]:
            early |= (draws.chains == draws.chains[row]) & (np.arange(draws.n_draws) <= row)
    return (number, early) if kept else (group, early & False)


def count_entries(group: IntArray, chains: IntArray, n: int) -> tuple[IntArray, FloatArray]:
    """How often each of n groups was entered, and effectively: (sum r)^2 / sum r^2 over its stretches r."""
    chains, group = chains[group >= 0], group[group >= 0]
    new = np.r_[True, (np.diff(group) != 0) | (np.diff(chains) != 0)]
    begin = np.flatnonzero(new)
    length = np.diff(np.append(begin, len(group))).astype(float)
    total = np.bincount(group[begin], weights=length, minlength=n)
    squares = np.bincount(group[begin], weights=length**2, minlength=n)
    return np.bincount(group[begin], minlength=n), total**2 / np.maximum(squares, 1)


def _effective(draws: Draws, rows: IntArray, labels: IntArray, square: FloatArray) -> float:
    """Number of independent draws with complete labels that say as much."""
    weights = draws.draw_weights
    kish = weights.sum() ** 2 / (weights**2).sum()
    # How far the draws are from the most central one, and how they lie along the longest direction.
    central = square[square.sum(axis=1).argmin()]
    longest = np.linalg.eigh(_gram(square))[1][:, -1]
    part = draws[rows] if len(rows) < draws.n_draws else draws
    found = [ess(by_chain(series, part)) for series in (central, longest)]
    mixing = np.nanmin([*found, len(rows)]) / len(rows)
    seen = float(((labels >= 0).mean(axis=1) ** 2).mean())
    return float(kish * mixing * seen)
