"""Where the search starts from, and the draws it looks at first.

- ``"draws"``: a random draw of the sample;
- ``"sequential"``: items in random order, each put where it costs least given those before it;
- ``"random"``: each item in a random one of about `k_max` clusters, as the paper advises;
- ``"noisy"``: the best of ten random draws, with a tenth of the items moved at random, like the
  paper's noisy MAP;
- ``"together"``: one cluster, from which sweeps take items out;
- ``"pivots"``, for a similarity matrix: clusters around random items.

A search over few draws is cheap, and the best partition for a few hundred draws is nearly the best for all
of them: what remains is a handful of items, which one or two sweeps over the whole sample put right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from epluribus._parallel import Stopper
from epluribus._typing import IntArray
from epluribus._validate import check_choice, check_count, quoted
from epluribus.draws import Draws
from epluribus.draws.rows import resample
from epluribus.partition import is_estimate, matched, relabel, tidy
from epluribus.search.local import make_state
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds
from epluribus.settings import Settings

STARTS = ("draws", "sequential", "random", "noisy", "together")
"""The kinds of starts, as `minimize` names them."""
# Kinds of starts in the order in which they are used, repeated if more are asked for. Recombination needs
# starts that are good and different, hence mostly draws; the greedy search takes the kinds of the paper.
_KINDS = {
    "recombine": ["draws", "draws", "together", "draws", "draws", "sequential", "draws", "random", "noisy"],
    "greedy": ["random", "noisy", "draws"],
    "matrix": ["pivots", "pivots", "sequential", "pivots", "pivots", "together"],
}  # fmt: skip
_N_STARTS = {"recombine": 6, "greedy": 9}
"""Number of starts, at least, if none is asked for."""
_DRAWS = (500, 2000)
"""Draws searched first, if there are more than twice as many: with this many, the mean losses of two clearly
different partitions differ by many standard errors. The second number is for losses whose f0 is not linear:
these often have partitions that are far apart and nearly as good as each other."""
EXPENSIVE = 1.6e7
"""Cells that a sweep looks at, above which it takes some ten milliseconds, and fewer draws are searched first."""


class Start(NamedTuple):
    """One start: its kind, or labels that were given."""

    name: str
    labels: IntArray | None = None


class Plan(NamedTuple):
    """The starts of a search."""

    first: tuple[Start, ...]
    """Starts made once, at the beginning: labels that were given."""
    kinds: tuple[Start, ...]
    """Kinds of starts made after them, in turn, as long as the search goes on."""
    n_starts: int
    """Number of starts, at least."""
    usual: int
    """Their number if none is asked for."""


def check_starts(starts: Any, n_starts: int | None, search: str, draws: Any) -> Plan:
    """The starts that are asked for."""
    wanted = None if n_starts is None else check_count(n_starts, "n_starts")
    first: tuple[Start, ...] = ()
    kinds: Sequence[str] = _KINDS[search if isinstance(draws, Draws) else "matrix"]
    if isinstance(starts, str):
        kinds = [check_choice(starts, STARTS, "starts")]
    elif starts is not None:
        rows = list(starts) if not is_estimate(starts) else [starts]
        if not rows:
            raise ValueError(
                f"'starts' must be one or more of {quoted(STARTS)}, or labels; it is empty."
            )
        # Strings may also be the labels of one partition: only names of kinds are taken as kinds.
        if all(isinstance(kind, str) and kind in STARTS for kind in rows):
            kinds = rows
        else:
            first = _given(starts, rows, draws)
            # The paper's procedure starts from the given labels alone; they are repeated if need be.
            kinds = () if search == "greedy" else kinds
    usual = len(first) or _N_STARTS[search]
    return Plan(first, tuple(map(Start, kinds)) or first, wanted or usual, usual)


def _given(starts: Any, rows: list[Any], draws: Any) -> tuple[Start, ...]:
    """The labels of one partition, or of one partition per row."""
    # Each row keeps the names of its items.
    if hasattr(starts, "iloc") and starts.ndim == 2:
        rows = [starts.iloc[[i]] for i in range(len(starts))]
    elif isinstance(starts, Draws):
        rows = [starts[i : i + 1] for i in range(len(starts))]
    several = all(is_estimate(one) or np.ndim(one) > 0 for one in rows) and not is_estimate(starts)
    column = getattr(starts, "ndim", 1) == 2 and starts.shape[1] == 1 and draws.n_items > 1
    partitions = rows if several and not column else [starts]
    return tuple(Start("given", matched(one, draws, "starts")) for one in partitions)


def few_draws(problem: Problem, rng: np.random.Generator) -> Problem:
    """The problem with some of the draws, or itself."""
    n, n_draws = _DRAWS[0 if problem.loss.linear else 1], problem.n_draws
    expensive = problem.cells > EXPENSIVE
    if expensive:
        # At least 250, or as many as have two million labels, since with many items each draw says more; but 32.
        n = min(n, max(250, int(n_draws * EXPENSIVE / problem.cells)))
        n = min(n, max(32, 2_000_000 // problem.n_items))
    # More than half of them would cost nearly as much as all, and may lead elsewhere.
    if 2 * n > n_draws - (not expensive) or problem.pairs is not None:
        return problem
    return problem.of_draws(resample(problem.weights, n, rng.random()))


def few_clusters(settings: Settings, problem: Problem) -> Settings:
    """The settings with at most twice as many clusters as any draw has."""
    most = max(2 * int(problem.n_clusters.max()), settings.k_min)
    return replace(settings, k_max=min(most, settings.most(problem.n_items)))


def make_start(
    start: Start, problem: Problem, rng: np.random.Generator, settings: Settings
) -> IntArray:
    """Canonical labels of a start, within the bounds of the settings."""
    n, kind = problem.n_items, start.name
    if start.labels is not None:
        labels = start.labels
    elif kind in ("draws", "pivots"):
        labels = completed(problem, problem.random_draw(rng), rng)
    elif kind == "sequential":
        labels = completed(problem, np.full(n, -1), rng, settings.k_max)
    elif kind == "together":
        labels = np.zeros(n, dtype=np.int64)
    elif kind == "random":
        # k_max clusters, but at most twice as many as any draw has; some may stay empty.
        k = min(settings.k_max or n, 2 * int(problem.n_clusters.max()), n)
        labels = relabel(rng.integers(k, size=n))
    else:
        # Ten are enough to leave out those that are far away.
        candidates = [completed(problem, problem.random_draw(rng), rng) for _ in range(10)]
        labels = relabel(noisy(min(candidates, key=problem.expected), rng))
    if settings.k_min <= labels.max() + 1 <= settings.most(n):
        return labels
    return fit_clusters(labels, problem, rng, settings)


def completed(
    problem: Problem, labels: IntArray, rng: np.random.Generator, k_max: int | None = None
) -> IntArray:
    """The labels, with items in no cluster (-1) put one by one, in random order, where they cost least."""
    out, labels = rng.permutation(np.flatnonzero(labels < 0)), tidy(labels)
    if len(out) == 0:
        return labels
    state, k = make_state(problem, labels), int(labels.max()) + 1
    # It cannot be stopped, because half of the items are not a partition of all.
    state.sweep(out, Bounds(1, problem.n_items if k_max is None else max(k_max, k), Stopper().flag))
    return relabel(state.labels)


def fit_clusters(
    labels: IntArray, problem: Problem, rng: np.random.Generator, settings: Settings
) -> IntArray:
    """The labels, with clusters joined or items separated if the bounds of the settings require it."""
    k = int(labels.max()) + 1
    if settings.k_max is not None and k > settings.k_max:
        # With k_min = k_max the joins end as soon as the bound is met. They are not stopped: a start with too
        # many clusters would be of no use.
        state = make_state(problem, labels)
        state.merge(Bounds(settings.k_max, settings.k_max, Stopper().flag))
        return relabel(state.labels)
    # Too few clusters: items become clusters by themselves, in random order, but never the last item of a
    # cluster, which would only rename it.
    labels, sizes = labels.copy(), np.bincount(labels, minlength=max(k, settings.k_min))
    for i in rng.permutation(len(labels)):
        if k < settings.k_min and sizes[labels[i]] > 1:
            sizes[labels[i]] -= 1
            labels[i], sizes[k], k = k, 1, k + 1
    return relabel(labels)


def noisy(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """The partition with a tenth of the items moved to random clusters."""
    out = labels.copy()
    moved = rng.random(out.size) < 0.1
    out[moved] = rng.integers(int(out.max()) + 1, size=int(moved.sum()))
    return out
