"""Whether the verdicts keep their word: coverage, false alarms, and what is missed.

    python benchmarks/calibrate.py [--out benchmarks/CALIBRATION.md] [--share 1.0] [--seed 1]

Everything is simulated, so that the truth is known: standard errors, credible balls, the rule on chains,
and modes. With `--share 0.1` a tenth of the samples is made, for a quick look. The page is written at the
end. About five CPU minutes.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import epluribus as epl
from epluribus.diagnostics import chain_agreement
from epluribus.models import DirichletProcess, GaussianMixture
from epluribus.sampling import sample
from epluribus.uncertainty._draw_modes import find_groups
from mode_samples import KINDS

CHAINS_AGREE = ("independent", "slow items", "two modes, visited often", "restaurant process")
CHAINS_DISAGREE = (
    "A, A, B",
    "A, B",
    "one stuck",
    "drift, item by item",
    "drift, all at once",
    "other scale",
)


# --- partitions and noise ---


def sizes_partition(rng, n, k):
    """Clusters of unequal sizes, each of at least 3 items, in random order."""
    extra = rng.multinomial(n - 3 * k, rng.dirichlet(np.full(k, 2.0)))
    return rng.permutation(np.repeat(np.arange(k), extra + 3))


def disturbed(rng, rows, noise):
    """Each item joins the cluster of a random item, or none of the others, with probability `noise`."""
    t, n = rows.shape
    company = np.take_along_axis(rows, rng.integers(n, size=(t, n)), axis=1)
    alone = rows.max() + 1 + np.broadcast_to(np.arange(n), (t, n))
    new = np.where(rng.random((t, n)) < 0.25, alone, company)
    return np.where(rng.random((t, n)) < noise, new, rows)


def restaurant(rng, n, n_draws, concentration):
    """Draws of a Chinese restaurant process."""
    labels = np.zeros((n_draws, n), dtype=np.int64)
    for i in range(1, n):
        earlier = labels[np.arange(n_draws), rng.integers(0, i, n_draws)]
        is_new = rng.random(n_draws) < concentration / (i + concentration)
        labels[:, i] = np.where(is_new, labels[:, :i].max(axis=1) + 1, earlier)
    return labels


def slowly(rng, rows, refresh):
    """Each item keeps its label of the draw before with probability 1 - refresh."""
    t = np.arange(len(rows))[:, None]
    last = np.maximum.accumulate(np.where(rng.random(rows.shape) < refresh, t, 0), axis=0)
    return np.take_along_axis(rows, last, axis=0)


def altered(rng, labels, kind):
    """Another partition: unrelated, two clusters joined, one halved, or a block moved."""
    out, k = labels.copy(), int(labels.max()) + 1
    if kind == "unrelated":
        return rng.permutation(labels)
    order = np.argsort(-np.bincount(labels))
    if kind == "joined":
        out[out == order[1]] = order[0]
    elif kind == "halved":
        own = rng.permutation(np.flatnonzero(labels == order[0]))
        out[own[: len(own) // 2]] = k
    else:
        own = rng.permutation(np.flatnonzero(labels == order[0]))
        out[own[: max(3, len(own) // 2)]] = order[1]
    return np.unique(out, return_inverse=True)[1]


# --- 1. standard errors ---


def error_coverage(n_samples, seed):
    """How often the expected loss of many draws is within 1.96 standard errors."""
    rows = []
    truth = np.repeat([0, 1, 2], 8)
    for name in (
        "independent draws",
        "slow chain",
        "weights from another posterior",
        "heavy weights",
    ):
        rng = np.random.default_rng([seed, 1, len(name)])
        rate, to = np.array([0.05, 0.15, 0.35]), np.array([0.2, 0.3, 0.5])
        even = np.full(3, 1 / 3)

        def draw(n, share, rng=rng, rate=rate):
            which = rng.choice(3, size=n, p=share)
            noise = rng.random((n, 24)) < rate[which][:, None]
            return np.where(noise, rng.integers(3, size=(n, 24)), truth), which

        weighted = "weights" in name
        long = draw(60_000, to if weighted else even)[0]
        mean = epl.expected_loss(truth, long, "vi")
        covered, ratio, worth = 0, [], []
        for _ in range(n_samples):
            z, which = draw(400, even)
            weights = None
            if name == "slow chain":
                keep = np.maximum.accumulate(np.where(rng.random(400) < 0.2, np.arange(400), 0))
                z = z[keep]
            if weighted:
                spread = 0.3 if name.startswith("weights") else 1.2
                weights = (to / even)[which] * rng.lognormal(0, spread, 400)
            found = epl.uncertainty.error(truth, epl.Draws(z, weights=weights))
            covered += abs(found.expected_loss - mean) <= 1.96 * found.standard_error
            ratio.append((found.expected_loss - mean) / found.standard_error)
            worth.append(found.ess)
        rows.append((name, n_samples, covered / n_samples, np.std(ratio), np.median(worth)))
    return rows


# --- 2. credible balls ---


def ball_coverage(n_samples, seed):
    """How often the ball holds the partition that made the data, the model being right."""
    n, tau, shape, rate, theta = 20, 0.05, 3.0, 1.0, 1.0
    rng = np.random.default_rng([seed, 2])
    inside = dict.fromkeys((0.5, 0.8, 0.95), 0)
    mass = dict.fromkeys(inside, 0.0)
    for number in range(n_samples):
        labels = restaurant(rng, n, 1, theta)
        precision = rng.gamma(shape, 1 / rate, n)[labels[0]]
        center = rng.normal(size=n)[labels[0]] / np.sqrt(tau * precision)
        y = center + rng.normal(size=n) / np.sqrt(precision)
        model = GaussianMixture(y, tau=tau, gamma=shape, delta=rate, prior=DirichletProcess(theta))
        # Draws far apart, so that the ball is that of the posterior and not of the chain.
        trace = sample(model, n_draws=500, burn=300, thin=10, n_chains=2, rng=number, n_jobs=1)
        best = epl.minimize(trace.draws, rng=1, n_jobs=1)
        for level in inside:
            ball = epl.credible_ball(best, trace.draws, level)
            inside[level] += epl.loss(best.labels, labels[0], "vi") <= ball.radius + 1e-9
            mass[level] += ball.mass
    return [
        (level, n_samples, inside[level] / n_samples, mass[level] / n_samples) for level in inside
    ]


# --- 3. chains ---


def agreeing(rng, kind):
    """Chains of one posterior."""
    n, n_draws, m = (
        int(rng.choice([15, 40, 100])),
        int(rng.choice([250, 500, 1000])),
        rng.integers(2, 5),
    )
    if kind == "restaurant process":
        return np.stack([restaurant(rng, n, n_draws, 2.0) for _ in range(m)])
    a = sizes_partition(rng, n, int(rng.integers(2, 5)))
    noise, refresh = rng.uniform(0.05, 0.25), rng.uniform(0.2, 0.6)
    out = []
    for _ in range(m):
        rows = np.tile(a, (n_draws, 1))
        if kind.startswith("two modes"):
            b = altered(np.random.default_rng(n), a, "joined")
            which = rng.random(n_draws) < 0.4
            stay = np.maximum.accumulate(np.where(rng.random(n_draws) < 0.3, np.arange(n_draws), 0))
            rows = np.where(which[stay][:, None], b, a)
        z = disturbed(rng, rows, noise)
        out.append(slowly(rng, z, refresh) if kind == "slow items" else z)
    return np.stack(out)


def disagreeing(rng, kind):
    """Chains that must not be put together."""
    n, n_draws, m = (
        int(rng.choice([20, 40, 100])),
        int(rng.choice([250, 500, 1000])),
        rng.integers(2, 5),
    )
    a = sizes_partition(rng, n, int(rng.integers(3, 5)))
    b = altered(rng, a, str(rng.choice(["unrelated", "joined", "halved", "moved"])))
    noise, refresh = rng.uniform(0.05, 0.2), rng.uniform(0.3, 1.0)

    def near(partition, rate=noise):
        rows = disturbed(rng, np.broadcast_to(partition, (n_draws, n)), rate)
        return slowly(rng, rows, refresh)

    if kind == "A, A, B":
        return np.stack([near(a), near(a), near(b)])
    if kind == "A, B":
        return np.stack([near(a), near(b)])
    if kind == "one stuck":
        z = np.stack([near(a, 0.15) for _ in range(m)])
        z[0] = z[0, 7]
        return z
    if kind == "other scale":
        return np.stack([*(near(a, 0.06) for _ in range(m - 1)), near(a, 0.2)])
    # A slow way from a to an unrelated partition, the same in all chains.
    b, progress = rng.permutation(a), np.linspace(0, 1, n_draws)[:, None]
    turn = rng.random(n)[None, :]
    chains = []
    for _ in range(m):
        there = turn < progress if kind.endswith("item") else rng.random((n_draws, 1)) < progress
        chains.append(np.where(there, near(b), near(a)))
    return np.stack(chains)


def chain_verdicts(n_samples, seed):
    """How often chains are said to agree, to disagree, and that it cannot be known."""
    rows = []
    for truth, kinds, make in (
        ("agree", CHAINS_AGREE, agreeing),
        ("disagree", CHAINS_DISAGREE, disagreeing),
    ):
        for kind in kinds:
            rng = np.random.default_rng([seed, 3, len(kind), truth == "agree"])
            found = [chain_agreement(epl.Draws(make(rng, kind)), 1).agree for _ in range(n_samples)]
            counts = (found.count(True), found.count(False), found.count(None))
            rows.append((truth, kind, n_samples, *counts))
    return rows


# --- 4. modes ---


def mode_verdicts(n_samples, seed):
    """How often the number of modes is right; chains that did not mix must not be given weights."""
    rows = []
    for number, (kind, make) in enumerate(KINDS.items()):
        right = unknown = 0
        for i in range(n_samples):
            z, truth = make(np.random.default_rng([seed, 4, number, i]))
            ensemble = "clusterings" in kind
            table = np.ma.masked_less(z, 0) if z.min() < 0 else z
            found = find_groups(epl.Draws(table, kind="ensemble" if ensemble else "posterior"))
            slow = kind in ("drift", "burn-in left in", "two modes, entered once")
            good = found.n == 1 or not found.trusted if slow else found.n == truth
            # That it cannot be known is said of one mode only.
            known = found.n > 1 or found.verdict(0.0)[1] is not None
            right, unknown = right + (good and known), unknown + (not known)
        rows.append((kind, n_samples, right, unknown, n_samples - right - unknown))
    return rows


# --- the page ---


def table(head, rows):
    """A table in Markdown."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def _cell(value):
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)


