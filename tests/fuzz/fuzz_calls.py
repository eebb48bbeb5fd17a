"""Odd arguments of the public functions and of the command line."""

from __future__ import annotations

import contextlib
import inspect
import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from hypothesis import strategies as st
from scipy.sparse import csr_array

import epluribus as epl
from epluribus import changes, losses, models, partition, search, uncertainty
from epluribus.cli import _base, main
from rule import judge

HUGE = 10**30
WRONG = [HUGE, -HUGE, np.int64(2), np.float64(0.5), "vi", "alone", b"x", {}, (), 1j, 1e300]
WRONG += [np.eye(2), np.array([]), np.random.RandomState(1), object(), ("vi", "binder")]
LISTS = st.lists(st.one_of(st.integers(-1, 3), st.floats(), st.text(max_size=2)), max_size=6)
PLAIN = (st.none(), st.booleans(), st.integers(-2, 8), st.floats(width=32), st.text(max_size=3))
ODD = st.one_of(*PLAIN, st.sampled_from(WRONG), LISTS)
"""Values that an argument may be given by mistake."""
CELLS = st.sampled_from(
    [
        st.integers(0, 2),
        st.integers(-1, 5),
        st.sampled_from([0.0, 1.0, 2.0, np.nan]),
        st.sampled_from(["a", "b", "x", "1"]),
        st.floats(),
        st.one_of(st.integers(0, 2), st.none()),
        st.one_of(st.integers(0, 2), st.text(max_size=2), st.floats(), st.booleans()),
        st.sampled_from([0, 1, HUGE]),
    ]
)
"""Kinds of labels, from right to wrong."""


_FORMS = "list array objects masked chains ragged frame mapping dataset sparse"
FORMS = _FORMS.split()
"""How a table may come."""


@st.composite
def tables(draw, most=5):
    """Labels by draw and item, as lists or arrays; sometimes with chains, or with rows that differ."""
    cells, shape = draw(CELLS), (draw(st.integers(1, 4)), draw(st.integers(1, most)))
    rows = [draw(st.lists(cells, min_size=shape[1], max_size=shape[1])) for _ in range(shape[0])]
    form = draw(st.sampled_from(FORMS))
    if form == "ragged":
        rows[-1] = [*rows[-1], 0]
    if form in ("list", "ragged"):
        return rows
    if form == "objects":
        return np.array(rows, dtype=object)
    array = np.array(rows)
    if form == "masked":
        return np.ma.masked_array(array, draw(st.booleans()))
    if form == "frame":
        names = draw(st.sampled_from(["abcde", "KabcK", "aabcd"]))
        return pd.DataFrame(rows, columns=list(names[: shape[1]]))
    if form == "mapping":
        return {"z": array, "mu": array}
    if form == "dataset":
        return xr.Dataset({"z": (("draw", "item"), array)})
    if form == "sparse" and array.dtype.kind in "iuf":
        return csr_array(array)
    return array[None] if form == "chains" else array


def one(draw, z):
    """One partition: a row of the table, or anything."""
    row = st.just(z[0]) if isinstance(z, list | np.ndarray) else st.just([0, 1])
    return draw(st.one_of(row, st.just(z), ODD, tables()))


NAMES = {
    epl: """Draws ConsensusClustering certificate credible_ball expected_loss loss minimize minimize_all modes
        plausibility psm sample soft_draws""",
    search: "exact greedy merge recombine",
    changes: "what_differs",
    uncertainty: """chips cluster_parameters clusters compare credible_set error health items left_out
        n_clusters_posterior probability stability""",
    partition: "canonical contingency join meet n_partitions",
    losses: "binder get vi",
    models: """BernoulliMixture CategoricalMixture DirichletProcess GaussianMixture LatentBlockModel
        PartitionPrior PitmanYor PoissonBlockModel PoissonMixture StochasticBlockModel""",
}
FUNCTIONS = [getattr(module, name) for module, names in NAMES.items() for name in names.split()]
"""Public functions and classes; those that take long whatever they are given are left out."""
TABLES = {"z", "draws", "probabilities", "y", "adjacency", "matrix"}
"""Arguments that are tables; `PARTITIONS` are those that are one partition."""
PARTITIONS = {"a", "b", "best", "labels", "start"}
LEFT_OUT = {"progress", "client", "engine"}
QUICK = {"rng": 1, "n_jobs": 1, "n_draws": 5, "thin": 1, "burn": 2, "n_starts": 2}
"""What is given unless it is to be odd."""
GAUSSIAN = models.GaussianMixture([0.0, 0.1, 4.0])
CALLS = (st.data(),)


