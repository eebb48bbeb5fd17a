import numpy as np
import pytest

import epluribus as epl

RNG = np.random.default_rng(3)
P = RNG.dirichlet(np.ones(3) * 0.3, size=(6, 5))
"""(draws, items, clusters)."""


def similarity(draws):
    """By hand, from the draws and their weights."""
    z = np.asarray(draws)
    same = z[:, :, None] == z[:, None, :]
    return np.average(same, axis=0, weights=draws.draw_weights)


def naive_psm(p, weights):
    out = np.eye(p.shape[1])
    for i in range(p.shape[1]):
        for j in range(p.shape[1]):
            if i != j:
                out[i, j] = sum(w * p[t, i] @ p[t, j] for t, w in enumerate(weights)) / sum(weights)
    return out


@pytest.mark.parametrize("weights", [None, [1, 0, 2, 0.5, 1, 3]])
def test_similarity_matrix(weights, monkeypatch):
    ref = naive_psm(P, np.ones(6) if weights is None else weights)
    np.testing.assert_allclose(epl.draws.soft_psm(P, weights=weights), ref, atol=1e-12)
    shifted = np.log(P) + RNG.normal(size=(6, 5, 1))  # not normalized
    np.testing.assert_allclose(
        epl.draws.soft_psm(shifted, log=True, weights=weights), ref, atol=1e-12
    )
    monkeypatch.setattr("epluribus.draws.read._BLOCK_CELLS", 31)
    np.testing.assert_allclose(epl.draws.soft_psm(P, weights=weights), ref, atol=1e-12)


@pytest.mark.parametrize("weights", [None, [1, 0, 2, 0.5, 1, 3]])
def test_draws_have_that_similarity(weights):
    """Four standard errors of 20000 independent labellings each: 0.5 / sqrt(20000) * 4 < 0.015."""
    draws = epl.soft_draws(P, n_draws_each=20000, weights=weights, rng=1)
    assert draws.n_draws == 120000
    np.testing.assert_allclose(
        similarity(draws), epl.draws.soft_psm(P, weights=weights), atol=0.015
    )


def test_sure_labels_are_kept_with_chains_and_names():
    z = RNG.integers(3, size=(2, 4, 5))
    p = np.eye(3)[z]
    draws = epl.soft_draws(p, n_draws_each=2, items=list("abcde"), rng=1)
    assert (draws.n_draws, draws.n_chains, draws.items) == (16, 2, tuple("abcde"))
    ref = epl.Draws(np.repeat(z, 2, axis=1))
    np.testing.assert_array_equal(np.asarray(draws), np.asarray(ref))
    with np.errstate(divide="ignore"):
        sure = epl.soft_draws(np.log(p), log=True, rng=1)
    np.testing.assert_array_equal(np.asarray(sure), np.asarray(epl.Draws(z)))
    np.testing.assert_allclose(epl.draws.soft_psm(p), similarity(epl.Draws(z)))


@pytest.mark.parametrize("scale", [1e307, 1e-310])
def test_only_ratios_of_weights_matter(scale):
    weights = np.array([1, 0, 2, 0.5, 1, 3])
    ref = epl.draws.soft_psm(P, weights=weights)
    np.testing.assert_allclose(epl.draws.soft_psm(P, weights=weights * scale), ref, atol=1e-12)
    draws = epl.soft_draws(P, n_draws_each=3, weights=weights * scale, rng=1)
    right = epl.soft_draws(P, n_draws_each=3, weights=weights, rng=1)
    np.testing.assert_allclose(draws.shares, right.shares, atol=1e-12)


@pytest.mark.parametrize("total", [1 - 9e-5, 1 + 9e-5])
def test_sums_that_are_not_quite_1_give_no_other_label(total):
    """Of 200,000 labels, one in 11,000 would be beyond the end of a sum below 1."""
    sure = epl.soft_draws(np.full((1, 20, 2), [total, 0.0]), n_draws_each=10_000, rng=1)
    assert sure.n_clusters.max() == 1
    halves = epl.soft_draws(np.full((1, 20, 2), total / 2), n_draws_each=10_000, rng=1)
    assert halves.n_clusters.max() == 2


def test_printed_probabilities_are_made_to_sum_to_1():
    """Three decimals sum to 1.001."""
    printed, exact = np.array([[[0.334, 0.334, 0.333]] * 2]), np.full((1, 2, 3), 1 / 3)
    with pytest.warns(UserWarning, match=r"sum to 1 for each item only up to 0.001"):
        found = epl.draws.soft_psm(printed)
    np.testing.assert_allclose(found, epl.draws.soft_psm(exact), atol=1e-3)


