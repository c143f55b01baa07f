"""Multi-hop questions for acting agents: search, look up and finish, as in Yao et al. (2022) for HotpotQA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from agents.environment import Environment, Observation
from worlds.multihop import HopTask, MultiHop, Paragraph
from worlds.multihop.index import stemmer, title_words, words
from worlds.multihop.metrics import recall
from worlds.multihop.world import as_text

NAME = "multihop"
QUESTION = "Question: "
FORM = (
    "in as few words as possible, such as a name, a date or a number; with yes or no only where the question asks "
    "for it"
)
TOOLS = f"""
You answer a question that takes several paragraphs of an encyclopedia. The actions are:
search[WORDS] shows paragraphs: those whose title is named, then those that fit best.
lookup[WORDS] shows the sentences with these words, of the paragraphs that were shown before.
finish[ANSWER] ends the task with the answer, {FORM}.
""".strip()
ACTION = re.compile(r"(search|lookup|finish)\[(.*)\]", re.IGNORECASE | re.DOTALL)
BOUND = r"(?:search|lookup|finish)\[[^\[\]\n]{1,200}\]"  # an action in one line
SENTENCE = re.compile(r"(?<=[.!?])\s+")
MOST_SENTENCES = 10  # shown by one lookup
NO_ANSWER: dict[str, Any] = {"answer": "", "em": 0.0, "f1": 0.0}
NOTHING = "Nothing was found; use other words."


class Asking(Environment):
    """One question as an episode. In the distractor setting, its own ten or twenty paragraphs are searched."""

    name, tools, form = NAME, TOOLS, BOUND

    def __init__(self, world: MultiHop, task: HopTask) -> None:
        """world: used by this episode alone."""
        self.world, self.task = world, task
        self._paragraphs: tuple[Paragraph, ...] = ()  # searched in the distractor setting
        self._shown: dict[Paragraph, None] = {}
        self._answer: dict[str, Any] = dict(NO_ANSWER)

    def begin(self) -> str:
        """The question; only searches show paragraphs."""
        self._shown, self._answer = {}, dict(NO_ANSWER)
        self._paragraphs = tuple(self.world.reset(self.task).facts["paragraphs"])
        return QUESTION + self.task.goal

    def act(self, action: str) -> Observation:
        """Carry out one of the three actions."""
        match = ACTION.fullmatch(action.strip())
        verb, argument = (match[1].lower(), match[2].strip()) if match else ("", "")
        if not argument:
            note = f"There is no action {action.strip()[:80]!r}: write search[WORDS], lookup[WORDS] or finish[ANSWER]."
            return Observation(note, valid=False)
        if verb == "finish":
            step = self.world.step(f"answer {argument}")
            self._answer = {name: step.facts[name] for name in self._answer}
            return Observation(step.text, done=True)
        return Observation((self._search(argument) if verb == "search" else self._look_up(argument)) or NOTHING)

    def valid_actions(self) -> list[str]:
        """A search for the question, and one for each title that was shown."""
        return [
            f"search[{words}]"
            for words in dict.fromkeys([self.task.goal, *(paragraph.title for paragraph in self._shown)])
        ]

    def result(self) -> dict[str, Any]:
        """Exact match as the score, the answer, EM, F1, and the share of gold paragraphs shown (None if unknown)."""
        gold = self.world.hidden(self.task).gold
        share = recall(self._shown, gold) if gold else None
        return {"score": self._answer["em"], **self._answer, "gold_seen": share}

    def _search(self, query: str) -> str:
        if self.world.setting == "open":
            paragraphs: Sequence[Paragraph] = self.world.step(f"search {query}").facts["paragraphs"]
        else:
            paragraphs = best(self._paragraphs, query, self.world.top)
        self._shown |= dict.fromkeys(paragraphs)
        return as_text(paragraphs)

    def _look_up(self, about: str) -> str:
        sentences = (
            f"[{paragraph.title}] {sentence}"
            for paragraph in self._shown
            for sentence in SENTENCE.split(paragraph.text)
            if about.lower() in sentence.lower()
        )
        return "\n".join(list(sentences)[:MOST_SENTENCES])


def best(paragraphs: Iterable[Paragraph], query: str, count: int) -> list[Paragraph]:
    """The best paragraphs, at most `count`: those whose title the query names, then those with most of its words."""
    stem = stemmer()
    query_roots = {root for word in words(query) if (root := stem(word))}
    query_text = f" {' '.join(words(query))} "
    ranks: dict[Paragraph, tuple[bool, int]] = {}
    for paragraph in paragraphs:
        present = {stem(word) for word in words(f"{paragraph.title} {paragraph.text}")}
        ranks[paragraph] = f" {' '.join(title_words(paragraph.title))} " in query_text, len(query_roots & present)
    matching = [paragraph for paragraph, rank in ranks.items() if any(rank)]
    return sorted(matching, key=lambda paragraph: ranks[paragraph], reverse=True)[:count]
