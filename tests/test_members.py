"""Many small clusters: walking through members gives what contingency tables give, in less memory."""

import sys
import time
import tracemalloc

import numpy as np
import pytest

import epluribus as epl
import oracles
import strategies
from epluribus.losses import expected
from epluribus.search import objective as choice
from epluribus.search.members import MembersObjective, collect_sets
from epluribus.search.objective import Objective


def odd(n):
    return (n % 3) * 1.7 - 0.3 * n


def square(n):
    return float(n * n)


def linear(joint, size, group, n_items):  # noqa: ARG001
    return 0.5 * size + group - 1.3 * joint


# f1(1) other than 0, sizes that all cost the same, sizes of which the largest is cheapest
CUSTOM = {
    "power": epl.Loss(linear, lambda n: n**1.5 + 0.7 * n, lambda n: n**1.3 + 3.0 * (n > 0), square),
    "odd": epl.Loss(linear, odd, odd, square),
    "flat": epl.Loss(linear, square, lambda n: 3.0 * n, square),
    "concave": epl.Loss(linear, square, lambda n: -2.0 * n * n, square),
}
LOSSES = [*epl.losses.available(), "vi(cost)", "binder(cost)", *CUSTOM]


def get(name):
    if name.endswith("(cost)"):
        return getattr(epl.losses, name[:-6])(cost=0.6)
    if name in CUSTOM:
        loss = CUSTOM[name]
        return epl.Loss(loss.f0, loss.f1, loss.f2, loss.f3, name=name, linear=True)
    return epl.losses.get(name)


def random_sample(seed):
    """A small sample with anything from one to N clusters, whole or fractional weights."""
    rng = np.random.default_rng(seed)
    n_items, n_draws = int(rng.integers(2, 40)), int(rng.integers(1, 15))
    k = int(rng.integers(1, n_items + 1))
    weights = rng.integers(1, 4, size=n_draws) if seed % 2 else rng.random(n_draws) + 0.1
    return epl.Draws(strategies.random_draws(rng, n_items, n_draws, k), weights=weights), rng


