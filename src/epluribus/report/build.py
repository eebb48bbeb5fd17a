"""The page, put together: template, style, script, and what they show."""

from __future__ import annotations

import html
import json
import platform
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from epluribus._validate import make_rng
from epluribus._text import count
from epluribus.draws import as_draws
from epluribus._files import check_target, write_whole
from epluribus._version import __version__
from epluribus.report.facts import ALL_LOSSES, Facts, gather
from epluribus.report.pictures import bars_of_k, trace_of_loss
from epluribus.report.words import answer, checks, degenerate, methods, number, share
from epluribus.partition import as_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from epluribus._progress import ProgressLike
    from epluribus._typing import DrawsLike, RngLike
    from epluribus.estimate import Estimate

__all__ = ["build_report", "write_report"]

T = TypeVar("T")

_ITEMS = 2000
"""Rows of the table of items; the least certain are kept."""
_PLAIN_ITEMS = 25
"""Rows that are there without JavaScript."""
_CLUSTERS = 200
_LINES = 100
"""With so many cuts between clusters the script draws no lines: they would hide the cells."""
_TALL = 20
"""Longer tables scroll in a window of their own."""
_DASH = number(float("nan"))
_NAMES = 2 * 10**6
"""With longer names of all items together the page has no labels to download."""
_LONG = 80
"""Characters of an item's name that are shown."""


def write_report(
    best: Estimate,
    draws: DrawsLike,
    path: str | Path,
    *,
    title: str = "Optimal partition",
    call: str | None = None,
    level: float = 0.95,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
    brief: bool = False,
) -> Path:
    """Write one self-contained HTML page on an estimate; it opens offline in any browser.

    Parameters
    ----------
    best : Estimate
        The estimate, as `minimize` returns it.
    draws : Draws or array_like of shape (n_draws, n_items)
        The draws it was made from.
    path : str or Path
        The file, ending in .html.
    title : str
        Heading of the page.
    call : str, optional
        The call to show on the page as the one that made it.
    level : float, default 0.95
        Probability of the credible ball and of the interval of the number of clusters.
    rng : int, Generator or SeedSequence, optional
        Source of randomness for modes and other losses: the same gives the same page.
    n_jobs : int, optional
        Threads; all cores by default.
    progress : bool or callable, default False
        A bar on stderr, or a function ``(done, total, info)``.
    brief : bool, default False
        Leave out all that takes time to compute.

    Returns
    -------
    Path
        The file written.

    Notes
    -----
    Ctrl-C ends the computation, and the page is written with what is there; it says what is
    missing.

    Examples
    --------
    >>> import epluribus as epl
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> draws = epl.Draws([[0, 0, 1], [0, 0, 1], [0, 1, 1]], items=["ann", "bob", "cy"])
    >>> with TemporaryDirectory() as folder:
    ...     path = epl.minimize(draws, rng=1).report(draws, Path(folder, "report.html"), rng=1)
    ...     "2 clusters" in path.read_text(encoding="utf-8")
    True
    """
    target = Path(path)
    check_target(target, (".html",))
    text = build_report(
        best,
        draws,
        title=title,
        call=call or f'best.report(draws, "{target.name}")',
        level=level,
        rng=rng,
        n_jobs=n_jobs,
        progress=progress,
        brief=brief,
    )
    _once_more(
        lambda: write_whole(target, lambda beside: beside.write_text(text, encoding="utf-8"))
    )
    return target


def build_report(
    best: Estimate,
    draws: DrawsLike,
    *,
    title: str = "Optimal partition",
    call: str = "",
    level: float = 0.95,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
    brief: bool = False,
) -> str:
    """The page as text; see `write_report`."""
    sample = as_draws(draws)
    as_labels(best, sample.n_items)  # refuses draws of other items
    facts = gather(
        best,
        sample,
        level=level,
        rng=make_rng(rng),
        n_jobs=n_jobs,
        progress=progress,
        brief=brief,
    )
    return _once_more(lambda: _compose(facts, title, call))


