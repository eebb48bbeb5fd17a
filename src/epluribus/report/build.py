"""The page, put together: the values of the template, and the file."""

from __future__ import annotations

import platform
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epluribus._files import check_target, write_whole
from epluribus._parallel import finish
from epluribus._text import count, span
from epluribus._validate import make_rng, need
from epluribus._version import __version__
from epluribus.estimate import Estimate, read_best
from epluribus.report.facts import ALL_LOSSES, Facts, gather
from epluribus.report.pictures import bars_of_k, short, trace_of_loss
from epluribus.report.words import answer, checks, degenerate, k_sentence, methods, number, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from epluribus._progress import ProgressLike
    from epluribus._typing import DrawsLike, IntArray, RngLike

__all__ = ["build_report", "write_report"]

_ITEMS = 2000
"""Rows of the table of items, which a browser sorts at once; the least certain are kept."""
_CLUSTERS = 200
"""Rows of the table of clusters; the largest are kept."""
_SIZES = 8
"""Cluster sizes in a cell of a table."""
_NAMES = 2 * 10**6
"""With more characters in the names of all items together the page has no labels to download."""


def write_report(
    best: Estimate,
    draws: DrawsLike,
    path: str | Path,
    *,
    title: str = "Optimal partition",
    call: str | None = None,
    k: int | None = None,
    k_max: int | None = None,
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
    k, k_max : int, optional
        The bounds that `minimize` was given; only for an estimate that does not remember them,
        because it was saved by version 0.1.0.
    level : float, default 0.95
        Probability of the credible ball and of the interval of the number of clusters.
    rng : int, Generator or SeedSequence, optional
        Source of randomness for modes and other losses: the same gives the same page.
    n_jobs : int, optional
        Threads; all cores by default.
    progress : bool or callable, default False
        A bar on stderr, or a function ``(done, total, info)``.
    brief : bool, default False
        Leave out everything that takes time to compute.

    Returns
    -------
    Path
        The file written.

    Notes
    -----
    Ctrl-C ends the computation, and the page is written with what is known so far; it says what is
    missing. The page is made with jinja2: ``pip install "epluribus[report]"``.

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
        k=k,
        k_max=k_max,
        level=level,
        rng=rng,
        n_jobs=n_jobs,
        progress=progress,
        brief=brief,
    )
    finish(lambda: write_whole(target, lambda beside: beside.write_text(text, encoding="utf-8")))
    return target


def build_report(
    best: Estimate,
    draws: DrawsLike,
    *,
    title: str = "Optimal partition",
    call: str = "",
    k: int | None = None,
    k_max: int | None = None,
    level: float = 0.95,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
    brief: bool = False,
) -> str:
    """The page as text; the arguments are those of `write_report`.

    Examples
    --------
    >>> import epluribus as epl
    >>> from epluribus.report import build_report
    >>> draws = [[0, 0, 1], [0, 0, 1], [0, 1, 1]]
    >>> build_report(epl.minimize(draws, rng=1), draws, rng=1)[:15]
    '<!doctype html>'
    """
    template = _template()  # before the work: jinja2 may be missing
    _, sample, _ = read_best(best, draws, best.loss)  # refuses draws of other items
    settings = best.settings
    if (k, k_max) != (None, None):
        settings = replace(settings, k_min=k or 1, k_max=k_max if k is None else k)
    facts = gather(
        best,
        sample,
        bound=settings.bound,
        level=level,
        rng=make_rng(rng),
        n_jobs=n_jobs,
        progress=progress,
        brief=brief,
    )
    return finish(lambda: str(template.render(title=title, call=call, **_values(facts))))


def _template() -> Any:
    """The template of the page, in which every value is escaped."""
    jinja2 = need("jinja2", "report", "The report")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters |= {"count": count, "fixed": _fixed, "number": number, "share": share}
    return environment.from_string(_resource("page.html"))


def _resource(name: str) -> str:
    return files("epluribus.report").joinpath(name).read_text(encoding="utf-8")


def _fixed(value: float, digits: int = 1) -> str:
    return f"{value:.{digits}f}"


