"""ReAct (Yao et al. 2022): a thought, an action, an observation, and again, until the agent finishes or a cap is met.

Without examples: chat models need none to keep the form, and what they then get wrong is what is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from agents.environment import Environment
from agents.history import CALLS, FINISHED, INVALID, MALFORMED, STEPS, History, Turn
from agents.prompts import Past, react_prompt
from lab.models.backbone import Backbone
from lab.models.parsing import MalformedAnswer
from lab.models.prompts import FreeText, Prompt
from lab.models.usage import Call, cost_of

FORM = re.compile(r"Thought:(?P<thought>.*?)\nAction:(?P<action>.*)", re.DOTALL)
LABEL = re.compile(r"^(?:Thought|Action):", re.MULTILINE)
SHOWN = 500  # characters of a malformed answer that the model is shown again


@dataclass(frozen=True)
class Settings:
    """steps: actions in an episode, invalid ones included. calls: of the model, malformed answers included; 0 for
    twice the steps. schema: bind answers to a schema, in place of the paper's free text.
    """

    steps: int = 20
    calls: int = 0
    schema: bool = False

    def __post_init__(self) -> None:
        if self.steps < 1 or self.calls < 0:
            raise ValueError(
                f"steps={self.steps}, calls={self.calls}: need steps >= 1, and calls >= 0 (0: twice steps)"
            )

    def end(self, history: History) -> str:
        """Which cap an episode has met, "" if none."""
        if history.steps >= self.steps:
            return STEPS
        return CALLS if len(history.turns) >= (self.calls or 2 * self.steps) else ""


class Said(NamedTuple):
    """A readable answer."""

    thought: str
    action: str


def react(
    environment: Environment,
    backbone: Backbone,
    settings: Settings = Settings(),
    watch: Callable[[History], None] = lambda history: None,
) -> History:
    """Play one task. watch: is shown the history so far before each turn.

    An answer that cannot be read and an action that there is not are told to the agent as observations, and counted.
    Raises what the environment and the backbone raise, but for malformed answers.
    """
    prompt = react_prompt(environment.name, settings.schema)
    history = History(environment.begin())
    while not history.end:
        watch(history)
        turn, done = _turn(prompt, environment, backbone, history)
        history = history.then(turn)
        history = history.ended(FINISHED if done else settings.end(history))
    return history


def read(value: Any) -> Said:
    """The thought and the action of an answer. Raises MalformedAnswer, in words for the model."""
    if not isinstance(value, FreeText):
        return Said(value.thought.strip(), value.action.strip())
    found = FORM.fullmatch(value.text.strip())
    if not found:
        raise MalformedAnswer("it is not a line that begins with `Thought:` and then one that begins with `Action:`")
    said = Said(found["thought"].strip(), found["action"].strip())
    if LABEL.search(said.action) or LABEL.search(said.thought):
        raise MalformedAnswer("it has more than one thought and one action")
    if not said.action:
        raise MalformedAnswer("it has no action behind `Action:`")
    return said


def _turn(prompt: Prompt, environment: Environment, backbone: Backbone, history: History) -> tuple[Turn, bool]:
    """Ask once and act; whether the episode is over."""
    turns = [Past(thought=t.thought, action=t.action, said=t.said, observation=t.observation) for t in history.turns]
    try:
        answer = backbone.ask(prompt, tools=environment.tools, task=history.task, turns=turns, view=environment.view())
    except MalformedAnswer as error:
        return _malformed(error.text, error, error.call), False
    try:
        said = read(answer.value)
    except MalformedAnswer as error:
        return _malformed(answer.value.text, error, answer.call), False
    seen = environment.act(said.action)
    cost, cut = cost_of([answer.call]), answer.call.cut
    return Turn(seen.text, *said, fault="" if seen.valid else INVALID, cost=cost, cut=cut), seen.done


def _malformed(text: str, why: Exception, call: Call) -> Turn:
    told = f"Nothing was done, since this answer cannot be used: {why}."
    said = text[:SHOWN].strip() or "(nothing)"
    return Turn(told, said=said, fault=MALFORMED, cost=cost_of([call]), cut=call.cut)
