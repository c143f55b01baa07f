"""Noise of `rules@p`: functions that make plausible wrong answers, registered beside a prompt's rule.

They are no part of a prompt, which says what a model is asked; noise belongs to the stand-in for a model.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from lab.models.prompts import AnswerModel, Fields, Prompt

Corruption = Callable[[Any, Any, Random], Any]  # fields, the right answer, randomness -> another answer
C = TypeVar("C", bound=Corruption)
_corruptions: dict[str, Corruption] = {}


class NoNoise(LookupError):
    """`rules@p` was asked a prompt that has no corruption registered."""


def corruption(prompt: Prompt) -> Callable[[C], C]:
    """Register a function of (fields, answer, random) as the prompt's noise; a later one replaces it."""

    def register(function: C) -> C:
        _corruptions[prompt.name] = function
        return function

    return register


def corrupted(prompt: Prompt, fields: Fields, answer: AnswerModel, random: Random) -> Any:
    """A wrong answer in place of `answer`. Raises NoNoise."""
    try:
        function = _corruptions[prompt.name]
    except KeyError:
        raise NoNoise(
            f"Nothing says how an answer to prompt {prompt.name} goes wrong. Register a function with "
            "@lab.models.noise.corruption(PROMPT), or use the engine without a probability"
        ) from None
    return function(fields, answer, random)
