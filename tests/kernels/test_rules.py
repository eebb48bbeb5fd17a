"""Rules of constrained searches, against plain Python and networkx."""

import networkx as nx
import numpy as np
import pytest

import epluribus as epl
from epluribus.constraints import Rules
from epluribus.draws import as_draws
from epluribus.search import constrained
from epluribus.search.constrained import ConstrainedSearch
from epluribus.search.members import MemberState
from epluribus.search.problem import Problem
from epluribus.search.state import TableState
from epluribus.settings import Settings


def random_rules(rng, n):
    """Rules with cannot-link groups and a random graph, and the same as Python objects."""
    graph = nx.gnp_random_graph(n, 0.3, seed=int(rng.integers(1000)))
    graph.add_edges_from((i, i + 1) for i in range(n - 1))
    groups = [rng.choice(n, 3, replace=False) for _ in range(2)]
    edges = np.array(graph.edges)
    return Rules(np.arange(n), tuple(groups), edges=edges), graph, groups


@pytest.mark.parametrize("seed", range(20))
def test_open_clusters_and_items_that_may_leave(seed):
    rng, n = np.random.default_rng(seed), 9
    rules, graph, groups = random_rules(rng, n)
    labels = rng.integers(-1, 3, n)
    sizes = np.bincount(labels[labels >= 0], minlength=4)
    for i in np.flatnonzero(labels >= 0).tolist():
        leaves, blocked = rules.find_open(np.array([i]), labels, sizes)
        for s in np.flatnonzero(sizes).tolist():
            near = any(labels[j] == s for j in graph[i])
            clash = any(i in g and any(labels[j] == s for j in g if j != i) for g in groups)
            assert blocked[s] == (clash or not near)
        assert not blocked[sizes == 0].any()
        own = np.flatnonzero(labels == labels[i])
        rest = [j for j in own.tolist() if j != i]
        # Only clusters that are connected are asked about.
        if rest and nx.is_connected(graph.subgraph(own.tolist())):
            assert leaves == nx.is_connected(graph.subgraph(rest))


@pytest.mark.parametrize("loss", ["vi", "binder(cost=1.5)", "nvi"])
@pytest.mark.parametrize("cost", [None, 0.7])
def test_the_announced_change_is_that_of_the_loss(loss, cost):
    if cost is not None and loss == "nvi":
        pytest.skip("items may stay undecided with VI and Binder's loss alone")
    rng = np.random.default_rng(4)
    draws = as_draws(rng.integers(0, 4, (12, 20)))
    # Three items in one unit, of which two may be in one group of a draw.
    blocks = np.append([0, 0, 0], np.arange(1, 18))
    rules = Rules(blocks, (np.array([3, 5, 9]),), min_size=2)
    problem = Problem.of(draws, epl.losses.get(loss))
    labels = rules.fitted(rng.integers(0, 4, 20), rng)
    settings = Settings(constraints=rules, undecided=cost)
    search = ConstrainedSearch(problem, labels, rng, settings, rules)
    assert search.obey()
    for step in (search.sweep, search.merge, *[search.kick] * 20):
        step()
        assert rules.allow(search.labels)
        assert search._total == pytest.approx(search._count(), abs=1e-8)
        if cost is None:
            assert search.value == pytest.approx(epl.expected_loss(search.labels, draws, loss))


@pytest.mark.parametrize("seed", range(10))
def test_a_start_is_made_to_obey_sizes_aside(seed):
    rng, n = np.random.default_rng(seed), 16
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4))
    blocks = np.array([0, *range(1, 15), 0])  # opposite corners: only others can connect them
    # No shortest path has two items of the first group.
    groups = np.array([3, 9, 12]), np.array([0, 6])
    rules = Rules(blocks, groups, edges=np.array(grid.edges))
    labels = rules.fitted(rng.integers(-1, 3, n), rng, lead=5)
    assert rules.allow(labels)
    lead = rng.integers(0, 2, n)
    fitted = Rules(np.arange(n), groups).fitted(lead, rng, lead=9)
    # The item that leads stays with all others of its cluster that it may be with.
    for i in np.flatnonzero(lead == lead[9]).tolist():
        free = not any(i in group for group in groups)
        assert (fitted[i] == fitted[9]) or not free


@pytest.mark.parametrize("cost", [None, 0.7])
@pytest.mark.parametrize("kind", [TableState, MemberState])
def test_a_sweep_ends_where_no_move_of_a_unit_helps(cost, kind, monkeypatch):
    monkeypatch.setattr(
        constrained, "make_state", lambda problem, labels, **_: kind(problem, labels)
    )
    monkeypatch.setattr(ConstrainedSearch, "_suit", lambda _: None)
    rng = np.random.default_rng(2)
    z = np.where(rng.random((30, 18)) < 0.4, rng.integers(0, 3, (30, 18)), np.arange(18) // 6)
    draws = as_draws(z)
    rules = Rules(np.append([0, 0], np.arange(1, 17)), (np.array([4, 7]),))
    problem = Problem.of(draws, epl.losses.get("vi"))
    settings = Settings(constraints=rules, undecided=cost)
    start = rules.fitted(rng.integers(0, 4, 18), rng)
    search = ConstrainedSearch(problem, start, rng, settings, rules)
    assert search.sweep()
    assert isinstance(search.state, kind)
    labels = search.labels

    def objective(one):
        inside = one >= 0
        value = epl.expected_loss(one[inside], z[:, inside]) if inside.any() else 0.0
        return inside.mean() * value + (cost or 0.0) * (1 - inside.mean())

    assert search.value == pytest.approx(objective(labels))
    for unit in range(17):
        for place in range(-1 if cost else 0, labels.max() + 2):
            other = np.where(rules.blocks == unit, place, labels)
            if rules.allow(other):
                assert objective(other) >= search.value - 1e-9
