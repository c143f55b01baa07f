"""An oracle for ScienceWorld: rules that know the gold path of their task, since no honest rule makes plans here.

Whatever they answer is simulated. Even so a plan is conditions on the world, Realize works on the one that it is given
and leaves it where Validate says so, and Validate reads the observation alone: it does not know the path. A condition
that is certified too early thus costs the actions that would have brought it, until a new plan has them again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from lab.models.rules import Known, corruption, knows, verdict
from sdp.adapters.scienceworld.prompts import (
    ACT,
    GRAINS,
    JUDGE,
    PLAN,
    REPLAN,
    WHOLE,
    ActFields,
    Action,
    Grain,
    Judged,
    JudgeFields,
    PlanFields,
    PlanningFields,
    ReplanFields,
    Targets,
)
from standins.agents.noise import another_action
from worlds.scienceworld import ScienceWorldTasks
from worlds.scienceworld.world import REFUSALS

# What the simulator answers, and the condition that then holds.
CONDITIONS = (
    (r"You (?:move|teleport) to the ([\w ]+)\.", "The agent is in the {0}."),
    (r"This (?:room|outside location) is called the ([\w ]+)\.", "The agent is in the {0}."),
    (r"You move the (.+) to the inventory\.", "The inventory contains the {0}."),
    (r"You move the (.+) to the (.+)\.", "The {0} is in the {1}."),
    (r"You focus on the (.+)\.", "The agent has focused on the {0}."),
    (r"The (.+) is (?:now|already) (open|closed|activated|deactivated)\.", "The {0} is {1}."),
    (r"You pour the contents of the (.+) into the (.+)\.", "The contents of the {0} are in the {1}."),
)
GAINED = "What was waited for has happened, and points were gained."
DONE = "This was done: {0}."
STAGE = "A stage of the task is complete."
CARRIED = re.compile(r"The inventory contains the (.+)\.$")
HELD = re.compile(r"The agent carries the (.+)\.$")
# What shows a condition again.
LOOKS = (
    (re.compile("The agent is in the |The room around the agent is the "), "look around"), (CARRIED, "inventory"),
    (HELD, "inventory"),
)  # fmt: skip
# The same in other words, as a plan that overlaps with itself has it: one action brings both, a look shows both again.
OVERLAPS = (
    (re.compile(r"The agent is in the (.+)\.$"), "The room around the agent is the {0}."),
    (CARRIED, "The agent carries the {0}."),
)
STAGES = 4  # of a task, by its points
AGAIN = re.compile(r" \(\d+\)$")  # behind what a plan names more than once


@dataclass(frozen=True, slots=True)
class Played:
    """An action of the gold path with what the world answered. gained: points."""

    action: str
    answer: str
    gained: int


def gold(tasks: ScienceWorldTasks, task: str) -> list[Played]:
    """The expert's actions on a task, with what the world answers to them."""
    path, world = tasks.solution(task), tasks.world()
    world.reset(tasks.named(task))
    played, before = list[Played](), 0
    for action in path:
        step = world.step(action)
        played.append(Played(action, step.text, step.facts["native"] - before))
        before = step.facts["native"]
    return played


def condition(answer: str, gained: int) -> str:
    """What an observation shows to hold, "" if nothing."""
    for pattern, words in CONDITIONS:
        if found := re.match(pattern, answer):
            return words.format(*found.groups())
    return GAINED if gained > 0 else ""


def changes(path: Sequence[Played], longest: int) -> list[tuple[int, str]]:
    """Indices of actions and the conditions that a plan names for them: where points are gained, and between them as
    many more that no stretch is longer than `longest` actions.
    """
    texts = [condition(one.answer, one.gained) for one in path]
    found, last = list[tuple[int, str]](), -1
    for index, one in enumerate(path[:-1]):  # the last one brings the goal
        chosen = index if one.gained > 0 else -1
        if chosen < 0 and index - last >= longest:
            within = [each for each in range(last + 1, index + 1) if texts[each]]
            first = [each for each in within if texts[each] not in texts[last + 1 : each]]
            chosen = (first or within or [-1])[-1]
        if chosen >= 0:
            # What holds earlier in the stretch, and not since, is a condition of its own: else it is taken for this.
            new = [each for each in range(last + 1, chosen + 1) if texts[each] == texts[chosen]]
            found += [(each, texts[each]) for each in new]
            last = chosen
    return found


def actions(path: Sequence[Played], longest: int) -> list[tuple[int, str]]:
    """As `changes`, a condition for each action; for one that the simulator asks back about, after the answer."""
    done = [(index, one) for index, one in enumerate(path[:-1]) if not REFUSALS.search(one.answer)]
    return [(index, condition(one.answer, 0) or DONE.format(one.action)) for index, one in done]


def stages(path: Sequence[Played], longest: int) -> list[tuple[int, str]]:
    """As `changes`, for the actions that complete a part of all points."""
    whole = [int(STAGES * score / 100) for score in accumulate(one.gained for one in path)]
    return [(index, STAGE) for index in range(1, len(path) - 1) if whole[index] > whole[index - 1]]


PLANS: dict[Grain, Callable[[Sequence[Played], int], list[tuple[int, str]]]] = dict(
    zip(GRAINS, (stages, changes, actions), strict=True)
)


