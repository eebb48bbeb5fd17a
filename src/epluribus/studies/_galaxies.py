"""Section 6.1: velocities of 82 galaxies, a mixture of Gaussian distributions.

    y_i | z_i = g ~ N(mu_g, 1 / r_g),    mu_g | r_g ~ N(0, 1 / (tau r_g)),    r_g ~ Gamma(gamma, delta)

with tau 0.01, gamma 0.5, delta 0.5 and symmetric Dirichlet weights of parameter 4, as the paper prints them.
The paper does not state the unit of y; here it is 1000 km/s (see the notes of the study).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from epluribus import plots
from epluribus._typing import FloatArray, RngLike
from epluribus.datasets import load_galaxies
from epluribus.models import GaussianMixture
from epluribus.plots._shared import new_figure
from epluribus.studies._confusion import number_clusters
from epluribus.studies.analysis import LOSSES, Analysis, Protocol, analyze
from epluribus.studies.facts import GALAXIES
from epluribus.studies.study import Picture, Study, check_folder
from epluribus.studies.tables import label_columns, make_study

# As in the paper: 10,000 draws, 100 steps apart, after a million steps.
_FULL = Protocol()
_QUICK = _FULL.shortened(burn_in=20_000, thin=100)
_GIBBS = "Gibbs sweeps and split-merge"


def galaxies(
    *,
    quick: bool = False,
    as_printed: bool = False,
    losses: Sequence[str] = LOSSES,
    rng: RngLike = 1,
    n_jobs: int | None = None,
    progress: bool = False,
    protocol: Protocol | None = None,
) -> Study:
    """Repeat the paper's study of the galaxies.

    Parameters
    ----------
    quick : bool, default False
        1,000 draws per chain instead of 10,000, and a shorter burn-in.
    as_printed : bool, default False
        Whether to use only the sampler of the paper's appendix. The hyperparameters are always the printed
        ones.
    losses : sequence of str
        Losses whose optima are listed; the first must be "vi".
    rng, n_jobs, progress
        As in `sample` and `minimize`.
    protocol : Protocol, optional
        Lengths of chains and numbers of runs, instead of those of `quick`.

    Returns
    -------
    Study

    See Also
    --------
    epluribus.datasets.load_galaxies : the data.

    Examples
    --------
    >>> from epluribus.studies import galaxies
    >>> study = galaxies(quick=True)  # doctest: +SKIP
    >>> print(study)  # doctest: +SKIP
    """
    # In km/s. The model has them in 1000 km/s: the paper's prior is not invariant to the unit.
    velocity = load_galaxies()
    model = GaussianMixture(velocity / 1000, prior="paper", k_max=GALAXIES.k_max)
    moves = "appendix" if as_printed else "default"
    chosen = protocol or replace(_QUICK if quick else _FULL, moves=moves)
    # Around the paper's 3, the clusters of its optimum, and 4, the peak of the posterior.
    ks = (2, 3, 4, 5)
    analysis = analyze(model, chosen, GALAXIES.k_max, ks, losses, rng, n_jobs, progress)
    # Clusters are numbered from the slowest to the fastest.
    labels = label_columns(analysis, partial(number_clusters, rank=velocity))
    # Clusters are numbered from 1, so the first count, that of 0, is left out.
    sizes = ", ".join(map(str, np.bincount(labels["vi"])[1:]))
    return make_study(
        GALAXIES,
        analysis,
        model=(
            "A Gaussian mixture for velocities in 1000 km/s with the printed hyperparameters: tau 0.01, "
            "gamma 0.5, delta 0.5, alpha 4; number of components uniform on 1 to 50."
        ),
        sampler=_GIBBS if chosen.moves == "default" else "the paper's appendix",
        rows=[("sizes of its clusters, by velocity", "(a picture)", sizes)],
        pictures=_pictures(analysis, velocity),
        labels={"velocity": [f"{value:.0f}" for value in velocity], **labels},
        notes=_notes(analysis),
        quick=quick,
        as_printed=as_printed,
    )


def _pictures(analysis: Analysis, velocity: FloatArray) -> tuple[Picture, ...]:
    """The two panels of the paper's figure 1."""
    # As in the paper: the data by cluster, and the posterior of the number of clusters.
    first, ax = new_figure((6.4, 4.0))
    plots.histogram(velocity / 1000, analysis.best, ax=ax)
    ax.set(xlabel="velocity (1000 km/s)", ylabel="galaxies")
    second, ax = new_figure((5.6, 4.0))
    plots.n_clusters(analysis.draws, best=analysis.best, ax=ax)
    return (
        Picture("partition", first, "The VI-optimal partition of the galaxies (figure 1, left)"),
        Picture("clusters", second, "Posterior of the number of clusters (figure 1, right)"),
    )


def _notes(analysis: Analysis) -> tuple[str, ...]:
    """What the paper leaves open, and what differs."""
    best, names = analysis.best, analysis.by_loss.names
    notes = [
        "**Unit and prior.** The paper states neither the unit of the velocities nor a prior on the "
        "number of components, and both matter: the prior of a Gaussian cluster depends on the "
        "scale. Of 72 readings we tried, 9 give both of the paper's numbers (peak 4, optimum 3); "
        "this is one of them, with a uniform prior and velocities in 1000 km/s. In km/s the peak is at 3.",
        "**Partition.** The paper shows its partition as a picture, without labels. Ours has an "
        f"expected VI of {best.expected_loss:.4f} bits; the best one with 4 clusters, where the "
        f"posterior peaks, has {analysis.by_k[4].expected_loss:.4f}.",
        "**Sampler.** The paper's own sampler mixes slowly: its 10,000 draws are worth about 100 "
        "independent numbers of clusters. `--as-printed` runs it.",
    ]
    # A run may leave losses out; the first row and column of the distances are those of VI.
    if "binder" in names:
        between = analysis.by_loss.distances[0, names.index("binder")]
        notes.append(
            f"**Other losses.** Binder's optimum has {analysis.by_loss['binder'].n_clusters} "
            f"clusters: it splits the large middle one, which VI keeps whole ({between:.2f} bits of "
            "VI between them). For these data the choice of the loss matters."
        )
    return tuple(notes)


def run_demo(out: str | Path, *, progress: bool = False) -> str:
    """A first look: the short study of the galaxies, offline, in seconds.

    Parameters
    ----------
    out : str or Path
        The folder, made if it does not exist.
    progress : bool, default False
        Whether to show progress bars on a terminal.

    Returns
    -------
    str
        The answer and where the files are, to be printed.
    """
    # Before the work: a folder that cannot be used is refused at once.
    folder = check_folder(out)
    # Only losses that share one compiled search: the first run in a new installation compiles less.
    study = galaxies(quick=True, losses=("vi", "binder"), progress=progress)
    study.write(folder)
    draws, best = study.analysis.draws, study.analysis.best
    return (
        f"{draws.n_draws:,} posterior draws of a partition of {draws.n_items} galaxies by velocity.\n"
        f"The partition with the smallest expected loss has\n\n{best}\n\n"
        f"{study.facts.text()}\n\n"
        f"Pictures, labels, draws and a summary are in {folder}/ (begin with summary.md)."
    )
