"""What all commands share: help, errors in one line, Ctrl-C, lists of names."""

import json
import re
import shutil
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import event

import epluribus as epl
from epluribus.cli import main
from epluribus.cli._base import COMMANDS

bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")


def interrupted(*_, **__):
    raise KeyboardInterrupt


def _help(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([*arguments])
    assert stop.value.code == 0
    return capsys.readouterr().out


def test_help_lists_the_commands_and_the_exit_codes(capsys):
    text = _help(capsys)
    assert text == _help(capsys, "--help")
    assert re.findall(r"^    (\w+)", text, flags=re.MULTILINE) == list(COMMANDS)
    assert len(COMMANDS) == 17
    assert "130 after Ctrl-C" in text.replace("\n", " ")
    assert _help(capsys, "--version") == f"epluribus {epl.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_has_an_example_and_its_arguments(name, capsys):
    text = " ".join(_help(capsys, name, "--help").split())
    assert f"epluribus {name}" in text.split("Example", 1)[1]
    for argument in COMMANDS[name][2]:
        assert argument.help in text or "-" in argument.help  # argparse may break words at a hyphen
        # Wherever a file can be written, -o is its name, too.
        assert argument.names[-1] != "--out" or argument.names[0] == "-o"


def test_losses_and_datasets(capsys):
    assert main(["losses", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == epl.losses.describe()
    assert main(["datasets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["galaxies", "congress", "blogs"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with files of all kinds."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "draws.csv": "a,b,c,d,e,f,g\n0,0,0,1,1,1,0\n0,0,0,1,1,1,1\n0,0,0,1,1,1,2\n",
        "same.csv": "a,g\n",
        "typo.csv": "aa,g\n",
        "empty.csv": "",
        "xy.csv": "x,y\n" + "".join(f"{i},{i}\n" for i in range(7)),
        "items.csv": "item,file\na,x\nb,x\nc,\nd,y\ne,y\nf,z\ng,z\n",
        "x.csv": "who,x\n" + "".join(f"{name},{i}\n" for i, name in enumerate("abcdefg")),
        "edges.csv": "from,to\na,b\nc,b\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sumarize draws.csv", "Did you mean 'summarize'?"),
        ("--loss vi", "'COMMAND' must be one of 'summarize'"),
        ("summarize draws.csv --lost vi", "no argument '--lost'. Did you mean '--loss'?"),
        ("summarize nowhere.csv", "epluribus: There is no file 'nowhere.csv'."),
        ("summarize draws.csv --loss vii", "Did you mean 'vi'?"),
        ("summarize draws.csv --k-max 0", "'--k-max' must be at least 1; got 0."),
        ("summarize draws.csv --k-min 2 --k-max 1", "must be at most '--k-max'"),
        ("summarize draws.csv --min-size 99", "'--min-size' is 99, too large"),
        ("summarize draws.csv --seed -1", "'--seed' must be an integer of at least 0"),
        ("summarize draws.csv --out labels.doc", "must end in .csv"),
        ("summarize draws.csv --out - --json", "both write to standard output"),
        ("summarize draws.csv --must-link same.csv --cannot-link same.csv", "'a' and 'g' together"),
        ("summarize draws.csv --source file", "'--source' must be given together with '--items'"),
        ("summarize draws.csv --items items.csv --source town", "columns are ['item', 'file']"),
        ("summarize draws.csv --must-link nowhere.csv", "There is no file"),
        ("summarize draws.csv --must-link typo.csv", "by their names, such as 'a'; got 'aa'"),
        ("summarize draws.csv --cannot-link empty.csv", "is empty"),
        ("psm draws.csv -o psm.txt", "must end in .npy, .npz or .csv"),
        ("psm draws.csv -o psm.npy --sparse", "must end in .npz or .csv"),
        ("psm draws.csv -o - --threshold 0.1", "'--threshold' is for --sparse"),
        ("ball draws.csv --level 2", "'--level' must be a number in (0, 1]; got 2.0"),
        ("ball draws.csv --loss vi,binder", "'--loss' must be one loss here"),
        ("ball draws.csv --level high", "argument --level: invalid float value: 'high'."),
        ("ball", "epluribus ball: the following arguments are required: DRAWS."),
        ("plot draws.csv -o a.png --kind scater", "Did you mean 'scatter'?"),
        ("plot draws.csv -o a.png --kind scatter", "must be given together with '--data'"),
        ("plot draws.csv -o a.png --kind network", "must be given together with '--network'"),
        ("plot draws.csv -o a.png --kind network --network x.csv", "The data come from 'x.csv'"),
        (
            "plot draws.csv -o a.png --network edges.csv --data xy.csv",
            "'--data' is not for '--kind",
        ),
        ("plot draws.csv -o a.bmp", "must end in .png, .svg or .pdf"),
        ("reproduce galaxies --data .", "'--data' must be left out for 'galaxies'"),
        ("reproduce galaxie", "Did you mean 'galaxies'?"),
        ("reproduce galaxies --out x.csv", "'--out' must be a folder"),
        ("reproduce blogs --data no", "'--data' must be a folder with french_blogs"),
        ("demo -o x.csv", "'--out' must be a folder"),
    ],
)
def test_bad_input_is_one_line_and_code_2(line, message, folder, capsys):
    try:
        code = main(line.split())
    except SystemExit as stop:  # what argparse itself refuses
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not (folder / "a.png").exists()


def test_a_forbidden_file_and_a_warning_are_one_line(capsys, monkeypatch):
    def warn(*_, **__):
        warnings.warn("Hm.", stacklevel=1)
        raise PermissionError(13, "Permission denied", "draws.csv")

    monkeypatch.setattr(epl, "read_draws", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["summarize", "draws.csv"]) == 2
    said = "epluribus: Hm.\nepluribus: Permission denied: 'draws.csv'.\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("name", ["compare", "psm", "ball", "modes", "methods"])
def test_ctrl_c_says_that_there_is_no_answer(name, draws_file, tmp_path, capsys, monkeypatch):
    (tmp_path / "a.txt").write_text("0\n1\n")
    files = [str(tmp_path / "a.txt")] * 2 if name == "compare" else [str(draws_file)]
    words = ["--out", str(tmp_path / "psm.npy")] if name == "psm" else []
    for step in ("loss", "psm", "minimize", "modes"):
        monkeypatch.setattr(epl, step, interrupted)
    assert main([name, *files, *words]) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "epluribus: interrupted; there is no answer\n"


@pytest.mark.parametrize("name", ["ball", "methods"])
def test_an_interrupted_search_is_not_the_center_of_anything(name, draws_file, capsys, monkeypatch):
    real = epl.minimize
    monkeypatch.setattr(epl, "minimize", lambda *a, **k: replace(real(*a, **k), interrupted=True))
    assert main([name, str(draws_file)]) == 130
    assert capsys.readouterr().out == ""


@bash
def test_a_reader_that_has_enough_is_no_error(tmp_path):
    np.save(tmp_path / "z.npy", np.zeros((1, 1000), dtype=int))
    code = f"'{sys.executable}' -m epluribus psm '{tmp_path / 'z.npy'}' --out - | head -c 5"
    out = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert (out.stdout, out.stderr) == ("1,1,1", "")


def test_a_missing_package_is_named_with_its_extra(monkeypatch, capsys):
    """And before any work: there is no file of draws."""
    monkeypatch.setitem(sys.modules, "jinja2", None)  # as if it were not installed
    assert main(["report", "nowhere.csv"]) == 2
    message = "needs the package 'jinja2', which is not installed. Install it with: "
    assert f'{message}pip install "epluribus[report]"\n' in capsys.readouterr().err


def test_import_is_light():
    """Nothing is imported that only some users need, or that takes long."""
    late = ("arviz_stats", "matplotlib", "scipy.stats", "sklearn")
    heavy = ("arviz", "jinja2", "networkx", "numpy", "pandas", "scipy", "tqdm", "xarray", *late)
    for module, names in (("epluribus", heavy), ("epluribus.uncertainty", late)):
        code = f"import sys, {module}; print([name for name in {names} if name in sys.modules])"
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert out.stdout.strip() == "[]"


def test_after_warmup_nothing_is_left_to_compile(capsys):
    assert main(["warmup"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == ["search"] * 5 + ["sampler"] * 6
    assert lines[-1].startswith("compiled code")
    rng = np.random.default_rng(5)
    z = np.where(rng.random((300, 82)) < 0.8, np.arange(82) % 5, rng.integers(5, size=(300, 82)))
    with event.install_recorder("numba:compile") as compiled:
        epl.search.minimize_all(z, ["vi", "binder"], rng=1)
        epl.sample(epl.models.GaussianMixture(rng.normal(size=50)), n_draws=5, rng=1)
    assert not compiled.buffer


def test_ctrl_c_ends_warmup(capsys, monkeypatch):
    monkeypatch.setattr(epl, "minimize", lambda *_, **__: SimpleNamespace(interrupted=True))
    assert main(["warmup"]) == 130
    assert capsys.readouterr().out == "search: vi, 60 items\n"


class Cleaned:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_that_python_drops_is_told(capsys, monkeypatch):
    """Raised where an object is cleaned up, it ends nothing: the answer comes, with a word and the code."""
    real = epl.losses.describe
    monkeypatch.setattr(epl.losses, "describe", lambda: [Cleaned(), real()][1])
    assert main(["losses"]) == 130
    said = capsys.readouterr()
    assert "omari" in said.out
    assert "interrupted; it came too late, and the answer is whole" in said.err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
