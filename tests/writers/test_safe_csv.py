"""Names that a spreadsheet would run, or that csv could lose, come back as they were."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

import epluribus as epl
from epluribus._files import disarm, rearm, write_csv
from epluribus.readers.files import read_labels

NAMES = [
    "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1",
    "''+x", "a\nb", "a\rb", "#c",
]  # fmt: skip


def _counts(names):
    """Whether names are the numbers of items, which are then put in order."""
    return sorted(names) == [str(i) for i in range(len(names))]


DANGEROUS = tuple("=+-@\t\r\n")


def test_names_out_and_in(tmp_path):
    path, n = tmp_path / "labels.csv", len(NAMES)
    draws = epl.Draws([list(range(n)), [0] * n], items=NAMES)
    epl.minimize(draws, rng=1).write_labels(path)
    assert read_labels(path).index.tolist() == NAMES
    with path.open(encoding="utf-8", newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert len(cells) == 2 * (n + 1)
    assert not any(cell.startswith(DANGEROUS) for cell in cells)


def test_a_matrix_with_such_names_has_a_safe_header(tmp_path):
    draws = epl.Draws([[0, 0], [0, 1]], items=["=1+1", "ann"])
    from epluribus.writers.results import write_matrix

    write_matrix(tmp_path / "psm.csv", epl.psm(draws), draws.items)
    assert (tmp_path / "psm.csv").read_text().startswith("'=1+1,ann\n")


@given(st.lists(st.text(min_size=1), min_size=2, max_size=5, unique=True))
def test_any_names(tmp_path_factory, names):
    names = [
        name.encode(errors="replace").decode() for name in names
    ]  # half a character is not text
    path = tmp_path_factory.mktemp("names") / "labels.csv"
    write_csv(path, [["item", "cluster"], *([name, 0] for name in names)])
    assert [str(name) for name in read_labels(path).index] == (
        sorted(names) if _counts(names) else names
    )


@given(st.text())
def test_nothing_dangerous_is_written(text):
    safe = disarm(text)
    assert rearm(safe) == text
    if safe.startswith(DANGEROUS):
        float(safe)  # only numbers stay


@pytest.mark.parametrize("name", ["labels.csv", "best.npz", "page.html"])
def test_a_folder_is_refused_before_the_work(name, tmp_path):
    from epluribus._files import check_target

    (tmp_path / name).mkdir()
    with pytest.raises(IsADirectoryError, match=f"{name}' is a folder; the output must be a file"):
        check_target(tmp_path / name, (".csv", ".npz", ".html"))
