"""Any log posterior that is a function of the labels: slow but general (the paper's appendix).

The moves are those of the compiled models, run as plain Python; each partition that is considered costs one
call of the function. The moves also need the log target of partitions of some of the items, through

    log f(all items) = sum_i [ log f(items 1..i) - log f(items 1..i-1) ].

A function of all labels has no value for some of them, so it is taken as 0 there: the first N - 1 terms are 0
and the last is the whole value. The sum is right in any order of the items, and every acceptance ratio is
exact. The price is that a split begins with parts that are made at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from epluribus._kernels.states import ADD, LABEL, PREDICT, REMOVE, State
from epluribus._typing import IntArray
from epluribus._validate import check_count, shown
from epluribus.models.base import Model, Partition, Side, make_state
from epluribus.models.prior import FlatPrior, PartitionLaw
from epluribus.partition import relabel


class CustomModel(Model):
    """A model given by a function of the labels.

    Parameters
    ----------
    log_posterior : callable
        Takes labels of shape (n_items,), clusters numbered 0, 1, ... in order of first appearance,
        and returns the log posterior up to a constant. Minus infinity forbids a partition. The value must
        depend on the partition alone.
    n_items : int
        Number of items.
    k_max : int, optional
        Largest number of clusters; `n_items` by default.
    prior : PartitionLaw, optional
        A prior to add, if the function is the log likelihood alone. By default no prior is added.

    Notes
    -----
    A Gibbs update calls the function once per cluster: thousands of updates per second, where compiled
    models reach a million. docs/about/developers.md says where to begin with a compiled model.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.models import CustomModel
    >>> from epluribus.sampling import sample
    >>> def few_clusters(labels):
    ...     return -2.0 * (labels.max() + 1)
    >>> model = CustomModel(few_clusters, n_items=4)
    >>> trace = sample(model, n_draws=50, thin=4, burn=20, n_chains=1, rng=1)
    >>> trace.draws.n_items
    4
    """

    compiled = False

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
                f"'log_posterior' must be a function of the labels; got {shown(log_posterior)}."
            )
        N = check_count(n_items, "n_items")
        if prior is not None and not isinstance(prior, PartitionLaw):
            raise TypeError(
                f"'prior' must be an object such as DirichletProcess; got {shown(prior)}."
            )
        if prior is not None and k_max is not None:
            raise ValueError("'k_max' must be left out where 'prior' is given: the prior has it.")
        self._function = log_posterior
        # Without a prior the function is the whole log posterior: every partition has weight 1.
        bound = N if k_max is None else check_count(k_max, "k_max")
        self.sides = (Side("items", N, FlatPrior(bound) if prior is None else prior),)

    def _evaluate(self, labels: IntArray) -> float:
        """The user's function, its value checked."""
        value = float(self._function(labels))
        # Minus infinity is a probability of 0; NaN or infinity would break every comparison in the moves.
        if np.isnan(value) or value == np.inf:
            raise ValueError(
                f"'log_posterior' must return a number or minus infinity; it returned {value} "
                f"for labels {np.array2string(labels, threshold=20)}."
            )
        return value

    def _log_likelihood(self, *labels: IntArray) -> float:
        return self._evaluate(labels[0])

    def states(self, partitions: Sequence[Partition]) -> tuple[State]:
        """One fresh state; see `Model.states`.

        The statistics have a row for each cluster, with the log target if the one missing item joins it, as far
        as computed, else NaN; and a last row with the log target of the labels if no item is missing, else 0.
        """
        own = partitions[0]
        return (make_state(own, self._answer, (own.slots + 1, 1)),)

    def _answer(self, what: int, i: int, g: int, m: State) -> float:
        """What the moves ask; see `epluribus._kernels.likelihood`."""
        labels, known, current = m.own[LABEL, :-1], m.stat[:-1, 0], m.stat[-1]
        # A label of -1 marks an item that is taken out. If others are missing too, the log target is 0 with and
        # without item i.
        alone = np.count_nonzero(labels < 0) == 1
        value = 0.0
        if what == REMOVE:
            value = float(current[0])
        elif what in (PREDICT, ADD) and alone:
            if np.isnan(known[g]):
                trial = labels.copy()
                trial[i] = g
                # The user's function sees canonical labels, whatever the numbers of the clusters in the chain.
                known[g] = self._evaluate(relabel(trial))
            value = float(known[g])
        if what != PREDICT:
            known[:] = np.nan
        if what == ADD:
            current[0] = value
        elif what == REMOVE:
            current[0] = 0.0
            if alone:  # the value of putting it back is known already
                known[g] = value
        return value
