"""The Python in every guide runs as it stands, its blocks one after the other."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "guides"
GUIDES = sorted(FOLDER.glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_guide(guide, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = guide.read_text("utf-8")
    names = {"__name__": "guide"}
    blocks = list(BLOCK.finditer(text))
    assert blocks
    for block in blocks:
        # Errors are shown with the line in the guide.
        begin = text.count("\n", 0, block.start(1))
        exec(compile("\n" * begin + block[1], str(guide), "exec"), names)


def test_there_are_guides():
    assert {path.stem for path in GUIDES} >= {"arviz", "ensembles", "r-users", "stan"}
