"""Algorithm 1 of Rastelli & Friel (2018): items in random order, each moved to its best cluster.

The paper prints argmax in line 10; the minimum is meant.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epluribus import losses
from epluribus._validate import check_count, make_rng
from epluribus.draws import as_draws, as_labels
from epluribus.search.objective import NEVER, Objective

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from epluribus._kernels.structs import State
    from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike, RngLike

__all__ = ["Run", "Step", "descend", "greedy"]


@dataclass(frozen=True)
class Step:
    """The search after one sweep."""

    expected_loss: float
    n_clusters: int


@dataclass(frozen=True, repr=False)
class Run:
    """One run of the search, from one start."""

    labels: IntArray
    """Canonical labels of the partition it ended with."""
    expected_loss: float
    n_clusters: int
    start: str
    """Where it started."""
    trace: tuple[Step, ...]
    """Expected loss and clusters at the start and after each sweep."""
    converged: bool
    """Whether the last sweep changed nothing."""
    seconds: float

    @property
    def n_sweeps(self) -> int:
        """Number of sweeps over the items."""
        return len(self.trace) - 1

    def __repr__(self) -> str:
        end = "converged" if self.converged else "stopped early"
        return (
            f"Run(expected_loss={self.expected_loss:.6g}, n_clusters={self.n_clusters}, "
            f"n_sweeps={self.n_sweeps}, start={self.start!r}, {end})"
        )


def greedy(
    draws: DrawsLike,
    start: LabelsLike,
    loss: LossLike = "vi",
    *,
    k_max: int | None = None,
    rng: RngLike = None,
) -> Run:
    """Lower the expected loss item by item from one starting partition: Algorithm 1 of the paper.

    Items are visited in random order. Each is moved to the cluster, its own, another or a new one,
    that gives the smallest expected loss. It stops after a sweep without change: no single item can
    then be moved to lower the expected loss.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    start : array_like of shape (n_items,)
        Labels to start from, with at most `k_max` clusters.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    k_max : int, optional
        Largest number of clusters, the paper's K_up. No bound by default; it costs nothing.
    rng : int, Generator or SeedSequence, optional
        Source of the order of items.

    Returns
    -------
    Run
        Labels, expected loss, number of clusters, and the trace of the sweeps.

    Notes
    -----
    An item stays where it is unless a move lowers the loss. Among equally good targets the cluster
    with the smallest label wins, a new cluster last; labels are those of `start` in canonical form,
    and a cluster left empty gives its label to the last one.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = epl.Draws([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    >>> run = epl.greedy(draws, start=[0, 1, 2, 3, 4], loss="vi", rng=1)
    >>> run.labels, run.n_clusters
    (array([0, 0, 0, 1, 1]), 2)
    """
    sample = as_draws(draws)
    labels = as_labels(start, sample.n_items, argument="start")
    objective = Objective.of(sample, losses.get(loss))
    bound = (
        sample.n_items
        if k_max is None
        else check_count(k_max, "k_max", way_out=" None means no bound.")
    )
    if int(labels.max()) + 1 > bound:
        raise ValueError(
            f"'start' must have at most k_max={bound} clusters; it has {int(labels.max()) + 1}."
        )
    return descend(objective, labels, make_rng(rng), k_max=bound, start="given")


def descend(
    objective: Objective,
    labels: IntArray,
    rng: np.random.Generator,
    *,
    k_min: int = 1,
    k_max: int | None = None,
    start: str = "given",
    max_sweeps: int | None = None,
    stop: NDArray[np.uint8] = NEVER,
) -> Run:
    """Sweep until nothing changes, `max_sweeps` are done, or `stop[0]` is set."""
    began = time.perf_counter()
    state = objective.start(labels)
    trace = [_step(objective, state)]
    converged = False
    while not converged and not stop[0] and len(trace) - 1 != max_sweeps:
        state = _narrow(objective, state)
        order = rng.permutation(objective.n_items)
        state, n_moves, complete = objective.sweep(
            state, order, k_min=k_min, k_max=k_max, stop=stop
        )
        trace.append(_step(objective, state))
        converged = complete and n_moves == 0
    return Run(
        labels=as_labels(state.labels),
        expected_loss=trace[-1].expected_loss,
        n_clusters=int(state.n_clusters[0]),
        start=start,
        trace=tuple(trace),
        converged=converged,
        seconds=time.perf_counter() - began,
    )


def _step(objective: Objective, state: State) -> Step:
    return Step(objective.value(state), int(state.n_clusters[0]))


def _narrow(objective: Objective, state: State) -> State:
    """The same partition in less memory, when many clusters have closed."""
    return objective.start(state.labels) if state.n_clusters[0] < len(state.sizes) // 2 else state
