"""Saving a run and continuing it bit for bit.

A checkpoint is one npz file: for each chain its state between two steps (labels, statistics,
generator) and the draws kept so far. It is written beside and renamed, so that a file is whole or
not there. Nothing in it is executed on reading (no pickles).
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._files import write_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from epluribus.sampling.chain import Chain

__all__ = ["FORMAT", "read_checkpoint", "write_checkpoint"]

FORMAT = 1
"""Changes when older files can no longer be continued."""


def _plain(value: Any) -> Any:
    """What JSON cannot hold: the arrays in the state of some bit generators."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, np.integer):
        return int(value)
    raise TypeError(f"cannot save {type(value).__name__}")


def _unplain(value: dict[str, Any]) -> Any:
    if set(value) == {"array", "dtype"}:
        return np.array(value["array"], dtype=value["dtype"])
    return value


def write_checkpoint(
    path: str | Path,
    header: dict[str, Any],
    chains: Sequence[Chain],
    snapshots: Sequence[dict[str, Any]],
) -> None:
    """Write the file whole or not at all."""
    path = Path(path)
    arrays: dict[str, Any] = {}
    numbers = []
    for c, (chain, snapshot) in enumerate(zip(chains, snapshots, strict=True)):
        n = snapshot["n_kept"]
        numbers.append({"n_kept": n, "rng": snapshot["rng"]})
        arrays |= {f"chain{c}/{name}": array for name, array in snapshot["arrays"].items()}
        arrays |= {f"kept{c}/labels{side}": table[:n] for side, table in enumerate(chain.labels)}
        arrays[f"kept{c}/n_clusters"] = chain.n_clusters[:, :n]
        arrays[f"kept{c}/log_posterior"] = chain.log_posterior[:n]
    text = json.dumps({"format": FORMAT, **header, "chains": numbers}, default=_plain)
    arrays["header"] = np.frombuffer(text.encode(), dtype=np.uint8)
    write_arrays(path, arrays)


def read_checkpoint(
    path: str | Path,
) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Header, the snapshot of each chain, and the draws each has kept."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"'resume' must be a file made by 'checkpoint'; {path} is not there."
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes(), object_hook=_unplain)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"'resume' must be a file made by 'checkpoint'; {path} is not one ({error})."
        ) from None
    if header.get("format") != FORMAT:
        raise ValueError(
            f"'resume' must be a checkpoint of format {FORMAT}; {path} has "
            f"{header.get('format')}. Run "
            "again from the beginning."
        )
    snapshots, kept = [], []
    for c, numbers in enumerate(header.pop("chains")):
        mine = {
            name.split("/")[1]: array
            for name, array in arrays.items()
            if name.startswith(f"chain{c}/")
        }
        snapshots.append({"arrays": mine, **numbers})
        kept.append(
            {
                name.split("/")[1]: array
                for name, array in arrays.items()
                if name.startswith(f"kept{c}/")
            }
        )
    return header, snapshots, kept
