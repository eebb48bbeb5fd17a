"""The pages of the case studies: every number comes from a run."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from cases.__main__ import NAMES  # noqa: E402
from cases.shared import PAGES, TEMPLATES, pair_scores, shipped, write_page  # noqa: E402


@pytest.mark.parametrize("name", NAMES)
def test_every_place_of_a_template_is_filled(name):
    template, page = (TEMPLATES / f"{name}.md").read_text(), (PAGES / f"{name}.md").read_text()
    # The text between two places is the same in both.
    fixed = re.split(r"\{\w+(?::[^}]*)?\}", template)
    assert re.fullmatch("(?s)" + ".+?".join(map(re.escape, fixed)), page)
    for image in re.findall(r"\((images/\w+\.png)\)", page):
        assert (PAGES / image).exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_what_its_script_makes(name, tmp_path):
    (tmp_path / "images").mkdir()
    try:
        values = import_module(f"cases.{name}").run(tmp_path)
    except SystemExit as error:
        pytest.skip(str(error))
    assert write_page(name, values, tmp_path).read_text() == (PAGES / f"{name}.md").read_text()


def test_data_that_are_not_there_are_named():
    with pytest.raises(
        SystemExit, match="come with the package 'nosuchpackage'.* make cases|'make cases'"
    ):
        shipped("nosuchpackage", "data.csv")


def test_scores_of_pairs():
    assert pair_scores([0, 0, 0, 1], [0, 0, 1, 1]) == (1 / 3, 1 / 2)
