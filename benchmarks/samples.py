"""Samples of partitions that look like posterior draws, the same on every machine.

Six of growing size:

- ``small``: Gibbs draws of a sparse Gaussian mixture on 82 galaxy-like values;
- ``medium``, ``large``, ``wide``, ``huge``: items around the centres of a Gaussian mixture. The centres drift
  as a first-order autoregression over the draws; each draw takes labels from the responsibilities; clusters
  are cut by a plane, and neighbours joined, for a while at a time. So draws are autocorrelated, items
  between clusters are uncertain, and the number of clusters varies;
- ``micro``: thousands of clusters of one to six items, as in record linkage.

Ten hard ones, in which many partitions are nearly as good as the best, for any seed:

- ``diffuse``, ``very_diffuse``, ``many``: as ``medium``, with centres that lie closer and drift further, or
  with 200 clusters;
- ``nested``: three levels of one hierarchy; ``two_modes``: two unrelated partitions;
- ``giant``: one large cluster, singletons and pairs;
- ``restaurant_2``, ``restaurant_20``, ``iid``, ``tiny_noise``: no signal at all.

Labels are left switched, as samplers leave them.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "samples"

SIZES = {
    "small": (82, 10_000),
    "medium": (400, 2_000),
    "wide": (1_000, 1_000),
    "large": (5_000, 1_000),
    "huge": (50_000, 200),
    "micro": (10_000, 200),
}
HARD_SIZES = {  # a new kind goes to the end: the place of a kind is part of its seed
    "diffuse": (300, 1_000),
    "very_diffuse": (150, 1_000),
    "many": (2_000, 500),
    "nested": (240, 500),
    "two_modes": (200, 600),
    "restaurant_2": (80, 500),
    "restaurant_20": (100, 400),
    "giant": (400, 300),
    "iid": (80, 300),
    "tiny_noise": (18, 13),
}
SHA256 = {  # of the int32 labels, first 16 digits; hard samples: seed 1
    "small": "64d7302f5782cf8e",
    "medium": "93443e41bb3177ef",
    "wide": "a7aacd0baa2b01d1",
    "large": "08fb7f7e13f407a0",
    "huge": "75aa229a81a2f416",
    "micro": "a2e6be8cec3562b1",
    "diffuse": "e50ce6627fd52148",
    "very_diffuse": "71fec0cecf1c9983",
    "many": "cc64885d84d917e7",
    "nested": "b21a30a4b96ab016",
    "two_modes": "08757d39db23a29c",
    "restaurant_2": "4c6dfa8cfbd4312a",
    "restaurant_20": "f2a0325829e03552",
    "giant": "d83797a67bc9ca56",
    "iid": "7fa43182bf68996f",
    "tiny_noise": "cb555837b5aaac83",
}


def load(name: str) -> np.ndarray:
    """The sample of that name, (n_draws, n_items), made on first use."""
    path = FOLDER / f"{name}.npy"
    if not path.exists():
        z = make(name)
        digest = hashlib.sha256(z.tobytes()).hexdigest()[:16]
        if digest != SHA256[name]:
            raise RuntimeError(f"sample '{name}' has hash {digest}, not {SHA256[name]}")
        FOLDER.mkdir(exist_ok=True)
        np.save(path, z)
    return np.load(path)


def make(name: str) -> np.ndarray:
    """Make one of the samples; the first one of a hard kind."""
    if name in HARD_SIZES:
        return make_hard(name, seed=1)
    if name == "small":
        return mixture_draws(seed=1, n_draws=10_000)
    if name == "micro":
        return micro_draws(6, *SIZES[name])
    settings = {
        "medium": {"seed": 2, "k": 10, "concentration": 3.0},
        "large": {"seed": 3, "k": 30, "concentration": 3.0},
        "wide": {"seed": 4, "k": 100, "concentration": 5.0},
        "huge": {"seed": 5, "k": 20, "concentration": 3.0},
    }[name]
    n_items, n_draws = SIZES[name]
    return drifting_draws(n_items=n_items, n_draws=n_draws, **settings)


def make_hard(name: str, seed: int = 1) -> np.ndarray:
    """Make one of the ten hard samples; another seed gives another sample of the same kind."""
    n_items, n_draws = HARD_SIZES[name]
    number = 1 + list(HARD_SIZES).index(name)
    settings = {
        "diffuse": {"k": 12, "box": 5.0, "drift": 1.0, "cut_rate": 0.05, "join_rate": 0.08},
        "very_diffuse": {"k": 6, "box": 2.5, "drift": 1.5, "memory": 0.5},
        "many": {"k": 200},
    }
    if name in settings:
        return drifting_draws(1000 * seed + number, n_items, n_draws, **settings[name])
    makers = {
        "nested": nested_draws,
        "two_modes": two_modes_draws,
        "restaurant_2": partial(restaurant_draws, concentration=2.0),
        "restaurant_20": partial(restaurant_draws, concentration=20.0),
        "giant": giant_draws,
        "iid": partial(noise_draws, k=5),
        "tiny_noise": partial(noise_draws, k=4),
    }
    z = makers[name](np.random.default_rng([seed, number]), n_items, n_draws)
    return np.array([without_gaps(row) for row in z])


def micro_draws(seed: int, n_items: int, n_draws: int) -> np.ndarray:
    """Draws around a true partition into clusters of 1 to 6 items, as record linkage gives.

    Clusters lie on a ring in pairs of namesakes. In each draw a tenth of the items, mostly the same ones,
    go over to the next cluster of the ring, one cluster in twenty has lost some items to a new one, and
    one pair of namesakes in twenty is one cluster.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.choice(6, size=n_items, p=[0.25, 0.25, 0.2, 0.15, 0.1, 0.05]) + 1
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), n_items)) + 1]
    k = len(sizes)
    truth = rng.permutation(np.repeat(np.arange(k), sizes)[:n_items])
    doubt = rng.beta(0.2, 1.8, size=n_items)  # how often an item goes over; 0.1 on average
    out = np.empty((n_draws, n_items), dtype=np.int32)
    for t in range(n_draws):
        z = np.where(rng.random(n_items) < doubt, (truth + 1) % k, truth)
        joined = rng.random(k // 2 + 1) < 0.05
        z = np.where(joined[z // 2], z - z % 2, z)
        leaves = (rng.random(k) < 0.05)[z] & (rng.random(n_items) < 0.5)
        out[t] = without_gaps(np.where(leaves, z + k, z))
    return out


def mixture_draws(seed: int, n_draws: int, burn: int = 2_000, k_max: int = 10) -> np.ndarray:
    """Gibbs draws of a mixture of ten Gaussians with concentration 0.05, most of them empty."""
    rng = np.random.default_rng(seed)
    groups = [(9.7, 0.45, 7), (16.6, 0.35, 2), (19.9, 1.0, 38), (22.8, 1.5, 32), (33.0, 0.9, 3)]
    y = np.concatenate([rng.normal(*group) for group in groups])
    prior_mean, prior_variance = y.mean(), 2.0 * y.var()
    z = np.argsort(np.argsort(y)) * k_max // y.size
    variance = np.ones(k_max)
    out = np.empty((n_draws, y.size), dtype=np.int32)
    for step in range(burn + n_draws):
        size = np.bincount(z, minlength=k_max)
        total = np.bincount(z, weights=y, minlength=k_max)
        log_weight = np.log(rng.gamma(0.05 + size) + 1e-300)
        precision = 1.0 / prior_variance + size / variance
        mean = (prior_mean / prior_variance + total / variance) / precision
        mean = mean + rng.normal(size=k_max) / np.sqrt(precision)
        squares = np.bincount(z, weights=(y - mean[z]) ** 2, minlength=k_max)
        variance = (2.0 + 0.5 * squares) / rng.gamma(2.0 + 0.5 * size)
        log_p = log_weight - 0.5 * np.log(variance) - 0.5 * (y[:, None] - mean) ** 2 / variance
        z = np.argmax(log_p + rng.gumbel(size=(y.size, k_max)), axis=1)
        if step >= burn:
            out[step - burn] = without_gaps(z)
    return out


def drifting_draws(
    seed: int,
    n_items: int,
    n_draws: int,
    k: int,
    concentration: float = 3.0,
    box: float | None = None,
    drift: float = 0.25,
    memory: float = 0.95,
    cut_rate: float = 0.01,
    join_rate: float = 0.02,
) -> np.ndarray:
    """Draws around a true partition with k clusters in three dimensions, their centres in a box."""
    rng = np.random.default_rng(seed)
    truth = _true_labels(rng, n_items, k, concentration)
    centers = rng.uniform(0.0, box or 5.0 * k ** (1.0 / 3.0), size=(k, 3))
    x = centers[truth] + rng.normal(size=(n_items, 3))
    pairs = _nearest_pairs(centers, max(2, k // 3))
    log_weight = np.log(np.bincount(truth) / n_items)
    offset = drift * rng.normal(size=(k, 3))
    cut, normal, shift = np.zeros(k, bool), rng.normal(size=(k, 3)), np.zeros(k)
    joined = np.zeros(len(pairs), bool)
    out = np.empty((n_draws, n_items), dtype=np.int32)
    for t in range(n_draws):
        offset = memory * offset + np.sqrt(1 - memory**2) * drift * rng.normal(size=(k, 3))
        c = centers + offset
        log_p = x @ c.T - 0.5 * (c * c).sum(1) + log_weight
        log_p += rng.gumbel(size=(n_items, k))
        z = log_p.argmax(1)
        begins = ~cut & (rng.random(k) < cut_rate)
        cut &= rng.random(k) >= 0.15
        if begins.any():
            n = int(begins.sum())
            normal[begins] = rng.normal(size=(n, 3))
            normal[begins] /= np.linalg.norm(normal[begins], axis=1, keepdims=True)
            shift[begins] = 0.7 * rng.normal(size=n)
        cut |= begins
        beyond = ((x - c[z]) * normal[z]).sum(1) > shift[z]
        z = np.where(cut[z] & beyond, z + k, z)
        begins = ~joined & (rng.random(len(pairs)) < join_rate)
        joined &= rng.random(len(pairs)) >= 0.15
        joined |= begins
        for a, b in pairs[joined]:
            z[z == b] = a
        out[t] = without_gaps(rng.permutation(2 * k)[z])
    return out


def nested_draws(rng: np.random.Generator, n_items: int, n_draws: int) -> np.ndarray:
    """Each draw is the fine, the middle or the coarse level of one hierarchy, with noise."""
    fine = rng.integers(0, 24, n_items)
    out = []
    for _ in range(n_draws):
        u = rng.random()
        level = fine if u < 0.4 else fine // 3 if u < 0.75 else fine // 8
        out.append(_noisy(rng, level, 0.15, 24))
    return np.array(out)


def two_modes_draws(rng: np.random.Generator, n_items: int, n_draws: int) -> np.ndarray:
    """Each draw is one of two unrelated partitions, with noise."""
    a, b = rng.integers(0, 8, n_items), rng.integers(0, 5, n_items)
    return np.array([_noisy(rng, a if rng.random() < 0.5 else b, 0.1, 8) for _ in range(n_draws)])


def restaurant_draws(
    rng: np.random.Generator, n_items: int, n_draws: int, concentration: float
) -> np.ndarray:
    """Draws of a Chinese restaurant process, in which all items are alike."""
    out = np.empty((n_draws, n_items), dtype=np.int64)
    for row in out:
        sizes: list[int] = []
        for item in rng.permutation(n_items):
            weight = np.array([*sizes, concentration])
            table = rng.choice(len(weight), p=weight / weight.sum())
            if table == len(sizes):
                sizes.append(0)
            sizes[table] += 1
            row[item] = table
    return out


def giant_draws(rng: np.random.Generator, n_items: int, n_draws: int) -> np.ndarray:
    """One giant cluster, which some items leave rarely and others often, mostly alone, some in pairs."""
    certain = np.arange(n_items) < 0.6 * n_items
    leaves = np.where(certain, 0.03, rng.uniform(0.2, 0.95, n_items))
    out = np.zeros((n_draws, n_items), dtype=np.int64)
    for row in out:
        alone = np.flatnonzero(rng.random(n_items) < leaves)
        row[alone] = np.arange(1, len(alone) + 1)
        second = alone[1::7]
        row[second] = row[alone[::7][: len(second)]]
    return out


def noise_draws(rng: np.random.Generator, n_items: int, n_draws: int, k: int) -> np.ndarray:
    """Labels at random."""
    return rng.integers(0, k, (n_draws, n_items))


def without_gaps(labels: np.ndarray) -> np.ndarray:
    """Labels 1..K in the order of the old ones."""
    return (np.unique(labels, return_inverse=True)[1] + 1).astype(np.int32)


def _noisy(rng: np.random.Generator, labels: np.ndarray, share: float, k: int) -> np.ndarray:
    """The labels, with about this share of them at random."""
    z = labels.copy()
    hit = rng.random(len(z)) < share
    z[hit] = rng.integers(0, k, hit.sum())
    return z


def _true_labels(
    rng: np.random.Generator, n_items: int, k: int, concentration: float
) -> np.ndarray:
    sizes = np.maximum(2, np.floor(rng.dirichlet(np.full(k, concentration)) * n_items).astype(int))
    while sizes.sum() != n_items:
        chosen = rng.integers(k)
        step = int(np.sign(n_items - sizes.sum()))
        if sizes[chosen] + step >= 2:
            sizes[chosen] += step
    truth = np.repeat(np.arange(k), sizes)
    rng.shuffle(truth)
    return truth


def _nearest_pairs(centers: np.ndarray, n_pairs: int) -> np.ndarray:
    distance = ((centers[:, None] - centers[None]) ** 2).sum(-1)
    i, j = np.triu_indices(len(centers), 1)
    near = np.argsort(distance[i, j])[:n_pairs]
    return np.stack([i[near], j[near]], 1)


def record_draws(
    rng: np.random.Generator, n_items: int, n_draws: int
) -> tuple[np.ndarray, np.ndarray]:
    """Records of persons, at most one of a person in each of five files; draws, and the file of each record."""
    truth, files = [], []
    while len(truth) < n_items:
        some = rng.permutation(5)[: rng.integers(1, 5)]
        truth += [1 + max(truth, default=-1)] * len(some)
        files += some.tolist()
    persons, out = np.array(truth[:n_items]), np.empty((n_draws, n_items), dtype=np.int32)
    unsure, other = rng.random(n_items) < 0.5, rng.integers(persons.max() + 1, size=n_items)
    for line in out:
        elsewhere = np.where(rng.random(n_items) < 0.6, other, n_items + np.arange(n_items))
        line[:] = np.where(unsure & (rng.random(n_items) < 0.35), elsewhere, persons)
    return out, np.array(files[:n_items])


def region_draws(
    rng: np.random.Generator, side: int, n_draws: int
) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Regions around four to six centers on a grid of side times side cells; draws, and the neighbors."""
    n, cells = side * side, np.indices((side, side)).reshape(2, -1).T / side
    centers, out = rng.uniform(0, 1, (6, 2)), np.empty((n_draws, n), dtype=np.int32)
    for line in out:
        now = centers[: rng.integers(4, 7)] + rng.normal(0, 0.06, 2)
        distances = ((cells[:, None] - now) ** 2).sum(axis=2)
        line[:] = (distances + 0.012 * rng.gumbel(size=distances.shape)).argmin(axis=1)
    right = [(i, i + 1) for i in range(n) if (i + 1) % side]
    return out, right + [(i, i + side) for i in range(n - side)]


def crowded_draws(n_items: int, n_draws: int, k: int = 30) -> np.ndarray:
    """Draws of very many items around clusters of very different sizes; every third draw joins two of them."""
    rng = np.random.default_rng(n_items)
    truth = rng.choice(k, n_items, p=rng.dirichlet(np.ones(k))).astype(np.uint8)
    unsure = np.flatnonzero(rng.random(n_items) < 0.1)
    other = rng.integers(k, size=len(unsure), dtype=np.uint8)
    out = np.empty((n_draws, n_items), dtype=np.uint8)
    for t, line in enumerate(out):
        line[:] = truth
        line[truth == 1] = t % 3 > 0
        moved = rng.integers(n_items, size=n_items // 10)
        line[moved] = rng.integers(k, size=len(moved), dtype=np.uint8)
        away = rng.random(len(unsure)) < 0.45
        line[unsure[away]] = other[away]
    return out
