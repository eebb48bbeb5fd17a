"""The tables and sentences that all three studies have in common, and the study made of them.

Each table is one function of the `Analysis`; `make_study` puts them in the order of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from epluribus._text import sentence_list, span
from epluribus._typing import IntArray
from epluribus.draws import Draws
from epluribus.draws.expected import expected_loss
from epluribus.estimate import Estimate, Run
from epluribus.studies._confusion import Groups, items_moved
from epluribus.studies.analysis import Analysis
from epluribus.studies.facts import Facts
from epluribus.studies.study import Picture, Study, Table
from epluribus.uncertainty import n_clusters_posterior

_NUMBERED = (
    "Clusters are in the order of the paper's columns that match them best; their numbers are those of "
    "labels.csv and of the pictures."
)
"""The note below a table of parties and clusters."""
_STARTS_OF_CHAINS = ("one cluster", "as many as allowed")
"""Where the first two chains start; all others start from random labels."""
_SIMILAR = 0.1
"""Optima are called similar when at most this share of the items is placed differently."""
_SHOWN = 0.0005
"""Numbers of clusters of a smaller probability are left out: they would be printed as 0.000."""


def make_study(
    facts: Facts,
    analysis: Analysis,
    *,
    model: str,
    sampler: str,
    rows: Sequence[Sequence[Any]],
    pictures: tuple[Picture, ...],
    labels: Mapping[str, Any],
    notes: tuple[str, ...],
    quick: bool,
    as_printed: bool,
    what: str = "clusters",
    tables: tuple[Table, ...] = (),
    parties: Groups | None = None,
    more: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
) -> Study:
    """The study: the parts that all three have, joined with those that only one of them has.

    Parameters
    ----------
    facts : Facts
        What the paper states.
    analysis : Analysis
        What was found here.
    model, sampler : str
        Sentences on the model, and the name of the sampler, for the setting.
    rows : sequence of rows
        Further facts, each as three cells: the fact, the paper's value, the value found here.
    pictures, notes, more
        As in `Study`.
    labels : mapping of str to columns
        Columns of labels.csv after the number of the item.
    quick, as_printed : bool
        The options of the command that makes this study.
    what : str
        What is clustered, where the number of clusters is shown.
    tables : tuple of Table
        Tables that only this study has.
    parties : Groups, optional
        Parties of the items, where the paper has a table of them. They add the tables of parties, the
        distances of all optima to the paper's table, and the partition rebuilt from it.

    Returns
    -------
    Study
    """
    # Where the paper prints a table of parties, there is more to compare: how far each optimum is from it.
    apart, rebuilt = {}, []
    if parties is not None:
        tables = (*_party_tables(parties, analysis.best, facts.table), *tables)
        apart = {f"{facts.items} off the paper's table": distances(analysis, facts, parties)}
        rebuilt = [_rebuilt_row(analysis, facts, parties)]
    # A list times True is the list itself, times False it is empty.
    options = [" --quick"] * quick + [" --as-printed"] * as_printed
    return Study(
        name=facts.name,
        title=facts.title,
        setting=_setting(analysis, facts, model, sampler),
        facts=_facts_table(analysis, facts, rows),
        tables=(
            *tables,
            _clusters_table(analysis.draws, what),
            _losses_table(analysis),
            _greedy_table(analysis, facts),
            _chains_table(analysis, apart),
            _k_table(analysis, rebuilt),
        ),
        pictures=pictures,
        labels={
            "item": range(facts.n_items),
            **{column: np.asarray(values).tolist() for column, values in labels.items()},
        },
        notes=notes,
        analysis=analysis,
        command=f"epluribus reproduce {facts.name}{''.join(options)}",
        more=more or {},
    )


# --- numbers and sentences ---


def duration(seconds: float) -> str:
    """A time to two significant figures, or in full seconds from 10 s on.

    >>> [duration(seconds) for seconds in (0.0342, 4.5, 72.3, 186)]
    ['0.034 s', '4.5 s', '72 s', '3.1 min']
    """
    if seconds >= 120:
        return f"{seconds / 60:.2g} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def above(value: float, low: float) -> str:
    """By how much a value is above the lowest, in percent; never below 0, which rounding might give.

    >>> above(1.2627, 1.2038)
    '4.89%'
    """
    return f"{max(0.0, value / low - 1):.2%}"


def peak(draws: Draws) -> str:
    """The most probable number of clusters and its probability: '4 (31%)'."""
    found = n_clusters_posterior(draws)
    return f"{found.mode} ({found.probabilities.max():.0%})"


def label_columns(
    analysis: Analysis, number: Callable[[IntArray], IntArray]
) -> dict[str, IntArray]:
    """The optimum under each loss and the MAP, clusters numbered 1, 2, ... by `number`."""
    found = {estimate.loss.name: estimate.labels for estimate in analysis.by_loss}
    # The partition of highest posterior among all steps of the sampler, not only among the draws kept.
    found["map"] = analysis.trace.map_labels
    return {name: number(labels) for name, labels in found.items()}


def distances(analysis: Analysis, facts: Facts, parties: Groups) -> list[int]:
    """Items off the paper's table: for the optimum of each chain, then for that of all chains."""
    # The same order as the rows of the table of chains, of which this becomes a column.
    found = (*analysis.by_chain, analysis.best)
    return [parties.distance(estimate.labels, facts.table) for estimate in found]


