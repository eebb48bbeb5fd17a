"""Beyond Markdown: formulas as MathML, and the pages kept at the root of the repository."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
AT_ROOT = {
    "benchmarks.md": "benchmarks/RESULTS.md",
    "growth.png": "benchmarks/growth.png",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "scope.md": "SCOPE.md",
}
FORMULA = re.compile(r"\\\((?P<inline>.+?)\\\)|\\\[(?P<display>.+?)\\\]", re.DOTALL)
REPORT = re.compile(r"\[(?P<text>[^]]+)\]\((?P<path>reports/\w+\.html)\)")
ARITHMATEX = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">(?P<formula>.+?)</(?P=tag)>', re.DOTALL
)


def on_files(files: Any, config: Any) -> Any:
    """Show pages of the root as if they were in docs."""
    for name, source in AT_ROOT.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Links between pages of the root and pages of docs lead to where these are on the site."""
    if page.file.src_uri in AT_ROOT:
        markdown = markdown.replace("](docs/", "](")
    if page.file.src_uri.startswith("cases/"):
        markdown = REPORT.sub(_report_if_made, markdown)
    for name, source in AT_ROOT.items():
        up = "../" * page.file.src_uri.count("/")
        markdown = re.sub(
            rf"\]\((?:\.\./)*{re.escape(source)}(#[^)]*)?\)", rf"]({up}{name}\1)", markdown
        )
    return markdown


def _report_if_made(found: re.Match[str]) -> str:
    """The link to the report of a case; only its text where `make cases` has not made it on this machine."""
    return found[0] if (ROOT / "docs" / "cases" / found["path"]).exists() else found["text"]


def on_page_content(content: str, **_: Any) -> str:
    """Formulas in TeX become MathML, which browsers show without a script."""
    return ARITHMATEX.sub(lambda found: FORMULA.sub(_mathml, found["formula"]), content)


def _mathml(found: re.Match[str]) -> str:
    if found["inline"] is not None:
        return convert(html.unescape(found["inline"]).strip(), display="inline")
    formula = convert(html.unescape(found["display"]).strip(), display="block")
    return f'<div class="formula">{formula}</div>'