PAGE = """# Calibration: do the verdicts keep their word?

Everything on this page is simulated, so that the truth is known. The samples are made by
`benchmarks/calibrate.py`, whose generators are not those that the rules were tuned on; `make calibrate`
makes the page anew ({seconds:.0f} CPU seconds this time, seed {seed}).

## Standard error of the expected loss

24 items, 400 draws in one chain. An interval of 1.96 standard errors should hold the expected loss of
infinitely many draws in 95% of the samples, and the error in units of its standard error should have a
standard deviation of 1. The posterior is a mixture of three rates of noise; weights turn the shares of the
three from even to 0.2, 0.3, 0.5, and are multiplied by lognormal noise (sd 0.3, and 1.2 for the heavy ones).

{error}

## Credible balls

{n_ball} data sets of 20 numbers from a Dirichlet process mixture of Gaussians, with the model that made them:
1,000 draws of 2 chains, 10 steps apart. A ball of level L should hold the true partition in a share of L of
the data sets, or a little more: draws at equal distance are all inside, so that its mass exceeds the level.

{ball}

## Chains

Sets of 2 to 4 chains of 250 to 1,000 draws, 15 to 100 items. Chains that agree may be called disagreeing by
chance in about 1 of 200 sets.

{chains}

## Modes

Samples of `benchmarks/mode_samples.py`: 30 to 200 items and 200 to 1,000 draws if nothing else is said. Noise moves
up to 20% of the items (30% with noise alone) to a random cluster, or to one of their own. Drift, burn-in and two
modes that were entered once are right if no weights are reported.

{modes}

## What is not covered

- Draws of real samplers on real data: the chains here are simulated, except those behind the credible balls.
- More than 8 modes, and modes below 5% of the draws.
- Heavy noise: with more than 20% of the items disturbed, neighboring modes melt into one.
- Weights so heavy that a few draws carry the sum: `error` warns, and its standard error is then too small.
- Chains that all miss the same mode: no comparison of chains can see that.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/CALIBRATION.md"))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    def scaled(n):
        return max(2, round(args.share * n))

    began = time.process_time()
    parts = {}
    for name, work, n in (
        ("error", error_coverage, 500),
        ("ball", ball_coverage, 300),
        ("chains", chain_verdicts, 60),
        ("modes", mode_verdicts, 20),
    ):
        parts[name] = work(scaled(n), args.seed)
        print(name, f"{time.process_time() - began:.0f} s", *parts[name], sep="\n  ", flush=True)
    text = PAGE.format(
        seconds=time.process_time() - began,
        seed=args.seed,
        n_ball=scaled(300),
        error=table(
            ("sample", "samples", "covered", "sd of the error", "median ESS"), parts["error"]
        ),
        ball=table(("level", "data sets", "truth inside", "mean mass"), parts["ball"]),
        chains=table(
            ("truth", "kind", "sets", "said to agree", "said to disagree", "cannot be known"),
            parts["chains"],
        ),
        modes=table(("sample", "samples", "right", "cannot be known", "wrong"), parts["modes"]),
    )
    args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
