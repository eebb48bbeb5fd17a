"""Running chains: threads, burn-in and thinning, progress, checkpoints, interrupts.

Threads take the chain that is furthest behind and run it for about a tenth of a second, so that all
chains advance together whatever their number. One more thread moves the progress bar
and writes checkpoints, and the main one hears Ctrl-C (`_parallel`). Each chain has its own generator, the child of the
given one with the number of the chain, so that results do not depend on the threads.

Chains begin far apart. R-hat compares chains with each other. Chains that begin at the same place may agree
because they have not left it; chains that begin with one cluster and with many agree only once both have found the
posterior. In a sparse network one node says little about its cluster, and a chain that begins with one cluster may
never leave it: there chains begin with many clusters, in different numbers.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from epluribus._files import as_path, check_folder, reading
from epluribus._kernels.states import KINDS
from epluribus._parallel import Stopper, resolve_jobs, run_tasks
from epluribus._progress import Progress, ProgressLike
from epluribus._typing import IntArray, LabelsLike, RngLike
from epluribus._validate import check_count, check_memory, make_rng, shown
from epluribus.draws import Draws
from epluribus.models.base import Model, Side
from epluribus.partition import as_labels, relabel
from epluribus.readers.columns import Source
from epluribus.sampling.chain import (
    Chain,
    RunSettings,
    fingerprint,
    read_checkpoint,
    write_checkpoint,
)
from epluribus.sampling.moves import Move, make_schedule
from epluribus.sampling.trace import Trace, later_means

_EXTENSIONS = 3
"""How often a run of default length is extended if chains do not agree: at most fifteen times as many steps."""
_LABELS = 2_500_000
"""A chain keeps no more labels by default, unless that makes fewer than 250 draws: many items need less time."""
_SAVE_EVERY = 60.0
"""Seconds from one checkpoint to the next."""


def sample(
    model: Model,
    *,
    n_draws: int | None = None,
    burn: int | None = None,
    thin: int | None = None,
    n_chains: int = 2,
    moves: str | Sequence[Move] = "default",
    start: LabelsLike | tuple[LabelsLike, LabelsLike] | Trace | None = None,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = None,
    checkpoint: str | Path | None = None,
) -> Trace:
    """Draw partitions from the posterior of a model.

    `burn` and `thin` count *steps*, as the paper does: a step is one Gibbs update of one item,
    or one proposal of another move. A sweep over N items is N steps.

    **How long it runs.** If `n_draws`, `burn` and `thin` are all left out, chains keep 1,000 draws each (250 of
    10,000 items or more), one cycle of moves apart. If they then do not agree (see `Trace.diagnostics`), these draws
    become burn-in, and the chains keep as many others, twice as far apart; this happens at most three times, and
    the trace says how often. Otherwise the run is exactly as long as asked for.

    Parameters
    ----------
    model : Model
        One of `epluribus.models`, or your own.
    n_draws : int, optional
        Draws kept of each chain. By default 1,000; of more than 2,500 items fewer, but at least 250.
    burn : int, optional
        Steps that are discarded at the beginning. By default a tenth of those that follow, but at least
        100 cycles of moves.
    thin : int, optional
        Steps from one draw to the next. By default one cycle of moves: a sweep and the proposals
        that go with it.
    n_chains : int, default 2
        Number of independent chains.
    moves : {'default', 'appendix'} or sequence of Move, default 'default'
        The cycle of moves. 'default' is one Gibbs sweep and split-merge proposals, [Gibbs(), SplitMerge()].
        'appendix' is the paper's allocation sampler alone. Or a sequence of `Gibbs`, `SplitMerge` and
        `Allocation`.
    start : labels or Trace, optional
        Where the chains begin. By default the first chain begins with one cluster, the second with as many as
        allowed, the others with random labels; for block models the first with many, the others with
        random labels of many clusters. Or labels for all chains; for rows and columns, two partitions. Or
        an earlier trace of this model: all chains then begin at the last draw of its best chain, which
        the new trace says.
    rng : int, Generator or None
        The same `rng` gives the same draws, whatever `n_jobs`.
    n_jobs : int, optional
        Threads; by default, and for -1, as many as there are cores, at most one per chain.
    progress : bool or callable, optional
        By default a bar appears, on a terminal or in a notebook, when the work has taken two seconds; True
        shows it at once, False never. A function is called as ``(done, total, info)``, with the steps of all
        chains.
    checkpoint : path, optional
        File in which the run is saved every minute and at its end. If it exists, the run goes on from
        there: the draws are the same, bit for bit, as without a break. All arguments must then be the
        same, except that `n_draws` may be larger.

    Returns
    -------
    Trace
        Ctrl-C ends the run early; the trace then has the draws kept so far and is marked `interrupted`.

    Notes
    -----
    Each chain makes burn + thin n_draws steps and keeps its draws in n_draws n_items bytes, or twice as
    many if the prior allows more than 256 clusters. The first run of a kind of model compiles the moves for
    it, which takes several seconds; later runs load them from disk.

    Examples
    --------
    >>> from epluribus.models import GaussianMixture
    >>> from epluribus.sampling import sample
    >>> model = GaussianMixture([0.1, -0.2, 0.0, 5.0, 5.3])
    >>> trace = sample(model, n_draws=200, rng=1)
    >>> trace
    Trace(n_chains=2, n_draws=200, n_items=5)
    >>> trace.map_labels
    array([0, 0, 0, 1, 1])
    """
    if not isinstance(model, Model):
        raise TypeError(f"'model' must be a model, such as GaussianMixture(y); got {shown(model)}.")
    asked = {"n_draws": n_draws, "burn": burn, "thin": thin, "n_chains": n_chains}
    open_end = n_draws is None and burn is None and thin is None and n_chains != 1
    schedule = make_schedule(moves, model)
    settings = _fill_settings(asked, schedule, model)
    header = {
        "model": fingerprint(model) if checkpoint is not None else "",
        "moves": schedule.tolist(),
        **{name: asked[name] for name in ("burn", "thin", "n_chains")},
        "start": describe_start(start),
        "rng": rng if isinstance(rng, int) else None,
    }
    # Everything is checked before the first step: nobody should wait for hours to see an error.
    target = None if checkpoint is None else as_path(checkpoint, "checkpoint")
    if target is not None:
        check_folder(target)
    if target is not None and target.exists():
        chains = _continue(target, model, n_draws, schedule, header)
    else:
        chains = _begin(model, settings, schedule, start, rng)
    threads = min(resolve_jobs(n_jobs), len(chains))
    stopper = Stopper()
    bar = Progress(progress, 0, "sample", stopper)
    begin = time.perf_counter()
    trace = None
    try:
        while True:
            _Run(model, chains, header, stopper, bar, target).run(threads)
            # An interrupt after the last step has cost no draws.
            interrupted = stopper.interrupted and not all(chain.finished for chain in chains)
            if interrupted and trace is not None:
                return replace(trace, interrupted=True)  # whole, though its chains did not agree
            record = {"start": header["start"], "seconds": time.perf_counter() - begin}
            trace = _make_trace(model, chains, record, interrupted)
            last = stopper.interrupted or chains[0].settings.extensions == _EXTENSIONS
            if not open_end or last or trace.diagnostics(warn=False).agreement.agree:
                return trace
            for chain in chains:
                chain.extend()
    finally:
        bar.close()


# --- beginning and continuing ---


def _fill_settings(asked: dict[str, int | None], schedule: IntArray, model: Model) -> RunSettings:
    """The settings asked for, checked, and the defaults for those that were not given."""
    # Steps in one cycle of moves.
    cycle = int(schedule[:, 2].sum())
    n_items = sum(side.n_items for side in model.sides)
    usual = int(np.clip(_LABELS // n_items, 250, 1000))
    n_draws = usual if asked["n_draws"] is None else check_count(asked["n_draws"], "n_draws")
    n_chains = check_count(asked["n_chains"], "n_chains")
    thin = cycle if asked["thin"] is None else check_count(asked["thin"], "thin")
    if asked["burn"] is None:
        # 100 cycles are enough for chains from one cluster and from many to meet on the paper's data.
        burn = max(n_draws * thin // 10, 100 * cycle)
    else:
        burn = check_count(asked["burn"], "burn", low=0)
    # Kernels count steps in 64 bits; the draws of all chains must fit into memory.
    if burn + n_draws * thin > 1 << 62:
        raise ValueError(
            "'n_draws' times 'thin', plus 'burn', must be at most 2**62 steps; got "
            f"{n_draws:,} times {thin:,} plus {burn:,}."
        )
    # A byte for each label, two numbers for each draw, and some 2 kB for a chain itself.
    check_memory(
        float(n_chains) * (n_draws * (n_items + 16.0) + 2000.0),
        f"A run of {n_chains:,} chains with {n_draws:,} draws each",
        "Choose a smaller 'n_draws' or 'n_chains'.",
    )
    return RunSettings(n_draws, burn, thin, n_chains)


def _begin(
    model: Model, settings: RunSettings, schedule: IntArray, start: Any, rng: RngLike
) -> list[Chain]:
    """New chains, each with its generator and its first labels."""
    # Generators are made in the order of the chains, before anything runs: the draws of a chain do not
    # depend on threads or on other chains.
    rngs = make_rng(rng).spawn(settings.n_chains)
    chains = []
    for number, labels in enumerate(first_labels(start, model, rngs)):
        # A user's function may forbid partitions; built-in models give every one some probability.
        if not model.compiled and not np.isfinite(model.log_posterior(*labels)):
            raise ValueError(
                f"'start' must have a finite log posterior; that of chain {number} is minus "
                "infinity. Give labels that the model allows."
            )
        chains.append(Chain(model, labels, schedule, settings, rngs[number]))
    return chains


def _continue(
    path: Path, model: Model, n_draws: int | None, schedule: IntArray, header: dict[str, Any]
) -> list[Chain]:
    """The chains of a checkpoint; an error if it is of another run."""
    saved, settings, snapshots = read_checkpoint(path)
    different = [f"'{name}'" for name, value in header.items() if saved.get(name) != value]
    if different:
        raise ValueError(
            f"'checkpoint' must be a new file or one of the same run; '{path}' was made with other values of "
            f"{', '.join(different)}. Repeat the call that made it, name another file, or delete this one."
        )
    if n_draws is not None:
        most = max(snapshot["n_kept"] for snapshot in snapshots)
        way_out = f" The checkpoint '{path}' has this many draws."
        settings = settings._replace(
            n_draws=check_count(n_draws, "n_draws", low=most, way_out=way_out)
        )
    chains = []
    for snapshot in snapshots:
        # A chain of the right size with any labels, and a generator of the kind whose state was saved.
        labels = tuple(np.zeros(side.n_items, dtype=np.int64) for side in model.sides)
        with reading(path, "a checkpoint"):
            kind = getattr(np.random, str(snapshot["rng"]["bit_generator"]))
            chain = Chain(model, labels, schedule, settings, np.random.Generator(kind()))
            chain.restore(snapshot)  # overwrites the labels and the state of the generator
        chains.append(chain)
    return chains


# --- where chains begin ---


def first_labels(
    start: Any, model: Model, rngs: Sequence[np.random.Generator]
) -> list[tuple[IntArray, ...]]:
    """The labels with which each chain begins, one partition per side.

    Parameters
    ----------
    start : None, labels or Trace
        None: the first chain begins with one cluster, the second with as many as the prior allows, the others
        with uniform labels among a random number of clusters. For block models none begins with one cluster, and
        random numbers are at least half of what the prior allows. Labels: all chains begin there; two
        partitions for a model with two sides. A trace: all chains begin at the last draw of its best chain.
    model : Model
    rngs : sequence of Generator
        The generator of each chain.

    Returns
    -------
    list of tuple of ndarray
        For each chain a tuple of canonical labels, (n_items,) for each side.
    """
    if start is None:
        # The extremes first: if two chains agree, they have come from both ends.
        weak = model.weak_items
        kinds = enumerate(rngs, start=int(weak))
        return [tuple(_make(k, side, rng, weak) for side in model.sides) for k, rng in kinds]
    if isinstance(start, Trace):
        # The last draw of the best chain; chains lie end to end.
        last = (best_chain(start) + 1) * start.n_draws - 1
        both = [draws for draws in (start.draws, start.column_draws) if draws is not None]
        starts: Any = tuple(np.asarray(draws[last]) for draws in both)
    else:
        starts = (start,) if len(model.sides) == 1 else start
    if not isinstance(starts, tuple | list) or len(starts) != len(model.sides):
        names = " and ".join(side.name for side in model.sides)
        raise TypeError(f"'start' must be a trace or two partitions, of {names}.")
    labels = tuple(_check(own, side) for own, side in zip(starts, model.sides, strict=True))
    return [labels] * len(rngs)


def best_chain(trace: Any) -> int:
    """Number of the chain with the highest mean log posterior in its second half."""
    return int(np.argmax(later_means(trace.log_posterior)))


def describe_start(start: Any) -> str:
    """Where the chains began, in words, for the record."""
    if not isinstance(start, Trace):
        return "dispersed" if start is None else "from labels that were given"
    return (
        f"all chains from the last draw of chain {best_chain(start)} (counted from 0) of an earlier run, the best "
        f"of {start.n_chains}: that they agree does not show that they have found the posterior"
    )


def _make(kind: int, side: Side, rng: np.random.Generator, weak: bool) -> IntArray:
    """Canonical labels of one side: one cluster (0), as many as there can be (1), or random (more)."""
    slots = side.tables.slots
    if kind == 0:
        return np.zeros(side.n_items, dtype=np.int64)
    if kind == 1:
        # As many clusters as there are slots, of sizes that differ by at most 1.
        return relabel(rng.permutation(np.arange(side.n_items) % slots))
    # At most k clusters: some labels may not occur.
    k = int(rng.integers((slots + 1) // 2 if weak else 1, slots + 1))
    return relabel(rng.integers(0, k, side.n_items))


def _check(start: Any, side: Side) -> IntArray:
    """Canonical labels of one side that were given."""
    labels = as_labels(start, side.n_items, "start")
    if labels.max() >= side.tables.slots:
        raise ValueError(
            f"'start' must have at most {side.tables.slots} clusters, the bound of the prior; it has "
            f"{labels.max() + 1}."
        )
    return labels


# --- running ---


class _Run:
    """Chains being run by threads, with progress and checkpoints."""

    def __init__(
        self,
        model: Model,
        chains: list[Chain],
        header: dict[str, Any],
        stopper: Stopper,
        bar: Progress,
        target: Path | None,
    ) -> None:
        self.model, self.chains, self.header = model, chains, header
        self.stopper, self.bar, self.target = stopper, bar, target
        self.total = sum(chain.settings.total for chain in chains)
        self.lock = threading.Lock()
        # A queue of (steps done, number of the chain), the chain furthest behind first.
        self.waiting = [(c.done, number) for number, c in enumerate(chains) if not c.finished]
        heapq.heapify(self.waiting)
        # The latest copy of each chain, made by the thread that ran it: no chain is read while it runs, and
        # none has to wait for a file to be written.
        self.snapshots = [chain.snapshot() for chain in chains] if target else []
        self.taken = [time.perf_counter()] * len(chains)
        self.saved = time.perf_counter()

    def run(self, n_threads: int) -> None:
        """Run all chains, or as far as they get until Ctrl-C."""
        run_tasks(
            [self._work] * n_threads,
            n_jobs=n_threads,
            stopper=self.stopper,
            while_waiting=self._report_and_save,
        )
        # All threads have ended: the last checkpoint holds the chains exactly where they stopped.
        if self.target is not None:
            snapshots = [chain.snapshot() for chain in self.chains]
            write_checkpoint(self.target, self.header, self.chains, snapshots)

    def _work(self) -> None:
        """The work of one thread: run the chain furthest behind, one block at a time."""
        while not self.stopper.flag[0]:
            with self.lock:
                if not self.waiting:
                    return
                number = heapq.heappop(self.waiting)[1]
            chain = self.chains[number]
            chain.run_block(self.stopper.flag)
            now = time.perf_counter()
            # Twice as often as files are written, so that a file never lags much.
            if self.target is not None and now - self.taken[number] > _SAVE_EVERY / 2:
                self.snapshots[number] = chain.snapshot()
                self.taken[number] = now
            if not chain.finished:  # back into the queue, behind the chains with fewer steps
                with self.lock:
                    heapq.heappush(self.waiting, (chain.done, number))

    def _report_and_save(self) -> None:
        """Show progress, and write a checkpoint if one is due; called while the threads work."""
        rates = _rates(self.model, self.chains)
        info = {name: f"{100 * rate:.2g}%" for name, rate in rates.items()}
        self.bar.show(sum(chain.done for chain in self.chains), info, self.total)
        # Safe while chains run: snapshots do not change, and neither do draws once they are kept.
        if self.target is not None and time.perf_counter() - self.saved > _SAVE_EVERY:
            write_checkpoint(self.target, self.header, self.chains, list(self.snapshots))
            self.saved = time.perf_counter()


# --- results ---


def _rates(model: Model, chains: Sequence[Chain]) -> dict[str, float]:
    """Accepted over proposed, by kind of move; with two sides also by side, as in "gibbs rows"."""
    out = {}
    for number, side in enumerate(model.sides):
        tally = sum(chain.records[number].tally for chain in chains)
        for kind, (proposed, accepted) in zip(KINDS, np.asarray(tally), strict=True):
            if proposed:
                name = kind if len(model.sides) == 1 else f"{kind} {side.name}"
                out[name] = float(accepted / proposed)
    return out


def _make_trace(
    model: Model, chains: list[Chain], record: dict[str, Any], interrupted: bool
) -> Trace:
    """The result of the chains as they are."""
    # The same number for all chains, unless they were interrupted.
    n = min(chain.n_kept for chain in chains)
    if n == 0:
        raise KeyboardInterrupt("interrupted before the first draw was kept")
    number = np.repeat(np.arange(len(chains)), n)
    # The best partition that any chain has seen at any step: it need not be one of the draws.
    best = chains[int(np.argmax([chain.running[1] for chain in chains]))]
    origin = f"The draws were made with the samplers of epluribus from the model {model!r}."
    draws = [
        Draws(
            Source(
                np.concatenate([x.labels[s][:n] for x in chains]), side.items, number, origin=origin
            )
        )
        for s, side in enumerate(model.sides)
    ]
    n_clusters = np.array([chain.n_clusters[:, :n] for chain in chains]).swapaxes(0, 1)
    best_labels = [relabel(record.best) for record in best.records]
    two = len(model.sides) == 2
    return Trace(
        draws=draws[0],
        log_posterior=np.array([chain.log_posterior[:n] for chain in chains]),
        n_clusters=n_clusters[0],
        acceptance=_rates(model, chains),
        map_labels=best_labels[0],
        map_log_posterior=model.log_posterior(*best_labels),
        settings={
            "model": repr(model),
            "prior": [side.prior.describe(side.n_items) for side in model.sides],
            **chains[0].settings._asdict(),
            **record,
            "steps": sum(chain.done for chain in chains),
            "remark": model.remark(*best_labels),
        },
        column_draws=draws[1] if two else None,
        column_n_clusters=n_clusters[1] if two else None,
        column_map_labels=best_labels[1] if two else None,
        interrupted=interrupted,
    )
