"""Whether chains agree, and how many independent draws they are worth.

R-hat and effective sample sizes are those of ArviZ, in the rank-normalized form of Vehtari et al.
(2021): each chain is cut in two, values are replaced by the normal scores of their ranks, and the larger of
two values of R-hat counts, that of the scores and that of the scores of the distances from the median.

One rule says whether chains agree on the partition. For two chains a and b and two items, let p_a and
p_b be the probabilities that the items share a cluster, p their mean, and n_a and n_b the effective
sample sizes of the 0-1 series that records whether they do, *each within its own chain*; two chains of one
posterior mix alike, so the slower of the two speaks for both. The chains agree if

    |p_a - p_b| <= q sqrt( p (1 - p) (1/n_a + 1/n_b) ),

where q is the quantile of Student's distribution with n_a + n_b - 2 degrees of freedom at which, over all
pairs of items and of chains, chance alone breaks the rule with probability at most 0.01 (Bonferroni). The
effective sample size of all chains together is not used: it collapses exactly when chains disagree, and
would excuse any difference.

References
----------
Vehtari, A., Gelman, A., Simpson, D., Carpenter, B., Buerkner, P.-C. (2021). Rank-normalization,
folding, and localization: an improved R-hat. Bayesian Analysis 16, 667-718. doi:10.1214/20-BA1221
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._parallel import Stopper, resolve_jobs
from epluribus._typing import FloatArray
from epluribus.draws import Draws
from epluribus.draws.rows import all_equal
from epluribus.draws.store import Slice
from epluribus.draws.together import Together, map_blocks

__all__ = ["RHAT_LIMIT", "Agreement", "Similarity", "chain_agreement", "ess", "rhat"]

RHAT_LIMIT = 1.01
"""R-hat above which, according to Vehtari et al. (2021), chains have not mixed."""

_BITS = 33
"""Bits to which values are rounded before they are compared: ten decimal digits."""
_FALSE_ALARMS = 0.01
"""Share of samples in which chains of one posterior may be called different by chance."""
_USEFUL = 0.5
"""Largest limit that means anything: a higher one would excuse probabilities of 1/4 and 3/4."""
_CHAINS = 16
"""Up to this many chains, each is compared with every other; beyond that, only with the next one."""
_COMPARISONS = 1e11
"""Comparisons of labels up to which all pairs of items are examined: eight seconds on one core."""
_OVERHEAD = 150
"""Comparisons of labels that take as long as storing one probability, or subtracting two."""
_ROUNDING = 1e-12
"""Probabilities that differ by less than this are equal: sums of weights are rounded."""

_REPEATS = 4
"""With this many draws per distinct partition it pays to compare distinct partitions, with weights."""


# --- R-hat and effective sample size ---


def rhat(values: ArrayLike) -> float:
    """Rank-normalized split R-hat: near 1 when chains agree.

    Parameters
    ----------
    values : array_like of shape (n_chains, n_draws) or (n_draws,)

    Returns
    -------
    float
        1 if all values are equal, infinity if every half of a chain is constant and they differ; NaN
        with fewer than 4 draws per chain. A single chain is judged by its two halves, and needs 8.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.diagnostics import rhat
    >>> chains = np.random.default_rng(1).normal(size=(2, 2000))
    >>> bool(rhat(chains) < 1.01), bool(rhat(chains + [[0.0], [3.0]]) > 1.5)
    (True, True)
    """
    chains = _as_chains(values)
    half = chains.shape[1] // 2
    if half < 2:
        return float("nan")
    # A chain of odd length loses its middle draw.
    halves = np.concatenate([chains[:, :half], chains[:, -half:]])
    # No half moves: ArviZ would divide by a variance of zero.
    if not np.ptp(halves, axis=1).any():
        return 1.0 if np.ptp(halves) == 0 else float("inf")
    stats = _array_stats()
    # A series of two values may be constant once folded at its median: 0/0, which is ignored.
    with np.errstate(divide="ignore", invalid="ignore"):
        if len(chains) > 1:
            return float(stats.rhat(chains, method="rank"))
        # ArviZ gives no R-hat for a single chain. The same formula, applied to its halves.
        folded = np.abs(halves - np.median(halves))
        both = (stats.rhat(_scores(x), method="identity") for x in (halves, folded))
        return float(np.fmax(*both))


def _scores(values: FloatArray) -> FloatArray:
    """Normal scores of the ranks among all values (Blom's offset of 3/8, as Vehtari et al. use it)."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    ranks = rankdata(values).reshape(values.shape)
    return np.asarray(ndtri((ranks - 0.375) / (values.size + 0.25)))


def ess(values: ArrayLike, *, method: str = "bulk") -> float:
    """Effective number of independent draws, all chains together.

    Parameters
    ----------
    values : array_like of shape (n_chains, n_draws) or (n_draws,)
    method : {"bulk", "mean"}, default "bulk"
        "bulk" uses the ranks of the values, as a diagnostic should; "mean" uses the values themselves,
        as the standard error of their mean requires.

    Returns
    -------
    float
        The number of draws if all values are equal; NaN with fewer than 4 draws per chain.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.diagnostics import ess
    >>> noise = np.random.default_rng(1).normal(size=(2, 1000))
    >>> bool(1500 < ess(noise) < 2500), bool(ess(noise.cumsum(axis=1)) < 50)
    (True, True)
    """
    chains = _as_chains(values)
    if chains.shape[1] < 4:
        return float("nan")
    # Nothing varies: every draw gives the same value, and the error of the mean is zero.
    if np.ptp(chains) == 0:
        return float(chains.size)
    return float(_array_stats().ess(chains, method=method))


def _as_chains(values: ArrayLike) -> FloatArray:
    """(n_chains, n_draws) the values, rounded to about 10 digits.

    A log posterior that is updated step by step drifts in its last digits, and ranks would take that for a
    chain that moves slowly.
    """
    chains = np.atleast_2d(np.asarray(values, dtype=np.float64))
    # value = mantissa 2^exponent with 1/2 <= |mantissa| < 1: the mantissa is rounded to 33 bits.
    mantissa, exponent = np.frexp(chains)
    return np.ldexp(np.rint(np.ldexp(mantissa, _BITS)), exponent - _BITS)


def _array_stats() -> Any:
    """ArviZ's functions on arrays; imported when needed, since SciPy's statistics take a second to load."""
    return import_module("arviz_stats.base").array_stats


# --- rows of the similarity matrix ---


class Similarity:
    """Probabilities that items share a cluster, computed by rows on demand; threads may share it.

    Parameters
    ----------
    draws : Draws
        Labels are copied in the layout that the comparison needs; the matrix is not stored.

    Examples
    --------
    >>> from epluribus import Draws
    >>> from epluribus.diagnostics import Similarity
    >>> Similarity(Draws([[0, 0, 1], [0, 1, 1]]))(1, 2, 3)  # item 1 with items 0, 1, 2
    array([[0.5, 1. , 0.5]])
    """

    def __init__(self, draws: Draws) -> None:
        weights = draws.draw_weights
        equal_weights = all_equal(weights)
        store, mass = draws.store, draws.weights
        if equal_weights:
            # Divided by the common weight they are integers, and sums of integers are exact.
            mass = draws.weights / weights[0]
        self._store, self._mass, self._total = store, mass, float(mass.sum())
        self._together: Together | None = None
        # Slices are compared one after the other, when rows are asked for.
        if store.in_one_piece:
            table = store.whole()
            # Counting equal labels, draw by draw, is quickest, unless partitions are repeated often.
            if equal_weights and draws.n_distinct < draws.n_draws < _REPEATS * draws.n_distinct:
                table, mass = table[:, draws.index], np.ones(draws.n_draws)
            self._together = Together(table, mass)
        self._seen: FloatArray | None = None
        if draws.has_missing:
            self._seen = (store.whole() > 0).astype(np.float64)

    def __call__(self, begin: int, end: int, stop: int) -> FloatArray:
        """(end - begin, stop) probabilities of items begin..end-1 with items 0..stop-1."""
        if self._seen is not None:
            return self._where_seen(begin, end, stop)
        if self._together is not None:
            return self._probability(self._together(begin, end, stop))
        sums = self._store.map(_slice_together, self._mass, begin, end, stop)
        return self._probability(sum(sums[1:], start=sums[0]))

    def matrix(
        self,
        n_jobs: int,
        stopper: Stopper | None = None,
        on_rows: Callable[[int], Any] = lambda _: None,
    ) -> FloatArray:
        """(n_items, n_items) all of them; `on_rows` is told how many rows each block has."""
        if self._seen is not None:
            out = self._where_seen(0, len(self._seen), len(self._seen))
            on_rows(len(out))
            return out
        together = self._together or Together(self._store.whole(), self._mass)
        out = self._probability(together.matrix(n_jobs, stopper, on_rows))
        # An item is always with itself; sums of weights may have been rounded.
        np.fill_diagonal(out, 1.0)
        return out

    def _where_seen(self, begin: int, end: int, stop: int) -> FloatArray:
        """The same where labels are missing: among the draws that have seen both; NaN if none has."""
        assert self._seen is not None
        mine, theirs = self._seen[begin:end], self._seen[:stop]
        together = Together(self._store.whole(), self._mass)(begin, end, stop)
        # Two missing labels are equal as well, but not together.
        together -= ((1.0 - mine) * self._mass) @ (1.0 - theirs).T
        both = (mine * self._mass) @ theirs.T
        out = np.full(both.shape, np.nan)
        np.divide(together, both, out=out, where=both > 0)
        return np.clip(out, 0.0, 1.0, out=out)

    def _probability(self, weight: FloatArray) -> FloatArray:
        weight /= self._total
        return np.minimum(weight, 1.0, out=weight)  # rounding of weights may exceed 1


def _slice_together(part: Slice, mass: FloatArray, begin: int, end: int, stop: int) -> FloatArray:
    """Weight of the draws of one slice in which items share a cluster."""
    return Together(part.table, mass[part.columns])(begin, end, stop)


# --- the rule ---


@dataclass(frozen=True)
class Agreement:
    """Whether chains agree on which items belong together."""

    difference: float
    """Largest difference between two chains of the probability that two items share a cluster; if some
    are above their limits, the largest of these. NaN if there are no two chains to compare."""
    limit: float
    """What this difference stays below if the chains are draws from one posterior. NaN with fewer than 4
    draws per chain."""
    pair: tuple[str, str] | None
    """The two items; None if no pair differs, if there are no two chains, or if only some pairs were
    compared."""
    agree: bool | None
    """Whether the difference is within its limit. None if that cannot be known: there is one chain, or chains
    are worth too few independent draws and the limit is above one half."""

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if math.isnan(self.difference):
            return "There are no two chains to compare."
        items = "some two items" if self.pair is None else "items {} and {}".format(*self.pair)
        text = f"Two chains differ by {self.difference:.2g} in the probability that {items} share a cluster"
        if self.agree is None:
            return f"{text}; they are too short to say whether that is chance."
        compared = "no more" if self.agree else "more"
        return f"{text}, {compared} than chance explains (up to {self.limit:.2g})."


def chain_agreement(draws: Draws, n_jobs: int | None = None) -> Agreement:
    """Whether chains agree on which items belong together: the one rule of the package.

    Chains are compared two at a time, in the probability that two items share a cluster. A difference is
    too large if chance would produce one like it, anywhere, in fewer than 1 of 100 samples; the formula is
    at the head of this module.

    Parameters
    ----------
    draws : Draws
        In the order they were drawn, with their chains.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

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
    (False, ('1', '2'), 0.46, 0.2)
    >>> print(chain_agreement(Draws(z[0])).agree)
    None
    """
    n, chains = draws.n_items, [draws.chain(number) for number in range(draws.n_chains)]
    if (
        draws.has_missing
        or len(chains) < 2
        or n < 2
        or not all(chain.total_weight > 0 for chain in chains)
    ):
        return Agreement(math.nan, math.nan, None, None)
    m = len(chains)
    # If chains are not all alike, some chain differs from its neighbor in the list.
    neighbors = [(a, a + 1) for a in range(m - 1)]
    couples = list(combinations(range(m), 2)) if m <= _CHAINS else neighbors
    rows = [Similarity(chain) for chain in chains]

    def largest(begin: int, end: int) -> list[tuple[float, int, int]]:
        """For each two chains the largest difference in these rows, and its items."""
        # Items i < end with j < end: over all blocks, every pair of items is seen.
        blocks = [similarity(begin, end, end) for similarity in rows]
        found = []
        for a, b in couples:
            apart = np.abs(blocks[a] - blocks[b])
            i, j = divmod(int(apart.argmax()), end)
            found.append((float(apart[i, j]), begin + i, j))
        return found

    # With too many items only every `step`-th block of rows is compared with all items before it.
    work = n * n / 2 * (draws.n_draws + _OVERHEAD * (m + len(couples)))
    step = math.ceil(work / _COMPARISONS)
    blocks = map_blocks(n, largest, resolve_jobs(n_jobs), step=step)
    # Bonferroni: all pairs of items and of chains, in both directions, share the false alarms.
    alarm = _FALSE_ALARMS / (len(couples) * n * (n - 1))
    # For each two chains the pair of items that differs most is judged by its own limit.
    judged = []
    for (a, b), column in zip(couples, zip(*blocks, strict=True), strict=True):
        difference, i, j = max(column, key=lambda entry: entry[0])
        judged.append((difference, _limit(chains[a], chains[b], i, j, alarm), i, j))
    # A chain too short to be judged must not hide two others that disagree.
    beyond = [entry for entry in judged if entry[0] > entry[1] + _ROUNDING]
    difference, limit, i, j = max(beyond or judged, key=lambda entry: entry[0])
    names = draws.item_names
    # Equal chains differ nowhere: the maximum is then at item 0 with itself, which is not a pair.
    pair = (names[min(i, j)], names[max(i, j)]) if step == 1 and i != j else None
    agree = False if beyond else True if limit <= _USEFUL else None
    return Agreement(difference, limit, pair, agree)


def _limit(a: Draws, b: Draws, i: int, j: int, alarm: float) -> float:
    """Limit of the difference at items i and j: chance exceeds it with probability `alarm` on each side."""
    from scipy.special import stdtrit

    # For each chain the share of each draw, and whether the items share a cluster in it.
    shares = [chain.draw_weights / chain.total_weight for chain in (a, b)]
    both = [chain.store.rows(np.array([i, j])) for chain in (a, b)]
    together = [(x[0] == x[1])[chain.index] for x, chain in zip(both, (a, b), strict=True)]
    probability = sum(float(x @ share) for x, share in zip(together, shares, strict=True)) / 2
    # Effective draws per draw. A chain in which the items are always together, or never, counts as mixing
    # well; no chain counts as worth more than its length.
    mixing = float(np.min([1.0, *(ess(x, method="mean") / len(x) for x in together)]))
    # Unequal weights (Kish): 1 / sum of squares is the number of equal weights that would be as good.
    n_a, n_b = (mixing / float(share @ share) for share in shares)
    quantile = -float(stdtrit(max(1.0, n_a + n_b - 2), alarm))
    variance = max(0.0, probability * (1 - probability)) * (1 / n_a + 1 / n_b)
    return quantile * math.sqrt(variance)
