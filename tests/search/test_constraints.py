"""Constraints: obeyed always, contradictions named, and the best partition found, against enumeration."""

import importlib

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import epluribus as epl
from epluribus.constraints import Constraints, Rules
from epluribus.partition import partitions

LOSSES = ("vi", "binder", "vi(cost=0.5)", "binder(cost=1.5)", "nvi")
ALL = {n: [np.array(one) for one in partitions(n)] for n in range(3, 9)}


def obeys(labels, asked, n):
    """Whether a partition obeys, in plain Python."""
    for group in asked.get("must_link") or []:
        if len({labels[i] for i in group}) > 1:
            return False
    for group in asked.get("cannot_link") or []:
        if len({labels[i] for i in group}) < len(group):
            return False
    graph = nx.empty_graph(n)
    graph.add_edges_from(asked.get("contiguity") or [])
    for cluster in set(labels.tolist()):
        members = [i for i in range(n) if labels[i] == cluster]
        known = [asked["sources"][i] for i in members] if "sources" in asked else []
        known = [source for source in known if source is not None]
        if len(members) < asked.get("min_size", 1) or len(set(known)) < len(known):
            return False
        if "contiguity" in asked and not nx.is_connected(graph.subgraph(members)):
            return False
    return asked.get("k_min", 1) <= len(set(labels.tolist())) <= asked.get("k_max", n)


def minimize(draws, loss="vi", **options):
    """`minimize` with constraints among the options."""
    kinds = ("must_link", "cannot_link", "sources", "contiguity", "min_size")
    asked = {name: options.pop(name) for name in kinds if name in options}
    return epl.minimize(draws, loss, constraints=Constraints(**asked), **options)


def pairs(rng, n, most=2):
    return [
        tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(rng.integers(1, most + 1))
    ]


def random_case(rng):
    """Draws of a few items, and constraints of some kinds."""
    n, n_draws = int(rng.integers(3, 9)), int(rng.integers(1, 12))
    k = int(rng.integers(1, n + 1))
    z = rng.integers(0, k, (n_draws, n))
    if rng.random() < 0.5:  # draws that agree more or less
        z = np.where(rng.random((n_draws, n)) < 0.4, z, rng.integers(0, k, n))
    kinds, asked = rng.random(7) < 0.35, {}
    if kinds[0]:
        asked["must_link"] = pairs(rng, n)
    if kinds[1]:
        size = int(rng.integers(2, 4))
        asked["cannot_link"] = [tuple(rng.choice(n, size, replace=False).tolist()), *pairs(rng, n)]
    if kinds[2]:
        asked["sources"] = [None if rng.random() < 0.3 else int(rng.integers(3)) for _ in range(n)]
    if kinds[3]:
        tree = [(i, int(rng.integers(i))) for i in range(1, n) if rng.random() < 0.9]
        asked["contiguity"] = [*tree, *pairs(rng, n)]
    if kinds[4]:
        asked["min_size"] = int(rng.integers(2, 4))
    if kinds[5]:
        asked["k_max"] = int(rng.integers(1, n + 1))
    if kinds[6]:
        asked["k_min"] = int(rng.integers(1, asked.get("k_max", n) + 1))
    return epl.Draws(z), asked, LOSSES[rng.integers(len(LOSSES))]


@pytest.mark.parametrize(
    ("seed", "n_cases", "exact"),
    [(1, 40, True), (2, 40, False), pytest.param(3, 400, False, marks=pytest.mark.slow)],
)
def test_never_a_violation_and_the_smallest_loss_is_found(seed, n_cases, exact, monkeypatch):
    """In random cases against enumeration: nearly always by the search, always where few items are solved."""
    if not exact:
        monkeypatch.setattr(importlib.import_module("epluribus.search._minimize"), "MAX_ITEMS", 0)
    rng, found, missed = np.random.default_rng(seed), 0, 0
    for _ in range(n_cases):
        draws, asked, loss = random_case(rng)
        allowed = [one for one in ALL[draws.n_items] if obeys(one, asked, draws.n_items)]
        if not allowed:
            with pytest.raises(ValueError, match=r"'|must"):
                minimize(draws, loss, rng=1, n_jobs=1, **asked)
            continue
        best = minimize(draws, loss, rng=1, n_jobs=1, **asked)
        assert obeys(best.labels, asked, draws.n_items), asked
        low = min(epl.expected_loss(one, draws, loss) for one in allowed)
        assert best.expected_loss > low - 1e-9
        found += 1
        missed += best.expected_loss > low + 1e-9
    assert found > n_cases // 3
    assert missed <= (0 if exact else 0.02 * found)


