"""All benchmarks: the loss reached, the time and the memory it takes, and how these grow.

python benchmarks/run.py            # everything, some minutes; writes RESULTS.md and growth.png
python benchmarks/run.py --quick    # one seed, the smaller samples; writes nothing
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np

import epluribus as epl
import samples
from epluribus.engine import NO_BOUNDS, Engine, Settings

HERE = Path(__file__).parent

# Best losses known before this package, found by long runs of a prototype or by other programs; for
# micro, which none of them could do, by our own with 24 starts.
BEST_KNOWN = {
    ("small", "vi"): 0.866047,
    ("medium", "vi"): 1.002981,
    ("wide", "vi"): 0.870488,
    ("large", "vi"): 1.344169,
    ("huge", "vi"): 1.329683,
    ("small", "binder"): 763.7564,
    ("medium", "binder"): 4452.416,
    ("wide", "binder"): 2396.671,
    ("large", "binder"): 275649.45,
    ("huge", "binder"): 33612013.9,
    ("small", "nvi"): 0.483622,
    ("small", "nid"): 0.390255,
    ("small", "id"): 0.650979,
    ("small", "omari"): 0.463607,
    ("medium", "nvi"): 0.287561,
    ("medium", "nid"): 0.19216,
    ("medium", "id"): 0.622059,
    ("medium", "omari"): 0.262660,
    ("micro", "vi"): 0.503665,
    ("micro", "binder"): 4885.505,
}
SEEDS = {("large", "binder"): 3, ("huge", "binder"): 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    lines = ["# Benchmarks", "", *machine(), ""]
    show(lines[2:])
    for section in (kernel_speed, partial(search_table, quick), never_separated):
        lines += emit(section())
    if not quick:
        lines += emit(growth())
        lines += emit(cold_start())
        (HERE / "RESULTS.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"\nwritten: {HERE / 'RESULTS.md'}")


def show(lines: list[str]) -> None:
    print("\n".join(lines), flush=True)


def emit(section: list[str]) -> list[str]:
    show(section)
    return [*section, ""]


def machine() -> list[str]:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            row.split(":")[1].strip()
            for row in info.read_text().splitlines()
            if "model name" in row
        ]
        model = names[0] if names else model
    import numba

    return [
        f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"Numba {numba.__version__}, epluribus {epl.__version__}. CPU seconds of all threads, after "
        "compilation. Timings on a shared machine vary by a factor of 1.5; ratios less.",
    ]


def kernel_speed() -> list[str]:
    """Cost of one sweep without moves, per (item, draw, cluster)."""
    rows = ["## The kernel: one sweep without moves", ""]
    rows += ["| loss | K | ns per (item, draw, cluster) |", "|---|---|---|"]
    rng = np.random.default_rng(0)
    own = epl.Loss(_vi, _xlogx, _xlogx, _xlogx, name="a user's own (vi, not declared linear)")
    cases = [("vi", 10), ("vi", 50), ("vi", 100), ("nvi", 10), ("nvi", 50), (own, 50)]
    for loss, k in cases:
        truth = rng.integers(k, size=1000)
        z = np.where(rng.random((1000, 1000)) < 0.9, truth, rng.integers(15, size=(1000, 1000)))
        engine = Engine.of(epl.Draws(z % 15), epl.losses.get(loss))
        seconds = sweep_seconds(engine, epl.partition.canonical(truth), k, keep=True)
        name = engine.loss.name
        rows.append(f"| {name} | {k} | {seconds / (1000 * 1000 * k) * 1e9:.3f} |")
    return rows


def _xlogx(n: int) -> float:
    return n * math.log2(n) if n else 0.0


def _vi(joint: float, size: float, group: float, n_items: float) -> float:
    return (size + group - 2 * joint) / n_items


def sweep_seconds(engine: Engine, labels: np.ndarray, k: int, keep: bool = False) -> float:
    """The least CPU time of three sweeps; with `keep` no cluster may open or close."""
    rng = np.random.default_rng(0)
    bounds = Settings(k_min=k, k_max=k) if keep else NO_BOUNDS
    state = engine.start(labels)
    for _ in range(3 if keep else 0):
        state, _, _ = engine.sweep(state, rng.permutation(engine.n_items), bounds)
    times = []
    for _ in range(3):
        began = time.process_time()
        state, _, _ = engine.sweep(state, rng.permutation(engine.n_items), bounds)
        times.append(time.process_time() - began)
    return min(times)


def search_table(quick: bool) -> list[str]:
    """One call of minimize with its defaults, for several seeds."""
    rows = [
        "## The search: one call of `minimize`, defaults",
        "",
        "Difference: ours minus best known, over the seeds. Sweeps: CPU seconds over those of one sweep of "
        "`greedy` over the whole sample at the final K. Memory: peak beyond the stored draws, and over 16 "
        "bytes x draws x most clusters of a draw x K.",
        "",
        "| sample | loss | best known | ours (best) | difference, best to worst (%) | seeds at best known "
        "| K | CPU s | sweeps | memory MB | memory ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    show(rows[4:])
    for (name, loss), known in BEST_KNOWN.items():
        if quick and name in ("large", "huge", "micro"):
            continue
        row = search_row(name, loss, known, 1 if quick else SEEDS.get((name, loss), 5))
        print(row, flush=True)
        rows.append(row)
    return rows


def search_row(name: str, loss: str, known: float, n_seeds: int) -> str:
    draws = epl.Draws(samples.load(name))
    epl.minimize(draws, loss, rng=0, time_limit=60)  # compiles
    values, seconds = [], []
    for seed in range(1, n_seeds + 1):
        began = time.process_time()
        best = epl.minimize(draws, loss, rng=seed)
        seconds.append(time.process_time() - began)
        values.append(best.expected_loss)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    epl.minimize(draws, loss, rng=1)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    engine = Engine.of(draws, epl.losses.get(loss))
    sweep = sweep_seconds(engine, best.labels, best.n_clusters)
    # Reached: to five decimals, or to seven digits of a large loss.
    hits = sum(value <= known + max(5e-6, 1e-7 * known) for value in values)
    difference = [(value / known - 1) * 100 for value in (min(values), max(values))]
    allowed = 16 * draws.n_distinct * int(draws.n_clusters.max()) * best.n_clusters
    return (
        f"| {name} | {loss} | {known:.10g} | {min(values):.10g} | {difference[0]:+.5f} to "
        f"{difference[1]:+.5f} | {hits} of {n_seeds} | {best.n_clusters} | {np.mean(seconds):.3f} | "
        f"{np.mean(seconds) / sweep:.1f} | {peak / 1e6:.1f} | {peak / allowed:.2f} |"
    )


def never_separated() -> list[str]:
    """Whether it would pay to treat items that no draw separates as one."""
    rows = ["## Items that no draw separates", ""]
    rows += ["| sample | items | distinct items |", "|---|---|---|"]
    for name in samples.SIZES:
        table = epl.Draws(samples.load(name)).item_major
        rows.append(f"| {name} | {len(table)} | {len(np.unique(table, axis=0))} |")
    rows += [
        "",
        "Treating such items as one is safe for Binder and VI, but saves a quarter of a sweep on huge and "
        "next to nothing elsewhere, so it is left out.",
    ]
    return rows


def growth() -> list[str]:
    """How the cost of one call grows with items, draws and clusters."""
    sweeps = {
        "items": [(n, 500, 10) for n in (250, 500, 1000, 2000, 4000)],
        "draws": [(500, t, 10) for t in (500, 1000, 2000, 4000, 8000)],
        "clusters": [(1000, 500, k) for k in (5, 10, 20, 40, 80)],
    }
    rows = ["## Growth: one call of `minimize`, VI", ""]
    rows += ["| what grows | values | CPU s | exponent |", "|---|---|---|---|"]
    measured = {}
    for at, (what, cases) in enumerate(sweeps.items()):
        seconds = []
        for n, t, k in cases:
            draws = epl.Draws(samples.drifting_draws(seed=7, n_items=n, n_draws=t, k=k))
            times = []
            for seed in range(3):
                began = time.process_time()
                epl.minimize(draws, "vi", rng=seed)
                times.append(time.process_time() - began)
            seconds.append(min(times))
        values = [case[at] for case in cases]
        slope = np.polyfit(np.log(values), np.log(seconds), 1)[0]
        measured[what] = (values, seconds, slope)
        shown = ", ".join(f"{value:.3f}" for value in seconds)
        rows.append(f"| {what} | {', '.join(map(str, values))} | {shown} | {slope:.2f} |")
    draw_growth(measured)
    return [*rows, "", "![growth](growth.png)"]


def draw_growth(measured: dict[str, tuple[list[int], list[float], float]]) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
    for ax, (what, (values, seconds, slope)) in zip(axes, measured.items(), strict=True):
        ax.loglog(values, seconds, "o-", color="#0072B2")
        ax.set_xticks(values, [f"{value:,}" for value in values])
        ax.minorticks_off()
        ax.set_xlabel(what)
        ax.set_title(f"exponent {slope:.2f}", fontsize=10)
        ax.grid(alpha=0.3)
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    low, high = axes[0].get_ylim()
    axes[0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes[0].set_ylim(low, high)
    axes[0].set_ylabel("CPU seconds")
    figure.savefig(HERE / "growth.png", dpi=120)


def cold_start() -> list[str]:
    """The command on `small`: with an empty cache of compiled kernels, and again."""
    rows = ["## Start-up: `epluribus summarize` on `small` (csv), wall seconds", ""]
    rows += ["| cache | seconds |", "|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.csv"
        np.savetxt(path, samples.load("small"), fmt="%d", delimiter=",")
        command = [sys.executable, "-m", "epluribus", "summarize", str(path), "--seed", "1"]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "cache")}
        for what in ("empty", "filled", "filled"):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            rows.append(f"| {what} | {time.perf_counter() - began:.2f} |")
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import epluribus"], check=True, env=environment)
        rows.append(f"| (import alone) | {time.perf_counter() - began:.2f} |")
    return rows


if __name__ == "__main__":
    main()
