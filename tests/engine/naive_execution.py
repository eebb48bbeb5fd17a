"""The contract of an execution in plain Python: every cost by recomputing the loss from scratch.

It is the twin of the compiled ones, and registered as an execution elsewhere would be.
"""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import epluribus as epl
from epluribus._kernels.engine import implement_execution, row_gap
from epluribus._kernels.looks import no_looks

TOLERANCE = 1e-9


class Naive(NamedTuple):
    """A partition under change; the total loss is computed as the expected loss times the total weight."""

    draws: Any
    loss: Any
    labels: Any
    sizes: Any
    n_clusters: Any
    row: Any
    price: Any
    looks: Any

    @classmethod
    def at(cls, draws, loss, labels):
        n = len(labels) + 1
        sizes, k = np.bincount(labels, minlength=n), np.array([max(labels) + 1])
        price = SimpleNamespace(tolerance=TOLERANCE)
        row, looks = np.zeros(n + 1), no_looks(0)  # nothing is skipped
        return cls(draws, loss, np.array(labels), sizes, k, row, price, looks)


def total(e, labels):
    return epl.expected_loss(labels, e.draws, e.loss) * e.draws.total_weight


def exact(e, row, i, s):  # noqa: ARG001
    moved = e.labels.copy()
    moved[i] = s
    return total(e, moved)


def costs(e, row, i):
    for s in range(e.n_clusters[0] + 1):
        e.row[s] = exact(e, row, i, s)


def choose(e, i, own, opens):  # noqa: ARG001
    n = e.n_clusters[0] + opens
    low = min(e.row[:n]) + TOLERANCE
    return own if own >= 0 and e.row[own] <= low else int(np.argmax(e.row[:n] <= low))


def cost_of(e, s):
    return e.row[s]


def exclude(e, s):
    e.row[s] = np.inf


def apply(e, row, i, s):  # noqa: ARG001
    own, k = e.labels[i], e.n_clusters[0]
    e.labels[i] = s
    e.n_clusters[0] = max(k, s + 1)
    if not (e.labels == own).any():
        fill_gap(e, own)
    e.sizes[:] = np.bincount(e.labels, minlength=len(e.sizes))


def fill_gap(e, free):
    """The last cluster takes the label that is free."""
    e.n_clusters[0] -= 1
    e.labels[e.labels == e.n_clusters[0]] = free


def join_changes(e, row, a):  # noqa: ARG001
    now = total(e, e.labels)
    for s in range(e.n_clusters[0]):
        joined = np.where(e.labels == a, s, e.labels)
        e.row[s] = total(e, joined) - now if s != a else np.inf


def join(e, row, a, b):  # noqa: ARG001
    e.labels[e.labels == b] = a
    fill_gap(e, b)
    e.sizes[:] = np.bincount(e.labels, minlength=len(e.sizes))


implement_execution(
    Naive,
    costs=costs,
    glance=costs,
    exact=exact,
    choose=choose,
    cost_of=cost_of,
    exclude=exclude,
    least_gap=row_gap,
    apply=apply,
    join_changes=join_changes,
    join=join,
)


def plain(loop):
    """A loop as plain Python, as it is on an execution that is not compiled."""
    return getattr(loop, "py_func", loop)
