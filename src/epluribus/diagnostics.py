"""Whether chains agree, and how many independent draws they are worth.

Split R-hat and effective sample size as in Gelman et al. (Bayesian Data Analysis, 3rd edition,
sections 11.4-11.5) and Stan: each chain is cut in two; with W the mean variance within halves, B /
n the variance of their means and n their length,

    R-hat^2 = ((n - 1) / n W + B / n) / W
    ESS = m n / tau,    tau = 1 + 2 sum of autocorrelations

where the autocorrelations are those of all halves together and the sum is cut by Geyer's initial
monotone sequence.

References
----------
Vehtari, A., Gelman, A., Simpson, D., Carpenter, B., Buerkner, P.-C. (2021). Rank-normalization,
folding, and localization: an improved R-hat. Bayesian Analysis 16, 667-718. doi:10.1214/20-BA1221

Geyer, C. J. (1992). Practical Markov chain Monte Carlo. Statistical Science 7, 473-483.
doi:10.1214/ss/1177011137
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from epluribus.draws import Draws

__all__ = ["coclustering_by_chain", "coclustering_disagreement", "ess", "rhat"]


def _halves(values: ArrayLike) -> NDArray[np.float64]:
    """Each chain cut in two halves of equal length; the middle draw of an odd chain is left out."""
    table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    n = table.shape[1] // 2
    return np.concatenate([table[:, :n], table[:, table.shape[1] - n :]])


def rhat(values: ArrayLike) -> float:
    """Split R-hat: near 1 when chains agree.

    Parameters
    ----------
    values : array_like of shape (n_chains, n_draws) or (n_draws,)

    Returns
    -------
    float
        1 if all values are equal; NaN with fewer than 4 draws.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.diagnostics import rhat
    >>> chains = np.random.default_rng(1).normal(size=(2, 500))
    >>> bool(rhat(chains) < 1.01), bool(rhat(chains + [[0.0], [3.0]]) > 1.5)
    (True, True)
    """
    halves = _halves(values)
    n = halves.shape[1]
    if n < 2:
        return float("nan")
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt((n - 1) / n + between / within))


def ess(values: ArrayLike) -> float:
    """Effective number of independent draws, all chains together.

    Parameters
    ----------
    values : array_like of shape (n_chains, n_draws) or (n_draws,)

    Returns
    -------
    float
        The number of draws if all values are equal; NaN with fewer than 4 draws.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.diagnostics import ess
    >>> noise = np.random.default_rng(1).normal(size=(2, 1000))
    >>> bool(1500 < ess(noise) < 2500), bool(ess(noise.cumsum(axis=1)) < 50)
    (True, True)
    """
    halves = _halves(values)
    m, n = halves.shape
    if n < 2:
        return float("nan")
    covariance = _autocovariance(halves).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    variance = within * (n - 1) / n + halves.mean(axis=1).var(ddof=1)
    if variance == 0:
        return float(m * n)
    correlation = 1.0 - (within - covariance * n / (n - 1)) / variance
    correlation[0] = 1.0
    # Sums of neighbours are positive and decreasing for a reversible chain: cut at the first that
    # is not.
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    cut = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: cut[0]] if cut.size else pairs)
    tau = -1.0 + 2.0 * pairs.sum()
    # Chains that jump back and forth can be worth more than their length; bounded as Stan does.
    return float(m * n / max(tau, 1.0 / np.log10(max(m * n, 10))))


def _autocovariance(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Autocovariances of each row at all lags, by the fast Fourier transform."""
    n = table.shape[1]
    centred = table - table.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    return np.asarray(np.fft.irfft(power)[:, :n] / n)


def coclustering_by_chain(draws: Draws, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probability that the items of each pair share a cluster, by chain.

    Parameters
    ----------
    draws : Draws
    pairs : ndarray of shape (n_pairs, 2)
        Numbers of the items.

    Returns
    -------
    ndarray of shape (n_chains, n_pairs)

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus import draws
    >>> from epluribus.diagnostics import coclustering_by_chain
    >>> two = draws.Draws([[[0, 0], [0, 1]], [[0, 0], [0, 0]]])
    >>> coclustering_by_chain(two, np.array([[0, 1]]))
    array([[0.5],
           [1. ]])
    """
    # Weight of each distinct partition in each chain.
    weights = np.zeros((draws.n_chains, draws.n_distinct))
    np.add.at(weights, (draws.chains, draws.index), draws.draw_weights)
    weights /= weights.sum(axis=1, keepdims=True)
    labels = draws.distinct.T  # one item a row, contiguous
    out = np.empty((draws.n_chains, len(pairs)))
    step = max(1, (1 << 24) // draws.n_distinct)
    for begin in range(0, len(pairs), step):
        block = pairs[begin : begin + step]
        together = labels[block[:, 0]] == labels[block[:, 1]]
        out[:, begin : begin + step] = weights @ together.T
    return out


def coclustering_disagreement(draws: Draws, n_pairs: int = 5000) -> float:
    """Largest difference between two chains of the probability that two items share a cluster.

    Parameters
    ----------
    draws : Draws
    n_pairs : int, default 5000
        All pairs are compared if there are no more than this, else so many, spread evenly over the
        list of all pairs.

    Returns
    -------
    float
        NaN with one chain or one item.

    Examples
    --------
    >>> from epluribus import draws
    >>> from epluribus.diagnostics import coclustering_disagreement
    >>> coclustering_disagreement(draws.Draws([[[0, 0], [0, 1]], [[0, 0], [0, 0]]]))
    0.5
    """
    N = draws.n_items
    if draws.n_chains < 2 or N < 2:
        return float("nan")
    total = N * (N - 1) // 2
    number = np.unique(np.linspace(0, total - 1, min(total, n_pairs)).astype(np.int64))
    # Pair number j (j - 1) / 2 + i is (i, j) with i < j.
    j = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) // 2).astype(np.int64)
    j += number >= j * (j + 1) // 2  # rounding of the square root, either way
    j -= number < j * (j - 1) // 2
    pairs = np.stack([number - j * (j - 1) // 2, j], axis=1)
    together = coclustering_by_chain(draws, pairs)
    return float((together.max(axis=0) - together.min(axis=0)).max())
