"""The sentences, pictures and tables of the page, and the data for its script.

Sentences are plain text, which the template escapes; code stands between backticks. What was not computed is not
mentioned, so that every sentence is true of its page.

Pictures are figures of `epluribus.plots` as SVG. Cells of tables are texts, ready to be shown; the template only
escapes them and puts them into rows. A long table is cut, and its caption or a note says so.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from epluribus import plots
from epluribus._text import count, few_of, or_none, span
from epluribus._typing import FloatArray
from epluribus.changes import EQUAL, what_differs
from epluribus.plots._shared import cluster_colors, column_names, new_figure, read_data

if TYPE_CHECKING:
    from epluribus.page.facts import Facts

ITEMS = 2000
"""Most rows of the table of items, the least certain ones: a browser sorts them at once."""
_ESS = 400
"""Effective sample size that Vehtari et al. (2021) advise for stable diagnostics of four chains."""
_POINTS = 2000
"""Largest number of points drawn as shapes; more are drawn as pixels."""


# --- words ---


def number(value: float, form: str = ".4g") -> str:
    """A number as the page writes it; a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:{form}}"  # noqa: RUF001 - the dash of an empty cell


def share(probability: float) -> str:
    """A probability with two digits, never rounded to 0 or 1.

    >>> share(0.5), share(0.001), share(0.999), share(1.0)
    ('0.50', 'below 0.01', 'above 0.99', '1.00')
    """
    # Below 0.005 two digits would be 0.00, from 0.995 on 1.00.
    if 0 < probability < 0.005:
        return "below 0.01"
    return "above 0.99" if 0.995 <= probability < 1 else f"{probability:.2f}"


def sentence(text: str) -> str:
    """A line of a card as a sentence.

    >>> sentence("  radius 0.5 bits")
    'Radius 0.5 bits.'
    """
    text = text.strip()
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def degenerate(facts: Facts) -> str:
    """Why the draws say nothing about uncertainty; empty if they do.

    Three cases: one item, one draw, or draws that are all the same partition. Measures of uncertainty are
    then 0 or 1 whatever the data, and must not be presented as results.
    """
    draws = facts.draws
    if draws.n_items == 1:
        return "There is only one item: there is nothing to cluster."
    if draws.n_draws == 1:
        return facts.worded("There is only one draw: it says nothing about uncertainty.")
    # Distinct partitions of weight 0 have no probability: they are not variation.
    if int((draws.weights > 0).sum()) == 1:
        doubt = "" if facts.ensemble else ": did the sampler move?"
        return facts.worded(f"All draws are equal{doubt}.")
    return ""


def answer(facts: Facts) -> str:
    """The answer in a few sentences, with what a reader must know before trusting it."""
    best, sizes = facts.best, facts.best.sizes
    largest = f", the largest of {count(int(sizes.max()), 'item')}" if len(sizes) > 1 else ""
    items, has = count(best.labels.size, "item"), count(best.n_clusters, "cluster")
    problem = degenerate(facts)
    if problem:
        return f"The partition of the {items} has {has}{largest}. {problem}"
    # A search proves nothing about partitions it did not visit: hence "that were tried".
    tried = f"{facts.bound} that were tried" if facts.bound else "that were tried"
    within, mass = "the draws", f" with probability {share(facts.n_clusters.mass)}"
    if facts.n_clusters.mass == 1:
        within, mass = "all draws", ""
    parts = [
        facts.worded(
            f"The best single partition of the {items} has {has}{largest}. Of all partitions {tried} it has the "
            f"smallest expected loss, {best.loss.with_unit(number(best.expected_loss))} ({best.loss.name}). In "
            f"{within} the number of clusters is {span(*facts.n_clusters.interval)}{mass}."
        )
    ]
    if facts.disagree:
        why = "CHAINS DISAGREE" if facts.draws.n_chains > 1 else "CHAIN HAS NOT SETTLED"
        parts.insert(0, f"DO NOT REPORT THIS ANSWER: THE {why}.")
    if facts.left_out is not None:
        n = len(facts.left_out)
        parts.append(f"{count(n, 'other item')} {'was' if n == 1 else 'were'} left undecided.")
    if facts.items is None:
        parts.append("Much of the page is left out: see the notes under diagnostics.")
    parts.append(loose_clusters(facts))
    return " ".join(filter(None, parts))


