"""Is there a set of blocks that costs less than its prices? A search through all sets, branch and bound.

With h(n) = n log2 n a set S costs factor h(|S|) - 2 sum of share h(|S and g|) over the draws' clusters g.
At a node some blocks are in, some out, the others free. On the range of |S and g| that is left, h is below
its chord, which is linear in S; h(|S|) is above its tangents. So the smallest value of a linear function
bounds all sets of the node from below (`uncertainty/_set_prices.py` has the theory).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import routine
from epluribus._typing import FloatArray, IntArray

FREE, IN, OUT = 0, 1, 2
_SLOPE = 1.0 / math.log(2.0)
"""h'(n) = log2 n + this."""


class Blocks(NamedTuple):
    """B blocks of items, T draws with H clusters in all."""

    mass: IntArray
    """(B,) numbers of items."""
    cells: NDArray[np.int32]
    """(B, T) the cluster of each block in each draw, 0..H-1."""
    shares: FloatArray
    """(H,) the share of the draw of each cluster."""
    logs: FloatArray
    """n log2 n for all n."""
    ties: NDArray[np.int8]
    """(B, B) 1 for blocks that must be together, 2 for those that must be apart, 0 for all others."""
    factor: float
    """2 minus the cost of the loss."""


class Room(NamedTuple):
    """Memory of a search."""

    state: NDArray[np.int8]
    """(B,) free, in or out."""
    low: IntArray
    """(H,) items of each cluster that are in."""
    high: IntArray
    """(H,) those that are in or free."""
    inside: IntArray
    """(H,) those of the set that makes the bound as low as it is."""
    slope: FloatArray
    """(H,) slopes of the chords, times the share."""
    if_in: FloatArray
    """(H,) by how much the chord comes nearer if one more item is in."""
    if_out: FloatArray
    """(H,) the same if one more is out."""
    reduced: FloatArray
    """(B,) what a free block adds to the bound."""
    order: IntArray
    """(B,) the free blocks, the most attractive first."""
    trail: IntArray
    """(B,) blocks that are not free, in the order in which they were decided."""
    branch: IntArray
    """(B + 1,) where in the trail each branching begins."""
    second: NDArray[np.int8]
    """(B + 1,) whether its second side is being searched."""
    place: IntArray
    """(2,) how many branchings and decided blocks there are, to go on from; -1 to begin."""


@routine
def _decide(blocks: Blocks, room: Room, n_decided: int, b: int, side: int) -> int:
    """Put a free block in or out, with all that this implies; the number of blocks decided then."""
    begin = n_decided
    room.state[b] = side
    room.trail[n_decided] = b
    n_decided += 1
    # Blocks tied to it follow, at once for all: ties are closed under what they imply.
    for other in range(len(blocks.mass)):
        tie = blocks.ties[b, other]
        if tie and room.state[other] == FREE and (tie == 1 or side == IN):
            room.state[other] = side if tie == 1 else OUT
            room.trail[n_decided] = other
            n_decided += 1
    for at in range(begin, n_decided):
        _count(blocks, room, room.trail[at], 1)
    return n_decided


@routine
def _count(blocks: Blocks, room: Room, b: int, sign: int) -> None:
    """Count a block that is decided, or no longer (sign -1)."""
    change = sign * blocks.mass[b]
    if room.state[b] == IN:
        for cell in blocks.cells[b]:
            room.low[cell] += change
    else:
        for cell in blocks.cells[b]:
            room.high[cell] -= change


@routine
def _undo(blocks: Blocks, room: Room, n_decided: int, begin: int) -> None:
    """Free the blocks from `begin` on in the trail."""
    for at in range(begin, n_decided):
        b = room.trail[at]
        _count(blocks, room, b, -1)
        room.state[b] = FREE


