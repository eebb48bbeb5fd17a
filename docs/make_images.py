"""Makes the pictures of docs/plots.md by running its code: `python docs/make_images.py`, half a minute.

The figure that a block of code leaves is saved as the picture that follows the block.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\s*^!\[[^]]*\]\((?P<image>[^)]*)\))?", re.M | re.S
)
LARGEST = 150_000  # bytes


def main() -> None:
    """Run the page from top to bottom."""
    names: dict[str, Any] = {}
    (FOLDER / "images").mkdir(exist_ok=True)
    for block in BLOCK.finditer((FOLDER / "plots.md").read_text("utf-8")):
        exec(compile(block["code"], "plots.md", "exec"), names)  # noqa: S102
        if block["image"] is None:
            continue
        path = FOLDER / block["image"]
        plt.savefig(path, dpi=100)
        plt.close("all")
        size = path.stat().st_size
        print(f"{path.name:28} {size:>8,} bytes")
        if size > LARGEST:
            raise SystemExit(f"{path.name} must have at most {LARGEST:,} bytes; got {size:,}.")


if __name__ == "__main__":
    main()
