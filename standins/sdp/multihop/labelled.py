"""Floors for judges of labelled steps: whether the words in common are enough, with the noise of Validate's prompts."""

from __future__ import annotations

from lab.models.rules import corruption, rule, verdict
from sdp.adapters.multihop.filters import content_words
from sdp.adapters.multihop.labelled import ANSWER, HOP
from sdp.adapters.multihop.prompts import Consistent, ConsistentFields, Verified, VerifyFields
from standins.sdp.multihop import noise


@rule(HOP)
def overlaps(fields: VerifyFields) -> Verified:
    """A floor for judges: whether half of the content words that were asked for stand in the text."""
    wanted, there = set(content_words(fields.asked)), set(content_words(f"{fields.title} {fields.text}"))
    supported = bool(wanted) and 2 * len(wanted & there) >= len(wanted)
    return Verified(reason="by the words in common", supported=supported)


@rule(ANSWER)
def stands_there(fields: ConsistentFields) -> Consistent:
    """The same of an answer: whether its content words, where it has any, stand in one of the findings."""
    wanted = set(content_words(fields.answer))
    consistent = any(wanted <= set(content_words(f"{finding.entity} {finding.finding}")) for finding in fields.found)
    return Consistent(reason="by the words in common", consistent=consistent)


corruption(HOP)(noise.misjudged)
verdict(HOP)(noise.supports)
corruption(ANSWER)(noise.misweighed)
verdict(ANSWER)(noise.agrees)
