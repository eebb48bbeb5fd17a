"""One minus the adjusted Rand index.

    omari(a, z) = 1 - (Pj - E) / ((Pa + Pz)/2 - E),    E = Pa Pz / M,    M = N(N - 1)/2

P counts the pairs of items together in a, in z, or in both. Not a metric.

Hubert, L., Arabie, P. (1985). Comparing partitions. Journal of Classification 2, 193-218.
doi:10.1007/BF01908075
"""

from epluribus.losses.base import Loss

__all__ = ["omari"]


def _pairs(n: int) -> float:
    """Number of pairs among n items: exact in double precision."""
    return float(n * (n - 1) // 2)


def _omari(joint: float, size: float, group: float, n_items: float) -> float:
    all_pairs = n_items * (n_items - 1.0) / 2.0
    if all_pairs == 0.0:
        return 0.0
    expected = size * group / all_pairs
    room = (size + group) / 2.0 - expected
    if room == 0.0:  # both one cluster, or both singletons
        return 0.0
    return 1.0 - (joint - expected) / room


def omari() -> Loss:
    """One minus the adjusted Rand index."""
    return Loss(_omari, _pairs, _pairs, _pairs, name="omari", zero_if_equal=True)
