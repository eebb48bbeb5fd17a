"""How many groups the draws fall into: the one rule behind `modes`, the line of `health`, and the report.

In the space of pairs of items (1 if together) Binder's loss is a squared Euclidean distance, so that principal
components of the draws are found exactly. Pairs that a draw has not seen are left at their mean. Three steps,
repeated within every group that is found:

1. *Directions.* Labels of all draws are matched to the central draw, and those of each item shuffled over the draws:
   what items share is gone. A component is kept if the draws vary along it more than along any after the shuffle.
2. *Groups.* Along these directions the density of draws is a sum of Gaussian kernels. From high to low density
   draws join the groups of their nearest neighbors. Two groups that meet stay apart if the lower peak is clearly
   denser than the place where they meet (persistence; Chazal, Guibas, Oudot & Skraba 2013).
3. *A second look.* A border that moves item by item is one group, though some places of it have more draws than
   others, and directions bend along it. For every two groups draws are therefore counted along the number of items
   that are placed as in the second group, and the groups are one if step 2 finds no gap of two items there.

Groups that are too near to each other, or of too few items, for this are seen by the partitions themselves, where some
return far more often than all others: those are one group that one item at a time leads to, or many draws between.

Draws are *diffuse* if two draws of a group agree hardly better than if the items of one were shuffled.

Chazal, F., Guibas, L. J., Oudot, S. Y., Skraba, P. (2013). Persistence-based clustering in Riemannian manifolds.
Journal of the ACM 60 (6). doi:10.1145/2535927
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.changes import renumbered
from epluribus.diagnostics import by_chain, ess
from epluribus.draws import Draws
from epluribus.draws.rows import resample

_SIZE = (400, 300)
"""Numbers of draws and of items that are looked at: enough to see a group of 5%, in about a second."""
_PAIRS = 8192
"""Pairs of items that are multiplied at once: enough for fast products, in some ten megabytes."""
_FEWEST = 0.04
"""Smallest share of a group: a little less than 5%, since the share in a sample varies."""
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
_Flags = NDArray[np.float32]


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
    """Whether two draws agree hardly better than by chance; they are then one group."""
    n_effective: float
    """Number of independent draws that say as much, from weights, autocorrelation and missing labels."""
    entries: FloatArray
    """(n,) effective number of times that the chains entered each group; infinite for an ensemble, without order."""
    early: NDArray[np.bool_]
    """(n_draws,) the draws at the beginning of chains that are a group of their own: burn-in."""
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
        if self.n_effective < _ENOUGH:
            worth = f"worth only {self.n_effective:.0f} independent ones"
            return f"cannot be known: these {draws} are {worth}", None
        if self.early.any():
            early = f"{int(self.early.sum()):,} draws in all, at the beginning of chains,"
            return f"{early} are burn-in: leave them out", False
        if self.diffuse:
            why = f"two {draws} agree hardly better than by chance"
            return f"no partition is a fair summary: {why}", False
        if weak is not None and weak > 0.5:
            return "one mode, but most items are seldom with the others of their cluster", False
        if weak is None:
            return "one mode; whether its clusters hold together was not checked", None
        return "one partition is a fair summary", True


def nothing_varies(n_draws: int, noun: str) -> str:
    """What is said of draws, or clusterings, that are all the same partition."""
    which = f"only one {noun}" if n_draws == 1 else f"all {noun}s are equal"
    return f"{which}: nothing is known about uncertainty"


def find_groups(draws: Draws) -> DrawGroups:
    """The groups of draws. They depend on the draws alone: random numbers have a fixed seed."""
    rng = np.random.default_rng(0)
    rows, labels, _ = look(draws, rng)
    fewest = max(4.0, _FEWEST * len(rows))
    found = sorted(_split(np.arange(len(rows)), labels, fewest, rng), key=len, reverse=True)
    diffuse = _are_diffuse(labels, found)
    group = np.full(len(rows), -1)
    for number, members in enumerate(found):
        group[members] = 0 if diffuse else number
    early, ensemble = np.zeros(draws.n_draws, dtype=bool), draws.kind == "ensemble"
    if group.max() > 0 and not ensemble:
        group, early = _without_burn_in(draws, rows, group)
    n, later = int(group.max()) + 1, ~early[rows]
    times, entries = count_entries(group, draws.chains[rows], n)
    effective = _effective(draws, rows[later], labels[later])
    if ensemble:  # no order, no entries
        entries = np.full(n, np.inf)
    elif times.sum() > draws.n_chains + 2 and 2 * (entries < _ENTRIES).sum() > n > 2:
        # Chains that stay long at most places, seldom come back, and would find others.
        group, n, entries = np.minimum(group, 0), 1, entries[:1]
        effective = min(effective, float(times.sum()))
    return DrawGroups(rows, group, n, diffuse, effective, entries, early, ensemble)


def groups_of_all(draws: Draws, group: IntArray) -> IntArray:
    """(n_distinct,) the group with the nearest mean to each distinct draw, those looked at or not."""
    known = group >= 0
    if group.max() < 1:
        return np.zeros(draws.n_distinct, dtype=np.int64)
    _, labels, items = look(draws, np.random.default_rng(0))
    table = draws.store.rows(items).T.astype(np.int32) - draws.has_missing
    return nearest_mean(table, labels[known], group[known])


def look(draws: Draws, rng: Generator) -> tuple[IntArray, IntArray, IntArray]:
    """At most 400 draws by their weights, their labels of at most 300 items, -1 if missing, and these items."""
    weights, n = draws.draw_weights, min(_SIZE[0], draws.n_draws)
    equal = n == draws.n_draws and (weights == weights[0]).all()
    rows = np.arange(n) if equal else resample(weights, n)
    items = np.arange(draws.n_items)
    # Fives that share a cluster in one draw, since clusters may be small.
    if draws.n_items > _SIZE[1]:
        fives = rng.choice(draws.n_items // 5, _SIZE[1] // 5, replace=False)[:, None] * 5
        listed = np.argsort(draws.store.columns(draws.index[:1])[:, 0], kind="stable")
        items = np.sort(listed[(fives + np.arange(5)).ravel()])
    table = draws.store.rows(items)[:, draws.index[rows]].T.astype(np.int64) - draws.has_missing
    return rows, np.stack([_canonical(row) for row in table]), items


def _canonical(row: IntArray) -> IntArray:
    """A row of labels numbered from 0; -1 stays."""
    seen, out = row >= 0, np.full(len(row), -1)
    out[seen] = np.unique(row[seen], return_inverse=True)[1]
    return out


def _together(labels: AnyArray, i: IntArray, j: IntArray) -> tuple[_Flags, _Flags]:
    """(n_pairs, n_draws) whether two items are together, and whether both are seen."""
    by_item = np.ascontiguousarray(labels.T.astype(np.int32))
    both = ((by_item[i] >= 0) & (by_item[j] >= 0)).astype(np.float32)
    return both * (by_item[i] == by_item[j]), both


def _pairs(labels: IntArray) -> Iterator[tuple[IntArray, IntArray, _Flags, _Flags]]:
    """Pairs of items, some thousand at a time; whether they are together in each draw, less the mean, and both seen."""
    first, second = np.tril_indices(labels.shape[1], -1)
    for begin in range(0, len(first), _PAIRS):
        i, j = first[begin : begin + _PAIRS], second[begin : begin + _PAIRS]
        together, both = _together(labels, i, j)
        mean = together.sum(axis=1, keepdims=True) / np.maximum(1, both.sum(axis=1, keepdims=True))
        yield i, j, together - both * mean, both


def inner_products(labels: IntArray) -> FloatArray:
    """(n_draws, n_draws) inner products of the draws about their mean, over the pairs of items that both have seen."""
    total = np.zeros((len(labels), len(labels)))
    for _, _, part, _ in _pairs(labels):
        total += part.T @ part
    return total


def nearest_mean(labels: AnyArray, known: IntArray, group: IntArray) -> IntArray:
    """The group of known draws with the nearest mean to each draw, over the pairs in which the means differ most."""
    belongs = (group[:, None] == np.arange(group.max() + 1)).astype(np.float32)
    sums = ((x @ belongs, both @ belongs) for _, _, x, both in _pairs(known))
    spread = [np.ptp(together / np.maximum(1, both), axis=1) for together, both in sums]
    telling = np.argsort(-np.concatenate(spread), kind="stable")[:_PAIRS]
    i, j = (x[telling] for x in np.tril_indices(known.shape[1], -1))
    together, both = _together(known, i, j)
    mean, found = together @ belongs / np.maximum(1, both @ belongs), []
    for some in np.array_split(labels, 1 + len(labels) // _SIZE[0]):
        together, both = _together(some, i, j)
        found.append((both.T @ mean**2 - 2 * together.T @ mean).argmin(axis=1))
    return np.unique(np.concatenate(found), return_inverse=True)[1]


def _places(labels: IntArray, vectors: FloatArray) -> FloatArray:
    """(n_draws, n_directions) coordinates of the draws, from the pairs that each has seen, in moves of one item."""
    n = labels.shape[1]
    along, length = np.zeros(vectors.shape), np.zeros(vectors.shape)
    weight = np.zeros((n, vectors.shape[1], n))  # what a pair of items that is together adds
    for i, j, together, both in _pairs(labels):
        direction = together @ vectors.astype(np.float32)
        along += together.T @ direction
        length += both.T @ direction**2
        weight[i, :, j] = weight[j, :, i] = direction
    total = length.max(axis=0)
    # The longest way of one item that goes to another cluster, or stays alone, in some of the draws.
    moves = []
    for row in labels[:: max(1, len(labels) // 40)]:
        cluster = weight @ (row[:, None] == np.arange(row.max() + 2))
        own = np.take_along_axis(cluster, row[:, None, None], axis=2)
        cluster = np.where(np.arange(row.max() + 2) == row[:, None, None], own, cluster - own)
        moves.append(np.sqrt((cluster[row >= 0] ** 2).sum(axis=1)).max())
    # Who has seen little of a direction stays near the mean.
    return along * total / np.maximum(length, 0.05 * total) / max(float(np.median(moves)), 1e-12)


def _split(rows: IntArray, labels: IntArray, fewest: float, rng: Generator) -> list[IntArray]:
    """Groups of the given draws, and groups within these."""
    if len(rows) < 2 * fewest:
        return [rows]
    often = _often(labels[rows], fewest)
    found = members_of(often) if often.min() == 0 else _groups_of(labels[rows], fewest, rng)
    if len(found) < 2 and often.max() > 0:
        known = rows[often >= 0]
        found = members_of(nearest_mean(labels[rows], labels[known], often[often >= 0]))
    if len(found) < 2:
        return [rows]
    return [part for own in found for part in _split(rows[own], labels, fewest, rng)]


def _groups_of(labels: IntArray, fewest: float, rng: Generator) -> list[IntArray]:
    """The groups that the draws fall into at once; a single one if they do not."""
    values, vectors = np.linalg.eigh(inner_products(labels))
    everything = [np.arange(len(labels))]
    if values[-1] < 1e-6:
        return everything
    central = np.linalg.norm(vectors * np.sqrt(np.maximum(values, 0)), axis=1).argmin()
    matched = np.stack([_match(row, labels[central]) for row in labels])
    shuffled = matched.copy()
    for i in range(labels.shape[1]):
        seen = np.flatnonzero(matched[:, i] >= 0)
        shuffled[seen, i] = matched[rng.permutation(seen), i]
    by_chance = np.linalg.eigvalsh(inner_products(shuffled))[-1]
    kept = np.flatnonzero(values > _COHERENT * by_chance)[-_MOST:]
    if len(kept) == 0:
        return everything
    places = _places(labels, vectors[:, kept])
    distance = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    found = _peaks(distance, fewest)
    # The second look: groups without a gap between them are one.
    name = np.arange(len(found))
    for a, b in combinations(range(len(found)), 2):
        if name[a] != name[b]:
            placed = _placed_as_second(matched[found[a]], matched[found[b]])
            if len(_peaks(np.abs(placed[:, None] - placed), fewest)) < 2:
                name[name == name[b]] = name[a]
    return [np.concatenate([found[g] for g in own]) for own in members_of(name)]


def _often(labels: IntArray, fewest: float) -> IntArray:
    """The groups of those draws whose partitions are far more frequent than all others; -1 for the others.

    A group are partitions that one item at a time leads to, or between which there are many draws.
    """
    from scipy.sparse.csgraph import connected_components

    rows, which, times = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(-times, kind="stable")
    order = order[rows[order].min(axis=1) >= 0]  # what is missing may differ
    falls = np.append(_much_more(times[order][:-1], times[order][1:]), True)[: len(order)]
    last = np.flatnonzero(falls & (times[order] >= fewest))
    group = np.full(len(rows), -1)
    if not len(last):
        return group[which.ravel()]
    kept = order[: last[-1] + 1]
    moves = [[(renumbered(a, b) != a).sum() for b in rows[kept]] for a in rows[kept]]
    group[kept] = connected_components(np.array(moves) < 2)[1]
    name = np.arange(group.max() + 1)
    if len(name) > 1:
        centers = kept[np.unique(group[kept], return_index=True)[1]]  # the most frequent ones
        inner = inner_products(rows)
        away = np.diag(inner) + np.diag(inner)[centers, None] - 2 * inner[centers]
        for a, b in combinations(name.copy(), 2):
            side = np.where(np.isin(away.argmin(axis=0), (a, b)), away[a] - away[b], np.nan)
            side /= away[a, centers[b]]
            between = times[(np.abs(side) < 0.34) & (group < 0)].sum()
            fewer = min(times[side < -0.66].sum(), times[side > 0.66].sum())
            if between > 0 and not _much_more(max(1, fewer), between):
                name[name == name[b]] = name[a]
    group[kept] = np.unique(name[group[kept]], return_inverse=True)[1]
    return np.asarray(group[which.ravel()])


def _much_more(more: AnyArray | float, less: AnyArray | float) -> NDArray[np.bool_]:
    """Whether one number of draws is clearly larger than another."""
    return np.asarray(np.log(more / less) > _PEAK * np.sqrt(1 / more + 1 / less))


def _match(row: IntArray, target: IntArray) -> IntArray:
    """Clusters named after those of `target`, so that as many items as possible keep their name; -1 stays.

    Clusters without a match are named after their first item.
    """
    from scipy.optimize import linear_sum_assignment

    both = (row >= 0) & (target >= 0)
    k, n = int(target.max()) + 1, int(row.max()) + 1
    shared = np.bincount(row[both] * k + target[both], minlength=n * k).reshape(n, k)
    name = k + np.unique(row, return_index=True)[1][-n:]
    own, cluster = linear_sum_assignment(shared, maximize=True)
    alike = shared[own, cluster] > 0
    name[own[alike]] = cluster[alike]
    return np.where(row >= 0, name[row], -1)


def _peaks(distance: FloatArray, fewest: float) -> list[IntArray]:
    """Groups of draws around peaks of their density, from distances in moves of one item."""
    n = len(distance)
    near = np.sort(distance, axis=1)[:, round(np.sqrt(n))]
    # Neighbors are mutually among the nearest, or about one move apart. A kernel narrower than that would see
    # peaks at every step of a path on which items move one by one.
    width = max(0.5, float(np.median(near)))
    linked = distance <= np.maximum(np.minimum(near[:, None], near), 1.25)
    density = np.exp(-0.5 * (distance / width) ** 2).sum(axis=1)
    group, size = np.full(n, -1), np.zeros(n)  # the peak of the group of each draw that has joined
    for t in np.argsort(-density, kind="stable"):
        peaks = np.unique(group[linked[t] & (group >= 0)])
        peaks = peaks[np.argsort(-density[peaks], kind="stable")] if len(peaks) else np.array([t])
        group[t] = peaks[0]
        size[peaks[0]] += 1
        for lower in peaks[1:]:
            apart = _much_more(density[lower], density[t])
            if min(size[lower], size[peaks[0]]) < fewest or not apart:
                group[group == lower] = peaks[0]
                size[peaks[0]] += size[lower]
    return [members for members in members_of(group) if len(members) >= fewest] or [np.arange(n)]


def members_of(group: IntArray) -> list[IntArray]:
    """The members of each group."""
    return [np.flatnonzero(group == g) for g in np.unique(group)]


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


def _are_diffuse(labels: IntArray, groups: list[IntArray]) -> bool:
    """Whether two draws of a group agree hardly better than by chance."""
    n, apart, by_chance = labels.shape[1], 0.0, 0.0
    sizes = np.stack([np.bincount(row[row >= 0], minlength=n) for row in labels]).astype(float)
    seen = sizes.sum(axis=1)
    together = (sizes * (sizes - 1)).sum(axis=1) / np.maximum(1, seen * (seen - 1))
    # Shuffling changes nothing where nearly all items are together, or alone: then that is the summary.
    alone = ((sizes == 1).sum(axis=1) / np.maximum(1, seen)).mean()
    if max(together.mean(), alone) >= 0.7:
        return False
    for own in groups:
        # Pairs on which two draws of the group disagree.
        apart += len(own) * sum(
            float((part**2).sum(axis=1) @ (len(own) / np.maximum(1, both.sum(axis=1) - 1)))
            for _, _, part, both in _pairs(labels[own])
        )
        q = together[own]
        chance = q[:, None] * (1 - q) + (1 - q)[:, None] * q
        by_chance += (chance.sum() - np.trace(chance)) * n * (n - 1) / 4
    return apart > (1 - _DIFFUSE) * by_chance


def _without_burn_in(
    draws: Draws, rows: IntArray, group: IntArray
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Groups without those that are only in the first quarter of the chains, and the draws up to there."""
    early = np.zeros(draws.n_draws, dtype=bool)
    place = np.zeros(draws.n_draws)
    for chain in range(draws.n_chains):
        own = np.flatnonzero(draws.chains == chain)
        place[own] = np.arange(len(own)) / len(own)
    short = [g for g in range(group.max() + 1) if np.quantile(place[rows[group == g]], 0.9) < 0.25]
    if len(short) > group.max():
        return group, early
    for row in rows[np.isin(group, short) & (place[rows] < 0.25)]:
        early |= (draws.chains == draws.chains[row]) & (place <= place[row])
    kept = np.setdiff1d(group[group >= 0], short)
    return np.where(np.isin(group, kept), np.searchsorted(kept, group), -1), early


