"""Algorithm 1 of the paper, move for move, and joining clusters."""

import itertools

import numpy as np
import pytest

import epluribus as epl
import oracles
from epluribus._parallel import NEVER
from epluribus.search.local import make_state
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds
from strategies import sample

LOSSES = epl.losses.available()


def greedy_oracle(name, labels, z, orders):
    """Algorithm 1 by trying every cluster and recomputing the loss from scratch."""
    labels = list(labels)
    for order in orders:
        changed = False
        for i in order:
            own = labels[i]
            best, best_value = own, oracles.expected_loss(name, labels, z)
            k = max(labels) + 1
            for s in range(k + (labels.count(own) > 1)):
                if s != own:
                    trial = [*labels[:i], s, *labels[i + 1 :]]
                    value = oracles.expected_loss(name, trial, z)
                    if value < best_value - 1e-11:
                        best, best_value = s, value
            labels[i] = best
            changed |= best != own
            if own not in labels:  # the last cluster takes the empty label
                labels = [own if label == k - 1 else label for label in labels]
        if not changed:
            break
    return oracles.canonical(labels)


@pytest.mark.parametrize("name", LOSSES)
def test_greedy_is_algorithm_1(name):
    for seed in range(3):
        z = sample(seed, n_items=8, n_draws=7, k=3)
        start = np.random.default_rng(seed).integers(4, size=8)
        rng = np.random.default_rng(seed)
        orders = [rng.permutation(8) for _ in range(20)]
        ref = greedy_oracle(name, oracles.canonical(start.tolist()), z.tolist(), orders)
        comp = epl.search.greedy(z, start, name, rng=seed)
        assert comp.labels.tolist() == ref
        assert comp.converged


@pytest.mark.parametrize("name", LOSSES)
def test_greedy_goes_down_and_ends_where_no_move_helps(name):
    z = sample(1)
    run = epl.search.greedy(z, np.arange(30), name, rng=3)
    values = [step.expected_loss for step in run.trace]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(values))
    assert run.expected_loss == pytest.approx(values[-1], abs=1e-12)
    assert run.trace[-1].n_clusters == run.n_clusters == run.labels.max() + 1
    assert run.n_sweeps == len(run.trace) - 1
    for i, own in enumerate(run.labels):
        for s in range(run.n_clusters + 1):
            moved = np.where(np.arange(30) == i, s, run.labels)
            assert s == own or epl.expected_loss(moved, z, name) >= run.expected_loss - 1e-9


def test_greedy_obeys_k_max():
    z = sample(2)
    for k_max in (1, 2, 3):
        start = np.arange(30) % k_max
        for name in ("vi", "nid"):
            assert epl.search.greedy(z, start, name, k_max=k_max, rng=1).n_clusters <= k_max


def test_greedy_opens_clusters_beyond_its_room():
    """From one cluster to many: the state grows as it goes."""
    z = np.tile(np.arange(40), (5, 1))
    run = epl.search.greedy(z, np.zeros(40), "binder", rng=0)
    assert run.n_clusters == 40
    assert run.expected_loss == 0.0


def test_exact_ties_do_not_depend_on_rounding():
    """Two draws, each as good as the other: an item moves only if the loss falls."""
    z = [[0, 0, 1, 1], [0, 1, 0, 1]]
    for name in ("binder", "vi"):
        start = [0, 0, 1, 1]
        assert epl.search.greedy(z, start, name, rng=0).labels.tolist() == start


def test_recombine_parts_what_single_moves_cannot():
    """Two true clusters sit together: no single item can leave, the meet with a draw parts them."""
    truth = np.repeat([0, 1, 2], 20)
    z = np.tile(truth, (30, 1))
    stuck = np.where(truth == 2, 1, truth)
    assert epl.search.greedy(z, stuck, "vi", rng=0).n_clusters == 2
    run = epl.search.recombine(z, [stuck, z[0]], "vi", rng=0)
    np.testing.assert_array_equal(run.labels, truth)
    assert run.expected_loss == 0.0


@pytest.mark.parametrize("name", ["vi", "nvi"])
def test_the_first_merge_is_the_best_pair(name):
    draws = epl.Draws(sample(1, n_items=10, n_draws=15, k=3))
    labels = epl.partition.canonical([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    pairs = itertools.combinations(range(5), 2)
    values = [epl.expected_loss(np.where(labels == a, b, labels), draws, name) for a, b in pairs]
    state = make_state(Problem.of(draws, epl.losses.get(name)), labels)
    state.merge(Bounds(4, 4, NEVER))
    assert epl.expected_loss(state.labels, draws, name) == pytest.approx(min(values))
    assert epl.search.merge(draws, labels, name, k_max=4).max() + 1 <= 4
