"""A first look: the galaxies in their short setting, offline, in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from epluribus.studies.folder import check_folder
from epluribus.studies.galaxies import galaxies

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["run_demo"]


def run_demo(out: str | Path, *, progress: bool = False) -> str:
    """Sample partitions of the galaxies, find the best, write the study's folder.

    Parameters
    ----------
    out : str or Path
        The folder, made if it is not there.
    progress : bool, default False
        Whether to show bars on a terminal.

    Returns
    -------
    str
        The answer and where things were written, to be printed.
    """
    folder = check_folder(out)
    # Only the losses that share one compiled search: a first run compiles for a few seconds less.
    study = galaxies(quick=True, losses=("vi", "binder"), progress=progress)
    study.write(folder)
    draws, best = study.analysis.trace.draws, study.analysis.best
    return (
        f"{draws.n_draws:,} posterior draws of a partition of {draws.n_items} galaxies by velocity.\n"
        f"The partition with the smallest expected loss has\n\n{best}\n\n"
        f"{study.facts.text()}\n\n"
        f"Pictures, labels, draws and a summary are in {folder}/ (begin with summary.md)."
    )
