"""The answer, and how it was reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from epluribus._typing import IntArray
    from epluribus.losses.base import Loss
    from epluribus.search.greedy import Run

__all__ = ["Estimate"]

_SIZES_SHOWN = 12


@dataclass(frozen=True, repr=False, eq=False)
class Estimate:
    """A partition with small expected posterior loss."""

    labels: IntArray
    """Canonical labels: 0, 1, ... in order of first appearance."""
    expected_loss: float
    loss: Loss
    n_draws: int
    """Number of draws the expectation was taken over."""
    runs: tuple[Run, ...]
    """The runs of the search, in the order they were planned."""
    converged: bool
    """False if a time limit or an interrupt ended the search early."""
    seconds: float
    items: tuple[str, ...] | None = None
    """Names of the items, where the draws had them."""
    interrupted: bool = False
    """Whether Ctrl-C ended the search."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @property
    def sizes(self) -> IntArray:
        """Cluster sizes, in the order of the labels."""
        return np.bincount(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "loss": self.loss.name,
            "expected_loss": self.expected_loss,
            "n_clusters": self.n_clusters,
            "sizes": self.sizes.tolist(),
            "labels": self.labels.tolist(),
            "items": None if self.items is None else list(self.items),
            "n_items": len(self.labels),
            "n_draws": self.n_draws,
            "converged": self.converged,
            "seconds": round(self.seconds, 6),
            "runs": [
                {
                    "start": run.start,
                    "expected_loss": run.expected_loss,
                    "n_clusters": run.n_clusters,
                    "n_sweeps": run.n_sweeps,
                    "converged": run.converged,
                }
                for run in self.runs
            ],
        }

    def __repr__(self) -> str:
        return (
            f"Estimate(n_clusters={self.n_clusters}, expected_loss={self.expected_loss:.6g}, "
            f"loss={self.loss.name!r})"
        )

    def __str__(self) -> str:
        noun = "cluster" if self.n_clusters == 1 else "clusters"
        lines = [
            f"{self.n_clusters} {noun} of {len(self.labels):,} items",
            f"  sizes          {_shorten(sorted(self.sizes.tolist(), reverse=True))}",
            f"  expected loss  {self.expected_loss:.6g} ({self.loss.name}, {self.n_draws:,} draws)",
        ]
        if self.runs:
            worst = max(run.expected_loss for run in self.runs)
            lines.append(
                f"  search         {len(self.runs)} runs in {self.seconds:.2g} s, "
                f"losses {self.expected_loss:.6g} to {worst:.6g}"
            )
        if not self.converged:
            lines.append("  stopped early: the best so far, a longer search may find better")
        return "\n".join(lines)


def _shorten(sizes: list[int]) -> str:
    shown = ", ".join(str(size) for size in sizes[:_SIZES_SHOWN])
    hidden = len(sizes) - _SIZES_SHOWN
    return shown if hidden <= 0 else f"{shown}, and {hidden} smaller"
