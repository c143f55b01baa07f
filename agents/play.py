"""One episode as an agent plays it: calls, actions, observations, counts and caps. All agents' loops use it."""

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
SHOWN = 500  # characters of a malformed answer that the model is shown
TRIES = 3  # calls for a plan, or for anything else that is not an action, until an answer can be read


@dataclass(frozen=True)
class Settings:
    """The caps of an episode, the same for all agents, and the options of single agents.

    steps: actions per episode, invalid ones included. calls: model calls, malformed answers included; 0 for twice the
    steps. tokens: read and written; 0 for no cap. stuck: consecutive turns that repeat an earlier action with the same
    observation; 0 for no cap. schema: true binds answers to a JSON schema instead of free text; "action" also binds
    actions to the form that the world's tools state (`Environment.form`).
    blank: the placebo of an agent that plans or reflects: it makes the same calls, and is shown numbered blanks.
    trials: Reflexion's. success: what ends Reflexion's trials: the model's own judgement, or the environment's score,
    which is privileged. replan: when Plan-and-Act plans again: after each action, or after a failed one. scope: answers
    that TDP's executor has for a sub-goal; enough for a whole task, since a blank sub-goal stands for the whole task.
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
                "where calls=0 means twice the steps, and 0 of the others no cap"
            )

    @property
    def by_schema(self) -> bool:
        """Whether answers are bound to a schema."""
        return bool(self.schema)

    def end(self, history: History) -> str:
        """The cap that the episode has reached, "" if none."""
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
    """One task while it is played. watch: called with the history so far before each call and action.

    A malformed answer and an unknown action are counted, and reported to the agent as observations.
    After the end of the episode nothing more is asked or done. Methods raise what the environment and the backbone
    raise, except MalformedAnswer.
    """

    environment: Environment
    backbone: Backbone
    settings: Settings = DEFAULT
    watch: Watch = unwatched
    history: History = field(init=False)
    begun: int = field(default=0, init=False)  # index of the first turn that the model is shown

    def __post_init__(self) -> None:
        self.history = History(self.environment.begin())

    @property
    def over(self) -> bool:
        """Whether the episode has ended, at its goal or at a cap."""
        return bool(self.history.end)

    def act(self, prompt: Prompt | None = None, kept: Callable[[Act], str] | None = None, **shown: Any) -> Act | None:
        """Ask for an action and carry it out; None if no action could be read.

        prompt: ReAct's by default. Only ReAct's binds actions to the world's form: others may offer the agent's own.
        kept: the agent's own observation for an action that is not to reach the environment; "" for an action that is.
        shown: further fields of the prompt.
        """
        if prompt is None:
            prompt = react_prompt(self.environment.name, self.settings.by_schema)
            if self.settings.schema == "action" and self.environment.form:
                prompt = replace(prompt, narrow=ActInForm(self.environment.form))
        answered = self._asked(prompt, partial(read, kind=Act), shown)
        if answered is None:
            return None
        act, turn = answered
        if kept and (note := kept(act)):
            self._add(replace(turn, observation=note, said=act.as_text()))
        else:
            self._carry_out(act, replace(turn, said=""))
        return act

    def ask(self, prompt: Prompt, reading: Callable[[Any], A], **shown: Any) -> A | None:
        """Ask for something other than an action, at most TRIES times; None if no answer could be read.

        reading: turns a value into the answer, or raises MalformedAnswer. shown: fields of the prompt, in addition to
        those that all prompts over an episode have.
        """
        shows_turns = issubclass(prompt.fields, ActFields)
        for sample in range(TRIES):
            # A prompt without turns cannot show the model what was wrong, so another sample of the answer is taken.
            answered = self._asked(prompt, reading, shown, 0 if shows_turns else sample)
            if answered is not None:
                self._add(answered[1])
                return answered[0]
        return None

    def do(self, action: str) -> str:
        """Carry out an action without a model call; return what was observed."""
        if self.over:
            return ""
        self.watch(self.history)
        self._carry_out(Act(thought="", action=action), Turn(""))
        return self.history.turns[-1].observation

    def book(self, operator: str, said: str, calls: Sequence[Call]) -> None:
        """Record calls that the agent made outside this class: they are counted, and the model is not shown them."""
        self._add(Turn("", said=said, operator=operator, cost=cost_of(calls)))

    def again(self) -> None:
        """Start the task again. Earlier turns stay in the history, but the model is no longer shown them."""
        self.history = replace(self.history, task=self.environment.begin())
        self.forget()

    def forget(self) -> None:
        """Stop showing the model the turns so far."""
        self.begun = len(self.history.turns)

    def end(self, how: str) -> None:
        """End the episode, or with "" let it go on."""
        self.history = self.history.ended(how)

    def _asked(
        self, prompt: Prompt, reading: Callable[[Any], A], shown: dict[str, Any], sample: int = 0
    ) -> tuple[A, Turn] | None:
        """An answer and the turn to complete; None after a malformed answer, which is recorded as a turn."""
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
        turns = self.history.turns[self.begun :]
        # Plans, judgements and the like are not shown. A malformed one is shown, but only to the operator that gave it.
        visible = [turn for turn in turns if turn.operator == ACT or (turn.operator == prompt.operator and turn.fault)]
        environment = self.environment
        return {
            "tools": environment.tools, "task": self.history.task, "turns": [_past(turn) for turn in visible],
            "view": environment.view(),
        }  # fmt: skip

    def _carry_out(self, act: Act, turn: Turn) -> None:
        observation = self.environment.act(act.action)
        fault: Fault = "" if observation.valid else INVALID
        self._add(
            replace(turn, observation=observation.text, thought=act.thought, action=act.action, fault=fault),
            observation.done,
        )

    def _malformed(self, prompt: Prompt, text: str, why: Exception, call: Call) -> None:
        note = f"Nothing was done, since this answer cannot be used: {why}."
        excerpt = text[:SHOWN].strip() or "(nothing)"
        self._add(_turn(prompt, call, observation=note, said=excerpt, fault=MALFORMED))

    def _add(self, turn: Turn, done: bool = False) -> None:
        self.history = self.history.then(turn)
        self.end(FINISHED if done else self.settings.end(self.history) or self._stuck())

    def _stuck(self) -> str:
        cap = self.settings.stuck
        return STUCK if cap and self.history.repeating(self.begun) >= cap else ""


def _turn(prompt: Prompt, call: Call, observation: str = "", **about: Any) -> Turn:
    return Turn(observation, operator=prompt.operator, cost=cost_of([call]), cut=call.cut, **about)


def _past(turn: Turn) -> Past:
    return Past(thought=turn.thought, action=turn.action, said=turn.said, observation=turn.observation)
