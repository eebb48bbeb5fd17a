import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import epluribus as epl
from epluribus._files import write_whole
from epluribus.partition import matched
from epluribus.readers.files import read_labels
from io_cases import Z3

DRAWS = epl.Draws(np.random.default_rng(0).integers(3, size=(30, 9)), items=list("abcdefghi"))
CERTAINTY = np.linspace(0.2, 1, 9)


@cache
def best():
    return epl.minimize(DRAWS, rng=1)


def test_frame():
    frame = best().to_pandas(CERTAINTY)
    assert list(frame.columns) == ["cluster", "certainty"]
    assert (frame.index.name, frame.index.tolist()) == ("item", list("abcdefghi"))
    assert frame["cluster"].tolist() == best().labels.tolist()
    assert epl.minimize(np.asarray(DRAWS), rng=1).to_pandas().index.tolist() == list(range(9))


@pytest.mark.parametrize(
    "names",
    [None, list("abcdefghi"), [12, 3, 5, 7, 8, 9, 10, 11, 20], [f"0{i}" for i in range(9)]],
)
def test_frames_join_with_the_data_of_the_items(names):
    """Numbers stay numbers, although items have names as text: else pandas would join nothing."""
    data = pd.DataFrame({"x": np.arange(9) / 2}, index=names)[::-1]
    draws = epl.Draws(np.asarray(DRAWS), items=None if names is None else data.index[::-1])
    best = epl.minimize(draws, rng=0)
    support = epl.uncertainty.items(best, draws).to_pandas()["support"]
    joined = data.join(best.to_pandas(draws)).join(support)
    assert joined["cluster"].tolist() == best.labels[::-1].tolist()
    np.testing.assert_allclose(joined["support"], joined["certainty"], atol=1e-8)
    clusters = epl.uncertainty.clusters(best, draws).to_pandas()
    sizes = best.to_pandas().join(clusters, on="cluster")["size"]
    assert sizes.tolist() == best.sizes[best.labels].tolist()


def test_dataset():
    data = best().to_xarray(CERTAINTY)
    np.testing.assert_array_equal(data["labels"], best().labels)
    np.testing.assert_array_equal(data["certainty"].sel(item="i"), 1.0)
    np.testing.assert_array_equal(data["size"], best().sizes)
    assert data.attrs["expected_loss"] == best().expected_loss
    assert "certainty" not in epl.minimize(np.asarray(DRAWS), rng=1).to_xarray()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_labels_with_certainty(ending, tmp_path):
    path = tmp_path / f"labels.{ending}"
    best().write_labels(path, CERTAINTY)
    frame = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert list(frame.columns) == ["item", "cluster", "certainty"]
    assert frame["item"].tolist() == list("abcdefghi")
    # Old versions of pandas miss the last digit.
    np.testing.assert_allclose(frame["certainty"], CERTAINTY, rtol=1e-15)
    assert read_labels(path).astype(int).tolist() == best().labels.tolist()
    with pytest.raises(ValueError, match=r"'certainty' must be None .*only .csv and"):
        best().write_labels(tmp_path / "labels.txt", CERTAINTY)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ["csv", "txt", "npy", "json"])
def test_labels_out_and_in(ending, tmp_path):
    path = tmp_path / f"labels.{ending}"
    best().write_labels(path)
    if ending == "json":
        record = json.loads(path.read_text())
        assert record["labels"] == best().labels.tolist()
        assert record["items"] == list("abcdefghi")
    else:
        found = read_labels(path)
        assert found.astype(int).tolist() == best().labels.tolist()
        assert found.index.tolist() == list("abcdefghi" if ending == "csv" else range(9))
    assert list(tmp_path.iterdir()) == [path]


def test_labels_of_two_files_are_matched_by_name(tmp_path):
    one, two, three = (tmp_path / name for name in ("1.csv", "2.parquet", "3.csv"))
    one.write_text("item,cluster\nann,0\nbob,1\ncy,2\n")
    pd.DataFrame({"item": ["cy", "ann", "bob"], "cluster": [7, 8, 9]}).to_parquet(two, index=False)
    mine, theirs = read_labels(one), read_labels(two)
    assert mine.astype(int).to_dict() == {"ann": 0, "bob": 1, "cy": 2}
    assert theirs.to_dict() == {"cy": 7, "ann": 8, "bob": 9}
    assert matched(theirs, mine, "b").tolist() == [0, 1, 2]
    three.write_text("cluster\n5\n6\n5\n")  # no names: line by line
    assert matched(read_labels(three), mine, "b").tolist() == [0, 1, 0]
    three.write_text("item,cluster\n2,5\n0,6\n1,6\n")  # numbers: the items in another order
    assert read_labels(three).tolist() == [6, 6, 5]


@pytest.mark.parametrize(
    ("text", "labels", "items"),
    [
        ("item,vi\nann,5\nbob,5\ncy,7\n", [5, 5, 7], ["ann", "bob", "cy"]),
        ("id,cluster\n1,5\n2,5\n3,7\n", [5, 5, 7], [0, 1, 2]),
        ("id,group\n1,5\n2,5\n3,7\n", "the columns id, group", None),
        ("5,5,7\n", [5, 5, 7], None),
        ("5\n5\n7\n", [5, 5, 7], None),
        ("item,vi,binder\nann,5,1\nbob,5,1\ncy,7,1\n", "the columns item, vi, binder", None),
        ("5,1\n5,1\n7,1\n", "2 columns", None),
    ],
)
def test_a_file_of_labels_has_one_partition(text, labels, items, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    if isinstance(labels, str):
        with pytest.raises(ValueError, match=rf"must hold one partition: .*got {labels}. Keep one"):
            read_labels(path)
        return
    found = read_labels(path)
    assert found.astype(int).tolist() == labels
    assert items is None or found.index.tolist() == items


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("old")

    def fail(target):
        target.write_text("half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("names", [None, [101, 205, 7, 3], ["ann", "bob", "cy", "di"]])
def test_the_dimension_of_the_user_is_kept(names, tmp_path):
    coords = {} if names is None else {"gene": names}
    labels = xr.Dataset({"z": (("chain", "draw", "gene"), Z3)}, coords=coords)
    data = xr.DataTree.from_dict({"posterior": labels})
    draws = epl.Draws(data)
    best = epl.minimize(draws, rng=1)
    assert draws[2:].burn(1).dimension == epl.Draws(draws).dimension == best.dimension == "gene"
    best.save(tmp_path / "best.json")
    for one in (best, epl.load(tmp_path / "best.json")):
        assert one.to_xarray()["labels"].dims == ("gene",)
        data["epluribus"] = xr.DataTree(one.to_xarray())
        group = data["epluribus"]
        assert group["gene"].values.tolist() == (list(range(4)) if names is None else names)
    # By the coordinate, values of the two groups come together.
    last = data["posterior"]["z"][-1, -1]
    together = xr.merge(
        [last.drop_vars(["chain", "draw"], errors="ignore"), group["labels"]], join="exact"
    )
    assert together.sizes == {"gene": 4}
