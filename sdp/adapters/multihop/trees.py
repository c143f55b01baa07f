"""A backbone that answers from a recorded question tree, so that SDP's loop runs on what a real model once answered.

Propose returns the root's children. Realize returns a sub-question's recorded answers, one per try: open book, then
from its children, then closed book. Replan returns the question itself, which is all that remains. Validate is the
string certificate, a program without a model. What the model would have answered after another earlier answer is not
recorded: there the answer is malformed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import Any

from lab.models.backbone import Answer, Call, MalformedAnswer
from lab.models.engines import parse
from lab.models.prompts import Prompt
from sdp.adapters.multihop import prompts
from sdp.adapters.multihop.filters import content_words, entities_of, ranked
from worlds.multihop.index import folded, words
from worlds.multihop.metrics import normalised
from worlds.multihop.trees import Node, Tree

ARTICLES = ("a", "an", "the")
UNRECORDED = "nothing is recorded"


class TreeBackbone:
    """A backbone for one question; no model is asked.

    certify: None for the string certificate; else the placebo, a coin that certifies a finding with this probability,
    and gives the same finding the same verdict. seed: of the coin.
    """

    engine = parse("rules")  # of whatever is not recorded

    def __init__(self, tree: Tree, certify: float | None = None, seed: int = 0) -> None:
        self.tree, self.certify, self.seed = tree, certify, seed
        self._answers: dict[str, Callable[[Any], Any]] = {
            prompts.DECOMPOSE.name: self._decompose,
            prompts.REPLAN.name: self._replan,
            prompts.EXTRACT.name: self._extract,
            prompts.VERIFY.name: self._verify,
            prompts.ANSWER.name: self._answer,
            prompts.CONSISTENT.name: self._consistent,
        }

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """The tree's answer to a prompt. Raises MalformedAnswer if it has none."""
        if prompt.name not in self._answers:
            raise MalformedAnswer(f"a recorded tree answers no {prompt.name}; play it where paragraphs are given")
        value = self._answers[prompt.name](prompt.fill(**fields))
        return Answer(value, Call(prompt.operator, prompt.name, "rules", cached=True))

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """Returns "": nothing is sent, so nothing can be recorded."""
        return ""

    def _decompose(self, fields: prompts.DecomposeFields) -> prompts.SubQuestions:
        """The tree's own sub-questions after the planned ones."""
        hops = [hop.asked for hop in self.tree.hops]
        if not 1 <= len(hops) <= prompts.MOST_HOPS:
            raise MalformedAnswer(f"the tree has {len(hops)} sub-questions; a plan has 1 to {prompts.MOST_HOPS}")
        remaining = hops[len(fields.planned) :]
        return prompts.SubQuestions(questions=remaining[:1] if fields.single else remaining)

    def _replan(self, fields: prompts.ReplanFields) -> prompts.SubQuestions:
        """The question itself, once."""
        if any(failure.tried.startswith(fields.question) for failure in fields.refused):
            raise MalformedAnswer("nothing is left of the tree: the answers to the question itself were rejected")
        return prompts.SubQuestions(questions=[fields.question])

    def _extract(self, fields: prompts.ExtractFields) -> prompts.Extract:
        """The next recorded answer, with the paragraph that holds it and shares most words with the finding, if any."""
        node = self._node(fields.question, fields.asked)
        tried = {failure.tried for failure in fields.refused}
        for answer in node.answers:
            finding = f"{fields.asked} {answer}"
            if finding not in tried:
                holding = [(p.title, p.text) for p in fields.paragraphs if says(p.text, answer)]
                best = ranked(holding, finding)[:1]
                return prompts.Extract(title=holding[best[0]][0] if best else "", finding=finding, entity=answer)
        raise MalformedAnswer(f"the tree has no further answer to {fields.asked!r}")

    def _verify(self, fields: prompts.VerifyFields) -> prompts.Verified:
        answer = fields.finding.removeprefix(fields.asked).strip()
        if self.certify is not None:
            certified = Random(f"{self.seed} {fields.finding}").random() < self.certify
            return prompts.Verified(reason="the coin says so", supported=certified)
        reason = uncertified(fields.title, fields.text, fields.asked, answer)
        return prompts.Verified(reason=reason or "it says so", supported=not reason)

    def _answer(self, fields: prompts.AnswerFields) -> prompts.Final:
        """The answer that follows from the findings, then the recorded answers to the question.

        If the findings are the recorded system's own, this is its model's answer; for other findings in a chain, it is
        what the last one found.
        """
        root, findings, hops = self.tree.root, fields.found, self.tree.hops
        options = list[str]()
        if findings and same(findings[-1].asked, fields.question):
            options = [findings[-1].entity]
        elif len(findings) == len(hops):
            agreed = all(same(finding.entity, hop.chosen.text) for finding, hop in zip(findings, hops, strict=True))
            options += [a for a in root.answers if agreed and root.child and same(a, root.child.text)]
            options += [findings[-1].entity] if "#" in hops[-1].asked else []
        tried = {failure.tried for failure in fields.refused}
        for answer in (*options, *root.answers):
            if answer not in tried:
                return prompts.Final(answer=answer)
        raise MalformedAnswer("the tree has no further answer to the question")

    def _consistent(self, fields: prompts.ConsistentFields) -> prompts.Consistent:
        """Whether a finding contains the answer; this says nothing about "yes" and "no"."""
        holds = any(says(finding.finding, fields.answer) for finding in fields.found)
        return prompts.Consistent(reason="a finding has it" if holds else "no finding has it", consistent=holds)

    def _node(self, question: str, asked: str) -> Node:
        if same(asked, question):
            return self.tree.root
        node = next((hop for hop in self.tree.hops if same(hop.question, asked)), None)
        if node is None:
            raise MalformedAnswer(f"{UNRECORDED} on {asked!r}: the system went on with another answer")
        return node


def uncertified(title: str, text: str, asked: str, answer: str) -> str:
    """Why a paragraph does not certify an answer to a sub-question, "" if it does.

    It must contain the answer's words in a row, and at least half of the words of the names in the sub-question.
    It cannot certify "yes" and "no", nor an answer that the sub-question names already.
    """
    if normalised(answer) in ("", "yes", "no"):
        return "no paragraph can say yes or no"
    if says(asked, answer):
        return "the sub-question names it already"
    paragraph = f"{title} {text}"
    if not says(paragraph, answer):
        return f"{title!r} does not have its words"
    subject, present = (set(content_words(folded(part))) for part in (entities_of(asked), paragraph))
    return "" if 2 * len(subject & present) >= len(subject) else f"{title!r} is not about the same"


def says(text: str, answer: str) -> bool:
    """Whether a text has an answer's words in a row, ignoring articles, case, accents and punctuation."""
    return bool(_plain(answer)) and f" {_plain(answer)} " in f" {_plain(text)} "


@lru_cache(maxsize=10_000)  # an episode reads the same paragraphs at every attempt
def _plain(text: str) -> str:
    return " ".join(word for word in words(text) if word not in ARTICLES)


def same(text: str, other: str) -> bool:
    """Whether two texts are the same for the official metrics."""
    return normalised(text) == normalised(other)
