"""ALFWorld for acting agents: household actions as the games know them."""

from __future__ import annotations

from agents.environment import InWorld
from worlds.alfworld import AlfWorld, HouseholdTask
from worlds.base import Step

NAME = "alfworld"
TOOLS = """
You do a household task in a room. The actions are:
go to PLACE; open PLACE; close PLACE; take THING from PLACE; move THING to PLACE; use THING; clean THING with PLACE;
heat THING with PLACE; cool THING with PLACE; slice THING with THING; examine THING; examine PLACE; look; inventory.
THING and PLACE are written with their numbers, such as mug 1 and countertop 2. What a place holds is seen where you go
to it and, if it is closed, open it. You can hold one thing.
""".strip()
ONE = "[a-z]+ [0-9]{1,2}"  # a thing or a place
FORM = (
    f"(?:go to|open|close|use|examine) {ONE}|take {ONE} from {ONE}|move {ONE} to {ONE}|"
    f"(?:clean|heat|cool|slice) {ONE} with {ONE}|look|inventory"
)
REFUSAL = "Nothing happens."


def household(world: AlfWorld, task: HouseholdTask, listed: bool = False) -> InWorld:
    """One game; it ends when the goal is reached. listed: see `InWorld`."""
    return InWorld(world, task, NAME, TOOLS, refused, listed, form=FORM)


def refused(step: Step) -> bool:
    """Whether a command did nothing; the game does not say whether it is unknown or not possible."""
    return step.text.strip() == REFUSAL
