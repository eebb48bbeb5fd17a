"""Default runs of the samplers on data with planted clusters, and on the paper's.

    python benchmarks/samplers.py [NAME ...] [--n-items N]

For each: CPU seconds a chain, how often the run was extended, whether its chains agree, the number of clusters
of the last draw of each chain, and its adjusted Rand index with what was planted. Mixtures are compared with
scikit-learn's BayesianGaussianMixture of 50 components. Without names all are run: some ten minutes on one core.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

from epluribus.datasets import load_congress_votes, load_galaxies
from epluribus.models import (
    GaussianMixture,
    LatentBlockModel,
    PoissonBlockModel,
    StochasticBlockModel,
)
from epluribus.sampling import sample

rng = np.random.default_rng(0)


def normals(n_items, n_dims, k):
    """Correlated normal clusters of unequal sizes, some five standard deviations apart or more."""
    box, centers = 7 * k ** (1 / n_dims), np.zeros((0, n_dims))
    while len(centers) < k:
        new = rng.uniform(0, box, n_dims)
        if (np.linalg.norm(centers - new, axis=1) > 5.5).all():
            centers = np.vstack([centers, new])
        box *= 1.01
    z = rng.choice(k, n_items, p=rng.dirichlet(np.full(k, 5.0)))
    mix = np.eye(n_dims) + 0.3 * rng.normal(size=(k, n_dims, n_dims)) / np.sqrt(n_dims)
    return centers[z] + np.einsum("nij,nj->ni", mix[z], rng.normal(size=(n_items, n_dims))), z


def network(n_nodes, k, degree, link, hubs=False):
    """Edges of blocks of unequal sizes; `link` says which pairs of blocks have most of them."""
    z = rng.choice(k, n_nodes, p=rng.dirichlet(np.full(k, 5.0)))
    sizes = np.bincount(z, minlength=k)
    g, h = np.indices((k, k))
    dense = link(g, h, k)
    pairs = (np.outer(sizes, sizes) * dense).sum()
    p = np.where(dense, 0.8 * degree * n_nodes / pairs, 0.2 * degree / n_nodes)
    own = rng.pareto(2.5, n_nodes) + 0.3 if hubs else np.ones(n_nodes)
    own = own / own.mean()
    i, j = np.triu_indices(n_nodes, 1)
    there = rng.random(i.size) < np.minimum(p[z[i], z[j]] * own[i] * own[j], 1.0)
    return np.column_stack([i[there], j[there]]), z


LINKS = {
    "blocks": lambda g, h, _: g == h,
    "ring": lambda g, h, k: ((g - h) % k == 1) | ((h - g) % k == 1),
    "bipartite": lambda g, h, _: (g // 2 == h // 2) & (g != h),
}


def report(name, model, planted, more=""):
    sample(model, n_draws=1, burn=0, thin=1, n_chains=1, rng=1)  # compile
    began = time.process_time()
    trace = sample(model, n_jobs=1, rng=1)
    cpu = (time.process_time() - began) / trace.n_chains
    last = [np.asarray(trace.draws.chain(c))[-1] for c in range(trace.n_chains)]
    found = [f"{z.max() + 1}" for z in last]
    if planted is not None:
        found = [
            f"{k} ({adjusted_rand_score(planted, z):.3f})" for k, z in zip(found, last, strict=True)
        ]
    agree = {True: "agree", False: "disagree", None: "too short"}[
        trace.diagnostics(warn=False).agreement.agree
    ]
    print(
        f"{name}: {cpu:.1f} CPU s a chain, extended {trace.settings['extensions']} times, chains "
        f"{agree}, K {', '.join(found)}{more}",
        flush=True,
    )


def mixture(name, n_items, n_dims, k):
    y, z = normals(n_items, n_dims, k)
    began = time.process_time()
    other = BayesianGaussianMixture(n_components=50, max_iter=500, random_state=0).fit_predict(y)
    cpu = time.process_time() - began
    score = adjusted_rand_score(z, other)
    report(
        name, GaussianMixture(y), z, f"; sklearn {cpu:.1f} s, {np.unique(other).size} ({score:.3f})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="such as blocks-25, hubs-15 or normals-2-8")
    parser.add_argument("--n-items", type=int, default=10_000, help="items of the mixtures")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    mixtures = ((1, 4), (2, 8), (5, 15), (10, 30))
    networks = [("blocks", 1000, 10, 12), ("blocks", 2000, 25, 14), ("blocks", 3000, 50, 16)]
    networks += [("ring", 1500, 10, 12), ("bipartite", 1500, 12, 14), ("hubs", 2000, 15, 14)]
    wanted = {f"normals-{d}-{k}": (mixture, arguments.n_items, d, k) for d, k in mixtures}
    wanted |= {f"{kind}-{k}": (kind, n, k, degree) for kind, n, k, degree in networks}
    votes = load_congress_votes().yeas
    paper = {
        "galaxies": GaussianMixture(load_galaxies() / 1000, prior="paper"),
        "votes": LatentBlockModel(votes, beta=(1, 1), prior="poisson", k_max=(30, 16)),
    }
    for name in arguments.names or [*wanted, *paper]:
        if name in paper:
            report(name, paper[name], None)
            continue
        make, n, second, third = wanted[name]
        if make is mixture:
            mixture(name, n, second, third)
            continue
        hubs = make == "hubs"
        edges, z = network(n, second, third, LINKS["blocks" if hubs else make], hubs)
        model = PoissonBlockModel if hubs else StochasticBlockModel
        options = {"degree_corrected": True} if hubs else {}
        report(name, model(edges, n_nodes=n, **options), z)


if __name__ == "__main__":
    main()
