"""Consensus of base clusterings, as a scikit-learn estimator.

The base clusterings of an ensemble are draws of a partition, each with a weight; their consensus is
the partition with the smallest mean loss to them (Strehl & Ghosh 2003, whose mean normalized mutual
information is one such loss, doi:10.1162/153244303321897735).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import AnyArray, IntArray, LossLike, RngLike
from epluribus._validate import check_choice, need
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.readers.objects import NOISE, is_ensemble, place_noise, stack_labels
from epluribus.search._minimize import minimize

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, ClusterMixin
else:
    _base = need("sklearn.base", "sklearn", "ConsensusClustering")
    BaseEstimator, ClusterMixin = _base.BaseEstimator, _base.ClusterMixin


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """One partition out of an ensemble of base clusterings.

    Parameters
    ----------
    loss : str or Loss, default "vi"
        The loss whose mean over the base clusterings is minimized; see `epluribus.losses.available`.
    k : int, optional
        Exact number of clusters; found by itself by default.
    k_max : int, optional
        Largest number of clusters.
    weights : array_like of shape (n_clusterings,), optional
        Weight of each base clustering. All 1 by default.
    noise : {"alone", "together"}, default "alone"
        What becomes of samples labelled -1, which in scikit-learn belong to no cluster: in that base
        clustering each is a cluster of its own, or all are one.
    n_starts : int, optional
        Number of starts of the search, as in `minimize`.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    rng : int, Generator or SeedSequence, optional
        Source of randomness: the same gives the same answer.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The consensus: 0, 1, ... in order of first appearance.
    n_clusters_ : int
        Its number of clusters.
    expected_loss_ : float
        Its mean loss to the base clusterings.
    estimate_ : Estimate
        All that `minimize` says of it.
    n_features_in_ : int
        Number of base clusterings.

    Notes
    -----
    `X` has one sample a row and one base clustering a column: a clustering is a categorical feature
    of the samples. So the consensus is the last step of a pipeline like any other clusterer, and
    selecting columns selects clusterings. It is the transpose of the array that `Draws` takes.

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> X = np.array([[0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 0, 1]])
    >>> epl.ConsensusClustering(rng=1).fit_predict(X)
    array([0, 0, 1, 1, 1])

    Base clusterings that were fitted already:

    >>> from sklearn.cluster import AgglomerativeClustering
    >>> points = [[0.0], [0.1], [5.0], [5.2], [9.0]]
    >>> base = [AgglomerativeClustering(k).fit(points) for k in (2, 3, 4)]
    >>> epl.ConsensusClustering(weights=[1, 2, 1], rng=1).fit(base).labels_
    array([0, 0, 1, 1, 2])
    """

    def __init__(
        self,
        loss: LossLike = "vi",
        *,
        k: int | None = None,
        k_max: int | None = None,
        weights: Sequence[float] | AnyArray | None = None,
        noise: str = "alone",
        n_starts: int | None = None,
        n_jobs: int | None = None,
        rng: RngLike = None,
    ) -> None:
        self.loss = loss
        self.k = k
        self.k_max = k_max
        self.weights = weights
        self.noise = noise
        self.n_starts = n_starts
        self.n_jobs = n_jobs
        self.rng = rng

    def fit(self, X: ArrayLike | Sequence[Any], y: Any = None) -> ConsensusClustering:  # noqa: ARG002
        """Find the consensus.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_clusterings), or list of fitted estimators
            Labels, one base clustering a column; or clusterers with `labels_`.
        y : None
            Ignored, there for scikit-learn.

        Returns
        -------
        ConsensusClustering
            Itself.
        """
        best = minimize(
            Draws(self._rows(X), weights=self.weights),
            self.loss,
            k=self.k,
            k_max=self.k_max,
            n_starts=self.n_starts,
            n_jobs=self.n_jobs,
            rng=self.rng,
        )
        self.estimate_: Estimate = best
        self.labels_: IntArray = best.labels
        self.n_clusters_: int = best.n_clusters
        self.expected_loss_: float = best.expected_loss
        return self

    def _rows(self, X: Any) -> AnyArray:
        """Base clusterings, one a row, checked."""
        check_choice(self.noise, NOISE, "noise")
        if is_ensemble(X):
            self.n_features_in_ = len(X)
            return stack_labels(X, self.noise)
        validate = need("sklearn.utils.validation", "sklearn", "ConsensusClustering").validate_data
        table = validate(self, X, dtype=None)
        if table.dtype.kind == "f":
            _refuse_features(table)
        return place_noise(table.T, self.noise)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _refuse_features(table: AnyArray) -> None:
    bad = np.argwhere(table != np.rint(table))
    if bad.size:
        i, t = bad[0]
        raise ValueError(
            f"'X' must hold labels, one base clustering a column; sample {i}, column {t} (counted "
            f"from 0) has {table[i, t]}, which is no label. Of features, make base clusterings first, "
            "with KMeans for one, and give these."
        )
