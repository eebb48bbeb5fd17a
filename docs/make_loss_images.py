"""Makes the pictures of docs/losses: `python docs/make_loss_images.py`, some seconds.

One picture for each loss: what mistakes cost, and the galaxies under this loss; and one for the index: two
posteriors under all losses, a row for each. `python docs/make_loss_images.py clouds`, a minute, prints
the table of the simulated clouds in docs/losses/index.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

import epluribus as epl
from epluribus.plots._shared import cluster_colors

FOLDER = Path(__file__).parent / "images" / "losses"
LARGEST = 150_000  # bytes
TRUTH = np.repeat([0, 1], 50)
MISTAKES = {  # style of the line, so that equal ones are seen below each other
    "m items leave, each alone": {"color": "#D55E00", "lw": 5, "alpha": 0.6},
    "m items leave together": {"color": "#0072B2", "lw": 2.2},
    "m items move to the other cluster": {"color": "black", "lw": 1.8, "ls": (0, (4, 2))},
}
ALONE = "#4D4D4D"  # color of clusters of one item, which has no name in the picture


def price(kind: str, m: int, loss: Any) -> float:
    """Loss of a mistake with m items of the first of two clusters of 50."""
    estimate = TRUTH.copy()
    estimate[:m] = {"alone": 2 + np.arange(m), "together": 2, "cluster": 1}[kind.split()[-1]]
    return epl.loss(estimate, TRUTH, loss)


def draw_prices(ax: Any, loss: Any) -> None:
    sizes = np.arange(26)
    for kind, style in MISTAKES.items():
        ax.plot(sizes, [price(kind, m, loss) for m in sizes], label=kind, **style)
    merged = epl.loss(np.zeros(100), TRUTH, loss)
    ax.axhline(merged, color="gray", lw=1.5, ls=":", label="the two clusters are merged")
    ax.set(xlabel="m", ylabel=f"loss ({loss.unit})" if loss.unit else "loss", xlim=(0, 25))
    ax.set_ylim(0, 1.06 * ax.get_ylim()[1])
    ax.set_title("the price of a mistake: truth 50 + 50 items")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.19), ncols=2)


def draw_galaxies(ax: Any, velocity: Any, best: Any) -> None:
    epl.plots.histogram(velocity, best, ax=ax)
    ax.set(xlabel="velocity (1000 km/s)")
    ax.set_title(f"82 galaxies: {best.n_clusters} clusters")


def draw_rows(ax: Any, estimates: Any, order: Any, reference: Any) -> None:
    """A row for each loss, a column for each item, colored by cluster; clusters of one item are dark."""
    matched = epl.uncertainty.align(reference, [best.labels for best in estimates]).labels
    # Aligned labels number the clusters of the reference as they first appear; here they have its own
    # numbers, and clusters that match none of them the next ones.
    own = list(dict.fromkeys(reference.tolist()))
    numbers = np.array([*own, *range(len(own), matched.max() + 1)])
    colors = cluster_colors(7)
    for row, best in enumerate(estimates):
        labels = numbers[matched[row]][order]
        sizes = np.bincount(labels)
        cells = [to_rgb(ALONE) if sizes[x] == 1 else to_rgb(colors[x]) for x in labels]
        ax.imshow([cells], extent=(0, len(cells), row + 0.4, row - 0.4), aspect="auto",
                  interpolation="nearest")  # fmt: skip
        for place in np.flatnonzero(np.diff(labels)) + 1:
            ax.plot([place, place], [row - 0.4, row + 0.4], color="white", lw=1.2)
        ax.text(len(cells) * 1.015, row, best.n_clusters, va="center", fontsize=11)
    ax.text(len(order) * 1.015, -0.9, "clusters", va="center", ha="center", fontsize=10)
    ax.set(xlim=(0, len(order)), ylim=(len(estimates) - 0.5, -0.5))
    ax.set_yticks(range(len(estimates)), [best.loss.name for best in estimates], fontsize=11)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def doubtful_draws(n_doubtful: int = 10) -> Any:
    """Three clusters of 30 in every draw, and items that each draw puts into one of them at random."""
    rng = np.random.default_rng(1)
    sure = np.tile(np.repeat([0, 1, 2], 30), (2000, 1))
    return np.hstack([sure, rng.integers(3, size=(2000, n_doubtful))])


def draw_index(velocity: Any, galaxies: Any) -> Any:
    names = [best.loss.name for best in galaxies]
    doubtful = epl.minimize(doubtful_draws(), names, rng=1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.9), layout="constrained")
    order = np.argsort(velocity, kind="stable")
    # Colors from left to right, by the finest of the estimates.
    finest = max(galaxies, key=lambda best: best.n_clusters).labels
    rank = np.argsort(np.argsort([velocity[finest == g].mean() for g in range(finest.max() + 1)]))
    draw_rows(left, galaxies, order, rank[finest])
    left.set_xlabel("82 galaxies in order of velocity")
    left.set_xticks([])
    draw_rows(right, doubtful, np.arange(100), np.repeat([0, 1, 2, 3], [30, 30, 30, 10]))
    right.set_xticks(
        [45, 95], ["90 items: three clusters in every draw", "10 doubtful"], fontsize=10
    )
    right.axvline(90, color="black", lw=1.2, ls=":")
    return figure


def print_clouds(n_samples: int = 20, distances: tuple[float, ...] = (6, 4, 3)) -> None:
    """Mean number of clusters, and of those of one item, where the truth is four clouds."""
    names = list(epl.losses.available())
    cells: dict[str, list[str]] = {name: [] for name in ["draws", *names]}
    truth = np.repeat([0, 1, 2, 3], [60, 40, 30, 20])
    for distance in distances:
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in cells}
        for seed in range(n_samples):
            rng = np.random.default_rng(100 + seed)
            centers = distance * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
            points = centers[truth] + rng.normal(size=(150, 2))
            model = epl.models.GaussianMixture(points)
            draws = epl.sample(model, n_draws=500, rng=seed).draws
            for name, best in zip(names, epl.minimize(draws, names, rng=1), strict=True):
                alone = (np.bincount(best.labels) == 1).sum()
                found[name].append((best.n_clusters, alone, epl.loss(best.labels, truth, "vi")))
            rows = np.asarray(draws)[::10]
            found["draws"] += [
                (row.max() + 1, (np.bincount(row) == 1).sum(), epl.loss(row, truth, "vi"))
                for row in rows
            ]
        for name, values in found.items():
            cells[name].append(" | ".join(f"{x:.2f}" for x in np.mean(values, axis=0)))
    for name, parts in cells.items():
        print(f"| {name} | {' | '.join(parts)} |")


def save(figure: Any, name: str) -> None:
    path = FOLDER / f"{name}.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    size = path.stat().st_size
    print(f"{path.name:28} {size:>8,} bytes")
    if size > LARGEST:
        raise SystemExit(f"{path.name} must have at most {LARGEST:,} bytes; got {size:,}.")


def main() -> None:
    """One picture for each loss, and the index."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    velocity = epl.datasets.load_galaxies() / 1000
    model = epl.models.GaussianMixture(velocity, prior="paper")
    draws = epl.sample(model, n_draws=2000, rng=1).draws
    estimates = epl.minimize(draws, list(epl.losses.available()), rng=1)
    for best in estimates:
        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
        draw_prices(left, best.loss)
        draw_galaxies(right, velocity, best)
        save(figure, best.loss.name)
    save(draw_index(velocity, estimates), "index")


if __name__ == "__main__":
    print_clouds() if sys.argv[1:] == ["clouds"] else main()