def _setting(analysis: Analysis, facts: Facts, model: str, sampler: str) -> str:
    """The paragraph on data, model and sampler."""
    protocol = analysis.protocol
    return (
        f"Section {facts.section} of Rastelli & Friel (2018). {model} Sampler: {sampler}; "
        f"{protocol.n_chains} chains of {protocol.n_draws:,} draws, {protocol.thin:,} steps apart after "
        f"{protocol.burn_in:,} steps of burn-in (the paper: one chain of {facts.n_draws:,}, "
        f"{facts.thin} apart after {facts.burn_in:,}). Only clusters in use are counted."
    )


# --- tables ---


def _facts_table(analysis: Analysis, facts: Facts, more: Sequence[Sequence[Any]]) -> Table:
    """Each fact that the paper states beside the value found here."""
    # The paper ran one chain, here there are several side by side: CPU seconds of one of them.
    # Both kinds of start together, as the paper gives one average.
    runs = [analysis.cpu[start] for start in analysis.greedy]
    rows = [
        ("posterior of the number of clusters peaks at", facts.k_mode, peak(analysis.draws)),
        ("clusters of the VI-optimal partition", facts.k_optimal, analysis.best.n_clusters),
        *more,
        ("time for a chain, CPU", facts.sample_time, duration(analysis.cpu["chain"])),
        (
            "one run of the greedy algorithm, average, CPU",
            facts.greedy_time,
            duration(float(np.mean(runs))),
        ),
    ]
    return Table("The paper's facts beside ours", ("fact", "paper", "here"), rows)


def _clusters_table(draws: Draws, what: str) -> Table:
    """The posterior of the number of clusters, all chains together."""
    found = n_clusters_posterior(draws)
    shown = found.probabilities > _SHOWN
    head = ("number", *map(str, found.values[shown]))
    row = ("probability", *(f"{share:.3f}" for share in found.probabilities[shown]))
    return Table(f"Posterior of the number of {what}", head, [row])


def _losses_table(analysis: Analysis) -> Table:
    """The optimum under each loss, its expected losses, and how far from the VI-optimum it is."""
    comparison = analysis.by_loss
    rows = [
        (
            estimate.loss.name,
            estimate.n_clusters,
            *(f"{value:.5g}" for value in comparison.expected_losses[i]),  # under every loss
            items_moved(analysis.best.labels, estimate.labels),
            f"{comparison.distances[0, i]:.3f}",  # the first loss is VI
        )
        for i, estimate in enumerate(comparison)
    ]
    expected = (f"expected {name}" for name in comparison.names)
    moved = "items placed differently than under VI"
    head = ("optimum under", "clusters", *expected, moved, "VI to it")
    return Table("The optimum under each loss", head, rows, similar_note(analysis))


