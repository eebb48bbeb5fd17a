"""Damaged files of every kind that the package reads, and text that nobody wrote."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import epluribus as epl
from epluribus.cli._data import read_items, read_model
from epluribus.models import GaussianMixture
from epluribus.readers.files import read_labels
from epluribus.readers.text import read_column, read_groups
from rule import judge

Z = np.random.default_rng(1).integers(3, size=(12, 6))
NAMES = list("abcdef")
MODEL = GaussianMixture([0.1, 0.2, 5.0, 5.1])
SHORT = {"n_draws": 3, "burn": 3, "thin": 1, "rng": 1, "n_jobs": 1}
FROM_R = Path(__file__).parents[1] / "readers" / "data"
READERS = {
    "draws": epl.read_draws,
    "labels": read_labels,
    "estimate": epl.load,
    "checkpoint": lambda path: epl.sample(MODEL, **SHORT, checkpoint=path),
    "numbers": read_items,
    "network": lambda path: read_model("sbm", path),
    "groups": lambda path: read_groups(path, {"a", "b"}),
    "column": lambda path: read_column(path, "cluster"),
}


@cache
def samples() -> dict[str, list[Path]]:
    """Whole files by the reader that they are for, and by name; written once, where nobody else writes."""
    import networkx as nx
    import pandas as pd
    import xarray as xr

    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    np.save(folder / "z.npy", Z)
    np.savez(folder / "z.npz", labels=Z, items=np.array(NAMES))
    np.savez_compressed(folder / "packed.npz", z=Z, mu=Z / 3)
    frame = pd.DataFrame(Z, columns=NAMES)
    for name in ("z.csv", "z.csv.gz"):
        frame.to_csv(folder / name, index=False)
    frame.to_csv(folder / "z.tsv", sep="\t")
    frame.to_parquet(folder / "z.parquet")
    frame.astype(str).to_parquet(folder / "words.parquet")
    labels = xr.Dataset({"z": (("draw", "item"), Z)}, coords={"item": NAMES})
    labels.to_netcdf(folder / "z.nc", engine="h5netcdf")
    labels[["z"]].drop_vars("item").to_netcdf(folder / "classic.nc", engine="scipy")
    with warnings.catch_warnings():
        # zarr says that names of one letter may be stored otherwise one day
        warnings.simplefilter("ignore")
        labels.to_zarr(folder / "z.zarr", encoding={"z": {"chunks": (4, 6)}})
    best = epl.minimize(epl.Draws(Z, items=NAMES), rng=1)
    best.save(folder / "best.json")
    best.write_labels(folder / "labels.csv", certainty=np.ones(6))
    best.write_labels(folder / "labels.parquet")
    epl.sample(MODEL, **SHORT, checkpoint=folder / "run.npz")
    (folder / "edges.csv").write_text("from,to\nann,bob\nbob,cy\ncy,dan\n")
    nx.write_graphml(nx.path_graph(4), folder / "net.graphml")
    r = [path for path in sorted(FROM_R.iterdir()) if path.suffix in (".rds", ".rda", ".csv")]
    kinds = {
        "draws": "z.* packed.npz words.parquet classic.nc",
        "labels": "labels.*",
        "estimate": "best.*",
        "checkpoint": "run.npz",
        "numbers": "z.csv z.npy",
        "network": "edges.csv net.graphml",
        "groups": "edges.csv",
        "column": "labels.csv",
    }
    found = {
        kind: sorted(path for pattern in patterns.split() for path in folder.glob(pattern))
        for kind, patterns in kinds.items()
    }
    return {**found, "draws": found["draws"] + r}


class Damage(NamedTuple):
    """What happens to a file: a piece of it is cut off, changed, dropped, doubled, or put in."""

    kind: str
    places: list[float]
    """Shares of the length, in order, so that hypothesis need not know it."""
    new: bytes

    def __call__(self, content: bytes) -> bytes:
        data = bytearray(content)
        at = [int(place * len(data)) for place in self.places]
        i, j = at[:2]
        if self.kind == "cut":
            return bytes(data[:i])
        if self.kind == "drop":
            return bytes(data[:i] + data[j:])
        if self.kind == "double":
            return bytes(data[:j] + data[i:])
        if self.kind == "splice":
            return bytes(data[:i] + self.new + data[i:])
        for place in at:
            data[place : place + len(self.new)] = self.new
        return bytes(data)


DAMAGES = st.builds(
    Damage,
    st.sampled_from(["cut", "change", "drop", "double", "splice"]),
    st.lists(st.floats(0, 1), min_size=2, max_size=5).map(sorted),
    st.binary(min_size=1, max_size=4),
)


DAMAGED = (st.data(),)


def damaged_files(data):
    """A reader, a file of its kind, and a damage; in zarr, to one of its files, or one is lost."""
    kind = data.draw(st.sampled_from([*READERS, *(["draws"] * 8)]))
    path = data.draw(st.sampled_from(samples()[kind]))
    damage = data.draw(DAMAGES)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, path.name)
        if path.is_dir():
            shutil.copytree(path, copy)
            inside = sorted(file for file in copy.rglob("*") if file.is_file())
            hit = data.draw(st.sampled_from(inside))
            if data.draw(st.booleans()):
                hit.unlink()
            else:
                hit.write_bytes(damage(hit.read_bytes()))
        else:
            copy.write_bytes(damage(path.read_bytes()))
        judge(lambda: READERS[kind](copy), names=(copy.name,))


LETTERS = st.sampled_from(
    [*",;|\t\"'#=+-. \n\n\r0123456789axNAé\0\U000d96d6", "nan", "z.1", "chain", "lp__"]
)


TEXTS = (
    st.lists(LETTERS, max_size=60),
    st.sampled_from(["draws", "labels", "numbers", "network", "groups", "column"]),
)


def any_text(letters, kind):
    """Text of the letters that matter to tables."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.csv")
        path.write_bytes("".join(letters).encode())
        judge(lambda: READERS[kind](path), names=("text.csv",))
