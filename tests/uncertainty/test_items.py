import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import naive_uncertainty as naive
import strategies
from epluribus.uncertainty import _items, clusters, items


@given(z=strategies.draws(max_items=9, max_draws=12))
def test_support_and_runner_up_against_the_similarity_matrix(z):
    rng = np.random.default_rng(z.size)
    best = epl.partition.by_size(rng.integers(3, size=z.shape[1]))
    weights = rng.random(len(z)) + 0.1
    table = items(best, epl.Draws(z, weights=weights))
    affinity, alone = naive.items(best.tolist(), z.tolist(), weights)
    for i, own in enumerate(best):
        single = np.isnan(affinity[i, own])
        assert table.support[i] == pytest.approx(alone[i] if single else affinity[i, own])
        places = {g: value for g, value in enumerate(affinity[i]) if g != own}
        if not single:
            places[-1] = alone[i]
        if not places:
            assert table.runner_up[i] == -1
            continue
        assert table.runner_up_support[i] == pytest.approx(max(places.values()))
        chosen = int(table.runner_up[i])
        assert places[chosen] == pytest.approx(max(places.values()))
    assert np.all(np.diff(table.support[table.order]) >= 0)


@given(z=strategies.draws(max_items=9, max_draws=12))
def test_clusters_against_sets_of_items(z):
    rng = np.random.default_rng(z.size)
    best = epl.partition.by_size(rng.integers(3, size=z.shape[1]))
    weights = rng.random(len(z)) + 0.1
    table = clusters(best, epl.Draws(z, weights=weights))
    stability, found = naive.jaccard(best.tolist(), z.tolist(), weights)
    np.testing.assert_allclose(table.stability, stability)
    np.testing.assert_allclose(table.recovered, found, atol=1e-12)
    p = naive.psm(z, weights)
    _, alone = naive.items(best.tolist(), z.tolist(), weights)
    for g in range(len(table)):
        mine = np.flatnonzero(best == g)
        block = p[np.ix_(mine, mine)][~np.eye(len(mine), dtype=bool)]
        ref = block.mean() if len(mine) > 1 else alone[mine[0]]
        assert table.cohesion[g] == pytest.approx(ref)
        means = [p[np.ix_(mine, best == h)].mean() if h != g else -1 for h in range(len(table))]
        if len(table) > 1:
            assert table.separation[g] == pytest.approx(1 - max(means))
            assert means[table.nearest[g]] == pytest.approx(max(means))
        else:
            assert np.isnan(table.separation[0])
            assert table.nearest[0] == -1


def test_blocks_change_nothing(monkeypatch):
    z = strategies.random_draws(np.random.default_rng(5), 60, 50, 6)
    whole = items(z[0], z)
    monkeypatch.setattr(_items, "_CELLS", 1)
    parts = items(z[0], z)  # one draw at a time
    for field in ("support", "runner_up", "runner_up_support"):
        np.testing.assert_allclose(getattr(whole, field), getattr(parts, field), rtol=1e-12)


def masked(z, share, rng):
    """Draws with missing labels: every draw has seen some item, and every item was seen by some draw."""
    hidden = rng.random(z.shape) < share
    hidden[:, 0] = hidden[np.arange(z.shape[1]) % len(z), np.arange(z.shape[1])] = False
    return np.ma.masked_array(z, hidden)


@given(z=strategies.draws(max_items=8, max_draws=12))
def test_where_labels_are_missing_only_draws_that_saw_both_count(z):
    rng = np.random.default_rng(z.size)
    best = epl.partition.by_size(rng.integers(2, size=z.shape[1]))
    draws = epl.Draws(masked(z, 0.4, rng), weights=rng.random(len(z)) + 0.1)
    table, whole = items(best, draws), clusters(best, draws)
    if not draws.has_missing:
        assert table.seen_with is None
        return
    rows, weights = np.asarray(draws), draws.draw_weights
    for i, g in enumerate(best):
        partners = np.flatnonzero((best == g) & (np.arange(len(best)) != i))
        seen = (rows[:, [i]] >= 0) & (rows[:, partners] >= 0)
        if len(partners) == 0:
            continue
        assert table.never_seen[i] == np.sum(~seen.any(axis=0))
        assert table.seen_with[i] == pytest.approx(seen.sum() / len(partners))
        if 2 * table.never_seen[i] > len(partners):
            assert np.isnan(table.support[i])
        else:
            together = seen & (rows[:, [i]] == rows[:, partners])
            ref = (weights @ together).sum() / (weights @ seen).sum()
            assert table.support[i] == pytest.approx(ref)
    for g in range(len(whole)):
        saw = (rows[:, best == g] >= 0).all(axis=1)
        has = [
            len(set(row[best == g])) == 1 and row[best == g][0] not in row[best != g]
            for row in rows[saw]
        ]
        if has:
            assert whole.recovered[g] == pytest.approx(np.average(has, weights=weights[saw]))
        else:
            assert np.isnan(whole.recovered[g])


def test_what_no_draw_has_seen_together_cannot_be_known():
    z = [[0, 0, 1, 1, None, None]] * 3 + [[None, None, 0, 0, 1, 1]] * 3
    draws, best = epl.Draws(z), [0, 0, 1, 1, 0, 0]
    table, whole = items(best, draws), clusters(best, draws)
    np.testing.assert_array_equal(np.isnan(table.support), [1, 1, 0, 0, 1, 1])
    np.testing.assert_array_equal(table.never_seen, [2, 2, 0, 0, 2, 2])
    np.testing.assert_array_equal(table.seen_with, [1, 1, 6, 6, 1, 1])
    assert np.isnan([whole.cohesion[0], whole.recovered[0], whole.stability[0]]).all()
    np.testing.assert_array_equal([whole.cohesion[1], whole.recovered[1]], 1.0)
    np.testing.assert_allclose(whole.never_seen, [2 / 3, 0])
    assert str(table).splitlines()[-1].startswith("support unknown, never seen with most")
    assert str(whole).endswith("unknown, most of their items never seen together: 0")
    found = epl.minimize(draws, rng=1).health(draws)
    assert "4 with an unknown place" in found.items
    assert not found.fine
    apart = clusters([0, 0, 1, 1, 2, 2], draws)
    np.testing.assert_array_equal(apart.separation, 1.0)
    assert clusters([0, 0, 0, 0, 1, 1], epl.Draws([*z[:3], [None] * 4 + [0, 0]])).nearest[1] == -1


def test_a_cluster_of_one_item_that_no_draw_has_is_told():
    draws = epl.Draws([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]], items=list("abcd"))
    assert str(items([0, 0, 1, 2], draws)).endswith(
        "clusters of their own, though alone in no draw: c, d"
    )
    assert str(clusters([0, 0, 1, 2], draws)).endswith("in no draw exactly as here: 1, 2")
    assert "alone in no draw" not in str(items([0, 1, 1, 1], draws))
