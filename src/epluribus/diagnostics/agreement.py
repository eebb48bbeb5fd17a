"""The one rule that says whether chains agree on the partition, and what to do if they do not.

Chains disagree if one of two tests says so, each with a probability of at most 0.002 of a false alarm:

- *pairs*: two chains, or the halves of one, differ in the probability that two items share a cluster
  by more than chance explains,
- *series*: R-hat is larger than chance explains (`series`), for the number of clusters, the distance
  from a central draw, the distance from late minus that from early draws *of the other chains*, in which a
  common drift shows most, or what the caller adds, such as the loss or the log posterior.

Chains agree if neither test objects though one could have: the limit of the pair is at most 0.5, or those of
R-hat are below 1.15. Otherwise nothing is known: there is one chain, or chains are too short.

**Pairs.** For two parts a and b of the sample and two items, let p_a and p_b be the probabilities that the
items share a cluster, p their mean, and n_a and n_b the effective sample sizes of the 0-1 series that records
whether they do, *each within its own part*; parts of one posterior mix alike, so the slower of the two speaks
for both. The parts agree if

    |p_a - p_b| <= q sqrt( p (1 - p) (1/n_a + 1/n_b) ),

where q is the quantile of Student's distribution with n_a + n_b - 2 degrees of freedom at which, over all
pairs of items and of parts, chance alone breaks the rule with probability 0.002 (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import combinations
from typing import NamedTuple

import numpy as np

from epluribus import losses
from epluribus._parallel import resolve_jobs
from epluribus._text import named_items, sentence_list
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.diagnostics.series import LARGEST, Series, by_chain, ess, judge_ranks, judge_series
from epluribus.draws import Draws
from epluribus.draws.expected import ROUNDING, Similarity, map_blocks
from epluribus.losses.values import loss_values

_FALSE_ALARMS = 0.002
"""Share of samples in which chance alone makes either test object."""
_USEFUL = 0.5
"""Largest limit of a pair that means anything: a higher one would excuse probabilities of 1/4 and 3/4."""
_STRICT = 1.15
"""Limit of R-hat below which halves whose means differ by 0.6 standard deviations would be seen."""
_FEW = 10
"""Independent draws of a chain below which a difference may be chance, however large it is."""
_DRIFT = "distance from late minus early draws"
"""Name of the series in which a common drift shows."""


@dataclass(frozen=True)
class Agreement:
    """Whether chains agree on which items belong together."""

    difference: float = math.nan
    """Largest difference between two chains, or the halves of one, of the probability that two items
    share a cluster; if some are above their limits, the largest of these. NaN if there is nothing to
    compare."""
    limit: float = math.nan
    """What this difference stays below if the chains are draws from one posterior. NaN with fewer than 4
    draws per chain."""
    pair: tuple[str, str] | None = None
    """The two items; None if no pair differs, if there are no two chains, or if only some pairs were
    compared."""
    agree: bool | None = None
    """Whether the chains agree. None if that cannot be known: there is one chain, or chains are too short."""
    series: tuple[Series, ...] = ()
    """R-hat and effective sample sizes of the number of clusters, of the distance from a central draw, and
    of what the caller added."""
    chains: tuple[str, str] | None = None
    """Names of the chains that `difference` is between; twice the same one for its two halves."""
    odd: str | None = None
    """Name of the chain that takes part in all differences; None if there is no such chain, or chains agree."""
    n_chains: int = 1

    @property
    def sentence(self) -> str:
        """The verdict in words, without advice."""
        if self.agree is not False:
            return self._pairs()
        what = "The chains disagree." if self.n_chains > 1 else "The chain has not settled."
        pairs = self._pairs() if self.difference > self.limit else ""
        large = [
            f"of the {one.name} {one.rhat:.3g} (chance explains {one.limit:.3g})"
            for one in self.series
            if one.differs
        ]
        rhats = f"R-hat is too large: {sentence_list(large)}." if large else ""
        return " ".join(filter(None, [what, pairs, rhats]))

    @property
    def advice(self) -> str:
        """What is off, and what to do about it; empty unless chains disagree."""
        if self.agree is not False:
            return ""
        todo = (
            "Which chain is right cannot be told. Run more chains, longer, from different starts, and leave "
            "out more draws at the beginning."
        )
        if self.n_chains == 1:
            todo = "Leave out more draws at the beginning, or run it longer."
        elif self.odd is not None:
            todo = (
                f"Chain {self.odd} is off: the others do not differ in any pair. Run it again from another start; "
                "leave it out, draws.drop_chains, only if you know why it failed."
            )
        return f"{todo} Until then, do not report the answer."

    def _pairs(self) -> str:
        """What the comparison of pairs of items has found."""
        if self.chains is None:
            if self.n_chains > 1:
                return "The chains could not be compared."
            return "There are no two chains to compare." if self.agree is None else ""
        items = "some two items" if self.pair is None else named_items(self.pair)
        who = f"Chains {self.chains[0]} and {self.chains[1]} differ"
        if self.chains[0] == self.chains[1]:
            name = "the chain" if self.n_chains == 1 else f"chain {self.chains[0]}"
            who = f"The halves of {name} differ"
        text = f"{who} by {self.difference:.2g} in the probability that {items} share a cluster"
        if self.agree is None:
            return f"{text}; they are too short to say whether that is chance."
        if self.difference > self.limit:
            return f"{text}, more than the {self.limit:.2g} that chance explains."
        return f"{text}, no more than chance explains (up to {self.limit:.2g})."


def chain_agreement(
    draws: Draws,
    n_jobs: int | None = None,
    *,
    series: Mapping[str, AnyArray] | None = None,
    comparisons: float = 1e11,
) -> Agreement:
    """Whether chains agree on which items belong together: the one rule of the package.

    Chains are compared two at a time, and the halves of each, in the probability that two items share a
    cluster; and all halves together by R-hat of some series. A difference is too large if chance would produce
    one like it, anywhere, in fewer than 1 of 500 samples.

    Parameters
    ----------
    draws : Draws
        In the order they were drawn, with their chains.
    n_jobs : int, optional
        Threads; all cores by default.
    series : dict of str to array of shape (n_draws,), optional
        More numbers of each draw to be judged by R-hat, by name: the loss, or the log posterior.
    comparisons : float, default 1e11
        Comparisons of labels beyond which only some items are compared: eight seconds on one core.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus import Draws
    >>> from epluribus.diagnostics import chain_agreement
    >>> z = np.random.default_rng(1).integers(2, size=(2, 100, 3))
    >>> chain_agreement(Draws(z)).agree
    True
    >>> z[1] = [0, 0, 1]  # a chain that does not move
    >>> found = chain_agreement(Draws(z))
    >>> found.agree, found.pair, round(found.difference, 2), round(found.limit, 2)
    (False, ('1', '2'), 0.46, 0.26)
    >>> print(chain_agreement(Draws(z[0])).agree)
    None
    """
    # Draws without weight are no part of the sample.
    counted = draws.draw_weights > 0
    named = {name: np.asarray(values)[counted] for name, values in (series or {}).items()}
    draws = draws if counted.all() else draws[counted]
    # What a draw has not seen cannot be compared; what the caller watches can.
    if not draws.has_missing:
        named |= {"number of clusters": draws.n_clusters, **_distances(draws)}
    tables = {name: by_chain(values, draws) for name, values in named.items()}
    # Together they make a false alarm with the probability of one test.
    judged = tuple(
        (judge_ranks if name == _DRIFT else judge_series)(name, x, _FALSE_ALARMS / len(tables))
        for name, x in tables.items()
    )
    # An ensemble has no chains and no order.
    if draws.has_missing or draws.n_items < 2 or draws.kind == "ensemble":
        return Agreement(series=judged, n_chains=draws.n_chains)
    found, complete = _differences(draws, resolve_jobs(n_jobs), comparisons)
    large = [one for one in found if one.is_large]
    # Between chains; the halves of a chain are worth showing only if they differ.
    between = [one for one in found if one.chains[0] != one.chains[1]]
    worst = max(large or between, key=lambda one: one.value, default=None)
    agree = _verdict(worst, large, judged, tables)
    if worst is None:
        return Agreement(agree=agree, series=judged, n_chains=draws.n_chains)
    # Differences within a chain alone may be a drift of all that the others hide.
    odd: set[int] = set()
    if agree is False and draws.n_chains > 2 and any(one in between for one in large):
        odd = set.intersection(*(set(one.chains) for one in large))
    names = draws.chain_names
    i, j = (draws.item_names[item] for item in worst.items)
    return Agreement(
        worst.value,
        worst.limit,
        (i, j) if complete and worst.value > 0 else None,  # equal chains differ nowhere
        agree,
        judged,
        (names[worst.chains[0]], names[worst.chains[1]]),
        names[odd.pop()] if len(odd) == 1 else None,
        draws.n_chains,
    )


def _verdict(
    worst: _Difference | None,
    large: Sequence[_Difference],
    judged: Sequence[Series],
    tables: Mapping[str, AnyArray],
) -> bool | None:
    """Whether chains agree, as at the head of the module; None if that cannot be known."""
    differs = {one.name for one in judged if one.differs}
    # A chain that is worth a few draws may be anywhere by chance, unless another never moves where it never is.
    # That all go the same way is no chance: their ranks fall from the first half to the second by half of what
    # those of a chain do that only drifts.
    halves = [np.array_split(ranks, 2) for ranks in tables.get(_DRIFT, ())]
    common = _DRIFT in differs and all(a.mean() - b.mean() > 0.25 for a, b in halves)
    moves = [chains for name, chains in tables.items() if name != _DRIFT]
    few = any(ess(chain, method="identity") < _FEW for chains in moves for chain in chains)
    stuck = large and any(map(_stands_apart, moves))
    if few and not (common or stuck):
        return None
    if large or differs:
        return False
    # Chains that move so slowly that chance explains any difference: whether they agree cannot be known.
    slow = any(one.rhat > LARGEST for one in judged)
    strict = all(one.limit < _STRICT for one in judged)  # False for NaN
    clear = worst is not None and (worst.limit <= _USEFUL or strict)
    return True if clear and not slow else None


def _stands_apart(chains: AnyArray) -> bool:
    """Whether one of the chains never moves, at a value that another never comes to."""
    lows, highs = chains.min(axis=1), chains.max(axis=1)
    still = lows[lows == highs][:, None]
    return bool(((still < lows) | (still > highs)).any())


def _distances(draws: Draws) -> dict[str, FloatArray]:
    """Series of distances from some draws, by name: variation of information, on at most a thousand items."""
    from scipy.stats import rankdata

    vi = losses.get("vi")
    items = np.unique(np.linspace(0, draws.n_items - 1, min(draws.n_items, 1000)).astype(np.int64))
    table = np.ascontiguousarray(draws.store.rows(items))

    def from_draw(number: int, others: AnyArray) -> FloatArray:
        return loss_values(table[:, draws.index[number]].astype(np.int64), others, vi)

    def far_from(numbers: IntArray) -> FloatArray:
        return np.sum([from_draw(number, table) for number in numbers], axis=0)

    # Twelve draws spread evenly over each chain, among which the central one is found.
    rows = [np.flatnonzero(draws.chains == number) for number in range(draws.n_chains)]
    spread = [own[np.linspace(0, len(own) - 1, min(len(own), 12)).astype(int)] for own in rows]
    some = np.ascontiguousarray(table[:, draws.index[np.concatenate(spread)]])
    central = min(np.concatenate(spread), key=lambda number: from_draw(number, some).sum())
    series = {"distance from a central draw": from_draw(central, table)[draws.index]}
    if draws.n_chains > 1:
        # For each chain, the distance of all draws from its last two draws less that from its first two. A chain is
        # near its own ends in any case: only those of the others count.
        late = np.stack([far_from(own[-2:]) - far_from(own[:2]) for own in spread])
        drift = np.round((late.sum(axis=0) - late)[draws.chains, draws.index], 9)
        # Each chain has others, and only what happens within it is of interest: its ranks.
        for own in rows:
            drift[own] = rankdata(drift[own]) / len(own)
        series[_DRIFT] = drift
    return series


class _Difference(NamedTuple):
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
        return self.value > self.limit + ROUNDING  # False for NaN


def _differences(draws: Draws, n_jobs: int, comparisons: float) -> tuple[list[_Difference], bool]:
    """For each two chains, and the halves of each, the pair of items that speaks most against them.

    Also whether all items were compared: beyond this many `comparisons` of labels, only some are.
    """
    n, chains = draws.n_items, [draws.chain(number) for number in range(draws.n_chains)]
    # A chain of less than 20 draws is not cut in two.
    halves = [
        [x[: x.n_draws // 2], x[x.n_draws // 2 :]] if x.n_draws >= 20 else [x] for x in chains
    ]
    m = len(chains)
    # Beyond 16 chains each is compared only with the next: if not all are alike, one differs from the next.
    couples = [(a, b) for a, b in combinations(range(m), 2) if m <= 16 or b == a + 1]
    couples += [(a, a) for a in range(m) if len(halves[a]) == 2]
    rows = [[Similarity(half) for half in both] for both in halves]
    # A chain's probability is the mean of its halves', by their weights.
    masses = [[half.total_weight for half in both] for both in halves]
    # With too many items only every `step`-th block of rows is compared with all items. Storing one
    # probability, or comparing two, takes as long as comparing 300 labels.
    work = n * n / 2 * (draws.n_draws + 300 * (2 * m + len(couples)))
    step = 1 if work <= comparisons else math.ceil(2 * work / comparisons)

    def largest(begin: int, end: int) -> list[list[tuple[float, float, int, int]]]:
        """For each two parts and each of these items, the largest differences from an item before it."""
        # Of some items only, those after it count too.
        stop = end if step == 1 else n
        parts = [[similarity(begin, end, stop) for similarity in both] for both in rows]
        whole = [
            np.average(both, axis=0, weights=mass) for both, mass in zip(parts, masses, strict=True)
        ]
        # Items j < i: over all blocks, every pair is seen once.
        own, others = np.arange(begin, end)[:, None], np.arange(stop)[None, :]
        after = others >= own if step == 1 else others == own
        found = []
        for a, b in couples:
            one, other = (whole[a], whole[b]) if a != b else parts[a]
            apart = np.abs(one - other)
            apart[after | (apart < ROUNDING)] = 0.0
            mean = (one + other) / 2
            # The binomial variance, but for the number of draws; never 0, where there is no difference.
            relative = apart * apart / (mean * (1 - mean) + ROUNDING)
            # The largest in each row, by both measures.
            columns = [measure.argmax(axis=1).tolist() for measure in (apart, relative)]
            best = {at for column in columns for at in enumerate(column)}
            found.append(
                [(float(apart[at]), float(relative[at]), begin + at[0], at[1]) for at in best]
            )
        return found

    blocks = map_blocks(n, largest, n_jobs, step=step)
    # Bonferroni: all pairs of items and of parts, in both directions, share the false alarms.
    each = _FALSE_ALARMS / (max(1, len(couples)) * n * (n - 1))
    out = []
    for (a, b), column in zip(couples, zip(*blocks, strict=True), strict=True):
        entries = [entry for block in column for entry in block]
        # The three largest, and relative to the binomial error: a slow pair may differ most, another beyond doubt.
        likely = nlargest(3, entries)
        likely += nlargest(3, entries, key=lambda entry: (entry[1], *entry))
        one, other = (chains[a], chains[b]) if a != b else halves[a]
        judged = [
            _Difference((a, b), value, _limit(one, other, i, j, each), (min(i, j), max(i, j)))
            for value, _, i, j in dict.fromkeys(likely)
        ]
        # Of those that chance does not explain the largest; if it explains all, the largest of all.
        out.append(max([d for d in judged if d.is_large] or judged, key=lambda d: d.value))
    return out, step == 1


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
    # Unequal weights (Kish): 1 / sum of squares is the number of equal weights that would be as good. Two less,
    # which the effective size promises too many, being measured around the part's own mean.
    n_a, n_b = (mixing / float(share @ share) - 2.0 for share in shares)
    if math.isnan(n_a):  # fewer than 4 draws
        return math.nan
    n_a, n_b = max(1.0, n_a), max(1.0, n_b)
    quantile = -float(stdtrit(max(1.0, n_a + n_b - 2), alarm))
    variance = max(0.0, probability * (1 - probability)) * (1 / n_a + 1 / n_b)
    # No two probabilities differ by more than 1.
    return min(1.0, quantile * math.sqrt(variance))
