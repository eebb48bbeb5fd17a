"""What the template of the page shows: its tables, and everything else by name.

Cells are texts or numbers, ready to be shown; the template only escapes them and puts them into rows. A long
table is cut, and its caption or a note says so.

An item moves from the estimate to another partition if its cluster there is not the partner of its own cluster:
clusters of the two are paired so that as many items as possible stay where they are.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from epluribus._text import count, sentence_list, span
from epluribus._typing import FloatArray, IntArray
from epluribus._version import __version__
from epluribus.partition import relabel
from epluribus.plots._shared import cluster_colors
from epluribus.report import pictures, sentences
from epluribus.report.facts import ALL_LOSSES, Facts
from epluribus.report.methods import methods
from epluribus.report.pictures import short
from epluribus.report.sentences import degenerate, number
from epluribus.uncertainty._parameters import partners

_ITEMS, _CLUSTERS = 2000, 200
"""Most rows of the tables of items (the least certain) and of clusters (the largest): browsers sort them at once."""


class Table(NamedTuple):
    """A table of the page: the first cell of a row is its name, the others are numbers."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    sortable: bool = False
    """Whether a click on the head sorts it."""


class Group(NamedTuple):
    """Items that move together."""

    origin: str
    """Where they are in the estimate: "cluster 3"."""
    target: str
    """Where they are in the other partition: "cluster 0", or "a new cluster of 5"."""
    size: int
    names: str
    """Their names, the first 60."""


class Moves(NamedTuple):
    """How another partition differs from the estimate."""

    title: str
    n_moved: int | None
    """None if there are too many clusters to tell."""
    groups: tuple[Group, ...]
    """The twelve largest groups of items that move together."""
    n_hidden: int
    """Number of groups that are not listed."""


def resource(name: str) -> str:
    """The text of a file that is installed with this package."""
    return files("epluribus.report").joinpath(name).read_text(encoding="utf-8")


def page_values(facts: Facts) -> dict[str, Any]:
    """The values that the template shows, by name, besides the title and the call.

    What was left out of the facts is None here, and the template says so in its place.
    """
    best, draws, names = facts.best, facts.draws, facts.draws.items
    paper = methods(facts)
    items, problem = _items(facts), degenerate(facts)
    exemplars = None if facts.items is None else facts.items.exemplars.tolist()
    figures: dict[str, str | None] = {"data": None, "words": None, "trace": None, "number": None}
    if facts.data is not None:
        figures["data"], figures["words"] = pictures.data_figure(best.labels, facts.data)
    if facts.error is not None and not facts.ensemble:
        figures["trace"] = pictures.trace_figure(best, draws)
    if facts.n_clusters.values.size > 1:
        figures["number"] = pictures.number_figure(best, draws)
    # Names of very many items would make the page too large for labels to download.
    whole = names is None or sum(map(len, names)) <= 2 * 10**6
    return {
        "facts": facts,
        "all_losses": ALL_LOSSES,
        "problem": problem,
        "answer": sentences.answer(facts),
        "health": sentences.health_lines(facts),
        "terms": sentences.terms(facts),
        "figures": figures,
        "tiles": _tiles(facts),
        "checks": sentences.checks(facts),
        "chains": [] if facts.ensemble else _chains(facts),
        "chain_moves": [
            find_moves(facts, one.labels, f"Chain {c} alone: {count(one.n_clusters, 'cluster')}")
            for c, one in enumerate(facts.by_chain)
        ],
        "clusters": _clusters(facts),
        "items_sentence": sentences.items_sentence(facts, _ITEMS),
        "item_rows": list(zip(*items.values(), strict=True)),
        "n_clusters_sentence": sentences.n_clusters_sentence(facts),
        "certificate": sentences.certificate_sentence(facts),
        "comparison": _comparison(facts),
        "modes": _modes(facts),
        "mode_moves": _mode_moves(facts),
        "ball": None if problem else _ball(facts),
        "ball_moves": [] if problem else _ball_moves(facts),
        "undecided": _undecided(facts),
        "loss_sentences": sentences.loss_sentences(facts),
        "paper": paper,
        "versions": f"epluribus {__version__}, NumPy {np.__version__}, Python {platform.python_version()}",
        # For the script, as JSON: items to search and sort, cells to paint, labels to save to a file. The
        # certainty is in thousandths: integers take half the characters of decimals.
        "data": {
            "heatmap": facts.heatmap,
            "items": items,
            "n_items": draws.n_items,
            "all": {
                "name": names,
                "cluster": best.labels.tolist(),
                "per_mille": facts.items
                and np.rint(1000 * facts.items.support).astype(int).tolist(),
            }
            if whole
            else None,
            "exemplars": exemplars,
            "colors": cluster_colors(best.n_clusters)
            if best.n_clusters <= 30
            else ["#8c96a3"] * best.n_clusters,
        },
        # Put into the page, so that it is one file that opens offline.
        "style": resource("page.css"),
        "script": resource("page.js"),
    }