def _once_more(work: Callable[[], T]) -> T:
    """Short work that one Ctrl-C does not keep from being done."""
    try:
        return work()
    except KeyboardInterrupt:
        return work()


def _compose(facts: Facts, title: str, call: str) -> str:
    bars, caption = bars_of_k(facts)
    paragraph, references = methods(facts, __version__)
    table = _items(facts)
    cells = {
        "title": _text(title),
        "answer": _text(answer(facts)),
        "tiles": _tiles(facts),
        "checks": _checks(facts),
        "clusters": _clusters(facts),
        "items_note": _prose(_items_note(facts)),
        "items_rows": _item_rows(table),
        "heatmap": _heatmap(facts),
        "bars": _bars(bars, caption),
        "comparison": _comparison(facts),
        "modes": _modes(facts),
        "ball": _ball(facts),
        "trace": _trace(facts),
        "chains": _chains(facts),
        "certificate": _certificate(facts),
        "methods": _text(paragraph),
        "references": "".join(f"<li>{_reference(reference)}</li>" for reference in references),
        "call": _text(call),
        "versions": _text(
            f"epluribus {__version__}, NumPy {np.__version__}, "
            f"Python {platform.python_version()}"
        ),
        "data": _script_data(
            {
                "heatmap": _for_canvas(facts),
                "items": table,
                "n_items": facts.draws.n_items,
                "all": _all_items(facts),
            }
        ),
        "style": _file("page.css"),
        "script": _file("page.js"),
    }
    return Template(_file("page.html")).substitute(cells)


def _file(name: str) -> str:
    return files("epluribus.report").joinpath(name).read_text(encoding="utf-8")


def _text(text: object) -> str:
    return html.escape(str(text))


def _prose(text: str) -> str:
    """Text with code between backticks."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", _text(text))


def _script_data(data: Any) -> str:
    """JSON that is safe inside a script element, whatever the names of items are."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _reference(reference: str) -> str:
    text, _, doi = reference.rpartition(" ")
    return f'{_text(text)} <a href="{_text(doi)}">{_text(doi)}</a>'


