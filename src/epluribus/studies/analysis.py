"""The steps that all studies share: chains, optima under several losses, the paper's greedy runs.

The posterior is sampled once, by several chains. Then the draws are searched:

- all chains together: the optimum under each loss, and the VI-optimum with given numbers of clusters;
- each chain alone: the VI-optimum, as a repetition of the paper's single chain;
- the first chain: the paper's own procedure, its Algorithm 1 from noisy MAP and from random starts.

What the paper states (section 6) is kept as data. The numbers and sentences are in facts.toml. Tables have a row
for each party and a column for each cluster, in the order in which they are printed. Times are those of the
authors' machine and program, kept as text. Clusters have no names, so two tables a and b are compared after the
one-to-one matching m of their columns that leaves the fewest items in different cells:

    distance(a, b) = sum a - max over m of sum over parties r and columns g of min(a[r, g], b[r, m(g)])
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from epluribus._typing import IntArray, LabelsLike, RngLike
from epluribus._validate import make_rng, need
from epluribus.draws import Draws
from epluribus.estimate import Estimate, Run, raise_if_interrupted
from epluribus.models import Model
from epluribus.partition import as_labels
from epluribus.sampling import Trace, sample
from epluribus.search import minimize, minimize_all
from epluribus.search.comparison import Comparison
from epluribus.search.starts import noisy

LOSSES = ("vi", "binder", "nvi", "nid")
"""The losses of the paper."""


@dataclass(frozen=True, eq=False)
class Facts:
    """What the paper states about one application."""

    name: str
    """Name of the study, as the command line takes it."""
    title: str
    """Title of the page."""
    section: str
    """Section of the paper."""
    items: str
    """What the items are called, in the plural."""
    n_items: int
    """Number of items that are clustered."""
    k_max: int
    """Largest number of clusters of the greedy algorithm, K_up in the paper."""
    k_mode: int
    """Where the posterior of the number of clusters peaks."""
    k_optimal: int
    """Clusters of the VI-optimal partition."""
    sample_time: str
    """Time of the sampler, as printed."""
    greedy_time: str
    """Average of one run of the greedy algorithm, as printed."""
    table: IntArray
    """Parties and the VI-optimal clusters; empty for the galaxies."""
    model: str
    """Data and model, in a sentence or two."""
    choices: str
    """What we chose because the paper does not state it, or because its numbers come out with it."""
    notes: Sequence[str]
    """What differs from the paper, and the evidence."""
    parties: Sequence[str] = ()
    """The rows of the table, in the paper's order; none for the galaxies."""

    def count(self, party: ArrayLike, labels: LabelsLike) -> IntArray:
        """Number of items of each party (rows) in each cluster (columns, by label)."""
        counts = pd.crosstab(np.asarray(party), np.asarray(labels))
        return counts.reindex(self.parties, fill_value=0).to_numpy()

    def distance(self, party: ArrayLike, labels: LabelsLike) -> int:
        """Number of items in another cell than in the paper's table, after the best matching of columns."""
        return self.n_items - match_columns(self.count(party, labels), self.table)[1]

    def number(self, labels: LabelsLike, party: ArrayLike) -> IntArray:
        """Clusters numbered 1, 2, ... in the order of the columns of the paper's table that they match."""
        own = as_labels(labels)
        mine = self.count(party, own)
        # Clusters that match no column come last.
        rank = np.full(mine.shape[1], self.table.shape[1])
        for cluster, column in match_columns(mine, self.table)[0]:
            rank[cluster] = column
        return number_clusters(own, rank[own])


def read_facts(name: str) -> Facts:
    """What the paper states about an application, from facts.toml.

    >>> read_facts("galaxies").k_mode
    4
    """
    text = resources.files("epluribus.studies").joinpath("facts.toml").read_text("utf-8")
    found = tomllib.loads(text)[name]
    return Facts(name, **{**found, "table": np.array(found.get("table", []), dtype=np.int64)})


def match_columns(a: IntArray, b: IntArray) -> tuple[list[tuple[int, int]], int]:
    """The matching of columns of `a` and `b` that shares most items, and how many items it shares.

    >>> match_columns(np.array([[3, 0], [1, 4]]), np.array([[0, 2], [4, 2]]))
    ([(0, 1), (1, 0)], 7)
    """
    # In each row two columns share the smaller of their counts.
    shared = np.minimum(a[:, :, None], b[:, None, :]).sum(axis=0)
    first, second = linear_sum_assignment(shared, maximize=True)
    return list(zip(first.tolist(), second.tolist(), strict=True)), int(shared[first, second].sum())


def number_clusters(labels: LabelsLike, rank: ArrayLike) -> IntArray:
    """Clusters numbered 1, 2, ... by the median of `rank` over their items, larger ones first in ties.

    >>> number_clusters([0, 0, 1, 2], rank=[5.0, 7.0, 9.0, 1.0]).tolist()
    [2, 2, 3, 1]
    """
    own = as_labels(labels)
    medians = pd.Series(np.asarray(rank)).groupby(own).median()
    # By the last key first. The inverse of the order, argsort of argsort, is the rank of each cluster.
    order = np.lexsort((-np.bincount(own), medians))
    return np.argsort(order)[own] + 1


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
