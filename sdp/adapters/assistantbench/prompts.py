"""Prompts of the operators for AssistantBench (A.4). What does not change comes first: the question, then the certified
findings, then the step.

Text from the web is treated as data: each of its lines begins with "> ", so no page can end its quotation, and the
rules that say this come before it. The wording is in `sdp/prompt_texts/assistantbench`.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, create_model

from lab.models.answers import AnswerModel, Listing, limited
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields

Kind = Literal["collect", "filter", "extract", "compute"]
Uncertainty = Literal["marked", "forced"]
MOST_STEPS = 5  # A.4
MOST_TOOLS = 6  # searches of one attempt, and pages of one attempt
MOST_ITEMS = 30
SHORTEST_PAGE = 400  # characters; pages are not cut below this before a whole page is left out
CUT = " [cut]"
UNCERTAIN = "(uncertain)"
# A.1: retries of the final answer are asked at 0.3, all other calls at 0.
RETRIED = (0.3,)


class CertifiedFinding(Fields):
    """A certified finding. forced: it was passed after rejections (A.4)."""

    goal: str
    items: list[str]
    forced: bool


class RejectedTry(Fields):
    """A finding or an answer that was rejected, and why."""

    items: list[str]
    reason: str


class Result(Fields):
    """What a search listed. state: "unread", "read", "failed", or "blocked" where its site is on the blacklist."""

    number: int
    query: str
    title: str
    host: str
    snippet: str
    state: str


class PageText(Fields):
    """A page that was read, with one kind of line end."""

    title: str
    host: str
    text: str


class PlannedStep(Fields):
    """A step of the plan so far."""

    kind: str
    goal: str


class DecomposeFields(Fields):
    """What Propose sees: the question and the plan so far, before anything is certified. single: whether the next step
    alone is wanted (Eq. 1), else all that are missing.
    """

    question: str
    planned: list[PlannedStep]
    single: bool


class Step(AnswerModel):
    """A narrowing step."""

    kind: Kind = Field(description="collect, filter, extract or compute")
    goal: str = Field(description="what is known when the step is done, in one sentence")


class Steps(AnswerModel):
    """Narrowing steps, in order."""

    steps: list[Step] = Field(description="the steps in order, each with kind and goal", max_length=MOST_STEPS)


def missing(fields: DecomposeFields) -> type[Steps]:
    """An answer type limited to the steps that may follow the plan so far."""
    planned = len(fields.planned)
    most = 1 if fields.single else MOST_STEPS - planned
    return limited(Steps, "steps", list[Step], min_length=int(not planned), max_length=most)


DECOMPOSE = read_prompt("sdp/assistantbench/decompose.md", DecomposeFields, Steps, narrow=missing)


class StepFields(Fields):
    """What every prompt about a step begins with: the question, the certified findings, and the step."""

    question: str
    found: list[CertifiedFinding]
    kind: str
    goal: str


class ToolsFields(StepFields):
    """What Realize and Replan see besides: results of searches for the step so far, their queries (`tried`), and the
    rejected findings.
    """

    results: list[Result]
    tried: list[str]
    refused: list[RejectedTry]


class Tools(AnswerModel):
    """What to search for, and which of the listed results to read."""

    search: list[str] = Field(description="queries, each of a few key words; empty for none", max_length=MOST_TOOLS)
    scrape: list[int] = Field(description="numbers of listed results to read; empty for none", max_length=MOST_TOOLS)


def listed(fields: ToolsFields) -> type[Tools]:
    """An answer type that can only read results of searches, whatever a page says."""
    return _of(max((result.number for result in fields.results), default=0))


@cache
def _of(count: int) -> type[Tools]:
    numbers: Any = Annotated[int, Field(ge=1, le=max(1, count))]
    scrape: Any = Field(description=Tools.model_fields["scrape"].description, max_length=MOST_TOOLS if count else 0)
    return create_model("Tools", __base__=Tools, scrape=(list[numbers], scrape))


def fewer_results(fields: ToolsFields, over: int) -> ToolsFields | None:
    """Drop the results of the oldest search, which are not needed any more; None if there is only one search."""
    first = fields.results[0].query if fields.results else ""
    newer = [result for result in fields.results if result.query != first]
    return fields.model_copy(update={"results": newer}) if newer else None


SHOWN_RESULTS: dict[str, Any] = {
    "narrow": listed,
    "shorten": fewer_results,
    # Results are shuffled within a search only, as they are shown under its query.
    "listings": (Listing("results", "scrape", by="number", number="number", within="query"),),
}
TOOLS = read_prompt("sdp/assistantbench/tools.md", ToolsFields, Tools, **SHOWN_RESULTS)
REPLAN = read_prompt("sdp/assistantbench/replan.md", ToolsFields, Tools, retry_temperatures=RETRIED, **SHOWN_RESULTS)


class FindingFields(StepFields):
    """What Finding sees besides: the pages that were read for the step, and its rejected findings."""

    pages: list[PageText]
    refused: list[RejectedTry]
    uncertainty: Uncertainty


class Found(AnswerModel):
    """A step's conclusion."""

    items: list[str] = Field(description="lines, one an item; empty where nothing was found", max_length=MOST_ITEMS)


P = TypeVar("P", "FindingFields", "JudgeFields")


def cut_pages(fields: P, over: int) -> P | None:
    """Cut the longest page at its end; if all pages are short, drop the last one; None if there are no pages."""
    pages = list(fields.pages)
    if not pages:
        return None
    longest = max(range(len(pages)), key=lambda index: len(pages[index].text))
    text = pages[longest].text.removesuffix(CUT)
    length = max(SHORTEST_PAGE, len(text) - over - len(CUT))
    if length < len(text):
        pages[longest] = pages[longest].model_copy(update={"text": text[:length] + CUT})
    else:
        pages.pop()
    return fields.model_copy(update={"pages": pages})


FINDING = read_prompt("sdp/assistantbench/finding.md", FindingFields, Found, shorten=cut_pages)


class JudgeFields(StepFields):
    """What Validate sees besides: the same pages, the finding, and how often the step was rejected before."""

    pages: list[PageText]
    items: list[str]
    tries: int
    uncertainty: Uncertainty


class Judged(AnswerModel):
    """Whether a finding does what its step asks for, and why not."""

    reason: str = Field(description="what is wrong or missing, in at most twenty words")
    passed: bool = Field(description="whether the finding does what the step asks for, from the evidence")


JUDGE = read_prompt("sdp/assistantbench/judge.md", JudgeFields, Judged, shorten=cut_pages)


class AnswerFields(Fields):
    """What the last call sees: the certified findings, and answers that were too weak."""

    question: str
    found: list[CertifiedFinding]
    refused: list[RejectedTry]


class Answer(AnswerModel):
    """The answer."""

    items: list[str] = Field(
        description="the answer: one name or number, or one string a name; a JSON object as a string where asked for",
        max_length=MOST_ITEMS,
    )


FINALIZE = read_prompt("sdp/assistantbench/finalize.md", AnswerFields, Answer, retry_temperatures=RETRIED)