@knows("sdp.scienceworld.oracle")
def known(tasks: ScienceWorldTasks, task: str, longest: int, overlaps: bool = False) -> Known:
    """The answers on a task, whose gold path is played for it. longest, overlaps: see `Oracle`."""
    oracle = Oracle(gold(tasks, task), longest, overlaps)
    return Known({PLAN.name: oracle.plan, REPLAN.name: oracle.replan, ACT.name: oracle.act, JUDGE.name: judge})


class Oracle:
    """The rules of one episode. path: gold actions, as they were played. longest: see `changes`.

    overlaps: plans name rooms and things carried twice, in other words, so that one action satisfies two predicates.
    """

    def __init__(self, path: Sequence[Played], longest: int, overlaps: bool = False) -> None:
        self.path, self.longest, self.overlaps = path, longest, overlaps
        self._next, self._asked, self._planned = 0, "", list[str]()
        self._skipped = len(path)  # the first action that was left out, as its condition seemed to hold
        self._stretches = dict[str, tuple[int, int]]()  # condition -> the first and the last action that lead to it

    def plan(self, fields: PlanFields) -> Targets:
        """The conditions from the first one on, or what follows on as many as are planned, whatever those say."""
        if not fields.planned:
            self._plan(fields.grain)
        left = self._planned[len(fields.planned) :]
        return Targets(targets=left[:1] if fields.single else left)

    def replan(self, fields: ReplanFields) -> Targets:
        """The conditions from where the path was left."""
        return Targets(targets=self._plan(fields.grain))

    def _plan(self, grain: Grain) -> list[str]:
        """The conditions from the next action on, or from the first one that was left out; at the path's end from its
        beginning."""
        if self._skipped < self._next or self._next >= len(self.path):
            self._next, self._asked = self._skipped % len(self.path), ""
        start = first = self._next
        self._skipped, self._stretches, count = len(self.path), {}, Counter[str]()
        for index, text in PLANS[grain](self.path[start:], self.longest)[: GRAINS[grain]]:
            count[text] += 1
            name = text if count[text] == 1 else f"{text} ({count[text]})"
            self._stretches[name] = first, start + index
            if self.overlaps and (again := in_other_words(text)):
                self._stretches[f"{again}{name.removeprefix(text)}"] = first, start + index
            first = start + index + 1
        self._planned = list(self._stretches) or [GAINED]
        self._stretches[WHOLE] = first, len(self.path) - 1
        return self._planned

    def act(self, fields: ActFields) -> Action:
        """The next action on the way to the target. Where the last one was done and is not certified, it is looked at,
        or done again. What is no condition of the plan is on the path itself.
        """
        if fields.recent and fields.recent[-1].action == self._asked:
            self._next += 1
        first, last = self._stretches.get(fields.target, (0, len(self.path) - 1))
        if self._next < first:
            self._skipped, self._next = min(self._skipped, self._next), first
        self._asked = self.path[self._next].action if self._next <= last else ""
        looks = next((action for about, action in LOOKS if about.match(fields.target)), self.path[last].action)
        return Action(action=self._asked or looks)


def in_other_words(text: str) -> str:
    """The same condition in other words, "" where there are none."""
    return next((words.format(match[1]) for about, words in OVERLAPS if (match := about.match(text))), "")


def judge(fields: JudgeFields) -> Judged:
    """How many of the conditions the answer itself shows, each once: what is asked for twice has to happen twice. That
    a stage is complete is not to be seen; points are all that speaks for it.
    """
    shown = {condition(fields.answer, fields.gained), condition(fields.answer, 0), DONE.format(fields.action)}
    shown |= {STAGE} if fields.gained > 0 else set()
    shown |= {in_other_words(text) for text in shown}
    held = 0
    for target in fields.targets:
        text, carried = AGAIN.sub("", target), CARRIED.match(target) or HELD.match(target)
        listed = carried and fields.action == "inventory" and carried[1] in fields.answer
        if text not in shown and not listed:
            break
        shown.discard(text)
        held += 1
    return Judged(reason="the answer says so" if held else "the answer does not show it", held=held)


@corruption(PLAN)
@corruption(REPLAN)
def without_one(fields: PlanningFields, answer: Targets, random: Random) -> Targets:
    """A plan that leaves a condition out or, of a single one, asks for it in another room."""
    if len(answer.targets) > 1:
        place = random.randrange(len(answer.targets))
        return Targets(targets=[*answer.targets[:place], *answer.targets[place + 1 :]])
    return Targets(targets=[f"The agent is in the {random.choice(fields.rooms or ['hallway'])}."])


@corruption(ACT)
def another(fields: ActFields, answer: Action, random: Random) -> Action:
    """Something else with a thing that is seen."""
    return Action(action=another_action(fields.room, random))


@corruption(JUDGE)
def misjudged(fields: JudgeFields, answer: Judged, random: Random) -> Judged:
    """The first condition held where it did not, and the other way round."""
    return Judged(reason="it seems otherwise", held=0 if answer.held else 1)


@verdict(JUDGE)
def holds(answer: Judged) -> bool:
    return answer.held > 0
