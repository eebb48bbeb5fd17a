"""Run the notebooks of the documentation, and write what they show into them: `make notebooks`.

Only what a reader sees is kept: no times of execution, no versions, no progress bars.
The site shows the notebooks with these outputs (`site_hooks.py`).
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"
_KEPT = ("text/html", "image/png", "text/plain")
"""Kinds of output that are kept; of pictures and tables, their text is not needed."""

_BAR = "application/vnd.jupyter.widget-view+json"
"""The kind of output that a progress bar is."""


def main() -> None:
    """Run every notebook in an empty folder, and write it back."""
    import nbformat
    from nbclient import NotebookClient

    for path in sorted(FOLDER.glob("*.ipynb")):
        book = nbformat.read(path, as_version=4)
        with TemporaryDirectory() as folder:
            NotebookClient(book, resources={"metadata": {"path": folder}}).execute()
        path.write_text(to_text(book), "utf-8")
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def to_text(book: Any) -> str:
    """The notebook as JSON, with what is worth keeping."""
    for number, cell in enumerate(book["cells"]):
        cell["id"], cell["metadata"] = f"cell-{number}", {}
        if cell["cell_type"] == "code":
            cell["execution_count"] = None
            cell["outputs"] = [_tidy(output) for output in cell["outputs"] if _is_result(output)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book["metadata"] = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _is_result(output: Any) -> bool:
    """Whether this is a result: neither a progress bar nor what went to stderr."""
    return output.get("name") != "stderr" and _BAR not in output.get("data", {})


def _tidy(output: Any) -> Any:
    """One output, reduced to the first kind that is there."""
    if "data" in output:
        kind = next(kind for kind in _KEPT if kind in output["data"])
        content = output["data"][kind]
        content = _with_few_colors(content) if kind == "image/png" else content
        output["data"], output["metadata"] = {kind: content}, {}
        if "execution_count" in output:
            output["execution_count"] = None
    return output


def _with_few_colors(png: str) -> str:
    """A picture with 128 colors, which look the same in a heatmap and take a third of the room."""
    from PIL import Image

    small = BytesIO()
    picture = Image.open(BytesIO(b64decode(png))).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return b64encode(small.getvalue()).decode("ascii")


if __name__ == "__main__":
    main()
