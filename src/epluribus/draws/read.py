"""Draws from files, `read_draws`, and from probabilities of clusters, `soft_draws`.

A sampler that sums the labels out (Stan, or a marginalized mixture in PyMC and NumPyro) and an EM
algorithm both give soft labels p_tik: the probability that item i is in cluster k, given the other unknowns of
draw t. Labels drawn from them, independently over items, are posterior draws. The similarity of two
items can be computed without drawing labels (Rao-Blackwell):

    P_ij = sum_t w_t sum_k p_tik p_tjk / sum_t w_t   for i != j,   P_ii = 1

Both require that items are independent given the other unknowns of a draw, as they are in a mixture.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import AnyArray, FloatArray, RngLike
from epluribus._validate import check_count, check_memory, make_rng, shown
from epluribus.draws.draws import Draws
from epluribus.draws.rows import check_weights, safe_weights
from epluribus.readers.columns import Source
from epluribus.readers.soft import CLOSE, is_soft, read_soft

_EXACT = 1e-4
"""How far from 1 the probabilities of an item may sum without a word."""
_BLOCK_CELLS = 1 << 22
"""Number of probabilities worked on at a time: 32 MB in double precision."""


def read_draws(
    path: str | Path | Sequence[str | Path],
    *,
    var: str | None = None,
    weights: Sequence[float] | AnyArray | None = None,
    burn: int = 0,
    thin: int = 1,
    items: Sequence[str] | None = None,
    kind: str | None = None,
    missing: Any = None,
    noise: str | None = None,
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
    weights, burn, thin, items, kind, missing, noise
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
    and Stan's warmup is left out if it was saved. Cells of text are separated by commas, semicolons, tabs
    or blanks; one in quotes may have line breaks.

    What may be a mistake is said: a column with the number of clusters, or one that numbers the draws, is
    left out with a warning; words among numbers and a single item are warned of; a table with the columns
    ``item`` and ``cluster`` is one partition, not draws, and is refused. A file that is damaged is an error
    that names it.

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
    paths: Any = list(path) if isinstance(path, Iterable) and not isinstance(path, str) else [path]
    if not paths or not all(isinstance(entry, str | Path) for entry in paths):
        raise TypeError(f"'path' must be a path, or a list of paths; got {shown(path)}.")
    # As paths, because `Draws` could take a list of strings for labels.
    files = [Path(entry) for entry in paths]
    draws = Draws(
        files if files[1:] else files[0], var=var, weights=weights, burn=burn, thin=thin, items=items,
        kind=kind, missing=missing, noise=noise,
    )  # fmt: skip
    doubt = ""
    # A delimiter that was not recognized, or one partition with a label in each line.
    if draws.n_items == 1:
        doubt = f"There is only one item. Is every row of '{files[0]}' a draw, with its labels separated by commas, "
        doubt += "semicolons, tabs or blanks?"
    # Measurements, or a table with draws in its columns, have a different number in each cell of a row. With
    # two items or one draw that can be chance.
    elif draws.n_items > 2 and draws.n_draws > 1 and (draws.n_clusters == draws.n_items).all():
        doubt = f"Every one of the {draws.n_items:,} items is alone in every draw. Are these labels of clusters, one "
        doubt += "draw per row?"
    if doubt:
        warnings.warn(doubt, stacklevel=2)
    return draws


# --- soft labels ---


def soft_draws(
    probabilities: Any,
    *,
    log: bool | None = None,
    var: str | None = None,
    n_draws_each: int = 1,
    weights: Sequence[float] | AnyArray | None = None,
    items: Sequence[str] | None = None,
    rng: RngLike = None,
) -> Draws:
    """Draw labels from the probabilities of the clusters.

    Parameters
    ----------
    probabilities : array_like of shape (n_draws, n_items, n_clusters), or with chains before
        Probability of each cluster, also called responsibility; for each item they sum to 1. In an
        xarray DataArray the items may have names, and the last dimension is the clusters. Or several arrays
        by name (a mapping, Dataset or ArviZ object), of which one is probabilities. Or a file, or a
        list of files, one per chain: csv of Stan with the columns ``p.1.1``, ``p.2.1``, ... or ``p[1,1]``
        (item, then cluster, in any order of the columns), npy, npz, netCDF or zarr.
    log : bool, optional
        Whether they are logarithms; these need not be normalized. By default they are if none is above 0.
    var : str, optional
        The variable, where several have two indices and more than one of them, or none, is probabilities.
    n_draws_each : int, default 1
        Number of partitions drawn from each draw of the probabilities.
    weights : array_like of shape (n_draws,), optional
        Weight of each draw of the probabilities.
    items : sequence of str, optional
        Names of the items.
    rng : int, Generator or SeedSequence, optional
        Source of randomness.

    Returns
    -------
    Draws
        With n_draws times `n_draws_each` draws; those from one draw of the probabilities are
        consecutive, and have its weight and its chain.

    See Also
    --------
    soft_psm : the similarity matrix without the noise of drawing labels.

    Examples
    --------
    >>> import epluribus as epl
    >>> p = [[[0.9, 0.1], [0.8, 0.2], [0.0, 1.0]]]
    >>> epl.soft_draws(p, n_draws_each=100, rng=1).n_draws
    100
    """
    values, chains, names, _ = read_soft(probabilities, var)
    items = names if items is None else items
    count = check_count(n_draws_each, "n_draws_each")
    n_draws, n_items, n_clusters = values.shape
    shared = check_weights(weights, n_draws)
    generator = make_rng(rng)
    check_memory(
        float(n_draws) * count * n_items * np.min_scalar_type(n_clusters).itemsize,
        "Drawing the labels",
        "Choose a smaller 'n_draws_each'.",
    )
    # The second dimension is the repeats: flattened, those of one soft draw are consecutive.
    labels = np.empty((n_draws, count, n_items), dtype=np.min_scalar_type(n_clusters))
    for begin, block in soft_blocks(values, log):
        # Inversion: with running sums S_k = p_1 + ... + p_k, the label is the number of k with u >= S_k,
        # for u uniform in [0, 1). The last sum must be exactly 1, or a u close to 1 would give a label
        # that no cluster has.
        sums = block.cumsum(axis=2)
        sums /= sums[:, :, -1:]
        for repeat in range(count):
            uniform = generator.random((len(block), n_items, 1))
            labels[begin : begin + len(block), repeat] = (uniform >= sums).sum(axis=2)
    how = f"drawn from the probabilities of clusters, {count} for each item and draw of the probabilities."
    source = Source(
        labels.reshape(n_draws * count, n_items),
        chains=np.repeat(chains, count),
        origin=f"Labels were {how}",
    )
    return Draws(source, weights=np.repeat(shared, count), items=items)


def soft_psm(
    probabilities: Any, *, log: bool | None = None, var: str | None = None,
    weights: Sequence[float] | AnyArray | None = None,
) -> FloatArray:  # fmt: skip
    """Similarity matrix of soft labels: the probability that two items share a cluster.

    Parameters
    ----------
    probabilities : array_like of shape (n_draws, n_items, n_clusters), or with chains before
        Or files; as in `soft_draws`.
    log : bool, optional
        Whether they are logarithms; these need not be normalized. By default they are if none is above 0.
    var : str, optional
        The variable, where several have two indices and more than one of them, or none, is probabilities.
    weights : array_like of shape (n_draws,), optional
        Weight of each draw.

    Returns
    -------
    ndarray of shape (n_items, n_items)
        Symmetric, with ones on the diagonal: the limit of the similarity matrix of `soft_draws` as
        `n_draws_each` grows.

    Notes
    -----
    Time O(n_draws n_clusters n_items^2), in products of matrices; memory O(n_items^2) plus some 32 MB.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.draws.soft_psm([[[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]])
    array([[1. , 0.5, 0.5],
           [0.5, 1. , 0. ],
           [0.5, 0. , 1. ]])
    """
    source = read_soft(probabilities, var).values
    n_draws, n_items, _ = source.shape
    share = safe_weights(check_weights(weights, n_draws))
    share = share / share.sum()
    total = np.zeros((n_items, n_items))
    for begin, block in soft_blocks(source, log):
        # With a_itk = sqrt(w_t) p_tik, the sum over t and k of w_t p_tik p_tjk is the product of rows i and j
        # of a, a matrix with one column for each pair (t, k).
        scaled = block * np.sqrt(share[begin : begin + len(block), None, None])
        flat = scaled.transpose(1, 0, 2).reshape(n_items, -1)
        total += flat @ flat.T
    # The formula is for two items; an item is always with itself, whatever sum_k p_tik^2 is.
    np.fill_diagonal(total, 1.0)
    # Probabilities may sum to a little more than 1, within the tolerance, and so may their products.
    return np.clip(total, 0.0, 1.0)


def soft_blocks(source: AnyArray, log: bool | None) -> Iterator[tuple[int, FloatArray]]:
    """Blocks of draws, checked and turned into probabilities, each with the number of its first draw."""
    # Imported here: it would take a quarter of the time to import the package.
    from scipy.special import softmax

    if log is None:
        log = bool(source.max() <= 0)
    elif log and source.min() >= 0 and is_soft(source[:100]):
        raise ValueError(
            "'probabilities' sum to 1 for each item: they are no logarithms. Leave out log=True."
        )
    step, largest = max(1, _BLOCK_CELLS // source[0].size), 0.0
    for begin in range(0, len(source), step):
        block = source[begin : begin + step].astype(np.float64)
        if log:
            # log 0 is allowed for some clusters, but an item must be possible in at least one.
            nowhere = np.all(block == -np.inf, axis=2, keepdims=True)
            bad = np.isnan(block) | (block == np.inf) | nowhere
            _refuse(bad, begin, block, "logarithms")
            block = softmax(block, axis=2)
        else:
            # Not `block < 0`, which would let NaN pass.
            _refuse(~(block >= 0), begin, block, "probabilities", " For logarithms, give log=True.")
            total = block.sum(axis=2, keepdims=True)
            off, what = np.abs(total - 1), "probabilities that sum to 1"
            _refuse(off > CLOSE, begin, block, what, " The last dimension must be the clusters.")
            largest = max(largest, float(off.max()))
            block /= np.where(off > _EXACT, total, 1.0)
        yield begin, block
    if largest > _EXACT:
        warnings.warn(
            f"'probabilities' sum to 1 for each item only up to {largest:.1g}, as printed numbers do: they are divided "
            "by their sums.",
            stacklevel=4,
        )


def _refuse(
    bad: NDArray[np.bool_], begin: int, block: FloatArray, what: str, way_out: str = ""
) -> None:
    """Raise an error that names the first bad draw and item, if there is one."""
    for t, i, _ in np.argwhere(bad)[:1]:
        raise ValueError(
            f"'probabilities' must hold {what}; draw {begin + t}, item {i} (counted from 0) has "
            f"{np.round(block[t, i], 6).tolist()}.{way_out}"
        )
