"""The rule of the fuzzer: whatever is given, only a right answer or a clear error comes out.

A clear error is a ValueError, TypeError, OSError, ImportError or MemoryError that a line of the package
raised, in one line of text; where a file is read, it names the file. Warnings are UserWarnings only.
"""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path

import epluribus

PACKAGE = str(Path(epluribus.__file__).parent)
SKLEARN = "sklearn/utils/validation.py"
"""A consensus lets scikit-learn check X, whose tools expect its own errors."""
CLEAR = (ValueError, TypeError, OSError, ImportError, MemoryError)


def judge(call, *, names=()):
    """What a call returns, or None after a clear error; an AssertionError if the rule is broken.

    `names` are those of the files that are read: the error must have one of them.
    """
    value, raised = None, None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            value = call()
        except CLEAR as error:
            raised = error
    if raised is not None:
        where, text = traceback.extract_tb(raised.__traceback__)[-1].filename, str(raised)
        assert where.startswith(PACKAGE) or where.endswith(SKLEARN), (
            f"not our own, but of {where}: {raised!r}"
        )
        assert text, f"no message: {raised!r}"
        assert "\n" not in text, f"several lines: {raised!r}"
        assert not names or any(name in text for name in names), f"no file: {raised!r}"
    for one in heard:
        # Files that others left open are closed by Python, which says so to developers only.
        if one.category is not ResourceWarning:
            assert one.category is UserWarning, f"{one.category.__name__}: {one.message}"
    return value
