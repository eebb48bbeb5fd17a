"""The paper's three applications, each a function that returns its tables and pictures.

>>> from epluribus.studies import galaxies
>>> study = galaxies(quick=True)  # doctest: +SKIP
>>> study.write("epluribus-galaxies")  # doctest: +SKIP

Each study samples its posterior with several chains, finds the optimal partitions in every way the paper
reports (and some more), and sets each fact that the paper states beside the one found here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from epluribus._typing import RngLike
from epluribus._validate import check_choice
from epluribus.studies._blogs import blogs
from epluribus.studies._congress import congress
from epluribus.studies._galaxies import galaxies
from epluribus.studies.study import Study

__all__ = ["STUDIES", "Study", "blogs", "congress", "galaxies", "reproduce"]

STUDIES: dict[str, Callable[..., Study]] = {
    study.__name__: study for study in (galaxies, congress, blogs)
}
"""The studies by name."""


def reproduce(
    name: str,
    *,
    data: str | Path | None = None,
    quick: bool = False,
    as_printed: bool = False,
    rng: RngLike = 1,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Study:
    """Carry out one of the paper's applications by name.

    Parameters
    ----------
    name : {'galaxies', 'congress', 'blogs'}
        Which one.
    data : path, optional
        Folder of the French blogs, the only data that are not built in; see `load_french_blogs`.
    quick : bool, default False
        Shorter chains: seconds instead of minutes.
    as_printed : bool, default False
        The settings that the paper prints, where others give its results.
    rng, n_jobs, progress
        As in `sample` and `minimize`.

    Returns
    -------
    Study

    Examples
    --------
    >>> from epluribus.studies import STUDIES, reproduce
    >>> list(STUDIES)
    ['galaxies', 'congress', 'blogs']
    >>> reproduce("congress", quick=True).write("votes")  # doctest: +SKIP
    """
    run = STUDIES[check_choice(name, STUDIES, "name")]
    if name == "blogs":  # the only one that takes data
        run = partial(run, data=data)
    elif data is not None:
        raise ValueError(
            f"'data' must be left out for '{name}', whose data are built in; got '{data}'. It is for "
            "'blogs'."
        )
    return run(quick=quick, as_printed=as_printed, rng=rng, n_jobs=n_jobs, progress=progress)
