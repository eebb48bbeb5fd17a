import gzip
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import rdata

import epluribus as epl
from io_cases import MU, Z3, Z, same

CHAIN = np.repeat([1, 2], 5)
ITERATION = np.tile(np.arange(1, 6), 2)


def stan_text(z, *, warmup=0, form="{}.{}", extra=()):
    """A file as CmdStan writes it, with parameters beside the labels."""
    names = ["lp__", "accept_stat__", "divergent__", "theta"]
    names += [form.format("mu", k) for k in (1, 2)] + [form.format("z", i) for i in (1, 2, 3, 4)]
    names += ["Sigma.1.1", "Sigma.1.2", *extra]
    begin = ["-7.5", "0.9", "0", "0.25", "1.5", "-2.5"]
    rows = [",".join([*begin, *map(str, row), "1", "0", *("3" for _ in extra)]) for row in z]
    noise = [",".join(["-99", "0", "1"] + ["1"] * (len(names) - 3))] * warmup
    head = ["# stan_version_major = 2", f"#   save_warmup = {bool(warmup)}", ",".join(names)]
    middle = ["# Adaptation terminated", "# Step size = 0.8"]
    return "\n".join([*head, *noise, *middle, *rows, "# ", "#  Elapsed Time: 0.1 seconds", ""])


def write_chains(folder, **options):
    paths = [folder / f"model-{c}.csv" for c in (1, 2)]
    for path, z in zip(paths, Z3, strict=True):
        path.write_text(stan_text(z, **options))
    return paths


@pytest.mark.parametrize("options", [{}, {"warmup": 3}, {"form": "{}[{}]"}])
def test_stan_files_are_chains(options, tmp_path):
    paths = write_chains(tmp_path, **options)
    draws = same(epl.read_draws(paths))
    assert draws.items == ("1", "2", "3", "4")
    same(epl.Draws(paths))
    same(epl.Draws([str(path) for path in paths], var="z"))
    assert epl.read_draws(str(paths[0])).n_chains == 1
    assert epl.read_draws(paths, burn=2).n_draws == 6


def test_two_variables_of_integers_need_a_name(tmp_path):
    path = tmp_path / "model.csv"
    path.write_text(stan_text(Z3[0], extra=["c.1", "c.2"]))
    with pytest.raises(ValueError, match=r"'mu', 'z', 'c', of which 'z', 'c' could be it"):
        epl.read_draws(path)
    assert epl.read_draws(path, var="z").n_items == 4
    with pytest.raises(ValueError, match=r"'var' must be one of 'mu', 'z', 'c' in .*; got 'w'"):
        epl.read_draws(path, var="w")
    path.write_text("lp__,p.1.1,p.2.1,p.1.2,p.2.2\n-7,0.5,0.1,0.5,0.9\n")
    with pytest.raises(ValueError, match=r"'p' has two indices .* read it with soft_draws"):
        epl.read_draws(path, var="p")


@pytest.mark.parametrize("cells", ["0.5,0.5", "1,2", "a,b"])
@pytest.mark.parametrize("names", ["lp__,p.1.1,p.2.1", '"p[1,0]","p[1,1]","p[2,1]"'])
def test_entries_with_two_indices_are_no_labels(tmp_path, cells, names):
    path = tmp_path / "model.csv"
    path.write_text(f"{names}\n" + f"1,{cells}\n" * 3)
    with pytest.raises(ValueError, match="entries with two indices, such as 'p"):
        epl.read_draws(path)


def test_files_of_different_items_are_refused(tmp_path):
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_text("a,b\n1,1\n")
    two.write_text("a,b,c\n1,1,2\n")
    with pytest.raises(ValueError, match=r"must have the same items; '.*1.csv' has 2 and .* has 3"):
        epl.read_draws([one, two])
    two.write_text("b,a\n1,1\n")
    with pytest.raises(ValueError, match=r"must name the same items"):
        epl.read_draws([one, two])


def posterior_frame(labels="z"):
    frame = pd.DataFrame(Z, columns=[f"{labels}[{i + 1}]" for i in range(4)])
    frame.insert(0, "alpha", 0.5)
    return frame.assign(**{".chain": CHAIN, ".iteration": ITERATION, ".draw": np.arange(1, 11)})


@pytest.mark.parametrize("ending", ["csv", "parquet", "rds"])
def test_posterior_frames(ending, tmp_path):
    frame, path = posterior_frame(), tmp_path / f"draws.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "rds":
        write_rds(path, frame)
    else:
        frame.to_csv(path, index=False)
    assert same(epl.read_draws(path)).items == ("1", "2", "3", "4")


