"""Checks of arguments, installed packages and memory.

Every message names the argument in quotes, what is allowed, what was given, and what to do about it.
"""

import difflib
import math
import operator
import sys
from collections.abc import Iterable
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")  # version 2: the limits of a container, seen from inside

_LARGEST = 1 << 62
"""No count is larger: sums and products with it would no longer fit into 64 bits."""
_ALWAYS = 1 << 28
"""Bytes that are used without a check: this little is always there."""


def quoted(names: Iterable[str]) -> str:
    """'a', 'b', 'c'."""
    return ", ".join(f"'{name}'" for name in names)


def shown(value: Any) -> str:
    """A value for a message: in one line, and not too long.

    >>> from epluribus._validate import shown
    >>> shown("x"), shown(np.zeros((2, 1)))
    ("'x'", 'array([[0.], [0.]])')
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def as_array(value: Any, argument: str, dtype: Any = None) -> Any:
    """An array of what the user gave; NumPy's own errors do not name the argument."""
    try:
        return np.asarray(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        what = "an array" if dtype is None else "an array of numbers"
        raise TypeError(
            f"'{argument}' must be {what}, with rows of one length; got {shown(value)}."
        ) from None


def check_choice(value: str, allowed: Iterable[str], argument: str) -> str:
    """One of a few names, unchanged; the error suggests the most similar one."""
    names = list(allowed)
    if isinstance(value, str) and value in names:
        return value
    message = f"'{argument}' must be one of {quoted(names)}; got {shown(value)}."
    # A low cutoff, since names are short: one wrong letter out of three is still recognized.
    near = difflib.get_close_matches(str(value).lower(), names, n=1, cutoff=0.4)
    raise ValueError(message + (f" Did you mean '{near[0]}'?" if near else ""))


def check_count(value: Any, argument: str, *, low: int = 1, way_out: str = "") -> int:
    """An integer of at least `low`. True and False are not integers here.

    `way_out` is added to the message.

    Examples
    --------
    >>> from epluribus._validate import check_count
    >>> check_count(0, "n_jobs", way_out=" -1 means all cores.")
    Traceback (most recent call last):
    ValueError: 'n_jobs' must be at least 1; got 0. -1 means all cores.
    """
    # `operator.index` takes Python's and NumPy's integers, but no floats: 2.0 is refused too.
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"'{argument}' must be an integer; got {shown(value)}.{way_out}") from None
    if number < low:
        raise ValueError(f"'{argument}' must be at least {low}; got {number}.{way_out}")
    if number > _LARGEST:
        raise ValueError(f"'{argument}' must be at most 2**62; got {shown(number)}.{way_out}")
    return number


def check_positive(value: Any, argument: str) -> float:
    """A finite number above zero, as a float. True is not a number here, nor is text."""
    if not _is_number(value):
        raise TypeError(f"'{argument}' must be a number; got {shown(value)}.")
    if not 0 < value <= sys.float_info.max:
        raise ValueError(f"'{argument}' must be a finite number above 0; got {shown(value)}.")
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_fraction(value: Any, argument: str, *, zero: bool = False, one: bool = True) -> float:
    """A number between 0 and 1; `zero` and `one` say whether the ends are allowed."""
    # The interval in the notation of the message: a bracket for an end that is allowed.
    low, high = "[" if zero else "(", "]" if one else ")"
    if _is_number(value) and (0 < value < 1 or (zero and value == 0) or (one and value == 1)):
        return float(value)
    raise ValueError(f"'{argument}' must be a number in {low}0, 1{high}; got {shown(value)}.")


def make_rng(rng: Any) -> np.random.Generator:
    """The NumPy generator for the argument `rng`: a Generator itself, or a new one from a seed."""
    # A RandomState, as scikit-learn takes it, cannot be split over threads: numbers drawn from it are a seed.
    if isinstance(rng, np.random.RandomState):
        return np.random.default_rng(rng.randint(1 << 32, size=4, dtype=np.uint32))
    try:
        if isinstance(rng, bool | np.bool_):
            raise TypeError
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:  # NumPy's own messages do not name the argument
        raise type(error)(
            "'rng' must be None, a non-negative integer, a SeedSequence or a Generator; got "
            f"{shown(rng)}."
        ) from None
    # The same for a generator whose seed is not known, such as one made from a RandomState.
    if not hasattr(generator.bit_generator.seed_seq, "spawn"):
        return np.random.default_rng(generator.integers(1 << 32, size=4, dtype=np.uint32))
    return generator


def need(module: str, extra: str, purpose: str) -> Any:
    """An optional package, imported when it is used; the error names the extra that installs it.

    `purpose` begins the message, as in "Reading zarr needs the package 'zarr'".
    """
    # "sklearn.utils" belongs to the package "sklearn".
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        command = f'pip install "epluribus[{extra}]"'
        if getattr(error, "name", None) == package:
            what = f"which is not installed. Install it with: {command}"
        else:  # it is there, but is damaged, or lacks a package of its own
            what = f"which is installed but cannot be imported ({error}). Try: {command} --upgrade"
        raise ImportError(f"{purpose} needs the package '{package}', {what}") from None


def available_memory() -> float:
    """Bytes of memory that are still free; infinity where the system does not say."""
    # The smaller of what the machine has left and what the limit of the container leaves.
    left = math.inf
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                left = 1024.0 * int(line.split()[1])
        # A container without a limit says "max".
        limit = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            used = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
            left = min(left, max(0.0, float(int(limit) - used)))
    except (OSError, ValueError):
        pass  # another operating system, or no limit: use what is known so far
    return left


def check_memory(needed: float, what: str, way_out: str) -> None:
    """Raise a MemoryError if `needed` bytes are not available.

    Linux grants memory that it does not have, and kills the process when it is used: hence a check before.
    """
    if needed > _ALWAYS and needed > (left := available_memory()):
        raise MemoryError(
            f"{what} needs {gigabytes(needed)}; {gigabytes(left)} are left. {way_out}"
        )


def gigabytes(n_bytes: float) -> str:
    """A size as text: '1.5 GB', or '20 MB' if it is less than a tenth of that unit."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:,.1f} MB"
