"""Labels of the draws matched to those of the estimate.

Labels mean nothing across draws: cluster 1 of one draw may be cluster 3 of the next. The clusters of
each draw are therefore matched one to one with those of the estimate, by the assignment s that solves

    maximize over s   sum over clusters h of the draw of   n(h, s(h)),

where n(h, g) is the number of items that cluster h of the draw and cluster g of the estimate share: as
many items as possible keep their label. A cluster of the draw without a partner gets a new label, K or
above. Whatever belongs to a cluster, such as its mean, can then be followed over the draws.

Stephens, M. (2000). Dealing with label switching in mixture models. Journal of the Royal
Statistical Society B 62, 795-809. doi:10.1111/1467-9868.00265

Kuhn, H. W. (1955). The Hungarian method for the assignment problem. Naval Research Logistics
Quarterly 2, 83-97. doi:10.1002/nav.3800020109
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus._text import plain_table
from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.draws import Draws
from epluribus.estimate import Estimate, read_best
from epluribus.readers.objects import to_source

_QUANTILES = (0.025, 0.5, 0.975)
"""The median and the ends of a 95 % interval."""


def parameter_table(
    columns: dict[str, list[Any]],
    ends: tuple[str, str, str],
    mean: FloatArray,
    sd: FloatArray,
    quantiles: FloatArray,
) -> str:
    """The columns, and beside them those of a parameter of the clusters, as text."""
    names = ("mean", "sd", *ends)
    found = np.stack([mean, sd, *quantiles]).reshape(len(names), len(mean), -1)
    # One group of columns for each component of the parameter.
    for number, component in enumerate(np.moveaxis(found, 2, 0)):
        suffix = f" [{number}]" if found.shape[2] > 1 else ""
        columns |= {n + suffix: c.tolist() for n, c in zip(names, component, strict=True)}
    return "\n".join(plain_table(columns))


@dataclass(frozen=True, repr=False, eq=False)
class ParameterSummary:
    """A parameter of the clusters, summarized over the draws.

    Arrays have shape (n_clusters, ...), where ... is the shape of the parameter in one cluster. Mean, sd and
    quantiles are conditional on the cluster having a partner in the draw, and NaN if it never has one.
    """

    mean: FloatArray
    """Weighted mean over the draws in which the cluster has a partner."""
    sd: FloatArray
    """Weighted standard deviation over the same draws."""
    quantiles: FloatArray
    """(3, n_clusters, ...) 2.5 %, 50 % and 97.5 % quantiles over the same draws."""
    present: FloatArray
    """(n_clusters,) probability that the cluster has a partner in a draw."""

    def __repr__(self) -> str:
        return f"ParameterSummary(n_clusters={len(self.present)}, shape={self.mean.shape[1:]})"

    def __str__(self) -> str:
        columns: dict[str, list[Any]] = {
            "cluster": [str(k) for k in range(len(self.present))],
            "present": [f"{value:.3f}" for value in self.present],
        }
        ends = ("2.5 %", "50 %", "97.5 %")
        return parameter_table(columns, ends, self.mean, self.sd, self.quantiles)


@dataclass(frozen=True, repr=False, eq=False)
class Alignment:
    """Draws relabeled to match the estimate, and what follows from that for items and clusters."""

    labels: AnyArray
    """(n_draws, n_items) labels; K and above for clusters without a partner in the estimate."""
    probabilities: FloatArray
    """(n_items, K) probability that an item is in the partner of each cluster."""
    agreement: FloatArray
    """(n_items,) probability that an item is in the partner of its own cluster."""
    best: IntArray
    """(n_items,) labels of the estimate."""
    parameters: ParameterSummary | None
    """Summary of the clusters' parameter; None if none was given."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the estimate."""
        return self.probabilities.shape[1]

    def __repr__(self) -> str:
        return (
            f"Alignment(n_draws={len(self.labels)}, n_clusters={self.n_clusters}, "
            f"mean_agreement={self.agreement.mean():.4g})"
        )

    def __str__(self) -> str:
        text = (
            f"{len(self.labels):,} draws in the labels of {self.n_clusters} clusters: an item keeps its "
            f"label with probability {self.agreement.mean():.3g} on average"
        )
        return text if self.parameters is None else f"{text}\n{self.parameters}"


