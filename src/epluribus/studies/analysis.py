"""The steps that all studies share: chains, optima under several losses, the paper's greedy runs.

The posterior is sampled once, by several chains. Then the draws are searched:

- all chains together: the optimum under each loss, and the VI-optimum with given numbers of clusters;
- each chain alone: the VI-optimum, as a repetition of the paper's single chain;
- the first chain: the paper's own procedure, its Algorithm 1 from noisy MAP and from random starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from epluribus._typing import IntArray, RngLike
from epluribus._validate import make_rng, need
from epluribus.draws import Draws
from epluribus.estimate import Estimate, Run, raise_if_interrupted
from epluribus.models import Model
from epluribus.sampling import Trace, sample
from epluribus.search import minimize, minimize_all
from epluribus.search.comparison import Comparison
from epluribus.search.starts import noisy
from epluribus.studies.facts import Facts

LOSSES = ("vi", "binder", "nvi", "nid")
"""The losses of the paper."""


@dataclass(frozen=True)
class Protocol:
    """How the posterior is sampled and searched.

    The lengths are those of the paper's single chain, so that every chain repeats its run. Steps are
    single-item updates, as in the paper.
    """

    n_draws: int = 10_000
    """Draws of each chain."""
    burn: int = 1_000_000
    """Steps before the first draw."""
    thin: int = 100
    """Steps from draw to draw."""
    n_chains: int = 4
    """The paper ran one: several show whether they agree."""
    moves: str = "default"
    """The sampler, as in `sample`."""
    n_greedy: int = 10
    """Greedy runs from each kind of start."""

    @property
    def lengths(self) -> dict[str, Any]:
        """What decides how long a chain takes, as keywords of `sample`."""
        return {"n_draws": self.n_draws, "burn": self.burn, "thin": self.thin}

    def shortened(self, *, burn: int, thin: int) -> Protocol:
        """The quick setting: fewer draws, closer together, and fewer runs."""
        return replace(self, n_draws=1_000, burn=burn, thin=thin, n_greedy=4)


@dataclass(frozen=True, eq=False)
class Analysis:
    """What the shared steps found."""

    facts: Facts
    """What the paper found."""
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
    by_k: dict[int, Estimate]
    """The VI-optimum with exactly this many clusters."""
    cpu: dict[str, float]
    """CPU seconds of one chain ("chain"), of one greedy run by kind of start, and of our search on the draws
    of the first chain ("our search")."""

    @property
    def draws(self) -> Draws:
        """The draws of all chains."""
        return self.trace.draws

    @property
    def best(self) -> Estimate:
        """The VI-optimal partition."""
        return self.by_loss["vi"]

    def number(self, number: Callable[[IntArray], IntArray]) -> dict[str, IntArray]:
        """The optimum under each loss and the MAP, clusters numbered 1, 2, ... by a function."""
        found = {estimate.loss.name: estimate.labels for estimate in self.by_loss}
        # The partition of highest posterior among all steps of the sampler, not only among the draws kept.
        found["map"] = self.trace.map_labels
        return {name: number(labels) for name, labels in found.items()}


def analyze(
    facts: Facts,
    model: Model,
    lengths: Protocol,
    ks: Iterable[int],
    *,
    protocol: Protocol | None = None,
    losses: Sequence[str] = LOSSES,
    rng: RngLike = 1,
    **options: Any,
) -> Analysis:
    """Sample the posterior and search it in every way a study reports.

    Parameters
    ----------
    facts : Facts
        What the paper states; its `k_max` is the largest number of clusters of the greedy runs.
    model : Model
        The application's model.
    lengths : Protocol
        Lengths of chains and numbers of runs, unless the user gives another `protocol`.
    ks : sequence of int
        Numbers of clusters for which the best partition with exactly this many is found.
    losses : sequence of str
        Losses whose optima are found; the first must be "vi".
    rng, **options
        `n_jobs` and `progress`: as in `sample` and `minimize`.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C stops a step: `sample` and `minimize` return what they have, but a study needs all of it.
    """
    protocol = protocol or lengths
    if not losses or losses[0] != "vi":
        raise ValueError(f"'losses' must begin with 'vi', the paper's choice; got {list(losses)}.")
    # The pictures come last: if matplotlib is missing, it is better to fail now.
    need("matplotlib", "plots", "A study")
    # Each step has its own stream of random numbers: more runs in one do not change the others.
    first, losses_rng, greedy_rng, others = make_rng(rng).spawn(4)
    cpu: dict[str, float] = {}
    with _timed(cpu, "chain", protocol.n_chains):
        trace = sample(
            model,
            **protocol.lengths,
            n_chains=protocol.n_chains,
            moves=protocol.moves,
            rng=first,
            **options,
        )
    raise_if_interrupted(trace)
    draws = trace.draws
    by_loss = minimize_all(draws, list(losses), rng=losses_rng, **options)
    raise_if_interrupted(*by_loss)

    # One run after the other, in one thread: their times are compared with the paper's. A noisy MAP start is
    # the MAP partition with some items moved at random; the paper does not say how many, here a tenth.
    near_map = [noisy(trace.map_labels, greedy_rng) for _ in range(protocol.n_greedy)]
    starts: dict[str, Any] = {"MAP, a tenth moved": np.array(near_map), "random": "random"}
    greedy, n_runs, search = {}, protocol.n_greedy, partial(_search, n_jobs=options.get("n_jobs"))
    algorithm = {"search": "greedy", "n_starts": n_runs, "k_max": facts.k_max, "n_jobs": 1}
    for name, start in starts.items():
        with _timed(cpu, name, n_runs):
            greedy[name] = _search(draws.chain(0), rng=greedy_rng, starts=start, **algorithm).runs
    with _timed(cpu, "our search"):
        by_chain = [search(draws.chain(0), rng=others)]
    by_chain += [search(draws.chain(c), rng=others) for c in range(1, draws.n_chains)]
    by_k = {k: search(draws, k=k, rng=others) for k in ks}
    return Analysis(facts, protocol, trace, by_loss, greedy, tuple(by_chain), by_k, cpu)


@contextmanager
def _timed(cpu: dict[str, float], name: str, n_parts: int = 1) -> Iterator[None]:
    """Note the CPU seconds of what is done in this context, for each of this many equal parts."""
    began = time.process_time()
    yield
    cpu[name] = (time.process_time() - began) / n_parts


def _search(draws: Draws, **options: Any) -> Estimate:
    """The VI-optimum that `minimize` finds; if Ctrl-C stopped it, the whole study ends."""
    estimate: Estimate = minimize(draws, "vi", progress=False, **options)
    raise_if_interrupted(estimate)
    return estimate
