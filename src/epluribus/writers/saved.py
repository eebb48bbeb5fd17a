"""Estimates saved and loaded: json, or npz of NumPy; never pickle.

Version 1. The record is what `Estimate.to_dict` gives, with ``format``, ``version``,
``loss_on_board`` (whether the loss can be had again by its name) and ``interrupted``; each run also
has ``seconds``, ``labels`` and ``trace``, a list of pairs (expected loss, number of clusters). A json
file is the record. An npz file has it in ``record``, as text, without the labels, which are arrays:
``labels`` of shape (n_items,) and ``run_labels`` of shape (n_runs, n_items).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus import losses
from epluribus.estimate import Estimate, Run, Step
from epluribus._files import write_whole

if TYPE_CHECKING:
    from epluribus.losses.base import Loss

__all__ = ["load", "save", "to_json"]

_FORMAT = "epluribus estimate"
_VERSION = 1
_ENDINGS = (".npz", ".json")
_WITH_COST = re.compile(r"(binder|vi)\(cost=([0-9.e+-]+)\)")


def to_json(estimate: Estimate, path: str | Path | None = None) -> str:
    """The record as text, also written to `path` if given."""
    text = json.dumps(_record(estimate))
    if path is not None:
        write_whole(Path(path), lambda target: target.write_text(text + "\n", encoding="utf-8"))
    return text


def save(estimate: Estimate, path: str | Path) -> None:
    """Write the estimate as npz or json."""
    target = Path(path)
    kind = _check_ending(target)
    if kind == ".json":
        to_json(estimate, target)
        return
    record = _record(estimate)
    labels = np.array(record.pop("labels"))
    runs = [run.pop("labels") for run in record["runs"]]
    run_labels = np.array(runs, dtype=np.int64).reshape(len(runs), len(labels))
    text = np.array(json.dumps(record))

    def write(beside: Path) -> None:
        np.savez_compressed(beside, record=text, labels=labels, run_labels=run_labels)

    write_whole(target, write)


def load(path: str | Path, *, loss: Loss | None = None) -> Estimate:
    """Load an estimate that `Estimate.save` or `Estimate.to_json` wrote.

    Parameters
    ----------
    path : str or Path
        The file, npz or json.
    loss : Loss, optional
        The loss the estimate was made with, where it was one's own: functions are not saved.

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
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise ValueError(f"The file '{source}' must hold an estimate, saved by Estimate.save.")
    if record["version"] > _VERSION:
        raise ValueError(
            f"The file '{source}' has version {record['version']} of the format; this epluribus reads "
            f"up to {_VERSION}. Install a newer one."
        )
    return _estimate(record, _find_loss(record, loss, source))


def _check_ending(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in _ENDINGS:
        raise ValueError(f"The file '{path}' must end in .npz or .json; it ends in '{kind}'.")
    return kind


def _record(estimate: Estimate) -> dict[str, Any]:
    """All of the estimate in plain values."""
    record: dict[str, Any] = {"format": _FORMAT, "version": _VERSION, **estimate.to_dict()}
    record["seconds"] = estimate.seconds
    record["loss_on_board"] = _is_on_board(estimate.loss, len(estimate.labels))
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


def _estimate(record: dict[str, Any], loss: Loss) -> Estimate:
    runs = tuple(
        Run(
            labels=np.array(entry["labels"], dtype=np.int64),
            expected_loss=entry["expected_loss"],
            n_clusters=entry["n_clusters"],
            start=entry["start"],
            trace=tuple(Step(value, k) for value, k in entry["trace"]),
            converged=entry["converged"],
            seconds=entry["seconds"],
        )
        for entry in record["runs"]
    )
    return Estimate(
        labels=np.array(record["labels"], dtype=np.int64),
        expected_loss=record["expected_loss"],
        loss=loss,
        n_draws=record["n_draws"],
        runs=runs,
        converged=record["converged"],
        seconds=record["seconds"],
        items=None if record["items"] is None else tuple(record["items"]),
        interrupted=record["interrupted"],
    )


# --- the loss ---


def _by_name(name: str) -> Loss | None:
    """The loss on board that prints this name."""
    match = _WITH_COST.fullmatch(name)
    if match:
        return {"binder": losses.binder, "vi": losses.vi}[match[1]](cost=float(match[2]))
    return losses.get(name) if name in losses.available() else None


def _is_on_board(loss: Loss, n_items: int) -> bool:
    """Whether the name brings back the same loss: it may be one's own, or have a rounded cost."""
    other = _by_name(loss.name)
    if other is None:
        return False
    points = ((1.0, 3.0, 2.0), (2.0, 7.0, 5.0), (0.5, 11.0, 13.0))
    return all(
        np.array_equal(mine, its)
        for mine, its in zip(loss.tables(n_items), other.tables(n_items), strict=True)
    ) and all(loss.f0(*point, 20.0) == other.f0(*point, 20.0) for point in points)


def _find_loss(record: dict[str, Any], loss: Loss | None, path: Path) -> Loss:
    name = record["loss"]
    found = _by_name(name) if record["loss_on_board"] else loss
    if found is None:
        raise ValueError(
            f"'loss' must be given: the estimate in '{path}' was made with the loss '{name}', whose "
            "functions are not saved."
        )
    if loss is not None and loss.name != name:
        raise ValueError(
            f"'loss' must be the one the estimate was made with, '{name}'; got '{loss.name}'."
        )
    return found
