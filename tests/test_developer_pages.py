"""What the developer pages name exists: files, modules, attributes, and every other word of code."""

import importlib
import re
from pathlib import Path

import pytest

import epluribus

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "developer").glob("*.md"))
if not PAGES:
    pytest.skip("the documentation is not beside the tests", allow_module_level=True)

CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
PLACE = re.compile(r"[\w./-]+/|[\w./-]+\.(?:py|md)")
NAME = re.compile(r"[A-Za-z_][\w.]*")


def spans(page):
    """What stands in backticks in the text of a page."""
    return sorted(set(SPAN.findall(CODE.sub("", page.read_text("utf-8")))))


def places():
    return [(page, span) for page in PAGES for span in spans(page) if PLACE.fullmatch(span)]


def exists(page, place):
    """From the top of the repository, in the package or its tests, or beside the page."""
    folders = [ROOT, ROOT / "src" / "epluribus", ROOT / "tests", ROOT / "tests/sampling"]
    return any((folder / place).exists() for folder in [*folders, page.parent])


def resolve(name):
    """The object of a dotted name: the longest part that is a module, then attributes."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:n]))
            for part in parts[n:]:
                value = getattr(value, part)
        except (ModuleNotFoundError, AttributeError):
            continue
        return value
    raise LookupError(f"there is no {name}")


def words_of_code():
    files = [
        path
        for folder in ("src", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        if path != Path(__file__)
    ]
    files += [ROOT / "Makefile", ROOT / "pyproject.toml"]
    return set(re.findall(r"\w+", "\n".join(path.read_text("utf-8") for path in files)))


def test_the_pages_and_their_places_are_found():
    assert {"design", "new-loss", "new-model", "new-move"} <= {page.stem for page in PAGES}
    assert len(places()) > 50


@pytest.mark.parametrize(
    ("page", "place"), places(), ids=lambda value: getattr(value, "stem", value)
)
def test_every_file_named_exists(page, place):
    assert exists(page, place)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page):
    for target in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_exists(page):
    """`epluribus.x.y` and `Class.x` are looked up; other words occur in the code or in the page's own."""
    known = words_of_code()
    own = set(re.findall(r"\w+", " ".join(CODE.findall(page.read_text("utf-8")))))
    classes = {
        "LocalSearch": "epluribus.search.local",
        "PairCosts": "epluribus.search.pairs",
        "Search": "epluribus.search.rounds",
        "TableState": "epluribus.search.state",
    }
    for span in spans(page):
        if PLACE.fullmatch(span) or "*" in span:  # a place, or a pattern of names
            continue
        for name in NAME.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "", span)):
            first = name.partition(".")[0]
            if first == "epluribus":
                assert resolve(name) is not None
            elif first in classes:
                assert resolve(f"{classes[first]}.{name}") is not None
            elif first[0].isupper() and "." in name and hasattr(epluribus, first):
                assert resolve(f"epluribus.{name}") is not None
            else:
                missing = set(name.strip(".").split(".")) - known - own
                assert not missing, f"`{span}` of {page.name}: {missing}"


def test_a_wrong_name_is_noticed():
    assert not exists(PAGES[0], "src/epluribus/no_such_file.py")
    with pytest.raises(LookupError):
        resolve("epluribus.search.no_such_name")
