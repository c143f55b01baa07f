"""LLM-as-a-Judge: at every step a model rates the task's progress in percent.

    analytic    reads the whole history and reasons before it scores              (Table 8, part I)
    intuitive   reads the whole history and scores without reasoning              (Table 8, part II)
    stateful    reads the newest step and its own belief from the step before     (§3.1.2)

Source: Shen et al. 2026, §3.1.2, Appendix C.3 and Table 8. Our own choices, where the paper says nothing: the meaning
of 0 and 100, an analysis of at most three sentences, and the whole stateful prompt. Table 8's
mark "[Without Thinking]" is a sentence here. The wording is in `statefactory/prompt_texts/judge`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field
from pydantic.dataclasses import dataclass

from lab.models.answers import AnswerModel
from lab.models.backbone import Backbone, MalformedAnswer
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields, Prompt
from statefactory.predictors import Predictor
from statefactory.truncation import oldest, shorter_text, without_end
from statefactory.trust import UNREAD, Flags

Mode: TypeAlias = Literal["analytic", "intuitive", "stateful"]
Percent = Annotated[int, Field(strict=True, ge=0, le=100, description="the progress, a whole number from 0 to 100")]
NO_ACTION = "(none yet)"  # the action that belongs to the first observation
LABELS = len("Step 1. Action: \nObservation: \n")  # characters that a step adds to the history besides its texts


@dataclass(frozen=True, slots=True)
class Exchange:
    """An action, and the observation that it led to."""

    action: str
    observation: str


class HistoryFields(Fields):
    """What a stateless judge may read. left_out: earlier steps that are not in the history, for its length."""

    goal: str
    history: tuple[Exchange, ...] = Field(min_length=1)
    left_out: int = 0


class BeliefFields(Fields):
    """What the stateful judge may read. belief: what it wrote at the last step; None at the first."""

    goal: str
    belief: str | None
    action: str
    observation: str


class Analysed(AnswerModel):
    """The analytic judge's answer."""

    analysis: str = Field(description="a review of the history in at most three short sentences")
    reward: Percent


class Guessed(AnswerModel):
    """The intuitive judge's answer."""

    reward: Percent


class Believed(AnswerModel):
    """The stateful judge's answer."""

    belief: str = Field(description="what is known of the world now, in at most five short sentences")
    reward: Percent


def shorter_history(fields: HistoryFields, characters_over: int) -> HistoryFields | None:
    """The fields without the oldest steps; once only the newest step remains, its observation is cut."""
    *earlier, newest = fields.history
    if earlier:
        sizes = [len(step.action) + len(step.observation or "None") + LABELS for step in earlier]
        count = oldest(sizes, characters_over)
        return fields.model_copy(update={"history": fields.history[count:], "left_out": fields.left_out + count})
    observation = without_end(newest.observation, characters_over)
    if observation is None:
        return None
    return fields.model_copy(update={"history": (Exchange(newest.action, observation),)})


def shorter_belief(fields: BeliefFields, characters_over: int) -> BeliefFields | None:
    """The fields with the end of the observation cut, or if nothing of it may go, the end of the belief."""
    return shorter_text(fields, "observation", characters_over) or shorter_text(fields, "belief", characters_over)


# What changes from step to step comes last in each prompt, so that the calls of a trajectory share a prefix.
PROMPTS: dict[Mode, Prompt] = {
    "analytic": read_prompt("statefactory/judge/analytic.md", HistoryFields, Analysed, shorten=shorter_history),
    "intuitive": read_prompt("statefactory/judge/intuitive.md", HistoryFields, Guessed, shorten=shorter_history),
    "stateful": read_prompt("statefactory/judge/stateful.md", BeliefFields, Believed, shorten=shorter_belief),
}


@dataclass(frozen=True, slots=True)
class Memory:
    """What a judge has read and answered so far.

    history: of a stateless judge. belief: of the stateful judge, None before its first answer. reward: the newest, in
    [0, 1]. malformed: number of answers that could not be parsed; these leave belief and reward unchanged. unread:
    whether the newest answer was malformed.
    """

    goal: str
    history: tuple[Exchange, ...] = ()
    belief: str | None = None
    reward: float = 0.0
    malformed: int = 0
    unread: bool = False


class Judge(Predictor[Memory]):
    """Asks a backbone once per step, in one of the modes. Raises ValueError for an unknown mode."""

    def __init__(self, backbone: Backbone, mode: Mode = "analytic") -> None:
        if mode not in PROMPTS:
            raise ValueError(f"The judge has no mode {mode!r}; its modes: {', '.join(PROMPTS)}")
        self.backbone, self.mode = backbone, mode

    def start(self, goal: str, observation: str = "") -> Memory:
        """Judge the first observation. If that is "", no model is asked and the reward is 0."""
        memory = Memory(goal)
        return self.advance(memory, NO_ACTION, observation) if observation else memory

    def advance(self, memory: Memory, action: str, observation: str) -> Memory:
        """Judge the next step. If the answer is malformed even after the retry, the reward stays unchanged."""
        newest = Exchange(action, observation)
        if self.mode == "stateful":
            answer = self._answer(
                goal=memory.goal, belief=memory.belief, action=newest.action, observation=newest.observation
            )
            memory = replace(memory, belief=memory.belief if answer is None else answer.belief)
        else:
            # Table 8 includes the full history at every step, so tokens grow quadratically with the steps.
            memory = replace(memory, history=(*memory.history, newest))
            answer = self._answer(goal=memory.goal, history=memory.history)
        if answer is None:
            return replace(memory, malformed=memory.malformed + 1, unread=True)
        # Table 8 asks for 0 to 100; rewards in Eq. 2 are in [0, 1].
        return replace(memory, reward=answer.reward / 100, unread=False)

    def score(self, memory: Memory) -> float:
        return memory.reward

    def flags(self, memories: Sequence[Memory]) -> Flags:
        """Flags: "unread" where the answer was malformed."""
        return tuple(frozenset([UNREAD] * memory.unread) for memory in memories)

    def result(self, memories: Sequence[Memory]) -> dict[str, Any]:
        malformed = memories[-1].malformed if memories else 0
        return super().result(memories) | {"malformed": malformed}

    def _answer(self, **fields: Any) -> Any:
        """The parsed answer, of the mode's answer class; None if it is malformed."""
        try:
            return self.backbone.ask(PROMPTS[self.mode], **fields).value
        except MalformedAnswer:
            return None
