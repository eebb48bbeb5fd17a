"""Writers: results as frames, labeled arrays and files; estimates saved and loaded again as json.

The ending of a file's name chooses the format. Labels have one item per row; a similarity matrix is dense, or
sparse with the pairs above a threshold.

Every file is written beside its target and then renamed, so that an interrupted program leaves the old file
or the new one, never half of one. Nothing is pickled.

The record of an estimate is what `Estimate.to_dict` returns, with ``format``, ``version``, ``loss_built_in`` (whether
the name is enough to find the loss again), ``interrupted``, ``dimension`` and ``kind``; each run also has
``seconds``, ``labels`` and ``trace``, a list of pairs (expected loss, number of clusters).

With constraints or undecided items there are also ``constraints`` (what `Rules.to_dict` returns) and
``undecided``, their cost; a label of -1 is an undecided item.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np

from epluribus import losses
from epluribus._files import (
    STREAM,
    as_path,
    check_ending,
    check_target,
    reading,
    write_arrays,
    write_columns,
    write_csv,
    write_whole,
)  # fmt: skip
from epluribus._text import as_index, to_frame
from epluribus._typing import FloatArray
from epluribus._validate import need, shown
from epluribus._version import __version__
from epluribus.constraints import Rules
from epluribus.draws import Draws
from epluribus.estimate import Estimate, Run, Step
from epluribus.losses.base import Loss
from epluribus.partition import is_estimate
from epluribus.readers.files import check_exists
from epluribus.settings import Settings

__all__ = ["load"]

_Kind = TypeVar("_Kind", Run, Estimate)
_OF_RUNS = ("start", "expected_loss", "n_clusters", "n_draws", "n_sweeps", "converged")
"""What is always recorded of a run."""
_ASKED = ("k_min", "k_max", "search")
"""What is always recorded of the question."""
WRITABLE = (".csv", ".parquet", ".txt", ".npy", ".json")
"""Endings of the files that labels can be written to."""
WITH_COLUMNS = (".csv", ".parquet")
"""Those of them that have a column for the certainty."""
_TAKEN = ("cluster", "labels", "certainty", "size")
"""Names in a labeled array that the dimension of the items cannot have."""
_FORMAT = "epluribus estimate"
"""Says that a json file is an estimate, not any other."""
_VERSION = 2
"""Version of the record; raised when older programs could not read a new one."""


def to_json(estimate: Estimate) -> str:
    """The record of an estimate as JSON text.

    >>> import epluribus as epl
    >>> to_json(epl.minimize([[0, 0, 1], [0, 0, 1]]))[:46]
    '{"format": "epluribus estimate", "version": 2,'
    """
    return json.dumps(_to_record(estimate))


def save(estimate: Estimate, path: str | Path) -> None:
    """Write the record of an estimate to a file that ends in .json."""
    target, text = as_path(path, "path"), to_json(estimate) + "\n"
    check_ending(target, (".json",), "The file")
    write_whole(target, lambda beside: beside.write_text(text, encoding="utf-8"))


def load(path: str | Path, *, loss: Loss | None = None) -> Estimate:
    """Load an estimate that `Estimate.save` wrote.

    Parameters
    ----------
    path : str or Path
        The json file.
    loss : Loss, optional
        The loss that the estimate was made with, if it was your own: functions are not saved.

    Returns
    -------
    Estimate
        Equal to what was saved, with the runs of the search and their traces.

    Raises
    ------
    ValueError
        If the file is not an estimate, was written by a later version, or needs `loss`.

    Examples
    --------
    >>> import epluribus as epl
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> best = epl.minimize([[0, 0, 1], [0, 0, 1], [0, 1, 1]], rng=1)
    >>> with TemporaryDirectory() as folder:
    ...     best.save(Path(folder, "best.json"))
    ...     epl.load(Path(folder, "best.json"))
    Estimate(n_clusters=2, expected_loss=0.444444, loss='vi')
    """
    source, must = as_path(path, "path"), f"The file '{path}' must"
    check_exists(source)
    with reading(source, check_ending(source, (".json",), "The file")):
        record = json.loads(source.read_text("utf-8"))
    # Any json file may come in: it is an estimate only if it says so.
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise ValueError(f"{must} hold an estimate, saved by Estimate.save.")
    # The file says that it is an estimate but may lack an entry, or have a wrong one: somebody edited it.
    if record.get("version") != _VERSION:
        what = f"{must} have version {_VERSION} of the format; it has {record.get('version')}"
        raise ValueError(f"{what}. Read it with the epluribus that wrote it, or a newer one.")
    with reading(source, "an estimate"):
        name = str(record["loss"])
        found = losses.by_name(name) if record["loss_built_in"] else loss
    if found is None:
        what = f"the estimate in '{source}' was made with the loss '{name}'"
        raise ValueError(f"'loss' must be given: {what}, whose functions are not saved.")
    if loss is not None and loss.name != name:
        what = f"the one the estimate was made with, '{name}'; got '{loss.name}'"
        raise ValueError(f"'loss' must be {what}.")
    with reading(source, "an estimate"):
        return _to_estimate(record, found)


# --- the record ---


def to_dict(estimate: Estimate) -> dict[str, Any]:
    """Plain Python values, ready for JSON; labels and traces of the single runs are left out."""
    return {
        "loss": estimate.loss.name,
        "expected_loss": estimate.expected_loss,
        "n_clusters": estimate.n_clusters,
        "sizes": estimate.sizes.tolist(),
        "labels": estimate.labels.tolist(),
        "items": None if estimate.items is None else list(estimate.items),
        "n_items": len(estimate.labels),
        "n_draws": estimate.n_draws,
        "converged": estimate.converged,
        # What was asked for, so that a bound is not mistaken for a result.
        **{name: getattr(estimate.settings, name) for name in _ASKED},
        **estimate.settings.extra(),
        "seconds": round(estimate.seconds, 6),
        # One entry per start: how often the best loss was reached shows how hard the search was.
        "runs": [{name: getattr(run, name) for name in _OF_RUNS} for run in estimate.runs],
    }


def _to_record(estimate: Estimate) -> dict[str, Any]:
    """The whole estimate in plain values: what a json file holds."""
    record: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        **to_dict(estimate),
        "seconds": estimate.seconds,  # not rounded
        # A user's own loss may have any name, even that of a built-in one; only built-in losses have as
        # their family the name without parameters.
        "loss_built_in": estimate.loss.name.partition("(")[0] == estimate.loss.family,
        **{name: getattr(estimate, name) for name in ("interrupted", "dimension", "kind")},
    }
    # `to_dict` is brief about the runs: what is needed to make them again is added.
    for entry, run in zip(record["runs"], estimate.runs, strict=True):
        entry["seconds"] = run.seconds
        entry["labels"] = run.labels.tolist()
        entry["trace"] = [[step.expected_loss, step.n_clusters] for step in run.trace]
    return record


def _to_estimate(record: dict[str, Any], loss: Loss) -> Estimate:
    """The estimate of a record, whose entries are changed in place to the types of the fields."""
    for entry in (record, *record["runs"]):
        entry["labels"] = np.array(entry["labels"], dtype=np.int64)
        entry["expected_loss"] = float(entry["expected_loss"])
        # Clusters 0, 1, ... without gaps, and perhaps -1 for undecided items.
        numbers = np.unique(np.append(entry["labels"], -1))
        if entry["labels"].ndim != 1 or not np.array_equal(numbers, np.arange(len(numbers)) - 1):
            raise ValueError("its labels are not those of a partition")
    for entry in record["runs"]:
        entry["trace"] = tuple(Step(*step) for step in entry["trace"])
    asked = {name: record[name] for name in _ASKED}
    if "constraints" in record:
        asked["constraints"] = Rules.from_dict(record["constraints"])
    record["settings"] = Settings(**asked, undecided=record.get("undecided"))
    record["runs"] = tuple(_make(Run, entry) for entry in record["runs"])
    record["items"] = None if record["items"] is None else tuple(record["items"])
    return _make(Estimate, {**record, "loss": loss})


def _make(kind: type[_Kind], record: dict[str, Any]) -> _Kind:
    """An object whose fields are the entries of the same names; all other entries follow from these."""
    return kind(**{field.name: record[field.name] for field in fields(kind)})


# --- tables, arrays and matrices ---


def columns(estimate: Estimate, certainty: Any = None) -> dict[str, Any]:
    """The columns of a table with one item per row: item, cluster and, if given, certainty.

    Parameters
    ----------
    estimate : Estimate
        The partition.
    certainty : Draws or array_like of shape (n_items,), optional
        The draws, from which the support of each item is computed, or one number per item.

    Returns
    -------
    dict
        Arrays of shape (n_items,) by the name of their column.

    Examples
    --------
    >>> import epluribus as epl
    >>> columns(epl.minimize([[5, 5, 2], [5, 5, 2]]), [0.9, 0.9, 1.0])["cluster"]
    array([0, 0, 1])
    """
    n_items = len(estimate.labels)
    # Items without names are numbers, not text: a table can be joined with others by them.
    items = np.arange(n_items) if estimate.items is None else np.array(estimate.items)
    extra = {} if certainty is None else {"certainty": _read_certainty(certainty, estimate)}
    return {"item": items, "cluster": estimate.labels, **extra}


def _read_certainty(certainty: Any, estimate: Estimate) -> FloatArray:
    """One number per item: the user's own, or the support of each item in the user's draws."""
    n_items = len(estimate.labels)
    if isinstance(certainty, Draws):
        # Imported here: it takes time, and most files are written without a certainty.
        from epluribus.uncertainty import items

        if len(estimate.undecided):
            support = np.full(n_items, np.nan)
            support[estimate.labels >= 0] = _read_certainty(*estimate.decided(certainty)[::-1])
            return support
        # Beyond nine digits there is only rounding error, which would make files differ between machines.
        return items(estimate, certainty).support.round(9)
    values = np.asarray(certainty, dtype=np.float64)
    if values.shape != (n_items,) or is_estimate(certainty):
        what = f"or one number per item, shape ({n_items},); got {shown(certainty)}"
        raise ValueError(f"'certainty' must be the Draws behind the estimate, {what}.")
    return values


def to_pandas(estimate: Estimate, certainty: Any = None) -> Any:
    """A pandas DataFrame with the columns of `columns`, indexed by item."""
    return to_frame(columns(estimate, certainty), index="item")


def to_xarray(estimate: Estimate, certainty: Any = None) -> Any:
    """An xarray Dataset: labels and certainty by item, sizes by cluster, the rest as attributes.

    The dimension of the items is called as in the arrays the draws come from, else "item".
    """
    xarray = need("xarray", "arviz", "A labeled array")
    table = columns(estimate, certainty)
    dim = estimate.dimension or "item"
    if dim in _TAKEN:
        dim = "item"
    # The items are the coordinate. "cluster" is the name of the other dimension: the labels need another.
    coords = {dim: as_index(table.pop("item")), "cluster": np.arange(estimate.n_clusters)}
    variables = {"labels": (dim, table.pop("cluster")), "size": ("cluster", estimate.sizes)}
    variables |= {name: (dim, values) for name, values in table.items()}
    names = ("expected_loss", "n_clusters", "n_draws")
    attrs = {"loss": estimate.loss.name, **{name: getattr(estimate, name) for name in names}}
    # A number, because netCDF has no booleans.
    attrs |= {"converged": int(estimate.converged), "created_by": f"epluribus {__version__}"}
    return xarray.Dataset(variables, coords=coords, attrs=attrs)


def write_estimate(path: Path, estimate: Estimate, certainty: Any = None) -> None:
    """Write labels as csv or parquet (item, cluster, certainty), txt, npy or json.

    Parameters
    ----------
    path : Path
        The file; its ending chooses the format.
    estimate : Estimate
        The partition; json holds all of the estimate, npy and txt only the labels.
    certainty : Draws or array_like of shape (n_items,), optional
        As in `columns`; an error for formats without a column for it.
    """
    kind = check_target(path, WRITABLE)
    # Leaving out silently what the user asked for would be noticed only when the file is read.
    if certainty is not None and kind not in WITH_COLUMNS:
        what = f"None for the output '{path}': only .csv and .parquet have a column for it"
        raise ValueError(f"'certainty' must be {what}.")
    if kind == ".json":
        save(estimate, path)
    elif kind == ".npy":
        write_whole(path, lambda target: np.save(target, estimate.labels))
    elif kind == ".txt":
        # Rows of one cell: one label per line, without a header.
        write_csv(path, estimate.labels[:, None].tolist())
    else:
        write_table(path, columns(estimate, certainty))


def write_table(path: Path, table: Mapping[str, Any]) -> None:
    """Write columns by name as csv or parquet."""
    if check_target(path, WITH_COLUMNS) == ".csv":
        write_columns(path, table)
    else:
        parquet = need("pyarrow.parquet", "files", "Writing parquet")
        made = need("pyarrow", "files", "Writing parquet").table(dict(table))
        write_whole(path, lambda target: parquet.write_table(made, target))


def check_matrix_target(path: Path, *, sparse: bool) -> None:
    """Refuse a name that cannot be written to, before the matrix is computed."""
    if str(path) != STREAM:
        # A file of npy holds no sparse matrix.
        endings = (".npz", ".csv") if sparse else (".npy", ".npz", ".csv")
        kind = "a sparse matrix" if sparse else "a matrix"
        check_target(path, endings, f"Unless it is '{STREAM}', the output of {kind}")


def write_matrix(path: Path, matrix: Any, items: Sequence[str] | None) -> None:
    """Write a similarity matrix of shape (n_items, n_items) in the format of the name's ending.

    Dense: npy; npz with `psm` and, if there are names, `items`; csv with the names as header.
    Sparse: SciPy's npz; csv with a line (i, j, similarity) for each pair i <= j.
    """
    kind = path.suffix.lower()
    if kind == ".csv":
        write_matrix_csv(path, matrix, items)
    elif kind == ".npy":
        write_whole(path, lambda target: np.save(target, matrix))
    elif isinstance(matrix, np.ndarray):
        names = {} if items is None else {"items": np.array(items)}
        write_arrays(path, {"psm": matrix, **names}, compress=True)
    else:
        from scipy.sparse import save_npz

        write_whole(path, lambda target: save_npz(target, matrix))


def write_matrix_csv(target: Path | TextIO, matrix: Any, items: Sequence[str] | None) -> None:
    """Write a similarity matrix as csv, like `write_matrix`, to a file or to an open stream."""
    # Rows become text one by one while they are written: all of it would take many times the matrix's memory.
    if isinstance(matrix, np.ndarray):
        header = [] if items is None else [items]
        write_csv(target, chain(header, ([f"{p:.6g}" for p in row] for row in matrix)))
        return
    from scipy.sparse import triu

    # The matrix is symmetric: each pair is written once, and the diagonal with it.
    upper = triu(matrix, format="coo")
    names = items if items is not None else range(matrix.shape[0])
    pairs = zip(upper.row, upper.col, upper.data, strict=True)
    cells = ([names[i], names[j], f"{p:.6g}"] for i, j, p in pairs)
    write_csv(target, chain([["i", "j", "similarity"]], cells))
