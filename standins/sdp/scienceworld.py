"""The oracle for ScienceWorld: rules that know the gold path of their task, since no honest rule can plan here.

All its answers are simulated. Still, a plan consists of conditions on the world, Realize works on the condition that it
is given and leaves it when Validate says so. Validate reads only the observation and does not know the path. So a
condition that is certified too early costs the actions that would have led to it, until a new plan has them again.
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

# The simulator's answer -> the condition that then holds.
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
# Condition -> the action that shows it again.
LOOKS = (
    (re.compile("The agent is in the |The room around the agent is the "), "look around"), (CARRIED, "inventory"),
    (HELD, "inventory"),
)  # fmt: skip
# Condition -> the same in other words, for plans that overlap: one action achieves both, and a look shows both again.
OVERLAPS = (
    (re.compile(r"The agent is in the (.+)\.$"), "The room around the agent is the {0}."),
    (CARRIED, "The agent carries the {0}."),
)
STAGES = 4  # stages of a task, by its points
AGAIN = re.compile(r" \(\d+\)$")  # number after a condition that a plan repeats


@dataclass(frozen=True, slots=True)
class Played:
    """An action of the gold path and the world's answer. gained: points."""

    action: str
    answer: str
    gained: int


def gold(tasks: ScienceWorldTasks, task: str) -> list[Played]:
    """The expert's actions on a task, with the world's answers."""
    played, before = list[Played](), 0
    for action, step in zip(tasks.solution(task), tasks.solved(task), strict=True):
        played.append(Played(action, step.text, step.facts["native"] - before))
        before = step.facts["native"]
    return played


def condition(answer: str, gained: int) -> str:
    """The condition that an observation shows; "" if none."""
    for pattern, words in CONDITIONS:
        if match := re.match(pattern, answer):
            return words.format(*match.groups())
    return GAINED if gained > 0 else ""


def changes(path: Sequence[Played], longest: int) -> list[tuple[int, str]]:
    """(index, condition) for the actions of which a plan names the condition.

    These are the actions that gain points and, between them, as many more that no stretch has over `longest` actions.
    """
    texts = [condition(played.answer, played.gained) for played in path]
    chosen_conditions, last = list[tuple[int, str]](), -1
    for index, played in enumerate(path[:-1]):  # the last action reaches the goal
        chosen = index if played.gained > 0 else -1
        if chosen < 0 and index - last >= longest:
            within = [position for position in range(last + 1, index + 1) if texts[position]]
            first = [position for position in within if texts[position] not in texts[last + 1 : position]]
            chosen = (first or within or [-1])[-1]
        if chosen >= 0:
            # An earlier action of the stretch with the same condition gets its own: otherwise it would be taken for the
            # chosen one.
            new = [position for position in range(last + 1, chosen + 1) if texts[position] == texts[chosen]]
            chosen_conditions += [(position, texts[position]) for position in new]
            last = chosen
    return chosen_conditions


def actions(path: Sequence[Played], longest: int) -> list[tuple[int, str]]:
    """As `changes`, with a condition for each action; if the simulator asks back about one, only after the reply."""
    done = [(index, played) for index, played in enumerate(path[:-1]) if not REFUSALS.search(played.answer)]
    return [(index, condition(played.answer, 0) or DONE.format(played.action)) for index, played in done]


def stages(path: Sequence[Played], longest: int) -> list[tuple[int, str]]:
    """As `changes`, for the actions that complete one of STAGES parts of the points."""
    completed = [int(STAGES * score / 100) for score in accumulate(played.gained for played in path)]
    return [(index, STAGE) for index in range(1, len(path) - 1) if completed[index] > completed[index - 1]]


PLANS: dict[Grain, Callable[[Sequence[Played], int], list[tuple[int, str]]]] = dict(
    zip(GRAINS, (stages, changes, actions), strict=True)
)


@knows("sdp.scienceworld.oracle")
def known(tasks: ScienceWorldTasks, task: str, longest: int, overlaps: bool = False) -> Known:
    """The answers on a task, whose gold path is played first. longest, overlaps: see `Oracle`."""
    oracle = Oracle(gold(tasks, task), longest, overlaps)
    return Known({PLAN.name: oracle.plan, REPLAN.name: oracle.replan, ACT.name: oracle.act, JUDGE.name: judge})


