"""What acting agents answer: typed answers, each written as free text by `as_text` and read strictly by `from_text`.

Free text is the default, as the papers have it: only so can malformed answers be counted. Bound to a schema the same
answers come as JSON. Readers raise MalformedAnswer in words that are shown to the model.
"""

from __future__ import annotations

import re
from typing import Any, Self, TypeVar, cast

from pydantic import ConfigDict, Field

from lab.models.parsing import MalformedAnswer
from lab.models.prompts import AnswerModel, FreeText


A = TypeVar("A", bound=Any)


def read(value: Any, kind: type[A]) -> A:
    """A backbone's value as the answer that was asked for. Raises MalformedAnswer, in words for the model."""
    return cast(A, kind.from_text(value.text) if isinstance(value, FreeText) else value)


def in_form(answer: Any, free: bool) -> AnswerModel:
    """The answer as a model gives it: in free text, or bound to the schema. Rules and noise answer so."""
    return FreeText(text=answer.as_text()) if free else answer


def labelled(text: str, first: str, second: str) -> tuple[str, str]:
    """What stands behind two labels, each at the beginning of a line. Raises MalformedAnswer."""
    found = re.fullmatch(rf"{first}:(.*?)\n{second}:(.*)", text.strip(), re.DOTALL)
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
