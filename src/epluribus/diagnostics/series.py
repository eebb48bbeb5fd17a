"""R-hat and effective sample sizes of a series, and whether its R-hat is more than chance.

R-hat and effective sample sizes are those of ArviZ, in the rank-normalized form of Vehtari et al. (2021). ArviZ
gives no R-hat for a single chain, so its formula is written out: each chain is cut in two, values are replaced
by the normal scores of their ranks, and the larger of two values
of R-hat counts, that of the scores and that of the scores of the distances from the median.

How large may R-hat be by chance? With 2m halves of h draws, B the variance of their means and W the mean
of their variances, R-hat^2 = (h - 1)/h + B/W. If a half is worth e independent draws, e B/W has Fisher's
distribution with 2m - 1 and 2m (e - 1) degrees of freedom when all halves are alike, so that

    limit = sqrt( (h - 1)/h + F / e ),    F its quantile of probability 1 - alarm.

e is measured *within* the halves, after the mean of each was subtracted, and within the slowest chain: chains that
disagree leave it as it is. A half that drifts from end to end is worth so few draws that the limit would excuse
anything: for the series that shows drift it is never above 1.2, unless independent draws could pass that.

References
----------
Vehtari, A., Gelman, A., Simpson, D., Carpenter, B., Buerkner, P.-C. (2021). Rank-normalization,
folding, and localization: an improved R-hat. Bayesian Analysis 16, 667-718. doi:10.1214/20-BA1221
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws

RHAT_LIMIT = 1.01
"""R-hat below which, according to Vehtari et al. (2021), chains have mixed, whatever their length."""
LARGEST = 1.2
"""R-hat above which chains never count as agreeing: halves whose means differ by 0.66 standard deviations."""
_HALF = 10
"""Draws in a half of a chain below which R-hat is not judged."""


@dataclass(frozen=True)
class Series:
    """How one number of each draw, such as the loss, behaves over the chains."""

    name: str
    rhat: float
    """Rank-normalized split R-hat; NaN with fewer than 4 draws per chain."""
    limit: float
    """What R-hat stays below if all halves of chains are alike; NaN with fewer than 20 draws per chain."""
    ess_bulk: float
    """Effective sample size of the ranks, all chains together."""
    ess_tail: float
    """The smaller of the effective sample sizes for the 5% and the 95% quantile."""

    @property
    def differs(self) -> bool:
        """Whether chains, or their halves, differ by more than chance explains."""
        return self.rhat > max(self.limit, RHAT_LIMIT)  # False for NaN


def by_chain(values: AnyArray, draws: Draws) -> AnyArray:
    """(n_chains, length of the shortest): the last draws of each chain."""
    chains = [values[draws.chains == number] for number in range(draws.n_chains)]
    length = min(len(chain) for chain in chains)
    # The last draws, because any burn-in that was not removed is at the beginning.
    return np.stack([chain[len(chain) - length :] for chain in chains])


def halves(draws: Draws) -> tuple[IntArray, IntArray]:
    """Numbers of the draws in the first and in the second halves of the chains."""
    order = np.argsort(draws.chains, kind="stable")
    length = np.bincount(draws.chains)
    place = np.arange(draws.n_draws) - np.repeat(np.cumsum(length) - length, length)
    first = place < np.repeat(length // 2, length)
    return order[first], order[~first]


def judge_series(name: str, values: ArrayLike, alarm: float) -> Series:
    """R-hat, its limit and the effective sample sizes of (n_chains, n_draws) values.

    `alarm` is the probability with which chance alone may pass the limit.
    """
    chains = _as_chains(values)
    halves, limit = _halves(chains), math.nan
    if halves.shape[1] >= _HALF:
        # The slower of the two: R-hat is the larger of theirs. And the slowest chain speaks for all: one that stays
        # at one of two modes for long seems to mix well.
        slowest = min(ess(chain, method="identity") for chain in chains) / 2
        effective = min(slowest, *(_within(scores) for scores in _both_scores(halves)))
        limit = _rhat_limit(halves, max(2.0, effective), alarm)
    return Series(name, rhat(chains), limit, ess(chains), ess(chains, method="tail"))


def judge_ranks(name: str, values: ArrayLike, alarm: float) -> Series:
    """The same for ranks within each chain: only the means of the halves are compared.

    They say nothing about how many draws all chains together are worth.
    """
    halves = _halves(_as_chains(values))
    if halves.shape[1] < _HALF:
        return Series(name, rhat(values), math.nan, math.nan, math.nan)
    spread = np.ptp(halves, axis=1).any()
    hat = _plain_rhat(halves) if spread else 1.0
    # What independent draws could reach is always excused.
    largest = max(LARGEST, _rhat_limit(halves, halves.shape[1], alarm))
    return Series(
        name, hat, min(_rhat_limit(halves, _within(halves), alarm), largest), math.nan, math.nan
    )


def _halves(chains: FloatArray) -> FloatArray:
    """(2 n_chains, n_draws // 2) first halves, then second ones; of an odd number the middle draw is lost."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, chains.shape[1] - half :]])


def _within(halves: FloatArray) -> float:
    """Independent draws that a half is worth on average, whatever the means of the halves are."""
    centered = halves - halves.mean(axis=1, keepdims=True)
    n, half = centered.shape
    if np.ptp(centered) == 0:
        return float(half)
    # Less three: subtracting the mean takes away the slowest part of the motion. Chosen on autocorrelated
    # chains, where 3% of agreeing sets were called disagreeing.
    size = _ess(centered, method="identity") / n - 3.0
    return min(max(2.0, size), float(half))  # at least two, for a variance


def _rhat_limit(halves: FloatArray, effective: float, alarm: float) -> float:
    """The formula at the head of the module."""
    from scipy.special import fdtri

    n, half = halves.shape
    quantile = float(fdtri(n - 1, n * (effective - 1), 1 - alarm / 2))
    return math.sqrt((half - 1) / half + quantile / effective)


def rhat(values: ArrayLike) -> float:
    """Rank-normalized split R-hat: near 1 when chains agree.

    Parameters
    ----------
    values : array_like of shape (n_chains, n_draws) or (n_draws,)

    Returns
    -------
    float
        1 if all values are equal, infinity if every half of a chain is constant and they differ; NaN
        with fewer than 4 draws per chain. A single chain is judged by its two halves.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.diagnostics import rhat
    >>> chains = np.random.default_rng(1).normal(size=(2, 2000))
    >>> bool(rhat(chains) < 1.01), bool(rhat(chains + [[0.0], [3.0]]) > 1.5)
    (True, True)
    """
    chains = _as_chains(values)
    if chains.shape[1] < 4:
        return float("nan")
    halves = _halves(chains)
    # No half moves: ArviZ would divide by a variance of zero.
    if not np.ptp(halves, axis=1).any():
        return 1.0 if np.ptp(halves) == 0 else float("inf")
    # A series of two values may be constant once folded at its median: 0/0, which is ignored.
    with np.errstate(divide="ignore", invalid="ignore"):
        ranked, folded = map(_plain_rhat, _both_scores(halves))
    return float(np.fmax(ranked, folded))


def _plain_rhat(halves: FloatArray) -> float:
    """R-hat of (n_halves, n_draws) values as they are, by the formula at the head of the module."""
    between, within = halves.mean(axis=1).var(ddof=1), halves.var(axis=1, ddof=1).mean()
    half = halves.shape[1]
    return float(np.sqrt((half - 1) / half + between / within))


def _both_scores(halves: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Normal scores of the ranks of the values, and of their distances from the median."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    def scores(values: FloatArray) -> FloatArray:
        # Blom's offset of 3/8, as Vehtari et al. use it.
        ranks = rankdata(values).reshape(values.shape)
        return np.asarray(ndtri((ranks - 0.375) / (values.size + 0.25)))

    return scores(halves), scores(np.abs(halves - np.median(halves)))


def ess(values: ArrayLike, *, method: str = "bulk") -> float:
    """Effective number of independent draws, all chains together.

    Parameters
    ----------
    values : array_like of shape (n_chains, n_draws) or (n_draws,)
    method : {"bulk", "tail", "mean"}, default "bulk"
        "bulk" uses the ranks of the values, as a diagnostic should; "tail" is the smaller of the sizes for
        the 5% and the 95% quantile; "mean" uses the values themselves, as the standard error of their
        mean requires.

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
    options = {"prob": (0.05, 0.95)} if method == "tail" else {}
    return _ess(chains, method=method, **options)


def _as_chains(values: ArrayLike) -> FloatArray:
    """(n_chains, n_draws) the values, rounded to about 10 digits.

    A log posterior that is updated step by step drifts in its last digits, and ranks would take that for a
    chain that moves slowly.
    """
    chains = np.atleast_2d(np.asarray(values, dtype=np.float64))
    # value = mantissa 2^exponent with 1/2 <= |mantissa| < 1: the mantissa is rounded to 33 bits.
    mantissa, exponent = np.frexp(chains)
    return np.ldexp(np.rint(np.ldexp(mantissa, 33)), exponent - 33)


def _ess(chains: FloatArray, **options: Any) -> float:
    """ArviZ's effective sample size; imported when needed, since SciPy's statistics take a second to load."""
    return float(import_module("arviz_stats.base").array_stats.ess(chains, **options))
