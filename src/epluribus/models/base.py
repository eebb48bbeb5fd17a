"""The base of all models: checked data, priors on partitions, and statistics for the compiled moves.

A model defines a posterior on partitions up to a constant, with all other parameters integrated out:

    log p(partition | data) = log p(data | partition) + log p(partition) + constant

A model has one *side*, the items it clusters, or two (the rows and the columns of a matrix). Each side has
a name, a number of items and a prior. `states` makes the arrays on which the moves work, for each side.
docs/about/developers.md says where to begin with a model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from epluribus._kernels.states import (
    COUNT,
    LABEL,
    LINKED,
    LOG_FACTORIAL,
    ORDER,
    PLACE,
    SIZE,
    SUM,
    State,
)
from epluribus._typing import AnyArray, FloatArray, IntArray, LabelsLike
from epluribus.models.prior import PartitionLaw, PriorTables, cached_tables
from epluribus.partition import as_labels


@dataclass(frozen=True)
class Side:
    """One set of items that a model clusters."""

    name: str
    """What the items are, in the plural: "items", "nodes", "rows"."""
    n_items: int
    prior: PartitionLaw
    """Prior on the partitions of these items."""
    items: tuple[str, ...] | None = None
    """Names of the items, which the draws carry; None for numbers."""

    @property
    def tables(self) -> PriorTables:
        """The prior's two tables for this number of items."""
        # All chains share them: they must not be written to.
        return cached_tables(self.prior, self.n_items)


class Model(ABC):
    """Base of all models.

    A subclass sets `sides` and defines `states`, `_log_likelihood` and `_parameters`.

    Attributes
    ----------
    sides : tuple of Side
        The sets of items that are clustered: one, or two.
    compiled : bool
        Whether the moves can be compiled for the state; false for a model that calls a Python function.
    weak_items : bool
        Whether one item says little about the cluster it belongs to, as in a sparse network: a chain that
        begins with one cluster may then never leave it.

    Examples
    --------
    >>> from epluribus.models import GaussianMixture
    >>> model = GaussianMixture([0.1, -0.2, 5.0])
    >>> model
    GaussianMixture(3 items, prior=PartitionPrior(concentration=4.0, on_k='uniform', k_max=50))
    >>> parts = model.log_marginal([0, 0, 1]), model.log_prior([0, 0, 1])
    >>> bool(sum(parts) == model.log_posterior([0, 0, 1]))
    True
    """

    sides: tuple[Side, ...]
    compiled: bool = True
    weak_items: bool = False

    @abstractmethod
    def states(self, partitions: Sequence[Partition]) -> tuple[State, ...]:
        """Fresh states, one per side, with empty statistics of the right size.

        They are filled by the first step of a chain, and share arrays with the partitions.
        """

    @abstractmethod
    def _log_likelihood(self, *labels: IntArray) -> float:
        """Log marginal likelihood of canonical labels, one array per side, from scratch."""

    @property
    def n_items(self) -> int:
        """Number of items of the first side."""
        return self.sides[0].n_items

    def log_marginal(self, *labels: LabelsLike) -> float:
        """Log marginal likelihood log p(data | partition), computed from scratch.

        Parameters
        ----------
        *labels : array_like of shape (n_items,)
            One partition for each side of the model; any labels will do, such as names.

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
        # The partitions of the sides are independent a priori.
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

    def remark(self, *labels: IntArray) -> str:  # noqa: ARG002 - a subclass may look at them
        """What canonical labels make one doubt about the model, in a sentence; mostly nothing."""
        return ""

    def _check(self, labels: tuple[LabelsLike, ...]) -> list[IntArray]:
        """Canonical labels of each side; an error if there are too few or too many arguments."""
        if len(labels) != len(self.sides):
            names = ", ".join(side.name for side in self.sides)
            raise TypeError(
                f"'labels' must be given once for each of: {names}; got {len(labels)} arguments."
            )
        return [as_labels(own, side.n_items) for side, own in zip(self.sides, labels, strict=True)]

    def __str__(self) -> str:
        # What the prior implies for the number of clusters, on each side.
        implied = [side.prior.describe(side.n_items) for side in self.sides]
        return "\n".join([repr(self), *(f"  {line}" for line in implied)])

    def __repr__(self) -> str:
        # For example "435 rows, 16 columns".
        size = ", ".join(f"{side.n_items} {side.name}" for side in self.sides)
        return f"{type(self).__name__}({size}, prior={self.sides[0].prior})"


# --- the arrays on which the moves work ---


class Partition(NamedTuple):
    """The arrays that a state has whatever the model."""

    own: IntArray
    logs: FloatArray

    @property
    def slots(self) -> int:
        """The largest possible number of clusters."""
        return int(self.own[COUNT, 1])


def make_partition(labels: IntArray, tables: PriorTables) -> Partition:
    """The partition of canonical labels, ready for moves.

    Parameters
    ----------
    labels : ndarray of shape (n_items,)
        Canonical labels of at most `tables.slots` clusters.
    tables : PriorTables
        The prior for this number of items.
    """
    slots, n_items = tables.slots, labels.size
    own = np.zeros((LINKED + 1, n_items + 1), dtype=np.int64)
    own[LABEL, :n_items] = labels
    own[SIZE, :slots] = np.bincount(labels, minlength=slots)
    # Labels are canonical: the non-empty clusters are 0..K-1, as their order must begin.
    own[ORDER, :slots] = own[PLACE, :slots] = np.arange(slots)
    own[COUNT, :2] = labels.max() + 1, slots
    work = np.zeros((SUM - LOG_FACTORIAL, 0))
    rows = (tables.log_weight, tables.log_size, gammaln(np.arange(n_items + 1) + 1.0), *work)
    return Partition(own, stack(*rows, width=n_items + 2))


def make_state(
    partition: Partition,
    model: Any,
    stat: tuple[int, int],
    *,
    hyper: Any = (),
    x: AnyArray | None = None,
    links: tuple[IntArray, IntArray] | None = None,
    table: FloatArray | None = None,
    other: Partition | None = None,
) -> State:
    """A state with empty statistics; what a model does not need may be left out.

    Parameters
    ----------
    partition : Partition
        The side's own.
    model : int or callable
        The number of a built-in model, or a function; see `epluribus._kernels.likelihood`.
    stat : (int, int)
        Shape of the statistics.
    hyper, x, links, table : optional
        Fields of `State`; `links` is `start` and `near`.
    other : Partition, optional
        The other side; by default this one.
    """
    start, near = links or (np.zeros(1, dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
    n_items = partition.own.shape[1] - 1
    return State(
        model=model,
        hyper=np.asarray(hyper, dtype=np.float64),
        x=np.zeros((n_items, 0)) if x is None else np.ascontiguousarray(x, dtype=np.float64),
        start=start,
        near=near,
        table=np.zeros((1, 0)) if table is None else table,
        stat=np.zeros(stat),
        own=partition.own,
        other=(other or partition).own,
        logs=partition.logs,
    )


def stack(*rows: AnyArray, width: int = 0) -> FloatArray:
    """Rows of different lengths in one table, filled up with zeros."""
    out = np.zeros((len(rows), max(width, *(len(row) for row in rows))))
    for own, row in zip(out, rows, strict=True):
        own[: len(row)] = row
    return out
