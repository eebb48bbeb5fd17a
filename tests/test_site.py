"""The documentation can be built, has every page and public name, and fetches nothing."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import epluribus as epl

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed")
    folder = tmp_path_factory.mktemp("site")
    # Strict: a link to nowhere is an error.
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_in_the_menu(site):
    menu = (site / "index.html").read_text("utf-8")
    for page in DOCS.rglob("*.md"):
        address = page.relative_to(DOCS).with_suffix(".html").as_posix()
        assert (site / address).is_file()
        assert f'href="{address}"' in menu, address


def test_nothing_is_fetched_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        # The canonical address of a page is told to search engines, not fetched.
        text = re.sub(r'<link rel="canonical"[^>]*>', "", text)
        assert not re.findall(r'(?:src|<link[^>]*href)="(?:https?:)?//[^"]*"', text), page


def test_formulas_are_shown(site):
    text = (site / "losses" / "vi.html").read_text("utf-8")
    assert "<math" in text
    for page in site.rglob("*.html"):
        assert "arithmatex" not in page.read_text("utf-8"), page


MODULES = [
    "datasets",
    "losses",
    "models",
    "partition",
    "plots",
    "sampling",
    "search",
    "uncertainty",
]


def test_every_public_name_is_in_the_reference():
    text = "\n".join(page.read_text("utf-8") for page in (DOCS / "api").glob("*.md"))
    named = {line.rsplit(".", 1)[1] for line in text.splitlines() if line.startswith(":::")}
    public = {
        *epl.__all__,
        *(name for m in MODULES for name in importlib.import_module(f"epluribus.{m}").__all__),
    }
    modules = {name for name in epl.__all__ if importlib.util.find_spec(f"epluribus.{name}")}
    missing = public - named - modules - {"__version__"}
    assert not missing, missing
