"""What an object says about itself: one card, shown as text by `print` and as HTML in a notebook.

A card has a title and parts below it: notes, facts by name, tables. An object describes itself once, in
`_card`, and `Shown` gives it both forms, so that they cannot say different things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, TypeAlias

from epluribus._text import plain_cell, plain_table, to_frame, worded

# Colors are those of the notebook, made fainter, so that a card can be read on white and on black. Styles are
# written into the elements: a sheet of styles would hold for the whole notebook, and some viewers remove it.
_CARD = "max-width:52em;line-height:1.5;margin:.2em 0;"
_ALERT = "border-left:3px solid #d9480f;padding-left:.6em;"
_FAINT = "opacity:.7;"
_NAME = "white-space:nowrap;min-width:7em;"  # in one column also across the facts of a card
_TABLE = "color:inherit;border:0;border-collapse:collapse;margin:.3em 0;font-size:inherit;"
_ROW = "background:none;"  # notebooks stripe tables
_CELL = "padding:.05em 1.1em .05em 0;vertical-align:top;white-space:nowrap;text-align:"
_HEAD = f"border:0;border-bottom:1px solid rgba(128,128,128,.5);{_CELL}"


@dataclass(frozen=True)
class Facts:
    """Facts by name, one per line; nothing is shown of a fact without text."""

    facts: Mapping[str, str]
    """Texts by name."""
    width: int = 0
    """Least number of characters for the names, in plain text."""
    alert: bool = False
    """Whether they speak against the object."""

    def lines(self) -> list[str]:
        """Plain text: names are padded, so that the facts are in one column."""
        width = max([self.width, *map(len, self.facts)]) + 2
        return [f"{name:<{width}}{text}" for name, text in self.facts.items() if text]

    def html(self) -> str:
        """A table of two columns, names and texts."""
        rows = [
            f'<tr style="{_ROW}"><td style="border:0;{_CELL}left;{_NAME}{_FAINT}">{escape(name)}</td>'
            f'<td style="border:0;{_CELL}left;white-space:pre-wrap;">{escape(text)}</td></tr>'
            for name, text in self.facts.items()
            if text
        ]
        return _table(rows, self.alert) if rows else ""


@dataclass(frozen=True)
class Alert:
    """A text that speaks against the object."""

    text: str

    def lines(self) -> list[str]:
        """The text itself: it says so in words."""
        return [self.text]

    def html(self) -> str:
        """The text with a bar of color beside it."""
        return f'<div style="{_ALERT}">{escape(self.text)}</div>'


@dataclass(frozen=True)
class Table:
    """A table by columns, as for `plain_table`."""

    columns: Mapping[str, Sequence[Any]]
    """Values by the heading of their column."""
    more: str = ""
    """A line below, such as on the rows that are not shown."""
    words: int = 1
    """Number of columns, from the left, that are aligned to the left."""

    def lines(self) -> list[str]:
        """Plain text."""
        table = plain_table(self.columns, words=self.words)
        return [*table, self.more] if self.more else table

    def html(self) -> str:
        """The same numbers in a table of HTML."""
        sides = ["left" if place < self.words else "right" for place in range(len(self.columns))]
        rows = [
            _row("th", _HEAD, self.columns, sides),
            *(
                _row("td", f"border:0;{_CELL}", map(plain_cell, row), sides)
                for row in zip(*self.columns.values(), strict=True)
            ),
        ]
        below = f'<div style="{_FAINT}">{escape(self.more)}</div>' if self.more else ""
        return _table(rows) + below


Part: TypeAlias = "str | Alert | Facts | Table"


class Card:
    """A title and what is below it.

    Parameters
    ----------
    title : str
        The first line; if it is empty, the text begins with the first part.
    *parts : str, Alert, Facts or Table
        What is below, in this order; a text is a line of its own, and an empty one is left out.
    heading : str, optional
        The title in a notebook, by default the same.
    indent : str, default two spaces
        What precedes each line below the title, in plain text.

    Examples
    --------
    >>> from epluribus._cards import Card, Facts
    >>> card = Card("3 items", Facts({"sizes": "2, 1", "loss": "vi"}), "nothing else")
    >>> print(card)
    3 items
      sizes  2, 1
      loss   vi
      nothing else
    """

    def __init__(self, title: str, *parts: Part, heading: str = "", indent: str = "  ") -> None:
        self._title, self._parts = title, [part for part in parts if part]
        self._heading, self._indent = heading or title, indent

    def __str__(self) -> str:
        lines = [self._title] if self._title else []
        for part in self._parts:
            own = [part] if isinstance(part, str) else part.lines()
            lines += [f"{self._indent}{line}" for line in own]
        return "\n".join(lines)

    def html(self) -> str:
        """The card for a notebook: everything that it shows is escaped."""
        parts = [f'<div style="font-weight:600;">{escape(self._heading)}</div>']
        parts += [
            f"<div>{escape(part)}</div>" if isinstance(part, str) else part.html()
            for part in self._parts
        ]
        return f'<div style="{_CARD}">{"".join(parts)}</div>'


class Shown:
    """An object that prints itself, and shows itself in a notebook, by its card."""

    def _card(self) -> Card:
        """What it says about itself."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self._card())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self._card().html()


class Rows(Shown):
    """A table of results: as columns, as a pandas DataFrame, and as text, of which the first rows are printed."""

    kind: str = "posterior"
    _index: ClassVar[str | None] = None
    """The column that is the index of the frame."""
    _nowhere: ClassVar[Mapping[str, str]] = {}
    """Columns that hold labels of clusters, and the word for -1, no cluster."""
    _more: ClassVar[str] = "more"
    """What the rows that are not printed are."""
    _heading: ClassVar[str] = ""

    def columns(self) -> dict[str, Any]:
        """The table as lists and arrays by name."""
        raise NotImplementedError

    def _notes(self) -> list[str]:
        """What is said below the table."""
        return []

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return to_frame(self.columns(), self._index)

    def __len__(self) -> int:
        return len(next(iter(self.columns().values())))

    def _card(self) -> Card:
        columns, shown = self.columns(), 15
        n = len(next(iter(columns.values())))
        for name, word in self._nowhere.items():
            columns[name] = [word if g < 0 else str(g) for g in columns[name]]
        first = {worded(k.replace("_", " "), self.kind): x[:shown] for k, x in columns.items()}
        more = f"and {n - shown:,} {self._more}" if n > shown else ""
        return Card("", Table(first, more), *self._notes(), heading=self._heading, indent="")


def _table(rows: Sequence[str], alert: bool = False) -> str:
    """Rows as a table, which scrolls by itself where it is wider than the page."""
    mark = _ALERT if alert else ""
    return (
        f'<div style="overflow-x:auto;{mark}"><table style="{_TABLE}">{"".join(rows)}</table></div>'
    )


def _row(kind: str, style: str, cells: Any, sides: Sequence[str]) -> str:
    """One row of a table; `kind` is "th" or "td"."""
    scope = ' scope="col"' if kind == "th" else ""
    inside = "".join(
        f'<{kind}{scope} style="{style}{side};">{escape(str(cell))}</{kind}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f'<tr style="{_ROW}">{inside}</tr>'
