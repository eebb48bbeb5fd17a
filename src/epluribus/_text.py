"""Numbers, lists and tables in plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def count(n: int, noun: str) -> str:
    """'1 cluster', '2 clusters'."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def percent(share: float) -> str:
    """'61%'; a share between 0 and 1 is never rounded to 0 or 100."""
    # '0%' and '100%' are kept for what is exactly so.
    if 0 < share < 0.01:
        return "below 1%"
    return "above 99%" if 0.995 <= share < 1 else f"{100 * share:.0f}%"


def percents(shares: Sequence[float]) -> list[str]:
    """Shares of a whole in percent, rounded so that they add up to it, those furthest above their integers up.

    >>> percents([0.585, 0.415]), percents([0.995, 0.005])
    (['59%', '41%'], ['above 99%', 'below 1%'])
    """
    exact = 100 * np.asarray(shares)
    whole = np.floor(exact)
    up = np.argsort(whole - exact, kind="stable")[: round(float((exact - whole).sum()))]
    whole[up] += 1
    odd = [min(share, 1 - share) < 0.01 for share in shares]
    return [percent(x) if o else f"{n:.0f}%" for x, n, o in zip(shares, whole, odd, strict=True)]


def span(low: int, high: int, link: str = " to ") -> str:
    """'3' or '3 to 5'."""
    return f"{low}" if low == high else f"{low}{link}{high}"


def sentence_list(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def named_items(names: Sequence[str]) -> str:
    """'item a', 'items a and b'; names that say what they are stand alone: 'item 1 and item 2', 'wine 35'."""
    if names[0].lower().startswith("item") or " " in names[0]:
        return sentence_list(names)
    return f"item{'' if len(names) == 1 else 's'} {sentence_list(names)}"


_FOR_ENSEMBLES = {
    "expected loss": "mean loss",
    "with probability": "for a share of",
    "probability": "share",
    "most probable": "most often",
    "credible ball": "ball",
    "draw": "clustering",
}
"""What takes the place of words that suit a posterior sample."""


def worded(text: str, kind: str) -> str:
    """A text on draws, in the words for them: an "ensemble" of clusterings has no probabilities.

    >>> worded("the probability, from 3 draws", "ensemble")
    'the share, from 3 clusterings'
    """
    if kind == "ensemble":
        for word, instead in _FOR_ENSEMBLES.items():
            text = text.replace(word, instead)
    return text


def few_of(values: Sequence[Any], shown: int = 12) -> str:
    """The first values as a list, and the number of the others: '5, 3, and 2 more'."""
    some, hidden = ", ".join(map(str, values[:shown])), len(values) - shown
    return some if hidden <= 0 else f"{some}, and {hidden:,} more"


def plain_table(columns: Mapping[str, Sequence[Any]], *, words: int = 1) -> list[str]:
    r"""Lines of a table: a heading, then the rows. The first `words` columns are aligned to the left.

    Examples
    --------
    >>> from epluribus._text import plain_table
    >>> print("\n".join(plain_table({"name": ["vi", "binder"], "clusters": [3, 12]})))
    name    clusters
    vi             3
    binder        12
    """
    # All cells as text, by column; a column is as wide as its longest cell, the heading included.
    cells = [[name, *(plain_cell(value) for value in column)] for name, column in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    return [
        "  ".join(
            f"{text:<{width}}" if number < words else f"{text:>{width}}"
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in zip(*cells, strict=True)
    ]


def plain_cell(value: Any) -> str:
    """A value as text: floats with four digits, '-' for a missing one."""
    # Only NaN differs from itself.
    if isinstance(value, float):
        return "-" if value != value else f"{value:.4g}"
    return str(value)


def or_none(values: Any) -> list[Any]:
    """The entries of an array or a list as plain values, None for NaN, which JSON does not have.

    >>> or_none(np.array([0.5, np.nan]))
    [0.5, None]
    """
    return [None if value != value else value for value in np.asarray(values).tolist()]


def as_index(names: Any) -> Any:
    """Names of items as the index of a table: integers if all of them are, as pandas reads them.

    >>> as_index(["3", "12"]), as_index(["03", "12"])
    ([3, 12], ['03', '12'])
    """
    if getattr(names, "dtype", None) == np.int64:
        return names
    texts = [str(name) for name in names]
    numbers = [int(text) if text.lstrip("-").isdecimal() else None for text in texts]
    # "03" is a name: the number would not lead back to it.
    same = all(str(number) == text for number, text in zip(numbers, texts, strict=True))
    return numbers if same else texts


def to_frame(columns: Mapping[str, Any], index: str | None = None) -> Any:
    """A pandas DataFrame with these columns.

    The column `index` becomes the index, so that frames can be joined by it.
    """
    import pandas as pd

    table = dict(columns)
    rows = None if index is None else pd.Index(as_index(table.pop(index)), name=index)
    return pd.DataFrame(table, index=rows)
