"""One chain: its state, the draws it has kept, and how it is saved and continued bit for bit.

A checkpoint is one npz file: for each chain its state between two steps (labels, statistics, generator)
and the draws kept so far. Files are written whole or not at all. Nothing in them is executed on reading
(no pickles).
"""

from __future__ import annotations

import json
import time
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from epluribus._files import write_arrays
from epluribus._kernels.advance import advance_for
from epluribus._kernels.chain import Partition, Record
from epluribus._kernels.moves import KINDS
from epluribus._typing import AnyArray, IntArray
from epluribus.models.base import Model
from epluribus.models.prior import PriorTables

FORMAT = 1
"""Version of checkpoint files; it changes when older files can no longer be continued."""
_BLOCK_SECONDS = 0.1
"""Time between two looks at the clock, at Python's stop flag and at the progress bar."""
_BUFFER_CELLS = 1 << 18
"""Labels collected (1 MB) before they are copied to their final, smaller type."""

Snapshot: TypeAlias = dict[str, Any]
"""The state of a chain between two steps: `arrays` by name, `n_kept` draws, the state of its `rng`."""


class RunSettings(NamedTuple):
    """How long chains run and which draws they keep, in steps."""

    n_draws: int
    burn_in: int
    thin: int
    n_chains: int = 1


def make_partition(labels: IntArray, tables: PriorTables) -> Partition:
    """The partition of canonical labels, ready for moves."""
    slots, n_items = tables.slots, labels.size
    return Partition(
        labels=labels.astype(np.int64),
        sizes=np.bincount(labels, minlength=slots).astype(np.int64),
        order=np.arange(slots),  # canonical labels: the non-empty clusters are 0..K-1
        place=np.arange(slots),
        n_clusters=np.array([labels.max() + 1], dtype=np.int64),
        log_weight=np.ascontiguousarray(tables.log_weight, dtype=np.float64),
        log_size=np.ascontiguousarray(tables.log_size, dtype=np.float64),
        log_factorial=gammaln(np.arange(n_items + 1) + 1.0),
        members=np.zeros(n_items, dtype=np.int64),
        target=np.zeros(n_items, dtype=np.int64),
        log_weights=np.zeros(slots + 1),
        cumulative=np.zeros(slots + 1),
    )


