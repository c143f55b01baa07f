"""Table 1's study and what reads its runs, on synthetic data and against a server on the loopback.

A random direction for every text stands in for an embedding model, but for the one slow test at the end.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import chat_server as chat
from chat_server import ChatServer, Request, Response
from lab.models.cache import RECORDING
from lab.models.engines import BadEngine
from lab.results import tables
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from lab.runs.study import Study
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from lab.viewer.episodes import StoredRun
from plain_routing import HashedEmbedder
from statefactory.benchmark import DOMAINS
from statefactory.epic import epic_distance, overall
from statefactory.experiments import figure4, predictions, scores, scoring
from statefactory.experiments.predictions import EXTRACTING, MODES, PredictionExperiment
from statefactory.experiments.scoring import STANDARD, Prediction, Scoring
from statefactory.predictors.baselines import Monotonic
from statefactory.routing import rewards
from statefactory.state import entities
from statefactory.studies import ablations, held_out, table1_details
from statefactory.studies.table1 import FRAGMENTS, MONOTONIC, STATEFACTORY, STUDY

OURS, INTUITIVE, STATEFUL = STATEFACTORY.name, MODES["judge_intuitive"][0], MODES["judge_stateful"][0]
SHORT = {"shortest": True}  # pairs of eight steps each
BLOCKS = PredictionExperiment(domain="blocksworld", data="synthetic")
HASHED = HashedEmbedder()


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> HashedEmbedder:
    monkeypatch.setattr("statefactory.experiments.scoring.embedder_of", lambda name: HASHED)
    monkeypatch.setattr("statefactory.experiments.figure4.embedder_of", lambda name: HASHED)
    return HASHED


def trial(
    *conditions: str, study: Study = STUDY, benchmarks: tuple[str, ...] = ("blocksworld",), limit: int = 2,
    options: Any = SHORT, **settings: Any,
) -> Trial:  # fmt: skip
    about = {"data": "synthetic", "limit": limit, "options": options, **settings}
    return study.trial(benchmarks=benchmarks, conditions=conditions or (OURS,), **about)


def run(setup: Trial, folder: Path, name: str = "run", **about: Any) -> Results:
    return collect(setup, **{"workers": 1, "run": str(folder / name), "show_progress": False, **about})


def predicted(results: Results, condition: str = OURS, score: Scoring = STANDARD) -> list[list[float]]:
    return [
        own.tolist()
        for domain in results.setup.datasets
        for own in scoring.rewards(results.part(domain, condition).predictions, score)
    ]


def blocks(results: Results, condition: str = OURS) -> list[Prediction]:
    return list(results.part("blocksworld", condition).predictions)


# --- which pairs --------------------------------------------------------------------------------------------------


def test_a_limit_takes_pairs_spread_over_the_tasks_or_the_shortest_or_all() -> None:
    whole, few, shortest, many = (
        PredictionExperiment(domain="blocksworld", data="synthetic", limit=limit, shortest=shortest).pairs()
        for limit, shortest in ((0, False), (3, False), (5, True), (10**6, False))
    )
    assert few == [whole[number * len(whole) // 3] for number in range(3)] and len(whole) > 3
    assert [len(pair.shaped) for pair in shortest] == sorted(len(pair.shaped) for pair in whole)[:5]
    assert many == whole


def test_a_condition_that_there_is_not_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="No condition 'magic'; choose from Monotonic, StateFactory, Object-centric"):
        run(trial(OURS, "magic"), tmp_path)
    assert not (tmp_path / "run").exists()


def test_rules_leave_judges_out_and_a_model_plays_them(capsys: pytest.CaptureFixture[str]) -> None:
    judges = tuple(title for title, _ in MODES.values())
    assert STUDY.trial(data="synthetic").resolved().methods == (MONOTONIC.name, OURS)
    assert f"{STATEFUL} are left out of {', '.join(DOMAINS)}: rules do not judge" in capsys.readouterr().err
    assert STUDY.trial(engine="gpt-4o", data="synthetic").resolved().methods == (MONOTONIC.name, OURS, *judges)
    mixed = STUDY.trial(engine="rules", engines={"judge": "gpt-4o"}, data="synthetic")
    assert mixed.resolved().methods == (MONOTONIC.name, OURS, *judges)


def test_pairs_that_cannot_be_built_here_leave_their_domain_out(monkeypatch: pytest.MonkeyPatch) -> None:
    built = predictions._pairs
    monkeypatch.setattr(predictions, "_pairs", lambda domain, *of: {} if domain == "textworld" else built(domain, *of))
    played = trial(benchmarks=("blocksworld", "textworld")).resolved()
    assert played.datasets == ("blocksworld",)
    with pytest.raises(BadSetting, match="No condition plays textworld; .* its pairs cannot be built on this machine"):
        trial(benchmarks=("textworld",)).resolved()


# --- a run --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_processes_give_the_results_of_one(hashed: HashedEmbedder, tmp_path: Path) -> None:
    one, two = (run(trial(limit=3), tmp_path, str(workers), workers=workers) for workers in (1, 2))
    assert two.episodes == one.episodes and predicted(two) == predicted(one)


def test_rows_are_the_distances_of_pairs_and_overall_their_mean_by_domain(
    hashed: HashedEmbedder, tmp_path: Path
) -> None:
    results = run(trial(MONOTONIC.name, OURS, benchmarks=DOMAINS), tmp_path)
    for domain in DOMAINS:
        part = results.part(domain, OURS)
        pairs = [prediction.pair for prediction in part.predictions]
        found = [epic_distance(own, np.array(pair.shaped))
                 for own, pair in zip(scoring.rewards(part.predictions), pairs, strict=True)]  # fmt: skip
        assert results.part(domain, MONOTONIC.name).distances() == pytest.approx(
            scoring.distances_of(pairs, Monotonic())
        )
        assert part.distances() == pytest.approx(found)
        assert [*results.scores_of(domain, OURS).values()] == pytest.approx(found)
    rows = results.frame()
    own = rows[rows["method"] == "StateFactory, rule-extracted"].set_index("metric")
    whole = overall({domain: results.part(domain, OURS).distances() for domain in DOMAINS})
    assert own["value"].tolist() == pytest.approx([*own["value"].iloc[:5], own["value"].iloc[:5].mean()])
    assert own.loc[scores.OVERALL, ["value", "ci_low", "ci_high"]].tolist() == pytest.approx(list(whole))
    assert own.index.tolist() == scores.metrics() and own.loc[scores.OVERALL, "n"] == 10
    assert rows[rows["method"] == "Monotonic"]["backbone"].tolist() == ["none"] * 6
    stopped = {name: episode for name, episode in results.episodes.items() if not name.startswith("webshop/")}
    of_others = replace(results, episodes=stopped).frame().query("method == 'Monotonic'")["metric"].tolist()
    assert of_others == [metric for metric in scores.metrics()[:5] if "WebShop" not in metric], "and no Overall"
    replayed = rows.assign(value=0.5, n=2).query("method == 'Monotonic'")  # a recording's tasks, without a model, too
    rows = STUDY.beside_published(rows, replayed)
    assert 0.5 not in rows.query("method == 'Monotonic'")["value"].tolist(), "this run's"
    tables.side_by_side(rows)  # raises if a method has two values
    assert rows["evidence"].tolist() == sorted(rows["evidence"], reverse=True), "published, then measured"
    assert 0.297 in rows[(rows["evidence"] == "published") & (rows["metric"] == scores.OVERALL)]["value"].tolist()


# --- what goes wrong ----------------------------------------------------------------------------------------------


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> str:
    """The task of a pair that is put into words that no rule reads."""
    pairs = {pair.task: pair for pair in BLOCKS.pairs()}
    first = min(pairs.values(), key=lambda pair: (len(pair.shaped), pair.task))
    row = replace(first.positive, goal_description="Lege den Drachen in die Kiste.")
    pairs[first.task] = replace(first, positive=row)
    monkeypatch.setattr(predictions, "_pairs", lambda *about: pairs)
    return first.task


def test_a_task_that_no_rule_reads_fails_its_pair_and_counts_as_rewards_of_0(
    hashed: HashedEmbedder, tmp_path: Path, foreign: str
) -> None:
    results = run(trial(), tmp_path)
    (failed,) = (episode for episode in results.episodes.values() if episode.failed)
    assert failed.task == f"blocksworld/{OURS}/{foreign}" and "Use a model as engine" in failed.error
    assert "UnknownLanguage: No rules read the task 'Lege den Drachen" in failed.error
    (own, other), (first, _) = predicted(results), results.part("blocksworld", OURS).distances()
    assert {*own} == {0.0} and max(other) > 0 and first == pytest.approx(0.5**0.5), "as any constant reward"
    assert predicted(results, score=Scoring(goal="offline"))[0] == own
    (row,) = results.frame().to_dict("records")
    assert (row["n"], row["failed"]) == (2, 1), "it stays in the denominator"
    (account,) = table1_details.accounts(results).to_dict("records")
    assert account == {
        "method": OURS, "pairs": 2, "failed": 1, "not measured": 0, "malformed": 0
    }  # fmt: skip


# --- how rewards are scored ---------------------------------------------------------------------------------------


def test_the_oracles_goal_is_the_state_after_the_experts_last_step(hashed: HashedEmbedder, tmp_path: Path) -> None:
    results = run(trial(limit=3, options={}), tmp_path)
    offline, online = predicted(results, score=Scoring(goal="offline")), predicted(results)
    for own, other, prediction in zip(offline, online, blocks(results), strict=True):
        steps = prediction.pair.positive.trajectory
        last = max(number for number, step in enumerate(steps) if step.reward.is_expert)
        positive, negative = prediction.traces
        oracle = [entities(positive.states[last])] * len(negative.states)
        assert own[last] == pytest.approx(1.0) and own != other
        assert own[len(steps) :] == rewards(oracle, list(negative.states), HASHED).tolist()


def test_what_an_oracle_or_noise_stood_in_for_is_simulated(hashed: HashedEmbedder, tmp_path: Path) -> None:
    clean, noisy = (run(trial(engine=engine), tmp_path, engine) for engine in ("rules", "rules@0.7"))
    assert clean.frame()["evidence"].tolist() == ["measured"]
    assert clean.frame(scoring=Scoring(goal="offline"))["evidence"].tolist() == ["simulated"]
    assert noisy.frame()["evidence"].tolist() == ["simulated"] and predicted(noisy) != predicted(clean)


def test_attributes_that_are_ignored_do_not_count_and_goals_without_others_vanish(
    hashed: HashedEmbedder, tmp_path: Path
) -> None:
    results = run(trial(benchmarks=("webshop",), options={}), tmp_path)
    everything = {a.name for p in results.part("webshop", OURS).predictions for trace in p.traces
                  for goal in trace.goals for entity in goal for a in entity.attributes}  # fmt: skip
    price, none = (predicted(results, score=Scoring(ignored=names)) for names in (("price", "status"), (*everything,)))
    assert price != predicted(results) and {reward for own in none for reward in own} == {0.0}


def test_states_and_goals_are_both_scored_in_the_wording_that_is_asked_for(
    hashed: HashedEmbedder, tmp_path: Path
) -> None:
    (prediction, *_) = run(trial(), tmp_path).part("blocksworld", OURS).predictions
    wording = next(name for name in scoring.WORDINGS if name != STANDARD.wording)
    worded = scoring._worded(prediction, Scoring(wording=wording))
    for before, after in zip(prediction.traces, worded.traces, strict=True):
        for known, shown in ((before.states, after.states), (before.goals, after.goals)):
            assert shown == tuple(scoring.reworded(state, wording) for state in known) != known


def test_scorings_of_objects_refuse_states_that_are_sentences(hashed: HashedEmbedder, tmp_path: Path) -> None:
    sentences = [*ablations.LEVELS][1]
    results = run(trial(sentences, study=ablations.TABLE13), tmp_path)
    (prediction, *_) = results.part("blocksworld", sentences).predictions
    with pytest.raises(TypeError, match="objects with attributes"):
        scoring.rewards([prediction], Scoring(goal="offline_task"))


def test_a_domain_is_embedded_in_one_batch(hashed: HashedEmbedder, tmp_path: Path) -> None:
    results = run(trial(), tmp_path)
    HASHED.asked.clear()
    predicted(results)
    first, *later = HASHED.asked
    assert {text for batch in later for text in batch} <= set(first) and "" not in first


def test_the_costliest_pairs_come_worst_first_with_what_went_wrong(hashed: HashedEmbedder, tmp_path: Path) -> None:
    results = run(trial(benchmarks=("webshop", "blocksworld"), limit=4, options={}), tmp_path)
    table = table1_details.costliest(results, OURS, most=2)
    assert table["domain"].tolist() == ["WebShop"] * 2 + ["BlocksWorld"] * 2
    assert set(table["evidence"]) == {"measured"} and set(table["backbone"]) == {"rules"}
    part = results.part("webshop", OURS)
    assert table["distance"].tolist()[:2] == sorted(part.distances(), reverse=True)[:2]
    line = table.iloc[0]
    place = [prediction.pair.task for prediction in part.predictions].index(line["task"])
    own, positive = scoring.rewards(part.predictions)[place], part.predictions[place].pair.positive
    steps = len(positive.trajectory)
    assert (line["steps"], line["positive"], line["negative"]) == (steps, own[:steps].mean(), own[steps:].mean())
    assert line["rises"] == pytest.approx(np.corrcoef(own[:steps], positive.shaped)[0, 1])


# --- a model at an address ----------------------------------------------------------------------------------------


def model(request: Request) -> Response:
    """A model that copies the newest observation into the state, and the task into the goal."""
    name = request.body["response_format"]["json_schema"]["name"].rpartition("_")[2]
    said = {line.partition(": ")[0]: line.partition(": ")[2] for line in request.text.splitlines()}
    told = [{"identity": "blocks", "attributes": [{"name": "position", "value": said.get("Observation", "")}]}]
    asked = [{"identity": "blocks", "attributes": [{"name": "position", "value": said.get("Task", "")}]}]
    bodies = {
        "perceive": {"thinking": "", "state": told},
        "refine": {"state": json.loads(said.get("Current state", "[]"))},
        "interpret": {"thinking": "", "goal": asked},
        "intuitive": {"reward": 7 * (request.number % 10)},
        "stateful": {"belief": "so far", "reward": len(request.text) % 100},
    }
    return chat.answer(bodies[name])


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ChatServer, hashed: HashedEmbedder) -> None:
    """As `lab record` sets it up."""
    server.behave(model)
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "data" / "recordings"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv(RECORDING, "first")


@pytest.mark.usefixtures("wanted")
def test_a_model_extracts_and_judges_and_the_run_says_before_how_often_it_asks(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    setup = trial(MONOTONIC.name, OURS, "Raw observations", INTUITIVE, engine="model-a", limit=1)
    results = run(setup, tmp_path, workers=4)
    steps = len(blocks(results)[0].pair.shaped)
    assert re.findall(r"([\d,]+) calls of a model", capsys.readouterr().err) == [str(4 * steps)]
    frame = results.frame()
    assert frame["backbone"].tolist() == ["none", "model-a", "none", "model-a"]
    assert set(frame["evidence"]) == {"measured"} and set(frame["n"]) == {1}
    calls = results.costs().set_index("operator")["calls"].to_dict()
    assert calls == dict.fromkeys((*EXTRACTING, "judge"), steps), "three modules and a judge at every step"
    judged = predicted(results, INTUITIVE)[0]
    assert {round(100 * reward) % 7 for reward in judged} == {0} and len(set(judged)) > 1


def test_operators_are_those_of_the_conditions() -> None:
    assert trial("Raw observations", STATEFUL, engine="gpt-4o").operators() == ("judge",)
    with pytest.raises(BadEngine, match="'judge' is no operator of statefactory-table1 .*: perceive, refine"):
        trial(engines={"judge": "gpt-4o"}).resolved()
    with pytest.raises(BadEngine, match="did you mean 'refine'"):
        figure4.walked("blocksworld", 0, "rules", "any", engines={"refin": "gpt-4o"})


@pytest.mark.usefixtures("wanted")
def test_a_recording_brings_its_setup_and_its_rows_name_it(tmp_path: Path, server: ChatServer) -> None:
    played = run(trial(OURS, INTUITIVE, engine="model-e"), tmp_path, "played")
    played.record()
    asked = server.count
    (served,) = STUDY.replays(workers=1)
    assert server.count == asked > 0 and served.setup.methods == played.setup.methods
    assert served.backbone == "model-e", "rows carry the name of what really answered"
    for name in served.setup.methods:
        assert predicted(served, name) == predicted(played, name)
    (line,) = table1_details.contrasts([served, run(trial(), tmp_path)]).to_dict("records")
    ours, theirs = (served.part("blocksworld", name).distances() for name in (OURS, INTUITIVE))
    assert line["difference"] == pytest.approx((ours - theirs).mean()) and line["n"] == 2
    kept = STUDY.beside_published()
    assert kept[kept["source"].str.startswith("recording first")]["value"].tolist() == played.frame()["value"].tolist()


@pytest.mark.usefixtures("wanted")
def test_an_episode_is_shown_with_what_was_extracted_and_asked(tmp_path: Path, server: ChatServer) -> None:
    results = run(trial(OURS, STATEFUL, engines={"judge": "a-model"}, limit=1), tmp_path)
    kept = StoredRun(results.folder)
    (pair,) = (prediction.pair for prediction in blocks(results))
    for condition, asked in ((OURS, 3), (STATEFUL, 1)):
        shown = kept.timeline(f"blocksworld/{condition}/{pair.task}", prompts=True)
        steps = [step for step in shown.steps if step.action]
        assert [step.title for step in steps] == [*pair.positive.actions, *pair.negative.actions] and not shown.notes
        assert {len(step.exchanges) for step in steps} == {asked}
        assert shown.task == pair.positive.goal_description
    assert steps[-1].reason.startswith(f"reward {predicted(results, STATEFUL)[0][-1]:.2f} ")
    assert any(step.changes for step in results.timeline("blocksworld", OURS, pair.task).steps)


# --- tables -------------------------------------------------------------------------------------------------------


def test_variants_are_read_by_rules_where_a_model_would_be_asked_again() -> None:
    study: Any = SimpleNamespace(run=lambda **asked: asked)
    for engine in ("rules@0.9", "rules@0.9, refine: rules"):
        asked: Any = table1_details.both_forms(study, engine, limit=2)
        assert asked == {"engine": engine, "conditions": [OURS, FRAGMENTS.name], "limit": 2}
    for engine in ("gpt-4o", "rules, refine: gpt-4o"):
        asked = table1_details.both_forms(study, engine)
        assert asked["engine"] == "rules"


def test_values_conventions_and_wordings_are_scored_on_the_same_answers(hashed: HashedEmbedder, tmp_path: Path) -> None:
    results = run(trial(OURS, FRAGMENTS.name), tmp_path)
    table = table1_details.variants(results)
    assert {*table["method"]} == {f"values as {values}, {convention}" for values in ("sentences", "fragments")
                                  for convention in ("the paper's equations", "the official program")}  # fmt: skip
    assert table["value"].nunique() == 4
    table = table1_details.wordings(results).set_index("method")["value"]
    assert set(table1_details.WORDINGS) == set(scoring.WORDINGS)
    assert len(table) == table.nunique() == 2 * len(scoring.WORDINGS)
    own = f"{table1_details.WORDINGS['observed']}, values as sentences"
    assert table[own] == results.frame()["value"].iloc[0]


def test_every_level_has_its_row_in_table_13_and_its_gain_over_the_last(hashed: HashedEmbedder, tmp_path: Path) -> None:
    study = ablations.TABLE13
    results = run(trial(*study.names(), study=study), tmp_path)
    rows = results.frame().set_index("method")["value"]
    assert rows.index.tolist() == [*ablations.LEVELS, ablations.FRAGMENTS.name]
    published = tables.published("Table 13", "statefactory")["method"]
    assert {*published} == {*ablations.LEVELS}, "named as the paper names them"
    gains = ablations.gains(results)
    assert len(gains) == 3
    for line in gains.to_dict("records"):
        assert line["gain"] == pytest.approx(rows[line["from"]] - rows[line["to"]])
        assert line["ci_low"] <= line["gain"] <= line["ci_high"]
    metric, by_value = scores.metric("blocksworld"), rows.sort_values(ascending=False).index.tolist()
    table = results.frame()
    assert ablations.ordered(table, by_value, metric) is True
    assert ablations.ordered(table, by_value[::-1], metric) is False
    assert ablations.ordered(table, by_value) is None, "Overall lacks"


@pytest.mark.slow
def test_held_out_pairs_are_other_tasks(hashed: HashedEmbedder) -> None:
    chosen = {"data": "synthetic", "limit": 1, "benchmarks": ("blocksworld",), "workers": 1}
    runs = held_out.run(seed=3, **chosen)
    rows = held_out.frame(runs)
    assert rows["method"].tolist() == [f"{name}, {pairs}" for pairs in (held_out.BENCHMARK, held_out.HELD_OUT)
                                       for name in ("Monotonic", "StateFactory, rule-extracted")]  # fmt: skip
    assert held_out.accepted(rows)["figure"].tolist() == [f"{OURS}, held out, BlocksWorld"]
    own, apart = ({*results.part("blocksworld", OURS).episodes} for results in runs.values())
    assert not own & apart


def test_rows_of_an_embedding_are_shown_where_its_files_are_not(
    hashed: HashedEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "recordings"))
    results = run(trial(), tmp_path)
    small, large = (results.frame(names={OURS: name}) for name in ("all-MiniLM-L6-v2", "all-mpnet-base-v2"))
    assert ablations.with_kept(small, "synthetic").equals(small), "nothing is kept yet"
    assert ablations.keep(pd.concat([small, large]), results) == ["embedding-all-mpnet-base-v2-synthetic"]
    shown = ablations.with_kept(small, "synthetic")
    assert shown["method"].tolist() == ["all-MiniLM-L6-v2", "all-mpnet-base-v2"]
    assert shown["value"].tolist()[1] == large["value"].item()
    assert shown["source"].tolist()[1].startswith("recording embedding-all-mpnet-base-v2-synthetic, sha256:")
    assert ablations.with_kept(large, "synthetic").equals(large), "the own row goes first"
    assert ablations.with_kept(small, "official").equals(small)


def test_a_value_of_figure_5_stands_beside_the_papers_of_the_same_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, online = [*ablations.LEVELS][0], ablations.GOALS["online"]

    def own(method: str, value: float, backbone: str = "rules") -> pd.DataFrame:
        row = tables.row(method, backbone, scores.OVERALL, value, evidence="measured", source="this run", n=5)
        return tables.table([row])

    rows = {"Table 13": own(raw, 0.5, "none"), "Table 14": own(online, 0.2), "Table 15": own("own", 0.3)}
    monkeypatch.setattr(ablations.Ablations, "rows", rows | {"Table 16": own(OURS, 0.4)})
    made: Any = ablations.Ablations(*[None] * 4)  # type: ignore[arg-type]  # the rows alone are read
    summary = made.summary().set_index("panel")
    assert summary["paper"].fillna(0).to_dict() == {"representation": 0.57, "goal": 0.30, "backbone": 0, "embedding": 0}
    assert summary.loc["representation", "answered by"] == "nobody" and summary.loc["backbone", "method"] == "rules"
    assert made.answer().splitlines()[1] == f"goal, EPIC distance, Overall (n = 5; this run): {online} 0.200"


def test_a_pair_is_walked_through_step_by_step(hashed: HashedEmbedder) -> None:
    walked = figure4.walked("blocksworld", 0, "rules", "any")
    pair = BLOCKS.pairs()[0]
    assert walked.goal == pair.positive.goal_description
    assert len(walked.negative) == len(pair.negative.trajectory)
    assert walked.note == f"measured · rules · synthetic data · {pair.task}"
    assert figure4.walked("blocksworld", 0, "rules@0.5", "any").note.startswith("simulated · rules@0.5")


@pytest.mark.parametrize("number", [-1, 10**6])
def test_a_pair_that_there_is_not_is_refused_with_those_there_are(number: int) -> None:
    with pytest.raises(ValueError, match=r"blocksworld has no pair .*; its pairs are 0 to \d+"):
        figure4.walked("blocksworld", number, "rules", "any")


# --- with the real embedding model --------------------------------------------------------------------------------


@pytest.mark.campaign
def test_extracted_states_are_nearer_to_the_truth_than_a_rising_line(tmp_path: Path) -> None:
    worlds = ("blocksworld", "alfworld")
    results = run(trial(MONOTONIC.name, OURS, benchmarks=worlds, limit=4, options={}), tmp_path)
    table = results.frame().pivot_table(index="metric", columns="method", values="value")
    assert (table["StateFactory, rule-extracted"] < table["Monotonic"] - 0.1).all()
    for domain in worlds:
        part = results.part(domain, OURS)
        for prediction, own in zip(part.predictions, scoring.rewards(part.predictions), strict=True):
            steps = prediction.pair.positive.trajectory
            expert = [number for number, step in enumerate(steps) if step.reward.is_expert]
            assert own[expert[-1]] > own[0], "who reaches the goal is nearer to it than at the start"
            assert own[expert[-1]] >= own.max() - 0.05
