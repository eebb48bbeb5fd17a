"""Large samples: time by items, draws and threads, and memory.

python benchmarks/scale.py             # some minutes; prints the section "Scale" of RESULTS.md
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import epluribus as epl

CLUSTERS, UNSURE, NOISE = 30, 0.1, 0.1
"""Clusters of the truth; share of items between two clusters; share that a draw puts anywhere."""


def noisy(n_items: int, n_draws: int, out: np.ndarray | None = None) -> np.ndarray:
    """Draws around a partition into clusters of very different sizes; every third draw joins two of them."""
    rng = np.random.default_rng(n_items)
    truth = rng.choice(CLUSTERS, n_items, p=rng.dirichlet(np.ones(CLUSTERS))).astype(np.uint8)
    unsure = np.flatnonzero(rng.random(n_items) < UNSURE)
    other = rng.integers(CLUSTERS, size=len(unsure), dtype=np.uint8)
    z = np.empty((n_draws, n_items), dtype=np.uint8) if out is None else out

    def draw(t: int) -> None:
        mine, row = np.random.default_rng([n_items, t]), z[t]
        row[:] = truth
        if t % 3 == 0:
            row[row == 1] = 0
        moved = mine.integers(n_items, size=int(NOISE * n_items))
        row[moved] = mine.integers(CLUSTERS, size=len(moved), dtype=np.uint8)
        away = mine.random(len(unsure)) < 0.45
        row[unsure[away]] = other[away]

    with ThreadPoolExecutor() as pool:
        list(pool.map(draw, range(n_draws)))
    return z


def timed(
    draws: epl.Draws, loss: str = "vi", **options: object
) -> tuple[float, float, epl.Estimate]:
    """Wall and CPU seconds of a search, and its answer."""
    wall, cpu = time.perf_counter(), time.process_time()
    best = epl.minimize(draws, loss, rng=1, **options)
    return time.perf_counter() - wall, time.process_time() - cpu, best


def slope(sizes: list[int], seconds: list[float]) -> float:
    """The exponent with which the time grows."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth() -> Iterator[str]:
    """Time by the number of items and of draws."""
    epl.minimize(epl.Draws(noisy(70_000, 32)), rng=1)  # compiles
    yield "| items | draws | K | CPU s | converged |\n|---|---|---|---|---|"
    exponents = {}
    for name, shapes in {
        "items": [(100_000, 200), (200_000, 200), (400_000, 200)],
        "draws": [(100_000, 200), (100_000, 400), (100_000, 800)],
    }.items():
        seconds = []
        for shape in shapes:
            _, cpu, best = timed(epl.Draws(noisy(*shape)), n_jobs=1)
            seconds.append(cpu)
            yield f"| {shape[0]:,} | {shape[1]:,} | {best.n_clusters} | {cpu:.2f} | {best.converged} |"
        exponents[name] = slope([shape[name == "draws"] for shape in shapes], seconds)
    yield ""
    yield "Time grows with the power {items:.2f} of the items and {draws:.2f} of the draws.".format(
        **exponents
    )


def threads() -> Iterator[str]:
    """One thread and two, in turn."""
    yield "\n| sample | one thread, s | two threads, s | ratio |\n|---|---|---|---|"
    here = Path(__file__).parent / "samples"
    cases = {"400,000 x 500": noisy(400_000, 500)}
    if (here / "huge.npy").exists():
        cases["huge"] = np.load(here / "huge.npy")
    for name, z in cases.items():
        draws = epl.Draws(z)
        walls = {1: [], 2: []}
        for n_jobs in (1, 2) * 3:
            walls[n_jobs].append(timed(draws, n_jobs=n_jobs)[0])
        one, two = (float(np.median(walls[n])) for n in (1, 2))
        yield f"| {name} | {one:.2f} | {two:.2f} | {one / two:.2f} |"


def shapes() -> Iterator[str]:
    """Very many draws of few items, very many items in few draws, and other losses."""
    yield "\n| items | draws | loss | CPU s | converged |\n|---|---|---|---|---|"
    for n_items, n_draws, loss in [
        (50, 1_000_000, "vi"),
        (1_000_000, 100, "vi"),
        (200_000, 500, "vi"),
        (60_000, 200, "binder"),
        (200_000, 500, "binder"),
        (60_000, 100, "nvi"),
    ]:
        _, cpu, best = timed(epl.Draws(noisy(n_items, n_draws)), loss)
        yield f"| {n_items:,} | {n_draws:,} | {loss} | {cpu:.1f} | {best.converged} |"


CHILD = """
import sys, time
import epluribus as epl
def peak():  # of this process alone: what getrusage says begins with the parent's
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 2**20
epl.Draws, epl.minimize  # imported when first used
base, began = peak(), time.perf_counter()
draws = epl.Draws(sys.argv[1], missing=255)
read = time.perf_counter() - began
best = epl.minimize(draws, rng=1, n_jobs=int(sys.argv[2]))
wall = time.perf_counter() - began
print(f"{read:.1f} | {wall:.1f} | {time.process_time():.1f} | {peak():.2f} | {base:.2f} | "
      f"{best.expected_loss:.9f}")
"""


def million() -> Iterator[str]:
    """One million items by 1000 draws, from a file."""
    yield "\n| threads | read, s | with search, s | CPU s | peak GB | of which Python | loss |"
    yield "|---|---|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "z.npy"
        noisy(1_000_000, 1000, np.lib.format.open_memmap(path, "w+", np.uint8, (1000, 1_000_000)))
        for n_jobs in (2, 1):
            run = [sys.executable, "-c", CHILD, str(path), str(n_jobs)]
            found = subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()
            yield f"| {n_jobs} | {found} |"


def missing() -> Iterator[str]:
    """Draws of which 80 % of the labels are missing, from a file; 255 stands for these."""
    yield "\n80 % of the labels missing, two threads:\n"
    yield "| items | draws | read, s | with search, s | CPU s | peak GB | of which Python | loss |"
    yield "|---|---|---|---|---|---|---|---|"
    for n_items, n_draws in [(5_000, 200), (1_000_000, 500)]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "z.npy"
            shape = (n_draws, n_items)
            z = noisy(n_items, n_draws, np.lib.format.open_memmap(path, "w+", np.uint8, shape))
            rng = np.random.default_rng(1)
            for row in z:
                row[rng.random(n_items) < 0.8] = 255
            z.flush()
            run = [sys.executable, "-c", CHILD, str(path), "2"]
            found = subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()
            yield f"| {n_items:,} | {n_draws} | {found} |"


def sections() -> Iterator[str]:
    """The part of RESULTS.md."""
    yield "## Scale\n"
    yield from growth()
    yield from threads()
    yield from shapes()
    yield from million()
    yield from missing()


def main() -> None:
    """Print the section."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    for line in sections():
        print(line, flush=True)


if __name__ == "__main__":
    main()
