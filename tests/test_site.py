"""The documentation builds without warnings, lists every public name, fetches nothing, is searched from disk."""

import importlib
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
MODULES = (
    "datasets", "losses", "models", "partition", "plots", "sampling", "search", "uncertainty",
)  # fmt: skip


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
    assert "WARNING" not in done.stderr, done.stderr
    return folder


def test_every_page_is_in_the_menu(site):
    menu = (site / "index.html").read_text("utf-8")
    for page in DOCS.rglob("*.md"):
        address = page.relative_to(DOCS).with_suffix(".html").as_posix()
        assert f'href="{address}"' in menu, address
        assert (site / address).is_file()


def test_nothing_is_fetched_from_elsewhere_and_formulas_are_shown(site):
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert not re.findall(r'(?:src|<link[^>]*href)="(?:https?:)?//[^"]*"', text), page
        assert "arithmatex" not in text, page
    assert "<math" in (site / "reference" / "losses.html").read_text("utf-8")


def test_the_search_works_from_disk(site):
    assert (site / "search" / "search_index.js").stat().st_size > 100_000
    assert "assets/iframe-worker.js" in (site / "index.html").read_text("utf-8")


def test_links_within_a_page_lead_somewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        for address, anchor in re.findall(r'href="((?!https?:)[^"#]*)#([^"]+)"', text):
            target = (page.parent / address) if address else page
            assert f'id="{anchor}"' in target.read_text("utf-8"), (page.name, address, anchor)


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "reference" / "api.md").read_text("utf-8")
    named = {line.rsplit(".", 1)[1] for line in text.splitlines() if line.startswith(":::")}
    public = {
        *epl.__all__,
        *(name for m in MODULES for name in importlib.import_module(f"epluribus.{m}").__all__),
    }
    modules = {name for name in epl.__all__ if importlib.util.find_spec(f"epluribus.{name}")}
    missing = public - named - modules - {"__version__"}
    assert not missing, missing
