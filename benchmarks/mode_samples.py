"""Samples with a known number of modes: each function takes a generator, and returns labels and the truth."""

import numpy as np


def canon(z):
    return np.array([np.unique(r, return_inverse=True)[1] for r in z])


def base(rng, n, k):
    p = rng.dirichlet(np.full(k, 5.0))
    z = rng.choice(k, n, p=p)
    z[:k] = np.arange(k)
    return z


def noisy(rng, z, p):
    z = z.copy()
    T, N = z.shape
    hit = rng.random(z.shape) < p
    alone = rng.random(z.shape) < 0.3
    other = z[np.arange(T)[:, None], rng.integers(N, size=z.shape)]
    return np.where(hit, np.where(alone, 1000 + np.arange(N), other), z)


def number_of_draws(rng):
    return int(rng.choice([200, 400, 1000]))


def number_of_items(rng):
    return int(rng.choice([30, 60, 120]))


def border1(rng):
    n = int(rng.choice([60, 100, 200]))
    T = number_of_draws(rng)
    sd = rng.choice([1.5, 2.5, 5])
    k = rng.integers(2, 5)
    x = np.arange(n)
    cuts = np.linspace(0, n, k + 1)[1:-1]
    which = rng.integers(len(cuts))
    z = []
    for _t in range(T):
        c = cuts.copy()
        c[which] += rng.normal() * sd
        z.append((x[:, None] > c).sum(1))
    return noisy(rng, np.array(z), rng.choice([0, 0.03])), 1


def border_two_move(rng):
    n = int(rng.choice([60, 100, 200]))
    T = number_of_draws(rng)
    sd = rng.choice([1.5, 2.5, 4])
    x = np.arange(n)
    cuts = np.array([n / 3, 2 * n / 3])
    return noisy(
        rng,
        (x[None, :, None] > (cuts + rng.normal(size=(T, 2)) * sd)[:, None]).sum(2),
        rng.choice([0, 0.03]),
    ), 1


def border_humps(rng):
    n = int(rng.choice([60, 100, 200]))
    T = number_of_draws(rng)
    sd = rng.choice([1.5, 2.5])
    x = np.arange(n)
    c = (
        np.where(rng.random(T) < rng.uniform(0.3, 0.7), 0.35 * n, 0.35 * n + 8 * sd + 3)
        + rng.normal(size=T) * sd
    )
    return noisy(
        rng, (x[None] > c[:, None]).astype(int) + 2 * (x[None] > 0.9 * n), rng.choice([0, 0.03])
    ), 2


def morph(rng):
    n = number_of_items(rng)
    T = number_of_draws(rng)
    k = int(rng.integers(3, 6))
    a = base(rng, n, k)
    kind = rng.integers(3)
    if kind == 0:
        b = np.where(a == 1, 0, a)
    elif kind == 1:
        b = base(rng, n, k)
    else:
        b = np.where((a == 0) & (rng.random(n) < 0.5), k, a)
    d = np.flatnonzero(a != b)
    when = np.ones(n)
    when[d] = (rng.permutation(len(d)) + 0.5) / len(d)
    u = rng.random((T, 1))
    if rng.random() < 0.3:
        return noisy(rng, np.where(rng.random((T, n)) < u, b, a), rng.choice([0, 0.03])), 1
    return noisy(rng, np.where(when[None] < u, b, a), rng.choice([0, 0.03])), 1


