"""What all functions share: threads change nothing, progress comes to its end, Ctrl-C, and words for ensembles."""

import _thread
import re
import signal
import threading

import numpy as np
import pytest

import epluribus as epl
from epluribus import _parallel
from epluribus import uncertainty as un

Z = np.random.default_rng(0).integers(0, 4, (40, 60))


@pytest.fixture(scope="module")
def draws():
    return epl.Draws(Z)


@pytest.mark.parametrize(
    ("work", "fields"),
    [
        (lambda d, n: un.chips(d, rng=7, n_jobs=n), ("probability",)),
        (lambda d, n: un.chips(d, rng=7, n_jobs=n).at(n_items=11), ("labels",)),
        (lambda d, n: un.modes(d, n_modes=2, rng=3, n_jobs=n), ("labels", "assignments")),
        (lambda d, n: un.items(d[0], d, n_jobs=n), ("support", "runner_up", "runner_up_support")),
        (lambda d, n: un.stability(d, "binder", rng=1, n_jobs=n), ("labels",)),
        (lambda d, n: un.psm(d, n_jobs=n), ("T",)),
    ],
    ids=["chips", "part", "modes", "items", "stability", "psm"],
)  # fmt: skip
def test_same_rng_same_answer_for_any_number_of_threads(work, fields, draws):
    one, three = work(draws, 1), work(draws, 3)
    for name in fields:
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))


@pytest.mark.parametrize(
    ("work", "total", "least"),
    [
        (lambda d, show: un.psm(d, progress=show), 140, 5),
        (lambda d, show: un.psm(d, sparse=True, progress=show), 140, 5),
        (lambda d, show: un.modes(d, rng=0, progress=show), 2, 2),
        (lambda d, show: un.stability(d, other_losses=["nvi"], rng=0, progress=show), 5, 5),
    ],
    ids=["psm", "sparse", "modes", "stability"],
)
def test_progress_rises_and_ends_where_it_said(work, total, least):
    seen = []
    draws = epl.Draws(np.random.default_rng(1).integers(3, size=(5, 140)))
    work(draws, lambda *step: seen.append(step))
    done = [step for step, _, _ in seen]
    assert done == sorted(done)
    assert seen[-1][:2] == (total, total)
    assert len(seen) >= least


TWO = [0, 0, 1], [0, 1, 1]
TABOO = re.compile("prob|posterior|credib|expected|chain|draw", re.IGNORECASE)


@pytest.mark.parametrize(
    ("words", "work"),
    [
        ("runner up support", lambda d: un.items(TWO[0], d)),
        ("", lambda d: un.clusters(TWO[0], d)),
        ("", lambda d: un.credible_ball(TWO[0], d)),
        ("", lambda d: un.n_clusters_posterior(d, best=TWO[0])),
        ("mean loss", lambda d: un.certificate(TWO[0], d)),
        ("mean loss", lambda d: epl.minimize_all(d, ["vi", "binder"])),
        ("mean loss", lambda d: un.error(TWO[0], d)),
        ("", lambda d: un.compare(*TWO, d)),
        ("", lambda d: epl.minimize(d, rng=1).health(d)),
        (": share 0.5", lambda d: un.probability(d, together=[0, 1])),
        ("", lambda d: un.plausibility(TWO[0], d)),
        ("", lambda d: un.credible_set(d)),
        ("", lambda d: un.modes(d, rng=1)),
    ],
)
def test_an_ensemble_is_no_posterior(words, work):
    """It has clusterings, shares and mean losses; nothing is told about chains."""
    rows = [[0, 0, 1], [0, 1, 1], [0, 0, 1], [0, 1, 0]] * 25
    said = str(work(epl.Draws(rows, kind="ensemble")))
    assert words in said
    assert not TABOO.search(said), said


# --- Ctrl-C in the midst of threads is raised again: half the work gives no result ---


@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize(
    "work",
    [
        lambda d: un.items(d[0], d),
        lambda d: un.clusters(d[0], d),
        lambda d: un.psm(d),
        lambda d: un.psm(d, sparse=True),
        lambda d: un.modes(d, rng=1),
        lambda d: un.certificate(d[0], d, loss="vi"),
        lambda d: un.certificate(d[0], d, loss="binder"),
        lambda d: un.error(d[0], epl.Draws(d, chains=np.arange(40) // 20)),
    ],
    ids=["items", "clusters", "psm", "sparse", "modes", "vi", "binder", "error"],
)
def test_interrupt_while_threads_work_is_raised(work, draws, monkeypatch):
    """The sign: the calling thread begins to wait for its workers. Then Ctrl-C is pressed, once."""
    wait = _parallel.wait

    def pressed(*args, **options):
        monkeypatch.setattr(_parallel, "wait", wait)
        signal.raise_signal(signal.SIGINT)
        return wait(*args, **options)

    monkeypatch.setattr(_parallel, "wait", pressed)
    with pytest.raises(KeyboardInterrupt):
        work(draws)
    assert _parallel.wait is wait


@pytest.mark.usefixtures("hears_ctrl_c")
def test_interrupt_while_the_solver_works_is_raised(monkeypatch):
    """The sign: the solver is called. It would go on forever, and is left to itself."""
    import scipy.optimize

    z = np.random.default_rng(0).integers(2, size=(7, 20))
    ended = threading.Event()

    def solver(*_args, **_options):
        _thread.interrupt_main()
        ended.wait()

    monkeypatch.setattr(scipy.optimize, "linprog", solver)
    with pytest.raises(KeyboardInterrupt):
        un.certificate(z[0], z, loss="binder", time_limit=None)
    ended.set()
