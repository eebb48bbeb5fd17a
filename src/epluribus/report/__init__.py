"""One self-contained HTML page on an estimate and the draws behind it.

`facts` computes what the page states; `sentences`, `tables` and `pictures` put it into words, cells and figures,
`methods` into a paragraph for a paper. `page.html` is the template; its style and script lie beside it and become
part of the page, so that it is one file that opens offline.
"""

from __future__ import annotations

import base64
import hashlib
import platform
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from epluribus._files import as_path, check_target, write_whole
from epluribus._parallel import finish
from epluribus._text import count
from epluribus._typing import DrawsLike
from epluribus._validate import need
from epluribus._version import __version__
from epluribus.estimate import Estimate
from epluribus.report import pictures, sentences, tables
from epluribus.report.facts import ALL_LOSSES, gather
from epluribus.report.methods import UNUSED, MethodsText, methods, methods_alone

__all__ = ["MethodsText", "build_report", "write_methods", "write_report"]


def write_report(
    best: Estimate,
    draws: DrawsLike,
    path: str | Path,
    *,
    title: str = "Optimal partition",
    call: str | None = None,
    **options: Any,
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
        Source of randomness for modes and other losses: the same seed gives the same page.
    n_jobs : int, optional
        Threads; all cores by default.
    progress : bool or callable, optional
        By default a bar appears, on a terminal or in a notebook, when the work has taken two seconds; True
        shows it at once, False never. A function is called as ``(done, total, info)``.
    time_limit : float, optional
        Seconds after which no other part of the page is begun, and searches end: the page says what is
        missing.
    brief : bool, default False
        Leave out everything that takes time to compute.
    data : array_like of shape (n_items,) or (n_items, n_columns), sparse matrix or networkx graph, optional
        The data behind the draws, shown first: a histogram of one column, points of two, the first two
        principal components of more; a sparse matrix or a graph is drawn as a network.
    partitions : mapping from names to partitions, optional
        Others to compare with, such as an expert's: the page says whether the posterior can live with them,
        and which items are elsewhere.

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
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> draws = epl.Draws([[0, 0, 1], [0, 0, 1], [0, 1, 1]], items=["ann", "bob", "cy"])
    >>> with TemporaryDirectory() as folder:
    ...     path = epl.minimize(draws, rng=1).report(draws, Path(folder, "report.html"), rng=1)
    ...     "2 clusters" in path.read_text(encoding="utf-8")
    True
    """
    target = as_path(path, "path")
    # A name that cannot be written is refused before the work.
    check_target(target, (".html",))
    made_by = call or f'best.report(draws, "{target.name}")'
    text = build_report(best, draws, title=title, call=made_by, **options)
    # The work is done: Ctrl-C must not lose it now.
    finish(lambda: write_whole(target, lambda beside: beside.write_text(text, encoding="utf-8")))
    return target


def build_report(
    best: Estimate,
    draws: DrawsLike,
    *,
    title: str = "Optimal partition",
    call: str = "",
    **options: Any,
) -> str:
    """The page as text; the arguments are those of `write_report`.

    Returns
    -------
    str
        A whole HTML document.

    Examples
    --------
    >>> import epluribus as epl
    >>> from epluribus.report import build_report
    >>> draws = [[0, 0, 1], [0, 0, 1], [0, 1, 1]]
    >>> build_report(epl.minimize(draws, rng=1), draws, rng=1)[:15]
    '<!doctype html>'
    """
    # Before the work, which takes seconds or minutes: a package may be missing.
    need("matplotlib", "report", "The report")
    template = _template()
    facts = gather(best, draws, **options)
    values = {"facts": facts, "say": sentences, "show": tables, "draw": pictures}
    # Style and script become part of the page, so that it is one file that opens offline.
    values |= {
        name: resource(f"page.{ending}") for name, ending in (("style", "css"), ("script", "js"))
    }
    return finish(
        lambda: str(template.render(title=title, call=call, paper=methods(facts), **values))
    )


def write_methods(best: Estimate, draws: DrawsLike | None, **options: Any) -> MethodsText:
    """The paragraph of the report for the methods section of a paper, and its references.

    Parameters
    ----------
    best, draws
        As for `write_report`. Without draws the paragraph says what was done, and nothing about uncertainty.
    level, rng, n_jobs, progress, time_limit
        As for `write_report`; the same seed gives the paragraph of the page.

    Returns
    -------
    MethodsText
        Print it, or take its `text`, `references` and `bibtex`.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1], [0, 0, 1], [0, 1, 1]]
    >>> found = epl.minimize(draws, rng=1).methods(draws, rng=1)
    >>> found.text[:61]
    'The posterior distribution of the partition of the 3 items, r'
    >>> len(found.references)
    4
    """
    if draws is None:
        return methods_alone(best)
    return methods(gather(best, draws, **{"progress": False, **options}, skip=UNUSED))


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
    environment.filters |= {"number": sentences.number, "share": sentences.share}
    versions = (
        f"epluribus {__version__}, NumPy {np.__version__}, Python {platform.python_version()}"
    )
    environment.globals |= {"versions": versions, "all_losses": ALL_LOSSES}
    return environment.from_string(resource("page.html"))


def resource(name: str) -> str:
    """The text of a file that is installed with this package."""
    return files("epluribus.report").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """The fingerprint by which the page's policy recognizes a script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
