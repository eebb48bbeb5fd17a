"""The steps all studies share: chains, optima under several losses, the paper's greedy runs, evidence."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._validate import make_rng
from epluribus.plots._shared import import_pyplot
from epluribus.sampling import sample
from epluribus.search import minimize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from epluribus._typing import IntArray, RngLike
    from epluribus.draws import Draws
    from epluribus.estimate import Estimate
    from epluribus.models.base import Model
    from epluribus.sampling.trace import Trace
    from epluribus.estimate import Comparison
    from epluribus.estimate import Run

__all__ = ["LOSSES", "Analysis", "Protocol", "analyze", "law_of_clusters"]

LOSSES = ("vi", "binder", "nvi", "nid")
"""The losses of the paper."""

_NOISE = 0.1
"""Share of the items of a noisy MAP start that are moved at random (the paper: "some")."""


@dataclass(frozen=True)
class Protocol:
    """How the posterior is sampled and searched. Steps are single-item updates, as in the paper."""

    n_draws: int = 10_000
    """Draws of each chain: the paper's sample size, so that every chain repeats the paper's run."""
    burn_in: int = 1_000_000
    thin: int = 100
    n_chains: int = 4
    moves: str = "default"
    n_greedy: int = 10
    """Greedy runs from each kind of start."""
    n_seeds: int = 5
    """Repetitions of the search with other seeds."""

    def shortened(self, *, n_draws: int, burn_in: int, thin: int) -> Protocol:
        """The quick setting: fewer draws, closer together, fewer runs."""
        return replace(self, n_draws=n_draws, burn_in=burn_in, thin=thin, n_greedy=4, n_seeds=2)

    def with_moves(self, moves: str) -> Protocol:
        """The same with another sampler."""
        return replace(self, moves=moves)


@dataclass(frozen=True, eq=False)
class Analysis:
    """What the shared steps leave."""

    protocol: Protocol
    trace: Trace
    by_loss: Comparison
    """The optimum under each loss, all chains together."""
    greedy: dict[str, tuple[Run, ...]]
    """The paper's procedure on the first chain, by kind of start."""
    by_chain: tuple[Estimate, ...]
    """The VI-optimum of each chain alone."""
    by_seed: tuple[Estimate, ...]
    """The VI-optimum of all chains, searched with other seeds."""
    by_k: dict[int, Estimate]
    """The VI-optimum with exactly so many clusters."""
    seconds: float
    """From the first step to the last, by the clock."""

    @property
    def best(self) -> Estimate:
        """The VI-optimal partition."""
        return self.by_loss["vi"]

    @property
    def k_mode(self) -> int:
        """The most frequent number of clusters."""
        return int(law_of_clusters(self.trace.n_clusters).argmax())


def law_of_clusters(n_clusters: IntArray) -> NDArray[np.float64]:
    """Probability of each number of clusters, from 0."""
    return np.asarray(np.bincount(n_clusters.ravel()) / n_clusters.size)


def analyze(
    model: Model,
    protocol: Protocol,
    *,
    k_max: int,
    ks: Sequence[int],
    losses: Sequence[str] = LOSSES,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Analysis:
    """Sample the posterior and search it in every way a study reports.

    Parameters
    ----------
    model : Model
        The application's model.
    protocol : Protocol
        Lengths of chains and numbers of runs.
    k_max : int
        The paper's K_up of the greedy runs.
    ks : sequence of int
        Numbers of clusters for which the best partition with exactly so many is found.
    losses : sequence of str
        Losses whose optima are found; the first must be "vi".
    rng, n_jobs, progress
        As in `sample` and `minimize`.

    Returns
    -------
    Analysis
    """
    if not losses or losses[0] != "vi":
        raise ValueError(f"'losses' must begin with 'vi', the paper's choice; got {list(losses)}.")
    import_pyplot()  # the pictures come last: without matplotlib better fail now
    began = time.perf_counter()
    first, losses_rng, greedy_rng, others, *seeds = make_rng(rng).spawn(4 + protocol.n_seeds)
    trace = sample(
        model,
        n_draws=protocol.n_draws,
        burn_in=protocol.burn_in,
        thin=protocol.thin,
        n_chains=protocol.n_chains,
        moves=protocol.moves,
        rng=first,
        n_jobs=n_jobs,
        progress=progress,
    )
    if trace.interrupted:
        raise KeyboardInterrupt
    draws = trace.draws
    by_loss = minimize(draws, list(losses), rng=losses_rng, n_jobs=n_jobs, progress=progress)
    _go_on(*by_loss)
    best = partial(_best, n_jobs=n_jobs)
    return Analysis(
        protocol=protocol,
        trace=trace,
        by_loss=by_loss,
        greedy=_paper_s_runs(trace, protocol.n_greedy, k_max, greedy_rng),
        by_chain=tuple(best(draws.chain(c), rng=others) for c in range(draws.n_chains)),
        by_seed=tuple(best(draws, rng=seed) for seed in seeds),
        by_k={k: best(draws, k=k, rng=others) for k in ks},
        seconds=time.perf_counter() - began,
    )


def _best(draws: Draws, **options: Any) -> Estimate:
    """The VI-optimum."""
    estimate: Estimate = minimize(draws, "vi", **options)
    _go_on(estimate)
    return estimate


def _go_on(*estimates: Estimate) -> None:
    """Ctrl-C ends a search with the best so far; it ends a study at once."""
    if any(estimate.interrupted for estimate in estimates):
        raise KeyboardInterrupt


def _paper_s_runs(
    trace: Trace, n_runs: int, k_max: int, rng: np.random.Generator
) -> dict[str, tuple[Run, ...]]:
    """Algorithm 1 from noisy MAP and from random starts, one run after the other, on one chain."""
    noisy = np.array([_noisy(trace.map_labels, rng) for _ in range(n_runs)])
    starts: dict[str, Any] = {"noisy MAP": noisy, "random": "random"}
    options = {"search": "greedy", "n_starts": n_runs, "k_max": k_max, "n_jobs": 1, "rng": rng}
    first = trace.draws.chain(0)
    return {name: _best(first, starts=start, **options).runs for name, start in starts.items()}


def _noisy(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """The partition with a tenth of the items moved to random clusters."""
    out = labels.copy()
    moved = rng.random(out.size) < _NOISE
    out[moved] = rng.integers(int(out.max()) + 1, size=int(moved.sum()))
    return out
