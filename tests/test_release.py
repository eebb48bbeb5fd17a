"""What a release needs is there and agrees: versions, workflows, the files of the sdist, measured numbers on pages."""

import re
import tomllib
from pathlib import Path

import pytest

import epluribus as epl

ROOT = Path(__file__).parents[1]
if not (ROOT / ".github").is_dir():
    pytest.skip("the files of a release are not beside the tests", allow_module_level=True)
yaml = pytest.importorskip("yaml")

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def steps(flow):
    return [step for job in flow["jobs"].values() for step in job.get("steps", [])]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_that_exist_and_may_do_little(path):
    flow = yaml.safe_load(path.read_text("utf-8"))
    assert flow["permissions"] == {"contents": "read"}
    for name, job in flow["jobs"].items():
        # Only the jobs that publish may ask for more, and they run no code of the checkout.
        if "permissions" in job:
            assert name == "publish"
            assert all("run" not in step for step in job["steps"])
    for step in steps(flow):
        for target in re.findall(r"^\s*make (\S+)$", step.get("run", ""), re.MULTILINE):
            assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"]), step["uses"]
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


def test_only_tested_pythons_are_claimed():
    """A classifier is a claim: this list grows when the workflow has passed there."""
    lines = SETTINGS["project"]["classifiers"]
    assert {line.rsplit(" ", 1)[1] for line in lines if ":: 3." in line} == {"3.11"}


def test_the_version_is_the_same_everywhere():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == epl.__version__


def test_the_sdist_names_what_exists():
    for name in SETTINGS["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / name).exists(), name
    assert (ROOT / "src/epluribus/py.typed").is_file()


def test_links_of_the_files_at_the_root_lead_to_files():
    for path in ROOT.glob("*.md"):
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text("utf-8")):
            assert (ROOT / link).is_file(), (path.name, link)


def benchmark_rows(section):
    """The rows of one table of benchmarks/RESULTS.md, by column."""
    text = (ROOT / "benchmarks/RESULTS.md").read_text("utf-8")
    lines = text.split(f"\n## {section}")[1].split("\n## ")[0].split("\n")
    head, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")
    )
    return [dict(zip(head, row, strict=True)) for row in rows]


def words(page):
    return " ".join((ROOT / "docs" / page).read_text("utf-8").split())


def test_pages_state_the_quality_that_the_benchmarks_found():
    hard = {row["loss"]: row for row in benchmark_rows("Hard samples")}
    reached, calls = map(int, hard["all"]["reach the best known"].split(" of "))
    worst = {loss: float(row["worst excess (%)"]) for loss, row in hard.items()}
    missed = f"{calls - reached} of {calls} calls with default settings"
    quick = f"at most {max(worst['vi'], worst['binder']):.3f}%"
    for page in ("about/comparison.md", "reference/limitations.md"):
        assert missed in words(page)
        assert quick in words(page)
        assert f"the others by at most {worst['all']:.2f}%" in words(page)
    exact = benchmark_rows("Against the exact optimum")[-1]
    found = f"{exact['reach the optimum']} tiny samples whose optimum was enumerated"
    assert found in words("about/comparison.md")
