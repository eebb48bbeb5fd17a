"""Items that stay undecided at a cost, against enumeration of all subsets and their partitions."""

import importlib
import itertools

import numpy as np
import pytest

import epluribus as epl
from epluribus.page import render
from epluribus.partition import partitions
from test_constraints import minimize

PARTITIONS = {n: [np.array(one) for one in partitions(n)] for n in range(1, 7)}
BETWEEN = np.array([[0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 2]])


def objective(z, decided, labels, loss, cost):
    """Expected loss of the decided items, in units of all, and the cost of the others."""
    n, n_items = len(decided), z.shape[1]
    value = 0.0
    if n:
        value = np.mean([epl.loss(labels, draw[decided], loss) for draw in z])
    if loss.family == "vi":
        return n / n_items * value + cost * (n_items - n) / n_items
    return value + cost * (n_items - n)


def smallest(z, loss, cost, allowed):
    """The smallest objective of all subsets and all their partitions that are allowed."""
    n, low = z.shape[1], np.inf
    for m in range(n + 1):
        for chosen in itertools.combinations(range(n), m):
            decided = np.array(chosen, dtype=int)
            for own in PARTITIONS[m] if m else [np.empty(0, dtype=int)]:
                labels = np.full(n, -1)
                labels[decided] = own
                if allowed(labels):
                    low = min(low, objective(z, decided, own, loss, cost))
    return low


def allowed_by(asked):
    def allowed(labels):
        used = labels[labels >= 0]
        if used.size and used.max() + 1 > asked.get("k_max", len(labels)):
            return False
        if "min_size" in asked and used.size and np.bincount(used).min() < asked["min_size"]:
            return False
        if "must_link" in asked and labels[0] != labels[1]:
            return False
        return not ("cannot_link" in asked and labels[0] == labels[2] >= 0)

    return allowed


@pytest.mark.parametrize("exact", [True, False])
def test_the_best_of_all_subsets_is_found(exact, monkeypatch):
    rng, missed, n_cases = np.random.default_rng(5), 0, 30
    if not exact:
        monkeypatch.setattr(importlib.import_module("epluribus.search._minimize"), "MAX_ITEMS", 0)
    for _ in range(n_cases):
        n, k = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        z = rng.integers(0, k, (int(rng.integers(1, 6)), n))
        name = ("vi", "binder", "vi(cost=0.5)", "binder(cost=1.5)")[rng.integers(4)]
        loss, cost = epl.losses.get(name), float(rng.uniform(0.03, 1.5))
        asked = {}
        if rng.random() < 0.3:
            asked["k_max"] = int(rng.integers(1, n + 1))
        if rng.random() < 0.25 and n > 2:
            asked["must_link"] = [(0, 1)]
        if rng.random() < 0.25 and n > 2:
            asked["cannot_link"] = [(0, 2)]
        if rng.random() < 0.2:
            asked["min_size"] = 2
        best = minimize(z, loss, undecided=cost, rng=1, n_jobs=1, **asked)
        decided = np.flatnonzero(best.labels >= 0)
        mine = objective(z, decided, best.labels[decided], loss, cost)
        if not exact:  # the runs have what was minimized
            assert best.runs[-1].expected_loss == pytest.approx(mine, abs=1e-9)
        assert allowed_by(asked)(best.labels)
        low = smallest(z, loss, cost, allowed_by(asked))
        assert mine > low - 1e-9
        missed += mine > low + 1e-9
    # Pure noise, of which any pair of items may be the best to keep: the search misses some in a hundred.
    assert missed <= (0 if exact else 1)


def test_an_item_between_two_clusters_stays_out():
    best = epl.minimize(BETWEEN, undecided=0.9, rng=1)
    assert best.labels.tolist() == [0, 0, 0, 1, 1, 1, -1]
    assert best.undecided.tolist() == [6]
    assert best.sizes.tolist() == [3, 3]
    assert best.expected_loss == 0.0  # the six others are the same in all draws
    assert "undecided      1 item, at a cost of 0.9 each" in str(best)
    assert len(epl.minimize(BETWEEN, undecided=10, rng=1).undecided) == 0


