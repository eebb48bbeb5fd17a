"""Makes the pictures of docs/images: `python docs/make_images.py [name ...]`, about a minute for all."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import epluribus as epl
from epluribus import plots

mpl.use("agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent / "images"
LARGEST = 150_000  # bytes


@cache
def galaxies() -> tuple[Any, epl.Draws, epl.Estimate]:
    """Velocities of the 82 galaxies in 1000 km/s, draws of their clusters, the estimate."""
    y = epl.datasets.load_galaxies() / 1000
    draws = epl.sample(epl.models.GaussianMixture(y), n_draws=2000, rng=1).draws
    return y, draws, epl.minimize(draws, "vi", rng=1)


@cache
def points() -> tuple[Any, epl.Draws, epl.Estimate]:
    """Six clouds in three dimensions, some of them overlapping; four chains."""
    rng = np.random.default_rng(5)
    centers = np.array([[0, 0, 0], [3, 1, 3], [1.2, 4, 0], [5, 5, 2], [6.5, 3.6, -2], [5, -2, 1]])
    spreads = np.array([0.6, 0.8, 0.5, 0.8, 0.8, 0.7])
    truth = np.repeat(np.arange(6), [40, 50, 25, 35, 30, 20])
    x = centers[truth] + spreads[truth, None] * rng.normal(size=(truth.size, 3))
    model = epl.models.GaussianMixture(x[:, :2], mean=x[:, :2].mean(axis=0))
    draws = epl.sample(model, n_draws=500, n_chains=4, rng=2).draws
    return x, draws, epl.minimize(draws, "vi", rng=1)


@cache
def two_modes() -> epl.Draws:
    """Draws around two partitions: three clusters, or two of them in one."""
    rng = np.random.default_rng(3)
    three = np.repeat([0, 1, 2], [20, 14, 12])
    rows = []
    for _ in range(500):
        row = three.copy() if rng.random() < 0.6 else np.where(three == 2, 1, three)
        moved = rng.random(row.size) < 0.05
        rows.append(np.where(moved, rng.integers(3, size=row.size), row))
    return epl.Draws(rows)


def galaxies_panels() -> Any:
    """For the README: the estimate, and the posterior of the number of clusters."""
    y, draws, best = galaxies()
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 3.8), width_ratios=[1.5, 1], layout="constrained"
    )
    plots.histogram(y, best, ax=left)
    left.set_xlabel("velocity (1000 km/s)")
    left.set_title("82 galaxies, VI-optimal partition")
    plots.n_clusters(draws, best, ax=right)
    right.set_title("posterior of the number of clusters")
    return figure


def similarity() -> Any:
    _, draws, best = points()
    return plots.similarity(draws, best)


def certainty() -> Any:
    _, draws, best = points()
    return plots.certainty(best, draws)


def n_clusters() -> Any:
    _, draws, best = points()
    return plots.n_clusters(draws, best)


def loss_trace() -> Any:
    _, draws, best = points()
    return plots.loss_trace(best, draws)


def histogram() -> Any:
    y, _, best = galaxies()
    ax = plots.histogram(y, best)
    ax.set_xlabel("velocity (1000 km/s)")
    return ax


def scatter() -> Any:
    x, _, best = points()
    return plots.scatter(x[:, :2], best)


def pairs() -> Any:
    x, _, best = points()
    return plots.pairs(x, best, names=["height", "width", "depth"])


def partition_map() -> Any:
    draws = two_modes()
    best = epl.minimize(draws, "vi", rng=1)
    return plots.partition_map(draws, best, epl.modes(draws, rng=1))


def partition_map_k() -> Any:
    _, draws, best = galaxies()
    return plots.partition_map(draws, best)


def ball_bounds() -> Any:
    x, draws, best = points()
    return plots.ball_bounds(epl.credible_ball(best, draws), x[:, :2])


def ball_bounds_values() -> Any:
    y, draws, best = galaxies()
    return plots.ball_bounds(epl.credible_ball(best, draws), y)


def ball_bounds_pairs() -> Any:
    _, draws, best = points()
    return plots.ball_bounds(epl.credible_ball(best, draws))


def alluvial() -> Any:
    _, draws, best = points()
    ball = epl.credible_ball(best, draws)
    return plots.alluvial(best, ball.horizontal[0], titles=("estimate", "bound"))


def contingency() -> Any:
    _, draws, best = points()
    ball = epl.credible_ball(best, draws)
    return plots.contingency(best, ball.horizontal[0], titles=("estimate", "bound"))


def blocks() -> Any:
    network, labels = _network()
    return plots.blocks(network, labels)


def network() -> Any:
    return plots.network(*_network(), ax=plt.subplots(figsize=(6, 6), layout="constrained")[1])


def _network() -> tuple[Any, Any]:
    """A network of four blocks."""
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2, 3], [25, 15, 12, 8])
    dense = np.where(labels[:, None] == labels, 0.4, 0.02)
    upper = np.triu(rng.random(dense.shape) < dense, 1).astype(int)
    return upper + upper.T, labels


PICTURES = {
    "galaxies": galaxies_panels,
    **{
        make.__name__: make
        for make in (
            similarity, certainty, n_clusters, loss_trace, histogram, scatter, pairs, partition_map,
            partition_map_k, ball_bounds, ball_bounds_values, ball_bounds_pairs, alluvial,
            contingency, blocks, network,
        )
    },
}  # fmt: skip


def main(names: list[str]) -> None:
    """Make the named pictures, or all."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or PICTURES:
        made = PICTURES[name]()
        figure = made if isinstance(made, plt.Figure) else np.ravel(made)[0].figure
        path = FOLDER / f"{name}.png"
        figure.savefig(path, dpi=100)
        plt.close(figure)
        size = path.stat().st_size
        print(f"{path.name:28} {size:>8,} bytes")
        if size > LARGEST:
            raise SystemExit(f"{path.name} is larger than {LARGEST:,} bytes.")


if __name__ == "__main__":
    main(sys.argv[1:])
