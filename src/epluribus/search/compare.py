"""Answers under several losses, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from epluribus.losses.expected import expected_loss, loss
from epluribus.search.greedy import descend
from epluribus.search.objective import Objective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from epluribus.draws import Draws
    from epluribus.estimate import Estimate

__all__ = ["Comparison", "compare_losses"]


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """One estimate per loss, and how they relate."""

    estimates: tuple[Estimate, ...]
    expected_losses: NDArray[np.float64]
    """Entry (i, j): expected loss of the estimate made for loss i, under loss j."""
    distances: NDArray[np.float64]
    """Entry (i, j): variation of information between estimates i and j, in bits."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the losses."""
        return tuple(estimate.loss.name for estimate in self.estimates)

    def __getitem__(self, name: str | int) -> Estimate:
        return self.estimates[self.names.index(name) if isinstance(name, str) else name]

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.names)})"

    def __str__(self) -> str:
        names = self.names
        wide = max(8, *(len(name) for name in names)) + 2
        columns = "".join(f"{name:>{max(12, wide)}}" for name in names)
        lines = [f"{'estimate for':<{wide + 4}}{'clusters':>9}   expected loss under"]
        lines.append(f"{'':<{wide + 4}}{'':>9}{columns}")
        for estimate, row in zip(self.estimates, self.expected_losses, strict=True):
            cells = "".join(f"{value:>{max(12, wide)}.6g}" for value in row)
            lines.append(f"{estimate.loss.name:<{wide + 4}}{estimate.n_clusters:>9}{cells}")
        lines.append("variation of information between the estimates, in bits")
        for name, row in zip(names, self.distances, strict=True):
            cells = "".join(f"{value:>{max(12, wide)}.4f}" for value in row)
            lines.append(f"{name:<{wide + 4}}{'':>9}{cells}")
        return "\n".join(lines)


def compare_losses(
    draws: Draws, estimates: list[Estimate], k_min: int, k_max: int, seed: np.random.SeedSequence
) -> Comparison:
    """Set the estimates side by side; one that beats another under the other's loss improves it."""
    rng = np.random.default_rng(seed)
    improved = []
    for mine in estimates:
        values = [expected_loss(other.labels, draws, mine.loss) for other in estimates]
        winner = int(np.argmin(values))
        if values[winner] < mine.expected_loss * (1 - 1e-12):
            objective = Objective.of(draws, mine.loss)
            start = estimates[winner].labels
            run = descend(objective, start, rng, k_min=k_min, k_max=k_max, start="other loss")
            mine = replace(
                mine,
                labels=run.labels,
                expected_loss=run.expected_loss,
                runs=(*mine.runs, run),
            )
        improved.append(mine)
    return Comparison(
        tuple(improved),
        np.array([[expected_loss(a.labels, draws, b.loss) for b in improved] for a in improved]),
        np.array([[loss(a.labels, b.labels, "vi") for b in improved] for a in improved]),
    )
