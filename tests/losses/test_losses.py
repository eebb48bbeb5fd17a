import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
    rand_score,
)

import epluribus as epl
import oracles
from oracles import xlogx

NAMES = epl.losses.available()
METRICS = ("binder", "vi", "nvi", "id", "nid", "zero_one")
BOUNDED = ("nvi", "nid", "zero_one")
LINEAR = ("binder", "vi")


def random_pairs(n_pairs=30, seed=0):
    rng = np.random.default_rng(seed)
    yield np.zeros(5, int), np.arange(5)
    # Entropies of 0.1% of the largest are not nothing.
    yield np.repeat([0, 1], [999, 1]), np.repeat([0, 1], [998, 2])
    for _ in range(n_pairs):
        n = rng.integers(1, 40)
        yield (
            rng.integers(rng.integers(1, n + 1), size=n),
            rng.integers(rng.integers(1, n + 1), size=n),
        )


def test_tables_of_properties_cover_every_loss():
    assert set(NAMES) == set(METRICS) | {"omari"}
    assert {name for name in NAMES if epl.losses.get(name).metric} == set(METRICS)
    assert {name for name in NAMES if epl.losses.get(name).linear} == set(LINEAR)


@pytest.mark.parametrize("name", NAMES)
def test_against_the_definition(name):
    for a, b in random_pairs():
        assert epl.loss(a, b, name) == pytest.approx(
            oracles.loss(name, a.tolist(), b.tolist()), abs=1e-10
        )


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("cost", [0.3, 1.0, 1.7])
def test_cost_weighs_the_two_errors(name, cost):
    weighted = getattr(epl.losses, name)(cost=cost)
    for a, b in random_pairs(10):
        expected = oracles.loss(name, a.tolist(), b.tolist(), cost)
        assert epl.loss(a, b, weighted) == pytest.approx(expected, abs=1e-9)


def test_against_scikit_learn():
    for a, b in random_pairs(seed=1):
        if len(a) < 2:
            continue
        n = len(a)
        nmi = normalized_mutual_info_score(a, b, average_method="max")
        assert epl.loss(a, b, "nid") == pytest.approx(1 - nmi, abs=1e-10)
        assert epl.loss(a, b, "omari") == pytest.approx(1 - adjusted_rand_score(a, b), abs=1e-10)
        binder = (1 - rand_score(a, b)) * n * (n - 1) / 2
        assert epl.loss(a, b, "binder") == pytest.approx(binder, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 82, 1000])
def test_equal_partitions_have_loss_exactly_zero(name, n):
    rng = np.random.default_rng(n)
    shuffled = rng.permutation(max(n, 5))
    partitions = [np.zeros(n), np.arange(n), rng.integers(5, size=n), rng.integers(n, size=n)]
    for labels in partitions:
        relabelled = shuffled[labels.astype(int)]
        assert epl.loss(labels, relabelled, name) == 0.0
        assert epl.expected_loss(labels, [relabelled, labels], name) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_symmetric_bounded_and_a_metric(name):
    for a, b in random_pairs():
        value = epl.loss(a, b, name)
        assert type(value) is float
        assert value == pytest.approx(epl.loss(b, a, name), abs=1e-12)
        assert name not in BOUNDED or -1e-12 <= value <= 1 + 1e-12
    for a, b, c in np.random.default_rng(3).integers(4, size=(50, 3, 8)) if name in METRICS else ():
        assert epl.loss(a, c, name) <= epl.loss(a, b, name) + epl.loss(b, c, name) + 1e-12


def vi_f0(joint, size, group, n_items):
    return (size + group - 2 * joint) / n_items


@pytest.mark.parametrize("linear", [True, False])
def test_a_loss_of_ones_own_equal_to_vi_gives_the_same_answer(linear):
    mine = epl.Loss(vi_f0, xlogx, xlogx, xlogx, name="mine", linear=linear)
    rng = np.random.default_rng(5)
    truth = rng.integers(4, size=30)
    z = np.where(rng.random((50, 30)) < 0.7, truth, rng.integers(4, size=(50, 30)))
    ref = epl.minimize(z, "vi", rng=1)
    comp = epl.minimize(z, mine, rng=1)
    assert comp.expected_loss == pytest.approx(ref.expected_loss, abs=1e-12)
    np.testing.assert_array_equal(comp.labels, ref.labels)
    start = rng.integers(6, size=30)
    np.testing.assert_array_equal(
        epl.search.greedy(z, start, mine, rng=2).labels,
        epl.search.greedy(z, start, "vi", rng=2).labels,
    )


