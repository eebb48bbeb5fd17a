"""The pages on losses name every loss, and what they state about metrics and costs holds."""

import re
from pathlib import Path

import pytest

import epluribus as epl

DOCS = Path(__file__).parents[2] / "docs"
if not DOCS.is_dir():
    pytest.skip("the documentation is not beside the tests", allow_module_level=True)
NAMES = epl.losses.available()


def test_every_loss_has_a_row_and_a_formula():
    guide = (DOCS / "guide" / "losses.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]* \| (yes|no) \|", guide, re.MULTILINE))
    assert rows == {name: "yes" if epl.losses.get(name).metric else "no" for name in NAMES}
    formulas = (DOCS / "reference" / "losses.md").read_text("utf-8")
    assert set(re.findall(r"^## .*: `(\w+)`", formulas, re.MULTILINE)) == {*NAMES, "vi_lb"}


@pytest.mark.parametrize("make", [epl.losses.vi, epl.losses.binder])
@pytest.mark.parametrize("cost", [0.5, 1.0, 1.5])
def test_clusters_are_merged_above_the_stated_probability(make, cost):
    for margin in (-0.05, 0.05):
        merged = round(100 * (1 - cost / 2 + margin))
        draws = [[0] * 20] * merged + [[0] * 10 + [1] * 10] * (100 - merged)
        best = epl.minimize(draws, make(cost=cost), rng=1)
        assert best.n_clusters == (1 if margin > 0 else 2)
