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
import pandas as pd
from numpy.typing import ArrayLike

from epluribus._text import to_frame
from epluribus._typing import AnyArray, IntArray, LossLike, RngLike
from epluribus._validate import as_array, check_choice, check_count, make_rng, need, shown
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.losses.values import loss as loss_between
from epluribus.partition import item_names
from epluribus.readers import NOISE, is_ensemble, to_source
from epluribus.readers.columns import Source
from epluribus.search._minimize import minimize

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, ClusterMixin, clone
    from sklearn.utils.validation import check_is_fitted, validate_data
else:
    _base = need("sklearn.base", "sklearn", "ConsensusClustering")
    BaseEstimator, ClusterMixin, clone = _base.BaseEstimator, _base.ClusterMixin, _base.clone
    _checks = need("sklearn.utils.validation", "sklearn", "ConsensusClustering")
    check_is_fitted, validate_data = _checks.check_is_fitted, _checks.validate_data

_SHUFFLES = 999
"""Random regroupings behind a p-value, which is then at least 0.001."""


@dataclass(repr=False, eq=False)
class ConsensusClustering(ClusterMixin, BaseEstimator):
    """One partition out of an ensemble of base clusterings.

    Parameters
    ----------
    loss : str or Loss, default "vi"
        The loss whose mean over the base clusterings is minimized; see `epluribus.losses.available`.
    estimators : list of clusterers, optional
        What makes the base clusterings of the features `X`. By default `X` holds base clusterings.
    n_fits : int, default 1
        How often each of the `estimators` is fitted, with another seed where it takes one.
    subsample : float, default 1.0
        Share of the samples, drawn at random, to which each of them is fitted. The others are then missing in
        that base clustering.
    n_clusters : int, optional
        Exact number of clusters; by default it is found together with the consensus.
    k_min, k_max : int, optional
        Smallest and largest number of clusters.
    weights : array_like of shape (n_clusterings,), optional
        Weight of each base clustering. All 1 by default.
    noise : {"alone", "together", "missing"}, default "alone"
        What happens to samples labeled -1, which in scikit-learn belong to no cluster: in that base
        clustering each is a cluster by itself, or all are one cluster, or it has not seen them.
    constraints : Constraints, optional
        Conditions on the clusters, as in `minimize`. Samples are named by number, or by the index of a data frame.
    undecided : float, optional
        Cost of leaving a sample out with a label of -1, as in `minimize`.
    n_starts : int, optional
        Number of starts of the search, at least, as in `minimize`.
    n_jobs : int, optional
        Threads of the search; all cores by default. The result does not depend on it.
    random_state : int, RandomState, Generator or SeedSequence, optional
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
    draws_ : Draws
        The base clusterings, for `epluribus.items`, `epluribus.modes` and the other functions of an estimate.
    estimators_ : list of clusterers
        The fitted clusterers, one for each base clustering; empty if `X` held labels.
    n_features_in_ : int
        Number of columns of `X`, or of base clusterings.

    Notes
    -----
    Without `estimators`, `X` has one sample per row and one base clustering per column: a clustering is a
    categorical feature of the samples. The consensus can therefore be the last step of a pipeline, and selecting
    columns selects clusterings. `X` is the transpose of the array that `Draws` takes.

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> X = np.array([[0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 0, 1]])
    >>> epl.ConsensusClustering(random_state=1).fit_predict(X)
    array([1, 1, 0, 0, 0])

    From features, by clusterers that are fitted here:

    >>> from sklearn.cluster import KMeans
    >>> points = [[0.0], [0.1], [5.0], [5.2], [5.1]]
    >>> model = epl.ConsensusClustering(estimators=[KMeans(2), KMeans(3)], n_fits=5, random_state=1)
    >>> model.fit(points).labels_, model.predict([[0.2], [4.9]])
    (array([1, 1, 0, 0, 0]), array([1, 0]))
    """

    # scikit-learn's convention: arguments are stored unchanged under their names, and checked in `fit`.
    # `clone` and `get_params` rely on it.
    loss: LossLike = "vi"
    _: KW_ONLY
    estimators: Sequence[Any] | None = None
    n_fits: int = 1
    subsample: float = 1.0
    n_clusters: int | None = None
    k_min: int | None = None
    k_max: int | None = None
    weights: Sequence[float] | AnyArray | None = None
    noise: str = "alone"
    constraints: Any = None
    undecided: float | None = None
    n_starts: int | None = None
    n_jobs: int | None = None
    random_state: RngLike = None

    def fit(self, X: ArrayLike | Sequence[Any], y: Any = None) -> ConsensusClustering:  # noqa: ARG002
        """Find the consensus.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features) or (n_samples, n_clusterings), or list
            With `estimators` features. Without, labels, one base clustering per column; or a list of fitted
            clusterers with `labels_`; or a list of pairs (samples, labels) of clusterings that saw some of the
            samples each. NaN and None are labels that are missing.
        y : None
            Ignored; scikit-learn requires the argument.

        Returns
        -------
        ConsensusClustering
            The estimator itself.
        """
        check_choice(self.noise, NOISE, "noise")
        rng = make_rng(self.random_state)
        base = self._read(X) if self.estimators is None else self._fit_base(X, rng)
        base = base._replace(items=base.items or item_names(X))
        self._base: AnyArray = np.asarray(base.labels)
        self.draws_ = Draws(base, weights=self.weights, noise=self.noise, kind="ensemble")
        names = ("k_min", "k_max", "constraints", "undecided", "n_starts", "n_jobs")
        options = {name: getattr(self, name) for name in names}
        n = self.draws_.n_items
        if self.n_clusters is not None and check_count(self.n_clusters, "n_clusters") > n:
            raise ValueError(
                f"'n_clusters' must be at most {n}, the samples; got {self.n_clusters}."
            )
        best = minimize(
            self.draws_, self.loss, k=self.n_clusters, rng=rng, progress=False, **options
        )
        self.estimate_: Estimate = best
        self.labels_: IntArray = best.labels
        self.n_clusters_: int = best.n_clusters
        self.expected_loss_: float = best.expected_loss
        return self

    def predict(self, X: ArrayLike) -> IntArray:
        """The clusters of new samples: where the samples are that the base clusterings put them with.

        Parameters
        ----------
        X : array_like of shape (n_new, n_features) or (n_new, n_clusterings)
            With `estimators` features, for which each of the fitted clusterers must be able to predict; without,
            the labels of the new samples in the base clusterings.

        Returns
        -------
        ndarray of shape (n_new,)
            The cluster with whose samples each new one shares a cluster most often; -1 if with none.
        """
        check_is_fitted(self, "labels_")
        if self.estimators is None:
            new = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=False)
        else:
            features = validate_data(self, X, reset=False)
            for one in self.estimators_:
                if not hasattr(one, "predict"):
                    raise TypeError(
                        f"'estimators' must be able to predict; {type(one).__name__} is not. Leave it out, or predict "
                        "with a classifier that is fitted to labels_."
                    )
            new = np.column_stack([one.predict(features) for one in self.estimators_])
        n, inside = len(self.labels_), self.labels_ >= 0
        similarity = np.zeros((len(new), self.n_clusters_))
        for weight, old, column in zip(self.draws_.draw_weights, self._base, new.T, strict=True):
            code = pd.factorize(np.append(old, column))[0]
            if self.noise != "together":
                code[np.append(old, column) == -1] = -1
            # Samples of each label in each cluster; the last row, that of missing labels, counts for nothing.
            table = np.zeros((code.max() + 2, self.n_clusters_))
            np.add.at(table, (code[:n][inside], self.labels_[inside]), 1.0)
            table[-1] = 0.0
            similarity += weight * table[code[n:]] / np.maximum(table.sum(axis=0), 1.0)
        return np.where(similarity.any(axis=1), similarity.argmax(axis=1), -1)

    def compare_groups(self, groups: ArrayLike | None = None) -> Any:
        """Whether groups of base clusterings, such as algorithms, disagree.

        Parameters
        ----------
        groups : array_like of shape (n_clusterings,), optional
            The group of each base clustering; by default the number of its estimator.

        Returns
        -------
        pandas.DataFrame
            For each group the number of its clusterings, the mean variation of information in bits between two
            of them, and between one of them and one of the others; and a p-value: how often random groups of this
            size are as far from all others, by the energy distance. A small one says that they disagree with some of
            these. Copies of one clustering are no evidence: give each once. A group of one has no mean within.
        """
        check_is_fitted(self, "labels_")
        rows, rng = np.asarray(self.draws_), make_rng(self.random_state)
        n = len(rows)
        if groups is None and not self.estimators_:
            raise ValueError(f"'groups' must have the group of each of the {n} base clusterings.")
        group = np.arange(n) % len(self.estimators or ()) if groups is None else np.asarray(groups)
        if group.shape != (n,) or len(np.unique(group)) < 2:
            raise ValueError(
                f"'groups' must have the group of each of the {n} base clusterings, two groups at least; got "
                f"{shown(groups)}."
            )
        apart = np.zeros((n, n))
        for i, j in zip(*np.triu_indices(n, 1), strict=True):
            both = (rows[i] >= 0) & (rows[j] >= 0)
            apart[i, j] = apart[j, i] = loss_between(rows[i][both], rows[j][both], "vi")

        def within(own: AnyArray) -> float:
            return float(apart[own][:, own].sum()) / max(1, own.sum() * (own.sum() - 1))

        def distance(own: AnyArray) -> float:
            return 2 * float(apart[own][:, ~own].mean()) - within(own) - within(~own)

        table = []
        for name in np.unique(group):
            own = group == name
            least = distance(own) - 1e-12  # as far, but for rounding
            far = sum(distance(rng.permutation(own)) >= least for _ in range(_SHUFFLES))
            between, p_value = apart[own][:, ~own].mean(), (1 + far) / (1 + _SHUFFLES)
            table.append(
                (name, own.sum(), within(own) if own.sum() > 1 else np.nan, between, p_value)
            )
        heading = ("group", "clusterings", "within", "between", "p_value")
        return to_frame(dict(zip(heading, zip(*table, strict=True), strict=True)), "group")

    def _fit_base(self, X: Any, rng: np.random.Generator) -> Source:
        """Base clusterings of features, by fitted copies of the estimators."""
        share, features, given = self.subsample, validate_data(self, X), self.estimators
        if not 0.0 < share <= 1.0:
            raise ValueError(f"'subsample' must be above 0 and at most 1; got {shown(share)}.")
        if not isinstance(given, list | tuple) or not all(hasattr(e, "fit_predict") for e in given):
            raise TypeError(
                f"'estimators' must be a list of clusterers, such as [KMeans(3)]; got {shown(given)}."
            )
        n, n_fits = len(features), check_count(self.n_fits, "n_fits")
        self.estimators_ = [clone(one) for _ in range(n_fits) for one in given]
        labels = np.full((len(self.estimators_), n), np.nan)
        for number, (one, row) in enumerate(zip(self.estimators_, labels, strict=True)):
            # A seed that was given is that of the first fit: the same in all of them would fit the same again.
            options = one.get_params()
            if "random_state" in options and (
                number >= len(given) or options["random_state"] is None
            ):
                one.set_params(random_state=int(rng.integers(1 << 31)))
            seen = np.sort(rng.permutation(n)[: max(1, round(share * n))])
            row[seen] = one.fit_predict(features[seen])
        unseen = np.isnan(labels) | ((labels == -1) & (self.noise == "missing"))
        for i in np.flatnonzero(unseen.all(axis=0))[:1]:
            raise ValueError(
                f"Sample {i} (counted from 0) has no label in any base clustering. Raise 'n_fits' or 'subsample', or "
                'choose noise="alone".'
            )
        return Source(labels)

    def _read(self, X: Any) -> Source:
        """Base clusterings that were made elsewhere, one per row, checked."""
        self.estimators_ = []
        pairs = (
            isinstance(X, list) and bool(X) and isinstance(X[0], tuple) and np.ndim(X[0][0]) == 1
        )
        if pairs or is_ensemble(X):
            self.n_features_in_ = len(X)
            return to_source(X, argument="X")
        # First what scikit-learn leaves to others, whose messages do not name the argument.
        if isinstance(X, list | tuple) or hasattr(X, "data_vars"):
            as_array(X, "X")
        # scikit-learn's own check: it sets `n_features_in_` and raises the errors that its tools expect.
        table = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan")
        # A common mistake is to pass features instead of labels: integers stored as floats are fine.
        odd = (table != np.rint(table)) & ~np.isnan(table) if table.dtype.kind == "f" else table[:0]
        for i, t in np.argwhere(odd)[:1]:
            raise ValueError(
                f"'X' must hold labels, one base clustering per column; sample {i}, column {t} (counted "
                f"from 0) has {table[i, t]}, which is not a label. If 'X' holds features, say how to cluster "
                "them: ConsensusClustering(estimators=[KMeans(3)])."
            )
        return Source(table.T)

    def __sklearn_tags__(self) -> Any:
        # Labels are names: any integers or strings.
        tags, labels = super().__sklearn_tags__(), self.estimators is None
        tags.input_tags.categorical = labels
        tags.input_tags.string = labels
        tags.input_tags.allow_nan = labels
        return tags
