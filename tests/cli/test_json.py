"""What --json prints, and the page that documents it: every key of one is in the other."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import epluribus as epl
from epluribus.cli import main
from epluribus.cli._base import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command_line.md"
OPEN = ("acceptance", "rhat", "ess", "ess_tail", "n_clusters", "words")
"""Objects whose keys are names or numbers found in the data."""


def _paths(value, path=""):
    """The keys of an answer: 'runs[].start' is a key of each entry of a list."""
    if isinstance(value, dict):
        for key, inner in value.items():
            opened = path.split(".")[-1] in OPEN
            yield from _paths(inner, f"{path}.*" if opened else f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inner in value:
            yield from _paths(inner, f"{path}[]")
    else:
        yield path


def documented():
    """The keys on the page, by command; '*' stands for those of an estimate."""
    found = {}
    for section in re.split(r"^### ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        name = section.splitlines()[0].strip("`")
        keys = re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE)
        found[name] = {"json_version"} if found else set()
        for key in keys:
            inner = found["An estimate"] if key in ("*", "estimates[].*") else {""}
            found[name] |= {f"{key.removesuffix('*')}{one}" if one else key for one in inner}
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("json")
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], 5)
    z = np.where(rng.random((40, 15)) < 0.2, rng.integers(3, size=(40, 15)), truth)
    np.savetxt(path / "z.csv", z, fmt="%d", delimiter=",")
    np.savetxt(path / "y.csv", rng.normal(size=12))
    np.save(path / "p.npy", rng.dirichlet([1, 1, 1], size=(10, 6)))
    (path / "link.csv").write_text("0,1\n")
    (path / "a.txt").write_text("0\n0\n1\n")
    return path


RUNS = {
    "summarize": (
        "summarize z.csv",
        "summarize z.csv --undecided 1 --must-link link.csv --min-size 2",
        "summarize z.csv --loss vi,binder --must-link link.csv --min-size 2",
    ),
    "compare": ("compare a.txt a.txt",),
    "psm": ("psm z.csv --out psm.npy",),
    "ball": ("ball z.csv",),
    "modes": ("modes z.csv --n-modes 2",),
    "plot": ("plot z.csv --out z.png",),
    "report": ("report z.csv --out page.html --undecided 1 --must-link link.csv",),
    "methods": ("methods z.csv",),
    "soft": ("soft p.npy --out soft.npz",),
    "sample": ("sample gaussian y.csv --out draws.npz --n-draws 20",),
}
"""What is run for each command."""


@pytest.mark.parametrize("name", RUNS)
def test_the_page_has_every_key_and_no_other(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    found = set()
    for line in RUNS[name]:
        seed = [] if name in ("compare", "psm") else ["--seed", "1"]
        assert main([*line.split(), *seed, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert next(iter(answer)) == "json_version"
        found |= set(_paths(answer))
    if name == "compare":  # a key for each loss
        found = {key if key == "json_version" else "LOSS" for key in found}
    # Several losses cannot leave items undecided.
    assert found == documented()[name] - {"estimates[].undecided"}


def test_every_command_with_json_is_on_the_page():
    with_json = {
        name
        for name, (_, _, arguments) in COMMANDS.items()
        if any(a.names == ["--json"] for a in arguments)
    }
    assert with_json - {"losses", "datasets"} == set(documented()) - {"An estimate"}


def test_facts_of_a_study(monkeypatch, tmp_path, capsys):
    """Its keys, without the minutes that a study takes."""
    table = pd.DataFrame([["items", 82, 82]], columns=["fact", "paper", "here"])
    study = SimpleNamespace(name="galaxies", facts=table, write=lambda _: [Path("summary.md")])
    monkeypatch.setattr(epl.studies, "reproduce", lambda *_, **__: study)
    assert main(["reproduce", "galaxies", "--out", str(tmp_path / "g"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) == {key.split("[")[0] for key in documented()["reproduce"]}
    assert answer["facts"] == [{"fact": "items", "paper": "82", "here": "82"}]
