"""docs/plots.md shows every plot."""

import re
from pathlib import Path

from epluribus import plots

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "plots.md").read_text("utf-8")


def test_every_plot_is_shown():
    pictures = re.findall(r"\]\((images/.*?)\)", TEXT)
    for name in plots.__all__:
        assert f"epl.plots.{name}(" in TEXT
        assert f"images/{name}.png" in pictures
    assert {path.name for path in (DOCS / "images").glob("*.png")} == {
        Path(picture).name for picture in pictures
    }


def test_pictures_are_small():
    assert max(path.stat().st_size for path in (DOCS / "images").glob("*.png")) < 150_000
