"""What all commands share: help, version, errors in one line, lists of names, completion in the shell."""

import json
import re
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main

COMMANDS = (
    "summarize", "compare", "psm", "ball", "modes", "report", "methods", "sample", "soft", "reproduce",
    "demo", "losses", "datasets", "completion", "warmup",
)  # fmt: skip


def _help(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--help"])
    assert stop.value.code == 0
    return capsys.readouterr().out


def test_help_lists_the_commands_and_the_exit_codes(capsys):
    text = _help(capsys)
    assert re.findall(r"^    (\w+)", text, flags=re.MULTILINE) == list(COMMANDS)
    assert "130 after Ctrl-C" in text.replace("\n", " ")
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_has_an_example(name, capsys):
    example = _help(capsys, name).split("\nExample", 1)[1]
    assert f"epluribus {name}" in example.replace("\n", " ")


def test_version_and_module():
    command = [sys.executable, "-m", "epluribus", "--version"]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert out.stdout == f"epluribus {epl.__version__}\n"


def test_losses_and_datasets(capsys):
    assert main(["losses", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == epl.losses.describe()
    assert main(["datasets", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"galaxies", "congress", "blogs"}
    assert main(["losses"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(epl.losses.available())
    assert main(["datasets"]) == 0
    assert "82 galaxies" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["summarize", "nowhere.csv"], "epluribus: There is no file 'nowhere.csv'."),
        (["sumarize", "{draws}"], "Did you mean 'summarize'?"),
        (["--los", "vi"], "'COMMAND' must be one of 'summarize'"),
        (
            ["summarize", "{draws}", "--lost", "vi"],
            "has no argument '--lost'. Did you mean '--loss'?",
        ),
        (["summarize", "{draws}", "--loss", "vii"], "'--loss' must be one of"),
        (["summarize", "{draws}", "--loss", "vii"], "Did you mean 'vi'?"),
        (["summarize", "{draws}", "--search", "x"], "'--search' must be one of"),
        (
            ["summarize", "{draws}", "--k-max", "0"],
            "'--k-max' must be at least 1; got 0.",
        ),
        (["summarize", "{draws}", "--out", "labels.doc"], "must end in .csv"),
        (["summarize", "{draws}", "--out", "-", "--json"], "both write to standard output"),
        (["psm", "{draws}", "--out", "psm.txt"], "must end in .npy, .npz or .csv"),
        (["psm", "{draws}", "--out", "psm.npy", "--sparse"], "must end in .npz or .csv"),
        (["psm", "{draws}", "--out", "-", "--threshold", "0.1"], "'--threshold' is for --sparse"),
        (["psm", "{draws}", "--out", "-", "--json"], "both write to standard output"),
        (["ball", "{draws}", "--level", "2"], "'--level' must be a number in (0, 1]; got 2.0"),
        (["modes", "{draws}", "--n-modes", "0"], "'--n-modes' must be"),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments, message, draws_file, capsys):
    assert main([argument.format(draws=draws_file) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_what_argparse_refuses_is_one_line_too(draws_file, capsys):
    for arguments, message in [
        (["ball"], "epluribus ball: the following arguments are required: DRAWS."),
        (
            ["ball", str(draws_file), "--level", "high"],
            "argument --level: invalid float value: 'high'.",
        ),
    ]:
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        error = capsys.readouterr().err
        assert error.startswith("epluribus ball: ")
        assert message in error
        assert error.count("\n") == 1


def test_a_forbidden_file_is_one_line(capsys, monkeypatch):
    def forbidden(*_, **__):
        raise PermissionError(13, "Permission denied", "draws.csv")

    monkeypatch.setattr(epl, "read_draws", forbidden)
    assert main(["summarize", "draws.csv"]) == 2
    assert capsys.readouterr().err == "epluribus: Permission denied: 'draws.csv'.\n"


def test_warnings_are_remarks(draws_file, capsys, monkeypatch):
    real = epl.psm
    monkeypatch.setattr(
        epl, "psm", lambda *a, **k: warnings.warn("Look.", stacklevel=1) or real(*a, **k)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["psm", str(draws_file), "-o", "-"]) == 0
    assert capsys.readouterr().err == "epluribus: Look.\n"


@pytest.mark.parametrize("name", ["compare", "psm", "ball", "methods"])
def test_ctrl_c_says_that_there_is_no_answer(name, draws_file, tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    (tmp_path / "a.txt").write_text("0\n1\n")
    files = [str(tmp_path / "a.txt")] * 2 if name == "compare" else [str(draws_file)]
    words = ["--out", str(tmp_path / "psm.npy")] if name == "psm" else []
    for step in ("loss", "psm", "minimize"):
        monkeypatch.setattr(epl, step, interrupted)
    assert main([name, *files, *words]) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "epluribus: interrupted; there is no answer, and nothing was written\n"


@pytest.mark.parametrize("name", ["ball", "methods"])
def test_an_interrupted_search_is_not_the_center_of_anything(name, draws_file, capsys, monkeypatch):
    real = epl.minimize
    monkeypatch.setattr(epl, "minimize", lambda *a, **k: replace(real(*a, **k), interrupted=True))
    assert main([name, str(draws_file)]) == 130
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_a_reader_that_has_enough_is_no_error(tmp_path):
    np.save(tmp_path / "z.npy", np.zeros((1, 1000), dtype=int))
    code = f"'{sys.executable}' -m epluribus psm '{tmp_path / 'z.npy'}' --out - | head -c 5"
    out = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "1,1,1"
    assert out.stderr == ""


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("jinja2", ["report", "nowhere.csv", "--out", "page.html"]),
        ("shtab", ["completion", "bash"]),
    ],
)
def test_a_missing_package_is_named_with_its_extra(package, command, monkeypatch, capsys):
    """And before any work: there is no file of draws."""
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    assert main(command) == 2
    extra = {"jinja2": "report", "shtab": "completion"}[package]
    message = f"needs the package '{package}', which is not installed. Install it with: "
    assert f'{message}pip install "epluribus[{extra}]"\n' in capsys.readouterr().err


def _complete(script, *words):
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    code = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}\n_shtab_epluribus\n"
    code += 'printf "%s\\n" "${COMPREPLY[@]}"'
    out = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return out.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_completion_in_bash(capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    for words, offered in [
        (("su",), ["summarize"]),
        (("ball", "--le"), ["--level"]),
        (("ball", "draws.csv", "--le"), ["--level"]),
        (("ball", "--loss", "bi"), ["binder"]),
        (("ball", "draws.csv", "--loss", "bi"), ["binder"]),
        (("summarize", "--search", "g"), ["greedy"]),
        (("sample", "--prior", "po"), ["poisson"]),
        (("sample", "--moves", "a"), ["appendix"]),
        (("sample", "--cov"), ["--covariance"]),
        (("sample", "--covariance", "f"), ["full"]),
        (("soft", "--cl"), ["--clusters-first"]),
        (("methods", "--bi"), ["--bibtex"]),
        (("reproduce", "g"), ["galaxies"]),
    ]:
        assert _complete(script, "epluribus", *words) == offered
    assert set(COMMANDS) <= set(_complete(script, "epluribus", ""))


@pytest.mark.parametrize(
    ("shell", "registered"), [("zsh", "#compdef epluribus\n"), ("tcsh", "complete epluribus ")]
)
def test_completion_in_other_shells_has_commands_options_and_values(shell, registered, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert registered in script
    for word in (*COMMANDS, "k-max", *epl.losses.available(), "poisson", "appendix", "greedy"):
        assert word in script


def test_losses_with_parameters_are_not_refused_by_the_parser(draws_file, capsys):
    assert main(["summarize", str(draws_file), "--loss", "vi(cost=0.5)", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["loss"] == "vi(cost=0.5)"


def test_import_is_light():
    """Nothing is imported that only some users need, or that takes long."""
    heavy = (
        "arviz",
        "jinja2",
        "matplotlib",
        "networkx",
        "pandas",
        "scipy.optimize",
        "scipy.sparse",
    )
    heavy += ("shtab", "sklearn", "tqdm", "xarray")
    late = ("arviz_stats", "matplotlib", "scipy.stats", "sklearn")
    for module, names in (("epluribus", heavy), ("epluribus.uncertainty", late)):
        code = f"import sys, {module}; print([name for name in {names} if name in sys.modules])"
        run = [sys.executable, "-c", code]
        out = subprocess.run(run, capture_output=True, text=True, check=True)
        assert out.stdout.strip() == "[]"
