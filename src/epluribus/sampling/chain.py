"""One chain: its state, the draws it has kept, and how it is saved and continued bit for bit.

A checkpoint is one npz file: for each chain its state between two steps (labels, statistics, generator)
and the draws kept so far. Running sums are saved too, rounding errors included, so that a continued run gives
the same draws as one without a break. Files are written whole or not at all. Nothing in them is executed on
reading (no pickles).
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from epluribus._files import open_arrays, reading, write_arrays
from epluribus._kernels.advance import advance_for
from epluribus._kernels.states import KINDS, LOG_SIZE, LOG_WEIGHT, Record
from epluribus._typing import AnyArray, IntArray
from epluribus.models.base import Model, make_partition

_BLOCK_SECONDS = 0.1
"""Seconds that a block of steps should take: between blocks a thread checks the stop flag and the clock."""

Snapshot: TypeAlias = dict[str, Any]
"""The state of a chain between two steps: `arrays` by name, `n_kept` draws, the state of its `rng`."""


class RunSettings(NamedTuple):
    """How long chains run and which draws they keep, in steps."""

    n_draws: int
    """Draws kept of each chain."""
    burn: int
    """Steps before the first stretch of `thin` steps."""
    thin: int
    """Steps from one draw to the next: the first draw is kept after burn + thin steps."""
    n_chains: int = 1
    extensions: int = 0
    """How often the run has been extended, because the chains did not agree."""

    @property
    def total(self) -> int:
        """Number of steps of the whole run, burn-in included."""
        return self.burn + self.thin * self.n_draws

    def extended(self) -> RunSettings:
        """The same number of draws, twice as far apart, after all steps so far."""
        longer = self._replace(burn=self.total, thin=2 * self.thin)
        return longer._replace(extensions=self.extensions + 1)


class Chain:
    """One chain of one model.

    Parameters
    ----------
    model : Model
    labels : tuple of ndarray
        Where it begins: canonical labels, one partition per side.
    schedule : ndarray of shape (rows, 4)
        The cycle of moves: rows (side, move, steps, scans); see `make_schedule`.
    settings : RunSettings
    rng : numpy.random.Generator
        A generator that no other chain uses.
    """

    def __init__(
        self,
        model: Model,
        labels: tuple[IntArray, ...],
        schedule: IntArray,
        settings: RunSettings,
        rng: np.random.Generator,
    ) -> None:
        self.rng, self.schedule, self.settings = rng, schedule, settings
        pairs = list(zip(labels, [side.tables for side in model.sides], strict=True))
        self.states = model.states([make_partition(own, tables) for own, tables in pairs])
        self._advance = advance_for(self.states[0].model, compiled=model.compiled)
        # Draws go to small 32-bit records first, 1 MB, so that one compiled loop serves every type of kept labels.
        capacity = int(np.clip((1 << 18) // max(own.size for own in labels), 1, 1024))
        self.records = tuple(
            Record(
                labels=np.zeros((capacity, own.size), dtype=np.int32),
                n_clusters=np.zeros(capacity, dtype=np.int64),
                best=own.astype(np.int64),
                tally=np.zeros((len(KINDS), 2), dtype=np.int64),
            )
            for own in labels
        )
        # Arguments of `advance`: steps done, row of the schedule, steps of that row, draws in the records;
        # and the log target, now and at its highest.
        self.clock = np.zeros(4, dtype=np.int64)
        self.running = np.full(2, -np.inf)
        self._log_posterior = np.zeros(capacity)
        self.n_kept = 0
        # Room for all draws from the start, in the smallest type that holds the labels.
        self.labels: list[AnyArray] = [
            np.zeros((settings.n_draws, own.size), dtype=np.min_scalar_type(tables.slots - 1))
            for own, tables in pairs
        ]
        self.n_clusters = np.zeros((len(labels), settings.n_draws), dtype=np.int64)
        self.log_posterior = np.zeros(settings.n_draws)
        # Steps in a block: doubled until a block takes as long as it should.
        self._block = 64

    @property
    def done(self) -> int:
        """Number of steps done."""
        return int(self.clock[0])

    @property
    def finished(self) -> bool:
        """Whether all draws are kept."""
        return self.done >= self.settings.total

    def extend(self) -> None:
        """Begin again to keep draws, twice as far apart: those so far are burn-in."""
        self.settings, self.n_kept = self.settings.extended(), 0

    def run_block(self, stop: NDArray[np.uint8]) -> None:
        """Run for about a tenth of a second."""
        begin = time.perf_counter()
        self.run_until(min(self.done + self._block, self.settings.total), stop)
        seconds = time.perf_counter() - begin
        # The length follows the speed, which changes with the number of clusters. It has no effect on draws.
        if seconds < _BLOCK_SECONDS / 2:
            self._block *= 2
        elif seconds > 2 * _BLOCK_SECONDS:
            self._block = max(1, self._block // 2)

    def run_until(self, until: int, stop: NDArray[np.uint8]) -> None:
        """Run to the given step, or until another thread sets `stop`."""
        n_sides = len(self.states)
        settings = np.array([self.settings.burn, self.settings.thin, until, n_sides])
        # The loop is compiled for two sides; a model with one has it twice.
        states, records = (self.states * 2)[:2], (self.records * 2)[:2]
        # `advance` also returns when the records are full: empty them and go on.
        while self.clock[0] < until and stop[0] == 0:
            self._advance(
                states, records, self.schedule, settings, stop, self.rng,
                self.clock, self.running, self._log_posterior,
            )  # fmt: skip
            self._empty_records()

    def _empty_records(self) -> None:
        """Move the draws from the records to their final arrays."""
        n = int(self.clock[3])
        here = slice(self.n_kept, self.n_kept + n)
        for side, record in enumerate(self.records):
            self.labels[side][here] = record.labels[:n]
            self.n_clusters[side, here] = record.n_clusters[:n]
        self.log_posterior[here] = self._log_posterior[:n]
        self.n_kept += n
        self.clock[3] = 0

    # --- saving ---

    def _arrays(self) -> dict[str, AnyArray]:
        """Every array that changes except the draws, by name; views, into which `restore` writes."""
        # The sides of a model share their statistics.
        out = {"clock": self.clock, "running": self.running, "stat": self.states[0].stat}
        for side, (state, record) in enumerate(zip(self.states, self.records, strict=True)):
            out |= {f"own{side}": state.own, f"best{side}": record.best}
            out[f"tally{side}"] = record.tally
        return out

    def kept(self, n: int) -> dict[str, AnyArray]:
        """The first n draws of each kept array, by name; views, not copies."""
        out: dict[str, AnyArray] = {f"labels{s}": own[:n] for s, own in enumerate(self.labels)}
        out["n_clusters"], out["log_posterior"] = self.n_clusters[:, :n], self.log_posterior[:n]
        return out

    def snapshot(self) -> Snapshot:
        """A copy of the state between two steps."""
        state = {name: array.copy() for name, array in self._arrays().items()}
        # The draws themselves need no copy: once kept they never change.
        return {"arrays": state, "n_kept": self.n_kept, "rng": self.rng.bit_generator.state}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot that was read from a checkpoint, with its draws."""
        self.rng.bit_generator.state = snapshot["rng"]
        self.n_kept = snapshot["n_kept"]
        for name, array in self._arrays().items():
            array[...] = snapshot["arrays"][name]
        for name, array in self.kept(self.n_kept).items():
            array[...] = snapshot["kept"][name]


