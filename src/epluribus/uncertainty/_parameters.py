"""Parameters of the estimated clusters, without matching the labels of the draws.

In every draw t each item i has a parameter theta_ti: its own, or that of the cluster it is in. The parameter
of an estimated cluster g is the mean over its items,

    theta_tg = (1 / n_g) sum over the items i of g of theta_ti

which exists in every draw, whatever the draw's clusters are and however they are labeled. Its distribution
over the draws is the posterior of that mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus._validate import check_fraction
from epluribus.draws import Draws
from epluribus.estimate import Estimate, read_best
from epluribus.uncertainty._align import check_parameters, find_raw_labels, moments, parameter_table

_CELLS = 4_000_000
"""Parameters of items held at a time: 32 MB."""


@dataclass(frozen=True, repr=False, eq=False)
class ClusterParameters:
    """A parameter of the estimated clusters: one value for each draw and cluster.

    Arrays have shape (n_clusters, ...), where ... is the shape of the parameter.
    """

    values: FloatArray
    """(n_draws, n_clusters, ...) mean over the items of each cluster, draw by draw. Differences between
    clusters, or other functions of them, are computed from these."""
    mean: FloatArray
    """Weighted mean over the draws."""
    sd: FloatArray
    """Weighted standard deviation over the draws."""
    quantiles: FloatArray
    """(3, n_clusters, ...) lower end of the interval, median, upper end."""
    level: float
    """Probability of the interval."""
    sizes: IntArray
    """(n_clusters,) number of items of each cluster."""

    def __repr__(self) -> str:
        return f"ClusterParameters(n_clusters={len(self.sizes)}, shape={self.mean.shape[1:]})"

    def __str__(self) -> str:
        k, tail = len(self.sizes), 50 * (1 - self.level)
        columns: dict[str, list[Any]] = {
            "cluster": [str(g) for g in range(k)],
            "size": self.sizes.tolist(),
        }
        ends = (f"{tail:g} %", "50 %", f"{100 - tail:g} %")
        return parameter_table(columns, ends, self.mean, self.sd, self.quantiles)


def cluster_parameters(
    best: Estimate | LabelsLike,
    draws: DrawsLike,
    *,
    item_parameters: Any = None,
    parameters: Any = None,
    raw_labels: Any = None,
    level: float = 0.95,
) -> ClusterParameters:
    """Posterior of a parameter of each estimated cluster: the mean over its items, draw by draw.

    In a paper: *the mean of the items of cluster 2 was 4.1 (95 % interval 3.8 to 4.4)*.

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
        The sampler's own labels, to which `parameters` refers, as for `align`. By default `draws` itself.
    level : float, default 0.95
        Probability of the intervals, between the quantiles (1 - level) / 2 and (1 + level) / 2.

    Returns
    -------
    ClusterParameters

    Notes
    -----
    No labels are matched, so that nothing depends on label switching, and every draw counts. Where a draw
    splits an estimated cluster, the mean is over its parts; where it joins two, both get what they share.
    The interval is that of the mean over the items, and not of a single item.

    `align` follows the clusters of the draws instead. It is the right one for what belongs to a cluster as a
    whole, such as its weight, or if the components of a mixture are meant and nearly all draws have them.

    Time and memory O(n_draws n_items), the memory at most 32 MB besides the input and the result.

    Examples
    --------
    >>> import epluribus as epl
    >>> z = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 1]]
    >>> means = [[-1.0, 5.0], [5.2, -1.2], [0.1, 5.1]]
    >>> found = epl.cluster_parameters([0, 0, 1, 1], z, parameters=means)
    >>> found.values
    array([[-1. ,  5. ],
           [-1.2,  5.2],
           [ 0.1,  2.6]])
    >>> difference = found.values[:, 1] - found.values[:, 0]
    >>> round(float(difference.mean()), 2)
    4.97
    """
    labels, sample, _ = read_best(best, draws, None)
    sample.check_complete("Averaging parameters")
    width = check_fraction(level, "level", one=False)
    if (item_parameters is None) == (parameters is None):
        raise ValueError("Give one of 'item_parameters' and 'parameters'.")
    if item_parameters is None:
        raw = find_raw_labels(draws, raw_labels)
        values, raw = check_parameters(_as_table(parameters), raw, sample)
    else:
        if raw_labels is not None:
            raise ValueError("'raw_labels' is for 'parameters'; items need no labels.")
        values, raw = _check_item_parameters(item_parameters, sample), None
    by_cluster = _averages(labels, values, raw)
    bad = np.argwhere(np.isnan(by_cluster))
    if bad.size:
        name = "item_parameters" if raw is None else "parameters"
        raise ValueError(
            f"'{name}' must have no missing values; those of draw {bad[0][0]} have some."
        )
    # Draws without weight are not part of the posterior.
    has = sample.draw_weights > 0
    shares = sample.draw_weights[has] / sample.draw_weights[has].sum()
    levels = ((1 - width) / 2, 0.5, (1 + width) / 2)
    return ClusterParameters(
        by_cluster, *moments(by_cluster[has], shares, levels), width, np.bincount(labels)
    )


def _averages(labels: IntArray, values: FloatArray, raw: AnyArray | None) -> FloatArray:
    """(n_draws, K, ...) mean over the items of each cluster; `raw` leads from labels to items, if given."""
    n_draws, members = len(values), [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    out = np.empty((n_draws, len(members), *values.shape[2:]))
    step = max(1, _CELLS // (len(labels) * max(1, int(np.prod(values.shape[2:])))))
    for begin in range(0, n_draws, step):
        block = values[begin : begin + step]
        if raw is not None:
            rows = raw[begin : begin + step]
            block = block[np.arange(len(rows))[:, None], rows]
        for g, items in enumerate(members):
            out[begin : begin + step, g] = block[:, items].mean(axis=1)
    return out


def _as_table(parameters: Any) -> Any:
    """Parameters with an axis of labels; arrays of different lengths are filled up with NaN."""
    values = _chains_first(parameters)
    if isinstance(values, list | tuple):
        arrays = [np.asarray(one, dtype=np.float64) for one in values]
        lengths = {len(one) for one in arrays if one.ndim > 0}
        if len(lengths) > 1 and all(one.ndim > 0 for one in arrays):
            # No label of a draw points to what is filled in, unless the parameter is missing.
            table = np.full((len(arrays), max(lengths), *arrays[0].shape[1:]), np.nan)
            for row, one in zip(table, arrays, strict=True):
                row[: len(one)] = one
            return table
    return values


def _chains_first(parameters: Any) -> Any:
    """An xarray variable with its chains and draws first; anything else unchanged."""
    dims = getattr(parameters, "dims", None)
    if dims is None or "draw" not in dims:
        return parameters
    first = [name for name in ("chain", "draw") if name in dims]
    return np.asarray(parameters.transpose(*first, ...))


def _check_item_parameters(parameters: Any, draws: Draws) -> FloatArray:
    """Parameters of the items, one draw per row."""
    values = np.asarray(_chains_first(parameters), dtype=np.float64)
    wanted, shape = (draws.n_draws, draws.n_items), values.shape
    # Chains are laid end to end, as `Draws` does.
    if shape[:2] != wanted and values.ndim > 2 and (shape[0] * shape[1], shape[2]) == wanted:
        values = values.reshape(-1, *shape[2:])
    if values.shape[:2] != wanted:
        raise ValueError(
            f"'item_parameters' must have shape ({draws.n_draws}, {draws.n_items}, ...), draws by items; "
            f"got shape {values.shape}."
        )
    return values
