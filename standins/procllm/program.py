"""The program that verifies in a model's place: the rule of the operator `check`.

A model lays out its notes as it likes, so the program expects no layout; the verifier of the engine `rules`
(`standins.procllm.agent.verify`) expects that of the rules' own notes. The program rejects only what it can run or
count, and says why:

    an answer               the domain's checker runs it
    steps of Blocks World   some lines of the notes, in a row, must be possible and lead where the effect says
    orders of Unit Movement the last order of each unit in the notes, all together, must reach the goal
    notes on a document     must have the share NOTED of its words

Any other effect holds once its files have text, as for rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from lab.models.rules import rule
from procllm.files import ANSWER, NOTES, REQUEST, SPECIFICATION, TOOLS
from procllm.prompts import CHECKING, VerifyAnswer, VerifyFields
from standins.procllm import blocks, units
from standins.procllm.agent import documents_in, judge_uncheckable, rules_for
from standins.procllm.view import Judgement

# A request states facts, which are all needed. A specification can be put shorter.
NOTED = MappingProxyType({REQUEST: 0.8, SPECIFICATION: 0.5, TOOLS: 0.5})
MOST_SHOWN = 12  # missing words in a reason


@rule(CHECKING)
def check(fields: VerifyFields) -> VerifyAnswer:
    """Judge the effect by running the answer or the notes, or by the words of the notes."""
    effect, files = fields.effect, dict(fields.files)
    judgement = _answered(effect, files) if ANSWER in files else _worked_out(effect, files) or noted(effect, files)
    judgement = judgement or judge_uncheckable(effect, files)
    if judgement.satisfied and ANSWER in files and "notes" in effect.lower():  # a goal that asks for both (§6)
        judgement = noted(effect, files) or judgement
    return VerifyAnswer(analysis=judgement.analysis, satisfied=judgement.satisfied)


def _answered(effect: str, files: Mapping[str, str]) -> Judgement | None:
    rules = rules_for([files.get(SPECIFICATION, "")])
    return rules.judge(effect, files) if rules else None


def _worked_out(effect: str, files: Mapping[str, str]) -> Judgement | None:
    """Whether the notes hold what the task works out; None if it works out nothing that can be run."""
    if NOTES not in files or REQUEST not in files:
        return None
    judgements = (domain.judge_notes(effect, files[REQUEST], files[NOTES]) for domain in (blocks, units))
    return next((judgement for judgement in judgements if judgement), None)


def noted(effect: str, files: Mapping[str, str]) -> Judgement | None:
    """Whether the notes have enough words of the documents that the effect names; None if it names none."""
    documents = documents_in(effect, files)
    if NOTES not in files or not documents:
        return None
    words_noted = set(words(files[NOTES]))
    for path in documents:
        expected = words(files[path])
        missing = [word for word in expected if word not in words_noted]
        if len(missing) > (1 - NOTED[path]) * len(expected):
            listed = ", ".join(missing[:MOST_SHOWN])
            return Judgement(False, f"The notes lack {len(missing)} of {len(expected)} words of {path}: {listed}")
    return Judgement(True, f"The notes have the words of {', '.join(documents)}.")


def words(text: str) -> list[str]:
    """The different words and numbers of a text, in its order."""
    return list(dict.fromkeys(re.findall(r"\w+", text.lower())))
