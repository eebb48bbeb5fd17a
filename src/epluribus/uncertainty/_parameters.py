"""Parameters of the estimated clusters, without matching the labels of the draws.

Labels mean nothing across draws: cluster 1 of one draw may be cluster 3 of the next. `cluster_parameters` needs none:
in every draw t each item i has a parameter theta_ti, its own or that of the cluster it is in, and the parameter of an
estimated cluster g is the mean over its items,

    theta_tg = (1 / n_g) sum over the items i of g of theta_ti

which exists in every draw, whatever the draw's clusters are and however they are labeled. Where the labels were summed
out, theta_ti is the mean over the model's clusters k with their probabilities, sum over k of p_tik mu_tk.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from epluribus._cards import Rows
from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus._validate import as_array, check_fraction
from epluribus.draws import Draws
from epluribus.draws.read import soft_blocks
from epluribus.estimate import Estimate, read_best
from epluribus.partition import matched
from epluribus.readers import to_source
from epluribus.readers.soft import read_soft

_CELLS = 4_000_000
"""Parameters of items held at a time: 32 MB."""


def _moments(values: FloatArray, weights: FloatArray, level: float) -> FloatArray:
    """(5, ...) weighted mean, standard deviation, lower end, median and upper end over the first axis, the draws."""
    shares = weights / weights.sum()
    mean = np.tensordot(shares, values, 1)
    sd = np.sqrt(np.tensordot(shares, (values - mean) ** 2, 1))
    # Shares add up with rounding errors: a quantile missed by rounding alone counts as reached.
    ends = np.array([(1 - level) / 2, 0.5, (1 + level) / 2]) - 1e-12
    quantiles = np.quantile(values, ends, axis=0, weights=shares, method="inverted_cdf")
    return np.stack([mean, sd, *quantiles])


@dataclass(frozen=True, repr=False, eq=False)
class ClusterParameters(Rows):
    """A parameter of the estimated clusters: one value for each draw and cluster.

    Arrays have shape (n_clusters, ...), where ... is the shape of the parameter. Every cluster is present in
    every draw.
    """

    mean: FloatArray
    """Weighted mean over the draws."""
    sd: FloatArray
    """Weighted standard deviation."""
    quantiles: FloatArray
    """(3, n_clusters, ...) lower end of the interval, median and upper end."""
    level: float
    """Probability of the interval."""
    values: FloatArray
    """(n_draws, n_clusters, ...) mean over the items of each cluster, draw by draw. Differences between
    clusters, or other functions of them, are computed from these."""
    sizes: IntArray
    """(n_clusters,) number of items of each cluster."""
    components: tuple[str, ...] = ("",)
    """Names of the numbers that the parameter has in one cluster: those of a labeled array, or 0, 1, ..."""
    _index: ClassVar[str] = "cluster"

    def columns(self) -> dict[str, Any]:
        """The table as lists by name, with the columns of each number of the parameter beside each other."""
        tail, k = 50 * (1 - self.level), len(self.mean)
        names = ("mean", "sd", f"{tail:g}%", "50%", f"{100 - tail:g}%")
        found = np.stack([self.mean, self.sd, *self.quantiles]).reshape(len(names), k, -1)
        columns: dict[str, Any] = {"cluster": list(range(k)), "size": self.sizes.tolist()}
        for component, values in zip(self.components, np.moveaxis(found, 2, 0), strict=True):
            suffix = f" [{component}]" if component else ""
            columns |= {n + suffix: c.tolist() for n, c in zip(names, values, strict=True)}
        return columns


def cluster_parameters(
    best: Estimate | LabelsLike,
    draws: DrawsLike,
    *,
    item_parameters: Any = None,
    parameters: Any = None,
    raw_labels: Any = None,
    probabilities: Any = None,
    log: bool = False,
    level: float = 0.95,
) -> ClusterParameters:
    """Posterior of a parameter of each estimated cluster: the mean over its items, draw by draw.

    In a paper: *the mean of the items of cluster 2 was 4.1 (95% interval 3.8 to 4.4)*.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The estimate.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    item_parameters : array_like of shape (n_draws, n_items, ...), optional
        A parameter of the items in each draw, such as ``mu[z]``. With chains, (n_chains, n_draws, n_items,
        ...). An xarray variable of ArviZ may have `chain` and `draw` anywhere; the items come next.
    parameters : array_like of shape (n_draws, n_labels, ...), or list of n_draws arrays, optional
        In its place, a parameter of the clusters: entry (t, k) belongs to the cluster that draw t labels k.
        The arrays of a list may have different numbers of labels.
    raw_labels : array_like of int of shape (n_draws, n_items), optional
        The sampler's own labels, to which `parameters` refers, in any form that `Draws` accepts. By default `draws`
        itself; a `Draws` keeps no raw labels, so they must then be given.
    probabilities : array_like of shape (n_draws, n_items, n_labels), optional
        In place of labels, where the model has summed them out: the probability of each label, or files, as in
        `soft_draws`. `parameters` belongs to the same draws, and `draws` are those that `soft_draws` made of them.
    log : bool, default False
        Whether `probabilities` are logarithms; these need not be normalized.
    level : float, default 0.95
        Probability of the central intervals.

    Returns
    -------
    ClusterParameters

    Notes
    -----
    No labels are matched, so that nothing depends on label switching, and every draw counts. Where a draw
    splits an estimated cluster, the mean is over its parts; where it joins two, both get what they share.
    The interval is that of the mean over the items, and not of a single item. Time O(n_draws n_items), memory at
    most 32 MB besides input and result.

    Examples
    --------
    >>> import epluribus as epl
    >>> z = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 1]]
    >>> means = [[-1.0, 5.0], [5.2, -1.2], [0.1, 5.1]]
    >>> found = epl.uncertainty.cluster_parameters([0, 0, 1, 1], z, parameters=means)
    >>> found.values
    array([[-1. ,  5. ],
           [-1.2,  5.2],
           [ 0.1,  2.6]])
    >>> round(float((found.values[:, 1] - found.values[:, 0]).mean()), 2)  # a difference of two clusters
    4.97
    """
    labels, sample, _ = read_best(best, draws, None)
    sample.check_complete("Averaging parameters")
    width = check_fraction(level, "level", one=False)
    if (item_parameters is None) == (parameters is None):
        raise ValueError("Give one of 'item_parameters' and 'parameters'.")
    name = "parameters" if item_parameters is None else "item_parameters"
    if sample.dimension is not None and sample.dimension in getattr(parameters, "dims", ()):
        raise ValueError(
            f"'parameters' must belong to clusters; these have the dimension '{sample.dimension}' of the items. Give "
            "them as item_parameters."
        )
    if raw_labels is not None and (probabilities is not None or parameters is None):
        raise ValueError(
            "'raw_labels' is for 'parameters' without 'probabilities': items need no labels."
        )
    if probabilities is not None:
        by_cluster = _soft_averages(labels, probabilities, log, parameters, sample)
    elif item_parameters is None:
        by_cluster = _averages(labels, *_check_parameters(parameters, draws, raw_labels, sample))
    else:
        by_cluster = _averages(labels, _check_item_parameters(item_parameters, sample), None)
    bad = np.argwhere(np.isnan(by_cluster))
    if bad.size:
        raise ValueError(
            f"'{name}' must have no missing values; those of draw {bad[0][0]} have some."
        )
    # Draws without weight are not part of the posterior.
    has = sample.draw_weights > 0
    found = _moments(by_cluster[has], sample.draw_weights[has], width)
    names = _component_names(
        item_parameters if parameters is None else parameters, by_cluster.shape[2:]
    )
    sizes = np.bincount(labels)
    return ClusterParameters(found[0], found[1], found[2:], width, by_cluster, sizes, names)


def _component_names(given: Any, shape: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the numbers of a parameter: of a labeled array its own, else their places."""
    if not shape:
        return ("",)
    places: list[Any] = [range(n) for n in shape]
    if hasattr(given, "dims") and len(given.dims) > len(shape):
        places = [given[dim].values for dim in given.dims[-len(shape) :]]
    return tuple(", ".join(map(str, one)) for one in product(*places))


