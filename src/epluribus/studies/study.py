"""The result of a study: tables, pictures, labels and notes; the page made of them; the folder of files."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from epluribus._files import write_columns, write_whole
from epluribus._text import plain_table
from epluribus._version import __version__
from epluribus.studies.analysis import Analysis

_DOTS_PER_INCH = 110
"""Sharp on a page, and no picture above 200 kB."""


@dataclass(frozen=True)
class Table:
    """A small table with a title, and a sentence or two below it.

    Examples
    --------
    >>> print(Table("Sizes", ("cluster", "items"), [(1, 72), (2, 7)]).text())
    cluster  items
    -------  -----
    1        72
    2        7
    """

    title: str
    """The heading above the table."""
    head: Sequence[str]
    """Names of the columns."""
    rows: Sequence[Sequence[Any]]
    """The cells, row by row, each as long as the head."""
    note: str = ""
    """Sentences below the table."""

    def markdown(self) -> str:
        """The table as Markdown, under a heading."""
        # The row of dashes below the head is what makes it a table in Markdown.
        lines = [
            " | ".join(map(str, row)) for row in (self.head, ["---"] * len(self.head), *self.rows)
        ]
        body = "\n".join(f"| {line} |" for line in lines)
        return "\n\n".join([f"## {self.title}", body, *([self.note] if self.note else [])])

    def text(self) -> str:
        """The table in columns, for a terminal."""
        columns = {}
        for head, *cells in zip(self.head, *self.rows, strict=True):
            words = [str(cell) for cell in cells]
            # A rule below the head, as wide as the column.
            columns[head] = ["-" * max(map(len, [head, *words])), *words]
        return "\n".join(plain_table(columns, words=len(columns)))


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib Figure, the name of its file and its caption."""

    name: str
    """Name of the file, after the name of the study and without its ending."""
    figure: Any
    """The matplotlib Figure."""
    caption: str
    """The sentence below it, which is also its alternative text."""

    def save(self, kind: str, path: Path) -> None:
        """Write it as "png" or "svg", without a date: the same study gives the same files."""
        import matplotlib as mpl

        if kind == "svg":
            # A fixed salt: the identifiers inside the file are the same each time.
            with mpl.rc_context({"svg.hashsalt": "epluribus"}):
                self.figure.savefig(path, format=kind, metadata={"Date": None})
            return
        # Pillow comes with matplotlib, which depends on it.
        from PIL import Image

        # First in full color; the 256 colors are chosen from these.
        memory = io.BytesIO()
        self.figure.savefig(memory, format=kind, dpi=_DOTS_PER_INCH)
        # 256 colors: a third of the size, and no visible difference.
        with Image.open(memory) as picture:
            few_colors = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
            few_colors.save(path, optimize=True)


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """One of the paper's applications, carried out.

    `print` shows the facts, `summary` returns a page in Markdown, `write` makes a folder of files.

    Examples
    --------
    >>> from epluribus.studies import galaxies
    >>> study = galaxies(quick=True)  # doctest: +SKIP
    >>> study.analysis.best.n_clusters, len(study.pictures)  # doctest: +SKIP
    (3, 2)
    """

    name: str
    """Name of the study, such as "galaxies"."""
    title: str
    """Title of the page."""
    setting: str
    """Data, model, sampler: one paragraph."""
    facts: Table
    """Every fact that the paper states, beside ours."""
    tables: tuple[Table, ...]
    """All other tables, in the order of the page."""
    pictures: tuple[Picture, ...]
    """The paper's figures, made anew."""
    labels: Mapping[str, Sequence[Any]]
    """Columns of labels.csv: the items, what is known of them, and their cluster under each loss."""
    notes: tuple[str, ...]
    """What differs from the paper, and the evidence."""
    analysis: Analysis
    """The draws, the estimates and the runs behind the tables."""
    command: str
    """The command that makes this study."""
    more: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    """Columns of further csv files, by name."""

    def summary(self) -> str:
        """The page, in Markdown: facts, pictures, tables, and what differs from the paper.

        Returns
        -------
        str
            It refers to the pictures that `write` puts beside it.
        """
        # Pictures lie beside the page, under the name of the study.
        pictures = [
            f"![{picture.caption}]({self.name}-{picture.name}.png)\n\n*{picture.caption}*"
            for picture in self.pictures
        ]
        notes = "\n".join(f"- {note}" for note in self.notes)
        # The answer first, then the evidence, then what differs.
        parts = [
            f"# {self.title}",
            self.setting,
            self.facts.markdown(),
            *pictures,
            *(table.markdown() for table in self.tables),
            f"## What differs from the paper, and the evidence\n\n{notes}",
            f"Made by `{self.command}` (epluribus {__version__}).",
        ]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """Write summary.md, labels.csv, draws.npz and the pictures into a folder.

        Parameters
        ----------
        folder : str or Path
            Made if it does not exist; files of the same names are replaced, each whole or not at all.

        Returns
        -------
        list of Path
            The files written.

        Examples
        --------
        >>> from epluribus.studies import galaxies
        >>> galaxies(quick=True).write("epluribus-galaxies")[0].name  # doctest: +SKIP
        'summary.md'
        """
        place = check_folder(folder)
        # `write_columns` and `save` write whole files by themselves; the page and the pictures need it here.
        files = [place / "summary.md", place / "labels.csv", place / "draws.npz"]
        write_whole(files[0], lambda path: path.write_text(self.summary(), encoding="utf-8"))
        write_columns(files[1], self.labels)
        self.analysis.trace.save(files[2])
        for name, columns in self.more.items():
            files.append(place / f"{name}.csv")
            write_columns(files[-1], columns)
        for picture in self.pictures:
            # The page shows the png files; the svg files are for print.
            for kind in ("png", "svg"):
                files.append(place / f"{self.name}-{picture.name}.{kind}")
                write_whole(files[-1], partial(picture.save, kind))
        return files

    def __repr__(self) -> str:
        return f"Study({self.name!r}, n_clusters={self.analysis.best.n_clusters})"

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.facts.text()}"


def check_folder(folder: str | Path) -> Path:
    """The folder, made if it does not exist: a bad one is refused before the long work."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(
            f"'out' must be a folder; {place} is a file. Give the name of a folder, old or new."
        )
    place.mkdir(parents=True, exist_ok=True)
    return place
