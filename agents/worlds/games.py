"""ALFWorld, BlocksWorld and TextWorld for acting agents: actions as text, and their refusals of impossible ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from agents.environment import InWorld
from worlds.base import Step, Task, World
from worlds.blocksworld.world import REFUSAL


class Game(NamedTuple):
    """A world with text actions. The fields are those of `InWorld`."""

    name: str
    tools: str
    refused: Callable[[Step], bool]
    form: str = ""

    def environment(self, world: World, task: Task, listed: bool = False) -> InWorld:
        """The environment of one task; only the world ends it. listed: see `InWorld`."""
        return InWorld(world, task, self.name, self.tools, self.refused, listed, form=self.form)


ONE = "[a-z]+ [0-9]{1,2}"  # a thing or a place
ALFWORLD = Game(
    "alfworld",
    """
You do a household task in a room. The actions are:
go to PLACE; open PLACE; close PLACE; take THING from PLACE; move THING to PLACE; use THING; clean THING with PLACE;
heat THING with PLACE; cool THING with PLACE; slice THING with THING; examine THING; examine PLACE; look; inventory.
THING and PLACE are written with their numbers, such as mug 1 and countertop 2. What a place holds is seen where you go
to it and, if it is closed, open it. You can hold one thing.
""".strip(),
    # The game does not say whether a command is unknown or not possible.
    lambda step: step.text.strip() == "Nothing happens.",
    f"(?:go to|open|close|use|examine) {ONE}|take {ONE} from {ONE}|move {ONE} to {ONE}|"
    f"(?:clean|heat|cool|slice) {ONE} with {ONE}|look|inventory",
)
BLOCK = "the [a-z]+ block"
BLOCKSWORLD = Game(  # in PlanBench's words
    "blocksworld",
    """
You move blocks, one at a time, until they stand as the task says. The actions are:
pick up the BLOCK, which is clear and on the table, with an empty hand;
unstack the BLOCK from on top of the BLOCK, where the upper one is clear, with an empty hand;
put down the BLOCK, which the hand is holding, on the table;
stack the BLOCK on top of the BLOCK, where the hand is holding the first and the second is clear.
BLOCK is a block as it is called, such as red block.
""".strip(),
    lambda step: step.text == REFUSAL,
    f"(?:pick up|put down) {BLOCK}|unstack {BLOCK} from on top of {BLOCK}|stack {BLOCK} on top of {BLOCK}",
)
# First what the interpreter cannot parse or find, then what the world does not allow. Matched at the beginning of an
# answer, after any remark on how the game understood the command.
REFUSALS = re.compile(
    r"""(?:\(.*\)\s*)*(?:
    That's\ not\ (?:a\ verb|something)|I\ (?:beg\ your|didn't\ understand|only\ understood)|You\ seem\ to\ have\ said|
    What\ do\ you\ want|Which\ do\ you\ mean|You\ (?:must|may\ not)\ |You\ have\ to\ be\ more|You'll\ have\ to\ say|
    You\ (?:can't\ (?:see\ any|go|use|reach|put|wear|get)|cannot\ )|You're\ carrying\ too|
    You\ (?:need|have)\ to\ (?:take|open|close|unlock|specify)|You\ should\ cook|First\ you\ would|
    You\ (?:aren't|haven't|already\ have|lack|are\ unable)|You\ (?:would\ )?achieve\ nothing|But\ (?:it|they)\ |
    (?:That's|They're|It's|That|It|Those)\ (?:are\ |is\ )?(?:already|locked|seems?\ to|doesn't|isn't|aren't|don't)|
    Can\ only|Cooking\ requires|Cutting\ |There\ is\ no\ more\ room|
    .*(?:fixed\ in\ place|hardly\ portable|plainly\ inedible|can't\ contain\ things|achieve\ nothing|
    already\ here|welded\ shut)
    )""",
    re.VERBOSE,
)
TEXTWORLD = Game(
    "textworld",
    """
You play a text adventure. The commands are:
look; inventory; goal; go DIRECTION; examine THING; take THING; take THING from THING; drop THING; eat THING;
put THING on THING; insert THING into THING; open THING; close THING; unlock THING with THING; lock THING with THING;
cook THING with THING; slice THING with THING; chop THING with THING; dice THING with THING; prepare meal.
DIRECTION is north, east, south or west. THING is a name as the game has it, without "a" or "the". A wrong command can
lose the game, such as eating or spoiling what a recipe needs.
""".strip(),
    lambda step: bool(REFUSALS.match(step.text)),
)