def spatial_draws(n=25, n_draws=10, seed=0):
    """Noisy stripes on a grid, whose draws are not connected, and the edges of the grid."""
    rng = np.random.default_rng(seed)
    side = int(n**0.5)
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    z = np.tile(np.arange(n) // side // 2, (n_draws, 1))
    noise = rng.random(z.shape) < 0.25
    z[noise] = rng.integers(0, 3, noise.sum())
    return epl.Draws(z), grid


@pytest.mark.parametrize("loss", ["vi", "nvi"])
def test_all_kinds_together_are_obeyed(loss):
    draws, grid = spatial_draws()
    asked = {
        "must_link": [(0, 24), (1, 2)],  # far apart: only others can connect them
        "cannot_link": [(0, 4), (3, 7, 15)],
        "sources": [i % 4 if i > 17 else None for i in range(25)],
        "contiguity": list(grid.edges),
        "min_size": 3,
        "k_max": 8,
    }
    best = minimize(draws, loss, rng=1, n_starts=1, **asked)
    assert obeys(best.labels, asked, 25)
    assert best.settings.constraints.allow(best.labels)
    if loss == "vi":
        again = minimize(draws, loss, rng=1, n_starts=1, n_jobs=1, **asked)
        assert np.array_equal(best.labels, again.labels)


def test_neither_starts_nor_other_losses_nor_a_time_limit_break_them():
    draws, grid = spatial_draws()
    asked = {"contiguity": list(grid.edges), "cannot_link": [(0, 1)]}
    noisy = np.random.default_rng(1).integers(0, 4, (2, 25))
    for options in ({"starts": noisy}, {"time_limit": 1e-6}, {"search": "greedy", "n_starts": 2}):
        best = minimize(draws, "vi", rng=1, **options, **asked)
        assert obeys(best.labels, asked, 25)
        assert all(obeys(run.labels, asked, 25) for run in best.runs)
    asked = Constraints(**asked)
    for best in epl.search.minimize_all(draws, ["vi", "binder"], rng=1, constraints=asked):
        assert best.settings.constraints.allow(best.labels)


def test_the_graph_may_come_in_several_forms():
    draws, grid = spatial_draws()
    names = [f"r{i}" for i in range(25)]
    named = epl.Draws(draws, items=names)
    matrix = nx.to_scipy_sparse_array(grid)
    forms = [
        (draws, list(grid.edges)),
        (draws, grid),
        (draws, sparse.csr_matrix(matrix)),
        (draws, matrix.toarray()),
        (named, nx.relabel_nodes(grid, dict(enumerate(names)))),
        (named, [(names[i], names[j]) for i, j in grid.edges]),
    ]
    found = [minimize(d, rng=1, n_starts=1, contiguity=graph) for d, graph in forms]
    assert all(np.array_equal(found[0].labels, one.labels) for one in found)


def test_items_are_named_by_number_or_name():
    z = [[0, 0, 0, 1], [0, 0, 1, 1]]
    draws = epl.Draws(z, items=["ann", "bob", "cy", "dee"])
    by_name = minimize(draws, must_link=[("ann", "dee")], sources={"bob": "x", "cy": "x"})
    by_number = minimize(z, must_link=[(0, 3)], sources=[None, "x", "x", np.nan])
    assert np.array_equal(by_name.labels, by_number.labels)
    assert by_name.labels[0] == by_name.labels[3]
    assert by_name.labels[1] != by_name.labels[2]
    with pytest.raises(
        ValueError, match="must name items by their names, such as 'ann'; got 'eve'"
    ):
        minimize(draws, must_link=[("ann", "eve")])
    with pytest.raises(ValueError, match="got 4. The draws have no names"):
        minimize(z, cannot_link=[(0, 4)])
    with pytest.raises(TypeError, match=r"one of its entries is 0"):
        minimize(z, cannot_link=[0, 4])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]}, "'must_link' puts item 0 and item 2"),
        ({"must_link": [(0, 1)], "sources": ["x", "x", "y", "y", None]}, "'sources' has both"),
        ({"must_link": [(0, 4)], "contiguity": [(0, 1), (2, 3), (3, 4)]}, "no path in 'contiguity'"),
        ({"min_size": 6}, "too large for at least 1 cluster of 5 items"),
        ({"cannot_link": [(0, 1, 2)], "k_max": 2}, "needs at least 3 clusters"),
        ({"must_link": [(0, 1, 2)], "k_min": 4}, "at most 3 clusters"),
        ({"min_size": 2, "k": 3}, "at least 3 clusters of 5 items"),
        # Seen only by enumeration.
        ({"cannot_link": [(0, 1)], "must_link": [(1, 2)], "k_max": 2, "min_size": 2,
          "contiguity": [(0, 1), (1, 2), (2, 3), (3, 4)]}, "There is no partition that obeys"),
    ],
)  # fmt: skip
def test_contradictions_are_named(asked, message):
    with pytest.raises(ValueError, match=message):
        minimize(np.zeros((2, 5), dtype=int), **asked)