def _tiles(facts: Facts) -> list[tuple[str, str]]:
    """The numbers at the top of the page, with what they are."""
    best, draws, k = facts.best, facts.draws, facts.n_clusters
    words, unit = sentences.terms(facts), f", in {best.loss.unit}" if best.loss.unit else ""
    chains = [] if facts.ensemble else [("chains", f"{draws.n_chains:,}")]
    return [
        ("clusters", f"{best.n_clusters:,}"),
        ("items", f"{best.labels.size:,}"),
        (f"{words.draw}s", f"{draws.n_draws:,}"),
        *chains,
        (f"{words.loss} ({best.loss.name}{unit})", number(best.expected_loss)),
        (f"clusters, {100 * k.level:g} % interval", span(*k.interval)),
    ]


def _clusters(facts: Facts) -> Table:
    """Size and, if known, solidity of each cluster."""
    table, sizes = facts.clusters, facts.best.sizes
    # The largest first; a stable sort, so that clusters of the same size keep their order.
    shown = np.argsort(-sizes, kind="stable")[:_CLUSTERS]
    columns: dict[str, list[str]] = {
        "cluster": [f"{c}" for c in shown],
        "items": [f"{sizes[c]:,}" for c in shown],
        "share": [f"{100 * sizes[c] / sizes.sum():.1f} %" for c in shown],
    }
    if table is not None:
        # -1 where there is no other cluster, and then no separation either.
        other = table.nearest[shown] >= 0
        columns |= {
            "cohesion": [f"{value:.2f}" for value in table.cohesion[shown]],
            "separation": [
                f"{v:.2f}" if has else "-"
                for v, has in zip(table.separation[shown], other, strict=True)
            ],
            "nearest": [
                f"{v}" if has else "-" for v, has in zip(table.nearest[shown], other, strict=True)
            ],
            "stability": [f"{value:.2f}" for value in table.stability[shown]],
        }
    if facts.items is not None:
        columns["exemplar"] = [
            short(facts.draws.item_names[facts.items.exemplars[c]], 24) for c in shown
        ]
    hidden = len(sizes) - len(shown)
    more = f"; {hidden:,} smaller ones are not shown" if hidden else ""
    rows = list(zip(*columns.values(), strict=True))
    return Table(f"Clusters, the largest first{more}", list(columns), rows, sortable=True)


def _items(facts: Facts) -> dict[str, list[Any]]:
    """Columns of the table of items, the least certain items first; a brief page has them without values.

    The template writes the first rows; the script writes all of them, sorted and searched. A runner-up of -1 is
    a cluster of this item alone.
    """
    table, names = facts.items, facts.draws.item_names
    # Without their certainty, items are listed in their own order.
    order = (np.arange(len(names)) if table is None else table.order)[:_ITEMS]
    unknown: list[Any] = [None] * len(order)
    return {
        "name": [short(names[i]) for i in order],
        "cluster": facts.best.labels[order].tolist(),
        "support": unknown if table is None else _rounded(table.support[order]),
        "runner_up": unknown if table is None else table.runner_up[order].tolist(),
        "probability": unknown if table is None else _rounded(table.runner_up_probability[order]),
    }


def _rounded(probabilities: FloatArray) -> list[float | None]:
    """Probabilities with three digits, which is what the page shows and keeps its JSON short; None for NaN."""
    return [None if value != value else round(value, 3) for value in probabilities.tolist()]


def _undecided(facts: Facts) -> Table | None:
    """The undecided items, what each would add to the loss, and where it might belong."""
    table = facts.left_out
    if table is None:
        return None
    head = ["item", "would add", "most with", "then with", "alone"]
    rows = []
    for i, name in enumerate(table.names[:_ITEMS]):
        places = [
            "-" if cluster < 0 else f"{cluster} ({p:.2f})"
            for cluster, p in zip(table.places[i], table.probabilities[i], strict=True)
        ]
        rows.append((name, f"{table.adds[i]:.3g}", *places, f"{table.alone[i]:.2f}"))
    cut = f", the first {_ITEMS:,}" if len(table) > _ITEMS else ""
    return Table(f"Undecided items{cut}", head, rows, sortable=True)


def _comparison(facts: Facts) -> Table | None:
    """The estimates for all losses, each with its expected loss under all of them."""
    table = facts.comparison
    if table is None:
        return None
    # The reported estimate comes first, so row 0 of the distances belongs to it.
    rows = [
        (
            f"{one.loss.name}{' (reported)' if i == 0 else ''}",
            one.n_clusters,
            *map(number, [distance, *expected]),
        )
        for i, (one, distance, expected) in enumerate(
            zip(table, table.distances[0], table.expected_losses, strict=True)
        )
    ]
    # E for expected, with a no-break space; an ensemble has means.
    losses = table.names if facts.ensemble else [f"E\u00a0{name}" for name in table.names]
    caption = f"The best partition for each loss, and its {sentences.terms(facts).loss} under all"
    return Table(
        caption, ("estimate for", "clusters", "VI from the one reported (bits)", *losses), rows
    )


