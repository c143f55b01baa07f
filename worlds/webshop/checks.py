"""What the shop needs on this machine, for `python -m lab doctor`."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version

from lab.doctor import INSTALL, Check

MODULES = {"bm25s": "bm25s", "Stemmer": "PyStemmer", "rapidfuzz": "rapidfuzz"}


def checks() -> list[Check]:
    """Whether the search and the comparison of phrases can be imported, and whether a made shop opens."""
    found = [package(module, name) for module, name in MODULES.items()]
    return [*found, made_shop()] if all(check.ok for check in found) else found


def package(module: str, name: str) -> Check:
    try:
        import_module(module)
    except ImportError as error:
        return Check(f"package {name}", False, str(error), INSTALL)
    return Check(f"package {name}", True, version(name))


def made_shop() -> Check:
    """Buy something in a made shop, as the expert does."""
    from worlds.webshop import load
    from worlds.webshop.expert import Expert

    with load("made") as shop:
        task = shop.tasks("train")[0]
        step = shop.reset(task)
        for action in Expert(shop).actions(task):
            step = shop.step(action)
    return Check("a purchase in a made shop", step.score == 1.0, f"reward {step.score}", INSTALL)
