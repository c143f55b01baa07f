"""What the shop needs on this machine, for `python -m lab doctor`."""

from __future__ import annotations

from lab.machine.doctor import INSTALL, Check, package_check
from worlds.webshop.official import DATASET

PACKAGES = ("bm25s", "PyStemmer", "rapidfuzz")


def checks() -> list[Check]:
    """The packages of the search and of comparing phrases, a synthetic shop that opens, and the official catalogue."""
    packages = [package_check(name, f"package {name}") for name in PACKAGES]
    shop = [synthetic_shop()] if all(check.ok for check in packages) else []
    return [*packages, *shop, official_catalogue()]


def official_catalogue() -> Check:
    there = DATASET.present(DATASET.folder)
    fix = f"python -m lab data fetch {DATASET.name}"
    return Check("official catalogue", there, DATASET.about, fix, optional=True)


def synthetic_shop() -> Check:
    """Buy something in a synthetic shop, as the expert does."""
    from worlds.webshop import load
    from worlds.webshop.expert import Expert

    with load("synthetic") as shop:
        task = shop.tasks("train")[0]
        step = shop.reset(task)
        for action in Expert(shop).actions(task):
            step = shop.step(action)
    return Check("a purchase in a synthetic shop", step.score == 1.0, f"reward {step.score}", INSTALL)
