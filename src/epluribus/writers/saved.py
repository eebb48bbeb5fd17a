"""Estimates saved and loaded: json, or npz of NumPy; never pickle.

The record is what `Estimate.to_dict` gives, with ``format``, ``version``, ``loss_built_in`` (whether the
name is enough to find the loss again) and ``interrupted``; each run also has ``seconds``, ``labels`` and
``trace``, a list of pairs (expected loss, number of clusters). A json file is the record. An npz file has
it in ``record``, as text, without the labels, which are arrays: ``labels`` of shape (n_items,) and
``run_labels`` of shape (n_runs, n_items).

Version 1, of epluribus 0.1.0, lacks ``k_min``, ``k_max`` and ``search``, calls ``loss_built_in``
``loss_on_board``, and rounds the parameters in the name of a loss to six digits.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from epluribus import losses
from epluribus._files import write_arrays, write_whole
from epluribus.engine import Settings
from epluribus.estimate import Estimate, Run, Step
from epluribus.losses.base import Loss

_Kind = TypeVar("_Kind", Run, Estimate)
_FORMAT = "epluribus estimate"
_VERSION = 2


def to_json(estimate: Estimate, path: str | Path | None = None) -> str:
    """The record as text, also written to `path` if given."""
    text = json.dumps(_to_record(estimate))
    if path is not None:
        write_whole(Path(path), lambda target: target.write_text(text + "\n", encoding="utf-8"))
    return text


def save(estimate: Estimate, path: str | Path) -> None:
    """Write the estimate as npz or json."""
    target = Path(path)
    if _check_ending(target) == ".json":
        to_json(estimate, target)
        return
    record = _to_record(estimate)
    # As arrays, labels are compressed, and quick to read.
    labels = np.array(record.pop("labels"))
    runs = [run.pop("labels") for run in record["runs"]]
    run_labels = np.array(runs, dtype=np.int64).reshape(len(runs), len(labels))  # also of no runs
    arrays = {"record": np.array(json.dumps(record)), "labels": labels, "run_labels": run_labels}
    write_arrays(target, arrays, compress=True)


def load(path: str | Path, *, loss: Loss | None = None) -> Estimate:
    """Load an estimate that `Estimate.save` or `Estimate.to_json` wrote.

    Parameters
    ----------
    path : str or Path
        The file, npz or json.
    loss : Loss, optional
        The loss the estimate was made with, if it was your own: functions are not saved.

    Returns
    -------
    Estimate
        Equal to what was saved, with the runs of the search and their traces.

    Examples
    --------
    >>> import epluribus as epl
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> best = epl.minimize([[0, 0, 1], [0, 0, 1], [0, 1, 1]], rng=1)
    >>> with TemporaryDirectory() as folder:
    ...     best.save(Path(folder, "best.npz"))
    ...     epl.load(Path(folder, "best.npz"))
    Estimate(n_clusters=2, expected_loss=0.444444, loss='vi')
    """
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"There is no file '{source}'.")
    kind = _check_ending(source)
    try:
        record = _read_npz(source) if kind == ".npz" else json.loads(source.read_text("utf-8"))
    except (ValueError, OSError, KeyError, EOFError) as error:
        raise ValueError(f"The file '{source}' could not be read as {kind}: {error}.") from None
    wrong = f"The file '{source}' must hold an estimate, saved by Estimate.save"
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise ValueError(f"{wrong}.")
    try:
        if record["version"] > _VERSION:
            raise ValueError(
                f"The file '{source}' has version {record['version']} of the format; this epluribus "
                f"reads up to {_VERSION}. Install a newer one."
            )
        return _to_estimate(record, _find_loss(record, loss, source))
    except KeyError as error:
        raise ValueError(f"{wrong}; it has no {error}.") from None


def _check_ending(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in (".npz", ".json"):
        raise ValueError(f"The file '{path}' must end in .npz or .json; it ends in '{kind}'.")
    return kind


# --- the record ---


def _to_record(estimate: Estimate) -> dict[str, Any]:
    """All of the estimate in plain values."""
    record: dict[str, Any] = {"format": _FORMAT, "version": _VERSION, **estimate.to_dict()}
    record["seconds"] = estimate.seconds  # not rounded
    # A user's own loss may have any name, so the name alone does not say where it comes from.
    record["loss_built_in"] = estimate.loss.name.partition("(")[0] == estimate.loss.family
    record["interrupted"] = estimate.interrupted
    for entry, run in zip(record["runs"], estimate.runs, strict=True):
        entry["seconds"] = run.seconds
        entry["labels"] = run.labels.tolist()
        entry["trace"] = [[step.expected_loss, step.n_clusters] for step in run.trace]
    return record


def _read_npz(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as archive:
        record: dict[str, Any] = json.loads(str(archive["record"]))
        record["labels"] = archive["labels"]
        for entry, labels in zip(record["runs"], archive["run_labels"], strict=True):
            entry["labels"] = labels
    return record


def _to_estimate(record: dict[str, Any], loss: Loss) -> Estimate:
    for entry in (record, *record["runs"]):
        entry["labels"] = np.array(entry["labels"], dtype=np.int64)
    for entry in record["runs"]:
        entry["trace"] = tuple(Step(*step) for step in entry["trace"])
    # Version 1 did not keep what was asked for: then the defaults are all that can be said.
    asked = {name: record[name] for name in ("k_min", "k_max", "search") if name in record}
    record["settings"] = Settings(**asked)
    record["runs"] = tuple(_make(Run, entry) for entry in record["runs"])
    record["items"] = None if record["items"] is None else tuple(record["items"])
    return _make(Estimate, {**record, "loss": loss})


def _make(kind: type[_Kind], record: dict[str, Any]) -> _Kind:
    """An object whose fields are the entries of the same names; other entries follow from them."""
    return kind(**{field.name: record[field.name] for field in fields(kind)})


def _find_loss(record: dict[str, Any], loss: Loss | None, path: Path) -> Loss:
    """The loss of the name in the record, or the one given, if it is not built in."""
    name, is_old = record["loss"], record["version"] == 1
    built_in = record["loss_on_board" if is_old else "loss_built_in"]
    found = losses.get(name) if built_in else loss
    if found is None:
        raise ValueError(
            f"'loss' must be given: the estimate in '{path}' was made with the loss '{name}', whose "
            "functions are not saved."
        )
    # In such a name version 1 rounded the parameters: then only the part before them can agree.
    rounded = is_old and not built_in and "(" in name
    end = name.index("(") + 1 if rounded else None
    if loss is not None and loss.name[:end] != name[:end]:
        raise ValueError(
            f"'loss' must be the one the estimate was made with, '{name}'; got '{loss.name}'."
        )
    return found
