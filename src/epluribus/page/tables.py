"""The tables of the page, and the data for its script.

Cells are texts, ready to be shown; the template only escapes them and puts them into rows. A long table is cut,
and its caption or a note says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from epluribus._text import span
from epluribus._typing import FloatArray, IntArray
from epluribus.draws.expected import expected_loss
from epluribus.page.facts import Facts
from epluribus.page.pictures import short
from epluribus.page.sentences import degenerate, number
from epluribus.plots._shared import cluster_colors, column_names, read_data

ITEMS = 2000
"""Most rows of the table of items, the least certain ones: a browser sorts them at once."""


class Table(NamedTuple):
    """A table of the page: the first cell of a row is its name, the others are numbers."""

    caption: str
    head: list[str]
    rows: Sequence[tuple[str, ...]]
    sortable: bool
    """Whether a click on the head sorts it."""


def _table(
    caption: str, columns: Mapping[str, Any], *, digits: int = 4, sortable: bool = False
) -> Table:
    """A table by columns; numbers have this many significant digits, and a number below 0 is no cluster."""

    def cell(value: Any) -> str:
        if isinstance(value, float | np.floating):
            return number(float(value), digits)
        return value if isinstance(value, str) else "-" if value < 0 else f"{value:,}"

    cells = [[cell(value) for value in column] for column in columns.values()]
    return Table(caption, list(columns), list(zip(*cells, strict=True)), sortable)


def tiles(facts: Facts) -> list[tuple[str, str]]:
    """The numbers at the top of the page, with what they are."""
    best, draws, k = facts.best, facts.draws, facts.n_clusters
    unit = f", in {best.loss.unit}" if best.loss.unit else ""
    chains = [] if facts.ensemble else [("chains", f"{draws.n_chains:,}")]
    return [
        ("clusters", f"{best.n_clusters:,}"),
        ("items", f"{best.labels.size:,}"),
        (facts.worded("draws"), f"{draws.n_draws:,}"),
        *chains,
        (f"{facts.worded('expected loss')} ({best.loss.name}{unit})", number(best.expected_loss)),
        (f"clusters, {100 * k.level:g} % interval", span(*k.interval)),
    ]


def clusters(facts: Facts) -> Table:
    """Size and, if known, solidity of each cluster: of the 200 largest."""
    sizes, table, items = facts.best.sizes, facts.clusters, facts.items
    # The largest first; a stable sort, so that clusters of the same size keep their order.
    shown = np.argsort(-sizes, kind="stable")[:200]
    columns: dict[str, Any] = {"cluster": shown, "items": sizes[shown]}
    columns["share"] = [f"{100 * share:.1f} %" for share in sizes[shown] / sizes.sum()]
    if table is not None:
        columns |= {"cohesion": table.cohesion[shown], "separation": table.separation[shown]}
        columns |= {"nearest": table.nearest[shown], "stability": table.stability[shown]}
    if items is not None:
        columns["exemplar"] = [short(facts.draws.item_names[items.exemplars[c]], 24) for c in shown]
    hidden = len(sizes) - len(shown)
    more = f"; {hidden:,} smaller ones are not shown" if hidden else ""
    return _table(f"Clusters, the largest first{more}", columns, digits=2, sortable=True)


def undecided(facts: Facts) -> Table | None:
    """The undecided items, what each would add to the loss, and where it might belong."""
    table = facts.left_out
    if table is None:
        return None
    heads = ("item", "would add", "most with", "how often", "then with", "how often then", "alone")
    columns = {head: c[:ITEMS] for head, c in zip(heads, table.columns().values(), strict=True)}
    cut = f", the first {ITEMS:,}" if len(table) > ITEMS else ""
    return _table(f"Undecided items{cut}", columns, digits=3, sortable=True)


def comparison(facts: Facts) -> Table | None:
    """The estimates for all losses, each with its expected loss under all of them."""
    table = facts.comparison
    if table is None:
        return None
    # The reported estimate comes first, so row 0 of the distances belongs to it.
    columns: dict[str, Any] = {
        "estimate for": [f"{table.names[0]} (reported)", *table.names[1:]],
        "clusters": [one.n_clusters for one in table],
        "VI from the one reported (bits)": table.distances[0],
    }
    # E for expected, with a no-break space; an ensemble has means.
    expected = "" if facts.ensemble else "E\u00a0"
    for name, column in zip(table.names, table.expected_losses.T, strict=True):
        columns[f"{expected}{name}"] = column
    caption = facts.worded("The best partition for each loss, and its expected loss under all")
    return _table(caption, columns)


def modes(facts: Facts) -> Table | None:
    """The modes with their weights."""
    found = facts.modes
    if found is None:
        return None
    columns = {
        "mode": range(found.n_modes),
        "weight": found.weights,
        "clusters": [labels.max() + 1 for labels in found.labels],
        "sizes": [_sizes(labels) for labels in found.labels],
    }
    return _table("Modes, the heaviest first", columns, digits=3)


def _sizes(labels: IntArray) -> str:
    """Cluster sizes from the largest on, at most eight; labels of -1, in a bound, are missing."""
    sizes = np.sort(np.bincount(labels[labels >= 0]))[::-1].tolist()
    return ", ".join(map(str, sizes[:8])) + (", …" if len(sizes) > 8 else "")


def ball(facts: Facts) -> Table | None:
    """The bounds of the credible ball: of several at the same distance the first is described."""
    found = facts.ball
    if found is None or degenerate(facts):
        return None
    unit = f" ({found.loss.unit})" if found.loss.unit else ""
    bounds = (found.horizontal, found.upper, found.lower)
    columns = {
        "bound": ["horizontal", "upper vertical", "lower vertical"],
        "clusters": [bound[0].max() + 1 for bound in bounds],
        f"distance{unit}": found.distances,
        "sizes": [_sizes(bound[0]) for bound in bounds],
        "partitions at this distance": [len(bound) for bound in bounds],
    }
    return _table(
        "Bounds: the most distant partitions, and those with fewest and most clusters", columns
    )


def means(facts: Facts) -> Table | None:
    """The mean of each column of the data in each cluster, of the 20 largest, and in all."""
    if facts.data is None:
        return None
    data, labels = read_data(facts.data, argument="data"), facts.best.labels
    shown = np.argsort(-facts.best.sizes, kind="stable")[:20]
    rows = [data[labels == c].mean(axis=0) for c in shown] + [data.mean(axis=0)]
    names = column_names(facts.data, data.shape[1]) or [f"x{j}" for j in range(data.shape[1])]
    columns: dict[str, Any] = {"cluster": [*map(str, shown), "all"]}
    columns["items"] = [*facts.best.sizes[shown], labels.size]
    columns |= dict(zip(names[:20], np.transpose(rows), strict=False))
    cut = ", the first 20 columns" if len(names) > 20 else ""
    return _table(f"Means of the data by cluster{cut}", columns)


def others(facts: Facts) -> Table | None:
    """The p-values of the partitions that were given to compare with."""
    found = facts.plausibility
    if found is None:
        return None
    columns = {
        "partition": found.names,
        "clusters": [int(labels.max()) + 1 for labels in facts.others],
        f"{facts.worded('expected loss')} ({found.loss.name})": [
            expected_loss(labels, facts.draws, found.loss) for labels in facts.others
        ],
        "plausible?": found.sentences,
    }
    return _table("The partitions that were given", columns)


# --- for the script ---


def script_data(facts: Facts) -> dict[str, Any]:
    """What the script of the page reads as JSON: items to search and sort, cells to paint, labels to save to a file.

    The table of items has the least certain ones first, in their own order without their certainty; a runner-up
    of -1 is a cluster of this item alone.
    """
    best, table, names = facts.best, facts.items, facts.draws.items
    order = (np.arange(len(best.labels)) if table is None else table.order)[:ITEMS]
    unknown: list[Any] = [None] * len(order)
    # Names of very many items would make the page too large for labels to download.
    whole = names is None or sum(map(len, names)) <= 2 * 10**6
    k = best.n_clusters
    # The certainty of all items is in thousandths: integers take half the characters of decimals.
    known = None if table is None else np.nan_to_num(table.support)
    per_mille = None if known is None else np.rint(1000 * known).astype(int).tolist()
    return {
        "items": {
            "name": [short(facts.draws.item_names[i]) for i in order],
            "cluster": best.labels[order].tolist(),
            "support": unknown if table is None else _rounded(table.support[order]),
            "runner_up": unknown if table is None else table.runner_up[order].tolist(),
            "probability": unknown
            if table is None
            else _rounded(table.runner_up_probability[order]),
        },
        "n_items": facts.draws.n_items,
        "all": {"name": names, "cluster": best.labels.tolist(), "per_mille": per_mille}
        if whole
        else None,
        "exemplars": None if table is None else table.exemplars.tolist(),
        "colors": cluster_colors(k) if k <= 20 else ["#8c96a3"] * k,
    }


def _rounded(probabilities: FloatArray) -> list[float | None]:
    """Probabilities with three digits, which is what the page shows and keeps its JSON short; None for NaN."""
    return [None if value != value else round(value, 3) for value in probabilities.tolist()]