def _table(
    head: Sequence[str],
    rows: Sequence[Sequence[object]],
    caption: str,
    *,
    words: int = 1,
    sortable: bool = False,
) -> str:
    """A table; the first `words` columns are words, the rest numbers."""
    heads = "".join(
        f'<th scope="col"{"" if i < words else " class=number"}>{_text(cell)}</th>'
        for i, cell in enumerate(head)
    )
    lines = []
    for row in rows:
        cells = "".join(
            f"<td{'' if i < words else ' class=number'}>{_text(cell)}</td>"
            for i, cell in enumerate(row[1:], 1)
        )
        lines.append(f'<tr><th scope="row">{_text(row[0])}</th>{cells}</tr>')
    kind = "scroll tall" if len(rows) > _TALL else "scroll"
    return (
        f'<div class="{kind}" tabindex="0"><table{" class=sortable" if sortable else ""}>'
        f"<caption>{_text(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


# --- sections ---


def _tiles(facts: Facts) -> str:
    best, (low, high) = facts.best, facts.n_clusters.interval
    units = best.loss.unit
    tiles = [
        ("clusters", f"{best.n_clusters:,}"),
        ("items", f"{best.labels.size:,}"),
        ("draws", f"{facts.draws.n_draws:,}"),
        ("chains", f"{facts.draws.n_chains:,}"),
        (
            f"expected loss ({best.loss.name}{f', in {units}' if units else ''})",
            number(best.expected_loss),
        ),
        (
            f"clusters, {100 * facts.n_clusters.level:g} % interval",
            f"{low}" if low == high else f"{low} to {high}",
        ),
    ]
    return "".join(f"<div><dt>{_text(name)}</dt><dd>{_text(v)}</dd></div>" for name, v in tiles)


def _checks(facts: Facts) -> str:
    found = sorted(checks(facts), key=lambda check: check.fine)
    return "".join(
        f'<li class="{"fine" if check.fine else "warning"}"><strong>'
        f"{'Fine' if check.fine else 'Warning'}:</strong> {_text(check.text)}</li>"
        for check in found
    ) + "".join(
        f'<li class="note"><strong>Note:</strong> {_prose(line)}</li>' for line in facts.skipped
    )


def _left_out() -> str:
    return "<p>Left out: see the notes under diagnostics.</p>"


def _clusters(facts: Facts) -> str:
    table, sizes = facts.clusters, facts.best.sizes
    order = np.argsort(-sizes, kind="stable")[:_CLUSTERS]
    total = int(sizes.sum())
    rows: list[tuple[str, ...]] = []
    for c in order:
        row: tuple[str, ...] = (f"{c}", f"{sizes[c]:,}", f"{100 * sizes[c] / total:.1f} %")
        if table is not None:
            has_other = table.nearest[c] >= 0
            row += (
                f"{table.cohesion[c]:.2f}",
                f"{table.separation[c]:.2f}" if has_other else "-",
                f"{table.nearest[c]}" if has_other else "-",
                f"{table.stability[c]:.2f}",
            )
        rows.append(row)
    hidden = len(sizes) - len(rows)
    caption = "Clusters, the largest first" + (
        f"; {hidden:,} smaller ones are not shown" if hidden else ""
    )
    head = ("cluster", "items", "share", "cohesion", "separation", "nearest", "stability")
    return _table(head[: len(rows[0])], rows, caption, sortable=True)


def _items(facts: Facts) -> dict[str, Any]:
    """Columns of the table of items, uncertain ones first."""
    table, names = facts.items, facts.draws.item_names
    if table is None:
        first = range(min(_ITEMS, len(names)))
        none = [None] * len(first)
        return {
            "name": [_short(names[i]) for i in first],
            "cluster": facts.best.labels[: len(first)].tolist(),
            "support": none,
            "runner_up": none,
            "probability": none,
        }
    order = table.order[:_ITEMS]
    return {
        "name": [_short(names[i]) for i in order],
        "cluster": table.labels[order].tolist(),
        "support": [round(float(v), 3) for v in table.support[order]],
        "runner_up": table.runner_up[order].tolist(),
        "probability": [round(float(v), 3) for v in table.runner_up_probability[order]],
    }


def _all_items(facts: Facts) -> dict[str, Any] | None:
    """What the file of labels holds: all items in their order; names are None if they are numbers."""
    names = facts.draws.items
    if names is not None and sum(map(len, names)) > _NAMES:
        return None
    support = None
    if facts.items is not None:
        support = np.rint(1000 * facts.items.support).astype(np.int64).tolist()
    return {
        "name": None if names is None else list(names),
        "cluster": facts.best.labels.tolist(),
        "per_mille": support,
    }


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[: _LONG - 1]}…"


def _items_note(facts: Facts) -> str:
    n = len(facts.best.labels)
    if facts.items is None:
        shown = f"The first {_ITEMS:,} of {n:,} items" if n > _ITEMS else count(n, "item")
        return f"{shown}; how certain they are was left out: see the notes under diagnostics."
    if n <= _ITEMS:
        return f"All {count(n, 'item')}, the least certain first." if n > 1 else ""
    return (
        f"The {_ITEMS:,} least certain of {n:,} items; the others are surer. "
        "`best.write_labels('labels.csv', draws)` writes all of them."
    )


def _item_rows(table: dict[str, Any]) -> str:
    rows = []
    for name, cluster, support, other, probability in list(zip(*table.values(), strict=True))[
        :_PLAIN_ITEMS
    ]:
        place = _DASH if other is None else "alone" if other < 0 else other
        numbers = [_DASH if v is None else f"{v:.3f}" for v in (support, probability)]
        rows.append(
            f'<tr><th scope="row">{_text(name)}</th><td class=number>{cluster}</td>'
            f"<td class=number>{numbers[0]}</td><td class=number>{place}</td>"
            f"<td class=number>{numbers[1]}</td></tr>"
        )
    return "".join(rows)


