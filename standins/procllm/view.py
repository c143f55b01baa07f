"""What an action prompt holds, taken apart for rules; and the form in which the rules keep notes.

The rules' notes are sections: a heading line "## name", then the text with every line indented, so that nothing in a
document can pass for a heading. Of two sections with one name the later counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, Protocol

from procllm.actions import Action, Append, Verify, Write
from procllm.files import ANSWER, ERRORS, FAILED, NOTES, PRINTED, REQUEST

HEADING, INDENT = "## ", "  "


class View(NamedTuple):
    """task, effect: of the current task. sections: the notes by heading. commands: the last ten, oldest first.

    output: what the last command showed; of a Read, the file's text without line numbers. files: the paths there are.
    """

    task: str
    effect: str
    sections: Mapping[str, str]
    commands: tuple[str, ...]
    output: str
    files: frozenset[str]

    @property
    def last(self) -> str:
        """The last command, or "" at the start."""
        return self.commands[-1] if self.commands else ""

    @property
    def rejected(self) -> bool:
        """Whether the last command was a Verify that did not pass."""
        return self.last == "Verify" and self.output.startswith(FAILED)

    @property
    def printed(self) -> str:
        """What the solver printed, where the last command changed it; else ""."""
        after = self.output.rsplit(f"\n{PRINTED}\n", 1)
        return after[1].rsplit(f"\n{ERRORS}\n", 1)[0] if len(after) > 1 else ""

    def since_verify(self, command: str) -> bool:
        """Whether the command was given after the latest Verify; after a rejection, then, it counts no more."""
        since: list[str] = []
        for each in self.commands:
            since = [] if each == "Verify" else [*since, each]
        return command in since

    def wanted(self, *words: str) -> bool:
        """Whether the task or its effect speaks of any of the words."""
        text = f"{self.task} {self.effect}".lower()
        return any(word in text for word in words)


def note(name: str, text: str) -> Append:
    """The action that appends a section to the notes."""
    body = "\n".join(INDENT + line for line in text.strip("\n").split("\n"))
    return Append(NOTES, f"{HEADING}{name}\n{body}\n")


@lru_cache(maxsize=16)  # an episode's notes change seldom, and are read at every step
def sections(notes: str) -> Mapping[str, str]:
    """The notes' sections by heading, the later of two with the same heading."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in notes.split("\n"):
        if line.startswith(HEADING):
            lines = found[line[len(HEADING) :].strip()] = []
        else:
            lines.append(line.removeprefix(INDENT))
    return {name: "\n".join(text).strip("\n") for name, text in found.items()}


def product_in(
    text: str, products: Mapping[str, str], documents: str, reached: str, others: tuple[str, ...]
) -> str | None:
    """What a task or effect is about: the first of the products whose words it has, or None.

    A text about `documents` may name one of `others` as well, and is about it only if it has words for what is
    `reached`.
    """
    text = text.lower()
    found = next((name for name, words in products.items() if re.search(words, text)), None)
    about_document = re.search(documents, text) and not re.search(reached, text)
    return None if found in others and about_document else found


def without_numbers(output: str) -> str:
    """The text of a file from what Read shows of it: a line that names the file, then its lines, numbered."""
    return "\n".join(re.sub(r"^\d+: ?", "", line) for line in output.split("\n")[1:])


class Judgement(NamedTuple):
    """What a rule says of an effect. analysis: why."""

    satisfied: bool
    analysis: str


class DomainRules(Protocol):
    """What rules know of one domain, beyond taking notes of documents. Each domain's module here has one, `RULES`.

    Whoever inherits says its name, the domain's problem specification and `answer`, and has the rest of a domain whose
    answer is written in one go.
    """

    name: str
    specification: str  # not asked of rules that have their own `recognises`

    def recognises(self, specification: str) -> float:
        """How surely, in [0, 1], the text is this domain's problem specification, with a mistake in it perhaps.

        By default the share of words that both have, of those that either has. The name alone would not do: a domain
        called "plan" would take every specification that speaks of plans for its own.
        """
        ours, theirs = (set(text.lower().split()) for text in (self.specification, specification))
        return len(ours & theirs) / max(len(ours | theirs), 1)

    def act(self, view: View) -> Action:
        """The next action for the current task; request and specification are in the notes' sections by then."""
        written = view.since_verify(f"Write {ANSWER}")
        return Verify() if written else Write(ANSWER, self.answer(view.sections.get("request", "")))

    def judge(self, effect: str, files: Mapping[str, str]) -> Judgement | None:
        """Whether the files, path -> text, show the effect; None if this domain knows nothing of such an effect."""
        if ANSWER not in files or REQUEST not in files:
            return None
        right = files[ANSWER].split() == self.answer(files[REQUEST]).split()
        return Judgement(right, "The answer is the one that I would give." if right else "I would answer otherwise.")

    def answer(self, request: str) -> str:
        """What answer.txt should hold. Of rules that have their own `act` and `judge`, nothing is asked."""
        raise NotImplementedError(f"the rules of {self.name} have no answer to a request")
