"""Algorithm 1 of Rastelli & Friel (2018), and the two steps that a search adds to it, each as a function.

The paper prints argmax in line 10, but means the minimum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epluribus import losses
from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike, RngLike
from epluribus._validate import make_rng
from epluribus.draws import as_draws
from epluribus.estimate import Run
from epluribus.partition import matched, relabel
from epluribus.search.constrained import begin
from epluribus.search.local import LocalSearch, common_blocks, make_state
from epluribus.search.problem import Problem
from epluribus.search.starts import Start
from epluribus.search.state import Bounds
from epluribus.settings import Settings, check_bounds


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
    the smallest label wins, and a new cluster comes last.

    Each sweep takes time O(n_items n_draws K), as described in `minimize`.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = epl.Draws([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    >>> run = epl.search.greedy(draws, start=[0, 1, 2, 3, 4], loss="vi", rng=1)
    >>> run.labels, run.n_clusters
    (array([0, 0, 0, 1, 1]), 2)
    """
    sample = as_draws(draws)
    labels = matched(start, sample, "start")
    settings = Settings(*check_bounds(None, None, k_max, sample.n_items))
    k = int(labels.max()) + 1
    if settings.k_max is not None and k > settings.k_max:
        raise ValueError(f"'start' must have at most k_max={settings.k_max} clusters; it has {k}.")
    problem = Problem.of(sample, losses.get(loss))
    return descend(problem, labels, make_rng(rng), settings, sample.n_draws)


def merge(
    draws: DrawsLike, labels: LabelsLike, loss: LossLike = "vi", *, k_max: int | None = None
) -> IntArray:
    """Join clusters of a partition, those that suit each other best first, while the expected loss falls.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    labels : array_like of shape (n_items,)
        The partition.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    k_max : int, optional
        Go on joining, with the smallest possible rise of the loss, until there are at most this many
        clusters.

    Returns
    -------
    ndarray of shape (n_items,)
        Canonical labels.

    Notes
    -----
    The time grows with n_draws K^2 for a partition with K clusters. For a linear loss, such as VI or Binder,
    no two clusters of the result can be joined to lower the expected loss; moving single items may still
    lower it.

    Examples
    --------
    >>> from epluribus.search import merge
    >>> merge([[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 1]], [0, 1, 2, 3])
    array([0, 0, 0, 1])
    """
    sample = as_draws(draws)
    problem = Problem.of(sample, losses.get(loss))
    settings = Settings(*check_bounds(None, None, k_max, sample.n_items))
    state = make_state(problem, matched(labels, sample, "labels"))
    state.merge(Bounds(1, settings.most(sample.n_items), settings.stopper.flag))
    return relabel(state.labels)


def recombine(
    draws: DrawsLike,
    partitions: Sequence[LabelsLike],
    loss: LossLike = "vi",
    *,
    k_max: int | None = None,
    rng: RngLike = None,
) -> Run:
    """Join the blocks on which all given partitions agree, then move single items while that helps.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    partitions : sequence of array_like of shape (n_items,)
        Usually two or more good partitions; with one, its own clusters are the blocks.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    k_max : int, optional
        Largest number of clusters.
    rng : int, Generator or SeedSequence, optional
        Source of randomness for the order of items.

    Returns
    -------
    Run
        Labels, expected loss, number of clusters, and the trace of the sweeps.

    Examples
    --------
    >>> from epluribus.search import recombine
    >>> draws = [[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 1, 1, 2, 2]]
    >>> recombine(draws, [[0, 0, 0, 0, 0], [0, 1, 1, 2, 2]], rng=1).labels
    array([0, 0, 0, 1, 1])
    """
    sample = as_draws(draws)
    if len(partitions) == 0:
        raise ValueError("'partitions' must hold at least one partition; it is empty.")
    settings = Settings(*check_bounds(None, None, k_max, sample.n_items))
    problem = Problem.of(sample, losses.get(loss))
    # Joining finds the coarse structure; the sweeps then correct single items.
    blocks = common_blocks(*(matched(labels, sample, "partitions") for labels in partitions))
    search = LocalSearch(problem, blocks, make_rng(rng), settings)
    search.merge()
    search.sweep(thorough=True)
    return search.run(sample.n_draws)


def descend(
    problem: Problem,
    labels: IntArray,
    rng: np.random.Generator,
    settings: Settings,
    n_draws: int,
    start: str = "given",
) -> Run:
    """Sweep until nothing changes, or the search is stopped; `n_draws` and `start` are for the record."""
    search = begin(problem, Start(start, labels), rng, settings)
    search.sweep(thorough=True)
    return search.run(n_draws)
