import json
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from io_cases import Z3, arviz_object

import epluribus as epl
from epluribus.readers.labels import read_labels

DRAWS = epl.Draws(np.random.default_rng(0).integers(3, size=(30, 9)), items=list("abcdefghi"))
BEST = epl.minimize(DRAWS, rng=1)
PLAIN = epl.minimize(np.asarray(DRAWS), rng=1)
CERTAINTY = np.linspace(0.2, 1, 9)


def test_certainty_from_draws(tmp_path):
    similarity = epl.psm(DRAWS)
    expected = []
    for i, label in enumerate(BEST.labels):
        others = [j for j in range(9) if j != i and BEST.labels[j] == label]
        alone = np.mean([(draw == draw[i]).sum() == 1 for draw in np.asarray(DRAWS)])
        expected.append(similarity[i, others].mean() if others else alone)
    assert BEST.to_pandas(DRAWS)["certainty"].tolist() == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(BEST.to_xarray(DRAWS)["certainty"], expected, atol=1e-8)
    BEST.write_labels(tmp_path / "labels.csv", DRAWS)
    assert "certainty" in (tmp_path / "labels.csv").read_text()


def test_frame():
    frame = BEST.to_pandas(CERTAINTY)
    assert list(frame.columns) == ["item", "cluster", "certainty"]
    assert frame["item"].tolist() == list("abcdefghi")
    assert frame["cluster"].tolist() == BEST.labels.tolist()
    assert PLAIN.to_pandas()["item"].tolist() == list(range(9))
    with pytest.raises(
        ValueError, match=r"'certainty' must be the Draws .* or one number per item, shape \(9,\)"
    ):
        BEST.to_pandas([0.5])


def test_dataset():
    data = BEST.to_xarray(CERTAINTY)
    np.testing.assert_array_equal(data["labels"], BEST.labels)
    np.testing.assert_array_equal(data["certainty"].sel(item="i"), 1.0)
    np.testing.assert_array_equal(data["size"], BEST.sizes)
    assert data.attrs["expected_loss"] == BEST.expected_loss
    assert "certainty" not in PLAIN.to_xarray()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_labels_with_certainty(ending, tmp_path):
    path = tmp_path / f"labels.{ending}"
    BEST.write_labels(path, CERTAINTY)
    frame = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert list(frame.columns) == ["item", "cluster", "certainty"]
    assert frame["item"].tolist() == list("abcdefghi")
    np.testing.assert_array_equal(frame["certainty"], CERTAINTY)
    assert [int(label) for label in read_labels(path).labels] == BEST.labels.tolist()
    with pytest.raises(
        ValueError, match=r"'certainty' must be None for the output .*only .csv and"
    ):
        BEST.write_labels(tmp_path / "labels.txt", CERTAINTY)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ["npz", "json"])
@pytest.mark.parametrize("loss", ["vi", "nid", epl.losses.binder(cost=0.75)])
def test_saved_and_loaded(ending, loss, tmp_path):
    best = epl.minimize(DRAWS, loss, rng=1)
    path = tmp_path / f"best.{ending}"
    best.save(path)
    again = epl.load(path)
    assert again.to_dict() == best.to_dict()
    assert again.to_json() == best.to_json()
    np.testing.assert_array_equal(again.labels, best.labels)
    assert again.labels.dtype == best.labels.dtype
    assert [run.trace for run in again.runs] == [run.trace for run in best.runs]
    assert epl.expected_loss(again.labels, DRAWS, again.loss) == pytest.approx(best.expected_loss)
    assert list(tmp_path.iterdir()) == [path]


def test_estimate_without_runs_is_saved(tmp_path):
    small = epl.minimize([[0, 0, 1], [0, 1, 1], [0, 0, 1]])
    small.save(tmp_path / "small.npz")
    assert epl.load(tmp_path / "small.npz").to_dict() == small.to_dict()


