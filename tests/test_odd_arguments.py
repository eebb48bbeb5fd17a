"""Arguments that are wrong, or nearly right: a clear error, or the right answer."""

import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.sparse import csr_array

import epluribus as epl
from epluribus import models, plots, sampling, search
from epluribus import uncertainty as un
from epluribus._validate import make_rng, need
from epluribus.models import (
    DirichletProcess,
    GaussianMixture,
    LatentBlockModel,
    StochasticBlockModel,
)

Z = np.random.default_rng(1).integers(3, size=(12, 6))
MODEL = GaussianMixture([1.0, 2.0, 3.0, 4.0])
HUGE = 10**30
SOFT = np.full((2, 3, 2), 0.5)


def test_a_random_state_is_a_seed():
    """As scikit-learn takes it: the same state, the same answer; another one, another stream."""
    one, two = (make_rng(np.random.RandomState(seed)).random(3) for seed in (1, 2))
    np.testing.assert_array_equal(one, make_rng(np.random.RandomState(1)).random(3))
    assert (one != two).all()
    assert epl.minimize(Z, rng=np.random.RandomState(1)).n_clusters >= 1
    epl.minimize(Z, rng=np.random.Generator(np.random.RandomState(1)._bit_generator))


EDGE = StochasticBlockModel
BOTH, FEW = LatentBlockModel(np.eye(2)), GaussianMixture([1.0, 2.0, 3.0], k_max=2)
FIRST = [1] + [0] * 11
GAPS = epl.Draws([[0, 0, 1, None], [None, 0, 0, 1], [0, 0, None, 1]])
NAMED = epl.Draws(Z, items=list("abcdef"))
MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, False, True])
MATRIX = np.array([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]])
TWO_ROWS = np.array([[1.0, 2.0], [3.0, 4.0]])
FALSE = {"parameters": False, "raw_labels": False}
GROUPS = "must hold pairs or groups of two or more different items"
SQUARE = "must be a square matrix, items by items"
SHARES = "must hold probabilities, from 0 to 1"
VARIABLE = xr.Dataset({"z": (("draw", "item"), np.ones((2, 2), int))})
TEXT = pd.DataFrame({"name": ["a", "b"], "x": [1, 2]})


def best():
    return epl.minimize(Z, rng=1)


def ball():
    return epl.credible_ball(Z[0], Z)


def consensus(x, **options):
    return epl.ConsensusClustering(**options).fit(x)


def chips():
    return un.chips(Z, rng=1)


def weighted(weights):
    return epl.Draws(Z[:3], weights=weights)


def prior(law, **options):
    return GaussianMixture([1.0], prior=law, **options)


def panel():
    return plots.scatter([0], [[0, 1]])


