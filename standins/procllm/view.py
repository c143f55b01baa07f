"""The fields of an action prompt, parsed for rules; and the format of the rules' notes.

The notes are sections: a heading line "## name", then the text with every line indented, so that no line of a document
can look like a heading. Of two sections with the same name, the later counts.
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

    output: what the last command showed; after a Read, the file's text without line numbers. files: the workspace's
    paths.
    """

    task: str
    effect: str
    sections: Mapping[str, str]
    commands: tuple[str, ...]
    output: str
    files: frozenset[str]

    @property
    def last(self) -> str:
        """The last command; "" at the start."""
        return self.commands[-1] if self.commands else ""

    @property
    def rejected(self) -> bool:
        """Whether the last command was a Verify that was rejected."""
        return self.last == "Verify" and self.output.startswith(FAILED)

    @property
    def printed(self) -> str:
        """The solver's output, if the last command changed the solver; else ""."""
        parts = self.output.rsplit(f"\n{PRINTED}\n", 1)
        return parts[1].rsplit(f"\n{ERRORS}\n", 1)[0] if len(parts) > 1 else ""

    def since_verify(self, command: str) -> bool:
        """Whether the command was given after the latest Verify; so a rejection makes it count as not given."""
        commands_since: list[str] = []
        for given in self.commands:
            commands_since = [] if given == "Verify" else [*commands_since, given]
        return command in commands_since

    def wanted(self, *words: str) -> bool:
        """Whether the task or its effect contains any of the words."""
        text = f"{self.task} {self.effect}".lower()
        return any(word in text for word in words)


def note(name: str, text: str) -> Append:
    """The action that appends a section to the notes."""
    body = "\n".join(INDENT + line for line in text.strip("\n").split("\n"))
    return Append(NOTES, f"{HEADING}{name}\n{body}\n")


@lru_cache(maxsize=16)  # an episode's notes seldom change and are parsed at every step
def sections(notes: str) -> Mapping[str, str]:
    """The notes' sections by heading; of two with the same heading, the later."""
    lines_of: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in notes.split("\n"):
        if line.startswith(HEADING):
            lines = lines_of[line[len(HEADING) :].strip()] = []
        else:
            lines.append(line.removeprefix(INDENT))
    return {name: "\n".join(text).strip("\n") for name, text in lines_of.items()}


def product_in(
    text: str, products: Mapping[str, str], documents: str, reached: str, others: tuple[str, ...]
) -> str | None:
    """The product that a task or effect is about: the first whose words it contains, or None.

    A text with words of `documents` may name one of the products `others` too. It is about that product only if it also
    has words of `reached`.
    """
    text = text.lower()
    product = next((name for name, words in products.items() if re.search(words, text)), None)
    about_document = re.search(documents, text) and not re.search(reached, text)
    return None if product in others and about_document else product


def without_numbers(output: str) -> str:
    """A file's text from a Read's output: without the first line, which names the file, and line numbers."""
    return "\n".join(re.sub(r"^\d+: ?", "", line) for line in output.split("\n")[1:])


class Judgement(NamedTuple):
    """The verdict of a rule on an effect. analysis: the reason."""

    satisfied: bool
    analysis: str


class DomainRules(Protocol):
    """The rules of one domain, except those for notes on documents. Each domain's module has one instance, `RULES`.

    A subclass gives its name, the domain's problem specification and `answer`; it inherits everything else if the
    answer is written in one step.
    """

    name: str
    specification: str  # not needed by rules with their own `recognises`

    def recognises(self, specification: str) -> float:
        """Certainty, in [0, 1], that the text is this domain's problem specification, perhaps with a mistake in it.

        By default the share of words in both texts among the words in either. The name alone would not do: a domain
        called "plan" would claim every specification that mentions plans.
        """
        ours, theirs = (set(text.lower().split()) for text in (self.specification, specification))
        return len(ours & theirs) / max(len(ours | theirs), 1)

    def act(self, view: View) -> Action:
        """The next action for the current task. The notes then have the request and the specification."""
        written = view.since_verify(f"Write {ANSWER}")
        return Verify() if written else Write(ANSWER, self.answer(view.sections.get("request", "")))

    def judge(self, effect: str, files: Mapping[str, str]) -> Judgement | None:
        """Whether the files (path -> text) show the effect; None if this domain cannot judge such an effect."""
        if ANSWER not in files or REQUEST not in files:
            return None
        same = _lines(files[ANSWER]) == _lines(self.answer(files[REQUEST]))
        return Judgement(same, "The answer is the one that I would give." if same else "I would answer otherwise.")

    def answer(self, request: str) -> str:
        """The text for answer.txt. Not needed by rules with their own `act` and `judge`."""
        raise NotImplementedError(f"the rules of {self.name} have no answer to a request")


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]
