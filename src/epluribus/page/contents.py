"""The pictures and tables of the page, and the data for its script.

Pictures are figures of `epluribus.plots` as SVG. Cells of tables are texts, ready to be shown; the template only
escapes them and puts them into rows. A long table is cut, and its caption or a note says so.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from epluribus import plots
from epluribus._text import span
from epluribus._typing import FloatArray
from epluribus.page.sentences import number
from epluribus.plots._shared import cluster_colors, column_names, new_figure, read_data

if TYPE_CHECKING:
    from epluribus.page.facts import Facts

ITEMS = 2000
"""Most rows of the table of items, the least certain ones: a browser sorts them at once."""
_POINTS = 2000
"""Largest number of points drawn as shapes; more are drawn as pixels."""


# --- pictures ---


def picture(
    name: str, *arguments: Any, size: tuple[float, float] = (6.5, 3.0), **options: Any
) -> str:
    """A plot by its name, as the source of an image."""
    figure, ax = new_figure(size)
    getattr(plots, name)(*arguments, ax=ax, **options)
    return to_image(figure)


def data_picture(facts: Facts) -> tuple[str, str]:
    """The data colored by cluster as an image, and what it shows."""
    columns = read_data(facts.data, argument="data").shape[1]
    given = facts.best.labels, facts.data
    if columns == 1:
        return picture("histogram", *given, size=(6.5, 3.6)), "Histogram of the data"
    what = "The two columns of the data"
    if columns > 2:
        what = f"The first two principal components of the {columns} columns of the data, each standardized"
    return picture("scatter", *given, size=(5.5, 4.6)), what


def to_image(figure: Any) -> str:
    """A figure as SVG, in the form that an image of a page has as its source: the same figure, the same text."""
    import matplotlib as mpl

    # Thousands of points would be megabytes of shapes: they become pixels, the axes stay as they are.
    for ax in figure.axes:
        marks = [(one, len(one.get_offsets())) for one in ax.collections]
        marks += [(one, len(one.get_xdata())) for one in ax.lines]
        for one, n in marks:
            if sum(size for _, size in marks) > _POINTS and n > 1:
                one.set_rasterized(True)
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "epluribus"}):
        figure.savefig(text, format="svg", dpi=100, metadata={"Date": None, "Creator": None})
    code = base64.b64encode(text.getvalue().encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{code}"


# --- tables ---


class Table(NamedTuple):
    """A table of the page: the first cell of a row is its name, the others are numbers."""

    caption: str
    head: list[str]
    rows: Sequence[tuple[str, ...]]
    sortable: bool
    """Whether a click on the head sorts it."""


def _table(caption: str, columns: Mapping[str, Any], *, sortable: bool = False) -> Table:
    """A table by columns; a number below 0 is no cluster."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return number(value)
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
    sizes, table, items = facts.best.sizes[:200], facts.clusters, facts.items
    columns: dict[str, Any] = {"cluster": range(len(sizes)), "items": sizes}
    columns["share"] = [f"{100 * n / facts.best.labels.size:.1f} %" for n in sizes]
    if table is not None:
        for name in ("cohesion", "separation", "nearest", "stability"):
            values = getattr(table, name)[:200]
            columns[name] = values if name == "nearest" else [number(x, ".2f") for x in values]
    if items is not None:
        names = facts.draws.item_names
        columns["exemplar"] = [short(names[i], 24) for i in items.exemplars[:200]]
    hidden = facts.best.n_clusters - len(sizes)
    more = f"; {hidden:,} smaller ones are not shown" if hidden else ""
    return _table(f"Clusters, the largest first{more}", columns, sortable=True)


def means(facts: Facts) -> Table | None:
    """The mean of each column of the data in each cluster, of the 20 largest, and in all."""
    if facts.data is None:
        return None
    data, sizes = read_data(facts.data, argument="data"), facts.best.sizes
    names = column_names(facts.data, data.shape[1]) or [f"x{j}" for j in range(data.shape[1])]
    frame = pd.DataFrame(data, columns=names).iloc[:, :20]
    found = frame.groupby(facts.best.labels).mean().head(20)
    columns: dict[str, Any] = {"cluster": [*map(str, found.index), "all"]}
    columns["items"] = [*sizes[: len(found)], len(data)]
    columns |= {name: [*found[name], frame[name].mean()] for name in frame}
    cut = ", the first 20 columns" if len(names) > 20 else ""
    return _table(f"Means of the data by cluster{cut}", columns)


def short(name: str, length: int = 80) -> str:
    """The name of an item, cut if it is longer."""
    return name if len(name) <= length else f"{name[: length - 1]}…"


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
    everything = {"name": names, "cluster": best.labels.tolist(), "per_mille": per_mille}
    second = unknown if table is None else _rounded(table.runner_up_support[order])
    return {
        "items": {
            "name": [short(facts.draws.item_names[i]) for i in order],
            "cluster": best.labels[order].tolist(),
            "support": unknown if table is None else _rounded(table.support[order]),
            "runner_up": unknown if table is None else table.runner_up[order].tolist(),
            "probability": second,
        },
        "n_items": facts.draws.n_items,
        "all": everything if whole else None,
        "exemplars": None if table is None else table.exemplars.tolist(),
        "colors": cluster_colors(k) if k <= 20 else ["#8c96a3"] * k,
    }


def _rounded(probabilities: FloatArray) -> list[float | None]:
    """Probabilities with three digits, which is what the page shows and keeps its JSON short; None for NaN."""
    return [None if value != value else round(value, 3) for value in probabilities.tolist()]
