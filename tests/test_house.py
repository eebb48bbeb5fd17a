"""The house: the pages show the order of the rooms that is enforced, and an import to the right is caught."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "epluribus"
if not (ROOT / "docs").is_dir():
    pytest.skip("the documentation is not beside the tests", allow_module_level=True)


def rooms():
    """The rooms from left to right, as the contract of import-linter has them; base modules left out."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = settings["contracts"]
    assert contract["exhaustive"]
    return [layer for layer in reversed(contract["layers"]) if ":" not in layer]


@pytest.mark.parametrize("page", ["docs/developer/design.md", "CONTRIBUTING.md"])
def test_the_pages_show_the_order_of_the_contract(page):
    text = (ROOT / page).read_text("utf-8")
    (row,) = re.findall(r"^ *_kernels ─ [^`]*?cli$", text, re.MULTILINE)
    assert re.split(r"\s*─\s*", row.strip()) == rooms()


def test_every_room_is_on_the_map():
    text = (ROOT / "docs/developer/design.md").read_text("utf-8")
    for path in SOURCE.iterdir():
        if path.name.startswith("__") or path.name in ("_typing.py", "_version.py", "py.typed"):
            continue
        place = f"`src/epluribus/{path.name}{'/' if path.is_dir() else ''}`"
        assert place in text, place


def test_an_import_to_the_right_is_caught(tmp_path):
    """Also one inside a function, and one that leads there through another room."""
    pytest.importorskip("importlinter")
    package = tmp_path / "epluribus"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    (tmp_path / "pyproject.toml").write_text(settings, "utf-8")

    def lint():
        program = (
            "import sys; from importlinter.cli import lint_imports_command; "
            "sys.exit(lint_imports_command())"
        )
        return subprocess.run(
            [sys.executable, "-c", program, "--no-cache", "--no-logo"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )

    kept = lint()
    assert kept.returncode == 0, kept.stdout + kept.stderr
    with (package / "partition.py").open("a") as file:
        file.write(
            "\n\ndef sneak():\n    from epluribus.search import minimize\n    return minimize\n"
        )
    broken = lint()
    assert broken.returncode == 1
    assert "epluribus.partition -> epluribus.search" in broken.stdout
