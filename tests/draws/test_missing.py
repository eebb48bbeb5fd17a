"""Missing labels: every way in, what is refused, and what -1 means."""

import numpy as np
import pandas as pd
import pytest

import epluribus as epl

TABLE = np.array([[0, 0, 1, 1], [0, 1, 1, 2], [2, 2, 0, 0]])
MASK = np.array([[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]], bool)
WANTED = [[0, 0, 1, -1], [-1, 0, 0, 1], [0, 0, -1, 1]]
HOLES = np.where(MASK, np.nan, TABLE)
OBJECTS = [
    [None if hole else x for x, hole in zip(*pair, strict=True)]
    for pair in zip(TABLE, MASK, strict=True)
]
PAIRS = [(np.flatnonzero(~hole), row[~hole]) for row, hole in zip(TABLE, MASK, strict=True)]
NAMED = [(["abcd"[i] for i in items], [f"x{x}" for x in own]) for items, own in PAIRS]


@pytest.mark.parametrize(
    "given",
    [
        HOLES,
        HOLES.tolist(),
        HOLES.astype(np.float32),
        np.ma.masked_array(TABLE, MASK),
        np.ma.masked_array(np.where(MASK, 10**12, TABLE), MASK),
        OBJECTS,
        [[x if x is None else f"w{x}" for x in row] for row in OBJECTS],
        pd.DataFrame(HOLES),
        pd.DataFrame(OBJECTS, dtype="Int64"),
        PAIRS,
        NAMED,
        epl.Draws(HOLES),
    ],
)
def test_every_way_in(given):
    draws = epl.Draws(given)
    assert np.asarray(draws).tolist() == WANTED
    assert draws.has_missing
    assert draws.n_seen.tolist() == [3, 3, 3]
    assert draws.n_clusters.tolist() == [2, 2, 2]
    assert [row.tolist() for row in draws] == WANTED
    assert np.asarray(draws[1:]).tolist() == WANTED[1:]


@pytest.mark.parametrize("mark", [9, -7, "none"])
def test_a_value_that_stands_for_a_missing_label(mark):
    if isinstance(mark, str):
        words = [[mark if x is None else f"w{x}" for x in row] for row in OBJECTS]
        assert np.asarray(epl.Draws(words, missing=mark)).tolist() == WANTED
    else:
        given = np.where(MASK, mark, TABLE)
        assert np.asarray(epl.Draws(given, missing=mark)).tolist() == WANTED
        assert np.asarray(epl.Draws(given.astype(float), missing=mark)).tolist() == WANTED


@pytest.mark.parametrize("hole", ["", "NA", "nan", "?"])
def test_empty_cells_of_text_files(tmp_path, hole):
    for letter in ("", "w"):
        path = tmp_path / "z.csv"
        rows = [[hole if x is None else f"{letter}{x}" for x in row] for row in OBJECTS]
        path.write_text("\n".join(",".join(row) for row in [list("abcd"), *rows]))
        draws = epl.read_draws(path)
        assert np.asarray(draws).tolist() == WANTED
        assert draws.items == tuple("abcd")


def test_names_and_weights_of_subsampled_runs():
    draws = epl.Draws(NAMED, weights=epl.Draws(NAMED).n_seen)
    assert draws.items == tuple("abcd")
    np.testing.assert_allclose(draws.draw_weights, [3] * 3)


def test_equal_draws_are_equal_with_their_holes():
    draws = epl.Draws([[0, 0, None], [3, 3, None], [0, 0, 1], [0, 0, 0]])
    assert draws.index.tolist() == [0, 0, 1, 2]


def test_minus_one_means_what_the_user_says():
    z = np.array([[0, 0, -1, -1]])
    with pytest.warns(UserWarning, match=r'has labels of -1: .* each alone.* noise="together"'):
        assert epl.Draws(z)[0].tolist() == [0, 0, 1, 2]
    assert epl.Draws(z, noise="alone")[0].tolist() == [0, 0, 1, 2]
    assert epl.Draws(z, noise="together")[0].tolist() == [0, 0, 1, 1]
    z = np.array([[0, 0, -1, -1], [0, 0, 1, 1]])
    assert epl.Draws(z, noise="missing")[0].tolist() == [0, 0, -1, -1]
    for noise, wanted in (("alone", 3), ("together", 2)):
        found = epl.ConsensusClustering(noise=noise, random_state=1).fit(z[:1].T)
        assert found.n_clusters_ == wanted
