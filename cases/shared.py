"""What the case studies share: where the data are, and how a page is made from its numbers.

A case is a module with a function `run(folder)`. It writes its figures into the folder and returns numbers and
texts by name, which take the places `{name}` of its template, the page. So every number of a page comes from the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import epluribus as epl

TEMPLATES = Path(__file__).parent
PAGES = TEMPLATES.parent / "docs" / "examples"


def shipped(package: str, *parts: str) -> Path:
    """The path of a file that a package ships; the package is not imported."""
    found = find_spec(package)
    places = list(found.submodule_search_locations or ()) if found else []
    for place in places:
        path = Path(place, *parts)
        if path.exists():
            return path
    raise SystemExit(
        f"The data of this case come with the package '{package}', which is not installed or has no file "
        f"'{'/'.join(parts)}'. 'make cases' installs it; by hand: pip install --no-deps --target FOLDER "
        f"{package}, and PYTHONPATH=FOLDER."
    )


def write_page(name: str, values: Mapping[str, Any], folder: Path) -> Path:
    """The page of a case: its template with the values filled in."""
    path = folder / f"{name}.md"
    path.write_text((TEMPLATES / f"{name}.md").read_text().format_map(values))
    return path


def scores(labels: Any, truth: Any) -> tuple[float, float]:
    """Adjusted Rand index (larger is better), and variation of information in bits (smaller is better)."""
    return 1.0 - epl.loss(labels, truth, "omari"), epl.loss(labels, truth)


def pair_scores(labels: Any, truth: Any) -> tuple[float, float]:
    """Precision and recall of the pairs that are together.

    >>> pair_scores([0, 0, 0, 1], [0, 0, 1, 1])
    (0.3333333333333333, 0.5)
    """

    def pairs(codes: Any) -> float:
        n = np.unique(codes, return_counts=True)[1].astype(float)
        return float((n * (n - 1) / 2).sum())

    mine, theirs = (
        np.unique(labels, return_inverse=True)[1],
        np.unique(truth, return_inverse=True)[1],
    )
    both = pairs(mine.astype(np.int64) * (int(theirs.max()) + 1) + theirs)
    return both / max(1.0, pairs(mine)), both / pairs(theirs)
