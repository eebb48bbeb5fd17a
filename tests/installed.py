"""A small job with nothing but the wheel and what it requires: `make dist` runs it outside the checkout.

It is a script, not a test: pytest would put the checkout on the path.
"""

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import epluribus as epl

PLACE = Path(epl.__file__).parent
COMMAND = Path(sys.executable).with_name("epluribus")


def check_installation():
    """The package is the installed one, typed, and has its data and its version."""
    assert PLACE.is_relative_to(sys.prefix), PLACE
    assert (PLACE / "py.typed").is_file()
    found = importlib.metadata.metadata("epluribus")
    assert found["Version"] == epl.__version__
    assert epl.datasets.load_galaxies().size == 82


def check_only_what_is_required():
    """No extra is here, and one that is asked for is named."""
    for name in ("matplotlib", "pyarrow", "networkx", "jinja2", "sklearn"):
        assert importlib.util.find_spec(name) is None, name
    message = ""
    try:
        epl.plots.n_clusters(None, [[0, 0, 1], [0, 1, 1]])
    except ImportError as error:
        message = str(error)
    assert "epluribus[plots]" in message, "a plot without matplotlib"


def check_answers():
    """Two losses, uncertainty, and the command line, from a file to labels."""
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], [8, 6, 4])
    z = np.where(rng.random((200, 18)) < 0.1, rng.integers(3, size=(200, 18)), truth)
    for loss in ("vi", "binder"):
        best = epl.minimize(z, loss, rng=1)
        assert epl.loss(best.labels, truth, loss) == 0, best
    assert 0.9 < epl.credible_ball(best, z).mass <= 1
    np.savetxt("draws.csv", z, fmt="%d", delimiter=",")
    words = [str(COMMAND), "summarize", "draws.csv", "--seed", "1", "--json", "--out", "labels.csv"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_clusters"] == 3
    assert len(Path("labels.csv").read_text("utf-8").splitlines()) == 19


if __name__ == "__main__":
    check_installation()
    check_only_what_is_required()
    check_answers()
    print(f"epluribus {epl.__version__} works from {PLACE}")
