"""The rules that answer SDP's prompts for multi-hop questions offline."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lab.runs import collecting
from sdp.adapters.multihop.prompts import DECOMPOSE, REPLAN, CertifiedFinding, DecomposeFields, ReplanFields
from sdp.experiments.multihop import HotpotQA, MuSiQue
from standins.sdp.multihop import UNREADABLE, decompose, replan

QUESTION = "Where does the founder of the studio that produced the film Velmara live?"
TOLD = [CertifiedFinding(asked="Who produced the film Velmara?", finding="It is Boro Films.", entity="Boro Films")]


WHOLE: dict[str, Any] = {"planned": [], "single": False}
STUCK: dict[str, Any] = {"stuck": "____", "refused": [], "given_up": []}


@pytest.mark.parametrize("count", [0, 2, 4])
def test_what_cannot_be_read_is_not_broken_up(count: int) -> None:
    asked = DecomposeFields(question="Who wrote it?", count=count, found=[], **WHOLE)
    assert set(decompose(asked).questions) == {UNREADABLE}


@pytest.mark.parametrize("question", [QUESTION, "Was Kalan Boro older than Arina Sela?", "Who wrote it?"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_as_many_sub_questions_are_given_as_are_wanted(question: str, count: int) -> None:
    asked = DecomposeFields(question=question, count=count, found=[], **WHOLE)
    given = decompose(asked)
    assert DECOMPOSE.narrowed(asked).answer.model_validate(given.model_dump())
    again = ReplanFields(question=question, count=count, found=[], **STUCK)
    assert REPLAN.narrowed(again).answer.model_validate(replan(again).model_dump())
    assert not count or len(given.questions) == count


def test_only_the_hops_that_are_missing_are_asked_for() -> None:
    whole = decompose(DecomposeFields(question=QUESTION, count=3, found=[], **WHOLE)).questions
    rest = replan(ReplanFields(question=QUESTION, count=2, found=TOLD, **STUCK)).questions
    for words in ("{}", "____"):  # a placebo's plan says nothing
        planned = [words.format(hop) for hop in whole[:1]]
        fields = DecomposeFields(question=QUESTION, count=3, found=[], planned=planned, single=True)
        assert decompose(fields).questions == whole[1:2], "one sub-question a call (Eq. 1)"
    assert whole[0] == "Who produced the film Velmara?"
    assert [re.findall(r"#\d", each) for each in whole[1:]] == [["#1"], ["#2"]]
    assert rest == whole[1:]


@pytest.mark.parametrize("experiment", [HotpotQA, MuSiQue])
def test_questions_of_the_writing_set_are_answered_from_their_paragraphs(experiment: type[HotpotQA | MuSiQue]) -> None:
    played = collecting.collect(experiment(data="synthetic", split="writing", limit=10), 0, "").episodes.values()
    assert [one.result["em"] for one in played] == [1.0] * 10
