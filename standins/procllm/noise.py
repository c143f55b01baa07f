"""Noise for the engine `rules@p` on the loop's prompts: plausible wrong answers within the schema."""

from __future__ import annotations

import re
from random import Random

from lab.models.rules import corruption, verdict
from procllm.actions import Action, Append, Command, Read, Response, Verify, Write, action_of, command_of, stated
from procllm.prompts import (
    ACTING,
    CHECKING,
    NARROWED,
    VERIFYING,
    ActFields,
    NarrowedFields,
    VerifyAnswer,
    VerifyFields,
)


@corruption(ACTING)
def noisy_action(fields: ActFields, answer: Response, random: Random, early: bool = True) -> Response:
    """One of the errors that the paper reports: a text with a mistake, a premature Verify, or a repeated Read.

    early: whether a premature Verify is one of them.
    """
    right_action = answer.action.typed
    errors: list[Action] = [Read(random.choice(fields.files).path)]
    errors += [Verify()] if early and not isinstance(right_action, Verify) else []
    if isinstance(right_action, Write | Append):
        corrupted = type(right_action)(right_action.path, corrupt_text(right_action.text, random))
        # Verification is there to catch mistakes in texts, so these are as likely as all other errors together.
        errors += [corrupted] * len(errors)
    # The sampled Read may be the right action itself.
    errors = [error for error in errors if error != right_action] or [Read(fields.files[0].path)]
    return answer.model_copy(update={"action": stated(random.choice(errors))})


@corruption(NARROWED)
def noisy_command(fields: NarrowedFields, answer: Command, random: Random) -> Command:
    """One of the same errors, if it may be chosen; else another command."""
    response = Response(observation="", thought="", action=stated(answer.typed))
    wrong = noisy_action(fields, response, random).typed
    if command_of(wrong) not in fields.commands:
        others = [command for command in fields.commands if command != answer.command]
        wrong = action_of(random.choice(others), answer.text) if others else answer.typed
    return answer.model_copy(update={"command": command_of(wrong), "text": getattr(wrong, "text", "")})


@verdict(CHECKING)
@verdict(VERIFYING)
def passes(answer: VerifyAnswer) -> bool:
    """Whether the verdict accepts the task."""
    return answer.satisfied


@corruption(CHECKING)
@corruption(VERIFYING)
def noisy_verdict(fields: VerifyFields, answer: VerifyAnswer, random: Random) -> VerifyAnswer:
    """The opposite verdict."""
    return answer.model_copy(update={"satisfied": not answer.satisfied, "analysis": "At a glance it looks so."})


def corrupt_text(text: str, random: Random) -> str:
    """The text with one mistake: a line removed, two words exchanged, or a digit changed.

    Some mistakes do no harm: a plan may work without a line, and notes may repeat themselves.
    """
    ways = [_without_a_line, _exchanged, _another_number]
    random.shuffle(ways)
    # A text without a line, a word or a digit still has to change, or the noise would be weaker than stated.
    return next((corrupted for way in ways if (corrupted := way(text, random)) != text), text + " and so on")


def _without_a_line(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    filled = [index for index, line in enumerate(lines) if line.strip()]
    if filled:
        del lines[random.choice(filled)]
    return "".join(lines)


def _exchanged(text: str, random: Random) -> str:
    words = [match.span() for match in re.finditer(r"\w+", text)]
    if len(words) < 2:
        return text
    (a, b), (c, d) = sorted(random.sample(words, 2))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def _another_number(text: str, random: Random) -> str:
    digits = [match.start() for match in re.finditer(r"\d", text)]
    if not digits:
        return text
    position = random.choice(digits)
    return text[:position] + random.choice([d for d in "0123456789" if d != text[position]]) + text[position + 1 :]
