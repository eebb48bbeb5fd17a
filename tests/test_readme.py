"""The code in the README runs."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("agg")
ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)


def test_there_is_code():
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs(block, capsys):
    exec(compile(block, "README.md", "exec"), {})
    text = capsys.readouterr().out
    assert "clusters of 82 items" in text
    assert "expected loss under" in text
