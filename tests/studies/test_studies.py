"""Each study in miniature, its folder, and what an independent reader finds in it."""

import csv
from dataclasses import replace

import numpy as np
import pytest

import epluribus as epl
from epluribus.datasets import load_congress_votes, load_french_blogs, load_galaxies
from epluribus.sampling import Trace
from epluribus.search.comparison import Comparison
from epluribus.studies import STUDIES, analysis, reproduce
from epluribus.studies.analysis import Protocol, read_facts

TINY = Protocol(n_draws=60, burn=5_000, n_chains=2, n_greedy=2)
FEW = {"protocol": TINY, "losses": ("vi", "binder")}


def columns(path):
    with path.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def check_folder(study, folder, losses):
    """The folder holds what the study says, and it agrees with itself."""
    written = study.write(folder)
    assert sorted(written) == sorted(folder.iterdir())
    draws = epl.Draws(folder / "draws.npz")
    assert (draws.n_chains, draws.n_draws) == (2, 120)
    labels = columns(folder / "labels.csv")
    for name in losses:
        estimate = study.analysis.by_loss[name]
        value = epl.expected_loss(labels[name].astype(int), draws, name)
        assert value == pytest.approx(estimate.expected_loss, rel=1e-9)
        numbers = np.unique(labels[name].astype(int))
        assert numbers.tolist() == list(range(1, estimate.n_clusters + 1))
    summary = (folder / "summary.md").read_text("utf-8")
    paper, ours = study.facts.loc[0, ["paper", "here"]]
    assert paper == study.analysis.facts.k_mode
    assert ours.startswith(f"{np.bincount(draws.n_clusters).argmax()} (")
    assert f"| posterior of the number of clusters peaks at | {paper} | {ours} |" in summary
    for name in study.pictures:
        assert f"]({study.name}-{name}.png)" in summary
        assert (folder / f"{study.name}-{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert "<svg" in (folder / f"{study.name}-{name}.svg").read_text("utf-8")
    return labels, summary


def test_galaxies(tmp_path):
    study = STUDIES["galaxies"](protocol=TINY)
    labels, summary = check_folder(study, tmp_path, ("vi", "binder", "nvi", "nid"))
    velocity = load_galaxies()
    assert labels["velocity"].astype(float).tolist() == velocity.tolist()
    # Clusters are numbered along the velocities.
    medians = [np.median(velocity[labels["vi"] == g]) for g in np.unique(labels["vi"])]
    assert medians == sorted(medians)
    assert "`epluribus reproduce galaxies`" in summary
    assert repr(study) == f"Study('galaxies', n_clusters={study.analysis.best.n_clusters})"


def test_congress(tmp_path):
    study = STUDIES["congress"](protocol=replace(TINY, burn=50_000), losses=("vi", "binder"))
    labels, summary = check_folder(study, tmp_path, ("vi", "binder"))
    off = read_facts("congress").distance(load_congress_votes().party, labels["vi"].astype(int))
    assert f"| members in another cell of the party table |  | {off} |" in summary
    assert set(columns(tmp_path / "issues.csv")) == {"item", "vi", "map"}
    # The priors were chosen: that is said on the screen, too.
    assert "Beta(1, 1) in place of the printed Beta(0.5, 0.5)" in str(study)


def test_blogs(tmp_path, shared_data):
    study = STUDIES["blogs"](data=shared_data, **FEW)
    labels, summary = check_folder(study, tmp_path, ("vi", "binder"))
    party = load_french_blogs(shared_data).party
    assert labels["party"].tolist() == party.tolist()
    off = read_facts("blogs").distance(party, labels["vi"].astype(int))
    assert f"| blogs in another cell of the party table |  | {off} |" in summary


def test_same_seed_same_folder(tmp_path):
    for folder, n_jobs in (("a", 1), ("b", 2)):
        STUDIES["galaxies"](n_jobs=n_jobs, rng=3, **FEW).write(tmp_path / folder)
    for name in ("labels.csv", "galaxies-partition.png", "galaxies-partition.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_times_are_compared_only_for_runs_as_long_as_those_of_the_paper():
    study = STUDIES["galaxies"](**FEW)
    assert not study.facts["fact"].str.contains("time").any()
    as_long = replace(study.analysis, protocol=Protocol())
    rows = replace(study, analysis=as_long).facts.set_index("fact")["paper"]
    assert rows["CPU time of a chain"] == "45 s"
    assert rows["CPU time of a greedy run"] == "5 s"


def test_as_printed_changes_the_settings():
    galaxies = STUDIES["galaxies"](as_printed=True, losses=("vi",), protocol=None, quick=True)
    assert galaxies.command == "epluribus reproduce galaxies --quick --as-printed"
    assert "transfer" in galaxies.analysis.trace.acceptance


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"'losses' must begin with 'vi', .*; got \['nvi'\]"):
        STUDIES["galaxies"](protocol=TINY, losses=("nvi",))


@pytest.mark.parametrize(
    ("step", "kind"), [("sample", Trace), ("minimize_all", Comparison), ("minimize", epl.Estimate)]
)
def test_an_interrupt_ends_the_study(step, kind, monkeypatch):
    real = getattr(analysis, step)

    def interrupted(*args, **kwargs):
        found = real(*args, **kwargs)
        if not isinstance(found, kind):
            return found
        if kind is Comparison:
            stopped = tuple(replace(one, interrupted=True) for one in found)
            return replace(found, estimates=stopped)
        return replace(found, interrupted=True)

    monkeypatch.setattr(analysis, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        STUDIES["galaxies"](**FEW)


# --- the facts, at the paper's sample sizes ---


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ks", "off"),
    [("galaxies", (3,), 0), ("congress", (6,), 4), ("blogs", (16, 17, 18), 6)],
)
def test_the_studies_reproduce_the_paper(name, ks, off, shared_data):
    data = {"data": shared_data} if name == "blogs" else {}
    study = reproduce(name, losses=("vi", "binder"), **data)
    found, facts = study.analysis, read_facts(name)
    assert np.bincount(found.draws.n_clusters).argmax() == facts.k_mode
    assert found.best.n_clusters in ks
    if name == "galaxies":
        assert sorted(found.best.sizes.tolist()) == [3, 7, 72]
        assert found.best.expected_loss == pytest.approx(1.2005, abs=0.02)
    else:
        assert facts.distance(study.labels["party"], found.best.labels) <= off