REFUSED = [
    (TypeError, "'rng' must be None", lambda: epl.minimize(Z, rng=True)),
    (TypeError, "'time_limit' must be a number", lambda: epl.minimize(Z, time_limit=True)),
    (TypeError, "'time_limit' must be a number", lambda: epl.minimize(Z, time_limit="1")),
    (ValueError, "'time_limit' must be a finite", lambda: epl.certificate(Z[0], Z, time_limit=-1)),
    (ValueError, r"'k_max' must be at most 2\*\*62", lambda: epl.minimize(Z, k_max=HUGE)),
    (ValueError, "'k' must be at least 1; got 0", lambda: epl.minimize(Z, k=0)),
    (ValueError, "'k' must be at most the number of items, 6; got 7", lambda: epl.minimize(Z, k=7)),
    (ValueError, r"Give 'k' \(exactly\) or 'k_max' \(at most\), .* 2 and 3", lambda: epl.minimize(Z, k=2, k_max=3)),
    (ValueError, r"Give 'k' \(exactly\) or 'k_min' \(at least\), .* 2 and 1", lambda: epl.minimize(Z, k=2, k_min=1)),
    (ValueError, "'k_min' must be at least 1; got 0", lambda: epl.minimize(Z, k_min=0)),
    (ValueError, "'k_min' must be at most 'k_max'; got 4 and 3", lambda: epl.minimize(Z, k_min=4, k_max=3)),
    (ValueError, "'k_min' must be at most the number of items, 6; got 7", lambda: epl.minimize(Z, k_min=7)),
    (ValueError, "'k_max' must be at least 1; got 0. None means no bound", lambda: epl.minimize(Z, k_max=0)),
    (TypeError, "'k_max' must be an integer; got 2.5", lambda: epl.minimize(Z, k_max=2.5)),
    (TypeError, "'k_max' must be an integer; got True", lambda: epl.minimize(Z, k_max=True)),
    (ValueError, "'n_starts' must be at least 1", lambda: epl.minimize(Z, n_starts=0)),
    (ValueError, "'n_jobs' must be at least 1; got 0. -1 means all cores", lambda: epl.minimize(Z, n_jobs=0)),
    (ValueError, "'search' must be one of .*Did you mean 'greedy'", lambda: epl.minimize(Z, search="gredy")),
    (TypeError, "'rng' must be None, a non-negative integer", lambda: epl.minimize(Z, rng="seed")),
    (ValueError, "'rng' must be None, a non-negative integer", lambda: epl.minimize(Z, rng=-1)),
    (ValueError, "'time_limit' must be a finite number above 0", lambda: epl.minimize(Z, time_limit=0)),
    (TypeError, "'loss' must be one loss, by name or a Loss", lambda: epl.minimize(Z, ["vi"])),
    (ValueError, "'starts' must be one or more of .* it is empty", lambda: epl.minimize(Z, starts=[])),
    (ValueError, "'starts' must be one of 'draws'.*got 'drwas'. Did you", lambda: epl.minimize(Z, starts="drwas")),
    (TypeError, "'constraints' must be a Constraints", lambda: epl.minimize(Z, constraints={"must_link": [(0, 1)]})),
    (ValueError, "'undecided' must be used with 'vi', 'binder'", lambda: epl.minimize(Z, "nvi", undecided=1.0)),
    (ValueError, "'undecided' must be a finite number above 0", lambda: epl.minimize(Z, undecided=-1.0)),
    (TypeError, "'losses' must be a list of losses", lambda: epl.minimize_all(Z, [])),
    (TypeError, "'losses' must be a list of losses", lambda: epl.minimize_all(Z, "vi")),
    (ValueError, "'undecided' must be used with one loss", lambda: epl.minimize_all(Z, ["vi", "nid"], undecided=1.0)),
    (ValueError, "'start' must have at most k_max=2 clusters; it has 6", lambda: search.greedy(Z, range(6), k_max=2)),
    (ValueError, "'k_max' must be at least 1; got 0. None means no bound", lambda: search.greedy(Z, Z[0], k_max=0)),
    (ValueError, "'partitions' must hold at least one partition", lambda: search.recombine(Z, [])),
    (ValueError, "at most 12 items to be solved exactly; it has 13", lambda: search.exact([range(13)])),
    (ValueError, "at most 9 items .* 'nvi', which is not linear; it has 10", lambda: search.exact([range(10)], "nvi")),
    (TypeError, "'draws' must be given, or a similarity matrix as 'psm'", lambda: epl.minimize()),
    (ValueError, "'draws' cannot be given together", lambda: epl.minimize(Z, psm=MATRIX)),
    (ValueError, "'undecided' cannot be given together", lambda: epl.minimize(psm=MATRIX, undecided=1)),
    (ValueError, "of 'nvi' needs the draws", lambda: epl.minimize(psm=MATRIX, loss=epl.losses.nvi())),
    (ValueError, "'starts' must be labels", lambda: epl.minimize(psm=MATRIX, starts="draws")),
    (ValueError, "only for a similarity matrix", lambda: epl.minimize(Z, "vi_lb")),
    (ValueError, "With draws use 'vi'", lambda: epl.minimize(Z, epl.losses.vi_lb())),
    (ValueError, rf"{SQUARE}; got shape \(2, 3\)", lambda: epl.minimize(psm=MATRIX[:2])),
    (ValueError, rf"{SQUARE}; got shape \(0, 0\)", lambda: epl.minimize(psm=np.zeros((0, 0)))),
    (ValueError, rf"{SHARES}; entry \(0, 0\) is 1.5", lambda: epl.minimize(psm=MATRIX + 0.5)),
    (ValueError, r"entry \(0, 0\) is -1", lambda: epl.minimize(psm=-MATRIX)),
    (ValueError, r"entry \(1, 2\) is nan", lambda: epl.minimize(psm=np.where(MATRIX == 0.2, np.nan, MATRIX))),
    (ValueError, r"entry \(1, 2\) is nan", lambda: epl.minimize(psm=np.ma.masked_equal(MATRIX, 0.2))),
    (ValueError, r"entry \(0, 0\) is 2", lambda: epl.minimize(psm=csr_array(MATRIX * 2))),
    (ValueError, r"ones on the diagonal; entry \(0, 0\) is 0. If these are", lambda: epl.minimize(psm=1 - MATRIX)),
    (ValueError, "symmetric; entry .0, 1. is 0.9 and entry .1, 0. is 0.", lambda: epl.minimize(psm=np.triu(MATRIX))),
    (TypeError, "must be an array of numbers", lambda: epl.minimize(psm=object())),
    (ValueError, "'z' must have two dimensions", lambda: epl.Draws([])),
    (ValueError, "'z' must have at least one draw; it has no rows", lambda: epl.Draws(np.empty((0, 3)))),
    (ValueError, "'z' must have at least one item; it has no columns", lambda: epl.Draws(np.empty((3, 0)))),
    (ValueError, r"got 1. For one partition, wrap it: \[labels\]", lambda: epl.Draws([0, 1, 2])),
    (ValueError, "draw 0 has 2 items and draw 1 has 1", lambda: epl.Draws([[0, 1], [0]])),
    (ValueError, "draw 1, item 0 .* 0.5, which is not an integer", lambda: epl.Draws([[0, 1], [0.5, 1]])),
    (ValueError, "draw 0, item 1 .* inf", lambda: epl.Draws([[0, np.inf]])),
    (TypeError, "'z' must hold labels .* got values of type complex128", lambda: epl.Draws([[1j, 0]])),
    (ValueError, "'burn' must leave at least one draw; it is 12", lambda: epl.Draws(Z, burn=12)),
    (ValueError, "'burn' must be at least 0; got -1", lambda: epl.Draws(Z, burn=-1)),
    (ValueError, "'thin' must be at least 1; got 0", lambda: epl.Draws(Z, thin=0)),
    (TypeError, "'thin' must be an integer; got 1.5", lambda: epl.Draws(Z, thin=1.5)),
    (ValueError, "'items' must have 6 names, one per item; got 1", lambda: epl.Draws(Z, items=["a"])),
    (ValueError, "'chains' must have one entry per draw", lambda: epl.Draws(Z, chains=[0])),
    (FileNotFoundError, "There is no file 'nowhere.csv'", lambda: epl.Draws("nowhere.csv")),
    (ValueError, "be finite and not negative; draw 1 has -1.0. A weight of 0 leaves", lambda: weighted([1, -1, 1])),
    (ValueError, "be finite and not negative; draw 2 is masked. A weight of 0", lambda: weighted(MASKED)),
    (TypeError, r"be numbers, one for each draw; got \['a', 'b', 'c'\]", lambda: weighted(["a", "b", "c"])),
    (TypeError, "'weights' must be numbers, one for each", lambda: weighted([[1], [2, 3]])),
    (TypeError, "'weights' must be numbers, one for each", lambda: weighted([10**400, 1, 1])),
    (TypeError, "'weights' must be numbers, one for each", lambda: weighted(np.full(3, 1j))),
    (ValueError, r"'weights' must have one entry per draw, shape \(3,\)", lambda: weighted([1, 1])),
    (ValueError, "'weights' must have a positive sum", lambda: weighted([0, 0, 0])),
    (TypeError, "'items' must be a list of 6 names", lambda: epl.Draws(Z, items="abcdef")),
    (TypeError, "'items' must be a list of 6 names", lambda: epl.Draws(Z, items=6)),
    (ValueError, "'a' is there twice", lambda: epl.Draws(Z, items=list("aabcde"))),
    (ValueError, "'kind' must be one of 'posterior', 'ensemble'; got 'x'", lambda: epl.Draws(Z, kind="x")),
    (ValueError, "'noise' must be one of", lambda: epl.Draws(Z, noise="gone")),
    (TypeError, "'client' must be", lambda: epl.Draws(Z, client="localhost:8786")),
    (ValueError, "all weights of the draws kept are 0", lambda: epl.Draws(epl.Draws(Z, weights=FIRST), burn=1)),
    (ValueError, "No draws are left", lambda: epl.Draws(Z)[5:5]),
    (ValueError, r"'number' must be in 0\.\.0; got -1", lambda: epl.Draws(Z).chain(-1)),
    (ValueError, r"'number' must be in 0\.\.0; got 1", lambda: epl.Draws(Z).chain(1)),
    (ValueError, "must end in .npz", lambda: epl.Draws(Z).save("draws.csv")),
    (ValueError, "all labels of draw 1 are missing. Leave such draws out", lambda: epl.Draws([[0, 1], [None, None]])),
    (ValueError, "all labels of 'b', 'c' are missing", lambda: epl.Draws([[0, None, None]] * 2, items=list("abc"))),
    (ValueError, "draw 0 has item 1 twice", lambda: epl.Draws([([1, 1], [0, 0]), ([0, 2], [0, 0])])),
    (ValueError, "number items from 0 on; got item -1", lambda: epl.Draws([([-1, 1], [0, 0])])),
    (ValueError, "needs draws without missing labels; 25% of these", lambda: un.stability(GAPS)),
    (ValueError, "needs draws without missing labels; 25% of these", lambda: un.chips(GAPS)),
    (ValueError, r"'level' must be a number in \(0, 1\]; got 0", lambda: un.n_clusters_posterior(Z, level=0)),
    (ValueError, r"'level' must be a number in \(0, 1\]; got 95", lambda: epl.credible_ball(Z[0], Z, 95)),
    (ValueError, "'n_modes' must be an integer, 'auto' or 'elbow'; got 'm", lambda: epl.modes(Z, n_modes="many")),
    (ValueError, "'n_modes' must be at least 1; got 0. Leave it out", lambda: epl.modes(Z, n_modes=0)),
    (ValueError, r"'threshold' must be a number in \[0, 1\); got 1.5", lambda: epl.psm(Z, sparse=True, threshold=1.5)),
    (ValueError, "'threshold' is for sparse=True only; got 0.1 .*Leave it", lambda: epl.psm(Z, threshold=0.1)),
    (ValueError, "Give one of 'n_items' and 'probability'", lambda: chips().at()),
    (ValueError, "Give one of", lambda: chips().at(n_items=2, probability=0.5)),
    (ValueError, "'n_items' must be at most 6", lambda: chips().at(n_items=7)),
    (ValueError, "'n_items' must be at least 1", lambda: chips().at(n_items=0)),
    (ValueError, r"'probability' must be a number in \(0, 1\]", lambda: chips().at(probability=1.5)),
    (ValueError, "'together' or 'apart' must name items", lambda: un.probability(Z)),
    (ValueError, rf"'together' {GROUPS}; got \[\]", lambda: un.probability(Z, together=[])),
    (ValueError, r"two or more different items; got \[0\]", lambda: un.probability(Z, together=[0])),
    (ValueError, f"'apart' {GROUPS}", lambda: un.probability(Z, apart=[1, 1])),
    (ValueError, "by number, 0 to 5, or by name; got 6", lambda: un.probability(Z, together=[0, 6])),
    (ValueError, "got -1", lambda: un.probability(Z, together=[0, -1])),
    (ValueError, "got 1.5", lambda: un.probability(Z, together=[0, 1.5])),
    (ValueError, "got True", lambda: un.probability(Z, together=[0, True])),
    (ValueError, "got 'ann'. The draws have no names", lambda: un.probability(Z, together=[0, "ann"])),
    (ValueError, "by their names, such as 'a'; got 'cy'", lambda: un.probability(NAMED, together=["a", "cy"])),
    (TypeError, "one of its entries is 0", lambda: un.probability(Z, together=[0, [1, 2]])),
    (TypeError, "'apart' must be a list of pairs or groups of items", lambda: un.probability(Z, apart="ann")),
    (ValueError, "'share' must be a number in", lambda: un.predictive_check(MODEL, share=1.0)),
    (TypeError, "'model' must be a mixture", lambda: un.predictive_check(EDGE([[0, 1], [1, 0]]))),
    (TypeError, "'best' must be an Estimate", lambda: epl.methods(epl.Draws(Z))),
    (ValueError, "'certainty' must be .* one number per item, shape", lambda: best().to_pandas([0.5])),
    (ValueError, "must end in .csv, .parquet, .* or .json; .* '.xls'", lambda: best().write_labels("l.xls")),
    (FileNotFoundError, "There is no folder", lambda: best().write_labels("nowhere/labels.csv")),
    (ValueError, "must end in .json; it ends in '.pkl'", lambda: best().save("best.pkl")),
    (FileNotFoundError, "There is no file", lambda: epl.load("nowhere.json")),
    (ValueError, "'name' must be one of 'galaxies', .*; got 'blog'", lambda: epl.studies.reproduce("blog")),
    (ValueError, "'loss' must be one of .*got 'VIC'. Did you mean 'vi'", lambda: epl.loss([0], [0], "VIC")),
    (TypeError, "'loss' must be a name or a Loss, .*; got 3", lambda: epl.loss([0], [0], 3)),
    (ValueError, "'vi_lb' is only for a similarity matrix", lambda: epl.losses.get("VI.lb")),
    (ValueError, r"'loss' must be written like 'vi\(cost=0.5\)'", lambda: epl.losses.get("vi(0.5)")),
    (ValueError, r"'loss' must be written like 'vi\(cost=0.5\)'", lambda: epl.losses.get("vi(cost=x)")),
    (ValueError, r"'loss' must be written like 'vi\(cost=0.5\)'", lambda: epl.losses.get("vi()")),
    (ValueError, "must be without parameters if it is 'nvi'; got 'nvi", lambda: epl.losses.get("nvi(cost=1)")),
    (ValueError, "'cost' must be a number between 0 and 2", lambda: epl.losses.get("vi(cost=2)")),
    (ValueError, "'cost' must be a number between 0 and 2", lambda: epl.losses.vi(cost=0)),
    (ValueError, "'cost' must be a number between 0 and 2", lambda: epl.losses.vi(cost="a")),
    (ValueError, "'cost' must be a number between 0 and 2", lambda: un.stability(Z, other_losses=["vi(cost=3)"])),
    (TypeError, "'X' must hold numbers; .* Leave out columns of text", lambda: plots.scatter([0, 1], TEXT)),
    (ValueError, "'X' must hold finite numbers; got 1", lambda: plots.scatter([0, 1], [[0, np.nan], [1, 2]])),
    (ValueError, "'X' must have one row for each of the 3 items", lambda: plots.scatter([0, 1, 1], np.eye(2))),
    (ValueError, "two columns or more; got one. plots.histogram", lambda: plots.scatter([0, 1], np.eye(2)[:, :1])),
    (ValueError, r"'values' .* \(n_items, 1\); got shape \(2, 3\)", lambda: plots.histogram([0, 1], np.eye(2, 3))),
    (ValueError, r"'matrix' must .* shape \(2, 2\); got shape \(4, 3\)", lambda: plots.blocks([0, 1], np.eye(4, 3))),
    (ValueError, r"'adjacency' must .* shape \(2, 2\); got shape", lambda: plots.network([0, 1], np.eye(3))),
    (ValueError, "'titles' must be two words", lambda: plots.alluvial(Z[0], Z[1], titles=("one",))),
    (ValueError, "'X' must have one row for each of the 6 items of the p", lambda: plots.ball_bounds(ball(), [1, 2])),
    (TypeError, r"'ball' must be made by credible_ball\(best, draws\); got", lambda: plots.ball_bounds(Z[0], Z)),
    (ValueError, "'axes' must hold 1 x 4 Axes; got 1", lambda: plots.ball_bounds(ball(), axes=panel())),
    (ValueError, "'concentration' must be a finite number above 0; got 0.0", lambda: models.PartitionPrior(0.0)),
    (ValueError, "'on_k' must be one of .*Did you mean 'poisson'", lambda: models.PartitionPrior(1.0, "poison")),
    (ValueError, "'k_max' must be at least 1; got 0", lambda: models.PartitionPrior(1.0, k_max=0)),
    (ValueError, "'discount' must be at least 0 and below 1; got 1.0", lambda: models.PitmanYor(1.0, 1.0)),
    (ValueError, "'concentration' must be above minus the discount, -0.5", lambda: models.PitmanYor(-0.6, 0.5)),
    (ValueError, "'alpha' belongs to the named priors; 'prior' is a Diri", lambda: prior(DirichletProcess(), alpha=1)),
    (TypeError, "'prior' must be a name or an object", lambda: prior(3)),
    (ValueError, "Did you mean 'uniform'", lambda: prior("unifrom")),
    (ValueError, "node numbers up to 1000000000000000000", lambda: EDGE([(0, 10**18)])),
    (MemoryError, "smaller 'n_nodes'", lambda: EDGE([(0, 1)], n_nodes=10**12)),
    (ValueError, "'n_nodes' must be at", lambda: EDGE([(0, 1)], n_nodes=HUGE)),
    (TypeError, "'model' must be a model, such as", lambda: epl.sample([1, 2, 3])),
    (ValueError, "'n_draws' must be at least 1; got 0", lambda: epl.sample(MODEL, n_draws=0)),
    (ValueError, "'burn' must be at least 0; got -1", lambda: epl.sample(MODEL, burn=-1)),
    (TypeError, "'thin' must be an integer; got 0.5", lambda: epl.sample(MODEL, thin=0.5)),
    (ValueError, "'n_chains' must be at least 1", lambda: epl.sample(MODEL, n_chains=0)),
    (ValueError, "'n_jobs' must be at least 1; got 0. -1 means all cores", lambda: epl.sample(MODEL, n_jobs=0)),
    (ValueError, "'moves' must be one of 'default', 'appendix'", lambda: epl.sample(MODEL, moves="gibs")),
    (TypeError, "'moves' must be 'default', 'appendix' or a sequence", lambda: epl.sample(MODEL, moves=[])),
    (TypeError, "'moves' must be 'default', 'appendix' or a sequence", lambda: epl.sample(MODEL, moves=[1])),
    (ValueError, "'rng' must be None, a non-negative integer", lambda: epl.sample(MODEL, rng=-1)),
    (TypeError, "'progress' must be True, False or a function", lambda: epl.sample(MODEL, progress=1)),
    (FileNotFoundError, "There is no folder 'nowhere'", lambda: epl.sample(MODEL, checkpoint="nowhere/a.npz")),
    (ValueError, "must be at least 1; got 0", lambda: sampling.Gibbs(0)),
    (ValueError, "must be at least 1; got 0", lambda: sampling.SplitMerge(0)),
    (ValueError, "must be at least 1; got 0", lambda: sampling.Allocation(0)),
    (TypeError, "'start' must be a trace or two partitions, of rows", lambda: epl.sample(BOTH, start=np.zeros(2))),
    (ValueError, "'start' must have at most 2 clusters.*it has 3", lambda: epl.sample(FEW, start=[0, 1, 2])),
    (MemoryError, "smaller 'n_draws'", lambda: epl.sample(MODEL, n_draws=10**12)),
    (ValueError, "'n_draws' must be at most", lambda: epl.sample(MODEL, n_draws=HUGE)),
    (MemoryError, "smaller 'n_draws' or 'n_ch", lambda: epl.sample(MODEL, n_chains=10**12)),
    (ValueError, "at most .* steps", lambda: epl.sample(MODEL, n_draws=10**4, thin=10**18)),
    (MemoryError, "smaller 'n_draws_each'", lambda: epl.soft_draws(SOFT, n_draws_each=10**12)),
    (TypeError, "'X' must be an array, with rows of one length", lambda: consensus([[0], [0, 0]])),
    (TypeError, "'X' must be an array", lambda: consensus(VARIABLE)),
    (TypeError, r"'loss' must be one loss, .* got \['vi', 'binder'\]", lambda: consensus(Z.T, loss=["vi", "binder"])),
    (ValueError, "'probabilities' has no probabilities", lambda: epl.draws.soft_psm(VARIABLE)),
    (TypeError, "'best' must be an Estimate, as min", lambda: un.health(Z[0], Z)),
    (TypeError, "'best' must be an Estimate, as m", lambda: un.left_out(Z[0], Z)),
    (ValueError, "'parameters' must have shape", lambda: un.cluster_parameters([0], [[0]], **FALSE)),
    (ValueError, r"'cost' must be .* got array\(\[\[1., 2.\], \[3., 4.\]\]\).$", lambda: epl.losses.vi(TWO_ROWS)),
    (TypeError, "'adjacency' must be an array, with", lambda: EDGE([[0], [0, 0]])),
    (ValueError, "'adjacency' must be a square", lambda: EDGE(csr_array((2, 3)))),
    (TypeError, "'matrix' must be an array, with rows", lambda: LatentBlockModel([[0], [0, 0]])),
    (TypeError, "'y' must be numbers", lambda: models.PoissonMixture(np.array([[2 + 0j]]))),
    (TypeError, "'checkpoint' must be a path; got 7", lambda: epl.sample(MODEL, n_draws=2, checkpoint=7)),
    (ValueError, "'n_items' must be at least 0", lambda: epl.partition.n_partitions(-1)),
    (TypeError, "'n_items' must be an integer", lambda: epl.partition.n_partitions("x")),
]  # fmt: skip


@pytest.mark.parametrize(("error", "message", "call"), REFUSED)
def test_clear_errors(error, message, call, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        call()
    assert not list(tmp_path.iterdir())


def test_a_package_that_is_there_but_broken(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import nowhere_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"installed but cannot be imported \(No module named"):
        need("broken_package", "files", "This")
    monkeypatch.setitem(sys.modules, "broken_package", None)
    with pytest.raises(ImportError, match="'broken_package', which is not installed"):
        need("broken_package", "files", "This")