def count_entries(group: IntArray, chains: IntArray, n: int) -> tuple[IntArray, FloatArray]:
    """How often each of n groups was entered, and effectively: (sum r)^2 / sum r^2 over its stretches r."""
    chains, group = chains[group >= 0], group[group >= 0]
    begin = np.flatnonzero(np.r_[True, (np.diff(group) != 0) | (np.diff(chains) != 0)])
    length = np.diff(np.append(begin, len(group))).astype(float)
    total = np.bincount(group[begin], weights=length, minlength=n)
    squares = np.bincount(group[begin], weights=length**2, minlength=n)
    return np.bincount(group[begin], minlength=n), total**2 / np.maximum(squares, 1)


def _effective(draws: Draws, rows: IntArray, labels: IntArray) -> float:
    """Number of independent draws with complete labels that say as much."""
    weights, seen = draws.draw_weights, float((labels >= 0).mean())
    kish = float(weights.sum() ** 2 / (weights**2).sum()) * seen
    if draws.kind == "ensemble":
        return kish
    # How far the draws are from the mean, and how they lie along the longest direction.
    inner = inner_products(labels)
    part = draws[rows] if len(rows) < draws.n_draws else draws
    series = (np.diag(inner), np.linalg.eigh(inner)[1][:, -1])
    least = np.nanmin([*(ess(by_chain(x, part)) for x in series), len(rows)])
    return kish * float(least) / len(rows)
