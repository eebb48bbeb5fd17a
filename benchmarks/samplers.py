"""Speed and agreement of the samplers on the paper's three data sets.

    python benchmarks/samplers.py [gaussian] [sbm] [lbm] [--data FOLDER]

For each: single-site Gibbs updates a second on one core, and four chains of the default schedule
from dispersed starts (seconds, split R-hat, effective sample size, the law of K). The French blogs
come from the folder given, from EPLURIBUS_DATA, or are fetched; without them the stochastic block
model is left out.
"""

import argparse
import time

import numpy as np

from epluribus.datasets import load_congress_votes, load_french_blogs, load_galaxies
from epluribus.models import GaussianMixture, LatentBlockModel, StochasticBlockModel
from epluribus.sampling import Gibbs, sample
from epluribus.sampling.chain import Chain, RunSettings
from epluribus.sampling.moves import make_schedule

# Updates a second asked for, kept and burn-in cycles a chain, seconds allowed.
AIMS = {
    "gaussian": (1.5e6, 10_000, 1_000, 10),
    "sbm": (6e5, 40_000, 4_000, 90),
    "lbm": (7.5e5, 30_000, 3_000, 90),
}


def make_model(name, data):
    if name == "gaussian":
        return GaussianMixture(load_galaxies() / 1000, prior="paper")
    if name == "sbm":
        blogs = load_french_blogs(data)
        return StochasticBlockModel(blogs.edges, n_nodes=blogs.n_nodes)
    return LatentBlockModel(
        load_congress_votes().yeas, beta=(1, 1), prior="poisson", k_max=(30, 16)
    )


def gibbs_rate(model, start):
    """Updates a second of one chain at a typical partition: the best of five runs."""
    n = 1_000_000
    schedule = make_schedule([Gibbs()], model)
    settings = RunSettings(n_draws=1, burn=10**12, thin=1)
    chain = Chain(model, start, schedule, settings, np.random.default_rng(1))
    stop = np.zeros(1, dtype=np.uint8)
    chain.run_until(n // 10, stop)
    best = np.inf
    for _ in range(5):
        begin = time.perf_counter()
        chain.run_until(chain.done + n, stop)
        best = min(best, time.perf_counter() - begin)
    return n / best


def measure(name, data):
    model = make_model(name, data)
    rate_aim, n_draws, burn, seconds_aim = AIMS[name]
    begin = time.perf_counter()
    sample(model, n_draws=1, burn=0, thin=1, rng=1)
    print(
        f"{name}: first call (compiled or read from the cache) {time.perf_counter() - begin:.1f} s"
    )
    cycle = int(make_schedule("default", model)[:, 2].sum())
    clock, cpu = time.perf_counter(), time.process_time()
    trace = sample(model, n_draws=n_draws, burn=burn * cycle, n_chains=4, rng=1, progress=True)
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    labels = [trace.draws[-1]]
    if trace.column_draws is not None:
        labels.append(trace.column_draws[-1])
    rate = gibbs_rate(model, tuple(labels))
    print(f"  Gibbs updates a second, one core   {rate:12,.0f}   (asked for: {rate_aim:,.0f})")
    print(
        f"  four chains, CPU seconds           {cpu:12.1f}   (about {seconds_aim}); by the clock "
        f"{clock:.1f}"
    )
    print("  " + str(trace).replace("\n", "\n  "), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(AIMS), help="gaussian, sbm, lbm")
    parser.add_argument("--data", help="folder with the French blogs")
    arguments = parser.parse_args()
    for name in arguments.models:
        try:
            measure(name, arguments.data)
        except (ImportError, ConnectionError) as error:
            print(f"{name}: left out. {error}")


if __name__ == "__main__":
    main()
