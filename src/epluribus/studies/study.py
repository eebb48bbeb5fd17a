"""A study's result: tables, pictures, labels and notes, and the page made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from epluribus.studies.analysis import Analysis

__all__ = ["Picture", "Study", "Table"]


@dataclass(frozen=True)
class Table:
    """A small table with a title, and a sentence or two below it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""

    def markdown(self) -> str:
        """The table as Markdown, under a heading."""
        lines = [f"## {self.title}", "", _line(self.head), _line(["---"] * len(self.head))]
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else [])])

    def text(self) -> str:
        """The table in columns, for a terminal."""
        cells = [[str(cell) for cell in row] for row in (self.head, *self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.head))]
        rule = ["-" * width for width in widths]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
                 for row in (cells[0], rule, *cells[1:])]  # fmt: skip
        return "\n".join(lines)


def _line(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib Figure, the name of its file and its caption."""

    name: str
    figure: Any
    caption: str


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """One of the paper's applications, carried out."""

    name: str
    title: str
    setting: str
    """Data, model, sampler: one paragraph."""
    facts: Table
    """Every fact the paper states beside ours."""
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    labels: Mapping[str, Sequence[Any]]
    """Columns of labels.csv."""
    notes: tuple[str, ...]
    """What differs from the paper, and the evidence."""
    analysis: Analysis
    command: str
    """The command that makes this."""
    more: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    """Columns of further csv files, by name."""

    def summary(self) -> str:
        """The page: facts, pictures, tables, and what differs from the paper."""
        import epluribus

        pictures = [
            f"![{picture.caption}]({self.name}-{picture.name}.png)\n\n*{picture.caption}*"
            for picture in self.pictures
        ]
        notes = "\n".join(f"- {note}" for note in self.notes)
        parts = [
            f"# {self.title}",
            self.setting,
            self.facts.markdown(),
            *pictures,
            *(table.markdown() for table in self.tables),
            f"## What differs from the paper, and the evidence\n\n{notes}",
            f"Made by `{self.command}` (epluribus {epluribus.__version__}).",
        ]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """Write summary.md, labels.csv, draws.npz and the pictures into a folder.

        Parameters
        ----------
        folder : str or Path
            Made if it is not there; files of the same names are replaced, each whole or not at all.

        Returns
        -------
        list of Path
            The files written.
        """
        from epluribus.studies.folder import write_study

        return write_study(self, folder)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, n_clusters={self.analysis.best.n_clusters})"

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.facts.text()}"
