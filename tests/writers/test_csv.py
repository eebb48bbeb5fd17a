"""Names that csv could lose come back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import epluribus as epl
from epluribus._files import write_csv
from epluribus.readers.files import read_labels

NAMES = [
    "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1",
    "''+x", "a\nb", "a\rb", "#c",
]  # fmt: skip


def _counts(names):
    """Whether names are the numbers of items, which are then put in order."""
    return sorted(names) == [str(i) for i in range(len(names))]


def test_names_out_and_in(tmp_path):
    path, n = tmp_path / "labels.csv", len(NAMES)
    draws = epl.Draws([list(range(n)), [0] * n], items=NAMES)
    epl.minimize(draws, rng=1).write_labels(path)
    assert read_labels(path).index.tolist() == NAMES


@given(st.lists(st.text(min_size=1), min_size=2, max_size=5, unique=True))
def test_any_names(tmp_path_factory, names):
    # Half a character is not text.
    names = [name.encode(errors="replace").decode() for name in names]
    path = tmp_path_factory.mktemp("names") / "labels.csv"
    write_csv(path, [["item", "cluster"], *([name, 0] for name in names)])
    assert [str(name) for name in read_labels(path).index] == (
        sorted(names) if _counts(names) else names
    )


@pytest.mark.parametrize("name", ["labels.csv", "best.npz", "page.html"])
def test_a_folder_is_refused_before_the_work(name, tmp_path):
    from epluribus._files import check_target

    (tmp_path / name).mkdir()
    with pytest.raises(IsADirectoryError, match=f"{name}' is a folder; the output must be a file"):
        check_target(tmp_path / name, (".csv", ".npz", ".html"))
