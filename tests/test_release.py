"""What a release needs is there and agrees: addresses, versions, workflows, recipe, description, paper."""

import importlib
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
PROJECT = SETTINGS["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def load(path):
    # YAML reads a bare `on:` as true; under its own name it can be looked up.
    found = yaml.safe_load(path.read_text("utf-8"))
    return {("on" if key is True else key): value for key, value in found.items()}


def steps(path):
    return [step for job in load(path)["jobs"].values() for step in job.get("steps", [])]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_make_target_of_a_workflow_exists(path):
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split()
    for step in steps(path):
        for line in re.findall(r"^\s*make (.*)$", step.get("run", ""), re.MULTILINE):
            for target in line.split():
                assert target in phony
                assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_do_little_and_pin_what_they_use(path):
    flow = load(path)
    assert flow["permissions"] == {"contents": "read"}
    for name, job in flow["jobs"].items():
        # Only the jobs that publish may ask for more, and they run no code of the checkout.
        if "permissions" in job:
            assert name == "publish"
            assert all("run" not in step for step in job["steps"])
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"]), step["uses"]
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


def test_only_tested_pythons_are_claimed():
    """A classifier is a claim: this list grows when the workflow has passed there."""
    claimed = {line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if ":: 3." in line}
    assert claimed == {"3.11"}


def test_the_address_is_the_same_everywhere():
    """In `[project.urls]` it is decided; all other files follow."""
    owner = re.fullmatch(r"https://github\.com/([\w-]+)/epluribus", PROJECT["urls"]["Repository"])
    files = [
        ROOT / name for name in ("pyproject.toml", "mkdocs.yml", "CITATION.cff", "SECURITY.md")
    ]
    files += [ROOT / "conda/recipe.yaml", ROOT / "README.md", *(ROOT / ".github").rglob("*.yml")]
    for path in files:
        text = path.read_text("utf-8")
        owners = re.findall(r"(?:github\.com|githubusercontent\.com)/([\w-]+)/epluribus\b", text)
        owners += re.findall(r"https://([\w-]+)\.github\.io", text)
        assert set(owners) <= {owner[1]}, path
    assert {"Homepage", "Documentation", "Repository", "Issues", "Changelog"} <= set(
        PROJECT["urls"]
    )


def test_the_version_is_the_same_everywhere():
    assert load(ROOT / "CITATION.cff")["version"] == epl.__version__
    assert load(ROOT / "conda/recipe.yaml")["context"]["version"] == epl.__version__


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = load(ROOT / "conda/recipe.yaml")

    def plain(requirements):
        return {line.replace(" ", "") for line in requirements}

    needs = recipe["requirements"]
    assert plain(needs["run"][1:]) == plain(PROJECT["dependencies"])
    assert plain(SETTINGS["build-system"]["requires"]) <= plain(needs["host"])
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    (entry,) = recipe["build"]["python"]["entry_points"]
    name, place = entry.split(" = ")
    assert name in PROJECT["scripts"]
    module, function = place.split(":")
    assert callable(getattr(importlib.import_module(module), function))


def described():
    """The README as PyPI gets it."""
    settings = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = (ROOT / "README.md").read_text("utf-8")
    for one in settings["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    return text.replace("$HFPR_VERSION", epl.__version__)


def test_links_on_pypi_are_absolute_and_lead_to_files():
    address = PROJECT["urls"]["Repository"]
    raw = address.replace("github.com", "raw.githubusercontent.com")
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", described())
    assert len(links) > 20
    for picture, link in links:
        assert link.startswith("https://"), link
        start = f"{raw}/v{epl.__version__}/" if picture else f"{address}/blob/v{epl.__version__}/"
        if link.startswith(start):
            assert (ROOT / link.removeprefix(start).partition("#")[0]).is_file(), link
        else:
            assert not picture


def test_the_sdist_names_what_exists():
    for name in SETTINGS["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / name).exists(), name
    assert (ROOT / "src/epluribus/py.typed").is_file()


def test_the_paper_cites_what_it_lists():
    text = (ROOT / "paper/paper.md").read_text("utf-8")
    entries = re.findall(r"^@\w+\{(\w+),$", (ROOT / "paper/paper.bib").read_text("utf-8"), re.M)
    assert set(re.findall(r"@([A-Z]\w+\d{4})", text)) == set(entries)


def words(page):
    return " ".join((ROOT / page).read_text("utf-8").split())


def benchmark_rows(section):
    """The rows of one table of benchmarks/RESULTS.md, by column."""
    text = (ROOT / "benchmarks/RESULTS.md").read_text("utf-8")
    lines = text.split(f"\n## {section}")[1].split("\n## ")[0].split("\n")
    head, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")
    )
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_pages_tell_the_quality_that_the_benchmarks_found():
    hard = benchmark_rows("Hard samples")
    seeds = [row["seeds that reach it"].split(" of ") for row in hard]
    reached, calls = (sum(int(pair[k]) for pair in seeds) for k in (0, 1))
    worst = {
        loss: max(float(r["worst excess (%)"]) for r in hard if r["loss"] == loss)
        for loss in ("vi", "id", "nid")
    }
    for page in ("paper/paper.md", "docs/faq.md"):
        assert f"{reached} of {calls} calls" in words(page)
    for page in ("docs/faq.md", "docs/comparison.md"):
        assert f"at most {worst['vi']:.3f} %" in words(page)
    assert max(worst, key=worst.get) == "id"
    assert f"worst was {worst['id']:.2f} % above" in words("paper/paper.md")
    assert f"{calls - reached} of {calls} calls" in words("docs/comparison.md")
    assert f"{worst['id']:.2f} % off (ID) and {worst['nid']:.2f} % (NID)" in words(
        "docs/comparison.md"
    )
    exact = benchmark_rows("Against the exact optimum")[-1]
    assert (exact["clusters"], exact["cases"], exact["missed"]) == ("all", "500", "1")
    assert f"was missed, by {exact['worst excess (%)']} %)" in words("paper/paper.md")
    assert f"1 was missed, by {exact['worst excess (%)']} %" in words("docs/comparison.md")


def test_pages_tell_the_seconds_that_the_benchmarks_took():
    rows = {
        (row["sample"], row["loss"]): float(row["CPU s"]) for row in benchmark_rows("The search")
    }
    vi = [rows[sample, "vi"] for sample in ("small", "medium", "wide", "large", "huge")]
    (ours,) = re.findall(
        r"\| epluribus (\|.* s) \|\n", (ROOT / "docs/comparison.md").read_text("utf-8")
    )
    assert re.findall(r"in ([\d.]+) s", ours) == [f"{seconds:.2f}" for seconds in vi]
    assert f"{min(vi):.2f} to {max(vi):.2f} CPU seconds" in words("paper/paper.md")
    assert f"{min(vi):.2f} to {max(vi):.1f} CPU seconds" in words("README.md")
    for loss in ("vi", "binder", "nvi", "id", "nid", "omari"):
        seconds = rows["medium", loss]
        shown = f"{seconds:.1f}" if seconds >= 0.1 else f"{seconds:.2f}"
        assert re.search(
            rf"\[`{loss}`\]\({loss}\.md\) [^\n]*\| {shown} \|\n",
            (ROOT / "docs/losses/index.md").read_text(),
        )
