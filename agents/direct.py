"""The plainest agent: the answer in one call."""

from __future__ import annotations

from agents.prompts import DIRECT
from lab.models.backbone import Backbone


def direct(backbone: Backbone, question: str, form: str, evidence: str = "") -> str:
    """The answer from the evidence or, without any, from what the model knows.

    form: how to answer, in words. Raises MalformedAnswer, and what the backbone raises.
    """
    return backbone.ask(DIRECT, evidence=evidence, question=question, form=form).value.answer
