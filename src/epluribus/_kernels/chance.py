"""The ways in which a move asks for a random number.

Every random choice of every move goes through these functions, so a test can replace them by an
enumeration of all choices and compute exact transition probabilities.
"""

import math

from epluribus._kernels.jit import part
from epluribus._kernels.states import MEMBER, SUM, WEIGHT


@part
def pick(rng, n):
    """One of 0..n-1, all equally likely."""
    return int(rng.random() * n)  # below n: random() is at most 1 - 2^-53


@part
def toss(rng, probability):
    """True with the given probability."""
    return rng.random() < probability


@part
def coin(rng):
    """True with probability 1/2, to divide items at random: any other way to divide them would do."""
    return toss(rng, 0.5)


@part
def accept(rng, log_ratio):
    """True with probability min(1, exp(log_ratio)); False if the ratio is not a number."""
    # A ratio of 1 or more uses no random number, and `exp` never overflows. With NaN both
    # comparisons are false: a proposal without a proper density is never accepted.
    return log_ratio >= 0.0 or rng.random() < math.exp(log_ratio)


@part
def pick_weighted(rng, n, m):
    """One of 0..n-1 with probability proportional to exp of its log weight."""
    logs = m.logs
    # The largest weight becomes exp(0) = 1, so that nothing overflows and the sum is at least 1.
    top = logs[WEIGHT, 0]
    for s in range(1, n):
        if logs[WEIGHT, s] > top:
            top = logs[WEIGHT, s]
    total = 0.0
    for s in range(n):
        total += math.exp(logs[WEIGHT, s] - top)
        logs[SUM, s] = total
    # Inversion: a uniform number on [0, total), looked up in the running sum; the last choice has the rest.
    u = rng.random() * total
    for s in range(n - 1):
        if u < logs[SUM, s]:
            return s
    return n - 1


@part
def shuffle(rng, n, m):
    """Put the first n members into a random order (Fisher and Yates)."""
    own = m.own
    # From the back: entry s is swapped with one of 0..s, itself included, and is then final.
    for s in range(n - 1, 0, -1):
        t = pick(rng, s + 1)
        own[MEMBER, s], own[MEMBER, t] = own[MEMBER, t], own[MEMBER, s]