def similar_note(analysis: Analysis) -> str:
    """Whether the losses agree, as the paper says they do."""
    # In items. VI itself has moved none, and so is never among those that are far.
    limit = _SIMILAR * analysis.best.labels.size
    best = analysis.best.labels
    moved = {other.loss.name: items_moved(best, other.labels) for other in analysis.by_loss}
    far = [name for name, n in moved.items() if n > limit]
    near = [name for name in moved if name not in ("vi", *far)]
    rule = f"(at most {_SIMILAR:.0%} of the items placed differently)"
    said = 'The paper says that "the other losses lead to similar partitions".'
    if not far:
        # Similar partitions may still differ in small clusters: their numbers are given if they differ.
        ks = [str(estimate.n_clusters) for estimate in analysis.by_loss]
        but = f", though with {sentence_list(ks[1:])} clusters" if len(set(ks)) > 1 else ""
        return f"{said} So they do here {rule}{but}."
    also = f" {sentence_list(near)} {_do(near)}." if near else ""
    return f"{said} Here {sentence_list(far)} {_do(far)} not {rule}.{also}"


def _do(names: Sequence[str]) -> str:
    """The verb that agrees with this many names."""
    return "does" if len(names) == 1 else "do"


def _greedy_table(analysis: Analysis, facts: Facts) -> Table:
    """The paper's procedure: several runs from noisy MAP and from random starts."""
    # The search of this package on the same draws, those of the first chain, for comparison.
    best = analysis.by_chain[0]
    ours = (f"{best.expected_loss:.4f}", best.n_clusters, "", "", duration(analysis.cpu["search"]))
    rows = [
        *(
            (start, *_runs_cells(runs), duration(analysis.cpu[start]))
            for start, runs in analysis.greedy.items()
        ),
        ("recombination (ours)", 1, *ours),
    ]
    found = (
        "best expected VI",
        "its clusters",
        "clusters of all runs",
        "sweeps to convergence",
        "CPU seconds per run",
    )
    note = (
        f"Algorithm 1 with K_up {facts.k_max} on the {analysis.protocol.n_draws:,} draws of the first "
        f"chain, one run at a time. The paper: {facts.greedy_time} per run on average. A "
        "noisy MAP start is the partition of highest posterior with a tenth of the items moved at random. "
        f"{_merge_note(analysis)}"
    )
    return Table("The greedy algorithm, as in the paper", ("start", "runs", *found), rows, note)


def _runs_cells(runs: Sequence[Run]) -> tuple[Any, ...]:
    """Number of runs, the best one's expected VI and clusters, all numbers of clusters, and sweeps."""
    best = min(runs, key=lambda run: run.expected_loss)
    ks, times = np.unique([run.n_clusters for run in runs], return_counts=True)
    spread = ", ".join(f"{k} ({n}x)" for k, n in zip(ks, times, strict=True))
    sweeps = span(min(run.n_sweeps for run in runs), max(run.n_sweeps for run in runs))
    return len(runs), f"{best.expected_loss:.4f}", best.n_clusters, spread, sweeps


def _merge_note(analysis: Analysis) -> str:
    """How many greedy runs end worse than the best: the paper says that no merge step is needed."""
    runs = [run.expected_loss for run in analysis.greedy.get("random", ())]
    least = analysis.by_chain[0].expected_loss
    worse = sum(value > least * (1 + 1e-9) for value in runs)
    return (
        "The paper remarks that moves of single items need no merge step beside them: here "
        f"{worse} of {len(runs)} runs from random starts end in a worse partition than our search, which "
        "also merges and splits."
    )


def _chains_table(analysis: Analysis, more: Mapping[str, Sequence[Any]]) -> Table:
    """Each chain as a repetition of the paper's run, and the search with other seeds."""
    draws, n_chains = analysis.draws, analysis.draws.n_chains
    # The names of the starts, cut to the number of chains.
    starts = (*_STARTS_OF_CHAINS, *["random labels"] * n_chains)[:n_chains]
    names = [*(f"chain {c + 1}, from {start}" for c, start in enumerate(starts)), "all"]
    # One row for each chain, and one for all of them together.
    parts = [*(draws.chain(c) for c in range(n_chains)), draws]
    found = [*analysis.by_chain, analysis.best]
    clusters = [estimate.n_clusters for estimate in found]
    expected = [f"{estimate.expected_loss:.4f}" for estimate in found]
    # `more` has further columns, such as the distance to a printed table.
    rows = zip(names, map(peak, parts), clusters, expected, *more.values(), strict=True)
    head = (
        "draws",
        "peak of the number of clusters",
        "clusters of VI-optimum",
        "expected VI",
        *more,
    )
    note = f"{_sampler_note(analysis)} {_seeds_note(analysis)}"
    return Table("Chain by chain", head, list(rows), note)