def loose_clusters(facts: Facts) -> str:
    """The clusters that the draws do not support as groups, in a sentence; empty if there are none."""
    solid = facts.clusters
    if solid is None:
        return ""
    loose = np.flatnonzero((solid.cohesion < 0.5) & (solid.sizes > 1)).tolist()
    which = few_of([f"{c} ({count(int(solid.sizes[c]), 'item')})" for c in loose], 8)
    if len(loose) == 1:
        return f"Cluster {which} is not one group: two of its items, at random, are more often apart than together."
    if loose:
        return f"Two items of one cluster, at random, are more often apart than together in clusters {which}."
    return ""


def items_sentence(facts: Facts, at_most: int) -> str:
    """Which items the table shows, if it has room for `at_most`."""
    n = len(facts.best.labels)
    which = "first" if facts.items is None else "least certain"
    text = "How certain items are was left out. " if facts.items is None else ""
    if n > at_most:
        text += f"The {at_most:,} {which} of {n:,} items. "
        text += "`best.write_labels('labels.csv', draws)` writes all of them."
    return text or "The least certain items come first."


def other_sentences(facts: Facts) -> list[str]:
    """How the partitions that were given differ from the estimate."""
    names = () if facts.plausibility is None else facts.plausibility.names
    told = [
        what_differs(facts.best.labels, one, names=facts.draws.items, other=name)
        for name, one in zip(names, facts.others, strict=False)
    ]
    return [sentence(text) for text in told if text != EQUAL]


def warnings(facts: Facts) -> list[str]:
    """What speaks against the draws, the search and the summary, beside the lines of `health`."""
    problem = degenerate(facts)
    return [problem] if problem else [*_about_draws(facts), *_about_search(facts)]


def _about_draws(facts: Facts) -> Iterator[str]:
    """Whether the draws are enough, and the estimate has a usual number of clusters."""
    error, k, chosen = facts.error, facts.n_clusters, facts.best.n_clusters
    # Consecutive draws resemble each other: a thousand of them may be worth ten independent ones.
    if error is not None and not facts.ensemble and error.ess < _ESS:
        yield (
            f"For the expected loss the draws are worth about {error.ess:,.0f} independent ones, fewer than the "
            f"{_ESS} often advised: run the sampler longer."
        )
    if not k.interval[0] <= chosen <= k.interval[1]:
        yield (
            f"The estimate has {count(chosen, 'cluster')}, outside the {100 * k.level:g}% interval "
            f"({span(*k.interval)}) of the {facts.worded('draws')}. Which partition is best and how many "
            "clusters are likely are two questions."
        )


def _about_search(facts: Facts) -> Iterator[str]:
    """Whether the search ended by itself, and whether another partition is known to be better."""
    best, table = facts.best, facts.comparison
    if not best.converged:
        yield "The search was stopped early: a longer one may find a better partition."
    # Column 0 has the expected losses under the reported loss. If a partition found for another loss is
    # better there, by more than rounding, the search has missed it, or was not allowed to find it.
    if table is not None:
        winner = int(np.argmin(table.expected_losses[:, 0]))
        if table.expected_losses[winner, 0] < best.expected_loss * (1 - 1e-9):
            why = f"Its search was not limited to partitions {facts.bound}."
            yield (
                f"The estimate for {table.names[winner]} has a smaller {facts.worded('expected loss')} "
                f"({best.loss.name}) than the one reported. {why if facts.bound else 'Search with more starts.'}"
            )


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
        (f"clusters, {100 * k.level:g}% interval", span(*k.interval)),
    ]


def clusters(facts: Facts) -> Table:
    """Size and, if known, solidity of each cluster: of the 200 largest."""
    sizes, table, items = facts.best.sizes[:200], facts.clusters, facts.items
    columns: dict[str, Any] = {"cluster": range(len(sizes)), "items": sizes}
    columns["share"] = [f"{100 * n / facts.best.labels.size:.1f}%" for n in sizes]
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
    return [None if value is None else round(value, 3) for value in or_none(probabilities)]
