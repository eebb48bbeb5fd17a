"""What one call of `minimize` finds, and what it takes: writes RESULTS.md, a page to read in a minute.

python benchmarks/run.py            # everything, some ten minutes on two quiet cores; writes RESULTS.md and best.json
python benchmarks/run.py --quick    # few seeds and the smaller samples; writes nothing

Best losses known come from long runs of this package and of other programs; they are kept in best.json, where a call
that finds a better one is entered.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

import epluribus as epl
import samples
from epluribus.losses.built_in import xlogx
from epluribus.search import _minimize

HERE = Path(__file__).parent
LOSSES = ("vi", "binder", "nvi", "nid", "id", "omari")
REACHED = 1e-9
"""A loss is reached by another that exceeds it by this share at most: more than rounding errors."""
BEST: dict[str, float] = json.loads((HERE / "best.json").read_text("utf-8"))
"""Best loss known of each sample and loss, "small vi"."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    lines = []
    for section in sections(quick):
        for line in [*section, ""]:
            print(line, flush=True)
            lines.append(line)
    if not quick:
        (HERE / "RESULTS.md").write_text("\n".join(lines), encoding="utf-8")
        (HERE / "best.json").write_text(json.dumps(BEST, indent=0) + "\n", encoding="utf-8")


def sections(quick: bool) -> Iterator[Iterator[str]]:
    """The sections of the page, each line by line as it is found."""
    yield introduction()
    yield seconds(("small", "medium"), 1) if quick else seconds(tuple(samples.SIZES), 3)
    yield hard(("restaurant_2", "iid"), 1) if quick else hard(tuple(samples.HARD_SIZES), 3)
    yield (
        asked_for(("k", "min_size"), (30,), 1) if quick else asked_for(QUESTIONS, (30, 100, 200), 3)
    )
    yield against_exact(20 if quick else 200)
    if not quick:
        yield growth()
        yield large()


