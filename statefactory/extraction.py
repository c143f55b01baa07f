"""State extraction along a trajectory: Modules A, B and C at every step, as a recurrence.

The state and the goal are all that one step hands to the next (Eq. 4 and 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import GenericAlias
from typing import Any

from pydantic import TypeAdapter

from lab.models.backbone import Backbone, MalformedAnswer
from lab.models.prompts import Prompt
from statefactory.prompts import ITEMS, Reasoning, modules
from statefactory.state import LEVELS, Level, State, Values
from statefactory.trust import mostly_unread

# How a state of each level is read and written.
TUPLES: dict[Level, Any] = {level: GenericAlias(tuple, (ITEMS.get(level, str), ...)) for level in LEVELS}
STATES = {level: TypeAdapter(items) for level, items in TUPLES.items()}


@dataclass(frozen=True, slots=True)
class Trace:
    """What was extracted: a state and a goal a step.

    malformed: answers of a model that could not be read; such an answer changes nothing. unread: the steps, from 0,
    whose observation is not in the state, since it was mostly unread.
    """

    level: Level
    states: tuple[State, ...]
    goals: tuple[State, ...]
    malformed: int = 0
    unread: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values, each state and goal once; `read_trace` reads them back."""
        states, goals = dict.fromkeys(self.states), dict.fromkeys(self.goals)
        numbers = [{state: number for number, state in enumerate(kept)} for kept in (states, goals)]
        adapter = STATES[self.level]
        return {
            "level": self.level,
            "states": [adapter.dump_python(state, mode="json") for state in states],
            "goals": [adapter.dump_python(goal, mode="json") for goal in goals],
            "steps": [[numbers[0][s], numbers[1][g]] for s, g in zip(self.states, self.goals, strict=True)],
            "malformed": self.malformed,
            "unread": [*self.unread],
        }


def read_trace(record: dict[str, Any]) -> Trace:
    """A trace from its JSON."""
    adapter = STATES[record["level"]]
    states, goals = (list(map(adapter.validate_python, record[kind])) for kind in ("states", "goals"))
    steps = record["steps"]
    return Trace(
        record["level"],
        tuple(states[state] for state, _ in steps),
        tuple(goals[goal] for _, goal in steps),
        record["malformed"],
        tuple(record.get("unread", ())),
    )


@dataclass(frozen=True, slots=True)
class Memory:
    """What one step hands to the next (Eq. 4 and 6): the task, and the state and goal so far, empty before the first.

    malformed: as in `Trace`, so far. unread: whether the newest observation was mostly unread.
    """

    task: str
    state: State = ()
    goal: State = ()
    malformed: int = 0
    unread: bool = False


class Extractor:
    """The recurrence: a memory and a step give the next memory.

    level: of representation; "raw" asks nothing. values: whether an attribute's value is a sentence, as Table 11 has
    it, or a fragment. instruction: of the world, in each prompt. reasoning: what the model writes before its answer, a
    line or what Tables 9 and 10 ask for. An answer that cannot be read even after the backbone's re-ask leaves the
    state or the goal as it was, and is counted.
    """

    def __init__(
        self,
        backbone: Backbone,
        level: Level = "object_attribute",
        values: Values = "sentences",
        instruction: str = "",
        reasoning: Reasoning = "short",
    ) -> None:
        self.backbone, self.level = backbone, level
        self._given: dict[str, Any] = {"values": values, "reasoning": reasoning, "instruction": instruction}

    def start(self, goal: str, observation: str = "") -> Memory:
        """Before any action: what the first observation tells; where it is not known nothing is asked."""
        begun = Memory(goal)
        return self.advance(begun, "", observation) if observation else begun

    def advance(self, memory: Memory, action: str, observation: str) -> Memory:
        """After an action and what it led to. Raises what the backbone raises."""
        if self.level == "raw":
            # Level 1 of Appendix C.5.1: the world's own text is the state; no model is asked.
            return replace(memory, state=(observation,), goal=(memory.task,))
        prompts = modules(self.level)
        # An empty state is shown as None, as at step 0: there is nothing to merge with (Table 9, Module B).
        state, goal = memory.state or None, memory.goal or None
        before = {"goal": memory.task, "previous_state": state, "action": action}
        seen = self._ask(prompts.perceive, observation=observation, previous_goal=goal, **before)
        current = seen.state if seen else memory.state
        # Table 9 speaks of an action history; the official program gives the newest action alone, and so do we.
        kept = self._ask(prompts.refine, state=current, **before)
        current = kept.state if kept else current
        now = {"goal": memory.task, "state": current, "observation": observation, "action": action}
        # Eq. 6: the goal comes after the state and sees this step's; Eq. 4 gave the state the goal of the step before.
        wanted = self._ask(prompts.interpret, previous_goal=goal, **now)
        return Memory(
            memory.task,
            current,
            wanted.goal if wanted else memory.goal,
            memory.malformed + (seen, kept, wanted).count(None),
            seen is None or mostly_unread(seen.thinking, observation),
        )

    def _ask(self, prompt: Prompt, **fields: Any) -> Any:
        """An answer of the prompt's own class, or None for one that cannot be read."""
        try:
            return self.backbone.ask(prompt, **self._given, **fields).value
        except MalformedAnswer:
            # The official program retries the whole task, up to ten times; here the step changes nothing.
            return None


def extract(
    backbone: Backbone,
    goal: str,
    actions: Sequence[str],
    observations: Sequence[str],
    level: Level = "object_attribute",
    values: Values = "sentences",
    instruction: str = "",
    reasoning: Reasoning = "short",
) -> Trace:
    """The states and goals of a trajectory; the arguments are those of `Extractor`.

    Raises ValueError if actions and observations differ in number, and what the backbone raises.
    """
    if len(actions) != len(observations):
        raise ValueError(f"{len(actions)} actions with {len(observations)} observations: each action needs one")
    extractor = Extractor(backbone, level, values, instruction, reasoning)
    memories = [extractor.start(goal)]
    for action, observation in zip(actions, observations, strict=True):
        memories.append(extractor.advance(memories[-1], action, observation))
    return trace_of(level, memories[1:])


def trace_of(level: Level, memories: Sequence[Memory]) -> Trace:
    """The trace of successive memories."""
    states, goals = tuple(memory.state for memory in memories), tuple(memory.goal for memory in memories)
    unread = tuple(step for step, memory in enumerate(memories) if memory.unread)
    return Trace(level, states, goals, memories[-1].malformed if memories else 0, unread)
