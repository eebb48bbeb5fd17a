"""The folder a study leaves: summary.md, labels.csv, draws.npz, pictures as PNG and SVG."""

from __future__ import annotations

import csv
import io
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epluribus._files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from epluribus.studies.study import Study

__all__ = ["check_folder", "write_study"]

_DOTS_PER_INCH = 110
"""Sharp on a page, and no picture above 200 kB."""


def check_folder(folder: str | Path) -> Path:
    """The folder, made if it is not there: a bad one is refused before the long work."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(
            f"'out' must be a folder; {place} is a file. Give the name of a folder, old or new."
        )
    place.mkdir(parents=True, exist_ok=True)
    return place


def write_study(study: Study, folder: str | Path) -> list[Path]:
    """Write all files of a study, each whole or not at all."""
    place = check_folder(folder)
    written = [place / "summary.md", place / "labels.csv", place / "draws.npz"]
    write_whole(written[0], lambda path: path.write_text(study.summary(), encoding="utf-8"))
    write_whole(written[1], partial(_write_csv, columns=study.labels))
    study.analysis.trace.save(written[2])
    for name, columns in study.more.items():
        written.append(place / f"{name}.csv")
        write_whole(written[-1], partial(_write_csv, columns=columns))
    for picture in study.pictures:
        for kind in ("png", "svg"):
            written.append(place / f"{study.name}-{picture.name}.{kind}")
            write_whole(written[-1], partial(_draw, picture.figure, kind))
    return written


def _draw(figure: Any, kind: str, path: Path) -> None:
    """A picture without date, with fixed identifiers: the same study gives the same files."""
    import matplotlib as mpl

    if kind == "svg":
        with mpl.rc_context({"svg.hashsalt": "epluribus"}):
            figure.savefig(path, format=kind, metadata={"Date": None})
        return
    from PIL import Image  # matplotlib needs it too

    memory = io.BytesIO()
    figure.savefig(memory, format=kind, dpi=_DOTS_PER_INCH)
    # 256 colors: a third of the size, and no difference to the eye.
    with Image.open(memory) as picture:
        picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


def _write_csv(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