class _Table(NamedTuple):
    """A table of the page: the first cell of a row is its name, the others are numbers."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    sortable: bool = False


def _values(facts: Facts) -> dict[str, Any]:
    """What the template shows, besides its title and call."""
    paragraph, references = methods(facts)
    items = _items(facts)
    solid = facts.clusters
    return {
        "facts": facts,
        "all_losses": ALL_LOSSES,
        "problem": degenerate(facts),
        "answer": answer(facts),
        "tiles": _tiles(facts),
        "checks": checks(facts),
        "trace": None if facts.values is None else trace_of_loss(facts.draws, facts.values),
        "chains": _chains(facts),
        "clusters": _clusters(facts),
        "cohesion": None if solid is None else np.average(solid.cohesion, weights=solid.sizes),
        "items_note": _items_note(facts),
        "item_rows": list(zip(*items.values(), strict=True)),
        "bars": bars_of_k(facts.n_clusters, facts.best.n_clusters),
        "k_sentence": k_sentence(facts),
        "comparison": _comparison(facts),
        "modes": _modes(facts),
        "ball": _ball(facts),
        "paragraph": paragraph,
        "references": references,
        "versions": (
            f"epluribus {__version__}, NumPy {np.__version__}, Python {platform.python_version()}"
        ),
        # For the script.
        "data": {
            "heatmap": facts.heatmap,
            "items": items,
            "n_items": facts.draws.n_items,
            "all": _all_items(facts),
        },
        "style": _resource("page.css"),
        "script": _resource("page.js"),
    }


def _tiles(facts: Facts) -> list[tuple[str, str]]:
    best, k = facts.best, facts.n_clusters
    unit = f", in {best.loss.unit}" if best.loss.unit else ""
    return [
        ("clusters", f"{best.n_clusters:,}"),
        ("items", f"{best.labels.size:,}"),
        ("draws", f"{facts.draws.n_draws:,}"),
        ("chains", f"{facts.draws.n_chains:,}"),
        (f"expected loss ({best.loss.name}{unit})", number(best.expected_loss)),
        (f"clusters, {100 * k.level:g} % interval", span(*k.interval)),
    ]


def _clusters(facts: Facts) -> _Table:
    table, sizes = facts.clusters, facts.best.sizes
    head = ["cluster", "items", "share"]
    if table is not None:
        head += ["cohesion", "separation", "nearest", "stability"]
    rows = []
    for c in np.argsort(-sizes, kind="stable")[:_CLUSTERS]:
        row = [f"{c}", f"{sizes[c]:,}", f"{100 * sizes[c] / sizes.sum():.1f} %"]
        if table is not None:
            near = table.nearest[c]  # -1 where there is no other cluster
            row += [
                f"{table.cohesion[c]:.2f}",
                f"{table.separation[c]:.2f}" if near >= 0 else "-",
                f"{near}" if near >= 0 else "-",
                f"{table.stability[c]:.2f}",
            ]
        rows.append(row)
    hidden = len(sizes) - len(rows)
    more = f"; {hidden:,} smaller ones are not shown" if hidden else ""
    return _Table(f"Clusters, the largest first{more}", head, rows, sortable=True)


def _items(facts: Facts) -> dict[str, list[Any]]:
    """Columns of the table of items, the uncertain ones first."""
    best, table, names = facts.best, facts.items, facts.draws.item_names
    order = (np.arange(len(names)) if table is None else table.order)[:_ITEMS]
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


def _rounded(probabilities: NDArray[np.float64]) -> list[float]:
    return [round(value, 3) for value in probabilities.tolist()]


def _all_items(facts: Facts) -> dict[str, Any] | None:
    """What the file of labels holds: all items in their order; names are None if they are numbers."""
    names, table = facts.draws.items, facts.items
    if names is not None and sum(map(len, names)) > _NAMES:
        return None
    return {
        "name": names,
        "cluster": facts.best.labels.tolist(),
        # Integers are shorter than decimals.
        "per_mille": None if table is None else np.rint(1000 * table.support).astype(int).tolist(),
    }


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


def _comparison(facts: Facts) -> _Table | None:
    table = facts.comparison
    if table is None:
        return None
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
        "The best partition for each loss, and its expected loss under all",
        (
            "estimate for",
            "clusters",
            "VI from the one reported (bits)",
            *(f"E\u00a0{name}" for name in table.names),
        ),
        rows,
    )


def _modes(facts: Facts) -> _Table | None:
    found = facts.modes
    if found is None:
        return None
    rows = [
        (m, f"{weight:.3f}", labels.max() + 1, _sizes(labels), number(loss))
        for m, (weight, labels, loss) in enumerate(
            zip(found.weights, found.labels, found.expected_losses, strict=True)
        )
    ]
    return _Table(
        "Modes, the heaviest first", ("mode", "weight", "clusters", "sizes", "loss within"), rows
    )


def _sizes(labels: IntArray) -> str:
    sizes = np.sort(np.bincount(labels))[::-1].tolist()
    return ", ".join(map(str, sizes[:_SIZES])) + (", …" if len(sizes) > _SIZES else "")


def _ball(facts: Facts) -> _Table | None:
    ball = facts.ball
    if ball is None:
        return None
    names = ("most distant", "fewest clusters", "most clusters")
    bounds = (ball.horizontal, ball.upper, ball.lower)
    unit = f" ({ball.loss.unit})" if ball.loss.unit else ""
    return _Table(
        "Partitions at the edge: how different a credible partition can be",
        ("edge of the ball", "clusters", f"distance{unit}", "sizes", "partitions so far away"),
        [
            (name, bound[0].max() + 1, number(distance), _sizes(bound[0]), len(bound))
            for name, bound, distance in zip(names, bounds, ball.distances, strict=True)
        ],
    )


def _chains(facts: Facts) -> list[_Table]:
    draws, error = facts.draws, facts.error
    rows = []
    for chain in range(draws.n_chains):
        mine = draws.chains == chain
        k, weights = draws.n_clusters[mine], draws.draw_weights[mine]
        mean = np.average(k, weights=weights) if weights.sum() > 0 else np.nan
        rows.append((chain, f"{mine.sum():,}", f"{mean:.2f}", span(k.min(), k.max())))
    tables = [_Table("Chains", ("chain", "draws", "mean number of clusters", "range"), rows)]
    if error is not None and not degenerate(facts):
        precision = [
            ("expected loss", number(error.expected_loss, 6)),
            ("Monte Carlo standard error", number(error.standard_error, 2)),
            ("effective draws", number(error.ess)),
            ("split R-hat of the loss", number(error.rhat)),
            ("largest difference between chains", number(error.disagreement, 3)),
        ]
        tables.append(_Table("Precision of the expected loss", ("quantity", "value"), precision))
    return tables
