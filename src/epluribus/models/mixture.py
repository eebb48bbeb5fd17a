"""The base of all mixtures: given the partition clusters are independent, and items exchangeable in each.

    log p(Y | partition) = sum over clusters g of log p(Y_g)

where p(Y_g) has the parameters of the cluster integrated out. What a mixture says about new items and about
missing cells follows from p(y | Y_g) = p(Y_g and y) / p(Y_g), which each mixture gives in closed form.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.models.base import Model
from epluribus.models.prior import cached_tables

BoolArray: TypeAlias = NDArray[np.bool_]


class Mixture(Model):
    """Base of mixtures of independent, identically distributed items.

    A subclass sets `values` and defines `_log_cluster`, `_log_new`, `_read`, `states` and `_parameters`.
    """

    values: AnyArray
    """(n_items, n_columns) the data, as the statistics need them."""
    kind: ClassVar[str] = "numbers"
    """What a cell is: "numbers", "counts" or "categories"."""

    @abstractmethod
    def _log_cluster(self, members: IntArray) -> float:
        """Log marginal likelihood of the items with these numbers in one cluster; from scratch."""

    @abstractmethod
    def _log_new(self, members: IntArray, new: AnyArray) -> FloatArray:
        """(n_new,) log predictive density of new items in the cluster of `members`, perhaps empty."""

    @abstractmethod
    def _read(self, new: Any) -> AnyArray:
        """New items, checked and in the form of `values`."""

    def _log_likelihood(self, *labels: IntArray) -> float:
        n_clusters = int(labels[0].max()) + 1
        return sum(self._log_cluster(np.flatnonzero(labels[0] == g)) for g in range(n_clusters))

    def _log_prior_new(self, sizes: IntArray) -> FloatArray:
        """(K + 1,) log prior probabilities that one more item joins each cluster, or opens a new one."""
        table = cached_tables(self.sides[0].prior, int(sizes.sum()) + 1)
        K = sizes.size
        out = np.full(K + 1, -np.inf)
        if table.slots >= K:
            out[:K] = table.log_weight[K] + table.log_size[sizes + 1] - table.log_size[sizes]
        if table.slots > K:
            out[K] = table.log_weight[K + 1] + table.log_size[1]
        top = out.max()
        return np.asarray(out - top - np.log(np.exp(out - top).sum()))

    # --- for the check of predictions: `epluribus.uncertainty.predictive_check` ---

    @abstractmethod
    def _known(self) -> BoolArray:
        """(n_items, n_columns) which cells are not missing."""

    @abstractmethod
    def _hide(self, cells: BoolArray) -> Mixture:
        """The same model, prior included, with these cells missing too."""

    @abstractmethod
    def _cell_law(self, members: IntArray) -> CellLaw:
        """What the cluster of `members` says about the next value of each column."""

    def _copy(self, values: AnyArray) -> Self:
        """The same model of other values, with as many columns."""
        other = copy.copy(self)
        other.values = np.ascontiguousarray(values)
        other.sides = (replace(self.sides[0], n_items=len(values), items=None),)
        return other


class CellLaw(ABC):
    """Predictive distributions of the next value of every column of a cluster."""

    @abstractmethod
    def log_density(self, columns: IntArray, values: AnyArray) -> FloatArray:
        """(n,) log densities or log probabilities of values in these columns."""

    def below(self, columns: IntArray, values: AnyArray) -> tuple[FloatArray, FloatArray]:
        """(n,) probabilities of a smaller value, and of one that is not larger."""
        raise NotImplementedError