def align(
    best: Estimate | LabelsLike, draws: DrawsLike, *, parameters: Any = None, raw_labels: Any = None
) -> Alignment:
    """Relabel every draw to match the estimate, and summarize what belongs to its clusters.

    In a paper: *labels of the draws were matched to the estimate by maximal overlap; the mean of
    cluster 2 was 4.1 (95 % interval 3.8 to 4.4)*.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The estimate.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    parameters : array_like of shape (n_draws, n_labels, ...), optional
        A parameter of the clusters: entry (t, k) belongs to the cluster that draw t labels k. With
        chains, (n_chains, n_draws, n_labels, ...).
    raw_labels : array_like of int of shape (n_draws, n_items), optional
        The sampler's own labels, to which `parameters` refers: integers, in any form that `Draws` accepts.
        By default `draws` itself; a `Draws` object keeps no raw labels, so they must then be given.

    Returns
    -------
    Alignment

    Notes
    -----
    Time O(n_draws (n_items + K^3)), memory O(n_draws n_items). A cluster is summarized over the draws in
    which it has a partner, with their weights.

    `cluster_parameters` needs no matching: it averages over the items of each estimated cluster, in every
    draw. Prefer it, unless the parameter belongs to a component as a whole, such as its weight, or you want
    the components as the draws have them and they mostly agree with the estimate (`present` near 1).

    Examples
    --------
    >>> import epluribus as epl
    >>> z = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 1]]
    >>> means = [[-1.0, 5.0], [5.2, -1.2], [0.1, 5.1]]
    >>> found = epl.uncertainty.align([0, 0, 1, 1], z, parameters=means)
    >>> found.labels.astype(int)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1],
           [0, 0, 0, 1]])
    >>> found.parameters.mean
    array([-0.7,  5.1])
    """
    labels, sample, _ = read_best(best, draws, None)
    sample.check_complete("Aligning labels")
    aligned = _match_labels(sample, labels)
    k = int(labels.max()) + 1
    # Over distinct draws with their shares: an item's probability of each label.
    probabilities = np.stack([(aligned == g).T @ sample.shares for g in range(k)], axis=1)
    # Back from distinct partitions to one row per draw.
    table = aligned[sample.index]
    summary = None
    if parameters is not None:
        values, raw = check_parameters(parameters, find_raw_labels(draws, raw_labels), sample)
        summary = _summarize(table, values, raw, sample.draw_weights, k)
    return Alignment(
        labels=table,
        probabilities=probabilities,
        agreement=probabilities[np.arange(sample.n_items), labels],
        best=labels,
        parameters=summary,
    )


def partners(own: IntArray, target: IntArray) -> IntArray:
    """For each cluster of `own` its partner in `target`, with the largest overlaps in all; -1 without one."""
    from scipy.optimize import linear_sum_assignment

    # Cell (h, g): number of items in cluster h of `own` and in cluster g of `target`. Each item adds 1 to
    # cell h K + g of the flattened table.
    k, n_groups = int(target.max()) + 1, int(own.max()) + 1
    overlap = np.bincount(own * k + target, minlength=n_groups * k).reshape(n_groups, k)
    mine, theirs = linear_sum_assignment(overlap, maximize=True)
    # The solver matches as many clusters as it can; two without a common item are not partners.
    shared = overlap[mine, theirs] > 0
    found = np.full(n_groups, -1)
    found[mine[shared]] = theirs[shared]
    return found


