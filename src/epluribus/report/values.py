"""What the template of the page shows: its tables, and everything else by name.

Cells are texts or numbers, ready to be shown; the template only escapes them and puts them into rows. A long
table is cut, and its caption or a note says so.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from epluribus._text import sentence_list, span
from epluribus._typing import FloatArray, IntArray
from epluribus._version import __version__
from epluribus.changes import EQUAL
from epluribus.report import words
from epluribus.report.data_picture import data_picture, page_colors
from epluribus.report.facts import ALL_LOSSES, Facts
from epluribus.report.methods import methods
from epluribus.report.moves import ball_moves, chain_moves, mode_moves
from epluribus.report.pictures import bars_of_k, short, trace_of_loss
from epluribus.report.words import degenerate, number

_ITEMS = 2000
"""Most rows of the table of items, which a browser sorts without delay; the least certain are kept."""
_CLUSTERS = 200
"""Most rows of the table of clusters; the largest are kept."""
_SIZES = 8
"""Most cluster sizes in a cell of a table."""
_EXEMPLAR = 24
"""Most characters of the name of an exemplar, in a narrow column."""
_NAMES = 2 * 10**6
"""If all names together have more characters, the page has no labels to download: it would be too large."""


def resource(name: str) -> str:
    """The text of a file that is installed with this package."""
    return files("epluribus.report").joinpath(name).read_text(encoding="utf-8")


_LOSS_WORDS = 6
"""Other estimates whose differences from the one reported are told in words."""


class _Table(NamedTuple):
    """A table of the page: the first cell of a row is its name, the others are numbers."""

    caption: str
    """What it shows, in a few words."""
    head: Sequence[str]
    """Names of the columns."""
    rows: Sequence[Sequence[object]]
    """The cells, each row as long as the head."""
    sortable: bool = False
    """Whether a click on the head sorts it."""


def page_values(facts: Facts) -> dict[str, Any]:
    """The values that the template shows, by name, besides the title and the call.

    What was left out of the facts is None here, and the template says so in its place.
    """
    paragraph, references = methods(facts)
    ensemble = words.is_ensemble(facts)
    items = _items(facts)
    solid = facts.clusters
    exemplars = None if facts.items is None else facts.items.exemplars
    return {
        "facts": facts,
        "all_losses": ALL_LOSSES,
        "problem": degenerate(facts),
        "answer": words.answer(facts),
        "disagree": words.disagree(facts),
        "health": words.health_lines(facts),
        "steps": words.what_to_do(facts),
        "terms": words.terms(facts),
        "picture": None if facts.data is None else data_picture(facts.best, facts.data),
        "names": facts.draws.item_names,
        "ensemble": ensemble,
        "tiles": _tiles(facts),
        "checks": words.checks(facts),
        "trace": None
        if facts.values is None or ensemble
        else trace_of_loss(facts.draws, facts.values),
        "chains": [] if ensemble else _chains(facts),
        "chain_moves": chain_moves(facts),
        "clusters": _clusters(facts),
        "cohesion": None if solid is None else np.average(solid.cohesion, weights=solid.sizes),
        "items_note": words.items_note(facts, _ITEMS),
        "item_rows": list(zip(*items.values(), strict=True)),
        "bars": bars_of_k(facts.n_clusters, facts.best.n_clusters),
        "k_sentence": words.k_sentence(facts),
        "comparison": _comparison(facts),
        "modes": _modes(facts),
        "mode_moves": mode_moves(facts),
        "ball": _ball(facts),
        "ball_moves": [] if degenerate(facts) else ball_moves(facts),
        "undecided": _undecided(facts),
        "loss_words": _loss_words(facts),
        "paragraph": paragraph,
        "references": references,
        "versions": (
            f"epluribus {__version__}, NumPy {np.__version__}, Python {platform.python_version()}"
        ),
        # For the script, as JSON: items to search and sort, cells to paint, labels to save to a file.
        "data": {
            "heatmap": facts.heatmap,
            "items": items,
            "n_items": facts.draws.n_items,
            "all": _all_items(facts),
            "exemplars": None if exemplars is None else exemplars.tolist(),
            "colors": page_colors(facts.best.n_clusters),
        },
        # Put into the page, so that it is one file that opens offline.
        "style": resource("page.css"),
        "script": resource("page.js"),
    }


def _undecided(facts: Facts) -> _Table | None:
    """The undecided items, what each would add to the loss, and where it might belong."""
    table = facts.left_out
    if table is None:
        return None

    def place(cluster: int, probability: float) -> str:
        return "-" if cluster < 0 else f"{cluster} ({probability:.2f})"

    rows = [
        (name, f"{added:.3g}", place(first, p), place(second, q), f"{alone:.2f}")
        for name, added, (first, second), (p, q), alone in zip(
            table.names, table.adds, table.places, table.probabilities, table.alone, strict=True
        )
    ]
    cut = f", the first {_ITEMS:,}" if len(rows) > _ITEMS else ""
    head = ["item", "would add", "most with", "then with", "alone"]
    return _Table(f"Undecided items{cut}", head, rows[:_ITEMS], sortable=True)


def _tiles(facts: Facts) -> list[tuple[str, str]]:
    """The numbers at the top of the page, with what they are."""
    best, k = facts.best, facts.n_clusters
    unit = f", in {best.loss.unit}" if best.loss.unit else ""
    return [
        ("clusters", f"{best.n_clusters:,}"),
        ("items", f"{best.labels.size:,}"),
        *_sample_tiles(facts),
        (f"{words.terms(facts).loss} ({best.loss.name}{unit})", number(best.expected_loss)),
        (f"clusters, {100 * k.level:g} % interval", span(*k.interval)),
    ]


def _sample_tiles(facts: Facts) -> list[tuple[str, str]]:
    """How many draws and chains there are; an ensemble has clusterings, and no chains."""
    if words.is_ensemble(facts):
        return [("clusterings", f"{facts.draws.n_draws:,}")]
    return [("draws", f"{facts.draws.n_draws:,}"), ("chains", f"{facts.draws.n_chains:,}")]


def _clusters(facts: Facts) -> _Table:
    """Size and, if known, solidity of each cluster."""
    table, sizes = facts.clusters, facts.best.sizes
    head = ["cluster", "items", "share"]
    if table is not None:
        head += ["cohesion", "separation", "nearest", "stability"]
    exemplars = None if facts.items is None else facts.items.exemplars
    if exemplars is not None:
        head.append("exemplar")
    rows = []
    # The largest first; a stable sort, so that clusters of the same size keep their order.
    for c in np.argsort(-sizes, kind="stable")[:_CLUSTERS]:
        row = [f"{c}", f"{sizes[c]:,}", f"{100 * sizes[c] / sizes.sum():.1f} %"]
        if table is not None:
            # -1 where there is no other cluster, and then no separation either.
            nearest = table.nearest[c]
            row += [
                f"{table.cohesion[c]:.2f}",
                f"{table.separation[c]:.2f}" if nearest >= 0 else "-",
                f"{nearest}" if nearest >= 0 else "-",
                f"{table.stability[c]:.2f}",
            ]
        if exemplars is not None:
            row.append(short(facts.draws.item_names[exemplars[c]], _EXEMPLAR))
        rows.append(row)
    hidden = len(sizes) - len(rows)
    more = f"; {hidden:,} smaller ones are not shown" if hidden else ""
    return _Table(f"Clusters, the largest first{more}", head, rows, sortable=True)


def _items(facts: Facts) -> dict[str, list[Any]]:
    """Columns of the table of items, the least certain items first.

    The template writes the first rows; the script writes all of them, sorted and searched. The columns are
    ``name``, ``cluster``, ``support``, ``runner_up`` (-1 is alone) and its ``probability``.
    """
    best, table, names = facts.best, facts.items, facts.draws.item_names
    # Without their certainty, items are listed in their own order.
    order = (np.arange(len(names)) if table is None else table.order)[:_ITEMS]
    # A brief page has all columns too, without values: the script sorts by any of them.
    unknown: list[Any] = [None] * len(order)
    columns = {
        "name": [short(names[i]) for i in order],
        "cluster": best.labels[order].tolist(),
        "support": unknown,
        "runner_up": unknown,
        "probability": unknown,
    }
    if table is not None:
        columns |= {
            "support": _rounded(table.support[order]),
            "runner_up": table.runner_up[order].tolist(),
            "probability": _rounded(table.runner_up_probability[order]),
        }
    return columns


def _rounded(probabilities: FloatArray) -> list[float]:
    """Probabilities with three digits, which is what the page shows and keeps its JSON short."""
    return [round(value, 3) for value in probabilities.tolist()]


def _all_items(facts: Facts) -> dict[str, Any] | None:
    """What the file of labels to download holds: all items in their order; no names if they are numbers."""
    names, table = facts.draws.items, facts.items
    # The page would take long to open.
    if names is not None and sum(map(len, names)) > _NAMES:
        return None
    return {
        "name": names,
        "cluster": facts.best.labels.tolist(),
        # The certainty in thousandths: integers take half the characters of decimals.
        "per_mille": None if table is None else np.rint(1000 * table.support).astype(int).tolist(),
    }


def _comparison(facts: Facts) -> _Table | None:
    """The estimates for all losses, each with its expected loss under all of them."""
    table = facts.comparison
    if table is None:
        return None
    # The reported estimate comes first, so row 0 of the distances belongs to it.
    rows = [
        (
            estimate.loss.name + (" (reported)" if estimate is facts.best else ""),
            estimate.n_clusters,
            *map(number, [distance, *expected]),
        )
        for estimate, distance, expected in zip(
            table, table.distances[0], table.expected_losses, strict=True
        )
    ]
    return _Table(
        f"The best partition for each loss, and its {words.terms(facts).loss} under all",
        (
            "estimate for",
            "clusters",
            "VI from the one reported (bits)",
            # E for expected, with a no-break space; an ensemble has means.
            *(name if words.is_ensemble(facts) else f"E\u00a0{name}" for name in table.names),
        ),
        rows,
    )


def _modes(facts: Facts) -> _Table | None:
    """The modes with their weights; "loss within" is the mean loss between a mode and its own draws."""
    found = facts.modes
    if found is None:
        return None
    rows = [
        (m, f"{weight:.3f}", labels.max() + 1, _sizes(labels), number(loss), f"{entries:,}")
        for m, (weight, labels, loss, entries) in enumerate(
            zip(found.weights, found.labels, found.expected_losses, found.entries, strict=True)
        )
    ]
    head: Sequence[str] = ("mode", "weight", "clusters", "sizes", "loss within", "entries")
    if found.ensemble:  # no order, no entries
        return _Table("Modes, the heaviest first", head[:-1], [row[:-1] for row in rows])
    return _Table("Modes, the heaviest first", head, rows)


def _two(bulk: float, tail: float) -> str:
    """Two numbers in one cell."""
    return f"{number(bulk)} and {number(tail)}"


def _loss_words(facts: Facts) -> list[str]:
    """How the estimates for other losses differ from the one reported; those that are equal in one line."""
    table = facts.comparison
    if table is None:
        return []
    told = zip(table.names[1:], table.changes, strict=True)
    differ = {name: text for name, text in told if text != EQUAL}
    equal = [name for name in table.names[1:] if name not in differ]
    lines = [f"{text[0].upper()}{text[1:]}." for text in differ.values()][:_LOSS_WORDS]
    if equal:
        lines.append(f"That for {sentence_list(equal)} is the one reported.")
    # On the page the first of the two is the estimate that it reports.
    return [
        line.replace("in common with the first", "in common with the one reported")
        for line in lines
    ]


def _sizes(labels: IntArray) -> str:
    """Cluster sizes from the largest on, cut if there are many.

    >>> _sizes(np.array([0, 1, 1, 2]))
    '2, 1, 1'
    """
    # Labels of -1, in a bound, are missing.
    sizes = np.sort(np.bincount(labels[labels >= 0]))[::-1].tolist()
    return ", ".join(map(str, sizes[:_SIZES])) + (", …" if len(sizes) > _SIZES else "")


def _ball(facts: Facts) -> _Table | None:
    """The partitions at the edge of the credible ball."""
    ball = facts.ball
    if ball is None:
        return None
    # Wade & Ghahramani (2018) call these the horizontal, upper vertical and lower vertical bounds. Each may
    # be several partitions at the same distance, of which the first is described.
    names = ("most distant", "fewest clusters", "most clusters")
    bounds = (ball.horizontal, ball.upper, ball.lower)
    unit = f" ({ball.loss.unit})" if ball.loss.unit else ""
    return _Table(
        "Clusterings at the edge: how different they can be"
        if words.is_ensemble(facts)
        else "Partitions at the edge: how different a credible partition can be",
        (
            "at the edge" if words.is_ensemble(facts) else "edge of the ball",
            "clusters",
            f"distance{unit}",
            "sizes",
            "partitions at this distance",
        ),
        [
            (name, bound[0].max() + 1, number(distance), _sizes(bound[0]), len(bound))
            for name, bound, distance in zip(names, bounds, ball.distances, strict=True)
        ],
    )


def _chains(facts: Facts) -> list[_Table]:
    """A table with one chain per row and, if known, one on the precision of the expected loss."""
    draws, error = facts.draws, facts.error
    rows = []
    for chain in range(draws.n_chains):
        own = draws.chains == chain
        k, weights = draws.n_clusters[own], draws.draw_weights[own]
        # If all draws of a chain have weight 0, there is no mean.
        mean = np.average(k, weights=weights) if weights.sum() > 0 else np.nan
        rows.append((chain, f"{own.sum():,}", f"{mean:.2f}", span(k.min(), k.max())))
    tables = [_Table("Chains", ("chain", "draws", "mean number of clusters", "range"), rows)]
    # Draws that do not vary have no error to estimate.
    if error is not None and not degenerate(facts):
        precision = [
            ("expected loss", number(error.expected_loss, 6)),
            ("Monte Carlo standard error", number(error.standard_error, 2)),
            ("effective draws", number(error.ess)),
            ("R-hat of the loss (rank-normalized, split)", number(error.rhat)),
            *(
                (
                    f"effective draws of the {one.name}, bulk and tail",
                    _two(one.ess_bulk, one.ess_tail),
                )
                for one in error.agreement.series[:2]
            ),
            ("largest difference between chains", number(error.disagreement, 3)),
        ]
        tables.append(_Table("Precision of the expected loss", ("quantity", "value"), precision))
    return tables