def _for_canvas(facts: Facts) -> dict[str, Any] | None:
    """The heatmap with a name for each of its rows in place of the numbers of the items."""
    picture = facts.heatmap
    if picture is None:
        return None
    edges, order, names = picture["edges"], picture["items"], facts.draws.item_names
    rows = []
    for begin, end in pairwise(edges):
        first, last = _short(names[order[begin]]), _short(names[order[end - 1]])
        rows.append(first if end - begin == 1 else f"{first} … {last}, {end - begin} items")
    rest = {key: value for key, value in picture.items() if key != "items"}
    return {**rest, "names": rows}


def _save(what: str, name: str) -> str:
    """A link that the script turns into a file of the picture `what`."""
    return f'<a class="save" href="#{what}" data-save="{name}" hidden>save</a>'


def _bars(bars: str, caption: str) -> str:
    if not bars:
        return f"<p>{_text(caption)}</p>"
    return (
        f'<figure id="bars">{bars}<figcaption>Posterior probability of each number of clusters; that '
        f"of the estimate is highlighted. {_text(caption)} {_save('bars', 'clusters.svg')}"
        "</figcaption></figure>"
    )


def _trace(facts: Facts) -> str:
    if facts.values is None:
        return ""
    return (
        f'<figure id="trace">{trace_of_loss(facts)}<figcaption>Loss between the estimate and each '
        "draw, one line a chain. Lines that mix, without trend, are a good sign. "
        f"{_save('trace', 'trace.svg')}</figcaption></figure>"
    )


def _heatmap(facts: Facts) -> str:
    if facts.heatmap is None:
        return _left_out()
    alt = _text(_heatmap_alt(facts))
    return (
        '<figure><div class="map"><canvas id="heatmap" role="img" '
        f'aria-label="{alt}" tabindex="0">{alt}</canvas></div>'
        '<div class="legend" aria-hidden="true"><span>0</span><span class="ramp"></span>'
        '<span>1</span></div><p id="hover" role="status">Move over the picture, or use the arrow '
        "keys, to read probabilities.</p>"
        "<figcaption>Probability that two items share a cluster. "
        f"{_text(_heatmap_note(facts.heatmap))} {_save('heatmap', 'similarity.png')}</figcaption>"
        "</figure><noscript><p>The picture needs JavaScript.</p></noscript>"
    )


def _heatmap_alt(facts: Facts) -> str:
    text = (
        "Heatmap of the probability that two items share a cluster, items in the order of the "
        f"{count(facts.best.n_clusters, 'cluster')}"
    )
    if facts.clusters is None:
        return text
    mean = float(np.average(facts.clusters.cohesion, weights=facts.clusters.sizes))
    return f"{text}; within clusters it is {mean:.2f} on average."


def _heatmap_note(picture: dict[str, Any]) -> str:
    text = "Items are in the order of their clusters, the largest first"
    text += "; lines part the clusters." if len(picture["cuts"]) < _LINES else "."
    if picture["all"] > picture["shown"]:
        text += (
            f" {picture['shown']:,} of the {picture['all']:,} items, spread evenly, stand for all."
        )
    if picture["shown"] > picture["n"]:
        text += f" A cell is the mean over a few neighbours: {picture['n']} rows in all."
    return text


def _comparison(facts: Facts) -> str:
    table = facts.comparison
    if table is None:
        return _left_out()
    names = [estimate.loss.name for estimate in table.estimates]
    rows = [
        (
            estimate.loss.name + (" (reported)" if i == 0 else ""),
            estimate.n_clusters,
            number(float(table.distances[i])),
            *(number(float(value)) for value in table.expected_losses[i]),
        )
        for i, estimate in enumerate(table.estimates)
    ]
    head = (
        "estimate for",
        "clusters",
        "VI from the one reported (bits)",
        *(f"E\u00a0{name}" for name in names),
    )
    made = _table(head, rows, "The best partition for each loss, and its expected loss under all")
    if len(facts.best.labels) > ALL_LOSSES:
        words = f"With more than {ALL_LOSSES} items only the quick losses are compared."
        made += f'<p class="note">{words}</p>'
    return made


