"""Run the code of the pages, and keep in them what it prints and draws.

    python docs/pages.py                 # README and all pages: minutes
    python docs/pages.py plots draws     # pages by name

The blocks of a page run one after the other in one empty folder: `python` blocks share their names, `sh` blocks are
command lines of epluribus, one to a line. A `text` block below a block is what it prints, a picture below it the
figure that it leaves. A block that imports PyMC or NumPyro runs where these are installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd

mpl.use("agg")
import matplotlib.pyplot as plt

from epluribus.cli import main as run_command

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$"
    r"(?:\n+(?P=indent)```text\n(?P<text>.*?)^(?P=indent)```$)?"
    r"(?:\n+(?P=indent)!\[[^]]*\]\((?P<picture>[^)]*)\))?",
    re.MULTILINE | re.DOTALL,
)
OPTIONAL = ("pymc", "numpyro")
STYLE = {"svg.hashsalt": "epluribus", "svg.fonttype": "none", "savefig.dpi": 100}
LARGEST = 150_000  # bytes of a picture
WIDTH = 100  # characters of a line of printed text


@dataclass(frozen=True)
class Result:
    """What a block of code made, and what the page shows below it."""

    match: re.Match[str]
    printed: str
    picture: bytes | None

    @property
    def shown(self) -> str | None:
        """The text below the block, if there is one."""
        return None if self.match["text"] is None else textwrap.dedent(self.match["text"])


def run_page(page: Path) -> Iterator[Result]:
    """Run the blocks of a page in the current folder."""
    names: dict[str, Any] = {"__name__": page.stem}
    text = page.read_text("utf-8")
    for block in BLOCK.finditer(text):
        code = textwrap.dedent(block["code"])
        if block["language"] not in ("python", "sh") or not _can_run(code):
            continue
        with (
            contextlib.redirect_stdout(io.StringIO()) as printed,
            mpl.rc_context(STYLE),
            pd.option_context("display.width", WIDTH, "display.max_columns", 20),  # on any terminal
        ):
            if block["language"] == "python":
                # Errors are shown with the line in the page.
                lines = "\n" * text.count("\n", 0, block.start("code"))
                exec(compile(lines + code, str(page), "exec"), names)  # noqa: S102
            else:
                _run_commands(code)
            picture = _save_figure(block["picture"]) if block["picture"] else None
            plt.close("all")
        yield Result(block, printed.getvalue(), picture)


def _can_run(code: str) -> bool:
    needed = [name for name in OPTIONAL if re.search(rf"^(import|from) {name}\b", code, re.M)]
    return all(importlib.util.find_spec(name) for name in needed)


def _run_commands(code: str) -> None:
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words and (words[0] != "epluribus" or run_command(words[1:]) != 0):
            raise SystemExit(f"must be a command of epluribus that succeeds; got {line!r}")


def _save_figure(name: str) -> bytes:
    stream, kind = io.BytesIO(), name.rpartition(".")[2]
    plt.savefig(stream, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return stream.getvalue()


def essence(text: str) -> str:
    """Text as it is compared: white space does not count, because long lines are folded."""
    return " ".join(text.split())


def _fold(text: str) -> str:
    """Text with its long lines folded, so that it fits on a page."""
    lines = []
    for line in text.strip("\n").splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += (
            textwrap.wrap(line, WIDTH, subsequent_indent=indent) if len(line) > WIDTH else [line]
        )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def write_results(page: Path) -> None:
    """Run a page and write what its blocks printed and drew."""
    text, pieces, end = page.read_text("utf-8"), [], 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for result in run_page(page):
            match = result.match
            if result.shown is not None:
                shown = textwrap.indent(_fold(result.printed), match["indent"])
                pieces += [text[end : match.start("text")], shown]
                end = match.end("text")
            if result.picture:
                path = page.parent / match["picture"]
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(result.picture)
                if len(result.picture) > LARGEST:
                    print(f"{path.name} has {len(result.picture):,} bytes")
    page.write_text("".join(pieces) + text[end:], "utf-8")


def main(names: list[str]) -> None:
    """Run the pages that are named, or all."""
    unknown = set(names) - {page.stem for page in PAGES}
    if unknown:
        raise SystemExit(f"There is no page {', '.join(sorted(unknown))}.")
    for page in PAGES:
        if not names or page.stem in names:
            print(page.relative_to(ROOT))
            write_results(page)


if __name__ == "__main__":
    main(sys.argv[1:])