def _match_labels(draws: Draws, labels: IntArray) -> AnyArray:
    """(n_distinct, n_items) the distinct draws in the labels of the estimate."""
    k = int(labels.max()) + 1
    # Labels stay below K + groups: those of the estimate, and at most one new label per cluster of a draw.
    groups = int(draws.item_major.max()) + 1
    out = np.empty((draws.n_distinct, draws.n_items), dtype=np.min_scalar_type(k + groups))
    for row, target in zip(draws.distinct, out, strict=True):
        new = partners(row.astype(np.int64), labels)
        # The clusters of the draw that are left over get new labels, from K on.
        new[new < 0] = k + np.arange(np.sum(new < 0))
        target[:] = new[row]
    return out


def _summarize(
    aligned: AnyArray, values: FloatArray, raw: AnyArray, weights: FloatArray, k: int
) -> ParameterSummary:
    """Each cluster's parameter over the draws in which it has a partner."""
    rows = np.arange(len(aligned))
    # partner[t, g]: the raw label, in draw t, of the partner of cluster g; -1 if it has none. Any of the
    # partner's items shows it, so that items may overwrite each other.
    partner = np.full((len(aligned), k), -1, dtype=np.int64)
    for new, old in zip(aligned.T, raw.T, strict=True):  # item by item
        matched = new < k
        partner[rows[matched], new[matched]] = old[matched]
    # NaN stays where a cluster has no partner in any draw. The three names are views of one array.
    found = np.full((2 + len(_QUANTILES), k, *values.shape[2:]), np.nan)
    mean, sd, quantiles = found[0], found[1], found[2:]
    present = np.zeros(k)
    for g in range(k):
        # Draws without weight are not part of the posterior.
        has = (partner[:, g] >= 0) & (weights > 0)
        present[g] = weights[has].sum() / weights.sum()
        if not has.any():
            continue
        mine, share = values[rows[has], partner[has, g]], weights[has] / weights[has].sum()
        mean[g], sd[g], quantiles[:, g] = moments(mine, share, _QUANTILES)
    return ParameterSummary(mean, sd, quantiles, np.minimum(present, 1.0))


def moments(
    values: FloatArray, shares: FloatArray, levels: tuple[float, ...]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weighted mean, standard deviation and quantiles over the first axis, the draws."""
    mean = np.tensordot(shares, values, 1)
    sd = np.sqrt(np.tensordot(shares, (values - mean) ** 2, 1))
    # Shares add up with rounding errors: a quantile missed by rounding alone counts as reached.
    found = np.quantile(
        values, np.array(levels) - 1e-12, axis=0, weights=shares, method="inverted_cdf"
    )
    return mean, sd, found


def find_raw_labels(draws: DrawsLike, raw_labels: Any) -> Any:
    """The sampler's own labels: those given, or `draws` as they came, before they were made canonical."""
    if raw_labels is None and isinstance(draws, Draws):
        raise ValueError(
            "'raw_labels' must be given with 'parameters' where 'draws' is a Draws: it knows which "
            "items are together, but not which label the sampler gave them. Give the sampler's array."
        )
    return draws if raw_labels is None else raw_labels


def check_parameters(parameters: Any, raw_labels: Any, draws: Draws) -> tuple[FloatArray, AnyArray]:
    """Parameters and the labels they belong to, one draw per row."""
    values = np.asarray(parameters, dtype=np.float64)
    raw = np.asarray(to_source(raw_labels, argument="raw_labels").labels)
    # Chains are laid end to end, as `Draws` does; parameters may come with or without their chains.
    if raw.ndim == 3:
        if values.shape[:2] == raw.shape[:2]:
            values = values.reshape(-1, *values.shape[2:])
        raw = raw.reshape(-1, raw.shape[2])
    if values.ndim < 2 or len(values) != draws.n_draws:
        raise ValueError(
            f"'parameters' must have shape (n_draws, n_labels, ...) with n_draws = {draws.n_draws}; "
            f"got shape {values.shape}."
        )
    if raw.shape != (draws.n_draws, draws.n_items) or raw.dtype.kind not in "iu":
        raise ValueError(
            f"'raw_labels' must be integers of shape ({draws.n_draws}, {draws.n_items}); got "
            f"{raw.dtype} of shape {raw.shape}."
        )
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
