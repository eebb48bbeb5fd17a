"""What a search was asked for: one object is passed from `minimize` down to the last sweep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from epluribus._parallel import Stopper
from epluribus._text import count, sentence_list
from epluribus._typing import IntArray
from epluribus._validate import check_count
from epluribus.constraints import Rules


@dataclass(frozen=True)
class Settings:
    """What a search was asked for: one object is passed from `minimize` down to the last sweep."""

    k_min: int = 1
    """Smallest number of clusters."""
    k_max: int | None = None
    """Largest number of clusters; None for no bound."""
    search: str = "recombine"
    """"recombine" or "greedy", as in `minimize`."""
    n_jobs: int = 1
    """Threads; the result does not depend on their number."""
    constraints: Rules | None = None
    """What every partition must obey; None for nothing."""
    undecided: float | None = None
    """Cost of leaving an item undecided; None if all items must be placed."""
    # Not compared: two searches with the same bounds are the same question, whatever ends them early.
    stopper: Stopper = field(default_factory=Stopper, repr=False, compare=False)

    def most(self, n_items: int) -> int:
        """Largest number of clusters of `n_items` items."""
        return n_items if self.k_max is None else self.k_max

    def allow(self, labels: IntArray) -> bool:
        """Whether a partition in which all items are placed is as asked for."""
        within = self.k_min <= int(labels.max()) + 1 <= self.most(len(labels))
        return within and (self.constraints is None or self.constraints.allow(labels))

    @property
    def free(self) -> bool:
        """Whether there are no constraints, and no item may stay undecided."""
        return self.constraints is None and self.undecided is None

    @property
    def bound(self) -> str:
        """What was asked for in words, such as "with at most 5 clusters"; "" if nothing was."""
        low, high, said = self.k_min, self.k_max, []
        if low == high:
            said.append(f"with exactly {count(low, 'cluster')}")
        elif high is not None:
            least = f"with {low:,} to" if low > 1 else "with at most"
            said.append(f"{least} {count(high, 'cluster')}")
        elif low > 1:
            said.append(f"with at least {count(low, 'cluster')}")
        if self.constraints is not None:
            said.append(f"subject to {self.constraints.words}")
        if self.undecided is not None:
            said.append(f"in which an item may stay undecided at a cost of {self.undecided:g}")
        return ", ".join(said)

    def facts(self, n_undecided: int) -> dict[str, str]:
        """Constraints and undecided items in words, by name; empty if there is nothing to say."""
        said = {}
        if self.constraints is not None:
            said["subject to"] = self.constraints.words
        if self.undecided is not None:
            items = count(n_undecided, "item")
            said["undecided"] = f"{items}, at a cost of {self.undecided:g} each"
        return said

    def extra(self) -> dict[str, Any]:
        """Constraints and cost of undecided items in plain values; empty if there are none."""
        record: dict[str, Any] = {}
        if self.constraints is not None:
            record["constraints"] = self.constraints.to_dict()
        if self.undecided is not None:
            record["undecided"] = self.undecided
        return record

    def nothing_obeys(self, n_tried: int = 0) -> str:
        """The message if no partition is as asked for, or if none was found from this many starts."""
        names = [] if self.constraints is None else list(self.constraints.said)
        names += ["k_min"] * (self.k_min > 1) + ["k_max"] * (self.k_max is not None)
        asked = f"that obeys {sentence_list(list(map(repr, names)))} together"
        if n_tried == 0:
            return f"There is no partition {asked}. Relax one of them."
        return f"No partition was found {asked}, from {n_tried} starts. There may be none: relax one of them."


NO_BOUNDS = Settings()
"""Any number of clusters, and nothing that ends the work early."""


def check_bounds(
    k: int | None, k_min: int | None, k_max: int | None, n_items: int
) -> tuple[int, int | None]:
    """Smallest and largest number of clusters allowed, checked; None for no bound above."""
    given = {"k": k, "k_min": k_min, "k_max": k_max}
    asked = {name: value for name, value in given.items() if value is not None}
    for name, value in asked.items():
        if name != "k" and k is not None:
            words = "at least" if name == "k_min" else "at most"
            raise ValueError(
                f"Give 'k' (exactly) or '{name}' ({words}), not both; got {k} and {value}."
            )
        check_count(value, name, way_out=" None means no bound." if name == "k_max" else "")
        if name != "k_max" and value > n_items:
            raise ValueError(
                f"'{name}' must be at most the number of items, {n_items}; got {value}."
            )
    low, high = asked.get("k", asked.get("k_min", 1)), asked.get("k", k_max)
    if high is not None and low > high:
        raise ValueError(f"'k_min' must be at most 'k_max'; got {low} and {high}.")
    # There can never be more clusters than items: a bound that large has no effect.
    return int(low), None if high is None or (high >= n_items and k is None) else int(high)
