"""One self-contained HTML page on an estimate and the draws behind it.

`facts` computes what the page states; `words` puts it into sentences, `pictures` into coordinates and
`values` into tables; `moves` says which items move. `page.html` is the template; its style and script lie
beside it and become part of the page, so that it is one file that opens offline.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from epluribus._files import as_path, check_target, write_whole
from epluribus._parallel import finish
from epluribus._progress import ProgressLike
from epluribus._text import count
from epluribus._typing import DrawsLike, RngLike
from epluribus._validate import make_rng, need
from epluribus.draws import as_draws
from epluribus.draws.expected import expected_loss
from epluribus.estimate import Estimate, read_best
from epluribus.plots._shared import read_data
from epluribus.report.facts import Facts, gather
from epluribus.report.methods import UNUSED, MethodsText, methods, methods_alone
from epluribus.report.values import page_values, resource
from epluribus.report.words import number, share
from epluribus.uncertainty import left_out

__all__ = ["MethodsText", "build_report", "write_methods", "write_report"]


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
    progress: ProgressLike = None,
    time_limit: float | None = None,
    brief: bool = False,
    data: ArrayLike | None = None,
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
        The bounds that `minimize` was given; needed only for an estimate that was saved by version
        0.1.0, which did not store them.
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
    data : array_like of shape (n_items,) or (n_items, n_columns), optional
        The data behind the draws, shown first: a histogram of one column, points of two, the first two
        principal components of more.

    Returns
    -------
    Path
        The file written.

    Notes
    -----
    What would take minutes is left out, and the page says so: with more than 200 million labels (items
    times distinct draws) these are other losses, modes and the lower bound. Ctrl-C ends the computation, and
    the page is written with what is known so far. jinja2 is needed: ``pip install "epluribus[report]"``.

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
        time_limit=time_limit,
        brief=brief,
        data=data,
    )
    # The work is done: Ctrl-C must not lose it now.
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
    progress: ProgressLike = None,
    time_limit: float | None = None,
    brief: bool = False,
    data: ArrayLike | None = None,
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
    # Before the work, which takes seconds or minutes: jinja2 may be missing.
    template = _template()
    facts = _gather(
        best,
        draws,
        k=k,
        k_max=k_max,
        level=level,
        rng=make_rng(rng),
        n_jobs=n_jobs,
        progress=progress,
        time_limit=time_limit,
        brief=brief,
        data=data,
    )
    return finish(lambda: str(template.render(title=title, call=call, **page_values(facts))))


def write_methods(
    best: Estimate,
    draws: DrawsLike | None,
    *,
    level: float = 0.95,
    rng: RngLike = None,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
    time_limit: float | None = None,
) -> MethodsText:
    """The paragraph of the report for the methods section of a paper, and its references.

    Parameters
    ----------
    best, draws, level, rng, n_jobs, progress, time_limit
        As for `write_report`; the same seed gives the paragraph of the page. Without draws it says what was
        done, and nothing about uncertainty.

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
        text, references = methods_alone(best)
        return MethodsText(text, tuple(references))
    facts = _gather(
        best,
        draws,
        level=level,
        rng=make_rng(rng),
        n_jobs=n_jobs,
        progress=progress,
        time_limit=time_limit,
        skip=UNUSED,
    )
    text, references = methods(facts)
    return MethodsText(text, tuple(references))


def _gather(
    best: Estimate,
    draws: DrawsLike,
    *,
    k: int | None = None,
    k_max: int | None = None,
    data: ArrayLike | None = None,
    **options: Any,
) -> Facts:
    """The facts about an estimate; of one with undecided items, those about the decided ones."""
    posterior = as_draws(draws)
    table_of_data = None if data is None else read_data(data, posterior.n_items, "data")
    # The page is about the decided items; a section of its own is about the others.
    settings, table = best.settings, None
    if len(best.undecided):
        table = left_out(best, posterior)
        if table_of_data is not None:
            table_of_data = table_of_data[best.labels >= 0]
        runs = best.runs  # the page says how many there were
        best, posterior = best.decided(posterior)
        best = replace(best, runs=runs)
    # Refuses draws of another number of items.
    labels, posterior, loss = read_best(best, posterior, None)
    if best.n_draws == 0:  # found from a similarity matrix: the page has what the draws say of it
        value = expected_loss(labels, posterior, loss)
        best = replace(best, loss=loss, expected_loss=value)
    # What the page says about the draws is about these.
    best = replace(best, n_draws=posterior.n_draws, kind=posterior.kind)
    # An estimate saved by version 0.1.0 has no bounds: then the user says what they were.
    if (k, k_max) != (None, None):
        settings = replace(settings, k_min=k or 1, k_max=k_max if k is None else k)
    facts = gather(best, posterior, bound=settings.bound, **options)
    return replace(facts, left_out=table, data=table_of_data)


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
    environment.filters |= {"count": count, "fixed": _fixed, "number": number, "share": share}
    environment.filters["hash"] = _hash
    return environment.from_string(resource("page.html"))


def _hash(script: str) -> str:
    """The fingerprint by which the page's policy recognizes a script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _fixed(value: float, digits: int = 1) -> str:
    """A number with this many decimals, as coordinates are written."""
    return f"{value:.{digits}f}"
