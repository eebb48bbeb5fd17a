"""Standard streams that are closed, full or of another alphabet; Ctrl-C while the package is loaded."""

import os
import subprocess
import sys

import pytest

from epluribus import __main__ as start

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")


@pytest.fixture
def shell(tmp_path):
    """Run the command in a shell that redirects its streams; {draws} is a file of draws."""
    path = tmp_path / "draws.csv"
    path.write_text("é,b,c\n0,0,1\n0,0,1\n0,1,1\n", encoding="utf-8")

    def shell(command, **environment):
        line = f"'{sys.executable}' -m epluribus {command}".format(draws=path)
        return subprocess.run(
            ["sh", "-c", line], capture_output=True, env={**os.environ, **environment}, check=False
        )

    return shell


def test_closed_streams(shell, tmp_path):
    done = shell(f"summarize {{draws}} --seed 1 --out '{tmp_path / 'o.csv'}' >&-")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "o.csv").read_text("utf-8").startswith("item,cluster,certainty\né,0,")
    done = shell("summarize {draws} --seed 1 2>&-")
    assert done.returncode == 0
    assert done.stdout.startswith(b"2 clusters of 3 items")
    done = shell("summarize nowhere.csv >&- 2>&-")
    assert done.returncode == 2
    done = shell("summarize - <&-")
    assert done.returncode == 2
    assert (
        done.stderr == b"epluribus: Standard input is closed: there is nothing to read from '-'.\n"
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")  # noqa: PTH110
def test_a_full_disk(shell):
    done = shell("losses > /dev/full")
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_locale_without_the_letters(shell):
    """Data are UTF-8 as in files; sentences have escapes."""
    done = shell("psm {draws} --out -", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.startswith("é,b,c\n".encode())
    done = shell("summarize é.csv", PYTHONIOENCODING="ascii")
    assert done.returncode == 2
    assert b"There is no file" in done.stderr


def test_ctrl_c_while_loading(monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    module = type(sys)("epluribus.cli")
    module.__getattr__ = interrupted
    monkeypatch.setitem(sys.modules, "epluribus.cli", module)
    assert start.main() == 130
    assert capsys.readouterr().err == "epluribus: interrupted\n"
