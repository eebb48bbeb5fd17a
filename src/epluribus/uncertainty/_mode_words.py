"""How often modes were entered, and modes told as independent questions."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from epluribus._text import percent, sentence_list
from epluribus._typing import FloatArray, IntArray
from epluribus.partition import join, relabel

_SLACK = 0.06
"""Largest difference between the weight of a mode and the product of the shares of its answers; a
combination that is no mode may have as much."""
_BURN_IN = 0.25
"""Largest share of a chain that is taken for burn-in; a longer stretch is a mode that was never left."""
_STRAY = 0.1
"""Share of the draws of a group that may lie elsewhere, by noise, while the group is still one stretch."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def ordinal(m: int) -> str:
    """'first', 'second', ..."""
    return _ORDINALS[m] if m < len(_ORDINALS) else f"{m + 1}th"


def few_entries(entries: IntArray) -> str:
    """A sentence on modes that were entered too rarely."""
    which = int(entries.argmin())
    times = {1: "only once", 2: "only twice"}.get(int(entries[which]), "too rarely")
    return (
        f" But the chains entered the {ordinal(which)} {times}: it may be burn-in or poor mixing, "
        "and the weights are not to be trusted."
    )


def count_entries(nearest: IntArray, chains: IntArray, m: int) -> tuple[IntArray, FloatArray]:
    """How often each of m modes was entered, and effectively: (sum r)^2 / sum r^2 over its stretches r.

    >>> import numpy as np
    >>> count_entries(np.array([0, 0, 1, 0, 0, 1]), np.zeros(6, int), 2)
    (array([2, 2]), array([2., 2.]))
    """
    # A stretch begins where the mode or the chain changes.
    new = np.concatenate([[True], (np.diff(nearest) != 0) | (np.diff(chains) != 0)])
    begin = np.flatnonzero(new)
    length = np.diff(np.append(begin, len(nearest))).astype(np.float64)
    mode = nearest[begin]
    total = np.bincount(mode, weights=length, minlength=m)
    squares = np.bincount(mode, weights=length**2, minlength=m)
    effective = np.divide(total**2, squares, out=np.zeros(m), where=squares > 0)
    return np.bincount(mode, minlength=m), effective


def burn_in_draws(nearest: IntArray, chains: IntArray, m: int) -> IntArray:
    """The draws at the beginning of chains that are a group of their own; empty if there are none.

    Some modes are then but stretches at the beginning of one or more chains, apart from stray draws.
    """
    found = np.zeros(len(nearest), dtype=bool)
    for chain in range(int(chains.max()) + 1):
        rows = np.flatnonzero(chains == chain)
        for mode in range(m):
            own = nearest[rows] == mode
            # The beginning after which this mode is rare: as many of its draws before as possible, less
            # those of other modes there.
            score = np.cumsum(np.where(own, 1, -1))
            end = int(score.argmax()) + 1
            if own[0] and score[end - 1] > 0 and end <= _BURN_IN * len(rows):
                # Its draws elsewhere, in all chains, must be few.
                begin = np.zeros(len(nearest), dtype=bool)
                begin[rows[:end]] = True
                inside = int((nearest[begin] == mode).sum())
                later = int((nearest[rows[end:]] == mode).sum())
                if later <= _STRAY * inside and inside >= 0.8 * end:
                    found |= begin
    # A mode that other chains do visit is a mode, and the stretch was a visit.
    for mode in range(m):
        outside = int(((nearest == mode) & ~found).sum())
        inside = int(((nearest == mode) & found).sum())
        if outside > _STRAY * inside:
            found &= nearest != mode
    return np.flatnonzero(found)


def find_questions(labels: IntArray, weights: FloatArray) -> list[str]:
    """Modes that are all combinations of two or three choices, as sentences; empty if they are not.

    The items fall into blocks that no mode joins; where the modes differ within several blocks, and the
    weight of each mode is about the product of the shares of its answers, each block is a question of its
    own.
    """
    if len(labels) < 4:
        return []
    # Items that are together in any mode are in one block.
    blocks = _join(labels)
    questions = []
    for block in range(int(blocks.max()) + 1):
        items = np.flatnonzero(blocks == block)
        # The answer of each mode: its partition of these items.
        answers = [tuple(relabel(mode[items]).tolist()) for mode in labels]
        if len(set(answers)) > 1:
            questions.append((items, answers))
    if len(questions) < 2:
        return []
    share = [_shares(answers, weights) for _, answers in questions]
    given = {tuple(answers[m] for _, answers in questions): w for m, w in enumerate(weights)}
    # Every combination of answers, those too rare to be a mode included.
    for combination in product(*share):
        expected = prod(p[answer] for p, answer in zip(share, combination, strict=True))
        if abs(expected - given.get(combination, 0.0)) > _SLACK:
            return []
    return [
        _question(labels, items, answers, p)
        for (items, answers), p in zip(questions, share, strict=True)
    ]


def _join(labels: IntArray) -> IntArray:
    """The finest partition in which items that are together in some mode are together."""
    out = labels[0]
    for mode in labels[1:]:
        out = join(out, mode)
    return out


def _shares(answers: list[tuple[int, ...]], weights: FloatArray) -> dict[tuple[int, ...], float]:
    """The weight of each answer: of all modes that give it."""
    out: dict[tuple[int, ...], float] = {}
    for answer, weight in zip(answers, weights, strict=True):
        out[answer] = out.get(answer, 0.0) + float(weight)
    return out


def _question(
    labels: IntArray,
    items: IntArray,
    answers: list[tuple[int, ...]],
    share: dict[tuple[int, ...], float],
) -> str:
    """One question with its answers and their shares, such as 'Clusters 0 and 1 are one in 40 %'."""
    first = answers[0]  # that of the heaviest mode, whose clusters are named
    parts = [
        f"{_what(answer, labels[0][items])} in {percent(share[answer])}"
        for answer in dict.fromkeys(answers)
        if answer != first
    ]
    text = sentence_list(parts)
    return f"{text[0].upper()}{text[1:]}"


def _what(answer: tuple[int, ...], own: IntArray) -> str:
    """What an answer does with some items, with the numbers of their clusters in the first mode."""
    names, n = np.unique(own), len(set(answer))
    which = f"cluster{'s' if len(names) > 1 else ''} {sentence_list([str(k) for k in names])}"
    if n == 1 or len(names) == 1:
        return f"{which} {'are one' if n == 1 else f'is split into {n}'}"
    return f"{which} are regrouped"
