"""All benchmarks: the loss reached, the time and the memory it takes, and how these grow.

python benchmarks/run.py            # everything, a quarter of an hour; writes RESULTS.md and growth.png
python benchmarks/run.py --quick    # one seed, the smaller samples; writes nothing
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import epluribus as epl
import hard
import samples
import scale
from epluribus._parallel import NEVER
from epluribus.losses.built_in import xlogx
from epluribus.search.local import make_state
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds

HERE = Path(__file__).parent

# Best losses known, found by long runs of this package, of a prototype or of other programs.
BEST_KNOWN = {
    ("small", "vi"): 0.866047320498,
    ("medium", "vi"): 1.0029813905,
    ("wide", "vi"): 0.870487956828,
    ("large", "vi"): 1.34416928483,
    ("huge", "vi"): 1.32968290608,
    ("small", "binder"): 763.7564,
    ("medium", "binder"): 4452.416,
    ("wide", "binder"): 2396.671,
    ("large", "binder"): 275649.385,
    ("huge", "binder"): 33612006.345,
    ("small", "nvi"): 0.483622406205,
    ("small", "nid"): 0.390254888604,
    ("small", "id"): 0.650978606548,
    ("small", "omari"): 0.463607138408,
    ("medium", "nvi"): 0.287561342339,
    ("medium", "nid"): 0.190423161361,
    ("medium", "id"): 0.614006954022,
    ("medium", "omari"): 0.262659677486,
    ("wide", "nvi"): 0.128487035073,
    ("wide", "nid"): 0.0718531348083,
    ("wide", "id"): 0.46388054398,
    ("wide", "omari"): 0.206839366677,
    ("micro", "vi"): 0.503665290501,
    ("micro", "binder"): 4885.505,
}
# Median CPU seconds of version 0.1.0, five seeds on a quiet core. Binder took 54 to 70 on huge.
SECONDS_BEFORE = {
    ("small", "vi"): 0.03,
    ("medium", "vi"): 0.04,
    ("wide", "vi"): 0.65,
    ("large", "vi"): 0.48,
    ("huge", "vi"): 1.19,
    ("small", "binder"): 0.03,
    ("medium", "binder"): 0.08,
    ("wide", "binder"): 1.5,
    ("large", "binder"): 6.8,
    ("huge", "binder"): 62.0,
}
SEEDS = {
    ("large", "binder"): 3,
    ("huge", "binder"): 1,
    **dict.fromkeys((("wide", loss) for loss in ("nvi", "nid", "id", "omari")), 3),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    lines = ["# Benchmarks", "", *machine(), ""]
    print("\n".join(lines[2:]), flush=True)
    for section in sections(quick):
        lines += emit(section)
    if not quick:
        (HERE / "RESULTS.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"\nwritten: {HERE / 'RESULTS.md'}")


def sections(quick: bool) -> Iterator[Iterable[str]]:
    """The sections, each made when its turn comes."""
    yield kernel_speed()
    yield search_table(quick)
    yield from hard.sections(quick)
    yield never_separated()
    if not quick:
        yield growth()
        yield cold_start()
        yield scale.sections()


def emit(section: Iterable[str]) -> list[str]:
    """The lines of a section, each shown as soon as it is there."""
    lines = []
    for line in section:
        print(line, flush=True)
        lines.append(line)
    print()
    return [*lines, ""]


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
        "compilation. Timings vary by a factor of two between machines of this name; ratios less.",
    ]


def kernel_speed() -> list[str]:
    """Cost of one sweep without moves, per (item, draw, cluster)."""
    rows = ["## The kernel: one sweep without moves", ""]
    rows += ["| loss | K | ns per (item, draw, cluster) |", "|---|---|---|"]
    rng = np.random.default_rng(0)
    own = epl.Loss(_vi, xlogx, xlogx, xlogx, name="a user's own (vi, not declared linear)")
    cases = [("vi", 10), ("vi", 50), ("vi", 100), ("nvi", 10), ("nvi", 50), (own, 50)]
    for loss, k in cases:
        truth = rng.integers(k, size=1000)
        z = np.where(rng.random((1000, 1000)) < 0.9, truth, rng.integers(15, size=(1000, 1000)))
        problem = Problem.of(epl.Draws(z % 15), epl.losses.get(loss))
        seconds = sweep_seconds(problem, epl.partition.canonical(truth), k, keep=True)
        name = problem.loss.name
        rows.append(f"| {name} | {k} | {seconds / (1000 * 1000 * k) * 1e9:.3f} |")
    return rows


def _vi(joint: float, size: float, group: float, n_items: float) -> float:
    return (size + group - 2 * joint) / n_items


def sweep_seconds(problem: Problem, labels: np.ndarray, k: int, keep: bool = False) -> float:
    """The least CPU time of three sweeps; with `keep` no cluster may open or close."""
    rng = np.random.default_rng(0)
    bounds = Bounds(k, k, NEVER) if keep else Bounds(1, problem.n_items, NEVER)
    state = make_state(problem, labels)
    for _ in range(3 if keep else 0):
        state.sweep(rng.permutation(problem.n_items), bounds)
    times = []
    for _ in range(3):
        began = time.process_time()
        state.sweep(rng.permutation(problem.n_items), bounds)
        times.append(time.process_time() - began)
    return min(times)


def search_table(quick: bool) -> Iterator[str]:
    """One call of minimize with its defaults, for several seeds."""
    yield from (
        "## The search: one call of `minimize`, defaults",
        "",
        "Difference: ours minus best known, over the seeds; at best known: to nine digits. CPU s: median "
        "over the seeds; ratio: to that of version 0.1.0, where it was measured. Sweeps: CPU seconds over "
        "those of one sweep of `greedy` over the whole sample at the final K. Memory: peak beyond the stored "
        "draws, and over 16 bytes x draws x most clusters of a draw x K.",
        "",
        "| sample | loss | best known | ours (best) | difference, best to worst (%) | seeds at best known "
        "| K | CPU s | CPU s, 0.1.0 | ratio | sweeps | memory MB | memory ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    )
    for name, loss in BEST_KNOWN:
        if (
            not quick
            or name == "small"
            or (name in ("medium", "wide") and loss in ("vi", "binder"))
        ):
            yield search_row(name, loss, 1 if quick else SEEDS.get((name, loss), 5))


def search_row(name: str, loss: str, n_seeds: int) -> str:
    draws, known = epl.Draws(samples.load(name)), BEST_KNOWN[name, loss]
    epl.minimize(draws, loss, rng=0)  # compiles
    values, times = [], []
    for seed in range(1, n_seeds + 1):
        began = time.process_time()
        best = epl.minimize(draws, loss, rng=seed)
        times.append(time.process_time() - began)
        values.append(best.expected_loss)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    epl.minimize(draws, loss, rng=1)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    problem = Problem.of(draws, epl.losses.get(loss))
    sweep = sweep_seconds(problem, best.labels, best.n_clusters)
    hits = sum(value <= known * (1 + hard.REACHED) for value in values)
    difference = [(value / known - 1) * 100 for value in (min(values), max(values))]
    seconds = float(np.median(times))
    earlier = SECONDS_BEFORE.get((name, loss))
    compared = f"{earlier:.2f} | {seconds / earlier:.2f}" if earlier else "|"
    allowed = 16 * draws.n_distinct * int(draws.n_clusters.max()) * best.n_clusters
    return (
        f"| {name} | {loss} | {known:.10g} | {min(values):.10g} | {difference[0]:+.5f} to "
        f"{difference[1]:+.5f} | {hits} of {n_seeds} | {best.n_clusters} | {seconds:.3f} | {compared} | "
        f"{seconds / sweep:.1f} | {peak / 1e6:.1f} | {peak / allowed:.2f} |"
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
