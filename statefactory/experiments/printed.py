"""The two ALFWorld games whose positive trajectories the paper prints whole, Tables 4 and 20, played again.

What is printed is cut with ellipses; here it stands as cut, to be held against what the game says. It holds the
suite's ALFWorld, its expert and its labels against the paper's own data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from statefactory.benchmark.domains import PRINTED_GAMES
from statefactory.benchmark.labels import RULES, Padding
from worlds.base import Expert, ListingWorld

if TYPE_CHECKING:
    import pandas as pd

CUT = "…"


class PrintedStep(NamedTuple):
    """One step as printed: action and observation with CUT where the paper cuts, and the ground truth, two decimals."""

    action: str
    observation: str
    truth: float


# Table -> (game, steps). The last step of Table 4 is a random one; all others are the expert's.
TABLES: Mapping[str, tuple[str, tuple[PrintedStep, ...]]] = {
    "Table 4": (PRINTED_GAMES[0], (
        PrintedStep("go to countertop 3",
                "You arrive at countertop 3. On the countertop 3, you see a bread 1… a potato 1…", 0.17),
        PrintedStep("take potato 1…", "You pick up the potato 1 from the countertop 3.", 0.33),
        PrintedStep("go to microwave 1", "You arrive at microwave 1. The microwave 1 is closed.", 0.5),
        PrintedStep("heat potato 1…", "You heat the potato 1 using the microwave 1.", 0.67),
        PrintedStep("go to diningtable 1",
                    "You arrive at diningtable 1. On the diningtable 1, you see a bowl 3…", 0.83),
        PrintedStep("move potato 1…", "You move the potato 1 to the diningtable 1.", 1.0),
        PrintedStep("go to toaster 1", "You arrive at toaster 1. On the toaster 1, you see nothing.", 1.0),
    )),
    "Table 20": (PRINTED_GAMES[1], (
        PrintedStep("go to dresser 1", "You arrive at dresser 1. On the dresser 1, you see a bowl 1… a cd 2…", 0.2),
        PrintedStep("take cd 2 from dresser 1", "You pick up the cd 2 from the dresser 1.", 0.4),
        PrintedStep("go to safe 1", "You arrive at safe 1. The safe 1 is closed.", 0.6),
        PrintedStep("open safe 1", "You open the safe 1. The safe 1 is open. In it, you see nothing.", 0.8),
        PrintedStep("move cd 2 to safe 1", "You move the cd 2 to the safe 1.", 1.0),
    )),
}  # fmt: skip


def replay(world: ListingWorld, expert: Expert) -> pd.DataFrame:
    """A row a printed table: steps, and how many agree in action, observation and ground truth.

    The expert's plan gives the actions, and the random step is taken as printed. world: ALFWorld with official data.
    Raises LookupError naming a game that the world's train split lacks.
    """
    import pandas as pd

    tasks: Sequence[Any] = world.tasks("train")  # ALFWorld's, which name their game
    games = {task.game: task for task in tasks}
    rows = []
    for table, (game, steps) in TABLES.items():
        if game not in games:
            raise LookupError(f"{table} is of the game {game}, which the train split of ALFWorld's data lacks")
        rows.append({"table": table, "steps": len(steps), **_agreeing(world, expert, games[game], steps)})
    return pd.DataFrame(rows)


def _agreeing(world: ListingWorld, expert: Expert, task: object, steps: tuple[PrintedStep, ...]) -> dict[str, int]:
    plan = list(expert.actions(task))
    actions = plan + [step.action for step in steps[len(plan) :]]
    world.reset(task)
    played = [world.step(action) for action in actions]
    truths = RULES["alfworld"].shaped_positive([p.score for p in played], Padding(0, len(steps) - len(plan)))
    return {
        "actions": sum(agrees(step.action, action) for step, action in zip(steps, actions, strict=True)),
        "observations": sum(agrees(step.observation, p.text) for step, p in zip(steps, played, strict=True)),
        "ground truth": sum(abs(step.truth - truth) < 0.005001 for step, truth in zip(steps, truths, strict=True)),
    }


def agrees(printed: str, text: str) -> bool:
    """Whether a text is what is printed, any words standing for a CUT; white space counts as one blank."""
    parts = (re.escape(" ".join(part.split())) for part in printed.split(CUT))
    return re.fullmatch(".*".join(parts), " ".join(text.split())) is not None
