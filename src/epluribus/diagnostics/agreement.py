"""The one rule that says whether chains agree on the partition, and what to do if they do not.

Chains disagree if one of two tests says so, each with a probability of at most 0.002 of a false alarm:

- *pairs*: two chains, or the halves of one, differ in the probability that two items share a cluster
  by more than chance explains (`pairs`),
- *series*: R-hat is larger than chance explains (`series`), for the number of clusters, the distance
  from a central draw, the distance from late minus that from early draws *of the other chains*, in which a
  common drift shows most, or what the caller adds, such as the loss or the log posterior.

Errors come from within chains in both. Chains agree if neither test objects though one could have: the
limit of the pair is at most 0.5, or those of R-hat are below 1.15. Otherwise nothing is known: there is one
chain, or chains are too short.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from epluribus import losses
from epluribus._parallel import resolve_jobs
from epluribus._text import sentence_list
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.diagnostics.pairs import Difference, pair_differences
from epluribus.diagnostics.series import LARGEST, Series, ess, judge_series
from epluribus.draws import Draws
from epluribus.losses.values import loss_values

_FALSE_ALARMS = 0.002
"""Share of samples in which chance alone makes either test object."""
_USEFUL = 0.5
"""Largest limit of a pair that means anything: a higher one would excuse probabilities of 1/4 and 3/4."""
_STRICT = 1.15
"""Limit of R-hat below which halves whose means differ by 0.6 standard deviations would be seen."""
_COMPARISONS = 1e11
"""Comparisons of labels up to which all pairs of items are examined: eight seconds on one core."""
_ITEMS = 1000
"""Items on which distances between draws are computed."""
_DRIFT = "distance from late minus early draws"
"""Name of the series in which a common drift shows."""
_ENDS = 2
"""Of these draws, how many at each end of a chain are its early and its late ones."""
_FEW = 10
"""Independent draws of a chain below which a difference may be chance, however large it is."""
_SHARED = 0.25
"""Fall of the ranks from the first half of each chain to the second that makes a drift common to all: half of
what a chain has that only drifts."""
_CENTRAL = 12
"""Draws of each chain among which the central one is found."""


@dataclass(frozen=True)
class Agreement:
    """Whether chains agree on which items belong together."""

    difference: float
    """Largest difference between two chains, or the halves of one, of the probability that two items
    share a cluster; if some are above their limits, the largest of these. NaN if there is nothing to
    compare."""
    limit: float
    """What this difference stays below if the chains are draws from one posterior. NaN with fewer than 4
    draws per chain."""
    pair: tuple[str, str] | None
    """The two items; None if no pair differs, if there are no two chains, or if only some pairs were
    compared."""
    agree: bool | None
    """Whether the chains agree. None if that cannot be known: there is one chain, or chains are worth too few
    independent draws for any disagreement to show."""
    series: tuple[Series, ...] = ()
    """R-hat and effective sample sizes of the number of clusters, of the distance from a central draw, and
    of what the caller added."""
    chains: tuple[int, int] | None = None
    """The chains that `difference` is between; twice the same one for its two halves."""
    drifting: tuple[int, ...] = ()
    """Chains whose two halves differ; empty if chains agree."""
    odd: int | None = None
    """The chain that differs from all others, which agree; None if there is no such chain."""
    apart: tuple[float, float] = field(default=(math.nan, math.nan))
    """Mean variation of information, in bits, between draws of different chains (of the odd one and the
    others, if there is an odd one), and between draws of the same chain (of the others)."""
    n_chains: int = 1

    @property
    def sentence(self) -> str:
        """The verdict in words, without advice."""
        if self.agree is not False:
            return self._pairs()
        what = "The chains disagree." if self.n_chains > 1 else "The chain has not settled."
        pairs = self._pairs() if self.difference > self.limit else ""
        return " ".join(filter(None, [what, pairs, self._rhats()]))

    @property
    def advice(self) -> str:
        """What is off, by how much, and what to do about it; empty unless chains disagree."""
        if self.agree is not False:
            return ""
        far, near = self.apart
        bits = f"{far:.2g} bits (VI) from those of the others, which are {near:.2g} from each other"
        if self.n_chains == 1:
            what, todo = "", "Leave out more draws at the beginning, or run it longer."
        elif self.odd is not None:
            what = f"Chain {self.odd} (counted from 0) is off: its draws are {bits}."
            todo = "Run it again from another start; leave it out only if you know why it failed."
        elif self.drifting:
            names = sentence_list([str(chain) for chain in self.drifting])
            are = f"Chain {names} (counted from 0) is" if len(self.drifting) == 1 else ""
            what = f"{are or f'Chains {names} (counted from 0) are'} still moving."
            todo = (
                f"Draws of different chains are {far:.2g} bits (VI) apart, draws of one chain {near:.2g}. "
                "Leave out more draws at the beginning, or run all chains longer."
            )
        else:
            what = (
                f"Draws of different chains are {far:.2g} bits (VI) apart, draws of one chain {near:.2g}; "
                "which chain is right cannot be told."
            )
            todo = "Run more chains, longer, from different starts."
        return " ".join(filter(None, [what, todo, "Until then, do not report the answer."]))

    def _pairs(self) -> str:
        """What the comparison of pairs of items has found."""
        if math.isnan(self.difference):
            return "There are no two chains to compare." if self.agree is None else ""
        items = "some two items" if self.pair is None else "items {} and {}".format(*self.pair)
        who = "Two chains differ"
        if self.chains is not None and self.chains[0] == self.chains[1]:
            who = (
                f"The halves of chain {self.chains[0]} differ"
                if self.n_chains > 1
                else "Its halves differ"
            )
        text = f"{who} by {self.difference:.2g} in the probability that {items} share a cluster"
        if self.difference > self.limit:
            return f"{text}, more than chance explains (up to {self.limit:.2g})."
        if self.agree is None:
            return f"{text}; they are too short to say whether that is chance."
        return f"{text}, no more than chance explains (up to {self.limit:.2g})."

    def _rhats(self) -> str:
        """The series whose R-hat is too large; empty if there are none."""
        large = [
            f"of the {one.name} {one.rhat:.3g} (chance explains {one.limit:.3g})"
            for one in self.series
            if one.differs
        ]
        return f"R-hat is too large: {sentence_list(large)}." if large else ""


def chain_agreement(
    draws: Draws,
    n_jobs: int | None = None,
    *,
    series: Mapping[str, AnyArray] | None = None,
    comparisons: float | None = None,
) -> Agreement:
    """Whether chains agree on which items belong together: the one rule of the package.

    Chains are compared two at a time, and the halves of each, in the probability that two items share a
    cluster; and all halves together by R-hat of the number of clusters and of the distance from a central
    draw. A difference is too large if chance would produce one like it, anywhere, in fewer than 1 of 500
    samples; the formulas are at the head of `diagnostics.pairs` and `diagnostics.series`.

    Parameters
    ----------
    draws : Draws
        In the order they were drawn, with their chains.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    series : dict of str to array of shape (n_draws,), optional
        More numbers of each draw to be judged by R-hat, by name: the loss, or the log posterior.
    comparisons : float, optional
        Comparisons of labels beyond which only some items are compared with the others; 1e11 by default.

    Returns
    -------
    Agreement

    Notes
    -----
    Time O(n_items^2 n_draws), at most a few seconds: beyond that, only some items are compared with the
    others.

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
    numbers = np.unique(draws.chains[counted]).tolist()
    if not counted.all():
        series = {name: np.asarray(values)[counted] for name, values in (series or {}).items()}
        draws = draws[counted]
    m = draws.n_chains
    if draws.has_missing:
        # What a draw has not seen cannot be compared; what the caller watches can.
        known = {name: by_chain(np.asarray(x), draws) for name, x in (series or {}).items()}
        return Agreement(math.nan, math.nan, None, None, _judge(known), n_chains=m)
    distances, chosen, apart_series = _distances(draws)
    named = {**(series or {}), "number of clusters": draws.n_clusters, **apart_series}
    tables = {name: by_chain(np.asarray(values), draws) for name, values in named.items()}
    judged = _judge(tables)
    # An ensemble has no chains and no order.
    if draws.n_items < 2 or draws.kind == "ensemble":
        return Agreement(math.nan, math.nan, None, None, judged, n_chains=m)
    found, complete = pair_differences(
        draws, _FALSE_ALARMS, resolve_jobs(n_jobs), comparisons or _COMPARISONS
    )
    large = [one for one in found if one.is_large]
    # Between chains; the halves of a chain are worth showing only if they differ.
    between = [one for one in found if one.chains[0] != one.chains[1]]
    worst = max(large or between, key=lambda one: one.value, default=None)
    drifting: tuple[int, ...] = ()
    odd, apart = None, (math.nan, math.nan)
    strict = all(one.limit < _STRICT for one in judged)  # False for NaN
    # Chains that move so slowly that chance explains any difference: whether they agree cannot be known.
    slow = any(one.rhat > LARGEST for one in judged)
    clear = worst is not None and (worst.limit <= _USEFUL or strict) and not slow
    agree = True if clear else None
    differs = {one.name for one in judged if one.differs}
    # A chain that is worth a few draws may be anywhere by chance; that all go the same way is none.
    same_way = _DRIFT in differs and all(_fall(chain) > _SHARED for chain in tables[_DRIFT])
    few = any(
        ess(chain, method="identity") < _FEW
        for name, chains in tables.items()
        if name != _DRIFT
        for chain in chains
    )
    if few and not same_way:
        agree = None
    elif large or differs:
        agree = False
        odd = _odd_chain(large, tables, m)
        drifting = _drifting(large, tables, m)
        apart = _apart(distances, draws.chains[chosen], odd)
    difference, limit, pair = math.nan, math.nan, None
    if worst is not None:
        difference, limit, (i, j) = worst.value, worst.limit, worst.items
        # Equal chains differ nowhere, and no pair is to be named.
        names = draws.item_names
        pair = (names[i], names[j]) if complete and difference > 0 else None
    # The numbers that the caller knows: chains without weight were left out.
    chains = None if worst is None else (numbers[worst.chains[0]], numbers[worst.chains[1]])
    drifting = tuple(numbers[chain] for chain in drifting)
    odd = None if odd is None else numbers[odd]
    return Agreement(
        difference, limit, pair, agree, judged, chains, drifting, odd, apart, n_chains=m
    )


