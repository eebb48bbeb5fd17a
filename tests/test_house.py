"""The design page: the picture has the order that is enforced, and every file and name on the page exists."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "about" / "developers.md"
if not PAGE.is_file():
    pytest.skip("the documentation is not beside the tests", allow_module_level=True)

TEXT = PAGE.read_text("utf-8")
PICTURE = re.search(r"\n\n((?:    .*\n)+)\n", TEXT)[1]
SPANS = sorted(set(re.findall(r"`([^`\n]+)`", TEXT)))
PLACE = re.compile(r"[\w./-]+/|[\w./-]+\.(?:py|md)")


def layers():
    """The rooms from top to bottom, as the contract of import-linter has them; base modules left out."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = settings["contracts"]
    assert contract["exhaustive"]
    return [layer for layer in contract["layers"] if ":" not in layer]


def test_the_picture_shows_the_order_of_the_contract():
    # The first column says what the rooms of a line are about.
    lines = [re.split(r"\s{2,}", line.strip())[1:] for line in PICTURE.splitlines()]
    assert [name for line in lines for name in line] == layers()


def test_every_room_is_on_the_map():
    for name in layers():
        folder = (ROOT / "src" / "epluribus" / name).is_dir()
        assert f"`src/epluribus/{name}{'/' if folder else '.py'}`" in TEXT, name


def test_what_the_page_names_exists():
    folders = [ROOT / name for name in ("src", "tests", "benchmarks")]
    files = [path for folder in folders for path in folder.rglob("*.py") if path != Path(__file__)]
    files += [ROOT / "Makefile", ROOT / "pyproject.toml"]
    known = set(re.findall(r"\w+", "\n".join(path.read_text("utf-8") for path in files)))
    for span in SPANS:
        if PLACE.fullmatch(span):
            assert (ROOT / span).exists(), span
        else:
            assert set(re.findall(r"[^\W\d]\w*", span)) <= known, span
