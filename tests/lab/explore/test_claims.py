"""The claims explorer: the register's numbers, flipped tasks, replayed episodes; its page and its widget."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lab.explore import claims, claims_page
from lab.explore.claims import Flip, NoReplay
from lab.explore.claims_panel import Claims
from lab.models.backbone import Cost
from lab.notebooks import register
from lab.notebooks.register import PaperFindings
from lab.results.claims import NOT_RUN, Contrast
from lab.results.stored import Scores, Side, Stored
from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline, side_by_side

UNDECIDED = "statefactory-planning-blocksworld"  # a claim on tasks of which none flipped
# A contrast on synthetic data, which every clone can replay: a pilot with one task, on which no claim rests.
PILOT = Contrast(benchmark="Blocks World", of="Human-TN", less="No-TN", engine="qwen2.5-coder-0.5b (local)")
HOSTILE = "</script><script>window.hostile = 1</script>"


def scores(condition: str, **values: float) -> Scores:
    return Scores(Side("Roads", condition, "m"), "crossed", "method", "measured", "synthetic", "replay:none", values)


def test_every_claim_has_a_row_with_its_numbers_on_an_axis_that_holds_them() -> None:
    judged = register.committed()
    findings = {finding.claim.id: finding for paper in judged for finding in paper.findings}
    rows = claims.rows(judged)
    assert {row["claim"] for row in rows} == findings.keys() and len(rows) == len(findings)
    json.dumps(rows, allow_nan=False)
    for row in rows:
        finding = findings[row["claim"]]
        assert row["verdict"] == finding.verdict.word
        assert row["answered"] == (NOT_RUN if finding.verdict.word == NOT_RUN else finding.model or claims.NO_MODEL)
        if finding.sides:
            assert row["here"] == pytest.approx(finding.sides[0] - finding.sides[1])
        numbers = [row[name] for name in claims.NUMBERS if row[name] is not None]
        assert not numbers or row["scale"][0] <= min(0, *numbers) and max(0, *numbers) <= row["scale"][1]
    kinds = {row["kind"]: row["scale"] for row in rows}
    assert all(row["scale"] == kinds[row["kind"]] for row in rows if row["kind"] in (claims.POINTS, claims.PERCENT))


def test_claims_are_chosen_by_paper_model_and_data_and_an_unknown_word_is_refused() -> None:
    rows = claims.rows(register.committed())
    assert claims.chosen(rows, paper="all", answered="all") == rows
    some = claims.chosen(rows, paper="ProcLLM", answered=claims.NO_MODEL, data="synthetic")
    assert some and {(row["paper"], row["data"]) for row in some} == {("ProcLLM", "synthetic")}
    for wrong, message in (
        ({"paper": "SPD"}, "paper='SPD': no claim has it; did you mean 'SDP'\\?"),
        ({"data": "x"}, "data='x': no claim has it; choose all or one of: official, synthetic$"),
        ({"claim": "x"}, "choose all or one of: sdp-travelplanner-first-option-0.5b, .* and [0-9]+ more$"),
    ):
        with pytest.raises(ValueError, match=message):
            claims.chosen(rows, **wrong)


def test_flips_are_the_shared_tasks_with_other_scores_the_largest_first() -> None:
    first, second = scores("a", t1=1, t2=0.5, t3=0, t4=1, t9=1), scores("b", t1=1, t2=0.25, t3=1, t4=0, t8=0)
    assert claims.flips(first, second) == [Flip("t3", 0, 1), Flip("t4", 1, 0), Flip("t2", 0.5, 0.25)]


def test_an_outline_tells_where_two_episodes_part_and_none_of_their_texts() -> None:
    def told(*actions: str) -> Timeline:
        asked = (Exchange("realize", ({"role": "user", "content": "SECRET"},), "SECRET", cost=Cost(1)),)
        steps = [
            Step(title=f"SECRET {n}", verdict=True, action=f"SECRET {action}", observation="SECRET", exchanges=asked)
            for n, action in enumerate(actions)
        ]
        return Timeline(title="SECRET", task="SECRET", steps=tuple(steps))

    lines = claims.outline(side_by_side(told("go", "left"), told("go", "right", "on")))
    assert "SECRET" not in json.dumps(lines)
    assert [line["same"] for line in lines] == [True, False, False] and lines[1]["differs"] == "action"
    assert lines[0]["hash first"] == lines[0]["hash second"] and lines[1]["hash first"] != lines[1]["hash second"]
    assert (
        claims.in_words(lines[1])
        == f"2 realize ✓ {lines[1]['hash first']} | 2 realize ✓ {lines[1]['hash second']} (action)"
    )
    assert claims.in_words(lines[2]).startswith("no step | 3 realize ✓")


def test_both_episodes_of_a_recorded_task_are_played_again_and_another_score_is_refused() -> None:
    first, second = claims.pair(PILOT, Stored())
    (task,) = first.values
    both = claims.episodes(first, second, Flip(task, first.values[task], second.values[task]))
    assert both.left.steps and both.right.steps and any(step.exchanges for step in both.left.steps)
    rounded = Flip(task, first.values[task] + 4e-7, second.values[task])  # scores are stored with six decimals
    assert claims.outline(claims.episodes(first, second, rounded)) == claims.outline(both)
    with pytest.raises(NoReplay, match=r"comes out as 0\.0, and 1 is stored"):
        claims.episodes(first, second, Flip(task, 1, 0))
    gone = first._replace(run="replay:gone")
    with pytest.raises(NoReplay, match="recording gone cannot be replayed here"):
        claims.episodes(gone, second, Flip(task, 0, 0))
    audit = first._replace(run="replay:validate-audit-1.5b")
    with pytest.raises(NoReplay, match="validate-audit-1.5b is of sdp-validate-audit, which is no study"):
        claims.episodes(audit, second, Flip(task, 0, 0))
    with pytest.raises(NoReplay, match="no recording holds the answers of qwen2.5"):
        claims.episodes(first._replace(run="procllm Blocks World"), second, Flip(task, 0, 0))


def test_stored_first_steps_hold_no_text_of_a_benchmark_and_are_of_the_flipped_tasks() -> None:
    stored = Stored()
    frame, known = stored.rows(claims.STEPS, claims.NOTEBOOK), claims.known_steps(stored)
    assert frame is not None
    sides = {f"{what} {side}" for what in ("step", "operator", "verdict", "hash") for side in ("first", "second")}
    assert {*frame.columns} == {"claim", "data", "task", "why", "differs", *sides}
    assert not frame["why"].str.contains("comes out as", na=False).any(), "replays differ from stored scores"
    assert frame["hash first"].dropna().str.fullmatch("[0-9a-f]{6}").all()
    assert known["statefactory-stateful-1.5b"] == {"": claims.ONLY_SCORES}, "its methods score the same trajectories"
    for claim, tasks in known.items():
        contrast = claims.contrast_of(register.committed(), claim)
        if contrast and "" not in tasks:
            flipped = [flip.task for flip in claims.flips(*claims.pair(contrast, stored))]
            assert [*tasks] == flipped, f"{claim} was scored anew: python -m lab run --in-place {claims.NOTEBOOK}"


def test_the_page_shows_all_claims_without_scripts_and_addresses_nothing_outside(tmp_path: Path) -> None:
    judged = register.committed()
    paper = judged[0]
    odd = replace(paper.findings[0].claim, says=HOSTILE, headline=False)
    changed = PaperFindings(paper.paper, (paper.findings[0]._replace(claim=odd), *paper.findings[1:]))
    page = claims_page.page([changed, *judged[1:]], Stored())
    rows = claims.rows([changed, *judged[1:]])
    bare = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert all(f'<tr id="{row["claim"]}"' in bare for row in rows)
    assert "window.hostile = 1</script>" not in page and "<script>window.hostile" not in page
    assert not re.search(r"https?:|src=\"(?!data:)|@import|url\(", page)
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", page, flags=re.DOTALL)
    assert json.loads(data) == json.loads(json.dumps(rows))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    steps = claims.known_steps(Stored())
    (step, *_) = steps["sdp-travelplanner-first-option-0.5b"].values()
    assert step in page


def test_the_widget_follows_its_choices_and_marks_replayed_episodes_as_outdated() -> None:
    panel = Claims(claim=UNDECIDED)
    assert (
        panel.comparison.forest.value.count("<tr id=") == 1
        and "first ReAct + StateFactory, second ReAct" in panel.comparison.flipped.value
    )
    assert panel.comparison.play.button.disabled and "no task that flipped" in panel.comparison.play.said.value
    panel.paper.value = "SDP"
    assert panel.claim.value == "all" and panel.comparison.forest.value.count("<tr id=") == len(panel.claim.options) - 1
    panel.answered.value = panel.answered.options[1]
    run = {value for _, value in panel.claim.options[1:]}
    assert 0 < len(run) < 12
    panel.claim.value = next(iter(run))
    assert panel.comparison.task.options == tuple(panel.flips) and not panel.comparison.play.button.disabled
    panel.sides = claims.pair(PILOT, panel.stored)
    (task,) = panel.sides[0].values
    panel.flips = {panel.comparison.task.value: Flip(task, 0, 0)}
    panel.comparison.play.press()
    assert not panel.comparison.play.said.value and panel.comparison.both and not panel.comparison.play.outdated
    assert panel.comparison.both.left.task[:20] in panel.comparison.episodes.value, (
        "texts of synthetic data may be shown"
    )
    first, second = panel.sides
    panel.sides = first._replace(data="official"), second._replace(data="official")
    panel.comparison.play.press()
    assert panel.comparison.both.left.task[:20] not in panel.comparison.episodes.value
    panel.comparison.task.value = panel.comparison.task.options[1]
    assert panel.comparison.play.outdated and (panel._repr_html_() or "").startswith(panel.comparison.play.mark.value)
    with pytest.raises(ValueError, match="at once"):
        Claims(paper="SDP", claim=UNDECIDED)
