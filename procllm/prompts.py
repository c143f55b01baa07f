"""The prompts of the loop: what to do next, and whether the current task is done (paper B.1, F.2).

Each is there twice. NARROWED is answered by one of the commands that it lists, ACTING by any; CHECKING asks a second
verifier, such as a program, what VERIFYING asks the first.

The wording stands in `procllm/prompt_texts`; its sentences are our own. What else differs from the paper's: answers are
JSON throughout (the verifier's `satisfied` stands for its last line); lines of a file that look like a heading of the
prompt are set off, so that they can be read as nothing but text; and what changes least comes first, since a server
that keeps the beginning of its last prompt reads only what is new. Of the action prompt these are rules and files, the
notes, which mostly grow, and the task; the verifier is shown the documents before the files that the agent writes, and
the effect last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from lab.models.prompt_files import read_prompt
from lab.models.prompts import AnswerModel, Fields, Listing, limited
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
    listed: Any = Literal[fields.commands]  # made at run time, which no type checker can follow
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
    """The longest of notes, last output and last answer with its end cut off. None if there is nothing more to cut."""
    longest = max(("last_response", "last_output", "notes"), key=lambda name: len(getattr(fields, name)))
    text = _cut(getattr(fields, longest), over)
    return None if text is None else fields.model_copy(update={longest: text})


def shorter_files(fields: VerifyFields, over: int) -> VerifyFields | None:
    """The longest file with its end cut off. None if there is nothing more to cut."""
    longest = max(fields.files, key=lambda file: len(file[1]), default=("", ""))
    text = _cut(longest[1], over)
    files = tuple((path, text) if path == longest[0] else (path, other) for path, other in fields.files)
    return None if text is None else fields.model_copy(update={"files": files})


def _cut(text: str, over: int) -> str | None:
    """Shorter by what is over, yet at most by half, so that no one text pays for all."""
    kept = text.removesuffix(CUT)
    if len(kept) < 2 * len(CUT):
        return None
    return kept[: max(len(kept) - over - len(CUT), len(kept) // 2)] + CUT


ACTING = read_prompt("procllm/act.md", ActFields, Response, shorten=shorter)
NARROWED = read_prompt(
    "procllm/act_narrowed.md", NarrowedFields, Command, shorten=shorter, narrow=_one_of,
    listings=(Listing("commands", "command"),),
)  # fmt: skip
VERIFYING = read_prompt("procllm/verify.md", VerifyFields, VerifyAnswer, shorten=shorter_files)
CHECKING = replace(VERIFYING, name="procllm.check", operator="check")
