"""One self-contained HTML page on an estimate and the draws behind it.

`facts` computes what the page states; `contents` puts it into words, tables and pictures, `paper` into a
paragraph for a paper. Modes, ball, certificate and the like are shown as `print` shows them, by their cards.
`page.html` is the template; its style and script lie beside it and become part of the page, so that it is one file
that opens offline.
"""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from epluribus._cards import Shown
from epluribus._files import as_path, check_target, write_whole
from epluribus._parallel import finish
from epluribus._progress import ProgressLike
from epluribus._text import count
from epluribus._typing import DrawsLike, RngLike
from epluribus._validate import need
from epluribus._version import __version__
from epluribus.estimate import Estimate
from epluribus.page import contents
from epluribus.page.facts import gather
from epluribus.page.paper import UNUSED, MethodsText, methods_alone, write_methods
from epluribus.partition import check_estimate

__all__ = ["MethodsText", "methods", "render", "report"]


def report(
    best: Estimate,
    draws: DrawsLike,
    path: str | Path,
    *,
    data: Any = None,
    network: Any = None,
    partitions: Mapping[str, Any] | None = None,
    title: str = "Optimal partition",
    level: float = 0.95,
    rng: RngLike = None,
    brief: bool = False,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: ProgressLike = None,
    call: str | None = None,
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
    data : array_like of shape (n_items,) or (n_items, n_columns), optional
        Numbers for each item, shown first: a picture with the clusters in color, and the means of each cluster.
    network : array_like, sparse matrix, networkx graph or edges, optional
        The network of the items, drawn with the clusters in color.
    partitions : mapping from names to partitions, optional
        Others to compare with, such as an expert's: whether they are plausible, and which items are elsewhere.
    title : str, default "Optimal partition"
        Heading of the page.
    level : float, default 0.95
        Probability of the credible ball and of the interval of the number of clusters.
    rng : int, Generator or SeedSequence, optional
        Source of randomness for modes and other losses: the same seed gives the same page.
    brief : bool, default False
        Leave out everything that takes time to compute.
    time_limit : float, optional
        Seconds after which no other part of the page is begun, and searches end: the page says what is
        missing.
    n_jobs : int, optional
        Threads; all cores by default.
    progress : bool or callable, optional
        As for `minimize`.
    call : str, optional
        What the page names as the call that made it; by default the call of this function with its arguments.

    Returns
    -------
    Path
        The file written.

    Notes
    -----
    What would take minutes is left out, and the page says so: with more than 200 million labels (items
    times distinct draws) these are other losses, modes and the lower bound. Ctrl-C ends the computation, and
    the page is written with what is known so far. jinja2 and matplotlib are needed:
    ``pip install "epluribus[report]"``.

    Examples
    --------
    >>> import epluribus as epl
    >>> from epluribus.page import report
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> draws = epl.Draws([[0, 0, 1], [0, 0, 1], [0, 1, 1]], items=["ann", "bob", "cy"])
    >>> with TemporaryDirectory() as folder:
    ...     path = report(epl.minimize(draws, rng=1), draws, Path(folder, "report.html"), rng=1)
    ...     "2 clusters" in path.read_text(encoding="utf-8")
    True
    """
    target = as_path(path, "path")
    # A name that cannot be written is refused before the work.
    check_target(target, (".html",))
    options = {
        "data": data, "network": network, "partitions": partitions, "title": title, "level": level, "rng": rng,
        "brief": brief, "time_limit": time_limit, "n_jobs": n_jobs, "progress": progress,
    }  # fmt: skip
    text = render(best, draws, call=call or _call(target.name, options), **options)
    # The work is done: Ctrl-C must not lose it now.
    finish(lambda: write_whole(target, lambda beside: beside.write_text(text, encoding="utf-8")))
    return target


def _call(name: str, options: Mapping[str, Any]) -> str:
    """The call of `report` with these options; data and the like are called as the arguments are."""
    given = [
        f", {key}={value!r}" if isinstance(value, str | int | float) else f", {key}={key}"
        for key, value in options.items()
        if value is not None and value is not False
    ]
    return f"epl.report(best, draws, {name!r}{''.join(given)})"


def render(
    best: Estimate,
    draws: DrawsLike,
    *,
    title: str = "Optimal partition",
    call: str = "",
    **options: Any,
) -> str:
    """The page as text; the arguments are those of `report`.

    Examples
    --------
    >>> import epluribus as epl
    >>> from epluribus.page import render
    >>> draws = [[0, 0, 1], [0, 0, 1], [0, 1, 1]]
    >>> render(epl.minimize(draws, rng=1), draws, rng=1)[:15]
    '<!doctype html>'
    """
    # Before the work, which takes seconds or minutes: a package may be missing.
    need("matplotlib", "report", "The report")
    template = _template()
    facts = gather(best, draws, **options)
    values: dict[str, Any] = {"facts": facts, "show": contents}

    def parts(found: Shown) -> list[str]:
        """What a result says of itself, below its title."""
        return [facts.worded(text) for text, _ in found._card().parts]

    def lines(found: Shown) -> list[str]:
        """Its title and what it says, without tables."""
        return [text for text in (found._card().title, *parts(found)) if "\n" not in text]

    values |= {"parts": parts, "lines": lines}
    # Style and script become part of the page, so that it is one file that opens offline.
    values |= {"style": resource("page.css"), "script": resource("page.js")}
    paper = write_methods(facts)
    return finish(lambda: str(template.render(title=title, call=call, paper=paper, **values)))


def methods(best: Estimate, draws: DrawsLike | None = None, **options: Any) -> MethodsText:
    """A paragraph for the methods section of a paper, with its references: print it.

    Parameters
    ----------
    best, draws
        As for `report`. Without draws the paragraph says what was done, and nothing about uncertainty.
    level, rng, n_jobs, progress, time_limit
        As for `report`; the same seed gives the paragraph of the page.

    Returns
    -------
    MethodsText
        Print it, or take its `text`, `references` and `bibtex`.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1], [0, 0, 1], [0, 1, 1]]
    >>> found = epl.methods(epl.minimize(draws, rng=1), draws, rng=1)
    >>> found.text[:61]
    'The posterior distribution of the partition of the 3 items, r'
    >>> len(found.references)
    4
    """
    check_estimate(best)
    if draws is None:
        return methods_alone(best)
    return write_methods(gather(best, draws, **{"progress": False, **options}, skip=UNUSED))


def _template() -> Any:
    """The template of the page, in which every value is escaped."""
    jinja2 = need("jinja2", "report", "The report")
    # Names of items come from users: autoescape keeps them from becoming HTML. A name that is misspelled in
    # the template is an error, not an empty string.
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    # JSON without blanks, and never NaN, which browsers refuse to parse.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters |= {"count": count, "hash": _hash}
    python = platform.python_version()
    versions = f"epluribus {__version__}, NumPy {np.__version__}, Python {python}"
    environment.globals["versions"] = versions
    return environment.from_string(resource("page.html"))


def resource(name: str) -> str:
    """The text of a file that is installed with this package."""
    return files("epluribus.page").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """The fingerprint by which the page's policy recognizes a script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
