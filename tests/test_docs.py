"""Every code block of the README and of the documentation runs as it stands.

The blocks of a page run one after the other, in one empty folder: `python` blocks share their names, `sh`
blocks are command lines of epluribus, one to a line.
"""

import importlib.util
import re
import shlex
import shutil
import warnings
from pathlib import Path

import matplotlib as mpl
import pytest

from epluribus._parallel import Stopper
from epluribus.cli import main
from epluribus.uncertainty import _certificate

mpl.use("agg")
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = {"python", "sh"}
# Other programs' code, what ours prints, and Python for a cluster or a GPU (`py`).
SHOWN = {"stan", "r", "bash", "text", "toml", "py"}
SAYS = {
    "tutorial": ["7 clusters of 434 items", "the 4 chains agree", "12 clusters of 77 items"],
    "README": ["clusters of 82 items", "expected loss under", "credible ball"],
    "uncertainty": ["credible ball around 3 clusters of 60 items", "proved optimal"],
}
PROVES = {"uncertainty", "certificates"}
"""Pages that show a proof: theirs may take the time that they give it."""
NEEDS = {"pymc": "pymc", "numpyro": "numpyro"}  # guides for what is not an extra of ours
# Warnings of these guides' libraries at import, compilation and in diagnostics, not of what we show.
THEIRS = ("arviz", "jax", "numpyro", "preliz", "pymc", "pytensor")


def blocks(page):
    return list(BLOCK.finditer(page.read_text("utf-8")))


WITH_CODE = [page for page in PAGES if any(block["language"] in RUN for block in blocks(page))]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    import matplotlib.pyplot as plt

    needed = NEEDS.get(page.stem, "epluribus")
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed: `make test-guides` runs this page")
    monkeypatch.chdir(tmp_path)
    if page.stem not in PROVES:
        hurry(monkeypatch)
    if page.stem in NEEDS:
        hear_only_ours()
        if not any(map(shutil.which, ("g++", "clang++"))):  # else PyMC 5 takes minutes
            monkeypatch.setenv("PYTENSOR_FLAGS", "mode=NUMBA,cxx=")
    names = {"__name__": page.stem}
    for block in blocks(page):
        if block["language"] == "python":
            # Errors are shown with the line in the page.
            begin = page.read_text("utf-8").count("\n", 0, block.start("code"))
            exec(compile("\n" * begin + block["code"], str(page), "exec"), names)
            plt.close("all")
        elif block["language"] == "sh":
            for line in block["code"].replace("\\\n", " ").splitlines():
                run_command(line)
    text = capsys.readouterr().out
    for words in SAYS.get(page.stem, []):
        assert words in text


def hurry(monkeypatch):
    """A proof uses up the time that it is given: here it is given little."""
    monkeypatch.setattr(_certificate, "Stopper", lambda _: Stopper(0.5))


def hear_only_ours():
    """Warnings raised in the code of other libraries are theirs; those of a page, and ours, are errors."""
    for package in THEIRS:
        warnings.filterwarnings("ignore", module=rf"{package}(_\w+)?(\.|$)")


def run_command(line):
    words = shlex.split(line, comments=True)
    if words:
        assert words[0] == "epluribus", f"only commands of epluribus can be run; got {line!r}"
        assert main(words[1:]) == 0, line


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_block_says_what_it_is(page):
    for block in blocks(page):
        assert block["language"] in RUN | SHOWN, block[0]


def test_the_pages_are_found():
    assert {"README", "arviz", "networks", "plots", "pymc", "uncertainty"} <= {
        page.stem for page in WITH_CODE
    }
