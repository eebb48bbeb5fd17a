"""Labels in memory: one table, read by items, by draws, and by a function of it."""

import pickle

import numpy as np
import pytest

import epluribus as epl

RNG = np.random.default_rng(2)
TRUTH = RNG.integers(4, size=40)
Z = np.where(RNG.random((3, 150, 40)) < 0.2, RNG.integers(5, size=(3, 150, 40)), TRUTH)
Z[1, 100:] = Z[1, 0]  # draws that repeat
WEIGHTS = RNG.integers(1, 4, size=(3, 150)) / 7


@pytest.fixture(scope="module")
def draws():
    return epl.Draws(Z, weights=WEIGHTS)


def test_rows_and_columns(draws):
    items, numbers = RNG.integers(40, size=7), RNG.integers(draws.n_distinct, size=90)
    table = draws.item_major
    for found, wanted in (
        (draws.store.rows(items), table[items]),
        (draws.store.columns(numbers), table[:, numbers]),
    ):
        np.testing.assert_array_equal(found, wanted)
        assert found.flags.c_contiguous
        assert found.dtype == table.dtype


def test_map(draws):
    def part_of(part, numbers):
        return part.table.shape, part.begin, part.columns, part.own(numbers).tolist()

    n = draws.n_distinct
    found = draws.store.map(part_of, np.array([3, n, 0]))
    assert found == [((40, n), 0, slice(0, n), [0, 2])]


@pytest.mark.parametrize(
    ("cut", "rows"),
    [
        (lambda d: d.burn(20), np.r_[20:150, 170:300, 320:450]),
        (lambda d: d.thin(3), np.arange(0, 450, 3)),
        (lambda d: d.chain(1), np.arange(150, 300)),
        (lambda d: d[::-1], np.arange(449, -1, -1)),
        (lambda d: d[[5, 5, 440]], np.array([5, 5, 440])),
        (lambda d: epl.Draws(d, burn=10, thin=2), np.r_[10:150:2, 160:300:2, 310:450:2]),
    ],
    ids=["burn", "thin", "chain", "reversed", "some", "again"],
)  # fmt: skip
def test_a_part_is_what_its_rows_give(draws, cut, rows):
    part = cut(draws)
    wanted = epl.Draws(
        Z.reshape(450, 40)[rows], weights=WEIGHTS.ravel()[rows], chains=draws.chains[rows]
    )
    np.testing.assert_array_equal(part.item_major, wanted.item_major)
    for name in ("index", "chains", "weights", "n_clusters", "n_seen"):
        np.testing.assert_array_equal(getattr(part, name), getattr(wanted, name))
    np.testing.assert_array_equal(part[-1], wanted[-1])
    assert part.store.groups == wanted.store.groups


def test_pickle(draws):
    again = pickle.loads(pickle.dumps(draws))
    assert epl.expected_loss(TRUTH, again) == epl.expected_loss(TRUTH, draws)
    np.testing.assert_array_equal(again.thin(7).distinct, draws.thin(7).distinct)
