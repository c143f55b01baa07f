"""Noise of `rules@p`: functions that make plausible wrong answers, registered beside a prompt's rule.

They are no part of a prompt, which says what a model is asked; noise belongs to the stand-in for a model. It draws
only what a model could answer: a wrong answer passes the schema, narrowed to the fields, that binds a model.

A prompt that judges (Validate, Verify) is registered as a verdict. It goes wrong at two rates, since real judges let
wrong steps pass far more often than they refuse right ones (data/published/judge_errors.csv).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from pydantic import ValidationError

from lab.models import standins
from lab.models.prompts import AnswerModel, Choice, Fields, OneOf, Prompt, faults

Corruption = Callable[[Any, Any, Random], Any]  # fields, the right answer, randomness -> another answer
Reading = Callable[[Any], bool]  # an answer that judges -> whether it certifies
C = TypeVar("C", bound=Corruption)
R = TypeVar("R", bound=Reading)
_corruptions: dict[str, Corruption] = {}
_readings: dict[str, Reading] = {}


def corruption(prompt: Prompt) -> Callable[[C], C]:
    """Register a function of (fields, answer, random) as the prompt's noise; a later one replaces it."""

    def register(function: C) -> C:
        _corruptions[prompt.name] = function
        return function

    return register


def corruption_of(prompt: Prompt) -> Corruption | None:
    """The function that is the prompt's noise, if there is one."""
    standins.load(prompt.name)
    return _corruptions.get(prompt.name)


def verdict(prompt: Prompt) -> Callable[[R], R]:
    """Register how to read an answer to a prompt that judges: a function of the answer, True if it certifies."""

    def register(function: R) -> R:
        _readings[prompt.name] = function
        return function

    return register


def certifies(prompt: Prompt, answer: AnswerModel) -> bool | None:
    """Whether the answer to a prompt that judges certifies; None for a prompt that does not judge."""
    reading = _readings.get(prompt.name)
    return None if reading is None else reading(answer)


def within_schema(prompt: Prompt, fields: Fields, answer: AnswerModel) -> AnswerModel:
    """The answer, if a model could have given it to this prompt with these fields. Raises ValueError."""
    try:
        prompt.narrowed(fields).answer.model_validate_json(answer.model_dump_json())
    except ValidationError as error:
        raise ValueError(
            f"The noise of prompt {prompt.name} made an answer that its schema does not allow: {faults(error)}. "
            "Let the corruption draw from what the prompt offers"
        ) from None
    return answer


def corrupted(prompt: Prompt, fields: Fields, answer: AnswerModel, random: Random) -> Any:
    """Returns a wrong answer in place of `answer`; where it is one of a list, by default another of them.

    Raises LookupError for a prompt without noise.
    """
    function = corruption_of(prompt)
    if function is None:
        if isinstance(prompt.narrow, OneOf):
            return _another(prompt.narrow, fields, answer, random)
        raise LookupError(
            f"Nothing says how an answer to prompt {prompt.name} goes wrong. Register a function with "
            "@lab.models.noise.corruption(PROMPT), or use the engine without a probability"
        )
    return function(fields, answer, random)


def _another(listed: OneOf, fields: Fields, answer: Any, random: Random) -> Choice:
    """Another option of the list, each as likely; a list of one option leaves nothing to get wrong."""
    others = [option for option in listed.of(fields) if option != answer.choice]
    return Choice(choice=random.choice(others)) if others else answer
