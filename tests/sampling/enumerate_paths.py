"""Exact transition probabilities of the moves as they are coded: every random choice is followed in
every direction.

The moves ask for randomness only through a few functions of `epluribus._kernels.moves`. Here these are
replaced by ones that replay a script of choices and multiply their probabilities; scripts are
enumerated depth first."""

import math
from contextlib import contextmanager
from unittest import mock

import numpy as np

from epluribus._kernels import moves
from epluribus._kernels.likelihood import log_target
from epluribus._kernels.states import KINDS, LABEL, WEIGHT
from epluribus.models.base import make_partition
from oracles_models import canonical


class Paths:
    """One run of the code per script; `next_script` moves on to the next."""

    def __init__(self):
        self.script, self.depth, self.probability = [], 0, 1.0

    def choose(self, probabilities):
        options = [k for k, p in enumerate(probabilities) if p > 0]
        if self.depth == len(self.script):
            self.script.append((0, len(options)))
        chosen = options[self.script[self.depth][0]]
        self.depth += 1
        self.probability *= probabilities[chosen]
        return chosen

    def begin(self):
        self.depth, self.probability = 0, 1.0

    def next_script(self):
        while self.script:
            chosen, n = self.script.pop()
            if chosen + 1 < n:
                self.script.append((chosen + 1, n))
                return True
        return False

    # the functions that are replaced

    def pick(self, rng, n):
        return self.choose([1 / n] * int(n))

    def toss(self, rng, probability):
        return bool(self.choose([1 - probability, probability]))

    def accept(self, rng, log_ratio):
        assert not math.isnan(log_ratio)
        p = math.exp(min(0.0, log_ratio))
        return bool(self.choose([1 - p, p]))

    def pick_weighted(self, rng, n, m):
        log_weights = m.logs[WEIGHT, :n]
        weights = np.exp(log_weights - log_weights.max())
        return self.choose((weights / weights.sum()).tolist())


@contextmanager
def scripted(paths, one_order):
    """The moves with their functions of chance replaced; `shuffle` asks `pick`.

    With `one_order`, nothing is shuffled: split-merge is in detailed balance for each order.
    """
    names = ("pick", "toss", "accept", "pick_weighted")
    replaced = {name: getattr(paths, name) for name in names}
    if one_order:
        replaced["shuffle"] = lambda *_: None
    with mock.patch.multiple(moves, **replaced):
        yield


def one_move(name, item, state):
    """One step of a move: the change of the log target."""
    tally = np.zeros((len(KINDS), 2), dtype=np.int64)
    if name == "gibbs":
        running = np.array([0.0, np.inf])
        moves.gibbs(item, 1, None, tally, running, np.zeros(1), state)
        return running[0]
    if name.startswith("split-merge"):  # "split-merge 2": two scans
        return moves.split_merge(int(name.split()[1]), None, tally, state)
    return moves.allocation(None, tally, state)


def arrays(state):
    """All arrays in nested tuples."""
    if isinstance(state, np.ndarray):
        return [state]
    return [a for part in state for a in arrays(part)] if isinstance(state, tuple) else []


def transition_matrix(model, posterior, move, side, item=0):
    """P over the states of `posterior`; checks the running log target on the way."""
    states = list(posterior)
    number = {state: k for k, state in enumerate(states)}
    log_pi = {s: math.log(p) if p > 0 else -math.inf for s, p in posterior.items()}
    tables = [one.tables for one in model.sides]
    P = np.zeros((len(states), len(states)))
    for state in states:
        if posterior[state] == 0:
            P[number[state], number[state]] = 1.0
            continue
        paths = Paths()
        one_order = move.startswith("split-merge") and "shuffled" not in move
        with scripted(paths, one_order):
            pairs = zip(state, tables, strict=True)
            sides = model.states([make_partition(np.array(z), table) for z, table in pairs])
            before = log_target(sides, len(sides))
            # Every path begins with the same arrays: putting them back is quicker than making them again.
            changed = [a for a in arrays(sides) if a.flags.writeable]
            saved = [a.copy() for a in changed]
            more = True
            while more:
                for array, own in zip(changed, saved, strict=True):
                    array[...] = own
                paths.begin()
                change = one_move(move, item, sides[side])
                after = tuple(canonical(m.own[LABEL, :-1].tolist()) for m in sides)
                P[number[state], number[after]] += paths.probability
                assert change == np.float64(change)
                np.testing.assert_allclose(change, log_pi[after] - log_pi[state], atol=1e-8)
                fresh = log_target(sides, len(sides))
                np.testing.assert_allclose(fresh, before + change, atol=1e-8)
                more = paths.next_script()
    return P
