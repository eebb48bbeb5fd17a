"""Data that are built in, and data that are downloaded."""

import hashlib
import sys
import types

import numpy as np
import pytest

from epluribus import datasets
from epluribus.datasets import load_congress_votes, load_french_blogs, load_galaxies


def test_galaxies_and_votes():
    velocity = load_galaxies()
    assert (velocity.size, velocity.sum(), velocity[77]) == (82, 1707910, 26690)
    assert (np.diff(velocity) > 0).all()
    house = load_congress_votes()
    assert house.votes.shape == (435, 16)
    assert (house.yeas.sum(), (house.party == "democrat").sum()) == (3421, 267)
    assert np.flatnonzero(house.yeas.sum(axis=1) == 0).tolist() == [248]


def check_blogs(network):
    assert (network.n_nodes, network.edges.shape) == (196, (1432, 2))
    assert (network.edges[:, 0] < network.edges[:, 1]).all()
    adjacency = network.adjacency
    assert np.array_equal(adjacency, adjacency.T)
    assert np.flatnonzero(adjacency.sum(axis=0) == 0).tolist() == [153, 166]
    names, counts = np.unique(network.party, return_counts=True)
    assert len(names) == 11
    assert counts[names == "PS"] == 57
    assert repr(network) == "FrenchBlogs(196 blogs, 1432 links)"


def test_blogs_from_a_folder_or_the_environment(shared_data, monkeypatch):
    check_blogs(load_french_blogs(shared_data))
    monkeypatch.setenv("EPLURIBUS_DATA", str(shared_data))
    check_blogs(load_french_blogs())


@pytest.fixture
def fake_rda(tmp_path, monkeypatch):
    """A file that passes for blog.rda, and a reader that returns a small network for it."""
    path = tmp_path / "blog.rda"
    path.write_bytes(b"not really R")
    monkeypatch.setattr(datasets, "_SHA256", hashlib.sha256(b"not really R").hexdigest())
    content = {
        "blog": {
            "links": [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
            "politicalParty": [" PS", "UMP", " PS"],
        }
    }
    monkeypatch.setitem(sys.modules, "rdata", types.SimpleNamespace(read_rda=lambda _: content))
    return path


def test_blogs_from_the_r_file(fake_rda):
    for data in (fake_rda, fake_rda.parent):
        network = load_french_blogs(data)
        assert network.edges.tolist() == [[0, 1]]
        assert network.party.tolist() == ["PS", "UMP", "PS"]


def pretend_to_download(monkeypatch, retrieve):
    fake = types.SimpleNamespace(retrieve=retrieve, os_cache=lambda name: name)
    monkeypatch.setitem(sys.modules, "pooch", fake)
    monkeypatch.delenv("EPLURIBUS_DATA", raising=False)


def test_blogs_are_downloaded_with_their_hash(fake_rda, monkeypatch):
    asked = {}
    pretend_to_download(monkeypatch, lambda **options: asked.update(options) or str(fake_rda))
    assert load_french_blogs().n_nodes == 3
    assert asked["known_hash"] == f"sha256:{datasets._SHA256}"
    assert asked["url"].startswith("https://raw.githubusercontent.com/cran/mixer/c80c26b4")


def test_offline_or_without_the_extra_it_says_what_to_do(monkeypatch):
    def retrieve(**_):
        raise OSError("no route")

    pretend_to_download(monkeypatch, retrieve)
    with pytest.raises(ConnectionError, match=r"no route\).*sha256 4b42.*set EPLURIBUS_DATA=FOLD"):
        load_french_blogs()
    monkeypatch.setitem(sys.modules, "pooch", None)
    message = r"unless EPLURIBUS_DATA is a folder .*pip install .epluribus\[studies\]"
    with pytest.raises(ImportError, match=message):
        load_french_blogs()


def test_wrong_folders_and_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has neither. Get https://raw"):
        load_french_blogs(tmp_path)
    (tmp_path / "blog.rda").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"'data' must be the blog\.rda of mixer with sha256"):
        load_french_blogs(tmp_path)