def alter(rng, a, kind):
    len(a)
    k = a.max() + 1
    s = np.bincount(a)
    if (kind == "block" and s.max() < 8) or (kind == "merge" and (s >= 3).sum() < 2):
        kind = "unrelated"
    if kind in ("two", "split") and s.max() < 4:
        kind = "unrelated"
    if kind == "unrelated":
        return rng.permutation(a)
    if kind == "two":
        g = rng.choice(np.flatnonzero(s >= 4))
        i = rng.choice(np.flatnonzero(a == g), 2, replace=False)
        b = a.copy()
        b[i] = rng.choice([h for h in range(k) if h != g])
        return b
    if kind == "merge":
        g, h = rng.choice(np.flatnonzero(s >= 3), 2, replace=False)
        return np.where(a == g, h, a)
    if kind == "split":
        g = rng.choice(np.flatnonzero(s >= 4))
        i = rng.permutation(np.flatnonzero(a == g))
        b = a.copy()
        b[i[: len(i) // 2]] = k
        return b
    if kind == "block":
        g = rng.choice(np.flatnonzero(s >= 8))
        i = rng.permutation(np.flatnonzero(a == g))[: rng.integers(3, max(4, s[g] // 2))]
        b = a.copy()
        b[i] = rng.choice([h for h in range(k) if h != g])
        return b
    return None


def same(a, b):
    return len(set(zip(a, b, strict=False))) == len(set(a)) == len(set(b))


def exact(rng):
    n = number_of_items(rng)
    T = number_of_draws(rng)
    m = int(rng.integers(2, 5))
    a = base(rng, n, int(rng.integers(3, 6)))
    c = [canon(a[None])[0]]
    while len(c) < m:
        b = canon(
            alter(
                rng,
                c[rng.integers(len(c))],
                rng.choice(["unrelated", "two", "merge", "split", "block"]),
            )[None]
        )[0]
        if not any(same(b, x) for x in c):
            c.append(b)
    w = 0.5 / m + 0.5 * rng.dirichlet(np.full(m, 4.0))
    return np.array(c)[rng.choice(m, T, p=w)], m


def exact_close(rng):
    n = int(rng.choice([12, 40, 100]))
    T = number_of_draws(rng)
    a = np.arange(n) % 3
    b = alter(rng, a, rng.choice(["two", "split"])) if n > 12 else alter(rng, a, "split")
    return np.array([a, b])[rng.choice(2, T, p=[0.6, 0.4])], 2


def two(rng, kinds, p, n=None):
    T = number_of_draws(rng)
    n = n or number_of_items(rng)
    a = base(rng, n, int(rng.integers(3, 6)))
    kind = rng.choice(kinds)
    b = alter(rng, a, kind)
    w = rng.uniform(0.25, 0.75)
    which = rng.random(T) < w
    return noisy(rng, np.where(which[:, None], a, b), p), 2


def sized_two(rng):
    """Split or merge of clusters of 6 to 25 under noise."""
    T = number_of_draws(rng)
    s = int(rng.integers(6, 26))
    k = int(rng.integers(3, 6))
    a = np.repeat(np.arange(k), s)
    b = (
        np.where(a == 1, 0, a)
        if rng.random() < 0.5
        else np.where((a == 0) & (np.arange(len(a)) % 2 == 0), k, a)
    )
    which = rng.random(T) < rng.uniform(0.3, 0.7)
    return noisy(rng, np.where(which[:, None], a, b), rng.uniform(0.02, 0.1)), 2


def merge_small(rng):
    T = number_of_draws(rng)
    a = np.r_[np.repeat(np.arange(4), 15), np.repeat([4, 5], 7)]
    b = np.where(a == 5, 4, a)
    which = rng.random(T) < rng.uniform(0.3, 0.7)
    return noisy(rng, np.where(which[:, None], a, b), rng.uniform(0.02, 0.1)), 2


def block(rng):
    return two(rng, ["block"], rng.uniform(0, 0.08), int(rng.choice([60, 120])))


def unrelated(rng):
    return two(rng, ["unrelated"], rng.uniform(0.05, 0.2))


def several(rng):
    n = int(rng.choice([60, 120]))
    T = int(rng.choice([300, 600]))
    m = int(rng.integers(3, 7))
    a = base(rng, n, 4)
    c = [a] + [rng.permutation(a) for _ in range(m - 1)]
    w = 0.5 / m + 0.5 * rng.dirichlet(np.full(m, 4.0))
    return noisy(rng, np.array(c)[rng.choice(m, T, p=w)], rng.uniform(0.03, 0.15)), m


def independent(rng):
    q = int(rng.integers(2, 4))
    T = int(rng.choice([400, 1000]))
    s = int(rng.integers(8, 16))
    a = np.repeat(np.arange(2 * q), s)
    z = np.tile(a, (T, 1))
    for j in range(q):
        on = rng.random(T) < rng.uniform(0.35, 0.65)
        z[on] = np.where(z[on] == 2 * j + 1, 2 * j, z[on])
    return noisy(rng, z, rng.uniform(0, 0.05)), 2**q


def nested(rng):
    T = int(rng.choice([300, 600]))
    s = int(rng.integers(8, 20))
    a = np.repeat(np.arange(4), s)
    b = np.where(a == 1, 0, a)
    c = np.where(b == 2, 0, b)
    return noisy(
        rng,
        np.array([a, b, c])[rng.choice(3, T, p=rng.permutation([0.45, 0.3, 0.25]))],
        rng.uniform(0, 0.08),
    ), 3


def rare(rng):
    T = int(rng.choice([400, 1000]))
    n = int(rng.choice([40, 80]))
    a = base(rng, n, 4)
    b = alter(
        rng, a, rng.choice(["unrelated", "merge", "block"] if n > 40 else ["unrelated", "merge"])
    )
    return noisy(
        rng, np.where(rng.random((T, 1)) < rng.uniform(0.055, 0.1), b, a), rng.uniform(0, 0.06)
    ), 2


def wander(rng):
    n = number_of_items(rng)
    T = number_of_draws(rng)
    a = base(rng, n, int(rng.integers(3, 6)))
    z = np.tile(a, (T, 1))
    w = int(rng.choice([1, 3, 10]))
    for i in rng.choice(n, w, replace=False):
        z[rng.random(T) < rng.uniform(0.2, 0.5), i] = (a[i] + 1) % (a.max() + 1)
    return noisy(rng, z, rng.choice([0, 0.03, 0.08])), 1


def noise_only(rng):
    n = number_of_items(rng)
    return noisy(
        rng,
        np.tile(base(rng, n, int(rng.integers(2, 7))), (number_of_draws(rng), 1)),
        rng.uniform(0.02, 0.3),
    ), 1


def crp(rng, n, T, alpha):
    z = np.zeros((T, n), int)
    for i in range(1, n):
        z[:, i] = np.where(
            rng.random(T) < alpha / (i + alpha),
            z[:, :i].max(1) + 1,
            z[np.arange(T), rng.integers(0, i, T)],
        )
    return z


def diffuse(rng):
    n = int(rng.choice([20, 60]))
    T = number_of_draws(rng)
    kind = rng.integers(3)
    if kind == 0:
        return crp(rng, n, T, rng.choice([1.0, 3.0])), 1
    if kind == 1:
        return rng.integers(0, int(rng.integers(3, 8)), (T, n)), 1
    return np.array([rng.integers(0, k, n) for k in rng.integers(2, 7, T)]), 1


def drift(rng):
    n = 80
    T = 400
    x = np.arange(n)
    c = np.cumsum(rng.normal(size=T)) * rng.choice([0.3, 1]) + n / 2
    if rng.random() < 0.5:
        return noisy(rng, (x[None] > c[:, None]).astype(int) + 2 * (x > 0.9 * n), 0.03), 1
    a, b = base(rng, n, 4), base(rng, n, 4)
    when = rng.random(n)
    u = np.linspace(0, 1, T)[:, None]
    return noisy(rng, np.where(when < u, b, a), 0.03), 1


def burn(rng):
    T = 500
    n = number_of_items(rng)
    a = base(rng, n, 4)
    b = alter(rng, a, rng.choice(["unrelated", "merge"]))
    e = int(rng.integers(30, 60))
    z = np.tile(a, (T, 1))
    z[:e] = b
    return noisy(rng, z, rng.uniform(0, 0.1)), "untrusted"


def stuck(rng):
    T = 400
    n = number_of_items(rng)
    a = base(rng, n, 4)
    b = alter(rng, a, rng.choice(["unrelated", "merge"]))
    z = np.tile(a, (T, 1))
    z[int(rng.uniform(0.3, 0.7) * T) :] = b
    return noisy(rng, z, rng.uniform(0, 0.1)), "untrusted"


def holes(rng, z, share=None):
    z = canon(z)
    z[rng.random(z.shape) < (rng.uniform(0.05, 0.6) if share is None else share)] = -1
    return z[(z >= 0).sum(1) > 1]


def missing_one(rng):
    n = int(rng.choice([40, 100, 400]))
    return holes(
        rng,
        noisy(
            rng,
            np.tile(base(rng, n, 4), (int(rng.choice([60, 200, 400])), 1)),
            rng.uniform(0.02, 0.2),
        ),
    ), 1


def missing_two(rng):
    n = int(rng.choice([40, 100, 400]))
    a = base(rng, n, 4)
    b = alter(rng, a, rng.choice(["unrelated", "merge", "split"]))
    T = int(rng.choice([60, 200, 400]))
    return holes(
        rng,
        noisy(
            rng,
            np.where(rng.random((T, 1)) < rng.uniform(0.35, 0.65), a, b),
            rng.uniform(0.02, 0.1),
        ),
    ), 2


def missing_wide(rng):
    n = 1797
    a = base(rng, n, 10)
    T = 60
    return holes(
        rng, noisy(rng, np.tile(a, (T, 1)), rng.uniform(0.05, 0.3)), rng.choice([0.05, 0.3, 0.5])
    ), 1


def ensemble(rng, m):
    T = int(rng.integers(20, 61))
    n = int(rng.choice([50, 150, 300]))
    a = base(rng, n, 5)
    c = [a]
    while len(c) < m:
        b = alter(rng, c[0], rng.choice(["unrelated", "merge", "split"]))

        def same(x):
            return x[:, None] == x[None]

        if min((same(b) != same(x)).mean() for x in c) > 0.02:
            c.append(b)  # 2% of the pairs, some n/10 items of a merge
    which = np.sort(np.arange(T) % m)
    z = noisy(rng, np.array(c)[which], rng.uniform(0.03, 0.15))
    if rng.random() < 0.3:
        z = holes(rng, z, 0.2)
    return z, m


def ensemble1(rng):
    return ensemble(rng, 1)


def ensemble2(rng):
    return ensemble(rng, 2)


def ensemble3(rng):
    return ensemble(rng, 3)


KINDS = {
    "a border that moves": border1,
    "two borders that move": border_two_move,
    "a border in two places": border_humps,
    "a uniform path from A to B": morph,
    "2 to 4 exact partitions": exact,
    "2 exact partitions, close": exact_close,
    "a merge or split under noise": sized_two,
    "a merge of two small clusters": merge_small,
    "a few items that jump together": block,
    "2 unrelated partitions": unrelated,
    "3 to 6 unrelated partitions": several,
    "2 or 3 independent merges": independent,
    "nested merges": nested,
    "a rare mode, 5.5 to 10%": rare,
    "wandering items": wander,
    "noise alone": noise_only,
    "diffuse draws": diffuse,
    "drift": drift,
    "burn-in left in": burn,
    "two modes, entered once": stuck,
    "1 mode, 5 to 60% missing": missing_one,
    "2 modes, 5 to 60% missing": missing_two,
    "60 clusterings of 1,797 items, missing": missing_wide,
    "20 to 60 clusterings, 1 group": ensemble1,
    "20 to 60 clusterings, 2 groups": ensemble2,
    "20 to 60 clusterings, 3 groups": ensemble3,
}