def _fall(ranks: FloatArray) -> float:
    """Mean rank in the first half of a chain less that in the second."""
    first, second = np.array_split(ranks, 2)
    return float(first.mean() - second.mean())


def by_chain(values: AnyArray, draws: Draws) -> AnyArray:
    """(n_chains, length of the shortest): the last draws of each chain."""
    chains = [values[draws.chains == number] for number in range(draws.n_chains)]
    length = min(len(chain) for chain in chains)
    # The last draws, because any burn-in that was not removed is at the beginning.
    return np.stack([chain[len(chain) - length :] for chain in chains])


def _judge(tables: Mapping[str, AnyArray]) -> tuple[Series, ...]:
    """All series; together they make a false alarm with the probability of one test."""
    alarm = _FALSE_ALARMS / max(1, len(tables))
    return tuple(
        judge_series(name, values, alarm, ranks=name == _DRIFT) for name, values in tables.items()
    )


def _distances(draws: Draws) -> tuple[FloatArray, IntArray, dict[str, FloatArray]]:
    """Distances between some draws, which draws these are, and series of distances of all draws.

    Variation of information, on at most a thousand items.
    """
    from scipy.stats import rankdata

    vi = losses.get("vi")
    n, m = draws.n_items, draws.n_chains
    items = np.unique(np.linspace(0, n - 1, min(n, _ITEMS)).astype(np.int64))
    table = np.ascontiguousarray(draws.store.rows(items))
    # Draws spread evenly over each chain.
    rows = [np.flatnonzero(draws.chains == number) for number in range(m)]
    places = [np.linspace(0, len(own) - 1, min(len(own), _CENTRAL)).astype(int) for own in rows]
    chosen = np.concatenate([own[at] for own, at in zip(rows, places, strict=True)])
    some = np.ascontiguousarray(table[:, draws.index[chosen]])

    def from_draw(number: int, others: AnyArray) -> FloatArray:
        return loss_values(some[:, number].astype(np.int64), others, vi)

    distances = np.stack([from_draw(number, some) for number in range(len(chosen))])
    central = from_draw(int(distances.sum(axis=1).argmin()), table)[draws.index]
    series = {"distance from a central draw": central}
    if m > 1:
        # For each chain, the mean distance of all draws from its last draws less that from its first ones.
        begin = np.cumsum([0, *(len(at) for at in places)])
        late = np.stack(
            [
                sum(
                    from_draw(b - 1 - k, table) - from_draw(a + k, table)
                    for k in range(min(_ENDS, b - a))
                )
                for a, b in pairwise(begin.tolist())
            ]
        )
        # A chain is near its own ends in any case: only those of the others count.
        drift = (late.sum(axis=0) - late)[draws.chains, draws.index]
        # Each chain has others, and only what happens within it is of interest: its ranks.
        for own in rows:
            drift[own] = rankdata(drift[own]) / len(own)
        series[_DRIFT] = drift
    return distances, chosen, series