def test_frames():
    same(epl.Draws(posterior_frame()))
    wide = pd.DataFrame(Z, columns=list("abcd"))
    assert same(epl.Draws(wide), chains=1).items == tuple("abcd")
    for chain in (CHAIN, CHAIN * 1.0, np.array(["x", "y"])[CHAIN - 1]):
        assert same(epl.Draws(wide.assign(chain=chain))).items == tuple("abcd")
    index = pd.MultiIndex.from_arrays([CHAIN, ITERATION], names=["chain", "draw"])
    same(epl.Draws(wide.set_index(index)))
    same(epl.Draws(wide.astype("Int64").astype("category")), chains=1)
    assert epl.Draws(wide, weights=np.arange(10), burn=1).draw_weights[0] == 1
    numbered = wide.set_axis(["X1", "X2", "X3", "X4"], axis=1).assign(K=2)  # as R names them
    same(epl.Draws(numbered, var="X"), chains=1)
    r = ("anna", "anna.1", "bo", "bo.1")  # R makes names unique with a number
    assert epl.Draws(wide.set_axis(r, axis=1)).items == r


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({".log_weight": 0.0}, {}, r"column '.log_weight' of 'z' holds weights.*'weights'"),
        ({"chain": [1] * 9 + [None]}, {}, r"must have a chain; that of draw 9 is missing"),
        ({}, {"var": "z"}, r"'var' must be None for 'z', .* every column is an item; got 'z'"),
        ({"a": 0.5}, {}, r"draw 0, item 'a' has 0.5, which .* Leave such columns out"),
    ],
)  # fmt: skip
def test_bad_frames_are_refused_in_words(change, options, message):
    frame = pd.DataFrame(Z, columns=list("abcd")).assign(**change)
    with pytest.raises(ValueError, match=message):
        epl.Draws(frame, **options)


def test_a_frame_without_labels():
    with pytest.raises(ValueError, match=r"No column of 'z' holds labels: it has 'chain',"):
        epl.Draws(pd.DataFrame({"chain": [1], "lp__": [0.5]}))


def test_a_header_that_counts_is_pointed_out(tmp_path):
    path = tmp_path / "draws.csv"
    pd.DataFrame(Z).to_csv(path, index=False)
    with pytest.warns(UserWarning, match=r"counts the columns.* leave it out with burn=1"):
        draws = epl.read_draws(path, burn=1)
    same(draws, chains=1)


def test_a_column_that_counts_the_draws_of_each_chain_is_left_out():
    frame = pd.DataFrame(Z, columns=list("abcd"))
    for columns in ({"chain": CHAIN, "step": ITERATION}, {"step": ITERATION, "chain": CHAIN}):
        with pytest.warns(UserWarning, match="column 'step' of 'z' counts the draws"):
            draws = epl.Draws(pd.concat([pd.DataFrame(columns), frame], axis=1))
        assert same(draws).items == tuple("abcd")
    counted = frame.assign(a=np.arange(1, 11))
    with pytest.warns(UserWarning, match="column 'a' of 'z' counts the draws"):
        assert epl.Draws(counted).items == tuple("bcd")
    assert epl.Draws(counted[:9]).items == tuple("abcd")  # fewer may count by chance


