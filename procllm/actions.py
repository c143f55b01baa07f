"""The four actions (paper §4, B.2), and the JSON in which a model states one: freely, or as a legal command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, Field

from lab.models.answers import AnswerModel
from procllm.files import NOTES, SOLVER, File

LONGEST_PATH = 200  # characters of a path shown in the list of last commands; no listed path is longer


@dataclass(frozen=True)
class Read:
    """Show the file, with line numbers, until the next command (B.1; §4 says that it is copied into the notes)."""

    path: str


@dataclass(frozen=True)
class Write:
    """Replace the text of the file."""

    path: str
    text: str


@dataclass(frozen=True)
class Append:
    """Add text to the end of the file."""

    path: str
    text: str


@dataclass(frozen=True)
class Verify:
    """Ask whether the current task is done."""


Action = Read | Write | Append | Verify


def command_of(action: Action) -> str:
    """The action as one line of the list of last commands: its name and path, without the text."""
    name = type(action).__name__
    return name if isinstance(action, Verify) else f"{name} {' '.join(action.path[:LONGEST_PATH].split())}".strip()


def legal(texts: Mapping[File, str]) -> tuple[str, ...]:
    """The commands that the workspace accepts and that have an effect, as `command_of` writes them.

    Reading an empty file, or the notes, which are always shown, is left out. texts: file -> its text.
    """
    files = sorted(texts, key=lambda file: file.writable)  # documents first: the agent should read them first
    reads = [f"Read {file.path}" for file in files if file.path != NOTES and texts[file]]
    changes = [f"{name} {file.path}" for name in ("Write", "Append") for file in files if file.writable]
    return (*reads, *changes, "Verify")


def in_turn(commands: Iterable[str], last: str) -> tuple[str, ...]:
    """The commands that the agent may choose next, by turns. last: the last command, "" at the start.

    After a Read, or the output of a program, the agent writes; after writing it verifies; after a verdict it reads or
    writes.
    """
    name, _, path = last.partition(" ")
    if name == "Read" or path == SOLVER:
        turn: tuple[str, ...] = ("Write", "Append")
    else:
        turn = ("Verify",) if name in ("Write", "Append") else ("Read", "Write", "Append")
    return tuple(command for command in commands if command.partition(" ")[0] in turn)


def action_of(command: str, text: str = "") -> Action:
    """The action of a command of `legal`. text: what to write or append."""
    name, _, path = command.partition(" ")
    match name:
        case "Read":
            return Read(path)
        case "Write":
            return Write(path, text)
        case "Append":
            return Append(path, text)
        case _:
            return Verify()


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
        return action_of(f"{self.name} {self.action_arg1}", self.action_arg2)


class Response(AnswerModel):
    """What the action prompt is answered with (B.1, general instruction 1)."""

    observation: str = Field(description="what the current state of the task is and what was done so far")
    thought: str = Field(description="which next steps are possible, and which one to take")
    action: StatedAction = Field(description='{"name": Read, Write, Append or Verify, "action_arg1", "action_arg2"}')

    @property
    def typed(self) -> Action:
        """The action itself."""
        return self.action.typed


class Command(AnswerModel):
    """What the narrowed action prompt is answered with: one of the commands that it lists, and the text to write.

    The fields have no descriptions, since small models copy these into their answers; and there is no thought, after
    which a small model writes about the text in place of the text.
    """

    command: str
    text: str

    @property
    def typed(self) -> Action:
        """The action itself."""
        return action_of(self.command, self.text)


def stated(action: Action) -> StatedAction:
    """Convert an action to the form in which a model states it."""
    name = cast(Literal["Read", "Write", "Append", "Verify"], type(action).__name__)
    return StatedAction(name=name, action_arg1=getattr(action, "path", ""), action_arg2=getattr(action, "text", ""))
