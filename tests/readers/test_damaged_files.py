"""A damaged file of any kind is one line that names it; nothing else may come out of it."""

import warnings

import numpy as np
import pytest

import epluribus as epl
from epluribus.models import GaussianMixture, StochasticBlockModel

Z = np.random.default_rng(1).integers(3, size=(12, 6))


def write_csv(path):
    np.savetxt(path, Z, fmt="%d", delimiter=",", header="a,b,c,d,e,f", comments="")


def write_parquet(path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas").DataFrame(Z, columns=list("abcdef")).to_parquet(path)


def write_netcdf(path):
    pytest.importorskip("h5netcdf")
    xarray = pytest.importorskip("xarray")
    xarray.Dataset({"z": (("draw", "item"), Z)}).to_netcdf(path, engine="h5netcdf")


WRITERS = {
    "z.npy": lambda path: np.save(path, Z),
    "z.npz": lambda path: np.savez(path, labels=Z, items=np.array(list("abcdef"))),
    "packed.npz": lambda path: np.savez_compressed(path, labels=Z),
    "z.csv": write_csv,
    "z.csv.gz": write_csv,
    "z.parquet": write_parquet,
    "z.nc": write_netcdf,
}


def damaged(content, seed):
    """The bytes cut short, with some of them changed, or with a piece missing."""
    rng = np.random.default_rng(seed)
    data = bytearray(content)
    kind, (i, j) = rng.integers(3), sorted(rng.integers(len(data), size=2))
    if kind == 0:
        return bytes(data[:i])
    if kind == 1:
        for place in rng.integers(len(data), size=rng.integers(1, 5)):
            data[place] = rng.integers(256)
        return bytes(data)
    return bytes(data[:i] + data[j:])


def refusal(call):
    """The one line by which a file is refused; None if it can be read all the same."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return None


# h5netcdf complains as it closes what it could not open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", WRITERS)
def test_draws(name, tmp_path, capsys):
    path = tmp_path / name
    WRITERS[name](path)
    content = path.read_bytes()
    for seed in range(60):
        path.write_bytes(damaged(content, seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            message = refusal(lambda: epl.read_draws(path))
        assert message is None or (name in message and "\n" not in message)
    assert capsys.readouterr().err == ""  # nor complaints as half-opened files are closed


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_estimates(ending, tmp_path):
    path = tmp_path / f"best.{ending}"
    epl.minimize(Z, rng=1).save(path)
    content = path.read_bytes()
    for seed in range(60):
        path.write_bytes(damaged(content, seed))
        message = refusal(lambda: epl.load(path))
        assert message is None or path.name in message


def test_a_checkpoint(tmp_path):
    path, model = tmp_path / "run.npz", GaussianMixture([0.1, 0.2, 5.0, 5.1])
    epl.sample(model, n_draws=5, burn_in=5, thin=1, n_chains=1, rng=1, checkpoint=path)
    content = path.read_bytes()
    for seed in range(40):
        path.write_bytes(damaged(content, seed))
        message = refusal(lambda: epl.sample(model, resume=path))
        assert message is None or "run.npz" in message


def test_the_header_of_an_npy_file_that_does_not_end(tmp_path):
    path = tmp_path / "z.npy"
    np.save(path, Z)
    path.write_bytes(path.read_bytes().replace(b"}", b"("))
    with pytest.raises(ValueError, match=r"z.npy' could not be read as NumPy data"):
        epl.read_draws(path)


def test_zarr(tmp_path):
    """A lost chunk would read as one cluster; a chunk of zeros is not written in the first place."""
    zarr = pytest.importorskip("zarr")
    path = tmp_path / "z.zarr"
    zarr.create_array(path, data=Z + 1, chunks=(4, 6))
    chunks = sorted(file for file in path.rglob("c/*/*") if file.is_file())
    content = chunks[0].read_bytes()
    chunks[0].write_bytes(content[:10])
    with pytest.raises(ValueError, match=r"z.zarr' could not be read as labels"):
        epl.read_draws(path)
    chunks[0].unlink()
    with pytest.warns(UserWarning, match=r"z.zarr' lacks 1 of its 3 chunks.* every label is 0"):
        epl.read_draws(path)
    for chunk in chunks[1:]:
        chunk.unlink()
    with pytest.raises(ValueError, match=r"z.zarr' .* none of its chunks is there"):
        epl.read_draws(path)


def test_zarr_of_xarray(tmp_path):
    pytest.importorskip("zarr")
    xarray = pytest.importorskip("xarray")
    path = tmp_path / "z.zarr"
    labels = xarray.Dataset({"z": (("draw", "item"), Z + 1)})
    labels.to_zarr(path, group="posterior", encoding={"z": {"chunks": (4, 6)}}, consolidated=False)
    epl.read_draws(path)
    next(file for file in sorted(path.rglob("z/c/*/*")) if file.is_file()).unlink()
    with pytest.warns(UserWarning, match=r"z.zarr' lacks 1 of its 3 chunks"):
        epl.read_draws(path)


def test_a_network(tmp_path):
    networkx = pytest.importorskip("networkx")
    path = tmp_path / "net.graphml"
    networkx.write_graphml(networkx.path_graph(4), path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"net.graphml' could not be read as GraphML"):
        StochasticBlockModel(path)
