"""Beyond Markdown: formulas as MathML, and the changelog, which is kept at the root of the repository."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"
FORMULA = re.compile(r"\\\((?P<inline>.+?)\\\)|\\\[(?P<display>.+?)\\\]", re.DOTALL)
ARITHMATEX = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">(?P<formula>.+?)</(?P=tag)>', re.DOTALL
)


def on_files(files: Any, config: Any) -> Any:
    """Show the changelog as if it were in docs."""
    files.append(File.generated(config, "about/changelog.md", abs_src_path=str(CHANGELOG)))
    return files


def on_page_content(content: str, **_: Any) -> str:
    """Formulas in TeX become MathML, which browsers show without a script."""
    return ARITHMATEX.sub(lambda found: FORMULA.sub(_mathml, found["formula"]), content)


def _mathml(found: re.Match[str]) -> str:
    if found["inline"] is not None:
        return convert(html.unescape(found["inline"]).strip(), display="inline")
    formula = convert(html.unescape(found["display"]).strip(), display="block")
    return f'<div class="formula">{formula}</div>'
