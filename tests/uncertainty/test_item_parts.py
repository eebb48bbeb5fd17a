"""The bound by parts of the items, against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import epluribus as epl
import strategies
from epluribus._parallel import Stopper
from epluribus.partition import partitions
from epluribus.uncertainty import _certificate, _item_parts
from epluribus.uncertainty._item_parts import _Merging, divide, least_rest

COSTS = [0.4, 1.0, 1.7]


def sample(z, weighted):
    weights = np.random.default_rng(z.size).random(len(z)) + 0.05 if weighted else None
    return epl.Draws(z, weights=weights)


def two_far_groups(n_draws=60, seed=3):
    """40 items in four clusters; the first two are never with the others, but often with each other."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2, 3], 10)
    z = np.tile(truth, (n_draws, 1))
    for row in z:
        moved = rng.choice(40, 4, replace=False)
        row[moved] = 2 * (truth[moved] // 2) + rng.integers(2, size=4)
    return z


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("weighted", [False, True])
@given(z=strategies.draws(max_items=6, max_draws=8), data=st.data())
def test_parts_and_what_is_between_them_are_not_above_any_partition(cost, weighted, z, data):
    draws, loss = sample(z, weighted), epl.losses.vi(cost)
    n = draws.n_items
    where = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    where = np.unique(where, return_inverse=True)[1]
    between = _Merging(draws, where, cost, draws.n_distinct, Stopper()).merge_all()
    inside = np.asarray(draws)
    parts = [np.flatnonzero(where == part) for part in range(where.max() + 1)]
    some = [epl.Draws(inside[:, part], weights=draws.draw_weights) for part in parts]
    for labels in partitions(n):
        within = sum(
            len(part) * epl.expected_loss(labels[part], each, loss)
            for part, each in zip(parts, some, strict=True)
        )
        assert within + between <= n * epl.expected_loss(labels, draws, loss) + 1e-9


@pytest.mark.parametrize("cost", COSTS)
def test_least_rest_is_the_minimum_over_all_numbers(cost):
    rng = np.random.default_rng(1)
    x, shares = rng.random((5, 9)) * (rng.random((5, 9)) < 0.6), rng.dirichlet(np.ones(9))
    grid = np.linspace(-0.5, 1.5, 4001)
    above = x[:, :, None] - grid
    rest = np.where(above > 0, cost * above, (cost - 2.0) * above)
    slow = np.einsum("t,itu->iu", shares, rest).min(axis=1)
    assert least_rest(x, shares, cost) == pytest.approx(slow, abs=2e-3)
    assert (least_rest(x, shares, cost) <= slow + 1e-12).all()


def test_what_is_between_parts_is_the_change_of_the_loss():
    # Against the definition: the loss of the clusters as they are, minus the losses within parts.
    z = np.random.default_rng(2).integers(3, size=(7, 12))
    draws, loss = epl.Draws(z), epl.losses.get("vi")
    labels = np.arange(12) % 4
    groups = _Merging(draws, labels, 1.0, draws.n_distinct, Stopper())
    within = sum(
        3 * epl.expected_loss(np.zeros(3, dtype=int), epl.Draws(z[:, labels == g]), loss)
        for g in range(4)
    )
    assert groups.whole == pytest.approx(12 * epl.expected_loss(labels, draws, loss) - within)
    pair = labels < 2
    both = 6 * epl.expected_loss(labels[pair], epl.Draws(z[:, pair]), loss)
    alone = sum(
        3 * epl.expected_loss(np.zeros(3, dtype=int), epl.Draws(z[:, labels == g]), loss)
        for g in range(2)
    )
    assert groups.kept[1, 0] + groups.lost[1, 0] == pytest.approx(both - alone)


def test_clusters_that_no_draw_connects_are_divided_for_nothing(monkeypatch):
    draws = epl.Draws(two_far_groups())
    best = epl.minimize(draws, rng=1)
    found = divide(draws, best.labels, best.expected_loss, 1.0, Stopper())
    assert sorted(map(len, found.parts)) == [20, 20]
    assert found.lost < 1e-9 * best.expected_loss
    # The other bounds on all items may also prove it: parts have to do it alone.
    monkeypatch.setattr(_certificate, "set_bound", lambda *_: -np.inf)
    certificate = epl.certificate(best, draws, time_limit=60)
    assert certificate.proved
    assert certificate.method == "parts of the items, each on its own"


def test_parts_have_a_largest_size(monkeypatch):
    monkeypatch.setattr(_item_parts, "_LARGEST", (12,))
    draws, labels = epl.Draws(two_far_groups()), np.repeat([0, 1, 2, 3], 10)
    # So much is lost that it is not worth it ...
    assert divide(draws, labels, 1.0, 1.0, Stopper()) is None
    # ... unless that does not matter.
    monkeypatch.setattr(_item_parts, "_LITTLE", 1.0)
    found = divide(draws, labels, 1.0, 1.0, Stopper())
    assert [len(part) for part in found.parts] == [10, 10, 10, 10]
    assert found.lost > 0
    assert found.between > 0


def test_no_division_of_too_much(monkeypatch):
    draws, labels = epl.Draws(two_far_groups()), np.repeat([0, 1, 2, 3], 10)
    stopped = Stopper()
    stopped.interrupt()
    assert divide(draws, labels, 1.0, 1.0, stopped) is None
    monkeypatch.setattr(_item_parts, "_CLUSTERS", 3)
    assert divide(draws, labels, 1.0, 1.0, Stopper()) is None


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("k_max", [None, 2])
@settings(max_examples=8)  # a whole certificate each
@given(z=strategies.draws(max_items=8, max_draws=10))
def test_never_above_the_minimum(cost, k_max, z):
    draws, loss = epl.Draws(z), epl.losses.vi(cost)
    best = epl.minimize(draws, loss, k_max=k_max, rng=1)
    with pytest.MonkeyPatch.context() as patch:
        # Few items are enumerated, and not divided unless there are many.
        patch.setattr(_certificate, "solves", lambda *_: False)
        patch.setattr(_certificate, "set_bound", lambda *_: -np.inf)
        patch.setattr(_certificate, "_MANY", 1)
        patch.setattr(_item_parts, "_LARGEST", (3,))
        patch.setattr(_item_parts, "_LITTLE", np.inf)
        found = epl.certificate(best, draws, time_limit=None)
    least = epl.exact(draws, loss, k_max=k_max).expected_loss
    assert found.lower_bound <= least + 1e-12
