"""Multi-hop questions for acting agents: search, look up, finish, as Yao et al. (2022) have it for HotpotQA."""

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
MOST_SENTENCES = 10  # that one lookup shows
NO_ANSWER: dict[str, Any] = {"answer": "", "em": 0.0, "f1": 0.0}
NOTHING = "Nothing was found; use other words."


class Asking(Environment):
    """One question. In the distractor setting, its ten or twenty paragraphs are what is searched."""

    name, tools, form = NAME, TOOLS, BOUND

    def __init__(self, world: MultiHop, task: HopTask) -> None:
        """world: one of this episode's own."""
        self.world, self.task = world, task
        self._paragraphs: tuple[Paragraph, ...] = ()  # what is searched in the distractor setting
        self._shown: dict[Paragraph, None] = {}
        self._answer: dict[str, Any] = dict(NO_ANSWER)

    def begin(self) -> str:
        """The question; paragraphs are shown by searches alone."""
        self._shown, self._answer = {}, dict(NO_ANSWER)
        self._paragraphs = tuple(self.world.reset(self.task).facts["paragraphs"])
        return QUESTION + self.task.goal

    def act(self, action: str) -> Observation:
        """One of the three actions."""
        match = ACTION.fullmatch(action.strip())
        verb, about = (match[1].lower(), match[2].strip()) if match else ("", "")
        if not about:
            told = f"There is no action {action.strip()[:80]!r}: write search[WORDS], lookup[WORDS] or finish[ANSWER]."
            return Observation(told, valid=False)
        if verb == "finish":
            step = self.world.step(f"answer {about}")
            self._answer = {name: step.facts[name] for name in self._answer}
            return Observation(step.text, done=True)
        return Observation((self._search(about) if verb == "search" else self._look_up(about)) or NOTHING)

    def valid_actions(self) -> list[str]:
        """A search for the question, and for each title that was shown."""
        return [f"search[{words}]" for words in dict.fromkeys([self.task.goal, *(one.title for one in self._shown)])]

    def result(self) -> dict[str, Any]:
        """Exact match as the score, the answer, EM and F1, and the share of gold paragraphs shown, None if unknown."""
        gold = self.world.hidden(self.task).gold
        seen = recall(self._shown, gold) if gold else None
        return {"score": self._answer["em"], **self._answer, "gold_seen": seen}

    def _search(self, query: str) -> str:
        if self.world.setting == "open":
            found: Sequence[Paragraph] = self.world.step(f"search {query}").facts["paragraphs"]
        else:
            found = best(self._paragraphs, query, self.world.top)
        self._shown |= dict.fromkeys(found)
        return as_text(found)

    def _look_up(self, about: str) -> str:
        sentences = (
            f"[{one.title}] {sentence}"
            for one in self._shown
            for sentence in SENTENCE.split(one.text)
            if about.lower() in sentence.lower()
        )
        return "\n".join(list(sentences)[:MOST_SENTENCES])


def best(paragraphs: Iterable[Paragraph], query: str, count: int) -> list[Paragraph]:
    """At most `count` paragraphs: those whose title the query names, then by how many of its words they have."""
    stem = stemmer()
    wanted = {each for word in words(query) if (each := stem(word))}
    said = f" {' '.join(words(query))} "
    ranks: dict[Paragraph, tuple[bool, int]] = {}
    for one in paragraphs:
        there = {stem(word) for word in words(f"{one.title} {one.text}")}
        ranks[one] = f" {' '.join(title_words(one.title))} " in said, len(wanted & there)
    fit = [one for one, rank in ranks.items() if any(rank)]
    return sorted(fit, key=lambda one: ranks[one], reverse=True)[:count]
