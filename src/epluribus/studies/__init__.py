"""The paper's three applications, each a function that returns its tables and pictures.

>>> from epluribus.studies import galaxies
>>> study = galaxies(quick=True)  # doctest: +SKIP
>>> study.write("epluribus-galaxies")  # doctest: +SKIP

Each study samples its posterior with several chains, finds the optimal partitions in every way the paper
reports (and some more), and puts each fact that the paper states beside the one found here.

The modules: `facts` holds what the paper states, `analysis` the steps that all studies share, `tables` the
tables and sentences made of both, `study` the result and its files. Each application has its own module,
with its model, its pictures and its notes.

References
----------
Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186. doi:10.1007/s11222-017-9786-y
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
"""The functions by name, those with built-in data first."""


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
        The application.
    data : path, optional
        Folder of the French blogs, the only data that are not built in; see `load_french_blogs`.
    quick : bool, default False
        Whether to run shorter chains: seconds instead of minutes.
    as_printed : bool, default False
        Whether to use the settings that the paper prints even where other settings reproduce its results.
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
    # Only the blogs take data: for the others a folder would be ignored silently, so it is refused.
    if name == "blogs":
        run = partial(run, data=data)
    elif data is not None:
        raise ValueError(
            f"'data' must be left out for '{name}', whose data are built in; got '{data}'. It is for "
            "'blogs'."
        )
    return run(quick=quick, as_printed=as_printed, rng=rng, n_jobs=n_jobs, progress=progress)
