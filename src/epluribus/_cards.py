"""What an object says about itself: one card, shown as text by `print` and with a heading in a notebook.

A card has a title and parts below it: notes, facts by name, tables. An object describes itself once, in
`_card`, and `Shown` gives it both forms, so that they cannot say different things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, TypeAlias

from epluribus._text import plain_table, to_frame, worded

# Colors are those of the notebook, so that a card can be read on white and on black. Styles are written into the
# elements: a sheet of styles would hold for the whole notebook, and some viewers remove it.
_HEADING = "font-weight:600;margin:.3em 0;"
_TEXT = (
    "font-family:monospace;color:inherit;background:none;border:0;padding:0;margin:.3em 0;"
    "white-space:pre-wrap;line-height:1.45;"
)
_ALERT = "display:inline-block;border-left:3px solid #d9480f;padding-left:.6em;"


@dataclass(frozen=True)
class Facts:
    """Facts by name, one per line; nothing is shown of a fact without text."""

    facts: Mapping[str, str]
    """Texts by name."""
    width: int = 0
    """Least number of characters for the names."""
    alert: bool = False
    """Whether they speak against the object."""

    def lines(self) -> list[str]:
        """Names are padded, so that the facts are in one column."""
        width = max([self.width, *map(len, self.facts)]) + 2
        return [f"{name:<{width}}{text}" for name, text in self.facts.items() if text]


@dataclass(frozen=True)
class Alert:
    """A text that speaks against the object; in a notebook a bar of color stands beside it."""

    text: str
    alert: ClassVar[bool] = True

    def lines(self) -> list[str]:
        """The text itself: it says so in words."""
        return [self.text]


@dataclass(frozen=True)
class Table:
    """A table by columns, as for `plain_table`."""

    columns: Mapping[str, Sequence[Any]]
    """Values by the heading of their column."""
    more: str = ""
    """A line below, such as on the rows that are not shown."""
    words: int = 1
    """Number of columns, from the left, that are aligned to the left."""
    alert: ClassVar[bool] = False

    def lines(self) -> list[str]:
        """The table, and the line below."""
        table = plain_table(self.columns, words=self.words)
        return [*table, self.more] if self.more else table


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
        What precedes each line below the title.

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
        self.title, self._heading = title, heading or title
        # The text of each part, and whether it speaks against the object.
        self.parts = [
            ("\n".join(f"{indent}{line}" for line in ([part] if isinstance(part, str) else part.lines())),
             not isinstance(part, str) and part.alert)
            for part in parts if part
        ]  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.title, *(text for text, _ in self.parts)]))

    def html(self) -> str:
        """The card for a notebook: everything that it shows is escaped."""
        parts = [
            f'<span style="{_ALERT}">{escape(text)}</span>' if alert else escape(text)
            for text, alert in self.parts
            if text
        ]
        heading = f'<div style="{_HEADING}">{escape(self._heading)}</div>'
        return heading + '<pre style="{}">{}</pre>'.format(_TEXT, "\n".join(parts))


class Shown:
    """An object that prints itself, and shows itself in a notebook, by its card."""

    def _card(self) -> Card:
        """What it says about itself."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self._card())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self._card().html()


class Plain:
    """An object that a notebook and the prompt show as it is printed."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f'<pre style="{_TEXT}">{escape(str(self))}</pre>'


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