def introduction() -> Iterator[str]:
    """What was measured, and where."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            row.split(":")[1].strip()
            for row in info.read_text().splitlines()
            if "model name" in row
        ]
        model = names[0] if names else model
    yield "# Benchmarks"
    yield ""
    yield (
        "One call of `minimize` with its defaults, written by `python benchmarks/run.py`. CPU seconds are medians over "
        "the seeds, of one thread, after compilation; other work on the machine makes them longer: treat factors "
        "below three as noise. A loss is reached if it is equal to nine digits. Other programs were not run here."
    )
    yield ""
    yield (
        f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}, NumPy {np.__version__}, Numba "
        f"{numba.__version__}, epluribus {epl.__version__}."
    )


class Calls(NamedTuple):
    """What several calls of `minimize` found, and the CPU seconds of each."""

    values: list[float]
    seconds: list[float]

    @classmethod
    def of(cls, draws: epl.Draws, loss: str, n_seeds: int, **options: Any) -> Calls:
        """Calls with the seeds 1, 2, ... in one thread, after compilation."""
        epl.minimize(draws, loss, rng=0, n_jobs=1, **options)  # compiles
        values, times = [], []
        for seed in range(1, n_seeds + 1):
            began = time.process_time()
            values.append(epl.minimize(draws, loss, rng=seed, n_jobs=1, **options).expected_loss)
            times.append(time.process_time() - began)
        return cls(values, times)

    def excess(self, best: float) -> list[float]:
        """By how many percent each is above the best loss; 0 where it is reached."""
        return [
            100 * max(0.0, value / best - 1) * (value > best * (1 + REACHED))
            for value in self.values
        ]


def best_known(name: str, loss: str, calls: Calls) -> float:
    """The best loss known, these calls included, which is remembered."""
    key = f"{name} {loss}"
    if min(calls.values) < BEST.get(key, math.inf) * (1 - REACHED):
        BEST[key] = min(calls.values)
    return BEST[key]


def row(*cells: object) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def summary(excess: list[float]) -> tuple[str, str]:
    """How many of the calls reach the best, and the worst excess, as cells."""
    return f"{excess.count(0.0)} of {len(excess)}", f"{max(excess):.4f}"


def seconds(names: tuple[str, ...], n_seeds: int) -> Iterator[str]:
    """Samples of growing size."""
    yield from ("## Time", "", "CPU seconds; with *, not all seeds reach the best known loss.", "")
    sizes = [f"{name}: {n:,} x {t:,}" for name, (n, t) in samples.SIZES.items() if name in names]
    yield row("loss", *sizes)
    yield "|---" * (1 + len(sizes)) + "|"
    for loss in LOSSES:
        cells = []
        for name in names:
            if loss not in ("vi", "binder") and name not in ("small", "medium", "wide"):
                cells.append("")
                continue
            calls = Calls.of(epl.Draws(samples.load(name)), loss, n_seeds)
            missed = max(calls.excess(best_known(name, loss, calls))) > 0
            cells.append(f"{np.median(calls.seconds):.2f}{'*' * missed}")
        yield row(loss, *cells)


def hard(names: tuple[str, ...], n_seeds: int) -> Iterator[str]:
    """Samples in which many partitions are nearly as good as the best."""
    yield from (
        "## Hard samples",
        "",
        f"Ten samples without clear clusters (`benchmarks/samples.py`), {n_seeds} seeds each. Best "
        "known: by long searches, kept in `benchmarks/best.json`.",
        "",
        row("loss", "reach the best known", "worst excess (%)", "CPU s", "missed in some seed"),
        "|---|---|---|---|---|",
    )
    every: list[float] = []
    for loss in LOSSES:
        excess, times, missed = [], [], []
        for name in names:
            calls = Calls.of(epl.Draws(samples.load(name)), loss, n_seeds)
            above = calls.excess(best_known(name, loss, calls))
            excess, times = excess + above, times + calls.seconds
            missed += [name] * (max(above) > 0)
        every += excess
        yield row(loss, *summary(excess), f"{np.median(times):.2f}", ", ".join(missed) or "none")
    yield row("all", *summary(every), "", "")


# --- bounds and constraints ---


def _pairs(rng: np.random.Generator, labels: np.ndarray, same: bool) -> list[tuple[int, int]]:
    """Five pairs of items that the labels have together, or apart."""
    pairs = rng.integers(len(labels), size=(5000, 2)).tolist()
    return [(i, j) for i, j in pairs if i != j and (labels[i] == labels[j]) == same][:5]


QUESTIONS = ("k", "k_max", "k_min", "min_size", "must_link", "cannot_link", "sources", "contiguity")


def asked_for(kinds: tuple[str, ...], sizes: tuple[int, ...], n_seeds: int) -> Iterator[str]:
    """Bounds on the number of clusters, and constraints, against longer searches."""
    yield from (
        "## Bounds and constraints",
        "",
        f"VI; two samples each of {', '.join(map(str, sizes))} items, {n_seeds} seeds: diffuse clusters; records of "
        "five files (sources); regions of a grid (contiguity). Best: of these calls and two of at least 36 starts.",
        "",
        row(
            "asked for",
            "reach the best",
            "worst excess (%)",
            "CPU s",
            "over those of the free call",
        ),
        "|---|---|---|---|---|",
    )
    for kind in kinds:
        excess, times, ratios = [], [], []
        for n in sizes:
            for seed in (1, 2):
                draws, options = question(kind, n, seed)
                free = Calls.of(draws, "vi", 3)
                calls = Calls.of(draws, "vi", n_seeds, **options)
                longer = Calls.of(draws, "vi", 2, n_starts=36, **options)
                excess += calls.excess(min(calls.values + longer.values))
                times += calls.seconds
                ratios.append(np.median(calls.seconds) / np.median(free.seconds))
        yield row(kind, *summary(excess), f"{np.median(times):.2f}", f"{np.median(ratios):.1f}")


def question(kind: str, n: int, seed: int) -> tuple[epl.Draws, dict[str, Any]]:
    """A sample of n items, and what is asked for, as options of `minimize`."""
    rng = np.random.default_rng([seed, n])
    if kind == "sources":
        z, files = samples.record_draws(rng, n, 300)
        return epl.Draws(z), {"constraints": epl.Constraints(sources=files)}
    if kind == "contiguity":
        z, edges = samples.region_draws(rng, math.isqrt(n), 300)
        return epl.Draws(z), {"constraints": epl.Constraints(contiguity=edges)}
    draws = epl.Draws(
        samples.drifting_draws(100 * seed + n, n, 500, k=4 + n // 20, box=4.5, drift=0.8)
    )
    best = epl.minimize(draws, rng=0)
    k = best.n_clusters
    if kind.startswith("k"):
        number = {"k": k + 2, "k_max": max(2, k // 2), "k_min": k + max(2, k // 2)}[kind]
        return draws, {kind: number}
    asked: Any = 3 + n // 40
    if kind != "min_size":
        asked = _pairs(rng, best.labels, same=kind == "cannot_link")
    return draws, {"constraints": epl.Constraints(**{kind: asked})}


# --- few items ---


def _root(joint: float, size: float, group: float, n_items: float) -> float:
    return math.sqrt(max(0.0, size + group - 2 * joint) / n_items) + 0.05 * size / n_items


def _slanted(joint: float, size: float, group: float, n_items: float) -> float:
    return (0.7 * size + 1.3 * group - 2 * joint) / n_items


def _power(n: int) -> float:
    return float(n) ** 1.5


SMALL_LOSSES = (
    *map(epl.losses.get, (*LOSSES, "zero_one")),
    *(epl.losses.vi(cost) for cost in (0.4, 0.7, 1.3, 1.7)),
    *(epl.losses.binder(cost) for cost in (0.4, 0.7, 1.3, 1.7)),
    epl.Loss(_root, xlogx, xlogx, xlogx, name="own, root of vi"),
    epl.Loss(_slanted, _power, _power, _power, name="own, linear", linear=True),
)
BOUNDS = ("any", "k", "k_max", "k_min")


@contextmanager
def heuristic() -> Iterator[None]:
    """Inside, `minimize` searches however few the items are."""
    kept = _minimize.MAX_ITEMS
    _minimize.MAX_ITEMS = 0
    try:
        yield
    finally:
        _minimize.MAX_ITEMS = kept


def small_case(number: int) -> tuple[epl.Draws, epl.Loss, str, dict[str, int]]:
    """The case of that number: a third of them noise, the others a partition, disturbed a little or much."""
    rng = np.random.default_rng(number)
    loss = SMALL_LOSSES[number % len(SMALL_LOSSES)]
    n_items, n_draws = int(rng.integers(8, 12 if loss.linear else 10)), int(rng.integers(2, 40))
    if number % 3 == 0:
        z = rng.integers(0, rng.integers(2, 6), (n_draws, n_items))
    else:
        z = np.tile(rng.integers(0, rng.integers(2, 5), n_items), (n_draws, 1))
        hit = rng.random(z.shape) < (0.15 if number % 3 == 1 else 0.4)
        z[hit] = rng.integers(0, 4, hit.sum())
    weights = rng.random(n_draws) if number % 5 == 0 else None
    bound, k = BOUNDS[rng.integers(len(BOUNDS))], int(rng.integers(1, n_items + 1))
    return epl.Draws(z, weights=weights), loss, bound, {} if bound == "any" else {bound: k}


def against_exact(n_cases: int) -> Iterator[str]:
    """The search on samples small enough for the proven optimum, which it would otherwise use itself."""
    yield from (
        "## Against the exact optimum",
        "",
        f"{n_cases} random samples of 8 to 11 items and 2 to 39 draws, a fifth of them with weights; all losses, costs "
        "from 0.4 to 1.7, losses of one's own. The search, with the exact solution switched off, against `exact`.",
        "",
        row("clusters", "reach the optimum", "worst excess (%)"),
        "|---|---|---|",
    )
    excess: dict[str, list[float]] = {bound: [] for bound in BOUNDS}
    for number in range(n_cases):
        draws, loss, bound, options = small_case(number)
        optimum = epl.search.exact(draws, loss, **options).expected_loss
        with heuristic():
            found = epl.minimize(draws, loss, rng=number, n_jobs=1, **options).expected_loss
        missed = found - optimum > REACHED * max(
            1.0, optimum
        )  # a rounding error of a loss of 0 is no miss
        excess[bound].append(100 * (found / optimum - 1) if missed and optimum else 0.0)
    for bound, shares in excess.items():
        yield row(bound, *summary(shares or [0.0]))
    yield row("all", *summary([share for shares in excess.values() for share in shares]))


# --- size ---


def growth() -> Iterator[str]:
    """How the cost of one call grows with items, draws and clusters."""
    sweeps = {
        "items": [(n, 500, 10) for n in (250, 500, 1000, 2000, 4000)],
        "draws": [(500, t, 10) for t in (500, 1000, 2000, 4000, 8000)],
        "clusters": [(1000, 500, k) for k in (5, 10, 20, 40, 80)],
    }
    yield from (
        "## Growth",
        "",
        row("VI: what grows", "values", "CPU s", "exponent"),
        "|---|---|---|---|",
    )
    for at, (what, cases) in enumerate(sweeps.items()):
        times = [
            min(
                Calls.of(
                    epl.Draws(samples.drifting_draws(seed=7, n_items=n, n_draws=t, k=k)), "vi", 3
                ).seconds
            )
            for n, t, k in cases
        ]
        values = [case[at] for case in cases]
        slope = np.polyfit(np.log(values), np.log(times), 1)[0]
        shown = ", ".join(f"{one:.3f}" for one in times)
        yield row(what, ", ".join(map(str, values)), shown, f"{slope:.2f}")
    few = epl.Draws(samples.drifting_draws(seed=7, n_items=30, n_draws=500, k=4))
    least = min(Calls.of(few, "vi", 20, search="greedy", n_starts=1).seconds)
    usual = np.median(Calls.of(few, "vi", 20).seconds)
    yield ""
    yield (
        f"30 items and 500 draws: {1e3 * usual:.0f} ms; with one start and sweeps alone, mostly what every call "
        f"costs, {1e3 * least:.1f} ms."
    )


def large() -> Iterator[str]:
    """Very many items or draws, all cores."""
    yield from (
        "## Large samples",
        "",
        row("items", "draws", "loss", "CPU s", "converged"),
        "|---|---|---|---|---|",
    )
    cases = (
        (50, 1_000_000, "vi"),
        (1_000_000, 100, "vi"),
        (60_000, 200, "binder"),
        (60_000, 100, "nvi"),
    )
    for n, t, loss in cases:
        draws = epl.Draws(samples.crowded_draws(n, t))
        began = time.process_time()
        best = epl.minimize(draws, loss, rng=1)
        yield row(
            f"{n:,}",
            f"{t:,}",
            loss,
            f"{time.process_time() - began:.1f}",
            "yes" if best.converged else "no",
        )


if __name__ == "__main__":
    main()
