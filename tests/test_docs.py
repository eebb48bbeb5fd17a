"""Every code block of the README and of the documentation runs, and makes what the page shows below it."""

import importlib.util
import io
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "docs").is_dir():
    pytest.skip("the documentation is not beside the tests", allow_module_level=True)
pytest.importorskip("matplotlib")
SPEC = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
pages = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = pages
SPEC.loader.exec_module(pages)

BLOCKS = {page: list(pages.BLOCK.finditer(page.read_text("utf-8"))) for page in pages.PAGES}
WITH_CODE = [
    page for page, blocks in BLOCKS.items() if {b["language"] for b in blocks} & {"python", "sh"}
]
SHOWN = {"stan", "r", "bash", "toml", "py"}  # other programs' code, and Python for a cluster
THEIRS = ("arviz", "jax", "numpyro", "preliz", "pymc", "pytensor")


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda path: path.stem)
def test_a_page_shows_what_its_code_makes(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("epluribus.page.facts._HEAVY", 0)  # what a report says is not shown
    # Warnings of other libraries are theirs; those of a page, and ours, are errors.
    for package in THEIRS:
        warnings.filterwarnings("ignore", module=rf"{package}(_\w+)?(\.|$)")
    for result in pages.run_page(page):
        if result.shown is not None:
            assert pages.essence(result.printed) == pages.essence(result.shown)
        if result.picture:
            path = page.parent / result.match["picture"]
            assert same_picture(result.picture, path), f"run: python docs/pages.py {page.stem}"
            assert path.stat().st_size <= pages.LARGEST


def same_picture(made, path):
    """Texts and number of marks of an svg; a png up to small differences, in 32 x 32 pixels."""
    if path.suffix == ".svg":
        first, second = made.decode(), path.read_text("utf-8")
        return all(
            re.findall(what, first) == re.findall(what, second)
            for what in (r"<text[^>]*>([^<]*)", r"<use\b")
        )
    image = pytest.importorskip("PIL.Image")
    first, second = (
        np.asarray(image.open(one).convert("L").resize((32, 32)), float)
        for one in (io.BytesIO(made), path)
    )
    return np.abs(first - second).mean() < 4


@pytest.mark.parametrize("page", BLOCKS, ids=lambda path: path.stem)
def test_every_block_says_what_it_is(page):
    """Text is what the block above it prints."""
    assert {block["language"] for block in BLOCKS[page]} <= {"python", "sh", *SHOWN}


def test_no_picture_is_left_over():
    shown = {
        (page.parent / link).resolve()
        for page in pages.PAGES
        for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text("utf-8"))
    }
    kept = {path for kind in ("png", "svg") for path in (ROOT / "docs").rglob(f"*.{kind}")}
    assert kept - {ROOT / "docs" / "assets" / "favicon.svg"} == shown
