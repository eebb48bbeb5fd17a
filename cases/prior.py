"""Galaxies under four priors: what the prior does to the answer.

82 velocities of galaxies (Roeder 1990), the example of nearly every paper on mixtures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import epluribus as epl
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
        trace = sample(model, n_draws=N_DRAWS, burn=500 * n, thin=10 * n, n_chains=N_CHAINS, rng=1)
        draws = trace.draws
        vi, binder = epl.minimize(draws, rng=1), epl.minimize(draws, "binder", rng=1)
        k = epl.uncertainty.n_clusters_posterior(draws, best=vi)
        ball, modes = epl.credible_ball(vi, draws), epl.modes(draws, rng=1)
        low, high = k.interval
        rows.append(
            f"| {name} | {k.mode} ({low} to {high}) | {_sizes(vi)} | {binder.n_clusters} | "
            f"{ball.radius:.2f} | {modes.n_modes} |"
        )
        ax = epl.plots.histogram(vi, y / 1000, ax=row[0])
        ax.set(title=name, xlabel="velocity (1000 km/s)")
        epl.plots.n_clusters(vi, draws, ax=row[1])
        key = name.split()[0].lower()
        values[f"{key}_k"], values[f"{key}_sizes"] = vi.n_clusters, _sizes(vi)
        values[f"{key}_mode"], values[f"{key}_radius"] = k.mode, ball.radius
    figure.savefig(folder / "images" / "prior.png", dpi=110)
    plt.close(figure)
    return {"n": len(y), "rows": "\n".join(rows), **values}


def _sizes(best: epl.Estimate) -> str:
    return ", ".join(map(str, best.sizes))