def test_json(tmp_path):
    text = BEST.to_json(tmp_path / "best.json")
    assert json.loads((tmp_path / "best.json").read_text()) == json.loads(text)
    record = json.loads(text)
    assert (record["format"], record["version"]) == ("epluribus estimate", 1)
    assert record["labels"] == BEST.labels.tolist()
    assert epl.load(tmp_path / "best.json").items == tuple("abcdefghi")


@pytest.mark.parametrize("name", ["mine", "vi"])
def test_a_loss_of_ones_own_must_be_given_again(name, tmp_path):
    """Also if it bears the name of one on board, or a cost that its name rounds."""
    vi = epl.losses.get("vi")
    mine = epl.Loss(lambda j, s, g, n: (s + g - 2 * j) / n + 1, vi.f1, vi.f2, vi.f3, name=name)
    best = epl.minimize(DRAWS, mine, rng=1)
    path = tmp_path / "best.json"
    best.save(path)
    with pytest.raises(
        ValueError, match=rf"'loss' must be given: .* with the loss '{name}', whose"
    ):
        epl.load(path)
    assert epl.load(path, loss=mine).loss is mine
    with pytest.raises(ValueError, match=rf"made with, '{name}'; got 'binder'"):
        epl.load(path, loss=epl.losses.binder())
    epl.minimize(DRAWS, epl.losses.vi(cost=1 / 3), rng=1).save(path)
    with pytest.raises(ValueError, match=r"'loss' must be given"):
        epl.load(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("best.txt", "", r"must end in .npz or .json; it ends in '.txt'"),
        ("best.json", "{", r"could not be read as .json"),
        ("best.npz", "junk", r"could not be read as .npz"),
        ("best.json", "[1]", r"must hold an estimate, saved by Estimate.save"),
        (
            "best.json",
            '{"format": "epluribus estimate", "version": 2}',
            r"has version 2 .* up to 1",
        ),
    ],
)
def test_files_that_cannot_be_loaded(name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        epl.load(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        epl.load(tmp_path / "nowhere.npz")
    with pytest.raises(ValueError, match=r"must end in .npz or .json; it ends in '.pkl'"):
        BEST.save(tmp_path / "best.pkl")


@pytest.mark.parametrize("make", ["installed", "tree"])
def test_added_to_an_arviz_object_and_its_file(make, tmp_path):
    if make == "installed":
        data = arviz_object(z=Z3)
    else:
        labels = xr.Dataset({"z": (("chain", "draw", "item"), Z3)})
        data = xr.DataTree.from_dict({"posterior": labels})
    best = epl.minimize(data, rng=1)
    assert best.add_to(data, certainty=np.ones(4)) is data
    np.testing.assert_array_equal(data["epluribus"]["labels"], best.labels)
    with pytest.raises(ValueError, match=r"'group' must be new; 'epluribus' is there already"):
        best.add_to(data)
    best.add_to(data, overwrite=True)
    best.add_to(data, "again")
    data.to_netcdf(str(tmp_path / "all.nc"))
    with xr.open_dataset(tmp_path / "all.nc", group="again") as group:
        np.testing.assert_array_equal(group["labels"], best.labels)
        assert group.attrs["loss"] == "vi"
    assert epl.read_draws(tmp_path / "all.nc").n_draws == 10


def test_a_dataset_has_no_groups():
    with pytest.raises(TypeError, match=r"'data' must be an ArviZ InferenceData .* got Dataset"):
        BEST.add_to(xr.Dataset())


@pytest.mark.parametrize(
    ("package", "call", "message"),
    [
        ("pandas", lambda _: BEST.to_pandas(), r"frame needs the package 'pandas', .*\[files\]"),
        ("xarray", lambda _: BEST.to_xarray(), r"needs the package 'xarray', .*\[arviz\]"),
        ("pyarrow", lambda p: BEST.write_labels(p / "x.parquet"), r"parquet needs .*\[files\]"),
    ],
)
def test_a_missing_package_is_named(package, call, message, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=message):
        call(tmp_path)
    assert not list(tmp_path.iterdir())
