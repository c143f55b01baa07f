"""Agents that search and then answer, for multi-hop questions: one search, or one after each sentence of thought.

They choose no actions: a program searches and hands in the answer, and the model reasons and reads. Both answer by the
prompt of the agent `direct`, from the paragraphs that were found.
"""

from __future__ import annotations

from functools import partial

from agents.answers import Sentence, read
from agents.history import NO_ANSWER
from agents.play import Play
from agents.prompts import DIRECT, ENDING, Said, think_prompt
from agents.worlds.multihop import FORM, QUESTION
from worlds.multihop.world import as_text, from_text

MOST_THOUGHTS = 8  # as the authors' code; a chain that is no answer by then is going round


def retrieve_once(play: Play) -> None:
    """Search for the question itself, and answer from what is found."""
    question = play.history.task.removeprefix(QUESTION)
    _answered(play, question, play.do(f"search[{question}]"))


def interleave(play: Play) -> None:
    """A sentence of thought, its words as the next search, and again; then an answer from all that was found.

    Source: Trivedi et al. 2023 (IRCoT), without examples, and with what the environment shows as paragraphs.
    """
    question = play.history.task.removeprefix(QUESTION)
    found = dict.fromkeys(from_text(play.do(f"search[{question}]")))
    thoughts: list[str] = []
    while not play.over and len(thoughts) < MOST_THOUGHTS:
        asked = {"evidence": as_text([*found]), "question": question, "form": FORM, "thoughts": thoughts}
        thought = play.ask(think_prompt(play.settings.by_schema), partial(read, kind=Sentence), **asked)
        if thought is None or ENDING.lower() in thought.text.lower():
            break
        thoughts = [*thoughts, thought.text]
        found |= dict.fromkeys(from_text(play.do(f"search[{thought.text}]")))
    _answered(play, question, as_text([*found]))


def _answered(play: Play, question: str, evidence: str) -> None:
    said = play.ask(DIRECT, partial(read, kind=Said), evidence=evidence, question=question, form=FORM)
    if said and said.answer.strip():
        play.do(f"finish[{said.answer}]")
    play.end(play.history.end or NO_ANSWER)
