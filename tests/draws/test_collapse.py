"""Reading in one pass gives what a plain loop over the draws gives, whatever the blocks and threads."""

import numpy as np
import pytest

import epluribus as epl
from epluribus.draws import rows

RNG = np.random.default_rng(5)


def naive(z):
    """Distinct canonical draws in order of first appearance, and the place of each draw among them."""
    seen, index = {}, []
    for row in np.asarray(z).tolist():
        codes = {}
        key = tuple(codes.setdefault(label, len(codes)) for label in row)
        index.append(seen.setdefault(key, len(seen)))
    return np.array(list(seen)), np.array(index)


def check(draws, z):
    distinct, index = naive(z)
    np.testing.assert_array_equal(draws.distinct, distinct)
    np.testing.assert_array_equal(draws.index, index)
    np.testing.assert_array_equal(draws.distinct_n_clusters, distinct.max(axis=1) + 1)
    np.testing.assert_array_equal(draws.n_clusters, (distinct.max(axis=1) + 1)[index])
    np.testing.assert_array_equal(draws.weights, np.bincount(index))
    np.testing.assert_array_equal(np.asarray(draws), distinct[index])
    assert draws.item_major.flags.c_contiguous
    assert not draws.item_major.flags.writeable
    assert draws.item_major.dtype == np.min_scalar_type(int(distinct.max()))


@pytest.fixture(params=["small blocks", "threads", "one block"])
def blocks(request, monkeypatch):
    if request.param == "small blocks":
        monkeypatch.setattr(rows, "_BLOCK", (20, 3))
    elif request.param == "threads":
        monkeypatch.setattr(rows, "_BLOCK", (1, 32))
        monkeypatch.setattr(rows, "resolve_jobs", lambda _: 3)


TYPES = ["bool", "i1", "u1", "i2", ">i2", "u4", "i8", "u8", "f4", "f8"]


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type(dtype, order):
    z = RNG.integers(4, size=(101, 5)).astype(dtype, order=order)
    check(epl.Draws(z), z)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("n_draws", [1, 2, 63, 200])
@pytest.mark.parametrize("n_items", [1, 7, 8, 65])
def test_every_shape(n_draws, n_items):
    """Mostly distinct draws, then mostly equal ones: the table grows, and shrinks at the end."""
    z = RNG.integers(3, size=(n_draws, n_items))
    check(epl.Draws(z), z)
    z[n_draws // 3 :] = z[0]
    check(epl.Draws(z), z)
    check(epl.Draws(z[::-1]), z[::-1])


@pytest.mark.usefixtures("blocks")
def test_labels_far_apart():
    z = RNG.choice([-(2**62), -5, 0, 7, 10**15, 2**62], size=(50, 6))
    check(epl.Draws(z), z)
    huge = z.astype(np.uint64) + np.uint64(2**63)
    check(epl.Draws(huge), huge)


@pytest.mark.usefixtures("blocks")
def test_many_clusters_in_a_later_block():
    """Equal draws are recognized, and the type of the stored labels grows, whatever came before."""
    z = np.zeros((12, 70_000), dtype=int)
    z[3] = z[8] = np.arange(70_000) % 300
    z[5] = 1000 * (np.arange(70_000) % 2)  # two clusters, in labels of two bytes
    z[6] = z[11] = np.arange(70_000)
    z[9] = np.arange(70_000) % 2
    draws = epl.Draws(z)
    assert draws.index.tolist() == [0, 0, 0, 1, 0, 2, 3, 0, 1, 2, 0, 3]
    assert draws.item_major.dtype == np.uint32
    np.testing.assert_array_equal(draws.distinct[1], np.arange(70_000) % 300)
    np.testing.assert_array_equal(draws.distinct[3], np.arange(70_000))


def test_a_single_difference_anywhere_is_seen():
    """Draws that differ in one item, in every place of a word and of a row."""
    z = np.zeros((200, 199), dtype=np.uint8)
    z[1:, :] = np.eye(199, dtype=np.uint8)
    z[:, 0] = 0
    check(epl.Draws(z), z)


def test_a_mapped_file_is_not_changed(tmp_path):
    z = RNG.integers(4, size=(40, 30)).astype(np.uint8)
    path = tmp_path / "z.npy"
    np.save(path, z)
    check(epl.read_draws(path), z)
    for mode in ("r", "r+", "c"):
        mapped = np.load(path, mmap_mode=mode)
        if mode == "c":
            mapped[0] = 9  # exists in memory only, and must not be thrown away
            z[0] = 9
        check(epl.Draws(mapped), z)
        np.testing.assert_array_equal(mapped, z)
