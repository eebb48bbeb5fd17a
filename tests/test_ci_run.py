"""The check of a fresh machine passes on what `make test` says, and is loud where no browser was there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "run"
if sys.platform == "win32" or not SCRIPT.is_file():
    pytest.skip("no script of the check, or no shell to run it", allow_module_level=True)
LOUD = "THE BROWSER TESTS WERE SKIPPED"


@pytest.fixture
def check(tmp_path):
    """Runs the script where only stand-ins for `make`, the browser and the installer can be found."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "sh", "env", "dirname", "mktemp", "rm", "tee", "grep", "timeout"):
        (programs / name).symlink_to(shutil.which(name))
    (tmp_path / ".ci").mkdir()
    script = shutil.copy(SCRIPT, tmp_path / ".ci" / "run")

    def run(**stand_ins):
        for name, body in {"id": "echo 0", **stand_ins}.items():
            path = programs / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
            path.chmod(0o755)
        return subprocess.run(
            [script], env={"PATH": str(programs), "TMPDIR": os.fspath(tmp_path)}, cwd="/",
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def test_with_a_browser_nothing_is_installed_or_said(check, tmp_path):
    done = check(
        chromium="true", chromedriver="true", apt_get=f"touch {tmp_path}/asked",
        make='test "$1" = test && echo "1 passed"',
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 passed\n", "")
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(("user", "fails"), [("0", False), ("0", True), ("1000", False)])
def test_a_browser_that_cannot_be_installed_is_no_failure(check, tmp_path, user, fails):
    """Also after a failed update: the lists of packages may be there already. Nobody is asked for a password."""
    done = check(
        id=f"echo {user}", sudo="exit 1", make='echo "1 passed"',
        apt_get=f'echo "$*" >> {tmp_path}/asked; exit {int(fails)}',
    )  # fmt: skip
    assert done.returncode == 0
    assert ("could not be installed" in done.stdout) is (fails or user != "0")
    assert (tmp_path / "asked").exists() is (user == "0")
    assert LOUD not in done.stdout


@pytest.mark.parametrize("status", [0, 2])
def test_skipped_browser_tests_are_said_loudly_and_last(check, status):
    line = "SKIPPED [11] tests/report/test_browser.py:88: no Chromium"
    done = check(make=f"echo '{line}'; echo '1 passed'; exit {status}")
    assert done.returncode == status
    said, last = done.stdout.split("1 passed")
    assert LOUD not in said
    assert LOUD in last
    assert last.endswith(f"{line}\n")