def _odd_chain(large: list[Difference], tables: Mapping[str, AnyArray], m: int) -> int | None:
    """The one chain without which nothing speaks against the others; None if there are several, or none."""
    if m < 3:
        return None
    found = []
    for odd in range(m):
        others = [chain for chain in range(m) if chain != odd]
        rest = _judge({name: values[others] for name, values in tables.items()})
        if all(odd in one.chains for one in large) and not any(one.differs for one in rest):
            found.append(odd)
    return found[0] if len(found) == 1 else None


def _drifting(large: list[Difference], tables: Mapping[str, AnyArray], m: int) -> tuple[int, ...]:
    """The chains whose own halves differ."""
    pairs = {one.chains[0] for one in large if one.chains[0] == one.chains[1]}
    series = {
        chain
        for chain in range(m)
        if any(one.differs for one in _judge({k: v[[chain]] for k, v in tables.items()}))
    }
    return tuple(sorted(pairs | series))


def _apart(distances: FloatArray, chains: IntArray, odd: int | None) -> tuple[float, float]:
    """Mean distance between draws of different chains, and between those of the same chain."""
    same = chains[:, None] == chains[None, :]
    different = ~same & ~np.eye(len(chains), dtype=bool)
    if odd is not None:
        is_odd = chains == odd
        different = is_odd[:, None] & ~is_odd[None, :]
        same = ~is_odd[:, None] & ~is_odd[None, :]
    np.fill_diagonal(same, False)
    return tuple(
        float(distances[where].mean()) if where.any() else math.nan for where in (different, same)
    )  # type: ignore[return-value]
