"""Probabilities of statements about items, against a look at every draw."""

import itertools

import numpy as np
import pytest

import epluribus as epl


def holds(row, together, apart):
    return all(len({row[i] for i in group}) == 1 for group in together) and all(
        row[i] != row[j] for group in apart for i, j in itertools.combinations(group, 2)
    )


def test_the_share_of_the_draws_in_which_it_holds():
    rng = np.random.default_rng(1)
    for _ in range(30):
        n = int(rng.integers(3, 9))
        z = rng.integers(0, 4, (25, n))
        weights = rng.random(25)
        draws = epl.Draws(z, weights=weights)
        sizes = rng.integers(2, min(n, 4) + 1, (2, int(rng.integers(1, 3))))
        together, apart = ([rng.permutation(n)[:k].tolist() for k in row] for row in sizes)
        together = together[int(rng.integers(2)) :]
        found = epl.uncertainty.probability(draws, together=together or None, apart=apart or None)
        ref = weights[[holds(row, together, apart) for row in z]].sum() / weights.sum()
        assert found.probability == pytest.approx(ref, abs=1e-12)
        assert float(found) == found.probability


def test_the_standard_error_is_that_of_a_mean():
    """Independent draws: the error of a share p of T draws is sqrt(p (1 - p) / T)."""
    z = (np.random.default_rng(3).random((4, 500, 2)) < 0.5).astype(int)
    found = epl.uncertainty.probability(epl.Draws(z), together=[0, 1])
    p = found.probability
    assert found.standard_error == pytest.approx(np.sqrt(p * (1 - p) / 2000), rel=0.15)
    assert 1500 < found.ess < 3000
    # The same draws, each ten times in a row, are worth no more.
    slow = epl.uncertainty.probability(epl.Draws(np.repeat(z, 10, axis=1)), together=[0, 1])
    assert slow.probability == p
    assert slow.standard_error == pytest.approx(found.standard_error, rel=0.3)


def test_names_and_words():
    draws = epl.Draws([[0, 0, 1], [0, 0, 1], [0, 1, 1], [0, 0, 1]], items=["ann", "bob", "cy"])
    found = epl.uncertainty.probability(draws, together=["ann", 1], apart=[["bob", "cy"]])
    assert found.statement == "ann and bob are together; bob and cy are apart"
    assert str(found).startswith(f"{found.statement}: probability 0.75 +- ")
    assert float(epl.uncertainty.probability(draws, apart=np.array([0, 1]))) == 0.25
    many = epl.uncertainty.probability(np.zeros((5, 20), dtype=int), together=range(10))
    assert many.statement == "10 items are together"
    assert "do not tell its standard" in str(epl.uncertainty.probability([[0, 0]], together=[0, 1]))


def test_only_draws_that_saw_the_items_count():
    draws = epl.Draws([[0, 0, 1], [0, None, 1], [0, 1, None], [None, 2, 2]])
    assert float(epl.uncertainty.probability(draws, together=[0, 1])) == 0.5
    assert float(epl.uncertainty.probability(draws, together=[1, 2])) == 0.5
    with pytest.raises(
        ValueError, match="labels for all of the items 0, 1 and 2 in some draw; none"
    ):
        epl.uncertainty.probability(draws[1:], together=[0, 1], apart=[1, 2])
