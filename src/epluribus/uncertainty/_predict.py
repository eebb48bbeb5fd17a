"""To which cluster of the estimate a new item belongs, averaged over the draws.

Given draw t, with clusters D and prior weights w_t, a new item y joins D with weight w_t(D) p(y | Y_D), and
opens a new one with weight w_t(new) p(y). Its own data say something about the draws too, so that draws are
averaged with these weights as they are, not normalized one by one:

    P(y in C) = sum_t p_t sum_D w_t(D) p(y | Y_D) |C and D| / |D|  /  sum_t p_t p_t(y)

where p_t(y) is the sum of all weights of draw t. The share |C and D| / |D| is the probability that a random
item of the cluster that y joins belongs to cluster C of the estimate.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.special import logsumexp, stdtr

from epluribus._cards import Rows
from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.estimate import Estimate, read_best
from epluribus.models import GaussianMixture, Mixture
from epluribus.models.mixtures import condition

_KEPT = 1 << 24
"""Numbers (128 MB) kept for clusters that come back in other draws."""


@dataclass(frozen=True, repr=False, eq=False)
class Prediction(Rows):
    """To which cluster of the estimate each new item belongs. Rows are new items."""

    probabilities: FloatArray
    """(n_new, n_clusters + 1) probability of each cluster of the estimate, averaged over the draws; the last
    column is a cluster of its own."""
    given_estimate: FloatArray
    """(n_new, n_clusters + 1) the same if the estimate were certain."""
    log_density: FloatArray
    """(n_new,) log predictive density of each new item: very low values mark items unlike all data."""

    _index, _nowhere, _heading = "new_item", {"cluster": "new"}, "New items and their clusters"

    @property
    def labels(self) -> IntArray:
        """The likeliest cluster of each new item; -1 for one of its own."""
        best = self.probabilities.argmax(axis=1)
        return np.where(best == self.probabilities.shape[1] - 1, -1, best)

    def columns(self) -> dict[str, Any]:
        """The table as arrays by name."""
        rows = np.arange(len(self.log_density))
        return {
            "new_item": rows.tolist(),
            "cluster": self.labels,
            "probability": self.probabilities.max(axis=1),
            "given_estimate": self.given_estimate[rows, self.probabilities.argmax(axis=1)],
            "own_cluster": self.probabilities[:, -1],
            "log_density": self.log_density,
        }


def check_mixture(model: Any) -> None:
    """Raise an error for what is no mixture."""
    if not isinstance(model, Mixture):
        asked = "a mixture, such as GaussianMixture"
        raise TypeError(f"'model' must be {asked}; got a {type(model).__name__}.")


def predict(best: Estimate | LabelsLike, draws: DrawsLike, model: Mixture, new: Any) -> Prediction:
    """Cluster probabilities of new items, given the estimate and the draws of a mixture.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The estimate, whose clusters the probabilities refer to.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    model : Mixture
        The model of the data, such as `GaussianMixture`: the one that was sampled.
    new : array_like of shape (n_new,) or (n_new, n_columns)
        The new items, with the columns of the data. Cells may be missing.

    Returns
    -------
    Prediction

    Notes
    -----
    Each new item is looked at alone, as if the others were not there. The cost is that of the predictive
    densities of all new items in every distinct cluster of the draws.

    Examples
    --------
    >>> import epluribus as epl
    >>> y = [0.1, -0.2, 0.0, 0.3, 5.0, 5.3, 4.9]
    >>> model = epl.models.GaussianMixture(y)
    >>> draws = epl.sample(model, n_draws=200, rng=1).draws
    >>> best = epl.minimize(draws, rng=1)
    >>> epl.uncertainty.predict(best, draws, model, [0.2, 5.1]).labels
    array([0, 1])
    """
    check_mixture(model)
    labels, posterior, _ = read_best(best, draws, None)
    posterior.check_complete("Predicting new items")
    if posterior.n_items != model.n_items:
        asked = f"partitions of the {model.n_items} items of the model"
        raise ValueError(f"'draws' must be {asked}; they have {posterior.n_items}.")
    table, known = model._read(new), dict[bytes, FloatArray]()
    empty = model._log_new(np.zeros(0, dtype=np.int64), table)

    def weigh(z: IntArray) -> FloatArray:
        """(n_new, K + 1) log [prior x predictive] in each cluster of a draw, and in a new one."""
        sizes, logs = np.bincount(z), []
        # The members of each cluster, from one sort; most clusters of a draw are in others too.
        for members in np.split(np.argsort(z, kind="stable"), np.cumsum(sizes)[:-1]):
            key = blake2b(members.tobytes(), digest_size=16).digest()
            if key not in known:
                if len(known) * len(empty) > _KEPT:
                    known.clear()
                known[key] = model._log_new(members, table)
            logs.append(known[key])
        return np.column_stack([*logs, empty]) + model._log_prior_new(sizes)

    # Sums over draws, in logs; one more column for a new cluster.
    top = np.full((len(table), int(labels.max()) + 2), -np.inf)
    for z, share in zip(posterior.distinct, posterior.shares, strict=True):
        if share > 0:
            logs = weigh(np.asarray(z, dtype=np.int64))
            top = np.logaddexp(top, _spread(logs, z, labels) + np.log(share))
    log_density, given = logsumexp(top, axis=1), weigh(labels)
    certain = np.exp(given - logsumexp(given, axis=1, keepdims=True))
    return Prediction(np.exp(top - log_density[:, None]), certain, log_density)


def _spread(logs: FloatArray, z: AnyArray, labels: IntArray) -> FloatArray:
    """Log weights by cluster of the estimate, from those by cluster of a draw; the new one stays apart."""
    n, K = logs.shape[1], int(labels.max()) + 1
    share = np.zeros((n, K + 1))
    np.add.at(share, (np.asarray(z, dtype=np.int64), labels), 1.0)
    share[-1, -1] = 1.0
    share /= share.sum(axis=1, keepdims=True)
    high = logs.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):  # a cluster that shares no item has probability 0
        return np.asarray(np.log(np.exp(logs - high) @ share) + high)


def predict_cells(
    model: Mixture, cells: tuple[IntArray, ...], values: AnyArray, draws: AnyArray, _: bool
) -> tuple[AnyArray, ...]:
    """Of cells that were held out, means over draws: log score, and probabilities of values below and up to it.

    Of categories their probabilities, and which occurred.
    """
    (rows, columns), n = cells, len(values)
    # Categories of the cells' columns, end to end, and whose cell each is. The first of a column is left out: its
    # probability is what the others leave, and would count them twice.
    first = getattr(model, "first", np.zeros(model.values.shape[1] + 1, dtype=np.int64))
    each = np.maximum(np.diff(first)[columns] - 1, 0)
    owner = np.repeat(np.arange(n), each)
    category = first[columns][owner] + 1 + np.arange(len(owner)) - (np.cumsum(each) - each)[owner]
    score, below, predicted = np.full(n, -np.inf), np.zeros((2, n)), np.zeros(len(owner))
    for z in draws:
        where = z[rows]
        for g in np.unique(where):
            law, own = model._cell_law(np.flatnonzero(z == g)), np.flatnonzero(where == g)
            score[own] = np.logaddexp(score[own], law.log_density(columns[own], values[own]))
            if model.kind == "categories":
                mine = np.flatnonzero(where[owner] == g)
                predicted[mine] += np.exp(law.log_density(columns[owner[mine]], category[mine]))
            else:
                below[:, own] += law.below(columns[own], values[own])
    occurred = (category == values[owner]).astype(np.int64)
    return score - np.log(len(draws)), below / len(draws), predicted / len(draws), occurred


def predict_items(
    model: GaussianMixture,
    cells: tuple[IntArray, ...],
    values: AnyArray,
    draws: AnyArray,
    open_new: bool,
) -> tuple[AnyArray, ...]:
    """The same for all cells of new items, each given those before it in its row; none is a category."""
    new = values.reshape(-1, int(cells[1].max()) + 1)
    (n, d), priors = new.shape, defaultdict[bytes, float](lambda: -np.inf)
    # Each cluster of all draws once, as bytes, with its prior weights added up; a new one has no members.
    for z in draws:
        logs = model._log_prior_new(np.bincount(z))
        for g, log_prior in enumerate(logs if open_new else logs[:-1]):
            key = np.flatnonzero(z == g).tobytes()
            priors[key] = float(np.logaddexp(priors[key], log_prior))
    # Sums over clusters of: weight, weight x probability, weight x density; the weight of a cluster is prior x
    # density of the cells before.
    sums = np.full((3, n, d), -np.inf)
    for key, log_prior in priors.items():
        members = np.frombuffer(key, dtype=np.int64)
        df, center, scale = model._student_full(members)
        before = np.full(n, log_prior)
        for column in range(d):
            first = slice(column + 1)
            law = condition(new[:, first], df, center[first], scale[first, first], column)
            with np.errstate(divide="ignore"):
                below = np.log(stdtr(law[0], (new[:, column] - law[1]) / law[2]))
            known = np.where(np.arange(d) <= column, new, np.nan)
            after = log_prior + model._log_new_full(members, known)
            for row, value in enumerate((before, before + below, after)):
                sums[row, :, column] = np.logaddexp(sums[row, :, column], value)
            before = after
    below, none = np.exp(sums[1] - sums[0]).ravel(), np.zeros(0)
    return (sums[2] - sums[0]).ravel(), np.stack([below, below]), none, none.astype(int)