def _modes(facts: Facts) -> str:
    found = facts.modes
    if found is None:
        return _left_out()
    rows = [
        (f"{m}", f"{found.weights[m]:.3f}", int(found.labels[m].max()) + 1, _sizes(found.labels[m]),
         number(float(found.expected_losses[m])))
        for m in range(found.n_modes)
    ]  # fmt: skip
    head = ("mode", "weight", "clusters", "sizes", "loss within")
    return f"<p>{_text(found.sentence)}</p>" + _table(head, rows, "Modes, the heaviest first")


def _sizes(labels: Any) -> str:
    sizes = sorted(np.bincount(labels).tolist(), reverse=True)
    return ", ".join(map(str, sizes[:8])) + (", …" if len(sizes) > 8 else "")


def _ball(facts: Facts) -> str:
    ball = facts.ball
    if ball is None:
        return _left_out()
    if degenerate(facts):
        return (
            f"<p>There is none: {_text(degenerate(facts)[0].lower() + degenerate(facts)[1:])}</p>"
        )
    names = ("most distant", "fewest clusters", "most clusters")
    bounds = (ball.horizontal, ball.upper, ball.lower)
    rows = [
        (name, int(bound[0].max()) + 1, number(float(distance)), _sizes(bound[0]), len(bound))
        for name, bound, distance in zip(names, bounds, ball.distances, strict=True)
    ]
    units = ball.loss.unit
    distance = f"distance ({units})" if units else "distance"
    head = ("edge of the ball", "clusters", distance, "sizes", "partitions so far away")
    text = (
        f"With probability {share(ball.mass)} the partition is within "
        f"{ball.loss.with_unit(number(ball.radius))} ({ball.loss.name}) of the estimate: "
        f"{count(ball.n_inside, 'distinct partition')} among the draws."
    )
    return f"<p>{_text(text)}</p>" + _table(
        head, rows, "Partitions at the edge: how different a credible partition can be"
    )


def _chains(facts: Facts) -> str:
    draws, error = facts.draws, facts.error
    k, weights = draws.n_clusters, draws.draw_weights
    rows = []
    for chain in range(draws.n_chains):
        mine = draws.chains == chain
        heavy = weights[mine].sum() > 0
        mean = float(np.average(k[mine], weights=weights[mine])) if heavy else float("nan")
        low, high = int(k[mine].min()), int(k[mine].max())
        span = f"{low}" if low == high else f"{low} to {high}"
        rows.append((f"{chain}", f"{int(mine.sum()):,}", f"{mean:.2f}", span))
    table = _table(("chain", "draws", "mean number of clusters", "range"), rows, "Chains")
    if error is None or degenerate(facts):
        return table
    facts_of_error = [
        ("expected loss", number(error.expected_loss, 6)),
        ("Monte Carlo standard error", number(error.standard_error, 2)),
        ("effective draws", number(error.ess)),
        ("split R-hat of the loss", number(error.rhat)),
        ("largest difference between chains", number(error.disagreement, 3)),
    ]
    return table + _table(("quantity", "value"), facts_of_error, "Precision of the expected loss")


def _certificate(facts: Facts) -> str:
    found = facts.certificate
    if found is None:
        return _left_out()
    if found.proved:
        text = "Proved optimal: no partition has a smaller expected loss for these draws."
    elif found.verdict == "no bound":
        text = (
            "No useful bound on the smallest expected loss is known for this loss and these draws."
        )
    else:
        above = found.verdict.removeprefix("within ")
        text = (
            f"No partition has an expected loss below {number(found.lower_bound, 6)}, so that of the "
            f"estimate, {number(found.expected_loss, 6)}, is at most {above} above the smallest."
        )
    return f"<p>{_text(text)} The bound comes from {_text(found.method)}.</p>"
