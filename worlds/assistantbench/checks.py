"""What AssistantBench and the synthetic web need on this machine, for `python -m lab doctor`."""

from __future__ import annotations

import os

from lab.machine.doctor import INSTALL, Check, package_check
from lab.machine.paths import official_data
from worlds.assistantbench import official
from worlds.web.serper import KEY

PACKAGES = ("bm25s", "PyStemmer", "scipy", "trafilatura", "lxml_html_clean")


def checks() -> list[Check]:
    """The packages of the search and of reading pages, a synthetic question answered, official questions and a key."""
    packages = [package_check(name, f"package {name}") for name in PACKAGES]
    played = [synthetic_question()] if all(check.ok for check in packages) else []
    folder = official_data() / official.NAME
    there = Check("official questions", official.present(folder), fix=f"put them into {folder}", optional=True)
    key = Check(
        f"a key in {KEY}, to search the web at large", bool(os.environ.get(KEY)), fix=f"export {KEY}=…", optional=True
    )
    return [*packages, *played, there, key]


def synthetic_question() -> Check:
    """Read the evidence of a synthetic question over loopback, and answer it, as the expert does."""
    from worlds.assistantbench import load
    from worlds.assistantbench.expert import Expert

    with load("synthetic") as world:
        task = world.tasks("writing")[0]
        step = world.replay(task, Expert(world).actions(task))[-1]
    return Check(
        "an answer from the synthetic web", step.facts["evidence_read"] == 1, f"accuracy {step.score}", INSTALL
    )
