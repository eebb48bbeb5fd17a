"""Chains, and the halves of each chain, compared in the probability that two items share a cluster.

For two parts a and b of the sample and two items, let p_a and p_b be the probabilities that the items share
a cluster, p their mean, and n_a and n_b the effective sample sizes of the 0-1 series that records whether
they do, *each within its own part*; parts of one posterior mix alike, so the slower of the two speaks for
both. The parts agree if

    |p_a - p_b| <= q sqrt( p (1 - p) (1/n_a + 1/n_b) ),

where q is the quantile of Student's distribution with n_a + n_b - 2 degrees of freedom at which, over all
pairs of items and of parts, chance alone breaks the rule with the probability `alarm` (Bonferroni). The
effective sample size of all chains together is not used: it collapses exactly when chains disagree, and
would excuse any difference.
"""

from __future__ import annotations

import math
from heapq import nlargest
from itertools import combinations
from typing import NamedTuple

import numpy as np

from epluribus.diagnostics.series import ess
from epluribus.diagnostics.similarity import Similarity
from epluribus.draws import Draws
from epluribus.draws.together import map_blocks

_CHAINS = 16
"""Up to this many chains, each is compared with every other; beyond that, only with the next one."""
_OVERHEAD = 300
"""Comparisons of labels that take as long as storing one probability, or comparing two."""
_CANDIDATES = 3
"""Pairs of items judged for each two parts: this many of the largest differences, and of the largest
relative to the binomial error. A slow pair may differ most, and another differ beyond doubt."""
_SPLIT = 20
"""Draws below which a chain is not cut in two."""
_BIAS = 2.0
"""Draws too many that the effective size of a part promises, being measured around its own mean."""
_ROUNDING = 1e-12
"""Probabilities that differ by less than this are equal: sums of weights are rounded."""


class Difference(NamedTuple):
    """Two parts of the sample, compared at two items."""

    chains: tuple[int, int]
    """The two chains; twice the same one for its first and its second half."""
    value: float
    """|p_a - p_b|"""
    limit: float
    """What it stays below by chance; NaN with fewer than 4 draws in a part."""
    items: tuple[int, int]

    @property
    def is_large(self) -> bool:
        """Whether it is more than chance explains."""
        return self.value > self.limit + _ROUNDING  # False for NaN


