"""What acting agents answer: typed answers, each written as free text by `as_text` and read strictly by `from_text`.

Free text is the default, as the papers have it: only so can malformed answers be counted. Bound to a schema the same
answers come as JSON. Readers raise MalformedAnswer in words that are shown to the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeVar, cast

from pydantic import AfterValidator, ConfigDict, Field

from lab.models.backbone import MalformedAnswer
from lab.models.prompts import AnswerModel, FreeText, limited

A = TypeVar("A", bound=Any)
MOST_STEPS = 30  # of a plan; a model that repeats itself would plan on for ever
MOST_WORDS = 600  # characters of a lesson or a thought
NUMBERED = re.compile(r"(\d{1,6})\. +(.*\S)")
AFTER = re.compile(r"(.*\S) \(after (\d{1,6}(?:, ?\d{1,6})*)\)")


def one_line(text: str) -> str:
    """The text in one line, since plans are shown as lines. Raises ValueError for one without words."""
    if not text.split():
        raise ValueError("it is empty")
    return " ".join(text.split())


Line = Annotated[str, AfterValidator(one_line)]


def read(value: Any, kind: type[A]) -> A:
    """A backbone's value as the answer that was asked for. Raises MalformedAnswer, in words for the model."""
    return cast(A, kind.from_text(value.text) if isinstance(value, FreeText) else value)


def as_text(answer: Any) -> str:
    """An answer as it is kept: as free text, or as JSON where it has no such form."""
    if isinstance(answer, FreeText):
        return answer.text
    return str(answer.as_text() if hasattr(answer, "as_text") else answer.model_dump_json())


def in_form(answer: Any, free: bool) -> AnswerModel:
    """The answer as a model gives it: in free text, or bound to the schema. Rules and noise answer so."""
    return FreeText(text=answer.as_text()) if free else answer


def labelled(text: str, first: str, second: str) -> tuple[str, str]:
    """What follows two labels, each at the beginning of a line, in bold or plain. Raises MalformedAnswer."""
    text = re.sub(rf"^([*_]{{1,3}})({first}|{second})(?::\1|\1:|:(.*)\1$)", r"\2:\3", text.strip(), flags=re.MULTILINE)
    found = re.fullmatch(rf"{first}:(.*?)\n{second}:(.*)", text, re.DOTALL)
    if not found:
        raise MalformedAnswer(f"it is not a line that begins with `{first}:` and then one that begins with `{second}:`")
    parts = found[1].strip(), found[2].strip()
    if any(re.search(rf"^(?:{first}|{second}):", part, re.MULTILINE) for part in parts):
        raise MalformedAnswer(f"it has more than one `{first}:` and one `{second}:`")
    if not parts[1]:
        raise MalformedAnswer(f"nothing stands behind `{second}:`")
    return parts


class Act(AnswerModel):
    """A thought and an action."""

    model_config = ConfigDict(str_strip_whitespace=True)

    thought: str = Field(description="what is known and what to do next, in a sentence or two")
    action: str = Field(description="one action, written as it is listed", min_length=1)

    def as_text(self) -> str:
        return f"Thought: {self.thought}\nAction: {self.action}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises MalformedAnswer."""
        thought, action = labelled(text, "Thought", "Action")
        return cls(thought=thought, action=action)


@dataclass(frozen=True)
class ActInForm:
    """The `narrow` of a prompt that an `Act` answers, for a world whose actions have a form: a regular expression of
    the whole action. Only a model that is bound to the schema is held to it.
    """

    form: str

    def __call__(self, fields: Any) -> type[Act]:
        """The same class for all fields."""
        return limited(Act, "action", str, pattern=f"^(?:{self.form})$")


class Plan(AnswerModel):
    """Steps in words, in their order."""

    steps: list[Line] = Field(description="each one thing to do, in order", min_length=1, max_length=MOST_STEPS)

    def as_text(self) -> str:
        return "\n".join(f"{number}. {step}" for number, step in enumerate(self.steps, start=1))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises MalformedAnswer."""
        return cls(steps=list(numbered(text, first=1).values()))


class SubGoal(AnswerModel):
    """A node of the graph. after: the numbers of those whose results it needs."""

    number: int
    goal: Line
    after: list[int] = Field(description="numbers of the sub-goals whose results it needs")


class Graph(AnswerModel):
    """Sub-goals that are still to be reached: a directed acyclic graph, since each needs earlier ones alone."""

    goals: list[SubGoal] = Field(min_length=1, max_length=MOST_STEPS)

    def as_text(self) -> str:
        after = [f" (after {', '.join(map(str, one.after))})" if one.after else "" for one in self.goals]
        return "\n".join(f"{one.number}. {one.goal}{needs}" for one, needs in zip(self.goals, after, strict=True))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises MalformedAnswer."""
        return cls(goals=[_sub_goal(*line) for line in numbered(text).items()])

    def checked(self, first: int) -> Self:
        """Itself, where it is numbered from `first` on and each needs earlier ones. Raises MalformedAnswer."""
        for number, one in enumerate(self.goals, start=first):
            if one.number != number:
                raise MalformedAnswer(f"number {number} was due where {one.number} stands")
            if wrong := [other for other in one.after if not 0 < other < number]:
                raise MalformedAnswer(f"{number} comes after {wrong[0]}, which is no earlier one")
        return self


class Judged(AnswerModel):
    """Whether an attempt solved the task, after a reason."""

    reason: str = Field(description="what the task asks for, and whether it was done, in a sentence or two")
    solved: bool

    def as_text(self) -> str:
        return f"Reason: {self.reason}\nSolved: {'yes' if self.solved else 'no'}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises MalformedAnswer."""
        reason, word = labelled(text, "Reason", "Solved")
        if word.lower().rstrip(".") not in ("yes", "no"):
            raise MalformedAnswer("what stands behind `Solved:` is neither yes nor no")
        return cls(reason=reason, solved=word.lower().startswith("yes"))


class Sentence(AnswerModel):
    """A lesson, or a thought: a few words in one line."""

    text: Line = Field(description="one sentence", max_length=MOST_WORDS)

    def as_text(self) -> str:
        return self.text

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises MalformedAnswer."""
        if len(text.strip().splitlines()) != 1 or len(text.strip()) > MOST_WORDS:
            raise MalformedAnswer(f"it is not one line of at most {MOST_WORDS} characters")
        return cls(text=text)


def numbered(text: str, first: int = 0) -> dict[int, str]:
    """Numbered lines and nothing else, from `first` on; 0 for any number. Raises MalformedAnswer."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = [NUMBERED.fullmatch(line) for line in lines]
    numbers = [int(match[1]) for match in found if match]
    first = first or next(iter(numbers), 1)
    if not numbers or numbers != list(range(first, first + len(lines))):
        raise MalformedAnswer("it is not lines that begin with `1.`, `2.` and so on, without gaps or other lines")
    if len(numbers) > MOST_STEPS:
        raise MalformedAnswer(f"it has {len(numbers)} lines, and {MOST_STEPS} are the most")
    return {int(match[1]): match[2] for match in found if match}


def _sub_goal(number: int, line: str) -> SubGoal:
    goal, after = line, list[int]()
    if match := AFTER.fullmatch(line):
        goal, after = match[1], [int(one) for one in match[2].split(",")]
    return SubGoal(number=number, goal=goal, after=after)
