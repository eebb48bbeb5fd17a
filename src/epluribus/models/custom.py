"""Any log posterior that is a function of the labels: slow, general (the paper's appendix).

The moves are those of the compiled models, run as plain Python; each look at a partition is one
call of the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._kernels.custom import CustomState
from epluribus._validate import check_count
from epluribus.models.base import Model, Side
from epluribus.models.prior import FlatPrior, PartitionLaw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from epluribus._kernels.chain import Partition
    from epluribus._typing import IntArray

__all__ = ["CustomModel"]


class CustomModel(Model):
    """A model given by a function of the labels.

    Parameters
    ----------
    log_posterior : callable
        Takes labels of shape (n_items,), clusters numbered 0, 1, ... in order of first appearance,
        and returns the log posterior up to a constant. Minus infinity forbids a partition. It must
        depend on the partition only.
    n_items : int
        Number of items.
    k_max : int, optional
        Largest number of clusters; `n_items` by default.
    prior : PartitionLaw, optional
        A prior to add, if the function is the log likelihood alone. None is added by default.

    Notes
    -----
    A Gibbs update calls the function once per cluster: thousands of updates a second, where
    compiled models make a million. docs/developer/new-model.md tells how to write a compiled model.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.models import CustomModel
    >>> from epluribus.sampling import sample
    >>> def few_clusters(labels):
    ...     return -2.0 * (labels.max() + 1)
    >>> model = CustomModel(few_clusters, n_items=4)
    >>> trace = sample(model, n_draws=50, thin=4, burn_in=20, n_chains=1, rng=1)
    >>> trace.draws.n_items
    4
    """

    compiled = False
    statistics = ("missing", "current")

    def __init__(
        self,
        log_posterior: Callable[[IntArray], float],
        n_items: int,
        *,
        k_max: int | None = None,
        prior: PartitionLaw | None = None,
    ) -> None:
        if not callable(log_posterior):
            raise TypeError(
                f"'log_posterior' must be a function of the labels; got {log_posterior!r}."
            )
        N = check_count(n_items, "n_items")
        if prior is not None and not isinstance(prior, PartitionLaw):
            raise TypeError(f"'prior' must be an object such as DirichletProcess; got {prior!r}.")
        if prior is not None and k_max is not None:
            raise ValueError("'k_max' must be left out where 'prior' is given: the prior has it.")
        self._function = log_posterior
        bound = N if k_max is None else check_count(k_max, "k_max")
        self.sides = (Side("items", N, FlatPrior(bound) if prior is None else prior),)

    def _evaluate(self, labels: IntArray) -> float:
        value = float(self._function(labels))
        if np.isnan(value) or value == np.inf:
            raise ValueError(
                f"'log_posterior' must return a number or minus infinity; it returned {value} "
                "for labels "
                f"{np.array2string(labels, threshold=20)}."
            )
        return value

    def _log_likelihood(self, *labels: IntArray) -> float:
        return self._evaluate(labels[0])

    def states(self, partitions: Sequence[Partition]) -> tuple[CustomState]:  # noqa: ARG002
        """Fresh states, one per side."""
        return (CustomState(self._evaluate, np.zeros(1, np.int64), np.zeros(1), {}),)

    def _parameters(self) -> dict[str, Any]:
        # A function cannot be compared; its name and size are the best there is.
        name = getattr(self._function, "__qualname__", type(self._function).__name__)
        return {"name": np.frombuffer(name.encode(), dtype=np.uint8)}