def pair_differences(
    draws: Draws, alarm: float, n_jobs: int, comparisons: float
) -> tuple[list[Difference], bool]:
    """For each two chains, and the halves of each, the pair of items that speaks most against them.

    Also whether all items were compared: beyond this many `comparisons` of labels, only some are.
    """
    n, chains = draws.n_items, [draws.chain(number) for number in range(draws.n_chains)]
    halves = [_halves(chain) for chain in chains]
    m = len(chains)
    # If chains are not all alike, some chain differs from its neighbor in the list.
    neighbors = [(a, a + 1) for a in range(m - 1)]
    couples = list(combinations(range(m), 2)) if m <= _CHAINS else neighbors
    couples += [(a, a) for a in range(m) if len(halves[a]) == 2]
    rows = [[Similarity(half) for half in both] for both in halves]
    # With too many items only every `step`-th block of rows is compared with all items.
    work = n * n / 2 * (draws.n_draws + _OVERHEAD * (2 * m + len(couples)))
    step = 1 if work <= comparisons else math.ceil(2 * work / comparisons)
    # A chain's probability is the mean of its halves', by their shares of the weight.
    shares = [_shares(chain, len(both)) for chain, both in zip(chains, halves, strict=True)]

    def largest(begin: int, end: int) -> list[list[tuple[float, float, int, int]]]:
        """For each two parts and each of these items, the largest differences from an item before it."""
        # Of some items only, those after it count too.
        stop = end if step == 1 else n
        parts = [[similarity(begin, end, stop) for similarity in both] for both in rows]
        whole = [
            sum(share * part for share, part in zip(mine, both, strict=True))
            for mine, both in zip(shares, parts, strict=True)
        ]
        # Items j < i: over all blocks, every pair is seen once.
        own, others = np.arange(begin, end)[:, None], np.arange(stop)[None, :]
        after = others >= own if step == 1 else others == own
        found = []
        for a, b in couples:
            one, other = (whole[a], whole[b]) if a != b else parts[a]
            apart = np.abs(one - other)
            apart[after | (apart < _ROUNDING)] = 0.0
            mean = (one + other) / 2
            # The binomial variance, but for the number of draws; never 0, where there is no difference.
            relative = apart * apart / (mean * (1 - mean) + _ROUNDING)
            # The largest in each row, by both measures.
            best = {
                (i, int(row[i]))
                for row in (apart.argmax(axis=1), relative.argmax(axis=1))
                for i in range(end - begin)
            }
            found.append(
                [(float(apart[i, j]), float(relative[i, j]), begin + i, j) for i, j in sorted(best)]
            )
        return found

    blocks = map_blocks(n, largest, n_jobs, step=step)
    # Bonferroni: all pairs of items and of parts, in both directions, share the false alarms.
    each = alarm / (max(1, len(couples)) * n * (n - 1))
    out = []
    for (a, b), column in zip(couples, zip(*blocks, strict=True), strict=True):
        entries = [entry for block in column for entry in block]
        likely = nlargest(_CANDIDATES, entries)
        likely += nlargest(_CANDIDATES, entries, key=lambda entry: (entry[1], *entry))
        one, other = (chains[a], chains[b]) if a != b else halves[a]
        judged = [
            Difference((a, b), value, _limit(one, other, i, j, each), (min(i, j), max(i, j)))
            for value, _, i, j in dict.fromkeys(likely)
        ]
        # Of those that chance does not explain the largest; if it explains all, the largest of all.
        out.append(max([d for d in judged if d.is_large] or judged, key=lambda d: d.value))
    return out, step == 1


def _halves(chain: Draws) -> list[Draws]:
    """The first and the second half; the chain itself if it is too short."""
    middle = chain.n_draws // 2
    return [chain] if chain.n_draws < _SPLIT else [chain[:middle], chain[middle:]]


def _shares(chain: Draws, n_parts: int) -> list[float]:
    """The shares of the weight of a chain that its parts have."""
    if n_parts == 1:
        return [1.0]
    first = float(chain.draw_weights[: chain.n_draws // 2].sum() / chain.draw_weights.sum())
    return [first, 1.0 - first]


def _limit(a: Draws, b: Draws, i: int, j: int, alarm: float) -> float:
    """Limit of the difference at items i and j: chance exceeds it with probability `alarm` on each side."""
    from scipy.special import stdtrit

    # For each part the share of each draw, and whether the items share a cluster in it.
    shares = [part.draw_weights / part.total_weight for part in (a, b)]
    both = [part.store.rows(np.array([i, j])) for part in (a, b)]
    together = [(x[0] == x[1])[part.index] for x, part in zip(both, (a, b), strict=True)]
    probability = sum(float(x @ share) for x, share in zip(together, shares, strict=True)) / 2
    # Effective draws per draw. A part in which the items are always together, or never, counts as mixing
    # well; none counts as worth more than its length.
    mixing = float(np.min([1.0, *(ess(x, method="identity") / len(x) for x in together)]))
    # Unequal weights (Kish): 1 / sum of squares is the number of equal weights that would be as good.
    n_a, n_b = (mixing / float(share @ share) - _BIAS for share in shares)
    if math.isnan(n_a):  # fewer than 4 draws
        return math.nan
    n_a, n_b = max(1.0, n_a), max(1.0, n_b)
    quantile = -float(stdtrit(max(1.0, n_a + n_b - 2), alarm))
    variance = max(0.0, probability * (1 - probability)) * (1 / n_a + 1 / n_b)
    # No two probabilities differ by more than 1.
    return min(1.0, quantile * math.sqrt(variance))
