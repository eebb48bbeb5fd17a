"""A connectome: the mushroom body of a fly larva, left and right, and whether they tell the same story.

Eichler et al. (2017, Nature 548, 175-182) reconstructed all neurons of the mushroom body, a center of
learning, and their synapses, on both sides of the brain. The networks and the types of the cells ship with
the package graspologic. The left side takes no part in the analysis of the right one: it is a replication.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering

import epluribus as epl
from cases.shared import scores, shipped, write_report
from epluribus.models import StochasticBlockModel
from epluribus.sampling import sample

TYPES = {
    "K": "Kenyon cells",
    "I": "input neurons",
    "O": "output neurons",
    "P": "projection neurons",
}
N_CHAINS, N_DRAWS, SWEEPS = 3, 1000, 10


def run(folder: Path) -> dict[str, Any]:
    """The figures and the numbers of the page."""
    values: dict[str, Any] = {}
    shares: list[np.ndarray] = []
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.6), layout="constrained")
    for ax, side in zip(axes, ("left", "right"), strict=True):
        weights, types = _load(side)
        n = len(types)
        model = StochasticBlockModel(weights > 0, directed=True)
        trace = sample(
            model, n_draws=N_DRAWS, burn=200 * n, thin=SWEEPS * n, n_chains=N_CHAINS, rng=1
        )
        draws = trace.draws
        best = epl.minimize(draws, rng=1)
        ball, k = (
            epl.credible_ball(best, draws),
            epl.uncertainty.n_clusters_posterior(draws, best=best),
        )
        shares.append(_by_type(epl.psm(draws), types))
        single = np.array([scores(labels, types) for labels in np.asarray(draws)[::10]])
        ari, vi = scores(best.labels, types)
        spectral = scores(_spectral(weights > 0, best.n_clusters), types)
        write_report(
            f"connectome_{side}",
            best,
            draws,
            folder,
            title=f"Mushroom body, {side} side, {n} cells",
        )
        _draw(ax, weights > 0, best.labels, types, f"{side}: {n} cells, {best.n_clusters} blocks")
        low, high = k.interval
        values |= {
            f"{side}_n": n,
            f"{side}_edges": f"{int((weights > 0).sum()):,}",
            f"{side}_k": best.n_clusters,
            f"{side}_interval": f"{low} to {high}",
            f"{side}_radius": ball.radius,
            f"{side}_pure": 100 * _purity(best.labels, types),
            f"{side}_ari": ari,
            f"{side}_vi": vi,
            f"{side}_ari_single": float(np.median(single[:, 0])),
            f"{side}_vi_single": float(np.median(single[:, 1])),
            f"{side}_ari_spectral": spectral[0],
            f"{side}_vi_spectral": spectral[1],
            f"{side}_modes": epl.modes(draws, rng=1).n_modes,
            f"{side}_agree": {True: "yes", False: "**no**", None: "cannot be known"}[
                epl.uncertainty.error(best, draws).agreement.agree
            ],
            f"{side}_table": _table(best.labels, types),
        }
    figure.savefig(folder / "images" / "connectome.png", dpi=120)
    plt.close(figure)
    names = list(TYPES)
    apart = np.abs(shares[0] - shares[1])
    i, j = np.unravel_index(apart.argmax(), apart.shape)
    rows = [
        f"| {TYPES[a]} | "
        + " | ".join(f"{x[i, j]:.2f}" for j in range(len(names)) for x in shares)
        + " |"
        for i, a in enumerate(names)
    ]
    values |= {
        "shares": "\n".join(rows),
        "largest": float(apart.max()),
        "largest_pair": f"{TYPES[names[i]]} and {TYPES[names[j]]}"
        if i != j
        else f"two {TYPES[names[i]]}",
    }
    return values


def _load(side: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of synapses from each cell to each other, and the types of the cells."""
    folder = ("datasets", "drosophila")
    weights = np.loadtxt(shipped("graspologic", *folder, f"{side}_adjacency.csv"), dtype=int)
    types = np.loadtxt(shipped("graspologic", *folder, f"{side}_cell_labels.csv"), dtype=str)
    np.fill_diagonal(weights, 0)
    return weights, types


def _spectral(links: np.ndarray, k: int) -> np.ndarray:
    """What one would otherwise do: spectral clustering, which needs k and takes links without direction."""
    method = SpectralClustering(k, affinity="precomputed", random_state=1)
    return method.fit_predict((links | links.T).astype(float) + 1e-6)  # connected, as it demands


def _by_type(matrix: np.ndarray, types: np.ndarray) -> np.ndarray:
    """Mean probability that two cells of given types share a block."""
    out = np.empty((len(TYPES), len(TYPES)))
    for i, a in enumerate(TYPES):
        for j, b in enumerate(TYPES):
            block = matrix[np.ix_(types == a, types == b)]
            same = np.eye(len(block), dtype=bool) if a == b else np.zeros(block.shape, bool)
            out[i, j] = block[~same].mean()
    return out


def _purity(labels: np.ndarray, types: np.ndarray) -> float:
    """Share of the cells that have the most common type of their block."""
    return float(
        np.mean(
            [
                np.unique(types[labels == g], return_counts=True)[1].max() / (labels == g).sum()
                for g in labels
            ]
        )
    )


def _table(labels: np.ndarray, types: np.ndarray) -> str:
    """Blocks by cell types, as rows of a Markdown table; the largest block first."""
    order = np.argsort(-np.bincount(labels), kind="stable")
    counts = [[int(((labels == g) & (types == a)).sum()) for a in TYPES] for g in order]
    return "\n".join(
        f"| {number} | " + " | ".join(str(x) if x else "" for x in row) + " |"
        for number, row in enumerate(counts, 1)
    )


def _draw(ax: Any, links: np.ndarray, labels: np.ndarray, types: np.ndarray, title: str) -> None:
    """The adjacency matrix with its cells sorted by block, and lines between blocks."""
    # Blocks by their most common type, then by size; within a block by type.
    kinds, sizes = list(TYPES), np.bincount(labels)
    code = np.array([kinds.index(a) for a in types])
    main = np.array([np.bincount(code[labels == g]).argmax() for g in range(len(sizes))])
    order = np.lexsort((code, labels, -sizes[labels], main[labels]))
    ax.imshow(links[np.ix_(order, order)], cmap="Greys", interpolation="nearest")
    for cut in np.flatnonzero(np.diff(labels[order])) + 0.5:
        ax.axhline(cut, color="C1", linewidth=0.4)
        ax.axvline(cut, color="C1", linewidth=0.4)
    # The types stand at the middle of their blocks, which are sorted by them.
    middles = [np.flatnonzero(main[labels[order]] == a).mean() for a in range(len(kinds))]
    names = [TYPES[a].split()[0] for a in kinds]
    ax.set_xticks(middles, names, fontsize=8)
    ax.set_yticks(middles, names, fontsize=8, rotation=90, va="center")
    ax.tick_params(length=0)
    ax.set(xlabel="to", ylabel="from")
    ax.set_title(title, loc="left", fontsize=10)