def test_a_high_cost_gives_the_answer_without_undecided_items():
    z = np.random.default_rng(3).integers(0, 3, (40, 25))
    for loss in ("vi", "binder"):
        free, dear = epl.minimize(z, loss, rng=1), epl.minimize(z, loss, undecided=1e6, rng=1)
        assert dear.expected_loss == pytest.approx(free.expected_loss, rel=1e-3)
        assert dear.expected_loss >= free.expected_loss - 1e-12


def test_a_lower_cost_leaves_out_no_fewer_items():
    rng = np.random.default_rng(1)
    z = np.where(rng.random((30, 30)) < 0.3, rng.integers(0, 4, (30, 30)), np.arange(30) // 8)
    numbers = []
    for cost in (10.0, 1.0, 0.6, 0.4, 0.2):
        best = epl.minimize(z, undecided=cost, rng=1)
        assert best.settings.undecided == cost
        inside = best.labels >= 0
        expected = epl.expected_loss(best.labels[inside], z[:, inside])
        assert best.expected_loss == pytest.approx(expected)
        numbers.append(len(best.undecided))
    assert numbers[0] == 0 < numbers[-1]
    assert sorted(numbers) == numbers


def test_what_left_out_items_would_add():
    best = epl.minimize(BETWEEN, undecided=0.9, rng=1)
    table = epl.uncertainty.left_out(best, BETWEEN)
    # By hand: the smallest of the expected losses with the item in each place, times 7 items.
    places = [np.array([0, 0, 0, 1, 1, 1, s]) for s in range(3)]
    assert table.adds[0] == pytest.approx(7 * min(epl.expected_loss(p, BETWEEN) for p in places))
    assert table.names == ("6",)
    assert table.probabilities[0].tolist() == pytest.approx([1 / 3, 1 / 3])
    assert table.alone[0] == pytest.approx(1 / 3)
    assert "would add" not in repr(table)
    binder = epl.minimize(BETWEEN, "binder", undecided=1.0, rng=1)
    adds = epl.uncertainty.left_out(binder, BETWEEN).adds
    assert adds[0] == pytest.approx(min(epl.expected_loss(p, BETWEEN, "binder") for p in places))
    with pytest.raises(ValueError, match="may leave items undecided"):
        epl.uncertainty.left_out(epl.minimize(BETWEEN), BETWEEN)


def test_other_functions_take_the_decided_items(tmp_path):
    draws = epl.Draws(BETWEEN, items=list("abcdefg"))
    best = epl.minimize(draws, undecided=0.9, rng=1)
    with pytest.raises(ValueError, match=r"leaves 1 item undecided. Take the others"):
        epl.credible_ball(best, draws)
    part, fewer = best.decided(draws)
    assert fewer.items == tuple("abcdef")
    assert epl.expected_loss(part, fewer) == best.expected_loss
    assert np.isnan(best.to_pandas(draws)["certainty"].iloc[-1])
    best.save(tmp_path / "best.json")
    again = epl.load(tmp_path / "best.json")
    assert again.labels.tolist() == best.labels.tolist()
    assert again.settings.undecided == 0.9


def test_the_report_says_who_was_left_out():
    rng = np.random.default_rng(1)
    z = np.where(rng.random((30, 30)) < 0.2, rng.integers(0, 4, (30, 30)), np.arange(30) // 8)
    best = epl.minimize(z, undecided=1.0, rng=1)
    n = len(best.undecided)
    assert n > 1
    page = render(best, z, rng=1, brief=True)
    assert f"{n} items stayed out of the partition, at a cost of 1 bits each" in page
    assert f"{n} other items" in page
    assert "in which an item may stay undecided at a cost of 1" in page
