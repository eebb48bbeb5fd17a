"""The steps that all studies share: chains, optima under several losses, the paper's greedy runs.

The posterior is sampled once, by several chains. Then the draws are searched:

- all chains together: the optimum under each loss, the VI-optimum with other seeds of the search, and the
  VI-optimum with given numbers of clusters;
- each chain alone: the VI-optimum, as a repetition of the paper's single chain;
- the first chain: the paper's own procedure, its Algorithm 1 from noisy MAP and from random starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from epluribus._typing import RngLike
from epluribus._validate import make_rng
from epluribus.draws import Draws
from epluribus.estimate import Estimate, Run, raise_if_interrupted
from epluribus.models import Model
from epluribus.plots._shared import import_pyplot
from epluribus.sampling import Gibbs, SplitMerge, Trace, sample
from epluribus.sampling.moves import Move
from epluribus.search import minimize
from epluribus.search.comparison import Comparison
from epluribus.search.starts import noisy
from epluribus.uncertainty import n_clusters_posterior

LOSSES = ("vi", "binder", "nvi", "nid")
"""The losses of the paper."""


@dataclass(frozen=True)
class Protocol:
    """How the posterior is sampled and searched. Steps are single-item updates, as in the paper.

    Examples
    --------
    >>> Protocol().shortened(burn_in=20_000, thin=100).n_draws
    1000
    """

    n_draws: int = 10_000
    """Draws of each chain: the paper's sample size, so that every chain repeats the paper's run."""
    burn_in: int = 1_000_000
    """Steps before the first draw."""
    thin: int = 100
    """Steps from draw to draw."""
    n_chains: int = 4
    """The paper ran one: several show whether they agree."""
    moves: str = "default"
    """The sampler, as in `sample`."""
    n_greedy: int = 10
    """Greedy runs from each kind of start."""
    n_seeds: int = 5
    """Repetitions of the search with other seeds."""

    def shortened(self, *, burn_in: int, thin: int) -> Protocol:
        """The quick setting: fewer draws, closer together, and fewer runs."""
        return replace(self, n_draws=1_000, burn_in=burn_in, thin=thin, n_greedy=4, n_seeds=2)


@dataclass(frozen=True, eq=False)
class Analysis:
    """What the shared steps found."""

    protocol: Protocol
    """The lengths and numbers used."""
    trace: Trace
    """What the sampler returned: draws of all chains, MAP partition, settings, diagnostics."""
    by_loss: Comparison
    """The optimum under each loss, all chains together."""
    greedy: dict[str, tuple[Run, ...]]
    """The paper's procedure on the first chain, by kind of start."""
    by_chain: tuple[Estimate, ...]
    """The VI-optimum of each chain alone."""
    by_seed: tuple[Estimate, ...]
    """The VI-optimum of all chains, searched with other seeds."""
    by_k: dict[int, Estimate]
    """The VI-optimum with exactly this many clusters."""
    seconds: float
    """From the first step to the last, by the clock."""
    cpu: dict[str, float] = field(default_factory=dict)
    """CPU seconds, whatever ran beside it, of one chain ("chain"), of one greedy run by kind of start, and
    of our search on the draws of the first chain ("search")."""

    @property
    def draws(self) -> Draws:
        """The draws of all chains."""
        return self.trace.draws

    @property
    def best(self) -> Estimate:
        """The VI-optimal partition."""
        return self.by_loss["vi"]

    @property
    def k_mode(self) -> int:
        """The most probable number of clusters."""
        return n_clusters_posterior(self.draws).mode


