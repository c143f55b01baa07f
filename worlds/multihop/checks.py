"""What multi-hop questions need on this machine, for `python -m lab doctor`."""

from __future__ import annotations

from lab.machine.doctor import INSTALL, Check, package_check
from lab.machine.paths import official_data
from worlds.multihop import official
from worlds.multihop.questions import DATASETS

PACKAGES = ("bm25s", "PyStemmer")


def checks() -> list[Check]:
    """The packages of the search, a synthetic question answered, and the official questions."""
    packages = [package_check(name, f"package {name}") for name in PACKAGES]
    played = [synthetic_question()] if all(check.ok for check in packages) else []
    compiled = package_check("numba", "package numba, for corpora of millions")._replace(optional=True)
    folder = official_data() / official.NAME
    data = [
        Check(
            f"official questions of {name}",
            official.present(folder, name),
            fix=f"put them into {folder}",
            optional=True,
        )
        for name in DATASETS
    ]
    return [*packages, compiled, *played, *data]


def synthetic_question() -> Check:
    """Find the evidence of a synthetic question and answer it, as the expert does."""
    from worlds.multihop import load
    from worlds.multihop.expert import Expert

    with load(data="synthetic") as world:
        task = world.tasks(world.splits[0])[0]
        step = world.replay(task, Expert(world).actions(task))[-1]
    return Check("an answer to a synthetic question", step.facts["gold_seen"] == 1, f"F1 {step.score}", INSTALL)
