"""docs/plots.md and docs/gallery.md show every plot, and docs/tutorial.md all of its pictures."""

import importlib.util
import re
from pathlib import Path

import pytest

from epluribus import plots

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "plots.md").read_text("utf-8")
GALLERY = (DOCS / "gallery.md").read_text("utf-8")


def pictures(text):
    return re.findall(r"\]\((images/[^)]*\.png)\)", text)


@pytest.fixture(scope="module")
def make_images():
    """The script that makes the pictures, as a module."""
    spec = importlib.util.spec_from_file_location("make_images", DOCS / "make_images.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_plot_is_shown():
    shown = pictures(TEXT)
    for name in plots.__all__:
        assert f"epl.plots.{name}(" in TEXT
        assert f"images/{name}.png" in shown
    assert {path.name for path in (DOCS / "images").glob("*.png")} == {
        Path(picture).name for picture in shown
    }


@pytest.mark.parametrize("name", plots.__all__)
def test_every_plot_is_in_the_gallery(name):
    assert f"epl.plots.{name}(" in GALLERY, "run `python docs/make_images.py --gallery`"
    assert f"images/thumbnails/{name}.png" in pictures(GALLERY)


def test_the_gallery_is_made_from_the_page(make_images):
    """A plot that was added or changed on the page is so in the gallery."""
    assert make_images.gallery() == GALLERY, "run `python docs/make_images.py --gallery`"
    small = {path.name for path in (DOCS / "images" / "thumbnails").glob("*.png")}
    assert small == {Path(picture).name for picture in pictures(GALLERY)}


def test_a_card_has_the_lines_that_plot_and_no_others(make_images):
    code = 'data = make(\n    3,\n)\nax = epl.plots.scatter(\n    data,\n)\nax.set_title("a")\n'
    assert make_images.plotting_lines(code) == "ax = epl.plots.scatter(\n    data,\n)"


def test_the_tutorial_has_its_pictures():
    shown = pictures((DOCS / "tutorial.md").read_text("utf-8"))
    assert len(shown) >= 3
    folder = DOCS / "images" / "tutorial"
    assert {path.name for path in folder.glob("*.png")} == {Path(one).name for one in shown}


def test_pictures_are_small():
    sizes = {path: path.stat().st_size for path in (DOCS / "images").rglob("*.png")}
    assert max(sizes.values()) < 150_000
    assert max(size for path, size in sizes.items() if "thumbnails" in path.parts) < 40_000
