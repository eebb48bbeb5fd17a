"""The paper's three applications, each a function that returns its tables and pictures.

>>> from epluribus.studies import galaxies
>>> study = galaxies(quick=True)  # doctest: +SKIP
>>> study.write("epluribus-galaxies")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from epluribus._validate import check_choice
from epluribus.studies.blogs import blogs
from epluribus.studies.congress import congress
from epluribus.studies.galaxies import galaxies
from epluribus.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from epluribus._typing import RngLike

__all__ = ["STUDIES", "Study", "blogs", "congress", "galaxies", "reproduce"]

STUDIES: dict[str, Callable[..., Study]] = {
    "galaxies": galaxies,
    "congress": congress,
    "blogs": blogs,
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
        Folder of the French blogs, the only data that are not on board; see `load_french_blogs`.
    quick : bool, default False
        Shorter chains: seconds instead of minutes.
    as_printed : bool, default False
        The settings that the text prints, where they are not those that give its results.
    rng, n_jobs, progress
        As in `sample` and `minimize`.

    Returns
    -------
    Study
    """
    run = STUDIES[check_choice(name, STUDIES, "name")]
    more: dict[str, Any] = {} if data is None else {"data": data}
    if more and name != "blogs":
        raise ValueError(
            f"'data' must be left out for '{name}', whose data are on board; got '{data}'. It is for "
            "'blogs'."
        )
    return run(
        quick=quick, as_printed=as_printed, rng=rng, n_jobs=n_jobs, progress=progress, **more
    )
