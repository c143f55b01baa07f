"""Chain of thought (Wei et al. 2022), without examples: one call that reasons before it answers."""

from __future__ import annotations

from agents.prompts import CHAIN_OF_THOUGHT
from lab.models.backbone import Backbone


def chain_of_thought(backbone: Backbone, question: str, form: str, evidence: str = "") -> str:
    """The answer that the reasoning ends with; arguments and errors as of `agents.direct`."""
    return backbone.ask(CHAIN_OF_THOUGHT, evidence=evidence, question=question, form=form).value.answer