def _sampler_note(analysis: Analysis) -> str:
    """Whether the chains can be trusted."""
    # Without warnings: the problems, if any, become sentences of the note.
    report = analysis.trace.diagnostics(warn=False)
    # The worst of the scalar summaries that the diagnostics look at.
    # Some series have an R-hat only.
    hat, size = max(report.rhat.values()), float(np.nanmin(list(report.ess.values())))
    text = (
        f"Largest split R-hat {hat:.3f}, smallest effective sample size {size:,.0f}, largest difference "
        f"between two chains of a co-clustering probability {report.disagreement:.2f}."
    )
    return " ".join([text, *report.problems])


def _seeds_note(analysis: Analysis) -> str:
    """Whether other seeds of the search lead to the same expected loss."""
    found = (analysis.best, *analysis.by_seed)
    losses = [estimate.expected_loss for estimate in found]
    low, high = min(losses), max(losses)
    ks = sorted({estimate.n_clusters for estimate in found})
    # Values that agree in the four digits printed are shown as one number.
    spread = f"{low:.4f}" if high - low < 5e-5 else f"{low:.4f} to {high:.4f}"
    return (
        f"The search over all draws with {len(found)} seeds: expected VI {spread}, clusters "
        f"{', '.join(map(str, ks))}."
    )


def _k_table(analysis: Analysis, more: Sequence[Sequence[Any]]) -> Table:
    """The best partition with exactly this many clusters."""
    rows = [
        (f"best with {k}", *_k_cells(analysis, estimate.n_clusters, estimate.expected_loss))
        for k, estimate in analysis.by_k.items()
    ]
    # A partition of higher posterior need not be optimal, as the paper says.
    labels = analysis.trace.map_labels
    value = expected_loss(labels, analysis.draws, "vi")
    highest = ("of highest posterior (MAP)", *_k_cells(analysis, int(labels.max()) + 1, value))
    head = ("partition", "clusters", "expected VI", "above the optimum")
    return Table("Expected loss by number of clusters", head, [*rows, highest, *more])


def _k_cells(analysis: Analysis, n_clusters: int, value: float) -> tuple[Any, ...]:
    """Clusters, expected VI, and how much it is above the smallest."""
    return n_clusters, f"{value:.4f}", above(value, analysis.best.expected_loss)


def _rebuilt_row(analysis: Analysis, facts: Facts, parties: Groups) -> tuple[Any, ...]:
    """The partition behind the paper's table, as near to ours as the table allows.

    If its expected loss were below ours, the search would have missed the paper's optimum.
    """
    # From the best partition with as many clusters as the table has columns.
    paper = parties.rebuild(facts.table, analysis.by_k[facts.k_optimal].labels, analysis.draws)
    value = expected_loss(paper, analysis.draws, "vi")
    return "the paper's table, rebuilt", *_k_cells(analysis, int(paper.max()) + 1, value)


def _party_tables(parties: Groups, best: Estimate, printed: IntArray) -> tuple[Table, Table]:
    """Parties and the VI-optimal clusters, here and in the paper."""
    mine = parties.table(parties.number(best.labels, printed))
    return (
        confusion_table("Parties and the VI-optimal clusters", parties.rows, mine, _NUMBERED),
        confusion_table("The same in the paper", parties.rows, printed),
    )


def confusion_table(title: str, rows: Sequence[str], table: IntArray, note: str = "") -> Table:
    """Known groups against clusters; zeros are left blank."""
    head = ("", *(str(g + 1) for g in range(table.shape[1])))
    # Most cells of a table with 18 columns are 0: only without them can it be read.
    counts = [[count or "" for count in row] for row in table.tolist()]
    return Table(title, head, [(name, *row) for name, row in zip(rows, counts, strict=True)], note)
