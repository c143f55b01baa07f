"""Questions to be answered from the web, as a text world: search, scrape pages, then answer once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from worlds.assistantbench.questions import Question, WebTask
from worlds.assistantbench.scorer import scored_or_why
from worlds.base import QuestionWorld, Step
from worlds.web.protocol import Hit, Page, Web

OFFER = (
    "`search QUERY` lists pages; `scrape URL` shows one; `answer TEXT` ends the episode, with the bare name or number, "
    "a JSON array of several names, or JSON objects where they are asked for."
)


class AssistantBench(QuestionWorld[Question]):
    """`search QUERY` lists pages, `scrape URL` shows one, `answer TEXT` ends the episode.

    Text from the web is quoted, with "> " before each line, so that it cannot be taken for the world's own words.
    Step.score is 0 until the answer, and then its official accuracy, at most 1; it stays 0 if the gold answer is not
    known. Step.facts has `query` and `hits` after a search and `page` after a scrape. Only after the answer it has
    `answer`, `accuracy` and `has_answer` (None without a gold answer), `unscorable` (why the official scorer would
    fail, or "") and `evidence_read` (share of the evidence pages that were read, None if these are not known).
    """

    ACTION = re.compile(r"\s*(search|scrape|answer)\b[:\s]*(.*?)\s*", re.IGNORECASE | re.DOTALL)

    def __init__(
        self, questions: Mapping[str, Sequence[Question]], web: Web, data: str = "synthetic", list_actions: bool = True
    ) -> None:
        """questions: by split. web: the web to search; closed by `close`."""
        super().__init__(questions, data, f"AssistantBench's {data} data", list_actions)
        self.web = web
        self.hits: dict[str, Hit] = {}  # of the episode, by address
        self.pages: dict[str, Page] = {}  # scraped in the episode, by the requested address

    def apart(self) -> AssistantBench:
        """Another world for a parallel episode, with the same questions and the same web."""
        return AssistantBench(self._questions, self.web, self.data, self.list_actions)

    def reset(self, task: WebTask) -> Step:
        """Ask the question. Raises LookupError as `hidden` does."""
        self._now, self._over, self.hits, self.pages = self.hidden(task), False, {}, {}
        return self._step(f"Question: {task.goal}\n\n{OFFER}", {})

    def _act(self, question: Question, verb: str, words: str) -> Step | None:
        """Search, scrape or answer. Raises WorldDied and Unavailable, as the web does."""
        if verb == "answer":
            return self._judge(question, words)
        if verb == "search":
            hits = self.web.search(words)
            self.hits |= {hit.url: hit for hit in hits}
            return self._step(as_text(hits) or "Nothing was found; use other words.", {"query": words, "hits": hits})
        page = self.pages[words] = self.web.scrape(words)
        return self._step(quoted(page), {"page": page})

    def _offer(self) -> str:
        return OFFER

    def valid_actions(self) -> tuple[str, ...]:
        """Some of the possible actions: a search for the question, scrapes of the hits. An answer can be any text."""
        if self._now is None or self._over:
            return ()
        scrapes = {f"scrape {url}" for url in self.hits if url not in self.pages}
        return tuple(sorted({f"search {self._now.task.goal}", *scrapes}))

    def close(self) -> None:
        """End the episode and close the web."""
        self._now = None
        self.web.close()

    def _judge(self, question: Question, answer: str) -> Step:
        self._over = True
        accuracy = has_answer = None
        unscorable = ""
        if question.answer is not None:
            (accuracy, has_answer), unscorable = scored_or_why(answer, question.answer)
        read = {page.address for page in self.pages.values() if page.text}
        evidence = question.evidence
        facts = {
            "answer": answer, "accuracy": accuracy, "has_answer": has_answer, "unscorable": unscorable,
            "evidence_read": sum(url in read for url in evidence) / len(evidence) if evidence else None,
        }  # fmt: skip
        return self._step("The answer was taken.", facts, min(accuracy or 0.0, 1.0))


def as_text(hits: Sequence[Hit]) -> str:
    """The results of a search, three lines each, all of which begin with "> "; "" without results."""
    lines = [(f"{hit.position}. {' '.join(hit.title.split())}", hit.url, " ".join(hit.snippet.split())) for hit in hits]
    return "\n".join(["The search found:", *(f"> {line}" for entry in lines for line in entry)]) if hits else ""


def quoted(page: Page) -> str:
    """The page's text, every line of which begins with "> ", or why it could not be read."""
    if page.error:
        return f"{page.url} could not be read: {page.error}"
    titled = page.text if page.text.startswith(f"# {page.title}") else f"{page.title}\n{page.text}"
    lines = [f"> {line}" for line in titled.splitlines()]
    return "\n".join([f"{page.address} says:", *lines])
