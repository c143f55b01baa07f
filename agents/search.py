"""Agents that search and then answer multi-hop questions: with one search, or one after each sentence of thought.

They choose no actions: a program searches and submits the answer; the model reasons and reads. Both agents answer with
the prompt of the agent `direct`, from the paragraphs that were found.
"""

from __future__ import annotations

from functools import partial

from agents.answers import Sentence, read
from agents.history import NO_ANSWER
from agents.play import Play
from agents.prompts import DIRECT, ENDING, Said, think_prompt
from agents.worlds.multihop import FORM, QUESTION
from worlds.multihop.world import as_text, from_text

MOST_THOUGHTS = 8  # as in the authors' code; a longer chain is going in circles


def retrieve_once(play: Play) -> None:
    """Search for the question itself, and answer from what is found."""
    question = play.history.task.removeprefix(QUESTION)
    _answered(play, question, play.do(f"search[{question}]"))


def interleave(play: Play) -> None:
    """Search with each new sentence of thought, then answer from all paragraphs that were found.

    Source: Trivedi et al. 2023 (IRCoT), without examples, and with the paragraphs that the environment shows.
    """
    question = play.history.task.removeprefix(QUESTION)
    paragraphs = dict.fromkeys(from_text(play.do(f"search[{question}]")))
    thoughts: list[str] = []
    while not play.over and len(thoughts) < MOST_THOUGHTS:
        fields = {"evidence": as_text([*paragraphs]), "question": question, "form": FORM, "thoughts": thoughts}
        thought = play.ask(think_prompt(play.settings.by_schema), partial(read, kind=Sentence), **fields)
        if thought is None or ENDING.lower() in thought.text.lower():
            break
        thoughts = [*thoughts, thought.text]
        paragraphs |= dict.fromkeys(from_text(play.do(f"search[{thought.text}]")))
    _answered(play, question, as_text([*paragraphs]))


def _answered(play: Play, question: str, evidence: str) -> None:
    final = play.ask(DIRECT, partial(read, kind=Said), evidence=evidence, question=question, form=FORM)
    if final and final.answer.strip():
        play.do(f"finish[{final.answer}]")
    play.end(play.history.end or NO_ANSWER)
