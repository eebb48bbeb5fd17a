"""One chain: its state, what it has kept, and how it is saved and continued bit for bit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln

from epluribus._kernels.advance import KINDS, advance_for
from epluribus._kernels.chain import Partition, Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import IntArray
    from epluribus.models.base import Model
    from epluribus.models.prior import PriorTables

__all__ = ["Chain", "make_partition"]

_BLOCK_SECONDS = 0.1
"""Time between two looks at the clock, the stop flag of Python and the progress bar."""
_BUFFER_CELLS = 1 << 18
"""Labels collected before they are moved to their final, smaller type."""


def make_partition(labels: IntArray, tables: PriorTables) -> Partition:
    """The partition of canonical labels, ready for moves."""
    slots, n_items = tables.slots, labels.size
    return Partition(
        labels=labels.astype(np.int64),
        sizes=np.bincount(labels, minlength=slots).astype(np.int64),
        order=np.arange(slots),
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
        Where it begins, one partition a side.
    tables : tuple of PriorTables
        The priors, one a side; shared between chains.
    schedule : ndarray of shape (rows, 3)
        The cycle of moves.
    settings : (int, int, int)
        burn_in, thin, n_draws.
    rng : numpy.random.Generator
        Its own.
    """

    _SAVED = ("labels", "sizes", "order", "place", "n_clusters")

    def __init__(
        self,
        model: Model,
        labels: tuple[IntArray, ...],
        tables: tuple[PriorTables, ...],
        schedule: IntArray,
        settings: tuple[int, int, int],
        rng: np.random.Generator,
    ) -> None:
        self.rng = rng
        self.schedule = schedule
        self.burn_in, self.thin, n_draws = settings
        self.partitions = tuple(
            make_partition(own, table) for own, table in zip(labels, tables, strict=True)
        )
        self.states = model.states(self.partitions)
        self._statistics = model.statistics
        self._advance = advance_for(self.states[0], compiled=model.compiled)
        widest = max(own.size for own in labels)
        self._capacity = int(np.clip(_BUFFER_CELLS // widest, 1, 1024))
        self.records = tuple(
            Record(
                labels=np.zeros((self._capacity, own.size), dtype=np.int32),
                n_clusters=np.zeros(self._capacity, dtype=np.int64),
                best=own.astype(np.int64),
                tally=np.zeros((len(KINDS), 2), dtype=np.int64),
            )
            for own in labels
        )
        self.clock = np.zeros(4, dtype=np.int64)
        self.running = np.full(2, -np.inf)
        self._log_posterior = np.zeros(self._capacity)
        self.n_kept = 0
        self.labels: list[NDArray[Any]] = [
            np.zeros((n_draws, own.size), dtype=np.min_scalar_type(table.slots - 1))
            for own, table in zip(labels, tables, strict=True)
        ]
        self.n_clusters = np.zeros((len(labels), n_draws), dtype=np.int64)
        self.log_posterior = np.zeros(n_draws)
        self._block = 64

    @property
    def total(self) -> int:
        """Steps in all."""
        return self.burn_in + self.thin * self.log_posterior.size

    @property
    def done(self) -> int:
        """Steps done."""
        return int(self.clock[0])

    @property
    def finished(self) -> bool:
        """Whether all draws are there."""
        return self.done >= self.total

    def run_block(self, stop: NDArray[np.uint8]) -> None:
        """Some steps more, for about a tenth of a second."""
        begin = time.perf_counter()
        until = min(self.done + self._block, self.total)
        self.run_until(until, stop)
        seconds = time.perf_counter() - begin
        if seconds < _BLOCK_SECONDS / 2:
            self._block *= 2
        elif seconds > 2 * _BLOCK_SECONDS:
            self._block = max(1, self._block // 2)

    def run_until(self, until: int, stop: NDArray[np.uint8]) -> None:
        """Run to the given step, or until `stop` is set."""
        settings = np.array([self.burn_in, self.thin, until], dtype=np.int64)
        while self.clock[0] < until and stop[0] == 0:
            self._advance(
                self.states,
                self.partitions,
                self.records,
                self.schedule,
                settings,
                stop,
                self.rng,
                self.clock,
                self.running,
                self._log_posterior,
            )
            self._drain()

    def _drain(self) -> None:
        """Move the draws from the records to their place."""
        n = int(self.clock[3])
        here = slice(self.n_kept, self.n_kept + n)
        for side, record in enumerate(self.records):
            self.labels[side][here] = record.labels[:n]
            self.n_clusters[side, here] = record.n_clusters[:n]
        self.log_posterior[here] = self._log_posterior[:n]
        self.n_kept += n
        self.clock[3] = 0

    # --- saving ---

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Every array that changes, the draws apart, by name."""
        out = {"clock": self.clock, "running": self.running}
        for side, (partition, record) in enumerate(zip(self.partitions, self.records, strict=True)):
            out |= {f"{name}{side}": getattr(partition, name) for name in self._SAVED}
            out |= {f"best{side}": record.best, f"tally{side}": record.tally}
        # The sides of a model share their statistics: those of the first are all.
        out |= {f"statistic_{name}": getattr(self.states[0], name) for name in self._statistics}
        return out

    def snapshot(self) -> dict[str, Any]:
        """A copy of the state between two steps."""
        state = {name: array.copy() for name, array in self._arrays().items()}
        return {"arrays": state, "n_kept": self.n_kept, "rng": self.rng.bit_generator.state}

    def restore(self, snapshot: dict[str, Any], kept: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot and the draws kept so far."""
        for name, array in self._arrays().items():
            array[...] = snapshot["arrays"][name]
        self.rng.bit_generator.state = snapshot["rng"]
        self.n_kept = n = snapshot["n_kept"]
        for side, labels in enumerate(self.labels):
            labels[:n] = kept[f"labels{side}"][:n]
        self.n_clusters[:, :n] = kept["n_clusters"][:, :n]
        self.log_posterior[:n] = kept["log_posterior"][:n]
