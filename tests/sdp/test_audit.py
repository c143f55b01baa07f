"""The audit of Validate: what is asked of a labelled step, how errors are counted, what is kept, and the surface."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chat_server as chat
import judged_slice
from chat_server import ChatServer
from lab.machine import datasets
from lab.models.cache import RECORDING
from lab.models.judges import Errors, published
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting, score_lines
from sdp.adapters.multihop import labelled
from sdp.adapters.multihop.prompts import CONSISTENT, VERIFY
from sdp.experiments import audit
from sdp.experiments.audit import CERTIFY, INFORMED, REJECT, WORTH, Reading, Setup
from sdp.studies import table5, validate_surface
from sdp.studies.validate_surface import REDRAWN, REPEATED, VERDICTS
from worlds.agentprocessbench import NEUTRAL, RIGHT, WRONG, judged, steps


@pytest.fixture(autouse=True)
def slice_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    judged_slice.write(tmp_path / "data")
    datasets.accept("agentprocessbench")


def values(rows: pd.DataFrame) -> dict[str, float]:
    return dict(zip(rows["metric"], rows["value"], strict=True))


def opinion(request: chat.Request) -> chat.Response:
    """A model that certifies what speaks of valleys, quotes what it read, and once answers nothing that can be read."""
    if "Upper Lorn" in request.text:
        return chat.says(f"no idea, but {judged_slice.REASON}")
    verdict = "Tarn Mellow" in request.text
    kind = "consistent" if "Proposed answer" in request.text else "supported"
    return chat.answer({"reason": judged_slice.REASON, kind: verdict})


def test_a_model_is_asked_in_the_words_of_our_validate() -> None:
    search, answer = (steps()[f"made:0:0/{turn}"] for turn in (2, 4))
    hop, final = labelled.of_hop(search), labelled.of_answer(answer, [search])
    assert labelled.HOP.render(labelled.HOP.fill(**hop)) == VERIFY.render(VERIFY.fill(**hop))
    assert labelled.ANSWER.render(labelled.ANSWER.fill(**final)) == CONSISTENT.render(CONSISTENT.fill(**final))
    assert [one.entity for one in final["found"]] == ["Odalys Verrin"], "once, though two queries found it"
    assert hop["asked"] == "Amber Heron painter; Odalys Verrin birthplace" and "[Quiet Harbour]" in hop["text"]


def test_a_text_that_the_answer_does_not_have_cannot_be_dropped() -> None:
    with pytest.raises(ValueError, match=r"unkept=\['reasons'\]; the answer has \['reason', 'supported'\]"):
        replace(VERIFY, unkept=("reasons",))


def test_the_floor_goes_by_words_in_common() -> None:
    labels = collect(Setup(), show_progress=False).labels
    assert [labels[f"made:0:{turn}"] for turn in ("0/2", "0/4")] == [RIGHT, RIGHT]
    # Quiet Harbour is what was asked for, and stands there: words alone do not tell that it leads nowhere.
    assert [labels[f"made:0:{turn}"] for turn in ("1/2", "1/4", "2/2", "2/6")] == [RIGHT, RIGHT, WRONG, WRONG]


@pytest.mark.slow
def test_a_recording_holds_hashes_and_verdicts_and_replays_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ChatServer
) -> None:
    server.behave(opinion)
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "recordings"))
    monkeypatch.setenv(RECORDING, "audit")
    played = collect(Setup(engine="model-a"), show_progress=False)
    played.record()
    folder = tmp_path / "recordings" / "audit"
    lines = [json.loads(line) for line in gzip.decompress((folder / "answers.jsonl.gz").read_bytes()).splitlines()]
    kept = {line["text"] for line in lines}
    assert {'{"reason":"","supported":true}', '{"reason":"","consistent":true}'} < kept and len(kept) == 5
    assert not [line for line in lines if "said" in line]
    whole = "".join(path.read_text() for path in folder.glob("*.*[vn]")) + json.dumps(lines)
    assert not [word for word in ("Verrin", "valley", "Harbour", "Heron", "Lorn") if word in whole]
    asked = server.count
    again = collect(Setup(engine="replay:audit"), show_progress=False)
    assert again.labels == played.labels and server.count == asked
    assert None in again.labels.values() and len(audit.with_recorded(audit.frame(again), audit.stated())) == 4 + 40


@pytest.mark.slow
def test_errors_are_counted_as_the_benchmark_counts_them() -> None:
    rows = audit.of_judges(judged()["GPT-5.2"])
    assert values(rows[rows["backbone"] == "GPT-5.2"]) == {CERTIFY: 25, REJECT: 0, WORTH: pytest.approx(100 / 3),
                                                           INFORMED: 75}  # fmt: skip
    assert set(rows["evidence"]) == {"published"} and set(rows["backbone"]) == set(published())
    assert set(rows["data"]) == {"official"}, "the labelled steps, whatever the notebook plays besides"
    # All questions are alike here, so that resampling them changes nothing.
    assert (rows["ci_low"] == rows["ci_high"]).all()


@pytest.mark.parametrize(
    ("reading", "wrong", "right"),
    [(Reading(), 16, 8), (Reading("wrong", "rejection"), 20, 8), (Reading("right", "certification"), 16, 12)],
)
def test_neutral_labels_count_as_the_setting_says(reading: Reading, wrong: int, right: int) -> None:
    of = audit.counted({step: one.label for step, one in steps().items()}, reading)
    assert (of.wrong.sum(), of.right.sum()) == (wrong, right)
    assert (of.certified == of.right).all() and (of.rejected == of.wrong).all(), "people agree with themselves"


def test_without_labels_no_step_is_judged_and_the_page_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.delenv("LAB_DATA", raising=False)
    run, ours, judged = audit.play("rules", "auto", 5)
    assert run is None and ours.empty and not judged.empty and "LAB_DATA" in capsys.readouterr().out
    assert audit.Verdicts(ours).answer() == "No step was judged: people's labels need LAB_DATA."


def test_what_sdp_does_not_certify_it_rejects() -> None:
    unsure = {step: NEUTRAL if one.label == RIGHT else None for step, one in steps().items()}
    rates = [values(pd.DataFrame(audit.rows("judge", "unsure", unsure, reading, evidence="simulated", source="here")))
             for reading in (audit.PUBLISHED, audit.OF_SDP)]  # fmt: skip
    assert [rate[REJECT] for rate in rates] == [0, 100] and [rate[CERTIFY] for rate in rates] == [0, 0]


def test_a_setting_that_means_nothing_is_refused() -> None:
    with pytest.raises(BadSetting, match="choose one of 'left out', 'wrong', 'right'"):
        audit.counted({}, Reading("maybe"))  # type: ignore[arg-type]
    with pytest.raises(BadSetting, match="nobody labelled synthetic steps"):
        Setup(data="synthetic").resolved()


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.sampled_from([RIGHT, WRONG]), min_size=28, max_size=28))
def test_informedness_is_what_the_two_errors_leave(said: list[int]) -> None:
    labels = dict(zip(steps(), said, strict=True))
    found = values(pd.DataFrame(audit.rows("judge", "drawn", labels, evidence="simulated", source="a draw")))
    assert found[INFORMED] == pytest.approx(100 - found[CERTIFY] - found[REJECT])
    assert 100 * np.mean([*audit.by_question(labels).values()]) == pytest.approx(found[INFORMED])


def test_a_question_counts_by_what_leaving_it_out_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, first = random.Random(3), next(iter(steps().values()))
    many = {
        f"{task}/{number}": replace(first, task=str(task), label=drawn.choice([RIGHT, RIGHT, WRONG]))
        for task in range(80) for number in range(drawn.randint(6, 18))
    }  # fmt: skip
    monkeypatch.setattr(audit.agentprocessbench, "steps", lambda: many)
    verdicts = {name: step.label if drawn.random() < 0.7 else RIGHT for name, step in many.items()}
    by_question = audit.by_question(verdicts)
    whole = np.mean([*by_question.values()])
    for task in ("0", "41"):
        rest = audit.by_question({name: label for name, label in verdicts.items() if many[name].task != task})
        change = whole - np.mean([*rest.values()])
        assert change == pytest.approx((by_question[task] - whole) / 79, rel=0.1)


def test_null_models_of_the_audit_know_the_kind_of_a_step_at_most() -> None:
    constant = [collect(Setup(engine=engine), show_progress=False).scores for engine in ("first", "last")]
    assert [{*scores.values()} for scores in constant] == [{0.0}, {0.0}] and len(constant[0]) == 4
    searches = collect(audit.ByKind(), show_progress=False)
    assert {step for step, label in searches.labels.items() if label == RIGHT} == {
        name for name, step in steps().items() if audit.kind_of(step) == audit.SEARCH
    }
    (benchmark,), (condition,) = (score_lines(searches)[column].unique() for column in ("benchmark", "condition"))
    assert (benchmark, condition) == ("AgentProcessBench", audit.VALIDATE)
    assert audit.by_question({name: RIGHT for name, step in steps().items() if step.label == RIGHT}) == {}


def test_judges_that_say_the_same_agree_wholly() -> None:
    people = {step: one.label for step, one in steps().items()}
    never = dict.fromkeys(reversed(people), WRONG)
    table = audit.agreement({"people": people, "same": people, "never": never}).set_index("judge")
    assert table.loc["same", "with people"] == 100 and table.loc["same", "most alike"] == "people"
    assert table.loc["never", "with people"] == pytest.approx(100 * 20 / 28)


@pytest.mark.slow
def test_the_surface_falls_from_a_perfect_validate_and_holds_its_points() -> None:
    surface = validate_surface.play("rules@0.7", [0, 1], [0, 0.5], limit=12, workers=1)
    scores = surface.set_index(["dataset", "verdicts", "certify", "reject"])["score"]
    for verdicts in VERDICTS:
        assert scores["MuSiQue", verdicts, 0, 0] > scores["MuSiQue", verdicts, 1, 0]
    # A verdict that is drawn anew takes back what was wrongly rejected.
    assert scores["MuSiQue", REDRAWN, 0, 0.5] > scores["MuSiQue", REPEATED, 0, 0.5]
    assert scores["MuSiQue", REDRAWN, 0, 0] == scores["MuSiQue", REPEATED, 0, 0]
    corners = {f"{c}/{r}": Errors(c, r) for c in (0.0, 1.0) for r in (0.0, 0.5)}
    table = validate_surface.interpolated(surface, corners | {"far": Errors(0.5, 0.9)}).set_index("judge")
    for name, (certify, reject) in corners.items():
        assert table.loc[name, f"MuSiQue, {REPEATED}"] == scores["MuSiQue", REPEATED, certify, reject]
    assert np.isnan(table.loc["far", f"MuSiQue, {REPEATED}"])
    again = validate_surface.gaps(surface, "rules@0.7", {"0.0/0.5": corners["0.0/0.5"]}, limit=12, workers=1)
    assert again["off"].tolist() == [0, 0, 0, 0]
    assert list(validate_surface.grid(surface).columns[:4]) == ["dataset", "verdicts", "certify", "reject 0"]


@pytest.mark.slow
def test_what_audited_rates_predict_stands_beside_what_happened() -> None:
    (audited,) = audit.errors_of(audit.frame(collect(Setup(), show_progress=False))).values()
    conditions = ("SDP", "SDP without Validate")
    happened = table5.STUDY.run(
        engine="rules", data="synthetic", limit=2, benchmarks=("MuSiQue",), conditions=conditions
    )
    table = validate_surface.beside(audited, happened, limit=2, workers=1)
    assert list(table["dataset"]) == ["HotpotQA", "MuSiQue"] * len(validate_surface.NOISE) + ["MuSiQue"]
    assert list(table["evidence"]) == ["simulated"] * 4 + ["measured"]
    assert set(table["method"]) == {"SDP without Validate"}


def test_slopes_are_those_of_a_plane() -> None:
    plane = pd.DataFrame([{"dataset": "synthetic", "verdicts": REPEATED, "certify": c, "reject": r, "backbone": "",
                           "score": 90 - 40 * c - 100 * r} for c in (0.0, 0.5, 1.0) for r in (0.0, 0.2)])  # fmt: skip
    row = validate_surface.slopes(plane).iloc[0]
    assert (row["false certification"], row["false rejection"]) == (pytest.approx(4), pytest.approx(10))
