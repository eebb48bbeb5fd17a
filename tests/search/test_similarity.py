"""Partitions for a similarity matrix without draws."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

import epluribus as epl
from epluribus import losses
from epluribus.draws.expected import SimilarityMatrix
from epluribus.page import report
from epluribus.partition import partitions, relabel
from epluribus.search.pairs import MatrixProblem

MATRIX = np.array([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]])


def noisy_draws(seed, n_items=80, n_draws=60, k=4, noise=0.4):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n_items)
    noise = rng.random((n_draws, n_items)) < noise
    return np.where(noise, rng.integers(0, k, noise.shape), truth)


@pytest.mark.parametrize("name", ["binder", "binder(cost=1.4)", "vi_lb", "vi_lb(cost=0.6)"])
@pytest.mark.parametrize("kind", ["draws", "any"])
def test_the_best_of_all_partitions_is_found(name, kind):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        if kind == "draws":
            matrix = epl.psm(rng.integers(0, int(rng.integers(2, 6)), (12, n)))
        else:  # not the similarity of any draws, as a rule
            half = np.triu(rng.random((n, n)), 1)
            matrix = half + half.T + np.eye(n)
        problem = MatrixProblem(SimilarityMatrix.of(matrix).matrix, losses.for_matrix(name))
        values = [(int(a.max()) + 1, problem.expected(a)) for a in partitions(n)]
        for asked, low, high in (({}, 1, n), ({"k": min(3, n)}, 3, 3), ({"k_max": 2}, 1, 2)):
            best = epl.minimize(psm=matrix, loss=name, rng=seed, **asked)
            ref = min(value for k, value in values if min(low, n) <= k <= high)
            assert best.expected_loss == pytest.approx(ref, abs=1e-10)
            assert best.expected_loss == pytest.approx(problem.expected(best.labels), abs=1e-12)
            assert min(low, n) <= best.n_clusters <= high
            assert best.converged


def test_binder_finds_what_it_finds_with_draws():
    for seed in range(3):
        draws = epl.Draws(noisy_draws(seed), weights=np.random.default_rng(seed).random(60))
        ref = epl.minimize(draws, "binder", rng=1)
        best = epl.minimize(psm=epl.psm(draws), loss="binder", rng=1)
        assert best.expected_loss == pytest.approx(ref.expected_loss)
        np.testing.assert_array_equal(best.labels, ref.labels)


def test_all_forms_of_a_matrix_give_the_same_answer():
    matrix = epl.psm(noisy_draws(1, n_items=30))
    matrix[matrix < 0.3] = 0
    ref = epl.minimize(psm=matrix, rng=1)
    names = [f"item {i}" for i in range(30)]
    for form in (matrix.tolist(), csr_array(matrix), coo_array(matrix), csr_matrix(matrix),
                 pd.DataFrame(matrix, names, names), matrix.astype(np.float32)):  # fmt: skip
        best = epl.minimize(psm=form, rng=1)
        np.testing.assert_array_equal(best.labels, ref.labels)
    assert epl.minimize(psm=pd.DataFrame(matrix, names, names), rng=1).items == tuple(names)


def test_same_rng_same_answer_for_any_number_of_threads():
    matrix = epl.psm(noisy_draws(2, noise=0.6))
    found = [epl.minimize(psm=matrix, rng=3, n_jobs=n) for n in (1, 1, 3)]
    for other in found[1:]:
        np.testing.assert_array_equal(other.labels, found[0].labels)
        assert other.expected_loss == found[0].expected_loss


def test_never_worse_than_a_given_start_or_a_trivial_partition():
    matrix = epl.psm(np.random.default_rng(0).integers(0, 9, (20, 40)))
    problem = MatrixProblem(SimilarityMatrix.of(matrix).matrix, losses.vi_lb())
    best = epl.minimize(psm=matrix, rng=1, time_limit=1e-6, starts=np.arange(40))
    assert not best.converged
    good = epl.minimize(psm=matrix, rng=1)
    assert good.converged
    assert good.expected_loss <= min(
        problem.expected(np.zeros(40, int)), problem.expected(np.arange(40))
    )
    again = epl.minimize(psm=matrix, rng=5, n_starts=1, starts=good.labels)
    assert again.expected_loss <= good.expected_loss
    assert again.runs[0].start == "given"


def test_clusters_around_pivots_are_those_of_a_certain_matrix():
    truth = relabel(np.random.default_rng(0).integers(0, 6, 30))
    problem = MatrixProblem(SimilarityMatrix.of(epl.psm([truth])).matrix, losses.binder())
    for seed in range(3):
        labels = problem.random_draw(np.random.default_rng(seed))
        np.testing.assert_array_equal(relabel(labels), truth)


def test_the_greedy_search_works_too():
    best = epl.minimize(psm=MATRIX, loss="binder", search="greedy", rng=1)
    assert best.labels.tolist() == [0, 0, 1]
    assert len(best.runs) == 9


def test_the_value_of_given_labels():
    best = epl.minimize(psm=MATRIX, loss="binder", rng=1)
    assert epl.expected_loss(best, psm=MATRIX, loss="binder") == best.expected_loss
    assert epl.expected_loss([0, 0, 1], psm=csr_array(MATRIX)) == pytest.approx(
        epl.minimize(psm=MATRIX, rng=1).expected_loss
    )
    for wrong in ({}, {"draws": [[0, 0, 1]], "psm": MATRIX}):
        with pytest.raises(TypeError, match="Give 'draws', or a similarity matrix"):
            epl.expected_loss([0, 0, 1], **wrong)
    with pytest.raises(ValueError, match="'per_draw' must be False"):
        epl.expected_loss([0, 0, 1], psm=MATRIX, per_draw=True)


def test_several_losses_are_compared():
    found = epl.search.minimize_all(None, ["binder", "vi_lb"], psm=MATRIX, rng=1)
    assert found.names == ("binder", "vi_lb")
    np.testing.assert_allclose(
        np.diag(found.expected_losses), [best.expected_loss for best in found]
    )
    assert "bits of VI between" in str(found)


def test_what_an_estimate_says_and_keeps(tmp_path):
    best = epl.minimize(psm=MATRIX, loss="vi_lb(cost=0.8)", rng=1)
    assert best.n_draws == 0
    assert "(vi_lb(cost=0.8), similarity matrix)" in str(best)
    best.save(tmp_path / "best.json")
    loaded = epl.load(tmp_path / "best.json")
    assert loaded.loss.name == best.loss.name
    assert loaded.loss.family == "vi_lb"
    # With draws at hand, the loss is VI itself.
    draws = epl.Draws([[0, 0, 1], [0, 1, 1], [0, 0, 1]] * 5)
    assert epl.credible_ball(best, draws).loss.name == "vi(cost=0.8)"
    page = report(best, draws, tmp_path / "page.html", brief=True, rng=1)
    assert "vi_lb" not in page.read_text("utf-8")


def test_rounding_in_a_matrix_is_forgiven():
    rounded = MATRIX + np.array([[1e-9, 0, 0], [1e-8, 0, 0], [0, 0, -1e-9]])
    assert epl.minimize(psm=rounded, rng=1).labels.tolist() == [0, 0, 1]


@pytest.mark.parametrize("matrix", [MATRIX, csr_array(MATRIX)])
def test_functions_that_need_draws_say_so(matrix, tmp_path):
    best = epl.minimize(psm=matrix, rng=1)
    for call in (
        lambda: epl.credible_ball(best, matrix),
        lambda: epl.modes(matrix),
        lambda: epl.uncertainty.error(best, matrix),
        lambda: epl.uncertainty.chips(matrix),
        lambda: report(best, matrix, tmp_path / "page.html"),
        lambda: epl.expected_loss(best, matrix, "binder"),
    ):
        with pytest.raises(TypeError, match="can do without the draws"):
            call()


def test_a_matrix_is_drawn():
    best = epl.minimize(psm=MATRIX, rng=1)
    ax = epl.plots.similarity(psm=csr_array(MATRIX), best=best)
    shown = ax.images[0].get_array().data
    assert shown[0, 1] == 0.9
    assert shown.shape == (3, 3)
    for wrong in ({}, {"psm": MATRIX}, {"best": best}):
        with pytest.raises(TypeError, match="similarity"):
            epl.plots.similarity(**wrong)


def test_vi_lb_separates_what_the_draws_separate():
    truth = np.repeat([0, 1, 2, 3], 20)
    rng = np.random.default_rng(1)
    z = np.where(rng.random((60, 80)) < 0.3, rng.integers(0, 4, (60, 80)), truth)
    best = epl.minimize(psm=epl.psm(z), rng=1)
    assert best.loss.name == "vi_lb"
    assert epl.loss(best, truth) == 0


def test_an_interrupt_returns_the_best_so_far():
    def interrupt(*_):
        raise KeyboardInterrupt

    best = epl.minimize(psm=epl.psm(noisy_draws(2)), progress=interrupt, rng=0, n_jobs=1)
    assert best.interrupted
    assert not best.converged
