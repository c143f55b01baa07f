"""Typed answers of acting agents. Each is written as free text by `as_text` and parsed strictly by `from_text`.

Free text is the default, as in the papers: only then can malformed answers be counted. Bound to a schema, the same
answers come as JSON. Parsers raise MalformedAnswer; the model is shown the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeVar, cast

from pydantic import AfterValidator, ConfigDict, Field

from lab.models.answers import AnswerModel, FreeText, limited
from lab.models.backbone import MalformedAnswer

A = TypeVar("A", bound=Any)
MOST_STEPS = 30  # of a plan; a model that repeats itself would never stop
MOST_WORDS = 600  # characters of a lesson or a thought
NUMBERED = re.compile(r"(\d{1,6})\. +(.*\S)")
AFTER = re.compile(r"(.*\S) \(after (\d{1,6}(?:, ?\d{1,6})*)\)")


def one_line(text: str) -> str:
    """The text on one line, since plans are shown as lines. Raises ValueError if it has no words."""
    if not text.split():
        raise ValueError("it is empty")
    return " ".join(text.split())


Line = Annotated[str, AfterValidator(one_line)]


def read(value: Any, kind: type[A]) -> A:
    """Parse a backbone's value into the answer that was asked for. Raises MalformedAnswer with words for the model."""
    return cast(A, kind.from_text(value.text) if isinstance(value, FreeText) else value)


def as_text(answer: Any) -> str:
    """An answer as it is stored: free text, or JSON if its type has no text form."""
    if isinstance(answer, FreeText):
        return answer.text
    return str(answer.as_text() if hasattr(answer, "as_text") else answer.model_dump_json())


def in_form(answer: Any, free: bool) -> AnswerModel:
    """The answer as a model would give it: as free text, or bound to the schema. Rules and noise answer this way."""
    return FreeText(text=answer.as_text()) if free else answer


def labelled(text: str, first: str, second: str) -> tuple[str, str]:
    """The texts that follow two labels, each label at the start of a line, bold or plain. Raises MalformedAnswer."""
    text = re.sub(rf"^([*_]{{1,3}})({first}|{second})(?::\1|\1:|:(.*)\1$)", r"\2:\3", text.strip(), flags=re.MULTILINE)
    match = re.fullmatch(rf"{first}:(.*?)\n{second}:(.*)", text, re.DOTALL)
    if not match:
        raise MalformedAnswer(f"it is not a line that begins with `{first}:` and then one that begins with `{second}:`")
    parts = match[1].strip(), match[2].strip()
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
    """Restricts the action of an `Act` to a form, a regular expression of the whole action: a prompt's `narrow`.

    Only a model that is bound to the schema is held to it.
    """

    form: str

    def __call__(self, fields: Any) -> type[Act]:
        """The restricted `Act`, the same class for all fields."""
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
        after = [f" (after {', '.join(map(str, goal.after))})" if goal.after else "" for goal in self.goals]
        return "\n".join(f"{goal.number}. {goal.goal}{needs}" for goal, needs in zip(self.goals, after, strict=True))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises MalformedAnswer."""
        return cls(goals=[_sub_goal(*line) for line in numbered(text).items()])

    def checked(self, first: int) -> Self:
        """This graph, if its numbers run on from `first` and goals need only earlier ones. Raises MalformedAnswer."""
        for number, goal in enumerate(self.goals, start=first):
            if goal.number != number:
                raise MalformedAnswer(f"number {number} was due where {goal.number} stands")
            if wrong := [other for other in goal.after if not 0 < other < number]:
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
    """Parse a text of numbered lines only, which count from `first`; 0 for any. Raises MalformedAnswer."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    matches = [NUMBERED.fullmatch(line) for line in lines]
    numbers = [int(match[1]) for match in matches if match]
    first = first or next(iter(numbers), 1)
    if not numbers or numbers != list(range(first, first + len(lines))):
        raise MalformedAnswer("it is not lines that begin with `1.`, `2.` and so on, without gaps or other lines")
    if len(numbers) > MOST_STEPS:
        raise MalformedAnswer(f"it has {len(numbers)} lines, and {MOST_STEPS} are the most")
    return {int(match[1]): match[2] for match in matches if match}


def _sub_goal(number: int, line: str) -> SubGoal:
    goal, after = line, list[int]()
    if match := AFTER.fullmatch(line):
        goal, after = match[1], [int(digits) for digits in match[2].split(",")]
    return SubGoal(number=number, goal=goal, after=after)
