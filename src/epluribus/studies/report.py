"""Tables and sentences that all three studies have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._parallel import resolve_jobs
from epluribus.studies.analysis import law_of_clusters
from epluribus.studies.confusion import items_moved
from epluribus.studies.study import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from epluribus._typing import IntArray
    from epluribus.estimate import Estimate
    from epluribus.estimate import Run
    from epluribus.studies.analysis import Analysis
    from epluribus.studies.facts import Facts

__all__ = [
    "NUMBERED",
    "chains_table",
    "clusters_table",
    "command",
    "confusion_table",
    "facts_table",
    "greedy_table",
    "k_table",
    "label_columns",
    "losses_table",
    "sampler_note",
    "seconds",
    "setting",
    "similar_note",
]

NUMBERED = (
    "Clusters are in the order of the paper's columns that match them best; their numbers are those of "
    "labels.csv and of the pictures."
)
"""Said below a table of parties."""
_STARTS_OF_CHAINS = ("one cluster", "as many as allowed")
_SIMILAR = 0.1
"""Optima are called similar when at most this share of the items is placed differently."""


def seconds(value: float) -> str:
    """A duration, to two figures: 0.034 s, 4.5 s, 72 s, 3.1 min."""
    if value >= 120:
        return f"{value / 60:.2g} min"
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"


def command(name: str, *, quick: bool, as_printed: bool) -> str:
    """The command that makes the study."""
    options = [" --quick"] * quick + [" --as-printed"] * as_printed
    return f"epluribus reproduce {name}{''.join(options)}"


def label_columns(
    analysis: Analysis, number: Callable[[IntArray], IntArray]
) -> dict[str, IntArray]:
    """The optimum under each loss and the MAP, clusters numbered 1, 2, ... by `number`."""
    found = {estimate.loss.name: estimate.labels for estimate in analysis.by_loss}
    found["map"] = analysis.trace.map_labels
    return {name: number(labels) for name, labels in found.items()}


def setting(analysis: Analysis, facts: Facts, model: str, sampler: str) -> str:
    """The paragraph on data, model and sampler."""
    protocol = analysis.protocol
    return (
        f"Section {facts.section} of Rastelli & Friel (2018). {model} Sampler: {sampler}; "
        f"{protocol.n_chains} chains of {protocol.n_draws:,} draws, {protocol.thin:,} steps apart after "
        f"{protocol.burn_in:,} steps of burn-in (the paper: one chain of {facts.n_draws:,}, "
        f"{facts.thin} apart after {facts.burn_in:,}). Number of clusters means those in use."
    )


def facts_table(analysis: Analysis, facts: Facts, more: Sequence[Sequence[Any]] = ()) -> Table:
    """The paper beside us."""
    law = law_of_clusters(analysis.trace.n_clusters)
    mode = analysis.k_mode
    sampled = float(analysis.trace.settings["seconds"])
    share = sampled / analysis.protocol.n_chains
    runs = [run.seconds for kind in analysis.greedy.values() for run in kind]
    mean = float(np.mean(runs))
    rows = [
        ("posterior of the number of clusters peaks at", facts.k_mode, f"{mode} ({law[mode]:.0%})"),
        ("clusters of the VI-optimal partition", facts.k_optimal, analysis.best.n_clusters),
        *more,
        (
            "time for the sample",
            facts.sample_time,
            f"{seconds(sampled)} for {analysis.protocol.n_chains} chains, {seconds(share)} a chain",
        ),
        ("one run of the greedy algorithm, average", facts.greedy_time, seconds(mean)),
        ("all of this study", "", f"{seconds(analysis.seconds)} on {resolve_jobs(None)} cores"),
    ]
    return Table("The paper's facts beside ours", ("fact", "paper", "here"), rows)


def clusters_table(analysis: Analysis, what: str = "clusters") -> Table:
    """The posterior of the number of clusters, all chains together."""
    law = law_of_clusters(analysis.trace.n_clusters)
    ks = [int(k) for k in np.flatnonzero(law > 0.0005)]
    return Table(
        f"Posterior of the number of {what}",
        ("number", *map(str, ks)),
        [("probability", *(f"{law[k]:.3f}" for k in ks))],
    )


def losses_table(analysis: Analysis) -> Table:
    """The optimum under each loss, its expected losses, and how far from the VI-optimum it is."""
    comparison = analysis.by_loss
    rows = [
        (
            estimate.loss.name,
            estimate.n_clusters,
            *(f"{value:.5g}" for value in values),
            items_moved(analysis.best.labels, estimate.labels),
            f"{comparison.distances[0, i]:.3f}",
        )
        for i, (estimate, values) in enumerate(
            zip(comparison, comparison.expected_losses, strict=True)
        )
    ]
    expected = tuple(f"expected {name}" for name in comparison.names)
    head = (
        "optimum under",
        "clusters",
        *expected,
        "items placed otherwise than under VI",
        "VI to it",
    )
    return Table("The optimum under each loss", head, rows, similar_note(analysis))


def similar_note(analysis: Analysis) -> str:
    """Whether the losses agree, as the paper says they do."""
    n = analysis.best.labels.size
    moved = {
        estimate.loss.name: items_moved(analysis.best.labels, estimate.labels)
        for estimate in analysis.by_loss
        if estimate.loss.name != "vi"
    }
    far = [name for name, count in moved.items() if count > _SIMILAR * n]
    rule = f"(at most {_SIMILAR:.0%} of the items placed otherwise)"
    said = 'The paper says that "the other losses lead to similar partitions".'
    ks = [estimate.n_clusters for estimate in analysis.by_loss]
    if not far:
        but = (
            ""
            if len(set(ks)) == 1
            else f", though with {_listed([str(k) for k in ks[1:]])} clusters"
        )
        return f"{said} So they do here {rule}{but}."
    near = [name for name in moved if name not in far]
    also = f" {_listed(near)} does." if len(near) == 1 else f" {_listed(near)} do." if near else ""
    return f"{said} Here {_listed(far)} {'does' if len(far) == 1 else 'do'} not {rule}.{also}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def greedy_table(analysis: Analysis, facts: Facts) -> Table:
    """The paper's procedure: several runs from noisy MAP and from random starts."""
    rows = [(start, *_runs_row(runs)) for start, runs in analysis.greedy.items()]
    best = analysis.by_chain[0]
    rows.append(
        (
            "recombination (ours)",
            1,
            f"{best.expected_loss:.4f}",
            best.n_clusters,
            "",
            seconds(best.seconds),
        )
    )
    head = (
        "start",
        "runs",
        "best expected VI",
        "its clusters",
        "clusters of all runs",
        "seconds a run",
    )
    note = (
        f"Algorithm 1 with K_up {facts.k_max} on the {analysis.protocol.n_draws:,} draws of the first "
        f"chain, one run at a time on one core. The paper: {facts.greedy_time} a run on average. A noisy "
        "MAP start is the partition of highest posterior with a tenth of the items moved at random."
    )
    return Table("The greedy algorithm, as in the paper", head, rows, note)