def _averages(labels: IntArray, values: FloatArray, raw: AnyArray | None) -> FloatArray:
    """(n_draws, K, ...) mean over the items of each cluster; `raw` leads from labels to items, if given."""
    members = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    out = np.empty((len(values), len(members), *values.shape[2:]))
    step = max(1, _CELLS // (len(labels) * max(1, int(np.prod(values.shape[2:])))))
    for begin in range(0, len(values), step):
        some = slice(begin, begin + step)
        block = values[some]
        if raw is not None:
            block = block[np.arange(len(block))[:, None], raw[some]]
        for g, items in enumerate(members):
            out[some, g] = block[:, items].mean(axis=1)
    return out


def _soft_averages(
    labels: IntArray, probabilities: Any, log: bool, parameters: Any, draws: Draws
) -> FloatArray:
    """(n_draws, K, ...) mean over the items of each cluster of the sum over k of p_tik mu_tk."""
    if parameters is None:
        raise ValueError("'probabilities' is for 'parameters'; items need none.")
    soft, values = read_soft(probabilities), _as_array(parameters)
    n, n_items, k = soft.values.shape
    if values.ndim > 2 and values.shape[0] * values.shape[1] == n and values.shape[2] == k:
        values = values.reshape(-1, *values.shape[2:])
    if values.shape[:2] != (n, k):
        asked = f"({n}, {k}, ...), draws by labels of 'probabilities'"
        raise ValueError(f"'parameters' must have shape {asked}; got shape {values.shape}.")
    order = matched(pd.Series(range(n_items), soft.items), draws, "probabilities", rows=True)
    each, rest = divmod(draws.n_draws, n)
    if rest:
        raise ValueError(
            f"'probabilities' must have the {draws.n_draws} draws of 'draws', or each of them once where "
            f"`soft_draws` drew several partitions; got {n}."
        )
    members = np.eye(labels.max() + 1)[:, labels[np.argsort(order)]]
    members /= members.sum(axis=1, keepdims=True)
    parts = [
        np.einsum("tgk,tk...->tg...", members @ block, values[begin : begin + len(block)])
        for begin, block in soft_blocks(soft.values, log)
    ]
    return np.repeat(np.concatenate(parts), each, axis=0)


def _as_array(parameters: Any) -> FloatArray:
    """Parameters as numbers, chains and draws of an xarray variable first; short lists are filled up with NaN."""
    if {"draw", "sample"} & {*getattr(parameters, "dims", ())}:
        first = [name for name in ("chain", "draw", "sample") if name in parameters.dims]
        parameters = parameters.transpose(*first, ...)
    elif isinstance(parameters, list | tuple):
        arrays = [np.asarray(one, dtype=np.float64) for one in parameters]
        if all(one.ndim > 0 for one in arrays) and len({len(one) for one in arrays}) > 1:
            # No label of a draw points to what is filled in, unless the parameter is missing.
            n, rest = max(map(len, arrays)), arrays[0].shape[1:]
            parameters = [np.r_[one, np.full((n - len(one), *rest), np.nan)] for one in arrays]
    found: FloatArray = as_array(parameters, "parameters", np.float64)
    return found


def _check_item_parameters(parameters: Any, draws: Draws) -> FloatArray:
    """Parameters of the items, one draw per row."""
    values = _as_array(parameters)
    wanted, shape = (draws.n_draws, draws.n_items), values.shape
    if shape[:2] == wanted:
        return values
    # Chains are laid end to end, as `Draws` does.
    if values.ndim > 2 and (shape[0] * shape[1], shape[2]) == wanted:
        return values.reshape(-1, *shape[2:])
    asked = f"({wanted[0]}, {wanted[1]}, ...), draws by items"
    raise ValueError(f"'item_parameters' must have shape {asked}; got shape {shape}.")


def _check_parameters(
    parameters: Any, given: DrawsLike, raw_labels: Any, draws: Draws
) -> tuple[FloatArray, AnyArray]:
    """Parameters and the labels they belong to, one draw per row.

    Without raw labels they are those of the draws as they were given, before they were made canonical.
    """
    if raw_labels is None and isinstance(given, Draws):
        raise ValueError(
            "'raw_labels' must be given with 'parameters' where 'draws' is a Draws, which does not keep "
            "the labels of the sampler. Give the sampler's array."
        )
    values = _as_array(parameters)
    source = to_source(given if raw_labels is None else raw_labels, argument="raw_labels")
    raw = np.asarray(source.labels)
    # Chains are laid end to end, as `Draws` does; parameters may come with or without their chains.
    if raw.ndim == 3 and values.shape[:2] == raw.shape[:2]:
        values = values.reshape(-1, *values.shape[2:])
    raw = raw.reshape(-1, *raw.shape[2:]) if raw.ndim == 3 else raw
    n, shape = draws.n_draws, (draws.n_draws, draws.n_items)
    if values.ndim < 2 or len(values) != n:
        asked = f"(n_draws, n_labels, ...) with n_draws = {n}"
        raise ValueError(f"'parameters' must have shape {asked}; got shape {values.shape}.")
    if raw.shape != shape or raw.dtype.kind not in "iu":
        came = f"{raw.dtype} of shape {raw.shape}"
        raise ValueError(f"'raw_labels' must be integers of shape {shape}; got {came}.")
    if raw.min() < 0 or raw.max() >= values.shape[1]:
        raise ValueError(
            f"'parameters' has entries for labels 0..{values.shape[1] - 1}; the labels go from "
            f"{raw.min()} to {raw.max()}. Give labels that count from 0 as 'raw_labels'."
        )
    # Canonical labels are equal exactly if the partitions are: the raw labels may be named anyhow.
    if not np.array_equal(np.asarray(Draws(raw)), np.asarray(draws)):
        raise ValueError(
            "'raw_labels' must be the same partitions as 'draws', draw by draw; they are not."
        )
    return values, raw
