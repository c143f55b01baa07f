"""An episode as an agent plays it: what is asked, done, told, counted and capped; all agents' loops stand on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar

from agents.answers import Act, ActInForm, as_text, read
from agents.environment import Environment
from agents.history import ACT, CALLS, FINISHED, INVALID, MALFORMED, STEPS, STUCK, TOKENS, Fault, History, Turn
from agents.prompts import ActFields, Past, react_prompt
from lab.models.backbone import Backbone, Call, MalformedAnswer, cost_of
from lab.models.prompts import Prompt

A = TypeVar("A", bound=Any)
Schema = bool | Literal["action"]
Watch = Callable[[History], None]
SHOWN = 500  # characters of a malformed answer that the model is shown again
TRIES = 3  # at a plan, and at whatever else an agent needs before it goes on


@dataclass(frozen=True)
class Settings:
    """The caps of an episode, the same for all agents, and what single agents let one change.

    steps: actions in an episode, invalid ones included. calls: of the model, malformed answers included; 0 for
    twice the steps. tokens: read and written; 0 for any number. stuck: turns in a row that do nothing new, the same
    action with the same observation as before; 0 for any number. schema: bind answers to a schema, in place of free
    text; "action" binds actions to the form that the world's tools state as well (`Environment.form`).
    blank: the placebo of an agent that plans or reflects: it is asked as often, and then shown numbered blanks.
    trials: of Reflexion. success: what ends its trials: the model's own judgement, or the score, which is privileged.
    replan: when Plan-and-Act asks for another plan: after each action, or after one that failed. scope: answers that
    TDP's executor has for a sub-goal; enough for a whole task, since a blank one stands for no less.
    """

    steps: int = 20
    calls: int = 0
    tokens: int = 0
    stuck: int = 0
    schema: Schema = False
    blank: bool = False
    trials: int = 3
    success: Literal["model", "score"] = "model"
    replan: Literal["each", "failure"] = "each"
    scope: int = 30

    def __post_init__(self) -> None:
        least = {"steps": 1, "calls": 0, "tokens": 0, "stuck": 0, "trials": 1, "scope": 1}
        if self.schema not in (False, True, "action"):
            raise ValueError(f"schema={self.schema!r}: choose true, false or 'action'")
        if wrong := [f"{name}={getattr(self, name)}" for name, few in least.items() if getattr(self, name) < few]:
            raise ValueError(
                f"{', '.join(wrong)}: steps, trials and scope are at least 1; calls, tokens and stuck at least 0, "
                "where 0 is twice the steps, and any number"
            )

    @property
    def by_schema(self) -> bool:
        """Whether answers are bound to a schema."""
        return bool(self.schema)

    def end(self, history: History) -> str:
        """Which cap an episode has met, "" if none."""
        cost = history.cost
        if history.steps >= self.steps:
            return STEPS
        if cost.calls >= (self.calls or 2 * self.steps):
            return CALLS
        return TOKENS if self.tokens and cost.tokens_in + cost.tokens_out >= self.tokens else ""


DEFAULT = Settings()


def unwatched(history: History) -> None:
    """Watch nothing."""


@dataclass
class Play:
    """One task being played. watch: is shown the history so far before each call.

    An answer that cannot be read and an action that there is not are told to the agent as observations, and counted.
    Once the episode is over nothing more is asked or done. Methods raise what the environment and the backbone raise,
    but for malformed answers.
    """

    environment: Environment
    backbone: Backbone
    settings: Settings = DEFAULT
    watch: Watch = unwatched
    history: History = field(init=False)
    begun: int = field(default=0, init=False)  # of the turns, the first that is shown to the model

    def __post_init__(self) -> None:
        self.history = History(self.environment.begin())

    @property
    def over(self) -> bool:
        """Whether it was finished, or has met a cap."""
        return bool(self.history.end)

    def act(self, prompt: Prompt | None = None, kept: Callable[[Act], str] | None = None, **shown: Any) -> Act | None:
        """Ask for an action and carry it out; None where no action could be read.

        prompt: ReAct's by default. kept: what the agent itself tells of an action, which then does not reach the
        environment; "" for one that does. shown: further fields of the prompt.
        """
        prompt = prompt or react_prompt(self.environment.name, self.settings.by_schema)
        # Whoever has actions of its own, as TDP has, cannot be held to the form of the world's.
        if self.settings.schema == "action" and self.environment.form and kept is None:
            prompt = replace(prompt, narrow=ActInForm(self.environment.form))
        asked = self._asked(prompt, partial(read, kind=Act), shown)
        if asked is None:
            return None
        act, turn = asked
        if kept and (told := kept(act)):
            self._add(replace(turn, observation=told, said=act.as_text()))
        else:
            self._carry_out(act, replace(turn, said=""))
        return act

    def ask(self, prompt: Prompt, reading: Callable[[Any], A], **shown: Any) -> A | None:
        """Ask something else than an action, at most TRIES times; None where no answer could be read.

        reading: makes the answer of a value, or raises MalformedAnswer. shown: fields of the prompt, beside those that
        all prompts over an episode have.
        """
        told = issubclass(prompt.fields, ActFields)
        for sample in range(TRIES):
            # A prompt without turns cannot tell what was wrong: there another answer to the same question is wanted.
            asked = self._asked(prompt, reading, shown, 0 if told else sample)
            if asked is not None:
                self._add(asked[1])
                return asked[0]
        return None

    def do(self, action: str) -> str:
        """Carry out an action that no model was asked for; what was observed."""
        if self.over:
            return ""
        self.watch(self.history)
        self._carry_out(Act(thought="", action=action), Turn(""))
        return self.history.turns[-1].observation

    def book(self, operator: str, said: str, calls: Sequence[Call]) -> None:
        """Keep what the agent asked by itself, beside the prompts over an episode: it counts, and is not shown."""
        self._add(Turn("", said=said, operator=operator, cost=cost_of(calls)))

    def again(self) -> None:
        """Begin the task again; what was done and asked stays in the history, and is no longer shown."""
        self.history = replace(self.history, task=self.environment.begin())
        self.forget()

    def forget(self) -> None:
        """Show the model none of the turns so far."""
        self.begun = len(self.history.turns)

    def end(self, how: str) -> None:
        """End the episode, or with "" let it go on."""
        self.history = self.history.ended(how)

    def _asked(
        self, prompt: Prompt, reading: Callable[[Any], A], shown: dict[str, Any], sample: int = 0
    ) -> tuple[A, Turn] | None:
        """An answer and the turn to complete; None after a malformed one, which is told and counted."""
        if self.over:
            return None
        self.watch(self.history)
        try:
            answer = self.backbone.ask(prompt, sample, **self._fields(prompt), **shown)
        except MalformedAnswer as error:
            self._malformed(prompt, error.text, error, error.call)
            return None
        try:
            value = reading(answer.value)
        except MalformedAnswer as error:
            self._malformed(prompt, as_text(answer.value), error, answer.call)
            return None
        return value, _turn(prompt, answer.call, said=as_text(value))

    def _fields(self, prompt: Prompt) -> dict[str, Any]:
        if not issubclass(prompt.fields, ActFields):
            return {}
        shown = self.history.turns[self.begun :]
        # What was asked beside the actions concerns who was asked alone, and no longer than it was no answer.
        told = [turn for turn in shown if turn.operator == ACT or (turn.operator == prompt.operator and turn.fault)]
        environment = self.environment
        return {
            "tools": environment.tools, "task": self.history.task, "turns": [_past(turn) for turn in told],
            "view": environment.view(),
        }  # fmt: skip

    def _carry_out(self, act: Act, turn: Turn) -> None:
        seen = self.environment.act(act.action)
        fault: Fault = "" if seen.valid else INVALID
        self._add(replace(turn, observation=seen.text, thought=act.thought, action=act.action, fault=fault), seen.done)

    def _malformed(self, prompt: Prompt, text: str, why: Exception, call: Call) -> None:
        told = f"Nothing was done, since this answer cannot be used: {why}."
        said = text[:SHOWN].strip() or "(nothing)"
        self._add(_turn(prompt, call, observation=told, said=said, fault=MALFORMED))

    def _add(self, turn: Turn, done: bool = False) -> None:
        self.history = self.history.then(turn)
        self.end(FINISHED if done else self.settings.end(self.history) or self._stuck())

    def _stuck(self) -> str:
        most = self.settings.stuck
        return STUCK if most and self.history.repeating(self.begun) >= most else ""


def _turn(prompt: Prompt, call: Call, observation: str = "", **about: Any) -> Turn:
    return Turn(observation, operator=prompt.operator, cost=cost_of([call]), cut=call.cut, **about)


def _past(turn: Turn) -> Past:
    return Past(thought=turn.thought, action=turn.action, said=turn.said, observation=turn.observation)
