"""Plain text tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from epluribus._need import need

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["plain_table", "sentence_list", "to_frame"]


def plain_table(columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """Lines of a table: a heading, then the rows; the first column to the left, others right."""
    cells = [[name, *(_cell(value) for value in column)] for name, column in columns.items()]
    widths = [max(len(text) for text in column) for column in cells]
    lines = []
    for row in zip(*cells, strict=True):
        first = f"{row[0]:<{widths[0]}}"
        rest = (f"{text:>{width}}" for text, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([first, *rest]).rstrip())
    return lines


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return "-" if value != value else f"{value:.4g}"
    return str(value)


def to_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas DataFrame of the columns."""
    return need("pandas", "files", "A data frame").DataFrame(dict(columns))


def sentence_list(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
