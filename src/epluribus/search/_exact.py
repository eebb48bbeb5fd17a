"""The partition with the smallest expected loss of all, proven, for a few items.

A linear loss is a sum over clusters, so that the best partition follows from the costs of the 2^N sets of
items (`_kernels/few_items.py`): missing labels change these costs, constraints make some of them infinite, and
undecided items are those outside the best set. For other losses all partitions are compared with all draws.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from epluribus import losses
from epluribus._kernels.few_items import add_sums, divide
from epluribus._typing import DrawsLike, FloatArray, IntArray, LossLike
from epluribus.constraints import Constraints, read_constraints
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import SimilarityMatrix, draw_losses
from epluribus.estimate import Estimate, Run
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import by_size, n_partitions, partitions, relabel, tidy
from epluribus.search.constrained import loss_of_decided, price_of
from epluribus.search.problem import Problem
from epluribus.settings import NO_BOUNDS, Settings, check_bounds

MAX_ITEMS, MAX_OTHERS = 12, 9
"""Items that can be solved: with a linear loss, and with any other one, for which all 21,147 partitions of
nine items are compared with the draws."""
_ROUNDING = 1e-12
"""Losses closer than this, relative to the largest, count as equal."""


def exact(
    draws: DrawsLike,
    loss: LossLike = "vi",
    *,
    k: int | None = None,
    k_min: int | None = None,
    k_max: int | None = None,
    constraints: Constraints | None = None,
) -> Estimate:
    """The partition with the smallest expected loss of all, proven; for at most 12 items.

    Of equally good partitions one with few clusters is returned, always the same.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`. Losses that are not linear, such as NVI, take at most 9 items.
    k : int, optional
        Exact number of clusters.
    k_min, k_max : int, optional
        Smallest and largest number of clusters.
    constraints : Constraints, optional
        What every partition must obey, as in `minimize`.

    Returns
    -------
    Estimate
        Proven to be optimal, so `converged` is True; there are no `runs`.

    Notes
    -----
    For linear losses (VI, Binder, your own) partitions are not tried one by one: the best way to divide a set
    of items follows from the best ways for smaller sets, and 12 items have only 4096 sets. For other losses
    all partitions are compared with all distinct draws.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1], [0, 1, 1], [0, 0, 1]]
    >>> epl.search.exact(draws, "binder").labels
    array([0, 0, 1])
    >>> epl.search.exact(draws, "binder", k=3).expected_loss
    1.0
    """
    began = time.perf_counter()
    sample, chosen = as_draws(draws), losses.get(loss)
    most = _most_items(chosen)
    if sample.n_items > most:
        other = "" if chosen.linear else f" for '{chosen.name}', which is not linear"
        raise ValueError(
            f"'draws' must have at most {most} items to be solved exactly{other}; it has "
            f"{sample.n_items}, which have {n_partitions(sample.n_items):,} partitions. Use minimize."
        )
    if not solves(sample, chosen):
        raise ValueError(
            f"'loss' must be linear, such as 'vi' or 'binder', to be solved exactly with missing labels; got "
            f"'{chosen.name}'. Use minimize."
        )
    low, high = check_bounds(k, k_min, k_max, sample.n_items)
    rules = read_constraints(constraints, sample, low, high)
    settings = Settings(low, high, constraints=rules)
    return estimate_of(sample, chosen, settings, best_of_all(sample, chosen, settings), began)


def estimate_of(
    sample: Draws | SimilarityMatrix,
    loss: Loss,
    settings: Settings,
    found: tuple[IntArray, float],
    began: float,
    runs: Sequence[Run] = (),
    converged: bool = True,
) -> Estimate:
    """The labels and their expected loss, with the record of how they were found."""
    dimension, kind, n_draws = None, "posterior", 0
    if isinstance(sample, Draws):
        dimension, kind, n_draws = sample.dimension, sample.kind, sample.n_draws
    return Estimate(
        by_size(found[0]), found[1], loss, runs[-1].n_draws if runs else n_draws, tuple(runs), converged,
        time.perf_counter() - began, sample.items, settings.stopper.interrupted, settings, dimension, kind,
    )  # fmt: skip


def _most_items(loss: Loss) -> int:
    return MAX_ITEMS if _additive(loss) else MAX_OTHERS


def _additive(loss: Loss) -> bool:
    """Whether the loss is a sum over clusters; not if equal partitions have another loss than f0 says."""
    return loss.linear and (not loss.zero_if_equal or loss.family is not None)


def solves(draws: Draws, loss: Loss) -> bool:
    """Whether `best_of_all` can be asked for the best of all partitions."""
    return draws.n_items <= _most_items(loss) and (loss.linear or not draws.has_missing)


def best_of_all(draws: Draws, loss: Loss, settings: Settings = NO_BOUNDS) -> tuple[IntArray, float]:
    """The best of all partitions that the settings allow, and its expected loss.

    With undecided items, which have a label of -1, the loss is that of the decided ones.
    """
    find = _by_sets if _additive(loss) or draws.has_missing else _one_by_one
    labels = find(draws, loss, settings)
    if settings.undecided is not None:
        return labels, loss_of_decided(labels, draws, loss)
    return labels, draws.mean(draw_losses(labels, draws, loss))


def _one_by_one(draws: Draws, loss: Loss, settings: Settings) -> IntArray:
    """The best partition, all of them compared with all draws."""
    found = list(filter(settings.allow, partitions(draws.n_items)))
    if not found:
        raise ValueError(settings.nothing_obeys())
    # Draws and estimates change places: all estimates are compared with one draw at a time.
    values = np.zeros(len(found))
    columns = np.ascontiguousarray(np.transpose(found).astype(np.uint8))
    for t in np.flatnonzero(draws.shares):
        draw = relabel(draws.item_major[:, t].astype(np.int64))
        values += draws.shares[t] * loss_values(draw, columns, loss, columns_estimate=True)
    low = np.nanmin(values)
    close = values <= low + _ROUNDING * max(1.0, abs(low)) if np.isfinite(low) else values == low
    return found[int(np.argmax(close))]


def _by_sets(draws: Draws, loss: Loss, settings: Settings) -> IntArray:
    """The best partition of a loss that is a sum over clusters."""
    n, problem = draws.n_items, Problem.of(draws, loss)
    size = np.bitwise_count(np.arange(1 << n)).astype(np.int64)
    cost = problem.size[size] + _group_sums(problem, problem.group_weights, problem.f, size)
    cost /= problem.total_weight
    if settings.constraints is not None:
        cost[~settings.constraints.allowed_sets()] = np.inf
    tolerance = _ROUNDING * max(1.0, float(np.abs(cost[np.isfinite(cost)]).max(initial=0.0)))
    least = np.empty((len(cost), settings.most(n) + 1))
    first = np.zeros(least.shape, dtype=np.int64)
    divide(cost, tolerance, least, first)
    # What a set of decided items costs besides its clusters: all items must be decided, or the others have a price.
    besides, low = np.full(len(cost), np.inf), settings.k_min
    besides[-1] = 0.0
    if settings.undecided is not None:
        # What the draws themselves add depends on the decided items alone.
        weights, f3 = loss.linear_form(n).group * problem.group_weights, loss.tables(n)[2]
        besides = _group_sums(problem, weights, np.stack([f3, f3]), size) / problem.total_weight
        besides += price_of(loss, settings.undecided, n) * (n - size)
        low = 0 if low == 1 else low  # no cluster at all, unless a number of clusters was asked for
    total = least + besides[:, None]
    total[:, :low] = np.inf
    if np.isinf(total.min()):
        raise ValueError(settings.nothing_obeys())
    # Of equally good answers one that decides most items, in the fewest clusters.
    good = np.argwhere(total <= total.min() + tolerance)
    left, k = good[np.argmax(size[good[:, 0]])].tolist()
    labels = np.full(n, -1, dtype=np.int64)
    while left:
        chosen = int(first[left, k])
        labels[(chosen >> np.arange(n)) & 1 == 1] = k
        left, k = left ^ chosen, k - 1
    return tidy(labels)


def _group_sums(problem: Problem, weights: FloatArray, f: FloatArray, size: IntArray) -> FloatArray:
    """(2**n_items,) sum over the groups of all draws for each set; equal groups are taken together."""
    sets = np.zeros(problem.n_groups, dtype=np.int64)
    np.add.at(sets, problem.rows, 1 << np.arange(problem.n_items)[:, None])
    known, number = np.unique(sets << 1 | problem.kinds, return_inverse=True)
    sums, cost = np.bincount(number, weights=weights, minlength=len(known)), np.zeros(len(size))
    add_sums(known >> 1, sums, known & 1, size, np.asarray(f, dtype=np.float64), cost)
    return cost