def analyze(
    model: Model,
    protocol: Protocol,
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
        Largest number of clusters of the greedy runs, K_up in the paper.
    ks : sequence of int
        Numbers of clusters for which the best partition with exactly this many is found.
    losses : sequence of str
        Losses whose optima are found; the first must be "vi".
    rng, n_jobs, progress
        As in `sample` and `minimize`.

    Returns
    -------
    Analysis

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C stops a step: `sample` and `minimize` return what they have, but a study needs all of it.
    """
    if not losses or losses[0] != "vi":
        raise ValueError(f"'losses' must begin with 'vi', the paper's choice; got {list(losses)}.")
    # The pictures come last: if matplotlib is missing, it is better to fail now.
    import_pyplot()
    began = time.perf_counter()
    # Each step has its own stream of random numbers: more seeds or runs in one do not change the others.
    first, losses_rng, greedy_rng, others, *seeds = make_rng(rng).spawn(4 + protocol.n_seeds)
    # These fields have the names of the arguments of `sample`.
    lengths = {key: getattr(protocol, key) for key in ("n_draws", "burn_in", "thin", "n_chains")}
    cpu: dict[str, float] = {}
    with _timed(cpu, "chain", protocol.n_chains):
        trace = sample(
            model,
            **lengths,
            moves=_moves(protocol, model),
            start="dispersed",
            rng=first,
            n_jobs=n_jobs,
            progress=progress,
        )
    # A study of half a chain would be of no use.
    raise_if_interrupted(trace)
    draws = trace.draws
    by_loss = minimize(draws, list(losses), rng=losses_rng, n_jobs=n_jobs, progress=progress)
    raise_if_interrupted(*by_loss)
    best = partial(_vi_optimum, n_jobs=n_jobs)
    # `others` is one stream used in turn, by the chains first, then by the numbers of clusters: the order of
    # these arguments is part of the result.
    return Analysis(
        protocol=protocol,
        trace=trace,
        by_loss=by_loss,
        greedy=_greedy_runs(trace, protocol.n_greedy, k_max, greedy_rng, cpu),
        by_chain=_by_chain(draws, best, others, cpu),
        by_seed=tuple(best(draws, rng=seed) for seed in seeds),
        by_k={k: best(draws, k=k, rng=others) for k in ks},
        seconds=time.perf_counter() - began,
        cpu=cpu,
    )


def _moves(protocol: Protocol, model: Model) -> str | list[Move]:
    """The moves of a study: the paper's networks are small, and sequential allocation suits them best."""
    if protocol.moves != "default":
        return protocol.moves
    return [Gibbs(), SplitMerge(5 if len(model.sides) == 1 else 2, scans=0)]


@contextmanager
def _timed(cpu: dict[str, float], name: str, parts: int = 1) -> Iterator[None]:
    """Note the CPU seconds of what is done in this context, for each of this many equal parts."""
    began = time.process_time()
    yield
    cpu[name] = (time.process_time() - began) / parts


def _by_chain(
    draws: Draws, best: Callable[..., Estimate], rng: np.random.Generator, cpu: dict[str, float]
) -> tuple[Estimate, ...]:
    """The VI-optimum of each chain; the time of the first is noted."""
    with _timed(cpu, "search"):
        first = best(draws.chain(0), rng=rng)
    return (first, *(best(draws.chain(c), rng=rng) for c in range(1, draws.n_chains)))


def _vi_optimum(draws: Draws, **options: Any) -> Estimate:
    """The VI-optimum that `minimize` finds; if Ctrl-C stopped it, the whole study ends."""
    estimate: Estimate = minimize(draws, "vi", progress=False, **options)
    raise_if_interrupted(estimate)
    return estimate


def _greedy_runs(
    trace: Trace, n_runs: int, k_max: int, rng: np.random.Generator, cpu: dict[str, float]
) -> dict[str, tuple[Run, ...]]:
    """The paper's Algorithm 1 from noisy MAP and from random starts, on one chain.

    A noisy MAP start is the MAP partition with some items moved at random; the paper does not say how many,
    here it is a tenth of them.
    """
    # `minimize` takes starts as rows of labels, or by the name of their kind.
    near_map = np.array([noisy(trace.map_labels, rng) for _ in range(n_runs)])
    starts: dict[str, Any] = {"noisy MAP": near_map, "random": "random"}
    # One run after the other, in one thread: their times are compared with the paper's.
    options = {"search": "greedy", "n_starts": n_runs, "k_max": k_max, "n_jobs": 1, "rng": rng}
    chain = trace.draws.chain(0)
    out = {}
    for name, start in starts.items():
        with _timed(cpu, name, n_runs):
            out[name] = _vi_optimum(chain, starts=start, **options).runs
    return out