@pytest.mark.parametrize("form", ["dict", "dataset", "tree", "npz", "stan"])
@pytest.mark.parametrize("log", [False, True])
def test_probabilities_are_found_among_other_arrays(form, log, tmp_path):
    import xarray as xr

    values = np.log(P) if log else P
    dims = ("draw", "gene", "k")
    given = {"p": values, "cov": np.cov(P.T[0])[None] + np.zeros((len(P), 1, 1)), "mu": P[:, 0]}
    if form == "npz":
        np.savez(tmp_path / "p.npz", **given)
        given = tmp_path / "p.npz"
    elif form == "stan":
        names = [f"{v}.{i + 1}.{k + 1}" for v in ("p", "cov") for i in range(5) for k in range(3)]
        flat = np.hstack([values.reshape(len(P), -1), P.reshape(len(P), -1) - 2])
        given = tmp_path / "p.csv"
        np.savetxt(given, flat, "%.17g", ",", header=",".join(names), comments="")
    elif form != "dict":
        given = xr.Dataset({"p": (dims, values), "cov": (("draw", "a", "b"), given["cov"])})
        given = xr.DataTree.from_dict({"posterior": given}) if form == "tree" else given
    np.testing.assert_array_equal(epl.soft_draws(given, rng=1), epl.soft_draws(P, rng=1))
    np.testing.assert_array_equal(epl.soft_draws(given, var="p", rng=1), epl.soft_draws(P, rng=1))
    with pytest.raises(ValueError, match=r"'var' must be one of .*'p', 'cov'; got 'q'"):
        epl.soft_draws(given, var="q")


BAD = P.copy()
BAD[2, 3] = [0.5, 0.6, 0.1]


@pytest.mark.parametrize(
    ("p", "options", "error", "message"),
    [
        (P[0], {}, ValueError, r"got shape \(5, 3\). For one set of probabilities, wrap it: \[p\]"),
        (P[:0], {}, ValueError, r"none of them empty; got shape \(0, 5, 3\)"),
        ([[["a"]]], {}, TypeError, "'probabilities' must hold numbers; got values of type <U1"),
        (BAD, {}, ValueError, r"sum to 1; draw 2, item 3 .* \[0.5, 0.6, 0.1\]. The last dimension"),
        (P - 0.5, {}, ValueError, r"must hold probabilities; draw 0, item 0 .* give log=True"),
        (P * np.nan, {}, ValueError, r"must hold probabilities; draw 0, item 0"),
        (P * np.nan, {"log": True}, ValueError, r"must hold logarithms; draw 0, item 0"),
        (P * 0 - np.inf, {"log": True}, ValueError, r"must hold logarithms; draw 0, item 0"),
    ],
)
def test_bad_probabilities_are_refused_in_words(p, options, error, message):
    for function in (epl.soft_draws, epl.draws.soft_psm):
        with pytest.raises(error, match=message):
            function(p, **options)


def test_labeled_probabilities_keep_names_and_chains():
    import xarray as xr

    p = np.random.default_rng(1).dirichlet(np.ones(3), size=(2, 5, 4))
    data = xr.DataArray(
        p, dims=("chain", "draw", "gene", "k"), coords={"gene": ["a", "b", "c", "d"]}
    )
    draws = epl.soft_draws(data, rng=1)
    assert draws.items == ("a", "b", "c", "d")
    np.testing.assert_array_equal(draws, epl.soft_draws(p, rng=1))
    turned = data.transpose("gene", "draw", "chain", "k")
    again = epl.soft_draws(turned, rng=1)
    assert again.items == draws.items
    np.testing.assert_array_equal(again, draws)
    np.testing.assert_allclose(epl.draws.soft_psm(turned), epl.draws.soft_psm(p))


@pytest.mark.parametrize("names", ["p.1.1,p.1.2,p.2.1", "p.1.1,p.1.2,p.2.1,p.1.1", "p.2.1,p.2.2"])
def test_columns_that_lack_an_entry_are_refused(names, tmp_path):
    n = names.count("p")
    (tmp_path / "p.csv").write_text(f"{names}\n{','.join(['0.5'] * n)}\n")
    with pytest.raises(ValueError, match=r"'p' of the file .* must have a column for every item"):
        epl.soft_draws(tmp_path / "p.csv", rng=1)


def test_probabilities_are_no_logarithms():
    p = np.full((5, 4, 2), 0.5)
    with pytest.raises(ValueError, match="sum to 1 for each item: they are no logarithms"):
        epl.soft_draws(p, log=True)
