"""Algorithm 1 of Rastelli & Friel (2018): items in random order, each moved to its best cluster.

The paper prints argmax in line 10, but means the minimum.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike, RngLike
from epluribus._validate import check_count, make_rng
from epluribus.draws import as_draws
from epluribus.engine import Engine, Settings, engine_for
from epluribus.estimate import Run, Step
from epluribus.partition import as_labels, relabel


def greedy(
    draws: DrawsLike,
    start: LabelsLike,
    loss: LossLike = "vi",
    *,
    k_max: int | None = None,
    rng: RngLike = None,
) -> Run:
    """Lower the expected loss item by item from one starting partition: Algorithm 1 of the paper.

    Items are visited in random order. Each is moved to the cluster that gives the smallest expected
    loss: its own, another one or a new one. The run stops after a sweep without a move: no move of a
    single item can then lower the expected loss.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    start : array_like of shape (n_items,)
        Labels to start from, with at most `k_max` clusters.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    k_max : int, optional
        Largest number of clusters, the paper's K_up. There is no bound by default, which costs no time.
    rng : int, Generator or SeedSequence, optional
        Source of randomness for the order of items.

    Returns
    -------
    Run
        Labels, expected loss, number of clusters, and the trace of the sweeps.

    Notes
    -----
    An item stays where it is unless a move lowers the loss. Among equally good targets the cluster with
    the smallest label wins, and a new cluster comes last. Labels are those of `start` in canonical form;
    when a cluster is left empty, the last one takes its label.

    Each sweep takes time O(n_items n_draws K), as described in `minimize`.

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
    settings = Settings(k_max=check_k_max(k_max))
    k = int(labels.max()) + 1
    if settings.k_max is not None and k > settings.k_max:
        raise ValueError(f"'start' must have at most k_max={settings.k_max} clusters; it has {k}.")
    engine = engine_for(sample, losses.get(loss))
    return descend(engine, labels, make_rng(rng), settings, n_draws=sample.n_draws)


def check_k_max(k_max: int | None) -> int | None:
    """A bound on the number of clusters, checked, or None."""
    return None if k_max is None else check_count(k_max, "k_max", way_out=" None means no bound.")


def check_bounds(
    k: int | None, k_min: int | None, k_max: int | None, n_items: int
) -> tuple[int, int | None]:
    """Smallest and largest number of clusters allowed, checked; None for no bound above."""
    if k is not None:
        for name, words, other in (("k_min", "at least", k_min), ("k_max", "at most", k_max)):
            if other is not None:
                raise ValueError(
                    f"Give 'k' (exactly) or '{name}' ({words}), not both; got {k} and {other}."
                )
        k = _check_k(k, "k", n_items)
        return k, k
    low = 1 if k_min is None else _check_k(k_min, "k_min", n_items)
    high = check_k_max(k_max)
    if high is not None and low > high:
        raise ValueError(f"'k_min' must be at most 'k_max'; got {low} and {high}.")
    # There can never be more clusters than items: a bound that large has no effect.
    return low, None if high is None or high >= n_items else high


def _check_k(value: int, argument: str, n_items: int) -> int:
    """A number of clusters that `n_items` items can have."""
    number = check_count(value, argument)
    if number > n_items:
        raise ValueError(
            f"'{argument}' must be at most the number of items, {n_items}; got {number}."
        )
    return number


def descend(
    engine: Engine,
    labels: IntArray,
    rng: np.random.Generator,
    settings: Settings,
    *,
    n_draws: int,
    start: str = "given",
) -> Run:
    """Sweep until nothing changes, or the search is stopped.

    `n_draws` and `start`, the name of the start, are for the record. The trace of the run holds the expected
    loss and the number of clusters before the first sweep and after each one.
    """
    began = time.perf_counter()
    state: Any = engine.start(labels)
    trace = [_step(engine, state)]
    converged = False
    while not converged and not settings.stopper.flag[0]:
        # The first sweeps may close most clusters; smaller tables make the later ones quicker.
        state = engine.execution.narrowed(state)
        # A new random order for each sweep: line 6 of Algorithm 1.
        order = rng.permutation(engine.n_items)
        swept = engine.sweep(state, order, settings)
        state = swept.state
        trace.append(_step(engine, state))
        # A sweep cut short proves nothing, even if it moved no item.
        converged = swept.complete and swept.n_moves == 0
    return Run(
        labels=relabel(state.labels),
        expected_loss=trace[-1].expected_loss,
        n_clusters=trace[-1].n_clusters,
        start=start,
        trace=tuple(trace),
        converged=converged,
        seconds=time.perf_counter() - began,
        n_draws=n_draws,
    )


def _step(engine: Engine, state: Any) -> Step:
    return Step(engine.value(state), int(state.n_clusters[0]))
