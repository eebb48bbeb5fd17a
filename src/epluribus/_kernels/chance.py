"""The eight ways in which a move asks for a random number.

Every random choice of every move goes through these functions, so a test can replace them by an
enumeration of all choices and compute exact transition probabilities.
"""

import math
from typing import Any

from epluribus._kernels.dispatch import part
from epluribus._typing import FloatArray, IntArray


@part
def pick(rng: Any, n: int) -> int:
    """One of 0..n-1, all equally likely."""
    return int(rng.random() * n)  # below n: random() is at most 1 - 2^-53


@part
def toss(rng: Any, probability: float) -> bool:
    """True with the given probability."""
    return bool(rng.random() < probability)


@part
def coin(rng: Any) -> bool:
    """True with probability 1/2, to divide items at random: any other way to divide them would do."""
    return toss(rng, 0.5)


@part
def accept(rng: Any, log_ratio: float) -> bool:
    """True with probability min(1, exp(log_ratio)); False if the ratio is not a number."""
    # A ratio of 1 or more uses no random number, and `exp` never overflows. With NaN both
    # comparisons are false: a proposal without a proper density is never accepted.
    return bool(log_ratio >= 0.0 or rng.random() < math.exp(log_ratio))


@part
def pick_weighted(
    rng: Any,
    log_weights: FloatArray,
    n: int,
    cumulative: FloatArray,  # WORK
) -> int:
    """One of 0..n-1 with probability proportional to exp(log_weights)."""
    # The largest weight becomes exp(0) = 1, so that nothing overflows and the sum is at least 1.
    top = log_weights[0]
    for s in range(1, n):
        if log_weights[s] > top:
            top = log_weights[s]
    total = 0.0
    for s in range(n):
        total += math.exp(log_weights[s] - top)
        cumulative[s] = total
    # Inversion: a uniform number on [0, total), looked up in the running sum; the last choice has the rest.
    u = rng.random() * total
    for s in range(n - 1):
        if u < cumulative[s]:
            return s
    return n - 1


@part
def draw(rng: Any) -> float:
    """A number in [0, 1), for choices whose probabilities need not be known."""
    return rng.random()


@part
def pick_share(
    rng: Any,
    weights: FloatArray,
    n: int,
    cumulative: FloatArray,  # WORK
) -> int:
    """One of 0..n-1 with probability proportional to `weights`, which are positive."""
    total = 0.0
    for s in range(n):
        total += weights[s]
        cumulative[s] = total
    u = rng.random() * total
    for s in range(n - 1):
        if u < cumulative[s]:
            return s
    return n - 1


@part
def shuffle(rng: Any, items: IntArray, n: int) -> None:
    """Put the first n entries into a random order (Fisher and Yates)."""
    # From the back: entry s is swapped with one of 0..s, itself included, and is then final.
    for s in range(n - 1, 0, -1):
        t = pick(rng, s + 1)
        items[s], items[t] = items[t], items[s]
