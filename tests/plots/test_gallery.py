"""The code of docs/plots.md runs, and it shows every plot."""

import re
from pathlib import Path

import matplotlib as mpl

from epluribus import plots

mpl.use("agg")
DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "plots.md").read_text("utf-8")


def test_the_code_runs():
    import matplotlib.pyplot as plt

    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.M | re.S)
    for block in blocks:
        exec(compile(block, "plots.md", "exec"), names)
        plt.close("all")
    assert names["galaxy_best"].n_clusters == 3


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
