"""TextWorld for acting agents: the commands of its quests, and the words with which a game turns one down."""

from __future__ import annotations

import re

from agents.environment import InWorld
from worlds.base import Step
from worlds.textworld import QuestTask, TextWorld

NAME = "textworld"
TOOLS = """
You play a text adventure. The commands are:
look; inventory; goal; go DIRECTION; examine THING; take THING; take THING from THING; drop THING; eat THING;
put THING on THING; insert THING into THING; open THING; close THING; unlock THING with THING; lock THING with THING;
cook THING with THING; slice THING with THING; chop THING with THING; dice THING with THING; prepare meal.
DIRECTION is north, east, south or west. THING is a name as the game has it, without "a" or "the". A wrong command can
lose the game, such as eating or spoiling what a recipe needs.
""".strip()
# What the interpreter cannot read or find, then what the world does not let happen; at the beginning of an answer,
# behind what the game says that it took a command to mean.
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


def adventure(world: TextWorld, task: QuestTask, listed: bool = False) -> InWorld:
    """One quest; it ends when it is won or lost. listed: see `InWorld`."""
    return InWorld(world, task, NAME, TOOLS, refused, listed)


def refused(step: Step) -> bool:
    """Whether a command was not understood, or not possible."""
    return bool(REFUSALS.match(step.text))
