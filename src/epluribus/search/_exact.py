"""The partition with the smallest expected loss of all, proven, for a few items.

A linear loss is a sum over clusters, so that the best partition follows from the costs of the 2^N sets of
items (`_kernels/few_items.py`): missing labels change these costs, constraints make some of them infinite, and
undecided items are those outside the best set. For other losses all partitions are compared with all draws.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from epluribus import losses
from epluribus._kernels.few_items import add_sums, divide
from epluribus._typing import DrawsLike, FloatArray, IntArray, LossLike
from epluribus.constraints import Constraints
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import n_partitions, partitions, relabel, tidy
from epluribus.search._greedy import check_bounds
from epluribus.search.constraints import read_constraints
from epluribus.search.problem import Problem
from epluribus.search.rules import nothing_obeys
from epluribus.search.staying_out import loss_of_decided, price_of
from epluribus.settings import NO_BOUNDS, Settings

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
    must_link: Any = None,
    cannot_link: Any = None,
    sources: Any = None,
    contiguity: Any = None,
    min_size: int | None = None,
) -> Estimate:
    """The partition with the smallest expected loss of all, proven; for at most 12 items.

    Ties go to the partition that comes first in the lexicographic order of canonical labels.

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
    must_link, cannot_link, sources, contiguity, min_size : optional
        Constraints, as in `minimize`.

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
    >>> epl.exact(draws, "binder").labels
    array([0, 0, 1])
    >>> epl.exact(draws, "binder", k=3).expected_loss
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
    asked = read_constraints(
        sample,
        must_link=must_link,
        cannot_link=cannot_link,
        sources=sources,
        contiguity=contiguity,
        min_size=min_size,
        k_min=low,
        k_max=high,
    )
    settings = Settings(low, high, constraints=asked)
    labels, value = best_of_all(sample, chosen, settings)
    return Estimate(
        labels=labels,
        expected_loss=value,
        loss=chosen,
        n_draws=sample.n_draws,
        runs=(),
        converged=True,
        seconds=time.perf_counter() - began,
        items=sample.items,
        dimension=sample.dimension,
        settings=settings,
    )


def _most_items(loss: Loss) -> int:
    return MAX_ITEMS if _additive(loss) else MAX_OTHERS


def _additive(loss: Loss) -> bool:
    """Whether the loss is a sum over clusters; not if equal partitions have another loss than f0 says."""
    return loss.linear and (not loss.zero_if_equal or loss.family is not None)


def solves(draws: Draws, loss: Loss) -> bool:
    """Whether `best_of_all` can be asked for the best of all partitions."""
    return draws.n_items <= _most_items(loss) and (loss.linear or not draws.has_missing)


def best_of_all(draws: Draws, loss: Loss, settings: Settings = NO_BOUNDS) -> tuple[IntArray, float]:
    """The best of all partitions within the bounds of the settings, and its expected loss."""
    find = _by_sets if _additive(loss) or draws.has_missing else _one_by_one
    labels = find(draws, loss, settings)
    return labels, draws.mean(draw_losses(labels, draws, loss))


def _one_by_one(draws: Draws, loss: Loss, settings: Settings) -> IntArray:
    """The best partition, all of them compared with all draws."""
    n, asked = draws.n_items, settings.constraints
    found: list[IntArray] = []
    for labels in partitions(n):
        within = settings.k_min <= int(labels.max()) + 1 <= settings.most(n)
        if within and (asked is None or not asked.broken(labels)):
            found.append(labels)
    if not found:
        raise ValueError(nothing_obeys(settings))
    # Draws and estimates change places: all estimates are compared with one draw at a time.
    values = np.zeros(len(found))
    columns = np.ascontiguousarray(np.transpose(found).astype(np.uint8))
    for t in np.flatnonzero(draws.shares):
        draw = relabel(draws.item_major[:, t].astype(np.int64))
        values += draws.shares[t] * loss_values(draw, columns, loss, columns_estimate=True)
    low = np.nanmin(values)
    close = values <= low + _ROUNDING * max(1.0, abs(low)) if np.isfinite(low) else values == low
    return found[int(np.argmax(close))]


class _Divisions(NamedTuple):
    """The best division of every set into every number of clusters (`_kernels/few_items.py`)."""

    least: FloatArray
    first: IntArray
    ways: FloatArray

    def labels(self, k: int, whole: int, n_items: int) -> IntArray:
        """Labels of the items in the best division of the set `whole` into k clusters; -1 for all others."""
        labels = np.full(n_items, -1, dtype=np.int64)
        while whole:
            chosen = int(self.first[whole, k])
            labels[(chosen >> np.arange(n_items)) & 1 == 1] = k
            k, whole = k - 1, whole ^ chosen
        return tidy(labels)