def _modes(facts: Facts) -> Table | None:
    """The modes with their weights; "loss within" is the mean loss between a mode and its own draws."""
    found = facts.modes
    if found is None:
        return None
    rows = [
        (m, f"{weight:.3f}", labels.max() + 1, _sizes(labels), number(loss))
        for m, (weight, labels, loss) in enumerate(
            zip(found.weights, found.labels, found.expected_losses, strict=True)
        )
    ]
    return Table(
        "Modes, the heaviest first", ("mode", "weight", "clusters", "sizes", "loss within"), rows
    )


def _sizes(labels: IntArray) -> str:
    """Cluster sizes from the largest on, at most eight; labels of -1, in a bound, are missing."""
    sizes = np.sort(np.bincount(labels[labels >= 0]))[::-1].tolist()
    return ", ".join(map(str, sizes[:8])) + (", …" if len(sizes) > 8 else "")


_EDGES = ("most distant", "fewest clusters", "most clusters")


def _ball(facts: Facts) -> Table | None:
    """The partitions at the edge of the credible ball: of several at the same distance the first is described."""
    ball = facts.ball
    if ball is None:
        return None
    # Wade & Ghahramani (2018) call these the horizontal, upper vertical and lower vertical bounds.
    bounds = zip(_EDGES, (ball.horizontal, ball.upper, ball.lower), ball.distances, strict=True)
    rows = [
        (name, bound[0].max() + 1, number(distance), _sizes(bound[0]), len(bound))
        for name, bound, distance in bounds
    ]
    unit = f" ({ball.loss.unit})" if ball.loss.unit else ""
    head = ("at the edge", "clusters", f"distance{unit}", "sizes", "partitions at this distance")
    what = "clustering" if facts.ensemble else "credible partition"
    return Table(f"Partitions at the edge: how different a {what} can be", head, rows)


def _chains(facts: Facts) -> list[Table]:
    """A table with one chain per row and, if known, one on the precision of the expected loss."""
    draws, error = facts.draws, facts.error
    rows = []
    for chain in range(draws.n_chains):
        own = draws.chains == chain
        k, weights = draws.n_clusters[own], draws.draw_weights[own]
        # If all draws of a chain have weight 0, there is no mean.
        mean = np.average(k, weights=weights) if weights.sum() > 0 else np.nan
        rows.append((chain, f"{own.sum():,}", f"{mean:.2f}", span(k.min(), k.max())))
    tables = [Table("Chains", ("chain", "draws", "mean number of clusters", "range"), rows)]
    # Draws that do not vary have no error to estimate.
    if error is not None and not degenerate(facts):
        precision = [
            ("expected loss", number(error.expected_loss, 6)),
            ("Monte Carlo standard error", number(error.standard_error, 2)),
            ("effective draws", number(error.ess)),
            ("R-hat of the loss (rank-normalized, split)", number(error.rhat)),
            ("largest difference between chains", number(error.disagreement, 3)),
        ]
        tables.append(Table("Precision of the expected loss", ("quantity", "value"), precision))
    return tables


def find_moves(facts: Facts, other: IntArray, title: str) -> Moves:
    """Which items of the estimate move in another partition; items with a label of -1 there are left out."""
    seen = np.flatnonzero(other >= 0)
    first, second, names = facts.best.labels[seen], relabel(other[seen]), facts.draws.item_names
    if max(first.max(), second.max()) >= 2000:  # pairing takes cubic time
        return Moves(title, None, (), 0)
    home = partners(second, first)
    moved = np.flatnonzero(home[second] != first)
    sizes = np.bincount(second)
    # One group for each pair of an old and a new cluster, the largest first.
    pairs, group, counts = np.unique(
        np.stack([first[moved], second[moved]]), axis=1, return_inverse=True, return_counts=True
    )
    groups = []
    for g in np.argsort(-counts, kind="stable")[:12]:
        origin, there = pairs[:, g].tolist()
        new = f"a new cluster of {sizes[there]:,}"
        own = [short(names[seen[i]]) for i in moved[group.ravel() == g]]
        more = f" and {len(own) - 60:,} more" if len(own) > 60 else ""
        target = f"cluster {home[there]}" if home[there] >= 0 else new
        groups.append(Group(f"cluster {origin}", target, len(own), ", ".join(own[:60]) + more))
    return Moves(title, len(moved), tuple(groups), max(0, len(counts) - 12))


def _mode_moves(facts: Facts) -> list[Moves]:
    """For each of several modes, which items move."""
    modes = facts.modes
    if modes is None or modes.n_modes < 2:
        return []
    weighted = enumerate(zip(modes.labels, modes.weights, strict=True))
    return [
        find_moves(facts, mode, f"Mode {m} (weight {weight:.2f})") for m, (mode, weight) in weighted
    ]


def _ball_moves(facts: Facts) -> list[Moves]:
    """For each partition at the edge of the ball, which items move; one at several edges is listed once."""
    ball = facts.ball
    if ball is None:
        return []
    edges: dict[bytes, tuple[IntArray, list[str]]] = {}
    for name, bound in zip(_EDGES, (ball.horizontal, ball.upper, ball.lower), strict=True):
        edges.setdefault(bound[0].tobytes(), (bound[0], []))[1].append(name)
    return [
        find_moves(facts, bound, sentence_list(names).capitalize())
        for bound, names in edges.values()
    ]
