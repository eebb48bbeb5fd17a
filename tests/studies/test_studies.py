"""Each study in miniature, its folder, and what an independent reader finds in it."""

import csv
import sys
from dataclasses import replace

import numpy as np
import pytest

import epluribus as epl
from epluribus.datasets import load_french_blogs, load_galaxies
from epluribus.sampling import Trace
from epluribus.search.comparison import Comparison
from epluribus.studies import STUDIES, reproduce
from epluribus.studies._confusion import Groups
from epluribus.studies.analysis import Protocol
from epluribus.studies.facts import BLOGS, CONGRESS, PARTIES_OF_BLOGS, PARTIES_OF_CONGRESS
from epluribus.studies.study import Table
from epluribus.studies.tables import duration, similar_note

TINY = Protocol(n_draws=60, burn_in=5_000, thin=100, n_chains=2, n_greedy=2, n_seeds=1)
# Near the paper's partition, which is then rebuilt in a second: from far away it takes ten times as long.
TINY_CONGRESS = replace(TINY, burn_in=50_000)


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
    assert "## What differs from the paper, and the evidence" in summary
    mode = np.bincount(draws.n_clusters).argmax()
    assert (
        f"| posterior of the number of clusters peaks at | {study.facts.rows[0][1]} | {mode} ("
        in summary
    )
    for picture in study.pictures:
        name = f"{study.name}-{picture.name}"
        assert f"]({name}.png)" in summary
        assert (folder / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert (folder / f"{name}.png").stat().st_size < 200_000
        assert "<svg" in (folder / f"{name}.svg").read_text("utf-8")
    return labels, summary


def test_galaxies(tmp_path):
    study = STUDIES["galaxies"](protocol=TINY)
    labels, summary = check_folder(study, tmp_path, ("vi", "binder", "nvi", "nid"))
    assert labels["velocity"].astype(float).tolist() == load_galaxies().tolist()
    # Clusters are numbered along the velocities.
    assert np.all(
        np.diff([np.median(load_galaxies()[labels["vi"] == g]) for g in np.unique(labels["vi"])])
        > 0
    )
    assert "`epluribus reproduce galaxies`" in summary
    assert repr(study) == f"Study('galaxies', n_clusters={study.analysis.best.n_clusters})"
    assert str(study).startswith("Galaxies: 82 velocities\n\nfact ")


def test_same_seed_same_folder(tmp_path):
    options = {"losses": ("vi", "binder"), "rng": 3, "protocol": TINY}
    for folder, n_jobs in (("a", 1), ("b", 2)):
        STUDIES["galaxies"](n_jobs=n_jobs, **options).write(tmp_path / folder)
    for name in ("labels.csv", "galaxies-partition.png", "galaxies-partition.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_congress(tmp_path):
    study = STUDIES["congress"](protocol=TINY_CONGRESS, losses=("vi", "binder"))
    labels, summary = check_folder(study, tmp_path, ("vi", "binder"))
    parties = Groups(labels["party"], PARTIES_OF_CONGRESS)
    off = parties.distance(labels["vi"].astype(int), CONGRESS.table)
    assert f"| members in another cell of the party table |  | {off} |" in summary
    issues = columns(tmp_path / "issues.csv")
    assert issues["item"].size == 16
    assert set(issues) == {"item", "vi", "map"}
    assert "Beta(1, 1), alpha 0.5" in study.setting


def test_blogs(tmp_path, shared_data):
    study = STUDIES["blogs"](data=shared_data, protocol=TINY, losses=("vi", "binder"))
    labels, summary = check_folder(study, tmp_path, ("vi", "binder"))
    assert labels["party"].tolist() == load_french_blogs(shared_data).party.tolist()
    parties = Groups(labels["party"], PARTIES_OF_BLOGS)
    off = parties.distance(labels["vi"].astype(int), BLOGS.table)
    assert f"| blogs in another cell of the party table |  | {off} of 196 |" in summary
    assert labels["reference"].astype(int).max() <= 12
    assert "stands in for it" in summary


def test_as_printed_changes_the_settings():
    galaxies = STUDIES["galaxies"](
        protocol=replace(TINY, moves="appendix"), losses=("vi", "binder"), as_printed=True
    )
    assert "the paper's appendix" in galaxies.setting
    assert galaxies.command == "epluribus reproduce galaxies --as-printed"
    assert "transfer" in galaxies.analysis.trace.acceptance
    congress = STUDIES["congress"](protocol=TINY_CONGRESS, losses=("vi", "binder"), as_printed=True)
    assert "Beta(0.5, 0.5), alpha 0.5" in congress.setting


def test_bad_arguments(tmp_path):
    with pytest.raises(ValueError, match="'losses' must begin with 'vi', .*; got \\['nvi'\\]"):
        STUDIES["galaxies"](protocol=TINY, losses=("nvi",))
    with pytest.raises(
        ValueError, match="'name' must be one of 'galaxies', 'congress', 'blogs'; got 'blog'"
    ):
        reproduce("blog")
    with pytest.raises(
        ValueError, match="'data' must be left out for 'galaxies', .* It is for 'blogs'"
    ):
        reproduce("galaxies", data=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="'out' must be a folder; .*file is a file"):
        STUDIES["galaxies"](protocol=TINY, losses=("vi",)).write(tmp_path / "file")


@pytest.mark.parametrize(
    ("step", "kind"), [("sample", Trace), ("minimize", Comparison), ("minimize", epl.Estimate)]
)
def test_an_interrupt_ends_the_study(step, kind, monkeypatch):
    import epluribus.studies.analysis as module

    real = getattr(module, step)

    def interrupted(*args, **kwargs):
        found = real(*args, **kwargs)
        if not isinstance(found, kind):
            return found
        if kind is Comparison:
            first, *others = found
            return replace(
                found, estimates=(first, *(replace(x, interrupted=True) for x in others))
            )
        return replace(found, interrupted=True)

    monkeypatch.setattr(module, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        STUDIES["galaxies"](protocol=TINY, losses=("vi", "binder"))


def test_without_matplotlib_a_study_fails_at_once(monkeypatch):
    import epluribus.studies.analysis as module

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setattr(module, "sample", pytest.fail)
    with pytest.raises(ImportError, match="needs the package 'matplotlib'"):
        STUDIES["galaxies"](protocol=TINY)


def test_tables_as_text_and_markdown():
    table = Table("T", ("a", "long"), [(1, "x"), (222, "")], "A note.")
    assert table.text() == "a    long\n---  ----\n1    x\n222"
    assert table.markdown().splitlines() == [
        "## T", "", "| a | long |", "| --- | --- |", "| 1 | x |", "| 222 |  |", "", "A note.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"), [(0.0341, "0.034 s"), (4.51, "4.5 s"), (72.3, "72 s"), (186, "3.1 min")]
)
def test_durations_have_two_figures(value, text):
    assert duration(value) == text


def test_similarity_is_judged_by_items_placed_differently():
    study = STUDIES["galaxies"](protocol=TINY, losses=("vi", "binder"))
    assert "Here binder does not" in similar_note(study.analysis)
    best, other = study.analysis.by_loss
    equal = replace(study.analysis.by_loss, estimates=(best, replace(other, labels=best.labels)))
    same = replace(study.analysis, by_loss=equal)
    assert similar_note(same).endswith(
        "So they do here (at most 10% of the items placed differently)."
    )


# --- the facts, at the paper's sample sizes ---


@pytest.mark.slow
def test_galaxies_reproduce():
    analysis = STUDIES["galaxies"](losses=("vi", "binder")).analysis
    assert analysis.k_mode == 4
    assert sorted(analysis.best.sizes.tolist()) == [3, 7, 72]
    assert analysis.best.expected_loss == pytest.approx(1.2005, abs=0.02)


@pytest.mark.slow
def test_congress_reproduces():
    study = STUDIES["congress"](losses=("vi", "binder"))
    assert study.analysis.k_mode == CONGRESS.k_mode
    assert study.analysis.best.n_clusters == CONGRESS.k_optimal
    parties = Groups(np.array(study.labels["party"]), PARTIES_OF_CONGRESS)
    assert parties.distance(study.labels["vi"], CONGRESS.table) <= 4


@pytest.mark.slow
def test_blogs_reproduce(shared_data):
    study = STUDIES["blogs"](data=shared_data, losses=("vi", "binder"))
    assert study.analysis.k_mode == BLOGS.k_mode
    assert 16 <= study.analysis.best.n_clusters <= 18
    parties = Groups(np.array(study.labels["party"]), PARTIES_OF_BLOGS)
    assert parties.distance(study.labels["vi"], BLOGS.table) <= 6