@pytest.mark.parametrize(
    "f0",
    [
        lambda joint, size, group, n: (size + group - 2 * joint) / n + 1e-7 * size * group,
        lambda joint, size, group, n: (size + group - 2 * joint) ** 2,  # noqa: ARG005
    ],
    ids=["nearly linear", "far from it"],
)
def test_a_false_linear_is_found_out(f0):
    bent = epl.Loss(f0, xlogx, xlogx, xlogx, name="bent", linear=True)
    with pytest.raises(ValueError, match=r"'linear' must be False for the loss 'bent'"):
        epl.loss([0, 1], [0, 0], bent)


def test_f0_that_does_not_compile():
    bad = epl.Loss(
        lambda joint, size, group, n: joint.foo,  # noqa: ARG005
        xlogx, xlogx, xlogx, name="bad",
    )  # fmt: skip
    with pytest.raises(TypeError, match=r"'f0' of the loss 'bad' could not be compiled"):
        epl.loss([0, 1], [0, 0], bad)


def test_functions_must_vanish_at_zero_and_be_finite():
    with pytest.raises(ValueError, match=r"'f2' must be 0 at 0"):
        epl.loss([0, 1], [0, 0], epl.Loss(vi_f0, xlogx, lambda n: n + 1.0, xlogx))
    with pytest.raises(ValueError, match=r"'f1' must return finite numbers; f1\(2\) gave inf"):
        epl.loss(
            [0, 1], [0, 0], epl.Loss(vi_f0, lambda n: math.inf if n == 2 else 0.0, xlogx, xlogx)
        )
    with pytest.raises(TypeError, match=r"'f1' must be a function"):
        epl.Loss(vi_f0, 3, xlogx, xlogx)


def test_a_name_with_parameters_makes_the_loss():
    for text, maker in (
        ("vi(cost=0.5)", epl.losses.vi),
        ("binder( cost = 0.25 )", epl.losses.binder),
    ):
        loss = epl.losses.get(text)
        cost = loss.parameters["cost"]
        assert loss.name == maker(cost=cost).name == text.replace(" ", "")
        assert epl.loss([0, 0, 1], [0, 1, 1], loss) == epl.loss([0, 0, 1], [0, 1, 1], maker(cost))
        assert epl.losses.get(loss.name) is epl.losses.get(loss.name)
    third = epl.losses.vi(cost=1 / 3)
    assert epl.losses.get(third.name).parameters["cost"] == 1 / 3  # no digit is lost


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_knows_all_about_itself(name):
    loss = epl.losses.get(name)
    assert loss.family == loss.name == name
    assert loss.title
    assert loss.unit == {"vi": "bits", "id": "bits", "binder": "pairs of items"}.get(name, "")
    assert ("(" in loss.title) == bool(loss.reference)  # a year in the title has its reference
    assert epl.Loss(vi_f0, xlogx, xlogx, xlogx, name=name).family is None
    assert replace(loss, linear=not loss.linear).family is None  # made from it, but another one


@pytest.mark.parametrize("name", [*epl.losses.available(), "cost"])
def test_losses_can_be_pickled_and_copied(name):
    import copy
    import pickle

    one = epl.losses.vi(cost=1 / 3) if name == "cost" else epl.losses.get(name)
    again = pickle.loads(pickle.dumps(one))
    assert (again.name, again.linear, again.metric) == (one.name, one.linear, one.metric)
    assert epl.loss([0, 0, 1, 1], [0, 1, 1, 1], again) == epl.loss([0, 0, 1, 1], [0, 1, 1, 1], one)
    assert copy.deepcopy(one) is one


@pytest.mark.parametrize(
    ("in_r", "ours"), [("VI", "vi"), ("omARI", "omari"), ("Binder(a=0.5)", "binder(cost=0.5)")]
)
def test_names_of_salso_are_understood(in_r, ours):
    assert epl.losses.get(in_r) is epl.losses.get(ours)
    assert epl.losses.for_matrix("VI.lb").name == "vi_lb"
