"""State extraction along a trajectory: a recurrence that asks Modules A, B and C at every step.

Only the state and the goal are passed from one step to the next (Eq. 4 and 6).
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

# Types that parse and serialise the states of each level.
TUPLES: dict[Level, Any] = {level: GenericAlias(tuple, (ITEMS.get(level, str), ...)) for level in LEVELS}
STATES = {level: TypeAdapter(items) for level, items in TUPLES.items()}


@dataclass(frozen=True, slots=True)
class Trace:
    """The extracted states and goals, one of each per step.

    malformed: number of model answers that could not be parsed; these change neither state nor goal. unread: indices,
    from 0, of the steps whose observation was mostly unread and so is missing from the state.
    """

    level: Level
    states: tuple[State, ...]
    goals: tuple[State, ...]
    malformed: int = 0
    unread: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON values, with each distinct state and goal stored once. `read_trace` parses them."""
        states, goals = dict.fromkeys(self.states), dict.fromkeys(self.goals)
        numbers = [{state: number for number, state in enumerate(distinct)} for distinct in (states, goals)]
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
    """Parse a trace from the JSON values of `Trace.to_json`."""
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
    """What is passed to the next step (Eq. 4 and 6): task, state and goal.

    state, goal: empty before the first observation. malformed: number of answers so far that could not be parsed.
    unread: whether the newest observation was mostly unread.
    """

    task: str
    state: State = ()
    goal: State = ()
    malformed: int = 0
    unread: bool = False


class Extractor:
    """The recurrence: computes the next memory from a memory and a step.

    level: of representation; "raw" asks no model. values: whether attribute values are sentences, as in Table 11, or
    fragments. instruction: a text of the world that is added to each prompt. reasoning: what the model writes before
    its answer: one line ("short"), or what Tables 9 and 10 ask for ("full"). An answer that cannot be parsed even after
    the backbone's retry leaves the state or goal unchanged and is counted in `Memory.malformed`.
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
        """The memory before any action, extracted from the first observation. If that is "", no model is asked."""
        memory = Memory(goal)
        return self.advance(memory, "", observation) if observation else memory

    def advance(self, memory: Memory, action: str, observation: str) -> Memory:
        """The memory after an action and the observation that it led to. Raises what the backbone raises."""
        if self.level == "raw":
            # Level 1 of Appendix C.5.1: the observation itself is the state; no model is asked.
            return replace(memory, state=(observation,), goal=(memory.task,))
        prompts = modules(self.level)
        # An empty state is passed as None, as at step 0: there is nothing to merge with (Table 9, Module B).
        state, goal = memory.state or None, memory.goal or None
        before = {"goal": memory.task, "previous_state": state, "action": action}
        perceived = self._ask(prompts.perceive, observation=observation, previous_goal=goal, **before)
        current = perceived.state if perceived else memory.state
        # Table 9 mentions an action history; like the official program, we pass only the newest action.
        refined = self._ask(prompts.refine, state=current, **before)
        current = refined.state if refined else current
        after = {"goal": memory.task, "state": current, "observation": observation, "action": action}
        # Eq. 6: the goal depends on this step's state. Eq. 4: the state depends on the goal of the step before.
        interpreted = self._ask(prompts.interpret, previous_goal=goal, **after)
        return Memory(
            memory.task,
            current,
            interpreted.goal if interpreted else memory.goal,
            memory.malformed + (perceived, refined, interpreted).count(None),
            perceived is None or mostly_unread(perceived.thinking, observation),
        )

    def _ask(self, prompt: Prompt, **fields: Any) -> Any:
        """The parsed answer, of the prompt's answer class; None if it cannot be parsed."""
        try:
            return self.backbone.ask(prompt, **self._given, **fields).value
        except MalformedAnswer:
            # The official program retries the whole task, up to ten times. Here the state or goal stays unchanged.
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
    """Extract the states and goals of a trajectory. The options are those of `Extractor`.

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
    """Collect successive memories into a trace."""
    states, goals = tuple(memory.state for memory in memories), tuple(memory.goal for memory in memories)
    unread = tuple(step for step, memory in enumerate(memories) if memory.unread)
    return Trace(level, states, goals, memories[-1].malformed if memories else 0, unread)
