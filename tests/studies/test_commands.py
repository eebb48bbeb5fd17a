"""The commands reproduce and demo."""

from epluribus import studies
from epluribus.cli import main
from epluribus.studies.analysis import Protocol


def test_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    assert "3 clusters of 82 items\n  sizes          72, 7, 3\n  expected loss  1." in text
    assert "epluribus-demo/ (begin with summary.md)" in text
    folder = tmp_path / "epluribus-demo"
    assert {"summary.md", "labels.csv", "draws.npz"} < {path.name for path in folder.iterdir()}


def test_reproduce_prints_the_facts_and_the_files(tmp_path, monkeypatch, capsys):
    seen = {}

    def quick_one(**options):
        seen.update(options)
        short = Protocol(n_draws=300, burn=20_000, n_chains=2, n_greedy=2)
        return studies.galaxies(protocol=short, losses=("vi", "binder"), rng=options["rng"])

    monkeypatch.setitem(studies.STUDIES, "galaxies", quick_one)
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "galaxies", "--quick", "--as-printed", "--seed", "7", "--n-jobs", "1"]
    assert main(command) == 0
    expected = {"quick": True, "as_printed": True, "rng": 7, "n_jobs": 1, "progress": True}
    assert seen == expected
    text = capsys.readouterr().out
    assert "posterior of the number of clusters peaks at      4                     4 (" in text
    assert "Chosen here: velocities in 1000 km/s" in text
    assert "Written to epluribus-galaxies: summary.md, draws.npz, labels.csv, galaxies-" in text