def _runs_row(runs: Sequence[Run]) -> tuple[Any, ...]:
    best = min(runs, key=lambda run: run.expected_loss)
    ks, times = np.unique([run.n_clusters for run in runs], return_counts=True)
    spread = ", ".join(f"{k} ({n}x)" for k, n in zip(ks, times, strict=True))
    mean = float(np.mean([run.seconds for run in runs]))
    return len(runs), f"{best.expected_loss:.4f}", best.n_clusters, spread, seconds(mean)


def chains_table(analysis: Analysis, more: dict[str, Sequence[Any]] | None = None) -> Table:
    """Each chain as a repetition of the paper's run, and the search with other seeds."""
    columns = dict(more or {})
    trace = analysis.trace
    rows: list[tuple[Any, ...]] = []
    for c, estimate in enumerate(analysis.by_chain):
        law = law_of_clusters(trace.n_clusters[c])
        start = _STARTS_OF_CHAINS[c] if c < len(_STARTS_OF_CHAINS) else "random labels"
        rows.append((f"chain {c + 1}, from {start}", f"{law.argmax()} ({law.max():.0%})",
                     estimate.n_clusters, f"{estimate.expected_loss:.4f}",
                     *(values[c] for values in columns.values())))  # fmt: skip
    law = law_of_clusters(trace.n_clusters)
    last = (values[-1] for values in columns.values())
    rows.append(("all", f"{law.argmax()} ({law.max():.0%})", analysis.best.n_clusters,
                 f"{analysis.best.expected_loss:.4f}", *last))  # fmt: skip
    head = (
        "draws",
        "peak of the number of clusters",
        "clusters of VI-optimum",
        "expected VI",
        *columns,
    )
    return Table("Chain by chain", head, rows, f"{sampler_note(analysis)} {_seeds_note(analysis)}")


def sampler_note(analysis: Analysis) -> str:
    """Whether the chains can be trusted."""
    report = analysis.trace.diagnostics(warn=False)
    hat, size = max(report.rhat.values()), min(report.ess.values())
    text = (
        f"Largest split R-hat {hat:.3f}, smallest effective sample size {size:,.0f}, largest difference "
        f"between two chains of a co-clustering probability {report.disagreement:.2f}."
    )
    return " ".join([text, *report.problems])


def _seeds_note(analysis: Analysis) -> str:
    found = (analysis.best, *analysis.by_seed)
    low = min(estimate.expected_loss for estimate in found)
    high = max(estimate.expected_loss for estimate in found)
    ks = sorted({estimate.n_clusters for estimate in found})
    spread = f"{low:.4f}" if high - low < 5e-5 else f"{low:.4f} to {high:.4f}"
    return (
        f"The search over all draws with {len(found)} seeds: expected VI {spread}, clusters "
        f"{', '.join(map(str, ks))}."
    )


def k_table(analysis: Analysis, more: Sequence[Sequence[Any]] = ()) -> Table:
    """The best partition with exactly so many clusters."""
    low = analysis.best.expected_loss
    rows = [(f"best with {k}", *k_cells(estimate, low)) for k, estimate in analysis.by_k.items()]
    head = ("partition", "clusters", "expected VI", "above the optimum")
    return Table("Expected loss by number of clusters", head, [*rows, *more])


def k_cells(estimate: Estimate, low: float) -> tuple[Any, ...]:
    """Clusters, expected VI and its excess over `low`."""
    return estimate.n_clusters, f"{estimate.expected_loss:.4f}", above(estimate.expected_loss, low)


def above(value: float, low: float) -> str:
    """An excess in percent; nothing below a hundredth of a percent."""
    return f"{max(0.0, value / low - 1):.2%}"


def confusion_table(title: str, rows: Sequence[str], table: IntArray, note: str = "") -> Table:
    """Known groups against clusters; zeros are left blank."""
    head = ("", *(str(g + 1) for g in range(table.shape[1])))
    cells = [
        (name, *(value or "" for value in row.tolist()))
        for name, row in zip(rows, table, strict=True)
    ]
    return Table(title, head, cells, note)