def test_an_estimate_remembers_its_constraints(tmp_path):
    z = np.random.default_rng(1).integers(0, 3, (20, 15))
    asked = {"must_link": [(0, 1, 2)], "sources": [i % 5 if i > 8 else None for i in range(15)]}
    best = minimize(z, rng=1, min_size=2, k_max=6, **asked)
    words = (
        "3 items in 1 must-link, at most one item of each source in a cluster and clusters of at least "
        "2 items"
    )
    assert best.settings.bound == f"with at most 6 clusters, subject to {words}"
    assert f"subject to     {words}" in str(best)
    best.save(tmp_path / "best.json")
    again = epl.load(tmp_path / "best.json")
    assert again.settings.constraints == best.settings.constraints
    assert again.settings.bound == best.settings.bound
    two = Constraints(must_link=[(0, 1)], min_size=2)
    assert repr(two) == "Constraints(must_link=[(0, 1)], min_size=2)"


def test_which_partitions_and_sets_are_allowed():
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    rules = Rules(np.array([0, 0, 1, 2]), (np.array([1, 2]), np.array([0, 3])), edges, 2)
    for labels, allowed in (
        ([0, 1, 1, 0], False),
        ([0, 0, 1, 2], False),  # too small
        ([0, 0, 1, 1], True),
        ([0, 0, -1, -1], True),
    ):
        assert rules.allow(np.array(labels)) == allowed
    assert np.flatnonzero(rules.allowed_sets()).tolist() == [0b0011, 0b1100]


def test_certificates_with_constraints_hold():
    z = np.random.default_rng(2).integers(0, 2, (9, 6))
    few = minimize(z, cannot_link=[(0, 1)])
    assert epl.certificate(few, z).verdict.startswith("proved optimal among partitions subject to")
    many = np.random.default_rng(2).integers(0, 2, (9, 20))
    best = minimize(many, rng=1, cannot_link=[(0, 1)])
    assert "no partition subject to" in str(epl.certificate(best, many))
    assert np.array_equal(
        epl.search.exact(z, constraints=Constraints(cannot_link=[(0, 1)])).labels, few.labels
    )


@pytest.mark.slow
def test_ten_thousand_records_of_two_sources():
    rng = np.random.default_rng(0)
    truth = np.concatenate([np.arange(5000), np.arange(1000), np.arange(5000, 9000)])
    sources = np.repeat([0, 1], 5000)
    z = np.tile(truth, (100, 1))
    noise = rng.random(z.shape) < 0.1
    z[noise] = rng.integers(0, 9000, noise.sum())
    best = minimize(z, rng=1, sources=sources)
    assert best.settings.constraints.allow(best.labels)
    assert epl.loss(best.labels, truth) < 0.01
