"""Consensus of base clusterings, as a scikit-learn estimator.

The base clusterings of an ensemble take the place of posterior draws, each with a weight; their consensus is
the partition with the smallest mean loss to them. Strehl & Ghosh (2003, doi:10.1162/153244303321897735)
define it in this way, with the mean normalized mutual information, to be maximized, in place of a mean loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import AnyArray, IntArray, LossLike, RngLike
from epluribus._validate import as_array, check_choice, need, quoted, shown
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.readers.objects import NOISE, is_ensemble, stack_labels
from epluribus.search._minimize import minimize

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, ClusterMixin
else:
    _base = need("sklearn.base", "sklearn", "ConsensusClustering")
    BaseEstimator, ClusterMixin = _base.BaseEstimator, _base.ClusterMixin


@dataclass(repr=False, eq=False)
class ConsensusClustering(ClusterMixin, BaseEstimator):
    """One partition out of an ensemble of base clusterings.

    Parameters
    ----------
    loss : str or Loss, default "vi"
        The loss whose mean over the base clusterings is minimized; see `epluribus.losses.available`.
    k : int, optional
        Exact number of clusters; by default it is found together with the consensus.
    k_min : int, optional
        Smallest number of clusters.
    k_max : int, optional
        Largest number of clusters.
    weights : array_like of shape (n_clusterings,), optional
        Weight of each base clustering. All 1 by default.
    noise : {"alone", "together", "missing"}, default "alone"
        What happens to samples labeled -1, which in scikit-learn belong to no cluster: in that base
        clustering each is a cluster by itself, or all are one cluster, or it has not seen them.
    constraints : Constraints, optional
        Conditions on the clusters, as in `minimize`. Samples are named by number.
    undecided : float, optional
        Cost of leaving a sample out with a label of -1, as in `minimize`.
    n_starts : int, optional
        Number of starts of the search, at least, as in `minimize`.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    rng : int, Generator or SeedSequence, optional
        Source of randomness: the same seed gives the same answer.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The consensus: 0, 1, ... by size, 0 the largest; -1 for an undecided sample.
    n_clusters_ : int
        Its number of clusters.
    expected_loss_ : float
        Its mean loss to the base clusterings.
    estimate_ : Estimate
        The full result of `minimize`.
    n_features_in_ : int
        Number of base clusterings.

    Notes
    -----
    `X` has one sample per row and one base clustering per column: a clustering is a categorical feature
    of the samples. The consensus can therefore be the last step of a pipeline, like any other clusterer,
    and selecting columns selects clusterings. `X` is the transpose of the array that `Draws` takes.

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> X = np.array([[0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 0, 1]])
    >>> epl.ConsensusClustering(rng=1).fit_predict(X)
    array([1, 1, 0, 0, 0])

    From base clusterings that have already been fitted:

    >>> from sklearn.cluster import AgglomerativeClustering
    >>> points = [[0.0], [0.1], [5.0], [5.2], [9.0]]
    >>> base = [AgglomerativeClustering(k).fit(points) for k in (2, 3, 4)]
    >>> epl.ConsensusClustering(weights=[1, 2, 1], rng=1).fit(base).labels_
    array([0, 0, 1, 1, 2])
    """

    # scikit-learn's convention: arguments are stored unchanged under their names, and checked in `fit`.
    # `clone` and `get_params` rely on it.
    loss: LossLike = "vi"
    _: KW_ONLY
    k: int | None = None
    k_min: int | None = None
    k_max: int | None = None
    weights: Sequence[float] | AnyArray | None = None
    noise: str = "alone"
    constraints: Any = None
    undecided: float | None = None
    n_starts: int | None = None
    n_jobs: int | None = None
    rng: RngLike = None

    def fit(self, X: ArrayLike | Sequence[Any], y: Any = None) -> ConsensusClustering:  # noqa: ARG002
        """Find the consensus.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_clusterings), or list of fitted estimators
            Labels, one base clustering per column; or clusterers with `labels_`. NaN and None are labels
            that are missing: the clustering has not seen the sample.
        y : None
            Ignored; scikit-learn requires the argument.

        Returns
        -------
        ConsensusClustering
            The estimator itself.
        """
        if isinstance(self.loss, list | tuple):
            raise TypeError(
                f"'loss' must be one loss, by name or a Loss; got {shown(self.loss)}. "
                "epluribus.minimize takes several."
            )
        options = self.get_params(deep=False)
        weights, noise = options.pop("weights"), options.pop("noise")
        sample = Draws(self._rows(X), weights=weights, noise=noise, kind="ensemble")
        best = minimize(sample, **options, progress=False)  # silent, as in scikit-learn
        self.estimate_: Estimate = best
        self.labels_: IntArray = best.labels
        self.n_clusters_: int = best.n_clusters
        self.expected_loss_: float = best.expected_loss
        return self

    def _rows(self, X: Any) -> AnyArray:
        """Base clusterings, one per row, checked."""
        check_choice(self.noise, NOISE, "noise")
        if is_ensemble(X):
            self.n_features_in_ = len(X)
            return stack_labels(X)
        # First what scikit-learn leaves to others, whose messages do not name the argument.
        if isinstance(X, list | tuple):
            as_array(X, "X")
        if hasattr(X, "data_vars"):
            raise TypeError(
                "'X' must be one table, with a base clustering in every column; got a Dataset of xarray "
                f"with the variables {quoted(map(str, X.data_vars))}. Give one of them, as a DataArray."
            )
        names = list(getattr(X, "columns", ()))
        if len(set(names)) < len(names):
            raise ValueError("'X' must have a different name for every column; some are the same.")
        # scikit-learn's own check: it sets `n_features_in_` and raises the errors that its tools expect.
        validate = need("sklearn.utils.validation", "sklearn", "ConsensusClustering").validate_data
        table = validate(self, X, dtype=None, ensure_all_finite="allow-nan")
        # A common mistake is to pass features instead of labels: integers stored as floats are fine.
        odd = (table != np.rint(table)) & ~np.isnan(table) if table.dtype.kind == "f" else table[:0]
        for i, t in np.argwhere(odd)[:1]:
            raise ValueError(
                f"'X' must hold labels, one base clustering per column; sample {i}, column {t} (counted "
                f"from 0) has {table[i, t]}, which is not a label. If 'X' holds features, make base "
                "clusterings from them first, for example with KMeans, and pass those."
            )
        return table.T

    def __sklearn_tags__(self) -> Any:
        # Labels are names: any integers or strings.
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags
