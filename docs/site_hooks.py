"""Beyond Markdown: formulas as MathML, notebooks, and the pages kept at the root of the repository."""

from __future__ import annotations

import html
import json
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
    "conduct.md": "CODE_OF_CONDUCT.md",
    "security.md": "SECURITY.md",
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
    for notebook in sorted((ROOT / "docs").rglob("*.ipynb")):
        name = notebook.relative_to(ROOT / "docs").with_suffix(".md").as_posix()
        files.append(File.generated(config, name, content=notebook_page(notebook)))
    return files


def notebook_page(path: Path) -> str:
    """A notebook as a page: its text, its code, and what that showed when it was last run."""
    parts = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [f"```py\n{source}\n```", *map(_output, cell["outputs"])]
    # Below the title, which every notebook begins with.
    title, _, rest = "\n\n".join(parts).partition("\n")
    return f"{title}\n\n[Download the notebook]({path.name}){{ .md-button }}\n{rest}"


def _output(output: dict[str, Any]) -> str:
    """One output of a cell: a table or a card, a picture, or text."""
    data = output.get("data", {})
    if "text/html" in data:
        # pandas brings a sheet of styles, which would hold for the whole page.
        inside = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        return f'<div class="output">{inside}</div>'
    if "image/png" in data:
        picture = "".join(data["image/png"]).strip()
        return f'<div class="output"><img alt="" src="data:image/png;base64,{picture}"></div>'
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text}\n```"


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Links to pages of the root, to pages of docs and to notebooks lead to where these are on the site."""
    if page.file.src_uri in AT_ROOT:
        markdown = markdown.replace("](docs/", "](")
    if page.file.src_uri.startswith("cases/"):
        markdown = REPORT.sub(_report_if_made, markdown)
    for name, source in AT_ROOT.items():
        up = "../" * page.file.src_uri.count("/")
        markdown = re.sub(
            rf"\]\((?:\.\./)*{re.escape(source)}(#[^)]*)?\)", rf"]({up}{name}\1)", markdown
        )
    # A notebook's own page has a link to the file, beside it.
    return re.sub(r"\]\(((?:\.\./)*notebooks/[\w-]+)\.ipynb\)", r"](\1.md)", markdown)


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
