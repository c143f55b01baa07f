"""SDP's operators for AssistantBench (A.4): a narrowing pipeline over search and scrape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from lab.models.backbone import Backbone
from sdp.adapters.assistantbench import prompts
from sdp.adapters.assistantbench.browser import Browser, BrowserView, host
from sdp.adapters.multihop.filters import unfounded, unusable
from sdp.operators import NOTHING, Adapter, Verdict, at, check_choices, why
from sdp.trajectory import Attempt, Predicate, Trajectory
from worlds.assistantbench import WebTask, as_prediction
from worlds.web.protocol import Page

FINAL, GOAL = "finalize", "goal"
BLANK = "step"  # the kind of a blank step, which says nothing
FORCED_AFTER = 2  # rejections in a row; then a step with content is passed by force, and other evidence is searched
WEAK_ANSWERS = 3  # the last of these is accepted


@dataclass(frozen=True)
class Policy:
    """Options of the adapter.

    uncertainty: "marked" passes partial findings on with markers, "forced" asks for complete ones (§4.1). second: the
    second source of evidence; "wider" searches in the step's own words and reads further results, "none" has none.
    opens: which result of a search is read automatically: the "top" one unless its site is on the blacklist (A.4), or
    the first "allowed" one. results: how many per search Realize and Replan are shown.
    """

    uncertainty: prompts.Uncertainty = "marked"
    second: Literal["wider", "none"] = "wider"
    opens: Literal["top", "allowed"] = "top"
    results: int = 5

    def __post_init__(self) -> None:
        check_choices(self)
        if self.results < 1:
            raise ValueError(f"results={self.results}: a search needs a result to be read")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a step. sources: addresses of the pages that it is based on. forced: passed by force (A.4)."""

    goal: str
    items: tuple[str, ...]
    sources: tuple[str, ...] = ()
    forced: bool = False


@dataclass(frozen=True, slots=True)
class FindingsState:
    """The certified state. queries, uses: numbers of searches and pages when it was certified; later ones are new.

    The caches and the blacklist, which A.4 counts as state, change with every attempt and are the view.
    """

    question: str
    findings: tuple[Finding, ...] = ()
    answer: tuple[str, ...] = ()
    queries: int = 0
    uses: int = 0


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """A step's action: what to search for and read, and what the Finding prompt needs in addition."""

    search: tuple[str, ...]
    scrape: tuple[str, ...]
    wider: bool
    state: FindingsState
    step: Predicate
    refused: tuple[prompts.RejectedTry, ...]

    def to_json(self) -> dict[str, Any]:
        return {"search": list(self.search), "scrape": list(self.scrape), "wider": self.wider}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the tools and the Finding prompt returned. queries, uses: the state's counts after it. JSON has no texts."""

    gather: ToolCalls
    finding: Finding
    pages: tuple[Page, ...]
    wider: bool
    queries: int
    uses: int

    def to_json(self) -> dict[str, Any]:
        return {"items": list(self.finding.items), "pages": list(self.finding.sources), "wider": self.wider}


@dataclass(frozen=True, slots=True)
class Draft:
    """An action that is its own observation: an answer. closest: accepted instead if the answer is weak."""

    items: tuple[str, ...]
    closest: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"items": list(self.items)}


@dataclass(frozen=True, slots=True)
class Submission:
    """The last action: the answer in the scorer's format; "" submits nothing."""

    answer: str