class Oracle:
    """The rules of one episode. path: the gold actions, as played. longest: see `changes`.

    overlaps: plans name rooms and carried things twice, in other words, so that one action satisfies two predicates.
    """

    def __init__(self, path: Sequence[Played], longest: int, overlaps: bool = False) -> None:
        self.path, self.longest, self.overlaps = path, longest, overlaps
        self._next, self._asked, self._planned = 0, "", list[str]()
        self._skipped = len(path)  # the first action skipped because its condition seemed to hold
        self._stretches = dict[str, tuple[int, int]]()  # condition -> the first and the last action that lead to it

    def plan(self, fields: PlanFields) -> Targets:
        """All conditions, or those after as many as are planned, whatever those say."""
        if not fields.planned:
            self._plan(fields.grain)
        remaining = self._planned[len(fields.planned) :]
        return Targets(targets=remaining[:1] if fields.single else remaining)

    def replan(self, fields: ReplanFields) -> Targets:
        """The conditions from where the path was left."""
        return Targets(targets=self._plan(fields.grain))

    def _plan(self, grain: Grain) -> list[str]:
        """The conditions from the next action on, or from the first skipped one; at the end, from the beginning."""
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
        """The next action towards the target; if all are done but not certified, look at it or do the last one again.

        A target that is not in the plan is looked for on the whole path.
        """
        if fields.recent and fields.recent[-1].action == self._asked:
            self._next += 1
        first, last = self._stretches.get(fields.target, (0, len(self.path) - 1))
        if self._next < first:
            self._skipped, self._next = min(self._skipped, self._next), first
        self._asked = self.path[self._next].action if self._next <= last else ""
        looks = next((action for pattern, action in LOOKS if pattern.match(fields.target)), self.path[last].action)
        return Action(action=self._asked or looks)


def in_other_words(text: str) -> str:
    """The same condition in other words; "" if there are none."""
    return next((words.format(match[1]) for pattern, words in OVERLAPS if (match := pattern.match(text))), "")


def judge(fields: JudgeFields) -> Judged:
    """How many of the conditions, in order, the answer itself shows.

    Each one counts once: a condition that is named twice has to happen twice. A completed stage cannot be observed;
    gained points are the only evidence.
    """
    visible = {condition(fields.answer, fields.gained), condition(fields.answer, 0), DONE.format(fields.action)}
    visible |= {STAGE} if fields.gained > 0 else set()
    visible |= {in_other_words(text) for text in visible}
    count = 0
    for target in fields.targets:
        text, carried = AGAIN.sub("", target), CARRIED.match(target) or HELD.match(target)
        in_inventory = carried and fields.action == "inventory" and carried[1] in fields.answer
        if text not in visible and not in_inventory:
            break
        visible.discard(text)
        count += 1
    return Judged(reason="the answer says so" if count else "the answer does not show it", held=count)


@corruption(PLAN)
@corruption(REPLAN)
def without_one(fields: PlanningFields, answer: Targets, random: Random) -> Targets:
    """A plan without one of its conditions; instead of a single one, that the agent is in a random room."""
    if len(answer.targets) > 1:
        index = random.randrange(len(answer.targets))
        return Targets(targets=[*answer.targets[:index], *answer.targets[index + 1 :]])
    return Targets(targets=[f"The agent is in the {random.choice(fields.rooms or ['hallway'])}."])


@corruption(ACT)
def another(fields: ActFields, answer: Action, random: Random) -> Action:
    """Another action with a visible thing."""
    return Action(action=another_action(fields.room, random))


@corruption(JUDGE)
def misjudged(fields: JudgeFields, answer: Judged, random: Random) -> Judged:
    """The first condition holds if it did not, and vice versa."""
    return Judged(reason="it seems otherwise", held=0 if answer.held else 1)


@verdict(JUDGE)
def holds(answer: Judged) -> bool:
    return answer.held > 0