def any_call(data):
    """A public function with a table and up to two odd arguments; its answer is checked where it can be."""
    function = data.draw(st.sampled_from(FUNCTIONS))
    z = data.draw(tables())
    given, free = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in TABLES:
            given[name] = z
        elif name == "model":
            given[name] = GAUSSIAN
        elif parameter.default is not parameter.empty:
            free.append(name)
        elif name in PARTITIONS:
            given[name] = one(data.draw, z)
        else:
            given[name] = data.draw(ODD)
    free = [name for name in free if name not in LEFT_OUT]
    given |= {name: value for name, value in QUICK.items() if name in free}
    if free:
        odd = data.draw(st.lists(st.sampled_from(free), max_size=2, unique=True))
        given |= {name: data.draw(ODD) for name in odd}
    value = judge(lambda: call(function, given, z))
    check(function, value)


def call(function, given, z):
    """A function of the package, or a consensus, which does its work and its checks in `fit`."""
    value = function(**given)
    return value.fit(z) if hasattr(value, "fit") else value


def check(function, value):
    """That an answer is right, where that can be seen at a glance."""
    if function is epl.minimize and hasattr(value, "labels"):
        assert np.array_equal(value.labels, partition.by_size(value.labels))
        assert value.expected_loss >= -1e-12
    if function in (epl.psm, epl.draws.soft_psm) and isinstance(value, np.ndarray):
        assert np.all((value >= 0) & (value <= 1) | np.isnan(value))
        assert np.all(value.diagonal(axis1=-2, axis2=-1) == 1)
    if function is epl.loss and value is not None:
        assert value >= -1e-12


@cache
def folder() -> Path:
    """Files for the command line, right and wrong."""
    place = Path(tempfile.mkdtemp(prefix="fuzz"))
    (place / "draws.csv").write_text("a,b,c\n0,0,1\n0,1,1\n0,0,0\n")
    (place / "labels.csv").write_text("item,cluster\na,0\nb,0\nc,1\n")
    (place / "numbers.csv").write_text("y\n0.1\n0.2\n5.0\n")
    (place / "empty.csv").write_text("")
    (place / "bad.npz").write_bytes(b"PK\3\4 not a zip file")
    (place / "folder.csv").mkdir()
    return place


FILES = {
    **{name: f"{name}.csv" for name in ("draws", "labels", "numbers", "empty", "folder", "new")},
    "bad": "bad.npz",
    "npz": "new.npz",
}
"""What stands for them in a command."""
ARGUMENTS = [one for _, _, arguments in _base.COMMANDS.values() for one in arguments]
OPTIONS = sorted({name for one in ARGUMENTS for name in one.names if name.startswith("-")})
PLAIN_WORDS = "- -- 0 1 2 -1 0.5 nan inf 1e400 x vi vi(cost=0.5) vi(cost= alone é nowhere.csv"
VALUES = ["", *PLAIN_WORDS.split()]
VALUES += ["9" * 20, *(f"{{{name}}}" for name in FILES)]
WORDS = st.one_of(st.sampled_from(OPTIONS), st.sampled_from(VALUES))
LINES = (
    ("summarize", "{draws}"),
    ("compare", "{labels}", "{labels}"),
    ("psm", "{draws}", "--out", "{new}"),
    ("ball", "{draws}"),
    ("modes", "{draws}"),
    ("sample", "gaussian", "{numbers}", "--out", "{npz}", "--n-draws", "5", "--burn", "2", "--thin", "1"),
    ("losses",),
    ("datasets",),
)  # fmt: skip


COMMANDS = (st.sampled_from(LINES), st.lists(WORDS, max_size=4), st.integers(0, 3))


def any_command(command, words, cut):
    """A command with options and words that may not belong to it, in this process."""
    files = {name: str(folder() / file) for name, file in FILES.items()}
    arguments = [word.format(**files) for word in [*command[: len(command) - cut or None], *words]]
    # Nothing may be written where the tests happen to run.
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(folder()),
    ):
        try:
            code = judge(lambda: main(arguments))
        except SystemExit as left:  # argparse: usage, or help
            code = left.code
    assert code in (0, 2), (code, err.getvalue())
    assert "Traceback" not in err.getvalue(), err.getvalue()
    if code == 2 and err.getvalue().startswith("epluribus:"):
        assert err.getvalue().count("\n") == 1, err.getvalue()
