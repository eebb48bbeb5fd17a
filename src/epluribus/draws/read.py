"""Draws from files: `read_draws`, which checks that they look like labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from epluribus._progress import ProgressLike
from epluribus._typing import AnyArray
from epluribus._validate import shown
from epluribus.draws.draws import Draws


def read_draws(
    path: str | Path | Sequence[str | Path],
    *,
    var: str | None = None,
    weights: Sequence[float] | AnyArray | None = None,
    burn: int = 0,
    thin: int = 1,
    items: Sequence[str] | None = None,
    missing: Any = None,
    noise: str | None = None,
    progress: ProgressLike = None,
) -> Draws:
    r"""Read posterior draws of cluster labels from a file, or from one file per chain.

    Parameters
    ----------
    path : str, Path, or a list of them
        The ending says which format it is: ``csv``, ``txt``, ``tsv`` (also with ``.gz``), ``npy``,
        ``npz``, ``parquet``, ``nc`` and ``zarr`` (an xarray Dataset, or the group ``posterior`` that
        ArviZ writes), ``rds`` and ``rda`` (R). Several files are chains, in the order given.
        ``-`` reads csv from standard input.
    var : str, optional
        The variable that holds the labels; not needed if only one holds integers by draw and item.
    weights, burn, thin, items, missing, noise, progress
        As in `Draws`. In text files empty cells and NA, NaN, NULL, None and ? are missing labels.

    Returns
    -------
    Draws
        With the names of the items, the chains and the name of the variable, where the file has them.

    Warns
    -----
    UserWarning
        If every item is alone in every draw: the file then probably holds measurements, not labels.

    Notes
    -----
    In a table with named columns, ``.chain``, ``chain__`` or ``chain`` is the chain; ``.iteration``,
    ``.draw`` and all names that end in ``__``, such as ``lp__``, are left out; ``z.1, z.2, ...`` or
    ``z[1], z[2], ...`` are the entries of the variable ``z``. In a table without any of these every
    column is an item. If several rows belong to the same draw, the table is long: one column names
    the item and one holds its label, as tidybayes writes it. Lines that begin with ``#`` are comments,
    and Stan's warmup is left out if it was saved. Cells of text are separated by commas, semicolons, tabs,
    ``|`` or blanks; one in quotes may have line breaks.

    What may be a mistake is said: a column with the number of clusters, or one that numbers the draws, is
    left out with a warning; words among numbers, a single item, and chunks that a zarr store lacks are warned
    of; a table with the columns ``item`` and ``cluster`` is one partition, not draws, and is refused. A file
    that is damaged is an error that names it.

    netCDF and zarr need ``pip install "epluribus[arviz]"``, parquet and R's files
    ``"epluribus[files]"``.

    Examples
    --------
    >>> import epluribus as epl
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "draws.csv")
    ...     _ = path.write_text("lp__,z.1,z.2,z.3\n-7.1,1,1,2\n-6.5,2,2,1\n")
    ...     epl.read_draws(path)
    Draws(n_draws=2, n_items=3, n_distinct=1, n_chains=1)
    """
    one = isinstance(path, str | Path) or not isinstance(path, Iterable)
    paths: list[Any] = [path] if one else list(cast(Iterable[Any], path))
    if not paths or not all(isinstance(entry, str | Path) for entry in paths):
        raise TypeError(f"'path' must be a path, or a list of paths; got {shown(path)}.")
    # As paths, because `Draws` could take a list of strings for labels.
    files = [Path(entry) for entry in paths]
    source = files if len(files) > 1 else files[0]
    draws = Draws(
        source, var=var, weights=weights, burn=burn, thin=thin, items=items, missing=missing,
        noise=noise, progress=progress,
    )  # fmt: skip
    # A delimiter that was not recognized, or one partition with a label in each line.
    if draws.n_items == 1:
        warnings.warn(
            f"There is only one item. Is every row of '{files[0]}' a draw, with its labels separated by "
            "commas, semicolons, tabs, blanks or '|'?",
            stacklevel=2,
        )
    # Measurements, or a table with draws in its columns, have a different number in each cell of a row. With
    # two items or one draw that can be chance.
    if draws.n_items > 2 and draws.n_draws > 1 and bool((draws.n_clusters == draws.n_items).all()):
        warnings.warn(
            f"Every one of the {draws.n_items:,} items is alone in every draw. Are these labels of "
            "clusters, one draw per row?",
            stacklevel=2,
        )
    return draws
