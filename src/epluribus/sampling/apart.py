"""When chains do not meet: which of them is off, by how much, and what to try."""

from __future__ import annotations

import math

import numpy as np

from epluribus._typing import AnyArray, FloatArray
from epluribus.draws import Draws
from epluribus.losses.values import loss

_PAIRS = 20
"""Pairs of draws whose distance is taken, for each chain: enough for two digits."""


def describe_apart(draws: Draws, log_posterior: FloatArray) -> tuple[str, ...]:
    """Sentences about the chains that are not where the best one is; called when chains disagree.

    The best chain is the one with the highest mean log posterior in its second half. Another chain is off if
    its log posterior there is lower by more than chance explains, or if its draws are further from the best
    chain's than draws of one chain are from each other.

    Parameters
    ----------
    draws : Draws
        The draws of all chains, one after the other.
    log_posterior : ndarray of shape (n_chains, n_draws)

    Returns
    -------
    tuple of str
        One sentence for each chain that is off, and what to try; empty if none is.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus import Draws
    >>> from epluribus.sampling.apart import describe_apart
    >>> z = np.array([[[0, 0, 1, 1]] * 4, [[0, 0, 0, 0]] * 4])
    >>> print(describe_apart(Draws(z), np.array([[-3.0] * 4, [-8.0] * 4]))[0][:69])
    Chain 1 (counted from 0) is off: its log posterior is 5 below that of
    """
    n_chains, n = log_posterior.shape
    if n_chains < 2 or n < 2:
        return ()
    labels = np.asarray(draws).reshape(n_chains, n, -1)
    later = later_means(log_posterior)
    best = int(np.argmax(later))
    within = _distance(labels[best], labels[best])
    spread = float(log_posterior[best, n // 2 :].std())
    off = []
    for chain in (c for c in range(n_chains) if c != best):
        bits = _distance(labels[best], labels[chain])
        gap = later[best] - later[chain]
        own = max(within, _distance(labels[chain], labels[chain]))
        # Three standard deviations of single draws; or twice the usual distance, or some bits where draws
        # hardly differ.
        if gap > 3 * spread or bits > max(2 * own, own + 0.05):
            off.append(
                f"Chain {chain} (counted from 0) is off: its log posterior is {gap:.3g} below that of chain "
                f"{best}, its partitions {bits:.2f} bits away ({within:.2f} within chain {best})."
            )
    if not off:
        return ()
    return (
        *off,
        "To try: a longer burn-in; more split-merge proposals, such as moves=[Gibbs(), "
        "SplitMerge(proposals=200)]; or sample(model, start=trace, ...), which continues all chains "
        "from the best one. Chains from one start can no longer show whether they would have met. Until "
        "then, do not report the answer.",
    )


def later_means(log_posterior: FloatArray) -> FloatArray:
    """(n_chains,) mean log posterior in the second half of each chain, where late ones have arrived."""
    means: FloatArray = log_posterior[:, log_posterior.shape[1] // 2 :].mean(axis=1)
    return means


def _distance(a: AnyArray, b: AnyArray) -> float:
    """Mean VI in bits between draws of two chains, (n_draws, n_items) each, in their second halves."""
    n = len(a)
    # Pairs of draws a quarter of the chain apart: neighbors would be too much alike.
    first = np.linspace(n // 2, n - 1, min(_PAIRS, n - n // 2)).astype(int)
    second = n // 2 + (first - n // 2 + math.ceil(n / 4)) % (n - n // 2)
    return float(np.mean([loss(a[s], b[t], "vi") for s, t in zip(first, second, strict=True)]))