def micro(n_items, n_draws, seed=0):
    """Clusters of one to five items; a tenth of the items go over to a neighbouring cluster."""
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.integers(n_items // 3, size=n_items))
    z = np.where(rng.random((n_draws, n_items)) < 0.1, truth + 1, truth)
    return z[:, rng.permutation(n_items)]


def both(draws, loss):
    args = (draws.item_major, draws.weights, loss)
    return Objective(*args), MembersObjective(*args)


@pytest.fixture
def always_members(monkeypatch):
    """Objectives walk through members whatever the sample."""
    monkeypatch.setattr(choice, "walking_pays", lambda *_: True)


# --- the same as with contingency tables ---


@pytest.mark.parametrize("name", LOSSES)
def test_same_sweeps(name):
    """Same moves, same labels, for any bounds on the number of clusters."""
    for seed in range(15):
        draws, rng = random_sample(seed)
        n = draws.n_items
        dense, members = both(draws, get(name))
        for low, high in ((1, n), (1, max(1, n // 3)), (2, max(2, n // 2))):
            labels = epl.partition.canonical(rng.integers(high, size=n))
            if labels.max() + 1 < low:
                continue
            ref, comp = dense.start(labels), members.start(labels)
            for _ in range(3):
                order = rng.permutation(n)
                ref, ref_moves, _ = dense.sweep(ref, order, k_min=low, k_max=high)
                comp, moves, complete = members.sweep(comp, order, k_min=low, k_max=high)
                assert complete
                assert moves == ref_moves
                np.testing.assert_array_equal(comp.labels, ref.labels)
                assert comp.n_clusters[0] == ref.n_clusters[0]
                assert members.value(comp) == pytest.approx(dense.value(ref), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_announced_change_is_loss_after_minus_before(name):
    loss = get(name)
    for seed in range(6):
        draws, rng = random_sample(seed)
        n = draws.n_items
        members = both(draws, loss)[1]
        labels = epl.partition.canonical(rng.integers(n, size=n))
        before = epl.expected_loss(labels, draws, loss)
        state = members.start(labels)
        for i in range(0, n, 3):
            comp = members.changes(state, i)
            for s in range(labels.max() + 2):
                moved = labels.copy()
                moved[i] = s
                ref = epl.expected_loss(moved, draws, loss) - before
                assert comp[s] == pytest.approx(ref, abs=1e-9 * max(1.0, abs(before)))
        np.testing.assert_array_equal(state.labels, labels)


@pytest.mark.parametrize("name", LOSSES)
def test_joins_end_where_no_pair_helps(name):
    loss = get(name)
    for seed in range(6):
        draws, rng = random_sample(seed)
        n = draws.n_items
        members = both(draws, loss)[1]
        labels = epl.partition.canonical(rng.integers(n, size=n))
        merged = members.merge(labels)
        value = epl.expected_loss(merged, draws, loss)
        assert value <= epl.expected_loss(labels, draws, loss) + 1e-12
        for a in range(merged.max() + 1):
            for b in range(a):
                joined = np.where(merged == a, b, merged)
                assert epl.expected_loss(joined, draws, loss) >= value - 1e-9
        few = members.merge(labels, k_min=1, k_max=2)
        assert few.max() + 1 <= 2
        k = min(3, labels.max() + 1)
        assert members.merge(labels, k_min=k, k_max=k).max() + 1 == k


def test_same_joins():
    """Binder with whole weights is exact, so that ties are ties."""
    for seed in range(1, 30, 2):
        draws, rng = random_sample(seed)
        dense, members = both(draws, get("binder"))
        labels = epl.partition.canonical(rng.integers(draws.n_items, size=draws.n_items))
        np.testing.assert_array_equal(members.merge(labels), dense.merge(labels))
        np.testing.assert_array_equal(
            members.merge(labels, k_max=2, k_min=2), dense.merge(labels, k_max=2, k_min=2)
        )
        order = rng.permutation(draws.n_items)
        for bound in (2, draws.n_items):
            np.testing.assert_array_equal(
                members.allocate(order, k_max=bound), dense.allocate(order, k_max=bound)
            )


@pytest.mark.parametrize("name", LOSSES)
def test_state_stays_true(name):
    """Rings, sizes and kinds after sweeps are those of the labels."""
    draws, rng = random_sample(7)
    n = draws.n_items
    members = both(draws, get(name))[1]
    state = members.start(epl.partition.canonical(rng.integers(n, size=n)))
    for _ in range(3):
        state, _, _ = members.sweep(state, rng.permutation(n))
        k = int(state.n_clusters[0])
        sizes = np.bincount(state.labels)
        np.testing.assert_array_equal(state.sizes[:k], sizes)
        assert not state.sizes[k:].any()
        np.testing.assert_array_equal(state.n_of_size, np.bincount(sizes, minlength=n + 1))
        in_use = state.kinds[: state.n_kinds[0]]
        assert sorted(in_use) == [0, *np.unique(sizes)]
        np.testing.assert_array_equal(state.kinds[state.kind_at[in_use]], in_use)
        for s in range(k):
            ring = [int(state.one[s])]
            while len(ring) < sizes[s]:
                ring.append(int(state.after[ring[-1]]))
                assert state.before[ring[-1]] == ring[-2]
            assert state.after[ring[-1]] == ring[0]
            assert sorted(ring) == np.flatnonzero(state.labels == s).tolist()


# --- sets ---


def test_sets_are_the_distinct_groups():
    draws, _ = random_sample(4)
    sets = collect_sets(draws.item_major, draws.weights, distinct=True)
    ref = {}
    for row, weight in zip(draws.distinct.tolist(), draws.weights, strict=True):
        for v in set(row):
            group = tuple(i for i, label in enumerate(row) if label == v)
            if len(group) > 1:
                ref[group] = ref.get(group, 0.0) + weight
    comp = {
        tuple(sets.member[sets.first[b] : sets.first[b + 1]].tolist()): sets.weight[b]
        for b in range(len(sets.weight))
    }
    assert comp == pytest.approx(ref)
    for i in range(draws.n_items):
        mine = sets.of[sets.of_first[i] : sets.of_first[i + 1]]
        assert [b for b, group in enumerate(comp) if i in group] == mine.tolist()


def test_hash_table_grows_and_collisions_are_told_apart(monkeypatch):
    z = np.random.default_rng(0).integers(40, size=(80, 60))
    draws = epl.Draws(z)
    ref = collect_sets(draws.item_major, draws.weights, distinct=True)

    class Same:
        def integers(self, low, high, size, dtype):  # noqa: ARG002
            return np.full(size, 3, dtype)  # every set of even size has the hash 0

    monkeypatch.setattr(np.random, "default_rng", lambda _: Same())
    comp = collect_sets(draws.item_major, draws.weights, distinct=True)
    for mine, theirs in zip(comp, ref, strict=True):
        np.testing.assert_array_equal(mine, theirs)


# --- the search ---


@pytest.mark.parametrize("name", ["vi", "binder", "nvi", "omari", "power"])
@pytest.mark.usefixtures("always_members")
def test_minimum_of_few_items(name, monkeypatch):
    monkeypatch.setattr(sys.modules["epluribus.search.minimize"], "_EXACT_ITEMS", 0)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n_items = int(rng.integers(1, 8))
        z = strategies.random_draws(rng, n_items, int(rng.integers(1, 12)), min(3, n_items))
        best = epl.minimize(z, get(name), rng=seed)
        ref = epl.exact(z, get(name))
        assert best.expected_loss == pytest.approx(ref.expected_loss, abs=1e-9)


@pytest.mark.parametrize("name", ["vi", "binder", "nvi"])
@pytest.mark.parametrize("search", ["recombine", "greedy"])
@pytest.mark.usefixtures("always_members")
def test_same_answer_for_any_n_jobs(name, search):
    z = micro(120, 250)
    results = [epl.minimize(z, name, search=search, rng=3, n_jobs=n) for n in (1, 2, None)]
    for other in results[1:]:
        np.testing.assert_array_equal(other.labels, results[0].labels)
        assert other.expected_loss == results[0].expected_loss


@pytest.mark.parametrize("name", ["vi", "binder", "nid"])
@pytest.mark.parametrize("search", ["recombine", "greedy"])
@pytest.mark.usefixtures("always_members")
def test_bounds_are_obeyed(name, search):
    z = micro(60, 20)
    for k in (1, 2, 13, 40, 60):
        assert epl.minimize(z, name, k=k, search=search, rng=0).n_clusters == k
        assert epl.minimize(z, name, k_max=k, search=search, rng=0).n_clusters <= k


@pytest.mark.parametrize("name", ["vi", "nvi"])
def test_stop_flag(name):
    draws = epl.Draws(micro(60, 20))
    members = both(draws, get(name))[1]
    state = members.start(draws[0])
    stop = np.ones(1, dtype=np.uint8)
    state, n_moves, complete = members.sweep(state, np.arange(60), stop=stop)
    assert (n_moves, complete) == (0, False)
    labels = epl.partition.canonical(np.arange(60))
    np.testing.assert_array_equal(members.merge(labels, stop=stop), labels)


def test_time_limit():
    best = epl.minimize(micro(6000, 100), "nvi", time_limit=0.3, rng=0)
    assert not best.converged
    assert best.seconds < 10


# --- the choice, and large samples ---


def test_which_objective():
    few = epl.Draws(strategies.random_draws(np.random.default_rng(0), 2000, 20, 10))
    assert type(Objective.of(few, get("vi"))) is Objective
    many = epl.Draws(micro(2000, 20))
    assert type(Objective.of(many, get("vi"))) is MembersObjective
    assert type(Objective.of(many, get("nvi"), np.arange(3))) is MembersObjective


def test_little_memory_left_turns_to_members(monkeypatch):
    draws = epl.Draws(strategies.random_draws(np.random.default_rng(0), 2000, 20, 100))
    assert type(Objective.of(draws, get("vi"))) is Objective
    monkeypatch.setattr(choice, "available", lambda: 1e5)
    assert type(Objective.of(draws, get("vi"))) is MembersObjective


def test_tables_that_do_not_fit_are_refused_in_words(monkeypatch):
    from epluribus import _memory

    monkeypatch.setattr(_memory, "_ALWAYS", 0)
    monkeypatch.setattr(_memory, "available", lambda: 1e5)
    draws = epl.Draws(strategies.random_draws(np.random.default_rng(0), 200, 50, 20))
    with pytest.raises(
        MemoryError, match=r"the loss 'nvi', with 50 draws of up to 20 clusters and 2,020"
    ):
        Objective(draws.item_major, draws.weights, get("nvi")).start(draws[0], room=2000)
    with pytest.raises(
        MemoryError, match=r"0.0 GB are left. Fewer draws need less \(thin=\), as do"
    ):
        epl.search.merge(draws, np.arange(200) * 7, "vi")
    monkeypatch.setattr(_memory, "available", lambda: 1e4)
    with pytest.raises(
        MemoryError, match=r"50 draws of 200 items .* needs .*Fewer draws need less"
    ):
        MembersObjective(draws.item_major, draws.weights, get("vi"))


def test_available_memory():
    from epluribus import _memory

    assert _memory.available() > 0


def test_available_memory_where_the_system_does_not_say(monkeypatch, tmp_path):
    from epluribus import _memory

    monkeypatch.setattr(_memory, "_MEMINFO", tmp_path / "none")
    assert _memory.available() == np.inf
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 7 kB\n")
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("1000\n")
    monkeypatch.setattr(_memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(_memory, "_CGROUP", tmp_path)
    assert _memory.available() == 4000
    (tmp_path / "memory.max").write_text("max\n")
    assert _memory.available() == 7168


@pytest.mark.parametrize("name", epl.losses.available())
def test_losses_without_tables(name, monkeypatch):
    """Clusters small, large and one of all items; a draw equal to the labels has loss 0 exactly."""
    z = np.vstack([micro(90, 20), np.arange(90), np.zeros(90, int), np.arange(90) // 30])
    monkeypatch.setattr(expected, "_TABLE_CELLS", 0)
    for labels in (z[0], z[-3], z[-2], z[-1], np.arange(90) % 45 % 11):
        values = epl.expected_loss(labels, z, name, per_draw=True)
        ref = [oracles.loss(name, labels.tolist(), row) for row in z.tolist()]
        np.testing.assert_allclose(values, ref, atol=1e-9)
        assert all(value == 0 for value, exact in zip(values, ref, strict=True) if exact == 0)


def test_thousands_of_clusters():
    """Contingency tables of 100 draws x 1,900 x 1,900 clusters would take 2 GB for each start."""
    draws = epl.Draws(micro(6000, 100))
    assert draws.n_clusters.min() > 1800
    epl.minimize(draws, rng=0)  # compiles
    tracemalloc.start()
    began = time.perf_counter()
    found = {name: epl.minimize(draws, name, rng=1) for name in ("vi", "binder")}
    seconds = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 10
    assert peak < 2e8
    for name, best in found.items():
        assert best.converged
        rows = range(0, 100, 9)
        assert best.expected_loss < min(epl.expected_loss(draws[t], draws, name) for t in rows)
        assert best.expected_loss == pytest.approx(epl.expected_loss(best.labels, draws, name))


@pytest.mark.parametrize("name", ["vi", "binder", "nvi", "omari"])
def test_items_and_clusters_without_tables(name, monkeypatch):
    module = sys.modules["epluribus.uncertainty.items"]  # by name it is the function
    for seed in (1, 2, 7):
        draws, rng = random_sample(seed)
        for k in (1, 3, draws.n_items):
            labels = epl.partition.canonical(rng.integers(k, size=draws.n_items))
            tables = []
            for walks in (False, True):
                monkeypatch.setattr(module, "walking_pays", lambda *_, walks=walks: walks)
                tables.append(
                    {
                        **epl.uncertainty.items(labels, draws, loss=name).columns(),
                        **epl.uncertainty.clusters(labels, draws).columns(),
                    }
                )
            for column, ref in tables[0].items():
                if column in ("item", "cluster", "runner_up", "nearest"):
                    continue  # ties may be settled by rounding
                np.testing.assert_allclose(
                    np.sort(tables[1][column]), np.sort(ref), atol=1e-12, err_msg=column
                )
