"""The paper's three applications, each a function that returns its tables and pictures.

>>> from epluribus.studies import galaxies
>>> study = galaxies(quick=True)  # doctest: +SKIP
>>> study.write("epluribus-galaxies")  # doctest: +SKIP

Each study samples its posterior with several chains, finds the optimal partitions in every way the paper
reports (and some more), and puts each fact that the paper states next to the one found here. `analysis` has the
paper's facts and the steps that all studies share, `study` the result and its files.

References
----------
Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186. doi:10.1007/s11222-017-9786-y

McDaid, A. F., Murphy, T. B., Friel, N., Hurley, N. J. (2013). Improved Bayesian inference for the stochastic
block model with application to large networks. Computational Statistics & Data Analysis 60, 12-31.
doi:10.1016/j.csda.2012.10.021
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from epluribus import plots
from epluribus._validate import check_choice
from epluribus.datasets import load_congress_votes, load_french_blogs, load_galaxies
from epluribus.estimate import raise_if_interrupted
from epluribus.models import GaussianMixture, LatentBlockModel, StochasticBlockModel
from epluribus.plots._shared import new_figure
from epluribus.search import minimize
from epluribus.studies.analysis import (
    Analysis,
    Protocol,
    analyze,
    number_clusters,
    read_facts,
)
from epluribus.studies.study import Study
from epluribus.uncertainty import n_clusters_posterior

__all__ = ["STUDIES", "Study", "blogs", "congress", "galaxies", "reproduce"]


def galaxies(*, quick: bool = False, as_printed: bool = False, **options: Any) -> Study:
    """Section 6.1: velocities of 82 galaxies, a mixture of Gaussian distributions.

        y_i | z_i = g ~ N(mu_g, 1 / r_g),    mu_g | r_g ~ N(0, 1 / (tau r_g)),    r_g ~ Gamma(gamma, delta)

    with tau 0.01, gamma 0.5, delta 0.5 and symmetric Dirichlet weights of parameter 4.

    Parameters
    ----------
    quick : bool, default False
        1,000 draws per chain instead of 10,000, and a shorter burn-in.
    as_printed : bool, default False
        Whether to use only the sampler of the paper's appendix.
    **options
        `losses` (the first must be "vi"), `rng`, `n_jobs`, `progress`, and `protocol`: lengths of chains and
        numbers of runs, instead of those of `quick`.

    See Also
    --------
    epluribus.datasets.load_galaxies : the data.

    Examples
    --------
    >>> from epluribus.studies import galaxies
    >>> print(galaxies(quick=True))  # doctest: +SKIP
    """
    facts, velocity = read_facts("galaxies"), load_galaxies()
    model = GaussianMixture(velocity / 1000, prior="paper", k_max=facts.k_max)
    # As in the paper: 10,000 draws, 100 steps apart, after a million steps.
    full = Protocol(moves="appendix" if as_printed else "default")
    short = full.shortened(burn=20_000, thin=100)
    analysis = analyze(facts, model, short if quick else full, (2, 3, 4, 5), **options)
    # Clusters are numbered from the slowest to the fastest.
    labels = analysis.number(partial(number_clusters, rank=velocity))
    figure, ax = new_figure((6.4, 4.0))
    plots.histogram(analysis.best, velocity / 1000, ax=ax)
    ax.set(xlabel="velocity (1000 km/s)", ylabel="galaxies")
    sizes = ", ".join(map(str, np.bincount(labels["vi"])[1:]))  # clusters are numbered from 1
    return Study(
        analysis,
        rows=[("sizes of its clusters, by velocity", "(a picture)", sizes)],
        pictures={
            "partition": (figure, "The VI-optimal partition of the galaxies (figure 1, left)"),
            "clusters": _n_clusters(analysis),
        },
        labels={"velocity": velocity.astype(int), **labels},
        command=_command("galaxies", quick, as_printed),
    )


def congress(*, quick: bool = False, as_printed: bool = False, **options: Any) -> Study:
    """Section 6.3: votes of 435 members of Congress on 16 issues, a latent block model.

        y_ij | member i in g, issue j in h ~ Bernoulli(theta_gh),    theta_gh ~ Beta(b, b)

    with symmetric Dirichlet weights of parameter 0.5 for members and for issues. Only the partition of the
    members is studied in full; for the issues, the optimum and the MAP partition are found.

    Parameters
    ----------
    quick : bool, default False
        1,000 draws per chain instead of 10,000, closer together, and a shorter burn-in.
    as_printed : bool, default False
        Whether to use b = 0.5, as the paper prints it, instead of 1, which reproduces its table.
    **options
        As in `galaxies`.

    See Also
    --------
    epluribus.datasets.load_congress_votes : the data.
    """
    facts, house = read_facts("congress"), load_congress_votes()
    beta, bounds = 0.5 if as_printed else 1.0, (facts.k_max, len(house.issues))
    model = LatentBlockModel(
        house.yeas, beta=(beta, beta), alpha=0.5, prior="poisson", k_max=bounds
    )
    # A cycle of the sampler has 497 steps: 435 members, 16 issues, and 30 and 16 split-merge proposals.
    full = Protocol(thin=3 * 497)
    short = full.shortened(burn=200_000, thin=497)
    analysis = analyze(facts, model, short if quick else full, (5, 6, 7, 8), **options)
    labels = analysis.number(partial(facts.number, party=house.party))
    # The issues are clustered by the same sampler; their draws are searched on their own.
    trace = analysis.trace
    best = minimize(trace.column_draws, "vi", rng=options.get("rng", 1), progress=False)
    raise_if_interrupted(best)
    issues = {"vi": best.labels + 1, "map": np.asarray(trace.column_map_labels) + 1}
    found = n_clusters_posterior(trace.column_draws)
    # In a cluster, the members of the party that is not its majority are against the tide.
    table = facts.count(house.party, labels["vi"])
    tide = [int(counts.min(axis=0).sum()) for counts in (facts.table, table)]
    off = facts.distance(house.party, labels["vi"])
    # Both are numbered in order of first appearance: equal partitions have equal labels.
    same = "equal" if np.array_equal(issues["vi"], issues["map"]) else "different"
    figure, axes = new_figure((9.0, 7.5), 2)
    names = [name.replace("_", " ").replace("-", " ") for name in house.issues]
    for ax, kind, title in zip(axes, ("map", "vi"), ("MAP", "VI-optimal"), strict=True):
        plots.blocks(labels[kind], house.yeas, columns=issues[kind], column_names=names, ax=ax)
        ax.set_title(f"{title}: {labels[kind].max()} x {issues[kind].max()} clusters")
    figure.supylabel("members, by cluster")
    caption = "Votes (yea is dark), members and issues in order of cluster: MAP and VI-optimal"
    return Study(
        analysis,
        rows=[
            ("clusters of the MAP partition", facts.k_optimal, int(labels["map"].max())),
            ("members against the tide", *tide),
            ("members in another cell of the party table", "", off),
            ("issues: clusters, most often", '"very few aggregated"', f"{found.mode} of 16"),
            ("issues: MAP and VI-optimal clusters", "equivalent", same),
        ],
        pictures={"clusters": _n_clusters(analysis), "matrices": (figure, caption)},
        labels={"party": house.party, **labels},
        command=_command("congress", quick, as_printed),
        more={"issues": {"item": house.issues, **issues}},
    )


def blogs(
    *, data: str | Path | None = None, quick: bool = False, as_printed: bool = False, **options: Any
) -> Study:
    """Section 6.2: links between 196 French political blogs, a stochastic block model.

        y_ij | z_i = g, z_j = h ~ Bernoulli(theta_gh),    theta_gh ~ Beta(0.5, 0.5),    i < j

    with symmetric Dirichlet weights of parameter 0.5.

    Parameters
    ----------
    data : path, optional
        Folder of the data; see `load_french_blogs`.
    quick : bool, default False
        1,000 draws per chain instead of 10,000, closer together, and a shorter burn-in.
    as_printed : bool, default False
        Has no effect here: the printed hyperparameters are always used.
    **options
        As in `galaxies`.

    See Also
    --------
    epluribus.datasets.load_french_blogs : the data, which are not built in.
    """
    facts, net = read_facts("blogs"), load_french_blogs(data)
    model = StochasticBlockModel(
        net.edges, n_nodes=net.n_nodes, beta=(0.5, 0.5), alpha=0.5, k_max=facts.k_max
    )
    # A cycle of the sampler has 246 steps: 196 single items and 50 split-merge proposals. There are eight cycles
    # between two draws: the number of clusters changes slowly.
    full = Protocol(thin=8 * 246)
    short = full.shortened(burn=200_000, thin=2 * 246)
    analysis = analyze(facts, model, short if quick else full, range(15, 20), **options)
    labels = analysis.number(partial(facts.number, party=net.party))
    # Blogs off the paper's table: of the optimum, and of the best partition with the paper's number of clusters.
    off, off_18 = (
        facts.distance(net.party, best.labels) for best in (analysis.best, analysis.by_k[18])
    )
    # The number of clusters in which a party is found, in the paper and here.
    tables = (facts.table, facts.count(net.party, labels["vi"]))
    spread = zip(facts.parties, *(np.count_nonzero(table, axis=1) for table in tables), strict=True)
    large = ("UDF", "UMP", "PS", "liberaux")
    short_names = {"Commentateurs Analystes": "CA", "Parti Radical de Gauche": "PRG"}
    party = np.array([short_names.get(name, name) for name in net.party.tolist()])
    network, left = new_figure((12.0, 6.2), 2)
    matrices, right = new_figure((9.0, 4.7), 2)
    for column, own in enumerate((party, labels["vi"])):
        plots.network(own, net.adjacency, ax=left[column])
        plots.blocks(own, net.adjacency, ax=right[column])
        for ax in (left[column], right[column]):
            ax.set_title(("parties", f"VI-optimal, {analysis.best.n_clusters} clusters")[column])
    return Study(
        analysis,
        rows=[
            ("blogs in another cell of the party table", "", off),
            ("the same, best partition with 18 clusters", "", off_18),
            *((f"clusters with blogs of {name}", *n) for name, *n in spread if name in large),
        ],
        pictures={
            "network": (network, "The network: blogs by party, and by VI-optimal cluster"),
            "matrices": (matrices, "Links, blogs in order of party, and of VI-optimal cluster"),
            "clusters": _n_clusters(analysis),
        },
        labels={"party": net.party, **labels},
        command=_command("blogs", quick, as_printed),
    )


def _n_clusters(analysis: Analysis) -> tuple[Any, str]:
    """The picture that all studies have."""
    figure, ax = new_figure((5.6, 4.0))
    plots.n_clusters(analysis.best, analysis.draws, ax=ax)
    return figure, f"Posterior of the number of clusters of {analysis.facts.items}"


def _command(name: str, quick: bool, as_printed: bool) -> str:
    """The command that makes a study."""
    return f"epluribus reproduce {name}" + " --quick" * quick + " --as-printed" * as_printed


STUDIES = {study.__name__: study for study in (galaxies, congress, blogs)}
"""The functions by name, those with built-in data first."""


def reproduce(name: str, *, data: str | Path | None = None, **options: Any) -> Study:
    """Carry out one of the paper's applications by name.

    Parameters
    ----------
    name : {'galaxies', 'congress', 'blogs'}
        The application.
    data : path, optional
        Folder of the French blogs, the only data that are not built in; see `load_french_blogs`.
    **options
        `quick`, `as_printed` and the others of `galaxies`.

    Returns
    -------
    Study

    Examples
    --------
    >>> from epluribus.studies import STUDIES, reproduce
    >>> list(STUDIES)
    ['galaxies', 'congress', 'blogs']
    >>> reproduce("congress", quick=True).write("votes")  # doctest: +SKIP
    """
    if check_choice(name, STUDIES, "name") == "blogs":
        return blogs(data=data, **options)
    if data is not None:
        raise ValueError(
            f"'data' must be left out for '{name}', whose data are built in; got '{data}'."
        )
    return STUDIES[name](**options)