@routine
def _least(
    blocks: Blocks, room: Room, prices: FloatArray, smallest: int, largest: int
) -> tuple[float, int, int]:
    """A bound on cost minus prices of the node's sets, how many blocks are free, and how many items are in.

    Infinity if no set of the node has `smallest` to `largest` items. `reduced` is filled.
    """
    base, n_in, n_free, mass_free = 0.0, 0, 0, 0
    for g in range(len(room.low)):
        n, most = room.low[g], min(room.high[g], largest)
        base -= 2.0 * blocks.shares[g] * blocks.logs[n]
        room.slope[g] = 0.0
        if most > n:
            room.slope[g] = blocks.shares[g] * (blocks.logs[most] - blocks.logs[n]) / (most - n)
    for b in range(len(blocks.mass)):
        if room.state[b] == IN:
            base -= prices[b]
            n_in += blocks.mass[b]
        elif room.state[b] == FREE:
            total = 0.0
            for cell in blocks.cells[b]:
                total += room.slope[cell]
            room.reduced[b] = -2.0 * total * blocks.mass[b] - prices[b]
            mass_free += blocks.mass[b]
            # Sorted by insertion, by what an item of the block adds.
            at, each = n_free, room.reduced[b] / blocks.mass[b]
            while at > 0:
                before = room.order[at - 1]
                if room.reduced[before] / blocks.mass[before] <= each:
                    break
                room.order[at] = before
                at -= 1
            room.order[at] = b
            n_free += 1
    if n_in > largest or n_in + mass_free < smallest:
        return np.inf, n_free, n_in
    size, slope = _tangent(blocks, room, n_free, n_in, smallest, largest)
    # factor h(n) >= factor h(size) + slope (n - size) for all sizes n that are allowed.
    value = base + blocks.factor * size * math.log2(size) + slope * (n_in - size)
    for at in range(n_free):
        b = room.order[at]
        room.reduced[b] += slope * blocks.mass[b]
        value += min(0.0, room.reduced[b])
    return value, n_free, n_in


@routine
def _tangent(
    blocks: Blocks, room: Room, n_free: int, n_in: int, smallest: int, largest: int
) -> tuple[float, float]:
    """Where the tangent to factor h(n) gives the largest bound, and its slope.

    Blocks are taken, the most attractive first and the last one in part, while that lowers the sum. At the
    ends of the range of sizes the slope may be smaller (at `smallest`) or larger (at `largest`).
    """
    size, last, following = float(n_in), np.inf, -np.inf
    for at in range(n_free):
        b = room.order[at]
        worth = -room.reduced[b] / blocks.mass[b]
        # The size at which another item is no longer worth it.
        best = min(2.0 ** min(worth / blocks.factor - _SLOPE, 60.0), float(largest))
        stop = max(best, float(smallest))
        if stop <= size:
            following = worth
            break
        if stop < size + blocks.mass[b]:
            # Within the block: there the slope is what the block is worth.
            return stop, worth
        size += blocks.mass[b]
        last = worth
    slope = blocks.factor * (math.log2(size) + _SLOPE)
    if size >= largest:
        slope = max(slope, following)
    if size <= smallest:
        slope = min(slope, max(last, following))
    return size, slope


@routine
def _choose(blocks: Blocks, room: Room, n_free: int, largest: int, value: float) -> int:
    """The free block to branch on: on both sides the bound should rise."""
    for g in range(len(room.low)):
        room.inside[g] = room.low[g]
    for at in range(n_free):
        b = room.order[at]
        if room.reduced[b] < 0.0:
            for cell in blocks.cells[b]:
                room.inside[cell] += blocks.mass[b]
    for g in range(len(room.low)):
        low, high = room.low[g], min(room.high[g], largest)
        n = min(room.inside[g], largest)
        room.if_in[g], room.if_out[g] = 0.0, 0.0
        if high > low:
            chord = _chord(blocks.logs, low, high, n)
            if n > low:
                room.if_in[g] = blocks.shares[g] * (chord - _chord(blocks.logs, low + 1, high, n))
            if n < high:
                room.if_out[g] = blocks.shares[g] * (chord - _chord(blocks.logs, low, high - 1, n))
    chosen, best = room.order[0], -1.0
    for at in range(n_free):
        b = room.order[at]
        rise = 0.0
        for cell in blocks.cells[b]:
            rise += room.if_in[cell] if room.reduced[b] < 0.0 else room.if_out[cell]
        # The side that is wanted gains by better chords, the other by what the block adds.
        score = min(2.0 * blocks.mass[b] * rise, -value) * (
            min(abs(room.reduced[b]), -value) + 1e-3
        )
        if score > best:
            chosen, best = b, score
    return int(chosen)


