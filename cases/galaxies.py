"""Galaxies, four ways: what the prior does to the answer, and what a careful user would report.

82 velocities of galaxies (Roeder 1990), the example of nearly every paper on mixtures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import epluribus as epl
from cases.shared import write_report
from epluribus.models import GaussianMixture
from epluribus.sampling import sample

N_CHAINS, N_DRAWS = 4, 1000


def run(folder: Path) -> dict[str, Any]:
    """The figures and the numbers of the page."""
    y = epl.datasets.load_galaxies()
    s = float(np.std(y))
    models = {
        "default": GaussianMixture(y),
        "tight clusters": GaussianMixture(y, delta=0.03 * s**2),
        "wide clusters": GaussianMixture(y, delta=0.5 * s**2),
        "Dirichlet process": GaussianMixture(y, prior="dirichlet-process"),
    }
    figure, axes = plt.subplots(
        len(models), 2, figsize=(9, 8), layout="constrained", width_ratios=(3, 1)
    )
    rows, values = [], {}
    for row, (name, model) in zip(axes, models.items(), strict=True):
        n = len(y)
        trace = sample(
            model, n_draws=N_DRAWS, burn=500 * n, thin=10 * n, n_chains=N_CHAINS, rng=1
        )
        draws = trace.draws
        vi, binder = epl.minimize(draws, rng=1), epl.minimize(draws, "binder", rng=1)
        k = epl.uncertainty.n_clusters_posterior(vi, draws)
        ball, modes = epl.credible_ball(vi, draws), epl.modes(draws, rng=1)
        low, high = k.interval
        rows.append(
            f"| {name} | {k.mode} ({low} to {high}) | {_sizes(vi.labels)} | {binder.n_clusters} | "
            f"{ball.radius:.2f} | {modes.n_modes} |"
        )
        _panel(row, y, vi.labels, k, name)
        key = name.split()[0].lower()
        if key == "default":
            write_report("galaxies", vi, draws, folder, title="82 galaxies, default prior")
        values[f"{key}_k"], values[f"{key}_sizes"] = vi.n_clusters, _sizes(vi.labels)
        values[f"{key}_mode"], values[f"{key}_radius"] = k.mode, ball.radius
    figure.savefig(folder / "images" / "galaxies.png", dpi=120)
    plt.close(figure)
    return {"n": len(y), "rows": "\n".join(rows), **values}


def _sizes(labels: np.ndarray) -> str:
    return ", ".join(map(str, np.sort(np.bincount(labels))[::-1]))


def _panel(axes: Any, y: np.ndarray, labels: np.ndarray, k: Any, name: str) -> None:
    """The velocities by cluster, and the posterior of the number of clusters."""
    order = np.argsort([y[labels == g].mean() for g in range(labels.max() + 1)])
    for rank, g in enumerate(order):
        axes[0].hist(y[labels == g], bins=np.linspace(y.min(), y.max(), 60), color=f"C{rank % 10}")
    axes[0].set_title(f"{name}: sizes {_sizes(labels)}", loc="left", fontsize=10)
    axes[1].bar(k.values, k.probabilities, color="0.5")
    axes[1].set_title("clusters in a draw", loc="left", fontsize=10)
    axes[1].set_xlim(0, 15)
    axes[1].set_xticks([0, 5, 10, 15])
    axes[0].set_xlabel("velocity, km/s", fontsize=8)
    for ax in axes:
        ax.tick_params(labelsize=8)
        ax.set_yticks([])
        ax.spines[["top", "right", "left"]].set_visible(False)
