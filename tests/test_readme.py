"""The code in the README runs."""

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)


def test_there_is_code():
    assert BLOCKS


def test_the_blocks_run_one_after_the_other(capsys):
    names = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
    text = capsys.readouterr().out
    assert "clusters of 82 items" in text
    assert "expected loss under" in text
    assert "credible ball" in text