@routine
def _chord(logs: FloatArray, low: int, high: int, n: int) -> float:
    """The chord of n log2 n from low to high, at n."""
    if high <= low:
        return logs[low]
    return logs[low] + (logs[high] - logs[low]) / (high - low) * (n - low)


@routine
def _excess(blocks: Blocks, room: Room, prices: FloatArray, n_in: int) -> float:
    """Cost minus prices of the set of all blocks that are in."""
    value = blocks.factor * blocks.logs[n_in]
    for g in range(len(room.low)):
        value -= 2.0 * blocks.shares[g] * blocks.logs[room.low[g]]
    for b in range(len(blocks.mass)):
        if room.state[b] == IN:
            value -= prices[b]
    return value


@kernel
def search_sets(
    blocks: Blocks,
    prices: FloatArray,
    smallest: int,
    largest: int,
    margin: float,
    max_nodes: int,
    stop: NDArray[np.uint8],
    room: Room,
) -> int:
    """Look for a set of `smallest` to `largest` items whose prices exceed its cost by more than `margin`.

    0 if there is none, 1 if one was found (where `room.state` is IN), 2 if nodes or time did not suffice: the
    next call goes on from there.
    """
    if room.place[0] < 0:
        room.place[:] = 0
        for g in range(len(room.low)):
            room.low[g] = room.high[g] = 0
        for b in range(len(blocks.mass)):
            room.state[b] = FREE
            for cell in blocks.cells[b]:
                room.high[cell] += blocks.mass[b]
    depth, n_decided, n_nodes = room.place[0], room.place[1], 0
    while True:
        n_nodes += 1
        if n_nodes > max_nodes or stop[0]:
            room.place[0], room.place[1] = depth, n_decided
            return 2
        # Decide all blocks whose other side is hopeless, until there are no more.
        while True:
            value, n_free, n_in = _least(blocks, room, prices, smallest, largest)
            if value >= -margin:
                break
            before, wanted = n_decided, False
            for at in range(n_free):
                b = room.order[at]
                wanted |= room.reduced[b] < 0.0
                if room.state[b] == FREE and value + abs(room.reduced[b]) >= -margin:
                    side = IN if room.reduced[b] < 0.0 else OUT
                    n_decided = _decide(blocks, room, n_decided, b, side)
            if n_decided == before:
                # No free block would lower the sum: it may be what is in.
                if (
                    not wanted
                    and smallest <= n_in <= largest
                    and _excess(blocks, room, prices, n_in) < -margin
                ):
                    return 1
                break
        if value < -margin and n_free > 0:
            b = _choose(blocks, room, n_free, largest, value)
            room.branch[depth], room.second[depth] = n_decided, 0
            depth += 1
            n_decided = _decide(blocks, room, n_decided, b, IN)
            continue
        # Nothing here: the other side of the last branching that has one.
        while depth > 0 and room.second[depth - 1]:
            depth -= 1
            _undo(blocks, room, n_decided, room.branch[depth])
            n_decided = room.branch[depth]
        if depth == 0:
            return 0
        begin = room.branch[depth - 1]
        b = room.trail[begin]
        _undo(blocks, room, n_decided, begin)
        room.second[depth - 1] = 1
        n_decided = _decide(blocks, room, begin, b, OUT)