# --- checkpoints ---


def fingerprint(model: Model) -> str:
    """A hash of data, hyperparameters and priors: a checkpoint can be continued only by an equal model.

    The name and the size are in the representation of a model; of a function of the user only its name is known.
    """
    labels = [np.zeros(side.n_items, dtype=np.int64) for side in model.sides]
    pairs = zip(labels, model.sides, strict=True)
    digest = hashlib.sha256(repr(model).encode())
    for m in model.states([make_partition(own, side.tables) for own, side in pairs]):
        for array in (m.hyper, m.x, m.start, m.near, m.table, m.logs[[LOG_WEIGHT, LOG_SIZE]]):
            # Shape and type too, because the bytes of [[1, 2]] are those of [[1], [2]].
            digest.update(f"{array.shape}{array.dtype}".encode() + array.tobytes())
    return digest.hexdigest()[:32]


def write_checkpoint(
    path: Path, header: dict[str, Any], chains: Sequence[Chain], snapshots: Sequence[Snapshot]
) -> None:
    """Write a checkpoint, whole or not at all.

    Parameters
    ----------
    path : Path
    header : dict
        What a continued run must match.
    chains : sequence of Chain
        They may be running: only draws that the snapshots know of are read.
    snapshots : sequence of dict
        A snapshot of each chain, perhaps a little older than the chain.
    """
    arrays: dict[str, Any] = {}
    numbers = []
    for c, (chain, snapshot) in enumerate(zip(chains, snapshots, strict=True)):
        # The draws as of the snapshot, though the chain may have kept more since.
        n = snapshot["n_kept"]
        numbers.append({"n_kept": n, "rng": snapshot["rng"]})
        arrays |= {f"chain{c}/{name}": array for name, array in snapshot["arrays"].items()}
        arrays |= {f"kept{c}/{name}": array for name, array in chain.kept(n).items()}
    # JSON inside the npz file, for the settings and for the state of the generators, whose integers exceed
    # 64 bits.
    settings = chains[0].settings._asdict()
    text = {"header": header, "settings": settings, "chains": numbers}
    encoded = json.dumps(text, default=np.ndarray.tolist).encode()
    write_arrays(path, {**arrays, "json": np.frombuffer(encoded, dtype=np.uint8)})


def read_checkpoint(path: Path) -> tuple[dict[str, Any], RunSettings, list[Snapshot]]:
    """The header, the settings, and the snapshot of each chain together with the draws it had kept."""
    with open_arrays(path, "a checkpoint") as file:
        # Read at once: an npz file is lazy, and a damaged one shows only when it is read.
        arrays = {name: file[name] for name in file.files}
        found = json.loads(arrays.pop("json").tobytes())
        settings = RunSettings(**found["settings"])
    # Names are "chain0/clock", "kept0/labels0" and so on.
    groups: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, array in arrays.items():
        group, _, key = name.partition("/")
        groups[group][key] = array
    with reading(path, "a checkpoint"):
        return (
            found["header"],
            settings,
            [
                {"arrays": groups[f"chain{c}"], "kept": groups[f"kept{c}"], **numbers}
                for c, numbers in enumerate(found["chains"])
            ],
        )
