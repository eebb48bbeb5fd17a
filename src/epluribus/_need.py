"""Packages that only some of the functions need: imported when used, named when missing."""

from importlib import import_module
from typing import Any

__all__ = ["need"]


def need(module: str, extra: str, purpose: str) -> Any:
    """The module, or an error that names the package and the extra that brings it."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs the package '{package}', which is not installed. Install it with: "
            f'pip install "epluribus[{extra}]"'
        ) from None
