"""The base of all models: checked data, priors on partitions, and statistics for the compiled moves.

A model has one *side*, the items it clusters, or two (the rows and the columns of a matrix). Each side has
a name, a number of items and a prior. `states` makes the NamedTuples on which the moves work, one per side,
and `statistics` names those of their arrays that change. docs/developer/new-model.md shows how to write a
model.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus._kernels.chain import Partition
from epluribus._typing import IntArray, LabelsLike
from epluribus.models.prior import PartitionLaw, PriorTables, cached_tables
from epluribus.partition import as_labels


@dataclass(frozen=True)
class Side:
    """One set of items that a model clusters."""

    name: str
    n_items: int
    prior: PartitionLaw
    items: tuple[str, ...] | None = None
    """Names of the items, for the draws."""

    @property
    def tables(self) -> PriorTables:
        """The prior's two tables for this number of items."""
        # Shared by all chains; nobody writes to them.
        return cached_tables(self.prior, self.n_items)


class Model(ABC):
    """Base of all models.

    Attributes
    ----------
    sides : tuple of Side
        The sets of items that are clustered: one, or two.
    statistics : tuple of str
        Fields of the state that the moves change, work arrays left out.
    compiled : bool
        Whether the state can be compiled; false for models with Python inside.
    """

    sides: tuple[Side, ...]
    statistics: tuple[str, ...] = ()
    compiled: bool = True

    @abstractmethod
    def states(self, partitions: Sequence[Partition]) -> tuple[Any, ...]:
        """Fresh states, one per side, with room for the statistics of the given partitions."""

    @abstractmethod
    def _log_likelihood(self, *labels: IntArray) -> float:
        """Log marginal likelihood of canonical labels, from scratch."""

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """Data and hyperparameters, for comparing models."""

    @property
    def n_items(self) -> int:
        """Number of items of the first side."""
        return self.sides[0].n_items

    def log_marginal(self, *labels: LabelsLike) -> float:
        """Log marginal likelihood log p(data | partition), computed from scratch.

        Parameters
        ----------
        *labels : array_like of shape (n_items,)
            One partition for each side of the model.

        Returns
        -------
        float
        """
        return self._log_likelihood(*self._check(labels))

    def log_prior(self, *labels: LabelsLike) -> float:
        """Log prior probability of the partition (the sum over sides if there are two).

        Parameters
        ----------
        *labels : array_like of shape (n_items,)
            One partition for each side of the model.

        Returns
        -------
        float
        """
        pairs = zip(self.sides, self._check(labels), strict=True)
        # The sides are independent a priori.
        return float(sum(side.prior.log_pmf(own) for side, own in pairs))

    def log_posterior(self, *labels: LabelsLike) -> float:
        """Log posterior up to a constant: `log_marginal` plus `log_prior`.

        Parameters
        ----------
        *labels : array_like of shape (n_items,)
            One partition for each side of the model.

        Returns
        -------
        float
        """
        return self.log_marginal(*labels) + self.log_prior(*labels)

    def _check(self, labels: tuple[LabelsLike, ...]) -> list[IntArray]:
        """Canonical labels of each side."""
        if len(labels) != len(self.sides):
            names = ", ".join(side.name for side in self.sides)
            raise TypeError(
                f"'labels' must be given once for each of: {names}; got {len(labels)} arguments."
            )
        return [as_labels(own, side.n_items) for side, own in zip(self.sides, labels, strict=True)]

    def fingerprint(self) -> str:
        """A hash of class, data, hyperparameters and priors: equal for models that are the same."""
        # Checkpoints hold this hash: a change here makes those of earlier versions unreadable.
        digest = hashlib.sha256(type(self).__name__.encode())
        for side in self.sides:
            digest.update(repr(side.prior).encode())
        for name, value in sorted(self._parameters().items()):
            array = np.ascontiguousarray(value)
            # Shape and type too: the bytes of [[1, 2]] are those of [[1], [2]].
            digest.update(f"{name}{array.shape}{array.dtype}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()[:32]

    def __repr__(self) -> str:
        size = ", ".join(f"{side.n_items} {side.name}" for side in self.sides)
        return f"{type(self).__name__}({size}, prior={self.sides[0].prior})"
