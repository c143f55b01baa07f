"""Questions that need several paragraphs, as a text world: search, then answer once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from worlds.base import QuestionWorld, Step
from worlds.multihop.metrics import judged, recall
from worlds.multihop.questions import HopTask, Paragraph, Question
from worlds.multihop.retriever import Retriever

SETTINGS = ("distractor", "open")
WRITTEN = re.compile(r"^\[(.+)\]\n(.+)$", re.MULTILINE)
TOP = 5  # paragraphs that a search shows; the paper does not say how many


class MultiHop(QuestionWorld[Question]):
    """`search QUERY` shows paragraphs, `answer TEXT` ends the episode. The verb's case does not matter.

    setting: "distractor" shows a question with its ten or twenty paragraphs, without a search, and leaves out questions
    that have none; "open" searches the whole corpus.
    Step.score is 0 until the answer, and then its official F1. Step.facts has `paragraphs`, those that the step shows;
    only after the answer it has `answer`, `em`, `f1` and `gold_seen`, the share of the gold paragraphs that were shown
    (None if they are not known).
    """

    ACTION = re.compile(r"\s*(search|answer)\b[:\s]*(.*?)\s*", re.IGNORECASE | re.DOTALL)

    def __init__(
        self,
        questions: Mapping[str, Sequence[Question]],
        retriever: Retriever | None = None,
        setting: str = "open",
        data: str = "synthetic",
        top: int = TOP,
        titles: bool = True,
        list_actions: bool = True,
    ) -> None:
        """questions: by split. retriever: of the corpus; needed for "open". top: paragraphs that a search shows.
        titles: whether title matches come first.

        Raises ValueError for another setting, and for "open" without a retriever.
        """
        if setting not in SETTINGS:
            raise ValueError(f"setting={setting!r}; choose one of {', '.join(map(repr, SETTINGS))}")
        if setting == "open" and retriever is None:
            raise ValueError("the open setting searches a corpus; give its retriever (worlds.multihop.indexed)")
        playable = {
            split: [question for question in split_questions if setting == "open" or question.paragraphs]
            for split, split_questions in questions.items()
        }
        nonempty = {split: split_questions for split, split_questions in playable.items() if split_questions}
        super().__init__(nonempty, data, f"the {setting} setting of {data} questions", list_actions)
        self.setting, self.top, self.titles, self.retriever = setting, top, titles, retriever
        self._seen: dict[Paragraph, None] = {}
        self.queries: tuple[str, ...] = ()  # the episode's searches

    def apart(self) -> MultiHop:
        """Another world for a parallel episode, with the same questions and the same search."""
        return MultiHop(
            self._questions, self.retriever, self.setting, self.data, self.top, self.titles, self.list_actions
        )

    @property
    def shown(self) -> tuple[Paragraph, ...]:
        """The paragraphs that the episode has shown so far, in the order of their first display."""
        return tuple(self._seen)

    def reset(self, task: HopTask) -> Step:
        """Ask the question, in the distractor setting with its paragraphs. Raises LookupError as `hidden` does."""
        self._now, self._over, self.queries = self.hidden(task), False, ()
        self._seen = dict.fromkeys(self._now.paragraphs if self.setting == "distractor" else ())
        text = f"Question: {task.goal}\n\n{self._offer()}"
        if self._seen:
            text = f"{as_text(list(self._seen))}\n\n{text}"  # long text first: prompts with a common start cost less
        return self._step(text, {"paragraphs": tuple(self._seen)})

    def _act(self, question: Question, verb: str, words: str) -> Step | None:
        if verb == "answer":
            return self._judge(question, words)
        return self._search(words) if self.setting == "open" else None

    def valid_actions(self) -> tuple[str, ...]:
        """Some of the possible searches: for the question and for the titles seen. An answer can be any text."""
        if self._now is None or self._over or self.setting == "distractor":
            return ()
        return tuple(
            sorted({f"search {self._now.task.goal}", *(f"search {paragraph.title}" for paragraph in self._seen)})
        )

    def close(self) -> None:
        """End the episode and close the files of the search, which opens them again when needed."""
        self._now = None
        if self.retriever is not None:
            self.retriever.close()

    def _search(self, query: str) -> Step:
        assert self.retriever is not None, "the open setting has one"
        paragraphs = [result.paragraph for result in self.retriever.search(query, self.top, self.titles)]
        self._seen |= dict.fromkeys(paragraphs)
        self.queries += (query,)
        text = as_text(paragraphs) or "Nothing was found; use other words."
        return self._step(text, {"query": query, "paragraphs": tuple(paragraphs)})

    def _judge(self, question: Question, answer: str) -> Step:
        self._over = True
        em, f1 = judged(answer, question)
        seen = recall(self._seen, question.gold) if question.gold else None
        return self._step("The answer was taken.", {"answer": answer, "em": em, "f1": f1, "gold_seen": seen}, f1)

    def _offer(self) -> str:
        search = "`search QUERY` shows paragraphs; " if self.setting == "open" else ""
        return f"{search}`answer TEXT` ends the episode, with as few words as answer the question."


def as_text(paragraphs: Sequence[Paragraph]) -> str:
    """The paragraphs with their titles, one after the other."""
    return "\n\n".join(f"[{paragraph.title}]\n{paragraph.text}" for paragraph in paragraphs)


def from_text(text: str) -> list[Paragraph]:
    """The paragraphs in a text by `as_text`, also if a question follows them."""
    return [Paragraph(title, body) for title, body in WRITTEN.findall(text)]
