"""The four actions (paper §4, B.2), and the JSON in which a model states one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, Field

from lab.models.prompts import AnswerModel

LONGEST_PATH = 200  # characters of a path that the list of last commands shows; no listed file's is longer


@dataclass(frozen=True)
class Read:
    """Show the file, with line numbers, until the next command (B.1; §4 says that it is copied into the notes)."""

    path: str


@dataclass(frozen=True)
class Write:
    """Replace what the file holds."""

    path: str
    text: str


@dataclass(frozen=True)
class Append:
    """Add to the end of the file."""

    path: str
    text: str


@dataclass(frozen=True)
class Verify:
    """Ask whether the current task is done."""


Action = Read | Write | Append | Verify


def command_of(action: Action) -> str:
    """The action as the list of last commands shows it, on one line: its name and its file, without the text."""
    name = type(action).__name__
    return name if isinstance(action, Verify) else f"{name} {' '.join(action.path[:LONGEST_PATH].split())}".strip()


def _capitalised(name: object) -> object:
    return name.strip().capitalize() if isinstance(name, str) else name


class StatedAction(AnswerModel):
    """An action as a model states it. Arguments that an action does not need are empty."""

    name: Annotated[Literal["Read", "Write", "Append", "Verify"], BeforeValidator(_capitalised)]
    action_arg1: str = Field(description="the file's path; empty for Verify")
    action_arg2: str = Field(description="the text to write or append; else empty")

    @property
    def typed(self) -> Action:
        """The action itself."""
        match self.name:
            case "Read":
                return Read(self.action_arg1)
            case "Write":
                return Write(self.action_arg1, self.action_arg2)
            case "Append":
                return Append(self.action_arg1, self.action_arg2)
            case _:
                return Verify()


class Response(AnswerModel):
    """What the action prompt is answered with (B.1, general instruction 1)."""

    observation: str = Field(description="what the current state of the task is and what was done so far")
    thought: str = Field(description="which next steps are possible, and which one to take")
    action: StatedAction = Field(description='{"name": Read, Write, Append or Verify, "action_arg1", "action_arg2"}')


def stated(action: Action) -> StatedAction:
    """The action in the form in which a model states it."""
    name = cast(Literal["Read", "Write", "Append", "Verify"], type(action).__name__)
    return StatedAction(name=name, action_arg1=getattr(action, "path", ""), action_arg2=getattr(action, "text", ""))