def test_a_plain_table_has_no_variables_and_a_folder_no_table(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("1,2\n1,1\n")
    with pytest.raises(ValueError, match=r"'var' must be None for the file .*; got 'z'"):
        epl.read_draws(path, var="z")
    with pytest.raises(IsADirectoryError, match="is a folder; a file is needed"):
        epl.read_draws(tmp_path)


def test_npz_with_labels_among_other_tables(tmp_path):
    path = tmp_path / "draws.npz"
    np.savez(path, labels=Z3, log_posterior=MU[:, :, 0], items=list("abcd"))
    assert same(epl.read_draws(path)).items == tuple("abcd")


# --- R ---


def write_rds(path, value):
    rdata.write_rds(path, value)
    return path


def test_rds_refused_in_words(tmp_path):
    path = tmp_path / "z.rds"
    rows = Z.astype(np.int32)
    write_rds(path, {"a": rows, "b": rows})
    with pytest.raises(ValueError, match=r"'var' must name .*of which 'a', 'b' could be it"):
        epl.read_draws(path)
    with pytest.raises(ValueError, match=r"got 'c'"):
        epl.read_draws(path, var="c")
    write_rds(path, Z3.astype(np.int32))
    with pytest.raises(ValueError, match=r"must be a matrix, .* got one of shape \(2, 5, 4\)"):
        epl.read_draws(path)
    write_rds(path, [rows, rows[:3]])
    with pytest.raises(ValueError, match=r"must have one shape; got \[\(3, 4\), \(10, 4\)\]"):
        epl.read_draws(path)


@dataclass
class RArray:
    """An array with the attributes R gives it, for the writer of rdata."""

    values: np.ndarray
    dimnames: dict
    classes: tuple = ()


def build_r_array(data, converter):
    from rdata.conversion.to_r import build_r_object
    from rdata.parser import RObjectType

    values = data.values
    attributes = {
        "dim": np.array(values.shape, dtype=np.int32),
        "dimnames": {name: np.array(entries) for name, entries in data.dimnames.items()},
    }
    if data.classes:
        attributes["class"] = np.array(data.classes)
    return build_r_object(
        RObjectType.INT if values.dtype.kind == "i" else RObjectType.REAL,
        value=np.ravel(values, order="F"),
        is_object=bool(data.classes),
        attributes=converter.convert_to_r_attributes(attributes),
    )


def write_array(path, *args):
    rdata.write_rds(path, RArray(*args), constructor_dict={RArray: build_r_array})
    return path


def test_arrays_of_posterior_and_coda(tmp_path):
    path = tmp_path / "z.rds"
    names = ["alpha", "z[1]", "z[2]", "z[3]", "z[4]"]
    values = np.concatenate([np.full((2, 5, 1), 0.5), Z3], axis=2).transpose(1, 0, 2)
    dimnames = {"iteration": list("12345"), "chain": list("12"), "variable": names}
    write_array(path, values, dimnames, ("draws_array", "draws", "array"))
    same(epl.read_draws(path))
    write_array(path, values, dict(zip("abc", dimnames.values(), strict=True)))
    with pytest.raises(ValueError, match=r"with a dimension .chain.; .* names\(dimn"):
        epl.read_draws(path)
    flat = values.transpose(1, 0, 2).reshape(10, 5)
    write_array(path, flat, {"draw": [str(t) for t in range(10)], "variable": names}, ("mcmc",))
    assert same(epl.read_draws(path), chains=1).items == ("1", "2", "3", "4")


def test_missing_values_of_r_are_missing_labels(tmp_path):
    holes = np.ma.masked_array(Z.astype(np.int32), mask=False)
    holes[6, 2] = np.ma.masked
    broken = Z.astype(np.int32)
    broken[6, 2] = np.iinfo(np.int32).min  # how R stores NA
    path = write_rds(tmp_path / "z.rds", broken)
    pair = write_rds(tmp_path / "pair.rds", [Z.astype(np.int32), broken])
    for draws, at in ((epl.read_draws(path), 6), (epl.read_draws(pair), 16)):
        assert np.argwhere(np.asarray(draws) < 0).tolist() == [[at, 2]]
    np.testing.assert_array_equal(np.asarray(epl.read_draws(path)), np.asarray(epl.Draws(holes)))


class Lazy:
    """What a frame of dask offers."""

    columns = ("chain", "ann", "bob")

    def compute(self):
        return pd.DataFrame([[1, 0, 0], [1, 0, 1], [2, 1, 1]], columns=list(self.columns))


@pytest.mark.parametrize("form", [Lazy, lambda: pa.Table.from_pandas(Lazy().compute())])
def test_frames_of_other_packages(form):
    draws = epl.Draws(form())
    assert draws.items == ("ann", "bob")
    assert draws.n_chains == 2


def test_words_of_which_some_are_there_twice_are_labels_of_one_draw(tmp_path):
    (tmp_path / "draws.csv").write_text("a,a,b\n")
    assert epl.read_draws(tmp_path / "draws.csv").n_draws == 1


def test_compressed_whatever_its_name(tmp_path):
    text = "\n".join(",".join(map(str, row)) for row in Z)
    for name in ("draws.csv", "draws.csv.gz"):
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
        same(epl.read_draws(tmp_path / name), chains=1)


def test_an_address_is_not_read():
    with pytest.raises(FileNotFoundError, match="An address is not read: fetch the file first"):
        epl.read_draws("https://example.org/draws.csv")
