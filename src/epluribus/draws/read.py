"""Draws from files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epluribus._typing import AnyArray
from epluribus.draws.draws import Draws


def read_draws(
    path: str | Path | Sequence[str | Path],
    *,
    var: str | None = None,
    weights: Sequence[float] | AnyArray | None = None,
    burn: int = 0,
    thin: int = 1,
    items: Sequence[str] | None = None,
) -> Draws:
    r"""Read posterior draws of cluster labels from a file, or from one file per chain.

    Parameters
    ----------
    path : str, Path, or a list of them
        The ending says which format it is: ``csv``, ``txt``, ``tsv`` (also with ``.gz``), ``npy``,
        ``npz``, ``parquet``, ``nc`` and ``zarr`` (an xarray Dataset, or the group ``posterior`` as
        every ArviZ writes it), ``rds`` and ``rda`` (R). Several files are chains, in their order.
        ``-`` reads csv from standard input.
    var : str, optional
        The variable that holds the labels; not needed if only one holds integers by draw and item.
    weights, burn, thin, items
        As in `Draws`.

    Returns
    -------
    Draws

    Notes
    -----
    In a table with named columns, ``.chain``, ``chain__`` or ``chain`` is the chain; ``.iteration``,
    ``.draw`` and all names that end in ``__``, as ``lp__`` does, are left out; ``z.1, z.2, ...`` or
    ``z[1], z[2], ...`` are the entries of the variable ``z``. In a table without any of these every
    column is an item. If several rows have the same draw, the table is long: one column names the
    item, one holds its label, as tidybayes writes it. Lines that begin with ``#`` are comments, and
    Stan's warmup is left out if it was saved.

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
    paths: list[Any] = [path] if isinstance(path, str | Path) else list(path)
    if not paths or not all(isinstance(one, str | Path) for one in paths):
        raise TypeError(f"'path' must be a path, or a list of paths; got {path!r}.")
    files = [Path(one) for one in paths]  # a list of strings could be labels
    source = files if len(files) > 1 else files[0]
    draws = Draws(source, var=var, weights=weights, burn=burn, thin=thin, items=items)
    # Measurements, or draws in columns, look like this. With two items or one draw it can be chance.
    if draws.n_items > 2 and draws.n_draws > 1 and bool((draws.n_clusters == draws.n_items).all()):
        warnings.warn(
            f"Every one of the {draws.n_items:,} items is alone in every draw. Are these labels of "
            "clusters, one draw per row?",
            stacklevel=2,
        )
    return draws
