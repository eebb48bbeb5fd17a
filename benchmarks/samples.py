"""Six samples of partitions that look like posterior draws, the same on every machine.

- ``small``: Gibbs draws of a sparse Gaussian mixture on 82 galaxy-like values;
- ``medium``, ``large``, ``wide``, ``huge``: items around the centres of a Gaussian mixture. The centres drift
  as a first-order autoregression over the draws; each draw takes labels from the responsibilities; clusters
  are cut by a plane, and neighbours joined, for a while at a time. So draws are autocorrelated, items
  between clusters are uncertain, and the number of clusters varies;
- ``micro``: thousands of clusters of one to six items, as in record linkage.

Labels are left switched, as samplers leave them.
"""

from __future__ import annotations

import hashlib
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
SHA256 = {  # of the int32 labels, first 16 digits
    "small": "64d7302f5782cf8e",
    "medium": "93443e41bb3177ef",
    "wide": "a7aacd0baa2b01d1",
    "large": "08fb7f7e13f407a0",
    "huge": "75aa229a81a2f416",
    "micro": "a2e6be8cec3562b1",
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
    """Make one of the six samples."""
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
    seed: int, n_items: int, n_draws: int, k: int, concentration: float = 3.0
) -> np.ndarray:
    """Draws around a true partition with k clusters in three dimensions."""
    rng = np.random.default_rng(seed)
    drift, memory = 0.25, 0.95
    truth = _true_labels(rng, n_items, k, concentration)
    centers = rng.uniform(0.0, 5.0 * k ** (1.0 / 3.0), size=(k, 3))
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
        begins = ~cut & (rng.random(k) < 0.01)
        cut &= rng.random(k) >= 0.15
        if begins.any():
            n = int(begins.sum())
            normal[begins] = rng.normal(size=(n, 3))
            normal[begins] /= np.linalg.norm(normal[begins], axis=1, keepdims=True)
            shift[begins] = 0.7 * rng.normal(size=n)
        cut |= begins
        beyond = ((x - c[z]) * normal[z]).sum(1) > shift[z]
        z = np.where(cut[z] & beyond, z + k, z)
        begins = ~joined & (rng.random(len(pairs)) < 0.02)
        joined &= rng.random(len(pairs)) >= 0.15
        joined |= begins
        for a, b in pairs[joined]:
            z[z == b] = a
        out[t] = without_gaps(rng.permutation(2 * k)[z])
    return out


def without_gaps(labels: np.ndarray) -> np.ndarray:
    """Labels 1..K in the order of the old ones."""
    return (np.unique(labels, return_inverse=True)[1] + 1).astype(np.int32)


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
