"""Estimates saved and loaded: everything comes back."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import epluribus as epl

DRAWS = epl.Draws(np.random.default_rng(0).integers(3, size=(30, 9)), items=list("abcdefghi"))


@cache
def best():
    return epl.minimize(DRAWS, rng=1)


@pytest.mark.parametrize(
    ("loss", "options"),
    [
        ("vi", {}),
        ("nid", {}),
        (epl.losses.binder(cost=0.75), {}),
        ("vi", {"k": 3}),
        ("vi", {"k_max": 2}),
        ("vi", {"search": "greedy"}),
    ],
)
def test_saved_and_loaded(loss, options, tmp_path):
    best = epl.minimize(DRAWS, loss, rng=1, **options)
    assert bool(best.runs) == ("search" in options)  # few items are solved exactly
    path = tmp_path / "best.json"
    best.save(path)
    again = epl.load(path)
    assert again.to_dict() == best.to_dict()
    assert again.to_json() == best.to_json()
    np.testing.assert_array_equal(again.labels, best.labels)
    assert again.labels.dtype == best.labels.dtype
    for name in ("k_min", "k_max", "search", "bound"):
        assert getattr(again.settings, name) == getattr(best.settings, name)
    assert [run.trace for run in again.runs] == [run.trace for run in best.runs]
    assert epl.expected_loss(again.labels, DRAWS, again.loss) == pytest.approx(best.expected_loss)
    assert list(tmp_path.iterdir()) == [path]


def test_json(tmp_path):
    best().save(tmp_path / "best.json")
    record = json.loads((tmp_path / "best.json").read_text())
    assert record == json.loads(best().to_json())
    assert (record["format"], record["version"]) == ("epluribus estimate", 2)
    assert (record["k_min"], record["k_max"], record["search"]) == (1, None, "recombine")
    assert record["loss_built_in"]
    assert record["labels"] == best().labels.tolist()
    assert epl.load(tmp_path / "best.json").items == tuple("abcdefghi")


@pytest.mark.parametrize("name", ["mine", "vi"])
def test_a_users_own_loss_must_be_given_again(name, tmp_path):
    """Also if it has the name of one that is built in."""
    vi = epl.losses.get("vi")
    mine = epl.Loss(lambda j, s, g, n: (s + g - 2 * j) / n + 1, vi.f1, vi.f2, vi.f3, name=name)
    path = tmp_path / "best.json"
    replace(best(), loss=mine).save(path)
    with pytest.raises(ValueError, match=rf"must be given: .* with the loss '{name}', whose"):
        epl.load(path)
    assert epl.load(path, loss=mine).loss is mine
    with pytest.raises(ValueError, match=rf"made with, '{name}'; got 'binder'"):
        epl.load(path, loss=epl.losses.binder())


def test_a_built_in_loss_keeps_every_digit_of_its_cost(tmp_path):
    path = tmp_path / "best.json"
    replace(best(), loss=epl.losses.vi(cost=1 / 3)).save(path)
    assert epl.load(path).loss.parameters["cost"] == 1 / 3
    replace(best(), loss=replace(epl.losses.vi(), name="mine")).save(path)  # found under no name
    with pytest.raises(ValueError, match=r"'loss' must be given: .* the loss 'mine'"):
        epl.load(path)


# --- files that cannot be loaded ---

BEGIN = '{"format": "epluribus estimate", "version": %d}'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("best.txt", "", r"must end in .json; it ends in '.txt'"),
        ("best.json", "{", r"could not be read as .json"),
        ("best.json", "[1]", r"must hold an estimate, saved by Estimate.save"),
        ("best.json", BEGIN % 3, r"must have version 2 .* it has 3"),
        ("best.json", BEGIN % 2, r"best.json' could not be read as an estimate: it has no 'loss'"),
    ],
)
def test_files_that_cannot_be_loaded(name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        epl.load(tmp_path / name)
