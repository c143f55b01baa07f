"""SDP's operators for multi-hop questions: HotpotQA (A.5) and, with `strict`, MuSiQue (A.6)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lab.models.backbone import Backbone
from sdp.adapters.multihop import prompts
from sdp.adapters.multihop.filters import entities_of, misfit, ranked, unfounded, unusable
from sdp.operators import NOTHING, Adapter, Verdict, check_choices, why
from sdp.trajectory import Attempt, Predicate, Trajectory
from worlds.multihop import HopTask, MultiHop, Paragraph
from worlds.multihop.questions import filled

HOP, FINAL, GOAL = "hop", "answer", "goal"
ENTITIES_AFTER, GUESS_AFTER = 4, 6  # unsuccessful queries at a hop (A.6)
BEGINNING = 60  # characters of a paragraph that a trajectory stores
TITLE_PART = 4  # the least number of characters of a cited title that is matched with part of another title


@dataclass(frozen=True)
class Policy:
    """Options of the adapter.

    hops: their number: "two" (A.5), "id" (A.6: read from the task's id, which real questions do not have: privileged)
    or "guess" (Propose decides). strict: A.6's checks of answers. escalate: A.6's other queries after failed searches.
    overlap: if a finding's paragraph is not the cited one, its words are searched in the "text" (A.5) or in "title and
    text". shown: at most how many paragraphs an extraction is shown, the newest ones.
    """

    hops: Literal["two", "id", "guess"] = "two"
    strict: bool = False
    escalate: bool = False
    overlap: Literal["text", "title and text"] = "text"
    shown: int = 20

    def __post_init__(self) -> None:
        check_choices(self)
        if self.shown < 1:
            raise ValueError(f"shown={self.shown}: an extraction needs a paragraph to read")


@dataclass(frozen=True, slots=True)
class Finding:
    """A certified hop. title: of the supporting paragraph. entity: what the next hop may build on."""

    asked: str
    text: str
    title: str
    entity: str


@dataclass(frozen=True, slots=True)
class FindingsState:
    """The certified state. queries: number of searches when it was certified; later ones certified nothing."""

    question: str
    findings: tuple[Finding, ...] = ()
    answer: str = ""
    queries: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """An action at a hop: the finding that Realize takes from a paragraph, after a search in the open setting."""

    finding: Finding
    query: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """An action at the end: an answer, with the question and the findings that it is based on, to check both."""

    answer: str
    question: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence on a claim. cited: the paragraph whose title the claim names, if there is one. best: the paragraph
    with most words of the finding.
    """

    claim: Claim
    cited: Paragraph | None
    best: Paragraph | None
    queries: int


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """The view: paragraphs and queries so far, also of rejected attempts. JSON has each paragraph's beginning."""

    paragraphs: tuple[Paragraph, ...]
    queries: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"paragraphs": [beginning(paragraph) for paragraph in self.paragraphs], "queries": list(self.queries)}


