"""What is said about recorded models: which claims lead, what is planned, and that a replay gives what was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_server import ChatServer, answer
from lab.models.cache import RECORDING
from lab.notebooks import register, small_model
from lab.results.claims import SHOWS_NOTHING
from lab.results.plots import FEW
from lab.runs import collecting, planned
from lab.runs.experiment import BadSetting

PLAN = """
- {name: begun, tier: 1, study: sdp-table2, engine: model-s, conditions: [SDP], limit: 2, data: synthetic, workers: 1,
   hours: 2, claims: [a, b]}
- {name: small, tier: 1, study: sdp-table2, engine: model-t, conditions: [SDP], limit: 2, data: synthetic, hours: 1,
   claims: [b, c]}
- {name: large, tier: 2, study: sdp-table2, engine: model-u, conditions: [SDP], limit: 2, data: synthetic, hours: 9,
   claims: [c, d]}
"""


@pytest.fixture
def recordings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ChatServer) -> Path:
    server.behave(lambda request: answer({"choice": 1}))
    folder = tmp_path / "recordings"
    folder.mkdir()
    (folder / planned.PLAN).write_text(PLAN)
    monkeypatch.setenv("LAB_RECORDINGS", str(folder))
    monkeypatch.setenv(RECORDING, "begun")
    monkeypatch.setattr(collecting, "ANSWERED", [])
    return folder


def test_of_each_item_the_claim_with_most_tasks_leads_and_the_papers_take_turns() -> None:
    judged = register.committed()
    leading, every = small_model.leading(judged), small_model.run(judged)
    items = [(finding.claim.notebook, finding.claim.item) for finding in leading]
    assert len(items) == len({*items})
    most = dict(zip(items, (finding.n for finding in leading), strict=True))
    named = [finding for finding in every if not finding.claim.exploratory]
    assert all(finding.n <= most.get((finding.claim.notebook, finding.claim.item), FEW) for finding in named)
    assert any(finding.claim.exploratory for finding in every)
    telling = [finding for finding in leading if finding.verdict.word != SHOWS_NOTHING]
    assert leading[: len(telling)] == telling, "comparisons that show nothing come last"
    papers = [paper.paper.paper for paper in judged for finding in leading[: len(judged)] if finding in paper.findings]
    assert len(papers) == len(judged) == len({*papers}), "each paper's largest come first"
    assert [finding.n for finding in leading[: len(judged)]] == sorted(
        (finding.n for finding in leading[: len(judged)]), reverse=True
    )
    first, *claims = small_model.sentences(judged)
    assert f"{len(every)} were run" in first and len(claims) == min(len(leading), small_model.LEADING)
    assert all(finding.claim.says in line for finding, line in zip(leading, claims, strict=False))
    assert small_model.comparisons(every)["claim"].tolist() == [finding.claim.sentence for finding in every]


def test_the_next_hours_settle_what_needs_no_later_row(recordings: Path) -> None:
    hours = small_model.next_hours()
    assert hours["recording"].tolist() == ["begun", "small", "large"]
    assert hours["left"].tolist() == [2, 1, 9] and hours["in all"].tolist() == [2, 3, 12]
    assert hours["settles"].tolist() == ["a", "b", "c, d"], "b waits for the small row, and c for the large one"


def test_a_row_at_the_floor_is_not_begun_and_its_claims_say_why(recordings: Path) -> None:
    (recordings / planned.PLAN).write_text(PLAN.replace("hours: 9,", "hours: 9, floor: SDP 0 of 8,"))
    assert small_model.next_hours()["recording"].tolist() == ["begun", "small"]
    assert planned.pending({"d"})["d"] == "recording large: at the floor: SDP 0 of 8"
    assert planned.record(planned.plan()["large"]).startswith("large is at the floor: SDP 0 of 8; to record it")
    assert [path.name for path in recordings.iterdir()] == [planned.PLAN]


def test_a_whole_row_is_replayed_and_a_changed_score_is_seen(recordings: Path) -> None:
    planned.record(planned.plan()["begun"])
    costs = small_model.costs().set_index("recording")
    assert costs["state"].to_dict() == {"begun": "whole", "small": "planned", "large": "planned"}
    assert costs.loc["begun", "calls"] > 0 and costs.loc["begun", "planned hours"] == 2
    (played,) = small_model.play()
    assert played.same and played.row.name == "begun"
    (line,) = small_model.table([played]).to_dict("records")
    assert (line["n"], line["same scores"]) == (2, True) and line["result"].startswith("final pass")
    path = recordings / "begun" / "scores.csv"
    *lines, last = path.read_text().splitlines()
    path.write_text("\n".join([*lines, f"{last.rpartition(',')[0]},0.5"]) + "\n")
    assert not small_model.play()[0].same


def test_rows_are_played_by_another_engine(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (played,) = small_model.play("rules", ["small"], limit=1)
    assert (played.results.backbone, len(played.results.episodes), played.same) == ("rules", 1, True)
    assert small_model.play(names=["small"]) == [] and "small: planned" in capsys.readouterr().err
    assert small_model.play("rules") == [], "no row is whole"
    with pytest.raises(BadSetting, match="No planned recording 'smal'; choose from begun, small, large"):
        small_model.play("rules", ["smal"])


def test_unreadable_answers_are_counted_by_operator_without_those_of_rules() -> None:
    counts = small_model.unreadable("statefactory-table1")
    assert counts.groupby("operator")["calls"].sum()["interpret"] == 612  # a goal a step of 50 pairs
    assert small_model.worst(counts) == "interpret 40 %"
    assert {*small_model.unreadable("statefactory-table2")["operator"]} == {"act", "choose"}, "rules extract the states"