@dataclass(frozen=True)
class AssistantBenchAdapter(Adapter[FindingsState, Any, Any]):
    """One question. Frozen: during an episode only the browser and the accounts of calls change.

    single: whether Propose is asked for one step per call (Eq. 1), else for all steps (A.4).
    """

    task: WebTask
    browser: Browser
    backbone: Backbone
    policy: Policy = Policy()
    single: bool = False

    def start(self) -> tuple[FindingsState, Predicate]:
        self.browser.start(self.task)
        return FindingsState(self.task.goal), Predicate(f"The question is answered: {self.task.goal}", GOAL)

    def propose(self, state: FindingsState, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        """The steps after `planned`, all or the next one. The answer and the goal always follow them (A.4), so they are
        not asked for.
        """
        planned_steps = [prompts.PlannedStep(kind=p.kind, goal=p.text) for p in planned if p.kind != FINAL]
        if len(planned_steps) < len(planned):
            return [goal]
        final = Predicate("The answer follows from the findings", FINAL)
        if len(planned_steps) >= prompts.MOST_STEPS:
            return [final, goal]
        steps = self.backbone.ask(
            prompts.DECOMPOSE, question=state.question, planned=planned_steps, single=self.single
        ).value.steps
        new_steps = [Predicate(step.goal, step.kind) for step in steps]
        return new_steps if self.single and new_steps else [*new_steps, final, goal]

    def view(self) -> BrowserView:
        return self.browser.desk()

    def realize(self, state: FindingsState, target: Predicate, failures: Sequence[Attempt], view: BrowserView) -> Any:
        """Tools for a step, which Replan may have named already; or an answer; or its submission."""
        if target.kind == GOAL:
            return Submission(submitted(state.answer))
        if target.kind == FINAL:
            return self._draft(state, target, failures)
        tries = at(target, failures)
        planned = target.about if not any(_made_by(failure, target.about) for failure in tries) else {}
        if planned:
            search, scrape = tuple(planned["search"]), tuple(planned["scrape"])
        else:
            search, scrape = self._tools(prompts.TOOLS, state, target, failures)
        return ToolCalls(search, scrape, len(tries) >= FORCED_AFTER, state, target, tuple(_rejected(failures, target)))

    def act(self, action: ToolCalls | Draft | Submission) -> Evidence | Draft | Submission:
        """A.4's first two phases: run the tools, and write down the finding. An answer is its own observation."""
        if isinstance(action, Submission):
            self.browser.answer(action.answer)
        if not isinstance(action, ToolCalls):
            return action
        state, browser = action.state, self.browser
        fresh = browser.gather(action.search, action.scrape, self.policy.opens == "top")
        only_cached = bool(action.search or action.scrape) and not fresh
        wider = self.policy.second == "wider" and (action.wider or only_cached)
        if wider:
            browser.widen(action.step.text, state.queries)
        pages = browser.read(state.uses)
        answer = self.backbone.ask(
            prompts.FINDING, pages=_page_texts(pages), refused=list(action.refused),
            uncertainty=self.policy.uncertainty, **_step_fields(state, action.step),
        ).value  # fmt: skip
        finding = Finding(action.step.text, tuple(answer.items), tuple(page.address or page.url for page in pages))
        return Evidence(action, finding, pages, wider, len(browser.queries), len(browser.uses))

    def validate(self, tail: Sequence[Predicate], observation: Any, failures: Sequence[Attempt]) -> Verdict:
        """The third phase. A step with content passes by force after two rejections; so does the third weak answer."""
        if isinstance(observation, Submission):
            return Verdict(1, "handed in" if observation.answer else "there is no answer to hand in")
        if isinstance(observation, Draft):
            return _accepted(observation, len(failures))
        finding = observation.finding
        if not substantive(finding.items):
            return Verdict(0, "nothing was found")
        judgement = self.backbone.ask(
            prompts.JUDGE, pages=_page_texts(observation.pages), items=list(finding.items), tries=len(failures),
            uncertainty=self.policy.uncertainty, **_step_fields(observation.gather.state, observation.gather.step),
        ).value  # fmt: skip
        if judgement.passed or len(failures) < FORCED_AFTER:
            return Verdict(int(judgement.passed), judgement.reason)
        forced = replace(observation, finding=replace(finding, forced=True))
        return Verdict(1, judgement.reason, forced=True, read=forced)

    def advance(self, state: FindingsState, certified: Sequence[Predicate], observation: Any) -> FindingsState:
        if isinstance(observation, Evidence):
            findings = (*state.findings, observation.finding)
            return replace(state, findings=findings, queries=observation.queries, uses=observation.uses)
        return replace(state, answer=observation.items) if isinstance(observation, Draft) else state

    def replan(
        self, state: FindingsState, goal: Predicate, trajectory: Trajectory, view: BrowserView
    ) -> Sequence[Predicate]:
        """The same steps, the first one with other queries and unread pages; a stuck answer is tried again."""
        stuck = trajectory.attempts[-1]
        head, *rest = trajectory.plans[-1].predicates[stuck.position :]
        if head.kind in (FINAL, GOAL):
            return [head, *rest]
        search, scrape = self._tools(prompts.REPLAN, state, head, trajectory.failures, trajectory.malformed)
        return [replace(head, about={"search": list(search), "scrape": list(scrape)}), *rest]

    def finalize(self, state: FindingsState, goal: Predicate, trajectory: Trajectory, view: BrowserView) -> Submission:
        """The certified answer, else one from the certified findings and the last finding, certified or not."""
        if state.answer:
            return Submission(submitted(state.answer))
        last = trajectory.attempts[-1].observation if trajectory.attempts else None
        if last and trajectory.attempts[-1].k == 0 and substantive(last["items"]):
            target = trajectory.attempts[-1].target
            uncertain = Finding(target, tuple(last["items"]), forced=True)
            state = replace(state, findings=(*state.findings, uncertain))
        draft = self._draft(state, goal, ())
        return Submission(submitted(draft.closest if weak(draft.items) else draft.items))

    def blank(self, predicate: Predicate, words: str) -> Predicate:
        return Predicate(words, predicate.kind if predicate.kind not in get_args(prompts.Kind) else BLANK)

    def without_content(self, predicate: Predicate) -> Predicate:
        """Each step says nothing. The answer's predicate stays: it is the same in every plan (A.4)."""
        return self.blank(predicate, NOTHING) if predicate.kind != FINAL else predicate

    def _tools(
        self, prompt: Any, state: FindingsState, step: Predicate, failures: Sequence[Attempt], sample: int = 0
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Queries, and addresses among the results of this step's searches."""
        listed = self.browser.listed(state.queries, self.policy.results)
        results = [
            prompts.Result(
                number=number, query=_line(result.query), title=_line(result.hit.title), host=host(result.hit.url),
                snippet=_line(result.hit.snippet), state=result.state,
            )
            for number, result in enumerate(listed, start=1)
        ]  # fmt: skip
        tried = list(dict.fromkeys(self.browser.queries[state.queries :]))
        tools: prompts.Tools = self.backbone.ask(
            prompt,
            sample=sample,
            results=results,
            tried=tried,
            refused=_rejected(failures, step),
            **_step_fields(state, step),
        ).value
        return tuple(map(_line, tools.search)), tuple(listed[number - 1].hit.url for number in tools.scrape)

    def _draft(self, state: FindingsState, target: Predicate, failures: Sequence[Attempt]) -> Draft:
        answer = self.backbone.ask(
            prompts.FINALIZE,
            question=state.question,
            found=_findings(state),
            refused=_rejected(failures, target),
            sample=len(failures),
        ).value
        last = next((finding.items for finding in reversed(state.findings) if substantive(finding.items)), ())
        return Draft(tuple(answer.items), tuple(name_of(item) for item in last))


def name_of(item: str) -> str:
    """What an item of a finding is about. Its facts follow a colon; an item can also be a bare result."""
    name, _, facts = item.replace(prompts.UNCERTAIN, "").partition(":")
    return (name.strip() or facts).strip()


def substantive(items: Sequence[str]) -> bool:
    """Whether a finding has content (A.4): an item other than a report that nothing was found."""
    return any(not unfounded(item) and not unusable(item) for item in items)


def weak(items: Sequence[str]) -> bool:
    """Whether an answer is empty, null or a refusal (A.4)."""
    return not any(item.strip().lower() != "null" and not unusable(item) for item in items)


def submitted(items: Sequence[str]) -> str:
    """The items in the official scorer's format: JSON objects as such, numbers without thousands separators."""
    values = [_value(item) for item in items if not weak([item])]
    return as_prediction(values) if values else ""


def _value(item: str) -> Any:
    try:
        parsed = json.loads(item)
    except (ValueError, RecursionError):
        parsed = None
    return parsed if isinstance(parsed, dict) else item.strip()


def _accepted(draft: Draft, rejections: int) -> Verdict:
    if not weak(draft.items):
        return Verdict(1, "an answer to the question")
    if rejections + 1 < WEAK_ANSWERS:
        return Verdict(0, "the answer says nothing")
    return Verdict(1, "the closest to an answer", forced=True, read=replace(draft, items=draft.closest))


def _step_fields(state: FindingsState, step: Predicate) -> dict[str, Any]:
    """The fields that every prompt about a step begins with."""
    return {"question": state.question, "found": _findings(state), "kind": step.kind, "goal": step.text}


def _findings(state: FindingsState) -> list[prompts.CertifiedFinding]:
    return [prompts.CertifiedFinding(goal=f.goal, items=list(f.items), forced=f.forced) for f in state.findings]


def _page_texts(pages: Sequence[Page]) -> list[prompts.PageText]:
    """Pages for a prompt; the title, with which most texts begin, is not repeated."""
    texts = []
    for page in pages:
        title, lines = _line(page.title), page.text.strip().splitlines()
        if lines and _line(lines[0].lstrip("#")) == title:
            lines = lines[1:]
        texts.append(prompts.PageText(title=title, host=host(page.address or page.url), text="\n".join(lines).strip()))
    return texts


def _line(text: str) -> str:
    """The text on one line, so that no part of it can pass for another part of a prompt."""
    return " ".join(text.split())


def _rejected(failures: Sequence[Attempt], target: Predicate) -> list[prompts.RejectedTry]:
    return [
        prompts.RejectedTry(items=list((f.observation or {}).get("items", ())), reason=why(f, target)) for f in failures
    ]


def _made_by(attempt: Attempt, about: Any) -> bool:
    """Whether an attempt ran the tools that Replan named."""
    return bool(attempt.action) and all(attempt.action.get(name) == value for name, value in about.items())