def _divided(cost: FloatArray, most: int, tolerance: float) -> _Divisions:
    shape = len(cost), most + 1
    found = _Divisions(np.empty(shape), np.zeros(shape, dtype=np.int64), np.empty(shape))
    divide(cost, tolerance, *found)
    return found


def _by_sets(draws: Draws, loss: Loss, settings: Settings) -> IntArray:
    """The best partition of a loss that is a sum over clusters."""
    n = draws.n_items
    cost = _set_costs(Problem.of(draws, loss), settings.constraints)
    tolerance = _tolerance(cost)
    found = _divided(cost, settings.most(n), tolerance)
    totals = found.least[-1, settings.k_min :]
    if np.isinf(totals.min()):
        raise ValueError(nothing_obeys(settings))
    best = totals.min() + tolerance
    close = settings.k_min + np.flatnonzero(totals <= best)
    if found.ways[-1, close].sum() == 1:
        return found.labels(int(close[0]), len(cost) - 1, n)
    return _first_of_equals(cost, settings, best, tolerance, n)


def _first_of_equals(
    cost: FloatArray, settings: Settings, best: float, tolerance: float, n: int
) -> IntArray:
    """The first partition in lexicographic order that costs no more than `best`.

    Item after item gets the smallest label with which the others can still be divided as well.
    """
    sets, labels = np.arange(len(cost)), np.full(n, -1, dtype=np.int64)
    for i in range(n):
        for label in range(int(labels.max()) + 2):
            labels[i] = label
            known = (2 << i) - 1
            blocks = [
                int((1 << np.flatnonzero(labels == g)).sum()) for g in range(int(labels.max()) + 1)
            ]
            fits = np.isin(sets & known, [0, *blocks])
            trial = _divided(np.where(fits, cost, np.inf), settings.most(n), tolerance)
            if trial.least[-1, settings.k_min :].min() <= best:
                break
    return labels


def _tolerance(cost: FloatArray) -> float:
    return _ROUNDING * max(1.0, float(np.abs(cost[np.isfinite(cost)]).max(initial=0.0)))


def _set_costs(problem: Problem, asked: Constraints | None) -> FloatArray:
    """(2**n_items,) what each set adds to the expected loss as a cluster; infinite if not allowed."""
    n = problem.n_items
    size = np.bitwise_count(np.arange(1 << n)).astype(np.int64)
    cost = problem.size[size].copy()
    _add_groups(problem, problem.group_weights, problem.f, size, cost)
    cost /= problem.total_weight
    if asked is not None:
        cost[~asked.allowed_sets()] = np.inf
    return cost


def _add_groups(
    problem: Problem, weights: FloatArray, f: FloatArray, size: IntArray, cost: FloatArray
) -> None:
    """Add the sums over the groups of all draws; groups that are the same set of items are taken together."""
    sets = np.zeros(problem.n_groups, dtype=np.int64)
    np.add.at(sets, problem.rows, 1 << np.arange(problem.n_items)[:, None])
    keys = sets << 1 | problem.kinds
    known, number = np.unique(keys, return_inverse=True)
    sums = np.bincount(number, weights=weights, minlength=len(known))
    add_sums(known >> 1, sums, known & 1, size, f, cost)


def best_of_some(draws: Draws, loss: Loss, settings: Settings) -> tuple[IntArray, float]:
    """What minimizes the objective of `staying_out.py`: labels, -1 for undecided items, and the expected loss.

    For a few items; the loss is that of the decided ones. Of equally good answers, one that decides most.
    """
    assert settings.undecided is not None
    n, problem = draws.n_items, Problem.of(draws, loss)
    size = np.bitwise_count(np.arange(1 << n)).astype(np.int64)
    cost = _set_costs(problem, settings.constraints)
    found = _divided(cost, settings.most(n), _tolerance(cost))
    form, f3 = loss.linear_form(n), np.asarray(loss.tables(n)[2], dtype=np.float64)
    # What the draws themselves add depends on the decided items alone.
    own = np.zeros(1 << n)
    _add_groups(problem, form.group * problem.group_weights, np.stack([f3, f3]), size, own)
    own = own / problem.total_weight + price_of(loss, settings.undecided, n) * (n - size)
    # No cluster at all is allowed unless a number of clusters was asked for.
    low = 0 if settings.k_min == 1 else settings.k_min
    total = found.least[:, low:] + own[:, None]
    if np.isinf(total.min()):
        raise ValueError(nothing_obeys(settings))
    good = np.argwhere(total <= total.min() + _ROUNDING * max(1.0, abs(total.min())))
    left, k = good[np.argmax(size[good[:, 0]])]
    labels = found.labels(int(k) + low, int(left), n)
    return labels, loss_of_decided(labels, draws, loss)
