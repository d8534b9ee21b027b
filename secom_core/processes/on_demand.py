"""What a package gives, imported when it is first asked for: most processes need little of it, and begin sooner."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_demand(package: str, given: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Args:
        package: its name.
        given: by each of its modules, the names that the package gives of it, with spaces between.
    """
    homes = {name: module for module, names in given.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{homes[name]}", package), name)

    return find, lambda: sorted({*homes, *sys.modules[package].__all__})
