"""Times of everything in `epluribus.uncertainty` at N = 1000, T = 5000; memory of psm at N = 20000.

Usage: python benchmarks/uncertainty.py [--quick]
"""

import argparse
import resource
import time

import numpy as np

import epluribus as epl
from epluribus import uncertainty as how_sure


def sample(n_items, n_draws, k, seed=0):
    """Four chains around one truth; an item leaves its cluster one time in ten."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n_items)
    z = np.empty((n_draws, n_items), dtype=np.int16)
    for t in range(n_draws):
        z[t] = np.where(rng.random(n_items) < 0.1, rng.integers(k, size=n_items), truth)
    return epl.Draws(z.reshape(4, -1, n_items))


def clock(name, function):
    """Second call: what is compiled is compiled, as it is on any run after the first."""
    function()
    began = time.perf_counter()
    result = function()
    print(f"{name:<34}{time.perf_counter() - began:9.3f} s   {result!r:.70}")
    return result


def times(n_items, n_draws):
    draws = sample(n_items, n_draws, 12)
    print(f"\nN = {n_items:,}, T = {n_draws:,}")
    for loss in ("vi", "binder"):
        best = clock(f"minimize, {loss}", lambda loss=loss: epl.minimize(draws, loss, rng=0))
        clock("  credible_ball", lambda b=best: how_sure.credible_ball(b, draws))
        clock("  items", lambda b=best: how_sure.items(b, draws))
        clock("  clusters", lambda b=best: how_sure.clusters(b, draws))
        clock("  error", lambda b=best: how_sure.error(b, draws))
        clock("  compare", lambda b=best: how_sure.compare(b, draws[0], draws))
        clock("  certificate", lambda b=best: how_sure.certificate(b, draws))
        clock("  modes", lambda loss=loss: how_sure.modes(draws, loss, rng=0))
        clock("  stability", lambda loss=loss: how_sure.stability(draws, loss, rng=0))
    clock("psm", lambda: how_sure.psm(draws).shape)
    clock("n_clusters_posterior", lambda: how_sure.n_clusters_posterior(draws))


def memory(n_items, n_draws):
    draws = sample(n_items, n_draws, 12)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    matrix = how_sure.psm(draws, sparse=True)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"\npsm(sparse=True), N = {n_items:,}, T = {n_draws:,}: {seconds:.1f} s, "
        f"{matrix.nnz:,} entries kept, peak {after / 1e6:.2f} GB ({before / 1e6:.2f} GB before)"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the items and draws")
    scale = 10 if parser.parse_args().quick else 1
    memory(20_000 // scale, 1000 // scale)
    many = sample(2000, 2000, 20)
    clock("psm, N = 2000, T = 2000", lambda: how_sure.psm(many).shape)
    times(1000 // scale, 5000 // scale)
