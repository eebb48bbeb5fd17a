"""Single cells: the consensus of 200 clusterings that each saw 80% of the cells.

700 peripheral blood cells of the PBMC 68k sample (Zheng et al. 2017, Nature Communications 8, 14049), reduced
to 50 principal components, ship with scanpy. Their "bulk labels" are the cell types whose purified
populations they resemble most: the best truth there is, but not certain.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import AgglomerativeClustering, KMeans

import epluribus as epl
from cases.shared import scores, shipped

N_RUNS, SHARE, COMPONENTS = 200, 0.8, 20
COST = 1.5
"""Bits at which a cell may stay undecided: the whole partition costs 0.6 bits per cell."""


def run(folder: Path) -> dict[str, Any]:
    """The figures and the numbers of the page."""
    with h5py.File(shipped("scanpy", "datasets", "10x_pbmc68k_reduced.h5ad")) as file:
        points = np.array(file["obsm"]["X_pca"])[:, :COMPONENTS].astype(float)
        places = np.array(file["obsm"]["X_umap"])
        kinds = [name.decode() for name in file["uns"]["bulk_labels_categories"]]
        truth = np.array(file["obs"]["bulk_labels"]).astype(int)
    runs = clusterings(points, np.random.default_rng(1))
    draws = epl.Draws(runs, kind="ensemble")
    best = epl.minimize(draws, rng=1)
    items = epl.uncertainty.items(best, draws)
    some = epl.minimize(epl.Draws(completed(points, runs), kind="ensemble"), undecided=COST, rng=1)
    open_cells = some.labels < 0
    single = np.array([scores(labels, truth[seen]) for seen, labels in runs])
    others = _alternatives(points, draws, best.n_clusters)
    _figure(places, best.labels, items.support, open_cells, folder / "images" / "single_cells.png")
    consensus = scores(best.labels, truth)
    decided = scores(some.labels[~open_cells], truth[~open_cells])
    by_kind = np.bincount(truth[open_cells], minlength=len(kinds))
    most = np.argsort(-by_kind, kind="stable")[:2]
    return {
        "n_cells": len(truth),
        "n_kinds": len(kinds),
        "n_runs": N_RUNS,
        "n_clusters": best.n_clusters,
        "sizes": ", ".join(map(str, best.sizes)),
        "table": _table(best.labels, truth, kinds),
        "ari": consensus[0],
        "vi": consensus[1],
        "ari_single": float(np.median(single[:, 0])),
        "vi_single": float(np.median(single[:, 1])),
        "ari_beaten": int((single[:, 0] < consensus[0]).sum()),
        "vi_beaten": int((single[:, 1] > consensus[1]).sum()),
        "others": "\n".join(
            "| {} | {:.2f} | {:.2f} |".format(name, *scores(labels, truth))
            for name, labels in others.items()
        ),
        "n_doubtful": int((items.support < 0.5).sum()),
        "cost": COST,
        "n_open": int(open_cells.sum()),
        "open_kinds": " and ".join(
            f"{by_kind[t]} of the {(truth == t).sum()} cells labeled {kinds[t]}" for t in most
        ),
        "ari_decided": decided[0],
        "vi_decided": decided[1],
        "ari_same": scores(best.labels[~open_cells], truth[~open_cells])[0],
        "vi_same": scores(best.labels[~open_cells], truth[~open_cells])[1],
    }


def clusterings(
    points: np.ndarray, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each run the cells that it saw and their labels: k-means or Ward's method, 4 to 14 clusters."""
    found, n = [], len(points)
    for seed in range(N_RUNS):
        seen = np.sort(rng.choice(n, int(SHARE * n), replace=False))
        k = int(rng.integers(4, 15))
        method = KMeans(k, n_init=1, random_state=seed) if seed % 2 else AgglomerativeClustering(k)
        found.append((seen, method.fit_predict(points[seen])))
    return found


def completed(points: np.ndarray, runs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """(n_runs, n_cells) labels, with cells that a run did not see in the cluster whose mean is nearest."""
    table = np.empty((len(runs), len(points)), dtype=int)
    for row, (seen, labels) in zip(table, runs, strict=True):
        means = np.stack([points[seen[labels == g]].mean(axis=0) for g in range(labels.max() + 1)])
        row[:] = ((points[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
        row[seen] = labels
    return table


def _alternatives(points: np.ndarray, draws: epl.Draws, k: int) -> dict[str, np.ndarray]:
    """What one would otherwise do with the same data; all need the number of clusters."""
    matrix = np.nan_to_num(epl.psm(draws))
    tree = linkage(1.0 - matrix[np.triu_indices(len(matrix), 1)], "average")
    return {
        f"k-means of all cells, k = {k}": KMeans(k, n_init=10, random_state=1).fit_predict(points),
        f"Ward's method, k = {k}": AgglomerativeClustering(k).fit_predict(points),
        f"average linkage of the co-clustering matrix, k = {k}": fcluster(tree, k, "maxclust"),
    }


def _table(labels: np.ndarray, truth: np.ndarray, kinds: list[str]) -> str:
    """Cell types by clusters, as rows of a Markdown table."""
    counts = np.array(
        [np.bincount(labels[truth == t], minlength=labels.max() + 1) for t in range(len(kinds))]
    )
    # Types by the cluster in which most of them are.
    head = "| | " + " | ".join(f"{g}" for g in range(counts.shape[1])) + " |"
    rule = "|---" * (counts.shape[1] + 1) + "|"
    order = np.argsort(counts.argmax(axis=1), kind="stable")
    rows = [
        f"| {kinds[t]} | " + " | ".join(str(x) if x else "" for x in counts[t]) + " |"
        for t in order
    ]
    return "\n".join([head, rule, *rows])


def _figure(
    places: np.ndarray, labels: np.ndarray, support: np.ndarray, still_open: np.ndarray, path: Path
) -> None:
    figure, axes = plt.subplots(
        1, 3, figsize=(9.5, 3.3), layout="constrained", width_ratios=(1, 1.15, 1)
    )
    epl.plots.scatter(labels, places, ax=axes[0])
    axes[0].set_title("clusters of the consensus", loc="left")
    shown = axes[1].scatter(*places.T, c=support, cmap="viridis", s=10, vmin=0, vmax=1)
    axes[1].set_title("support of each cell", loc="left")
    figure.colorbar(shown, ax=axes[1], shrink=0.8)
    axes[2].scatter(*places[~still_open].T, color="0.8", s=10)
    axes[2].scatter(*places[still_open].T, color="#D55E00", s=10)
    axes[2].set_title(f"{still_open.sum()} undecided cells", loc="left")
    for ax in axes:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)
