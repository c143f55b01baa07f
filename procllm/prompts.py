"""The prompts of the loop: what to do next, and whether the current task is done (paper B.1, F.2).

Each has two variants. ACTING accepts any command, NARROWED only one of those that it lists. VERIFYING asks the first
verifier, and CHECKING asks the same of a second one, such as a program.

The wording is in `procllm/prompt_texts`, in sentences of our own. Other differences from the paper's prompts:

- All answers are JSON; the verifier's `satisfied` replaces its last line.
- Lines of a file that look like a heading of the prompt are set off, so that they are read as plain text.
- What changes least comes first, because a server that caches the beginning of its last prompt reads only the rest. In
  the action prompt, rules and files come first, then the notes, which mostly grow, then the task. The verifier sees the
  documents before the files that the agent writes, and the effect last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from lab.models.answers import AnswerModel, Listing, limited
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields
from procllm.actions import Command, Response
from procllm.files import File

CUT = "\n[... cut here for length]"


class ActFields(Fields):
    """What the action prompt shows. last_response: JSON, what could not be read as such, or "". last_commands: the last
    ten, oldest first.

    last_output: what the last command alone showed; it is gone with the next one. nudge: whether the prompt ends with a
    reminder to note what was read and not to read it again, which is not the paper's and works against §6's loops.
    """

    files: tuple[File, ...]
    notes: str
    last_response: str
    last_commands: tuple[str, ...]
    last_output: str
    task: str
    effect: str
    nudge: bool = False


class NarrowedFields(ActFields):
    """What the narrowed prompt shows. commands: those that may be chosen."""

    commands: tuple[str, ...]


def _one_of(fields: NarrowedFields) -> type[Command]:
    listed: Any = Literal[fields.commands]  # built at run time, which no type checker can follow
    return limited(Command, "command", listed)


class VerifyFields(Fields):
    """What the verifier sees: the effect, and path and text of its effect files, nothing else (paper F).

    files: those that do not change in an episode first.
    """

    effect: str
    files: tuple[tuple[str, str], ...]


class VerifyAnswer(AnswerModel):
    """What the verifier says."""

    analysis: str = Field(description="each condition of the effect, and whether the files meet it, with reasons")
    satisfied: bool = Field(description="true only if every condition is met")


def shorter(fields: ActFields, over: int) -> ActFields | None:
    """Cut the end of the longest of notes, last output and last answer; None if nothing is left to cut.

    over: characters that the prompt is too long.
    """
    longest = max(("last_response", "last_output", "notes"), key=lambda name: len(getattr(fields, name)))
    text = _cut(getattr(fields, longest), over)
    return None if text is None else fields.model_copy(update={longest: text})


def shorter_files(fields: VerifyFields, over: int) -> VerifyFields | None:
    """Cut the end of the longest file; None if nothing is left to cut. over: as in `shorter`."""
    longest = max(fields.files, key=lambda file: len(file[1]), default=("", ""))
    text = _cut(longest[1], over)
    files = tuple((path, text) if path == longest[0] else (path, other) for path, other in fields.files)
    return None if text is None else fields.model_copy(update={"files": files})


def _cut(text: str, over: int) -> str | None:
    """The text cut by `over` characters, at most by half, so that no single text bears it all; None if too short."""
    body = text.removesuffix(CUT)
    if len(body) < 2 * len(CUT):
        return None
    return body[: max(len(body) - over - len(CUT), len(body) // 2)] + CUT


ACTING = read_prompt("procllm/act.md", ActFields, Response, shorten=shorter)
NARROWED = read_prompt(
    "procllm/act_narrowed.md", NarrowedFields, Command, shorten=shorter, narrow=_one_of,
    listings=(Listing("commands", "command"),),
)  # fmt: skip
VERIFYING = read_prompt("procllm/verify.md", VerifyFields, VerifyAnswer, shorten=shorter_files)
CHECKING = replace(VERIFYING, name="procllm.check", operator="check")