@dataclass(frozen=True)
class MultiHopAdapter(Adapter[FindingsState, Any, Any]):
    """One question. Frozen: during an episode only the world and the accounts of calls change.

    single: whether Propose is asked for one sub-question per call (Eq. 1), else for all (A.5).
    """

    task: HopTask
    world: MultiHop
    backbone: Backbone
    policy: Policy = Policy()
    single: bool = False

    @property
    def hops(self) -> int:
        """The number of hops; 0 if Propose has to guess it. Raises ValueError for an id that does not state it."""
        if self.policy.hops != "id":
            return 2 if self.policy.hops == "two" else 0
        match = re.match(r"([2-4])hop", self.task.id)
        if not match:
            raise ValueError(
                f"The id {self.task.id!r} does not begin with a number of hops; choose hops='two' or 'guess'"
            )
        return int(match[1])

    def start(self) -> tuple[FindingsState, Predicate]:
        self.world.reset(self.task)
        return FindingsState(self.task.goal), Predicate(f"The question is answered: {self.task.goal}", GOAL)

    def propose(self, state: FindingsState, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        """The hops after `planned`, all or the next one.

        The answer and the goal always follow them (A.5), so they are not asked for.
        """
        hops = [predicate.about["question"] for predicate in planned if predicate.kind == HOP]
        if len(hops) < len(planned):
            return [goal]
        count = self._missing(state)
        if hops and len(hops) >= (count or prompts.MOST_HOPS):
            return [_final(), goal]
        questions = self.backbone.ask(
            prompts.DECOMPOSE, question=state.question, count=count, found=_certified(state.findings), planned=hops,
            single=self.single,
        ).value.questions  # fmt: skip
        new_hops = _hops(questions, len(state.findings) + len(hops))
        return new_hops if self.single and new_hops else [*new_hops, _final(), goal]

    def view(self) -> EvidenceView:
        return EvidenceView(self.world.shown, self.world.queries)

    def realize(
        self, state: FindingsState, target: Predicate, failures: Sequence[Attempt], view: EvidenceView
    ) -> Claim | Draft:
        """Search in the open setting, and extract a finding; or answer from the findings."""
        if target.kind == GOAL:
            return Draft(state.answer, state.question, state.findings)
        if target.kind == FINAL:
            return self._draft(state, target, failures, ())
        sub_question = filled(target.about["question"], [finding.entity for finding in state.findings])
        query = ""
        if self.world.setting == "open":
            query = self._query(state, sub_question, view)
            self.world.step(f"search {query}")
        paragraphs = [prompts.Passage(title=title, text=text) for title, text in self.world.shown[-self.policy.shown :]]
        extract = self.backbone.ask(
            prompts.EXTRACT, paragraphs=paragraphs, question=state.question, asked=sub_question,
            found=_certified(state.findings), refused=_rejected(failures, target), sample=_repetitions(failures),
        ).value  # fmt: skip
        return Claim(Finding(sub_question, extract.finding, extract.title, extract.entity), query)

    def act(self, action: Claim | Draft) -> Evidence | Draft:
        """Look up what a claim cites; an answer is its own observation."""
        if isinstance(action, Draft):
            return action
        paragraphs, finding = self.world.shown, action.finding
        best = next((paragraphs[i] for i in ranked(paragraphs, finding.text, self.policy.overlap != "text")), None)
        return Evidence(action, _cited_paragraph(paragraphs, finding.title), best, len(self.world.queries))

    def validate(
        self, tail: Sequence[Predicate], observation: Evidence | Draft, failures: Sequence[Attempt]
    ) -> Verdict:
        if isinstance(observation, Evidence):
            return self._supported(observation)
        entities = [finding.entity for finding in observation.findings]
        problem = unusable(observation.answer)
        if self.policy.strict and not problem:
            problem = misfit(observation.answer, observation.question, entities)
        if self.policy.strict and not problem:
            check = self.backbone.ask(
                prompts.CONSISTENT, question=observation.question, answer=observation.answer,
                found=_certified(observation.findings),
            ).value  # fmt: skip
            problem = "" if check.consistent else check.reason
        if problem:
            return Verdict(0, problem)
        return Verdict(
            2 if [predicate.kind for predicate in tail[:2]] == [FINAL, GOAL] else 1, "an answer to the question"
        )

    def advance(
        self, state: FindingsState, certified: Sequence[Predicate], observation: Evidence | Draft
    ) -> FindingsState:
        if isinstance(observation, Draft):
            return replace(state, answer=observation.answer)
        return replace(state, findings=(*state.findings, observation.claim.finding), queries=observation.queries)

    def replan(
        self, state: FindingsState, goal: Predicate, trajectory: Trajectory, view: EvidenceView
    ) -> Sequence[Predicate]:
        """Decompose the uncertified part again; if only the answer is missing, try it again."""
        stuck = _target(trajectory, trajectory.attempts[-1])
        if stuck.kind != HOP:
            return [_final(), goal]
        count, tried = self._missing(state), (_target(trajectory, failure) for failure in trajectory.since_certified)
        questions = self.backbone.ask(
            prompts.REPLAN, question=state.question, count=count, found=_certified(state.findings),
            stuck=stuck.about["question"], refused=_rejected(trajectory.failures, stuck),
            given_up=list(dict.fromkeys(hop.about["question"] for hop in tried if hop.kind == HOP and hop != stuck)),
            sample=trajectory.replans + trajectory.malformed,
        ).value.questions  # fmt: skip
        return [*_hops(questions, len(state.findings)), _final(), goal]

    def finalize(self, state: FindingsState, goal: Predicate, trajectory: Trajectory, view: EvidenceView) -> Draft:
        """An answer from the certified findings, and from the claims since the last one."""
        hops = [attempt for attempt in trajectory.since_certified if attempt.kind == HOP]
        claims = dict.fromkeys(_proposed_text(attempt) for attempt in hops)
        return self._draft(state, goal, (), [claim for claim in claims if not unfounded(claim)])

    def blank(self, predicate: Predicate, words: str) -> Predicate:
        return Predicate(words, predicate.kind, {"question": words} if predicate.kind == HOP else {})

    def without_content(self, predicate: Predicate) -> Predicate:
        """Each hop says nothing. The answer's predicate stays: it is the same in every plan (A.5)."""
        return self.blank(predicate, NOTHING) if predicate.kind == HOP else predicate

    def _missing(self, state: FindingsState) -> int:
        """The number of hops in addition to the certified ones; 0 for any number."""
        return max(1, self.hops - len(state.findings)) if self.hops else 0

    def _query(self, state: FindingsState, asked: str, view: EvidenceView) -> str:
        tried = view.queries[state.queries :]
        if self.policy.escalate and len(tried) >= GUESS_AFTER:
            return self.backbone.ask(prompts.GUESS, question=state.question, asked=asked, sample=len(tried)).value.guess
        if self.policy.escalate and len(tried) >= ENTITIES_AFTER:
            return entities_of(asked)
        return self.backbone.ask(
            prompts.QUERY, question=state.question, asked=asked, found=_certified(state.findings), tried=list(tried)
        ).value.query

    def _supported(self, evidence: Evidence) -> Verdict:
        """Two stages (A.5): check the cited paragraph, then the one with most of the finding's words."""
        finding = evidence.claim.finding
        if problem := unfounded(finding.text):
            return Verdict(0, problem)
        reason = f"no paragraph has the title {finding.title!r}, nor the words of the finding"
        for title, text in dict.fromkeys(filter(None, (evidence.cited, evidence.best))):
            check = self.backbone.ask(
                prompts.VERIFY, title=title, text=text, asked=finding.asked, finding=finding.text
            ).value
            if check.supported:
                corrected = replace(finding, title=title)
                read = replace(evidence, claim=replace(evidence.claim, finding=corrected))
                return Verdict(1, f"supported by {title!r}", read=read)
            reason = check.reason or f"{title!r} does not say so"
        return Verdict(0, reason)

    def _draft(
        self, state: FindingsState, target: Predicate, failures: Sequence[Attempt], unsure: Sequence[str]
    ) -> Draft:
        final = self.backbone.ask(
            prompts.ANSWER, question=state.question, found=_certified(state.findings), unsure=list(unsure),
            refused=_rejected(failures, target), sample=_repetitions(failures),
        ).value  # fmt: skip
        return Draft(final.answer, state.question, state.findings)


def beginning(paragraph: Paragraph) -> str:
    """The beginning of a paragraph, which identifies it, also among paragraphs with the same title."""
    return f"{paragraph.title}: {paragraph.text[:BEGINNING]}"


def _hops(questions: Sequence[str], before: int) -> list[Predicate]:
    """Predicates of sub-questions. before: number of hops before them."""
    return [
        Predicate(f"Hop {number} is answered: {question}", HOP, {"question": question})
        for number, question in enumerate(questions, start=before + 1)
    ]


def _target(trajectory: Trajectory, attempt: Attempt) -> Predicate:
    return trajectory.plans[attempt.plan].predicates[attempt.position]


def _final() -> Predicate:
    return Predicate("The answer follows from the findings", FINAL)


def _cited_paragraph(paragraphs: Sequence[Paragraph], title: str) -> Paragraph | None:
    """The paragraph with this title; else one whose title contains it, or is contained in it."""
    cited = title.strip().lower()
    titles = [paragraph.title.lower() for paragraph in paragraphs]
    if cited in titles:
        return paragraphs[titles.index(cited)]
    if len(cited) < TITLE_PART:
        return None
    return next((p for p, other in zip(paragraphs, titles, strict=True) if cited in other or other in cited), None)


def _certified(findings: Sequence[Finding]) -> list[prompts.CertifiedFinding]:
    return [prompts.CertifiedFinding(asked=f.asked, finding=f.text, entity=f.entity) for f in findings]


def _proposed_text(attempt: Attempt) -> str:
    action = attempt.action or {}
    return action.get("answer") or action.get("finding", {}).get("text") or "nothing"


def _rejected(failures: Sequence[Attempt], target: Predicate) -> list[prompts.RejectedTry]:
    """Each rejected try once, in order."""
    tries = dict.fromkeys((_proposed_text(failure), why(failure, target)) for failure in failures)
    return [prompts.RejectedTry(tried=tried, reason=reason) for tried, reason in tries]


def _repetitions(failures: Sequence[Attempt]) -> int:
    """How many failures a prompt does not show because they repeat others.

    Used as the sample index: the same prompt would give the same answer, but a retry has to be another action.
    """
    return len(failures) - len({(failure.target, _proposed_text(failure), failure.reason) for failure in failures})