class Chain:
    """One chain of one model.

    Parameters
    ----------
    model : Model
    labels : tuple of ndarray
        Where it begins: canonical labels, one partition per side.
    schedule : ndarray of shape (rows, 3)
        The cycle of moves.
    settings : RunSettings
    rng : numpy.random.Generator
        A generator that no other chain uses.
    """

    _SAVED = ("labels", "sizes", "order", "place", "n_clusters")

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
        self.partitions = tuple(make_partition(own, tables) for own, tables in pairs)
        self.states = model.states(self.partitions)
        self._statistics = model.statistics
        self._advance = advance_for(self.states[0], compiled=model.compiled)
        # Records are small and 32-bit, so that one compiled loop serves every type of kept labels.
        capacity = int(np.clip(_BUFFER_CELLS // max(own.size for own in labels), 1, 1024))
        self.records = tuple(
            Record(
                labels=np.zeros((capacity, own.size), dtype=np.int32),
                n_clusters=np.zeros(capacity, dtype=np.int64),
                best=own.astype(np.int64),
                tally=np.zeros((len(KINDS), 2), dtype=np.int64),
            )
            for own in labels
        )
        # See the arguments of `advance`: steps done, place in the schedule, draws in the records.
        self.clock = np.zeros(4, dtype=np.int64)
        self.running = np.full(2, -np.inf)  # log target, the highest so far
        self._log_posterior = np.zeros(capacity)
        self.n_kept = 0
        self.labels: list[AnyArray] = [
            np.zeros((settings.n_draws, own.size), dtype=np.min_scalar_type(tables.slots - 1))
            for own, tables in pairs
        ]
        self.n_clusters = np.zeros((len(labels), settings.n_draws), dtype=np.int64)
        self.log_posterior = np.zeros(settings.n_draws)
        self._block = 64  # steps; doubled until a block takes as long as it should

    @property
    def total(self) -> int:
        """Number of steps in all."""
        return self.settings.burn_in + self.settings.thin * self.settings.n_draws

    @property
    def done(self) -> int:
        """Number of steps done."""
        return int(self.clock[0])

    @property
    def finished(self) -> bool:
        """Whether all draws are kept."""
        return self.done >= self.total

    def run_block(self, stop: NDArray[np.uint8]) -> None:
        """Run for about a tenth of a second."""
        begin = time.perf_counter()
        self.run_until(min(self.done + self._block, self.total), stop)
        seconds = time.perf_counter() - begin
        if seconds < _BLOCK_SECONDS / 2:
            self._block *= 2
        elif seconds > 2 * _BLOCK_SECONDS:
            self._block = max(1, self._block // 2)

    def run_until(self, until: int, stop: NDArray[np.uint8]) -> None:
        """Run to the given step, or until `stop` is set."""
        settings = np.array([self.settings.burn_in, self.settings.thin, until], dtype=np.int64)
        # `advance` also returns when the records are full.
        while self.clock[0] < until and stop[0] == 0:
            self._advance(
                self.states, self.partitions, self.records, self.schedule, settings, stop, self.rng,
                self.clock, self.running, self._log_posterior,
            )  # fmt: skip
            self._empty_records()

    def _empty_records(self) -> None:
        """Copy the draws from the records to where they stay."""
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
        """Every array that changes except the draws, by name."""
        out = {"clock": self.clock, "running": self.running}
        for side, (partition, record) in enumerate(zip(self.partitions, self.records, strict=True)):
            out |= {f"{name}{side}": getattr(partition, name) for name in self._SAVED}
            out |= {f"best{side}": record.best, f"tally{side}": record.tally}
        # The sides of a model share their statistics: those of the first side are all.
        out |= {f"statistic_{name}": getattr(self.states[0], name) for name in self._statistics}
        return out

    def kept(self, n: int) -> dict[str, AnyArray]:
        """The first n draws, by name; views."""
        out: dict[str, AnyArray] = {f"labels{s}": own[:n] for s, own in enumerate(self.labels)}
        out["n_clusters"], out["log_posterior"] = self.n_clusters[:, :n], self.log_posterior[:n]
        return out

    def snapshot(self) -> Snapshot:
        """A copy of the state between two steps."""
        state = {name: array.copy() for name, array in self._arrays().items()}
        # The draws need no copy: those kept never change.
        return {"arrays": state, "n_kept": self.n_kept, "rng": self.rng.bit_generator.state}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot that was read from a checkpoint, with its draws."""
        self.rng.bit_generator.state = snapshot["rng"]
        self.n_kept = snapshot["n_kept"]
        # In place: the states of the model and the partitions share these arrays.
        for name, array in self._arrays().items():
            array[...] = snapshot["arrays"][name]
        for name, array in self.kept(self.n_kept).items():
            array[...] = snapshot["kept"][name]


# --- checkpoints ---


def write_checkpoint(
    path: Path, header: dict[str, Any], chains: Sequence[Chain], snapshots: Sequence[Snapshot]
) -> None:
    """Write the file whole or not at all."""
    arrays: dict[str, Any] = {}
    numbers = []
    for c, (chain, snapshot) in enumerate(zip(chains, snapshots, strict=True)):
        n = snapshot["n_kept"]
        numbers.append({"n_kept": n, "rng": snapshot["rng"]})
        arrays |= {f"chain{c}/{name}": array for name, array in snapshot["arrays"].items()}
        arrays |= {f"kept{c}/{name}": array for name, array in chain.kept(n).items()}
    # JSON inside the npz file: the settings, and the integers of the generators, which exceed 64 bits.
    text = json.dumps({"format": FORMAT, **header, "chains": numbers}, default=_plain)
    arrays["header"] = np.frombuffer(text.encode(), dtype=np.uint8)
    write_arrays(path, arrays)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], list[Snapshot]]:
    """The header, and the snapshot of each chain together with the draws it has kept."""
    if not path.is_file():
        raise FileNotFoundError(
            f"'resume' must be a file made by 'checkpoint'; there is no {path}."
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes(), object_hook=_unplain)
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"'resume' must be a file made by 'checkpoint'; {path} is not one ({error})."
        ) from None
    if header.get("format") != FORMAT:
        raise ValueError(
            f"'resume' must be a checkpoint of format {FORMAT}; {path} has "
            f"{header.get('format')}. Run again from the beginning."
        )
    # Names are "chain0/clock", "kept0/labels0" and so on.
    groups: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, array in arrays.items():
        group, _, key = name.partition("/")
        groups[group][key] = array
    return header, [
        {"arrays": groups[f"chain{c}"], "kept": groups[f"kept{c}"], **numbers}
        for c, numbers in enumerate(header.pop("chains"))
    ]


def _plain(value: Any) -> Any:
    """Values that JSON cannot hold: the arrays in the state of some bit generators."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, np.integer):
        return int(value)
    raise TypeError(f"cannot save {type(value).__name__}")


def _unplain(value: dict[str, Any]) -> Any:
    """The inverse of `_plain`."""
    if set(value) == {"array", "dtype"}:
        return np.array(value["array"], dtype=value["dtype"])
    return value
