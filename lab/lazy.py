"""Lazy public names of a package (PEP 562): a name is imported when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def front_door(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package (PEP 562), so that importing it stays quick.

    places: public name -> module that defines it.
    """

    def lookup(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(sorted(places))}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)  # Python calls __getattr__ only for missing names
        return value

    return lookup, lambda: sorted(places)
