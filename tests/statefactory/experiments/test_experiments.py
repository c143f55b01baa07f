"""The experiments behind the notebooks of `2_statefactory/`, on synthetic data and against a server on the loopback.

A random direction for every text stands in for an embedding model, but for the one slow test at the end.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import chat_server as chat
from chat_server import ChatServer, Request, Response
from lab.machine.faults import MissingData
from lab.models.cache import RECORDING
from lab.models.connect import connected
from lab.models.engines import UnknownOperator
from lab.models.replay import MissingRun, RecordingMiss
from lab.results import tables
from lab.runs import budget, catalogue, recordings
from lab.runs.budget import Budget, BudgetSpent
from lab.runs.collecting import collect
from lab.runs.comparison import compare
from lab.runs.execution import Interrupted
from lab.runs.run import ManifestMismatch
from lab.viewer.episodes import Kept
from plain_routing import HashedEmbedder
from statefactory.benchmark import Pair
from statefactory.epic import epic_distance, overall
from statefactory.experiments import ablations, contrasts, figure4, predictions, scores, scoring, table1
from statefactory.experiments.predictions import EXTRACTING, JUDGES, METHODS, SLICE, Results, Setup
from statefactory.experiments.scoring import STANDARD, Scoring
from statefactory.extraction import extract
from statefactory.predictors import Predictor
from statefactory.predictors.factored import StateFactory, trace_rewards
from statefactory.prompts import modules
from statefactory.routing import OFFICIAL, rewards
from statefactory.rules import blocksworld
from statefactory.state import entities

MADE = Setup(data="synthetic", domains=("blocksworld",), limit=3)
SHORT = replace(MADE, shortest=True, limit=2)  # two pairs of eight steps each
HASHED = HashedEmbedder()


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> HashedEmbedder:
    monkeypatch.setattr("statefactory.experiments.scoring.embedder_of", lambda name: HASHED)
    monkeypatch.setattr("statefactory.experiments.figure4.embedder_of", lambda name: HASHED)
    return HASHED


def run(setup: Setup, folder: Path, name: str = "run", workers: int = 1, **about: object) -> Results:
    return collect(setup, workers=workers, run=str(folder / name), show_progress=False, **about)


def predicted(results: Results, method: str = "statefactory", score: Scoring = STANDARD) -> list[list[float]]:
    return [of.tolist() for _, _, of in scoring.rewards(results, method, score)]


def pair_of(results: Results, number: int = 0) -> Pair:
    return results.pairs["blocksworld"][number]


# --- which pairs --------------------------------------------------------------------------------------------------


def test_a_limit_takes_pairs_spread_over_the_tasks() -> None:
    whole = replace(MADE, limit=0).pairs()["blocksworld"]
    assert [pair.task for pair in MADE.pairs()["blocksworld"]] == [
        whole[number * len(whole) // 3].task for number in range(3)
    ]
    assert len(whole) > 3


def test_a_limit_above_the_number_of_pairs_takes_them_all_once() -> None:
    many, whole = (replace(MADE, limit=limit).pairs()["blocksworld"] for limit in (10**6, 0))
    assert many == whole
    assert len({pair.task for pair in whole}) == len(whole)


def test_the_shortest_pairs_are_the_shortest_and_come_first() -> None:
    whole = replace(MADE, limit=0).pairs()["blocksworld"]
    lengths = [len(pair.shaped) for pair in replace(MADE, limit=5, shortest=True).pairs()["blocksworld"]]
    assert lengths == sorted(len(pair.shaped) for pair in whole)[:5]


def test_a_method_that_there_is_not_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No method 'magic'; choose from statefactory, object_centric"):
        run(replace(MADE, methods=("statefactory", "magic")), tmp_path)
    assert not (tmp_path / "run").exists()


# --- a run --------------------------------------------------------------------------------------------------------


def test_a_finished_run_is_read_and_not_played_again(
    hashed: HashedEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(MADE, tmp_path)
    before = (tmp_path / "run" / "episodes.jsonl").read_bytes()
    monkeypatch.setattr(StateFactory, "follow", None)
    again = run(MADE, tmp_path)
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == before
    assert predicted(again) == predicted(first)
    assert again.usage == first.usage


def test_two_processes_give_the_results_of_one(hashed: HashedEmbedder, tmp_path: Path) -> None:
    one, two = run(MADE, tmp_path, "one"), run(MADE, tmp_path, "two", workers=2)
    assert two.episodes == one.episodes
    assert predicted(two) == predicted(one)


def test_a_run_is_what_extraction_and_routing_give_by_themselves(hashed: HashedEmbedder, tmp_path: Path) -> None:
    results = run(SHORT, tmp_path)
    for (_, pair, of), one in zip(scoring.rewards(results, "statefactory"), results.pairs["blocksworld"], strict=True):
        assert pair == one
        traces = [extract(connected("rules"), r.goal_description, r.actions, r.observations)
                  for r in pair.rows]  # fmt: skip
        assert of.tolist() == np.concatenate([trace_rewards(trace, HASHED) for trace in traces]).tolist()


def test_a_runs_headline_is_the_overall_distance_of_each_method(hashed: HashedEmbedder, tmp_path: Path) -> None:
    setup = replace(MADE, domains=("blocksworld", "textworld"), methods=("statefactory", "raw"), limit=2)
    results = run(setup, tmp_path)
    heads = catalogue.headline(Kept(tmp_path / "run"))
    assert [(head.metric, head.part, head.n) for head in heads] == [
        ("EPIC distance", "statefactory", 4), ("EPIC distance", "raw", 4)
    ]  # fmt: skip
    for head in heads:
        assert head[3:6] == pytest.approx(overall(scoring.distances(results, head.part)))
    found = compare(f"{tmp_path / 'run'}:statefactory", f"{tmp_path / 'run'}:raw")
    ours = contrasts.compared(*(scoring.distances(results, method) for method in setup.methods))
    assert found.parts[0].result.difference == pytest.approx(ours.difference, abs=0.02)  # other resamples
    assert found.parts[0].result.difference.value == pytest.approx(ours.difference.value)


def test_distances_are_those_of_each_pair(hashed: HashedEmbedder, tmp_path: Path) -> None:
    results = run(MADE, tmp_path)
    found = scoring.distances(results, "statefactory")["blocksworld"]
    pairs = results.pairs["blocksworld"]
    each = [epic_distance(np.array(of), np.array(pair.shaped))
            for of, pair in zip(predicted(results), pairs, strict=True)]  # fmt: skip
    assert found.tolist() == pytest.approx(each)


@pytest.mark.parametrize("change", [{"limit": 2}, {"shortest": True}, {"methods": ("raw",)}])
def test_a_run_folder_refuses_another_experiment_and_names_what_differs(
    tmp_path: Path, change: dict[str, object]
) -> None:
    run(MADE, tmp_path)
    with pytest.raises(ManifestMismatch, match=f"{next(iter(change))} is "):
        run(replace(MADE, **change), tmp_path)


def test_an_interrupted_run_keeps_what_was_finished_and_goes_on_from_there(
    hashed: HashedEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    def interrupted(method: StateFactory, *about: object) -> object:
        begun.append(1)
        if len(begun) == 4:
            raise KeyboardInterrupt
        return Predictor.follow(method, *about)

    monkeypatch.setattr(StateFactory, "follow", interrupted)
    with pytest.raises(Interrupted, match="3 of 6 episodes"):
        run(MADE, tmp_path)
    whole = run(MADE, tmp_path)
    assert len(begun) == 4 + 3, "what was finished is not played again"
    assert predicted(whole) == predicted(run(MADE, tmp_path, "at once"))


def test_trajectories_are_played_pair_by_pair_through_all_methods_and_domains(tmp_path: Path) -> None:
    setup = replace(MADE, methods=("raw", "statefactory"), domains=("blocksworld", "webshop"), limit=2)
    ids = list(run(setup, tmp_path).episodes)
    first = [name.split("/")[:2] for name in ids[:8]]
    assert first == [[method, domain] for method in setup.methods for domain in setup.domains for _ in range(2)]
    assert len(ids) == 16


# --- what goes wrong ----------------------------------------------------------------------------------------------


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a trajectory whose task is put into words that no rule reads."""
    pairs = list(SHORT.pairs()["blocksworld"])
    row = replace(pairs[0].positive, goal_description="Lege den Drachen in die Kiste.")
    pairs[0] = replace(pairs[0], positive=row)
    monkeypatch.setattr(predictions, "_pairs", lambda domain, data, seed, held_out: pairs)
    monkeypatch.setattr(predictions, "_rows", predictions._rows.__wrapped__)
    return row.id


def test_a_task_that_no_rule_reads_fails_its_episode_and_says_what_to_do(
    hashed: HashedEmbedder, tmp_path: Path, foreign: str
) -> None:
    results = run(SHORT, tmp_path)
    failed = [episode for episode in results.episodes.values() if episode.failed]
    assert [episode.task for episode in failed] == [f"statefactory/blocksworld/{foreign}"]
    assert "UnknownLanguage: No rules read the task 'Lege den Drachen" in failed[0].error
    assert "Use a model as engine" in failed[0].error


def test_a_failed_episode_counts_as_rewards_of_0(hashed: HashedEmbedder, tmp_path: Path, foreign: str) -> None:
    results = run(SHORT, tmp_path)
    pair, (of, other) = pair_of(results), predicted(results)
    steps = len(pair.positive.trajectory)
    assert of[:steps] == [0.0] * steps
    assert max(of[steps:]) > 0 and max(other) > 0
    assert results.trace("statefactory", "blocksworld", pair.positive) is None
    assert results.counts("statefactory") == {
        "steps": sum(len(pair.shaped) for pair in results.pairs["blocksworld"]),
        "failed": 1,
        "not measured": 0,
        "malformed": 0,
        "unparsed": 0,
    }
    assert table1.accounts(results)["failed"].tolist() == [1]
    assert scoring.rows(results, "statefactory")[0]["n"] == 2, "it stays in the denominator"


def test_an_oracle_goal_that_was_not_extracted_gives_rewards_of_0(
    hashed: HashedEmbedder, tmp_path: Path, foreign: str
) -> None:
    results = run(SHORT, tmp_path)
    assert set(predicted(results, score=Scoring(goal="offline"))[0]) == {0.0}


# --- how rewards are scored ---------------------------------------------------------------------------------------


def test_the_oracles_goal_is_the_state_after_the_experts_last_step(hashed: HashedEmbedder, tmp_path: Path) -> None:
    results = run(MADE, tmp_path)
    for (_, pair, of), online in zip(
        scoring.rewards(results, "statefactory", Scoring(goal="offline")), predicted(results), strict=True
    ):
        last = max(number for number, step in enumerate(pair.positive.trajectory) if step.reward.is_expert)
        assert of[last] == pytest.approx(1.0)
        positive, negative = (results.trace("statefactory", "blocksworld", row) for row in pair.rows)
        oracle = [entities(positive.states[last])] * len(negative.states)
        assert of[len(positive.states) :].tolist() == rewards(oracle, list(negative.states), HASHED).tolist()
        assert of.tolist() != online


def test_what_an_oracle_or_noise_stood_in_for_is_simulated(hashed: HashedEmbedder, tmp_path: Path) -> None:
    clean = run(SHORT, tmp_path, "clean")
    noisy = run(replace(SHORT, engine="rules@0.7"), tmp_path, "noisy")
    assert evidence(clean) == "measured"
    assert evidence(clean, Scoring(goal="offline")) == "simulated"
    assert evidence(noisy) == "simulated"
    assert noisy.counts("statefactory")["failed"] == 0
    assert predicted(noisy) != predicted(clean)


def test_noise_that_is_replayed_is_simulated_still(hashed: HashedEmbedder, tmp_path: Path) -> None:
    noisy = run(replace(SHORT, engine="rules@0.7"), tmp_path, "noisy", record=True)
    again = run(Setup(engine=f"replay:{tmp_path / 'noisy'}"), tmp_path, "replayed")
    assert predicted(again) == predicted(noisy)
    assert evidence(again) == "simulated"
    assert scoring.title_of(again, "statefactory") == "StateFactory, rule-extracted"


def test_another_seed_is_other_noise(tmp_path: Path) -> None:
    one, two, again = (replace(SHORT, engine="rules@0.7", seed=seed).resolved().engine for seed in (0, 5, 5))
    assert (one, two, again) == ("rules@0.7", "rules@0.7?seed=5", "rules@0.7?seed=5")
    assert replace(SHORT, engine="rules@0.7?seed=2", seed=5).resolved().engine == "rules@0.7?seed=2"


def evidence(results: Results, score: Scoring = STANDARD) -> str:
    (row,) = scoring.rows(results, "statefactory", score)
    return row["evidence"]


def test_attributes_that_are_ignored_do_not_count_and_goals_without_others_vanish(
    hashed: HashedEmbedder, tmp_path: Path
) -> None:
    results = run(replace(MADE, domains=("webshop",), limit=2), tmp_path)
    score = Scoring(ignored=("price", "status"))
    for _, pair, of in scoring.rewards(results, "statefactory", score):
        traces = [results.trace("statefactory", "webshop", row) for row in pair.rows]
        kept = [replace(trace, goals=tuple(map(without_price, trace.goals))) for trace in traces]
        assert of.tolist() == np.concatenate([trace_rewards(trace, HASHED) for trace in kept]).tolist()
    assert predicted(results, score=score) != predicted(results)
    rows = [row for pair in results.pairs["webshop"] for row in pair.rows]
    goals = [goal for row in rows for goal in results.trace("statefactory", "webshop", row).goals]
    names = {attribute.name for goal in goals for entity in goal for attribute in entity.attributes}
    assert {of for line in predicted(results, score=Scoring(ignored=tuple(names))) for of in line} == {0.0}


def without_price(goal: tuple) -> tuple:
    return tuple(
        replace(e, attributes=tuple(a for a in e.attributes if a.name not in ("price", "status"))) for e in goal
    )


def test_the_official_convention_cuts_rewards_to_two_decimals(hashed: HashedEmbedder, tmp_path: Path) -> None:
    values = np.concatenate(predicted(run(SHORT, tmp_path), score=Scoring(convention=OFFICIAL)))
    assert np.allclose(values * 100, np.round(values * 100))
    assert ((values > 0) & (values < 1)).any()


def test_a_run_is_embedded_in_one_batch(hashed: HashedEmbedder, tmp_path: Path) -> None:
    results = run(SHORT, tmp_path)
    HASHED.asked.clear()
    predicted(results)
    first, *later = HASHED.asked
    assert {text for batch in later for text in batch} <= set(first)
    assert "" not in first


def test_the_costliest_pairs_come_worst_first_with_what_went_wrong(hashed: HashedEmbedder, tmp_path: Path) -> None:
    results = run(replace(MADE, domains=("webshop", "blocksworld"), limit=4), tmp_path)
    table = scoring.costliest(results, "statefactory", most=2)
    assert list(table.columns) == [
        "domain", "task", "distance", "steps", "rises", "positive", "truth", "negative", "end", "backbone", "evidence",
    ]  # fmt: skip
    assert set(table["evidence"]) == {"measured"} and set(table["backbone"]) == {"rules"}
    assert table["domain"].tolist() == ["WebShop"] * 2 + ["BlocksWorld"] * 2
    found = scoring.distances(results, "statefactory")
    for domain, name in (("webshop", "WebShop"), ("blocksworld", "BlocksWorld")):
        worst = table.loc[table["domain"] == name, "distance"].tolist()
        assert worst == sorted(found[domain], reverse=True)[:2]
    line = table.iloc[0]
    (of, pair) = next(
        (of, pair) for _, pair, of in scoring.rewards(results, "statefactory") if pair.task == line["task"]
    )
    steps = len(pair.positive.trajectory)
    assert (line["steps"], line["positive"]) == (steps, of[:steps].mean())
    assert line["negative"] == of[steps:].mean()
    assert line["rises"] == pytest.approx(np.corrcoef(of[:steps], pair.positive.shaped)[0, 1])


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
    }
    return chat.answer(bodies[name])


CALLS = 3 * 4  # of a trajectory of SHORT


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ChatServer, hashed: HashedEmbedder) -> Path:
    """As `lab record` sets it up; the folder of the recording."""
    server.behave(model)
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "data" / "recordings"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv(RECORDING, "first")
    return tmp_path / "data" / "recordings" / "first"


def allow(monkeypatch: pytest.MonkeyPatch, allowed: Budget) -> None:
    monkeypatch.setattr(budget, "of_environment", lambda: allowed)


def test_a_model_extracts_and_judges_whole_trajectories(wanted: Path, tmp_path: Path, server: ChatServer) -> None:
    setup = replace(SHORT, engine="model-a", methods=("statefactory", "judge_intuitive"), limit=1)
    results = run(setup, tmp_path, workers=4)
    steps = len(pair_of(results).shaped)
    frame = table1.measured(results)
    assert frame["method"].tolist() == ["Monotonic", "StateFactory", METHODS["judge_intuitive"].title]
    assert frame["backbone"].tolist() == ["none", "model-a", "model-a"]
    assert set(frame["evidence"]) == {"measured"} and set(frame["n"]) == {1}
    took = table1.costs(results).set_index("operator")
    cached = sum(of["cached"] for usage in results.usage.values() for of in usage.values())
    assert server.count + cached == 4 * steps, "three modules and a judge at every step"
    assert took["calls"].to_dict() == {"perceive": steps, "refine": steps, "interpret": steps, "judge": steps}
    judged = predicted(results, "judge_intuitive")[0]
    assert {round(100 * of) % 7 for of in judged} == {0} and len(set(judged)) > 1


def test_a_run_says_how_often_it_will_ask_a_model_before_it_asks(
    wanted: Path, tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    setup = replace(SHORT, engine="model-a", methods=("statefactory", "raw", "judge_intuitive"), limit=1)
    extracting = replace(setup, engines={"perceive": "rules"}, methods=("statefactory",))
    told = []
    for number, each in enumerate((setup, setup, extracting)):
        results = run(each, tmp_path, str(number // 2), workers=1)
        told.append(re.findall(r"([\d,]+) calls of a model", capsys.readouterr().err))
    steps = len(pair_of(results).shaped)
    # The second time nothing is left to ask; what rules answer is not counted.
    assert told == [[str(4 * steps)], [], [str(2 * steps)]]


def test_rules_extract_and_a_model_judges_and_each_row_says_who(
    wanted: Path, tmp_path: Path, server: ChatServer
) -> None:
    methods = ("statefactory", "judge_intuitive")
    setup = replace(SHORT, engine="rules@0.9", engines={"judge": "model-j"}, methods=methods, limit=1)
    results = run(setup, tmp_path)
    assert results.backbone == "rules@0.9, Judge: model-j"
    rows = scoring.frame(results).set_index("method")[["backbone", "evidence"]]
    assert rows.loc["StateFactory, rule-extracted"].tolist() == ["rules@0.9", "simulated"]
    assert rows.loc[METHODS["judge_intuitive"].title].tolist() == ["model-j", "measured"]
    costs = table1.costs(results).set_index("operator")
    assert costs["engine"].to_dict() == dict.fromkeys(EXTRACTING, "rules@0.9") | {"judge": "model-j"}
    assert costs.loc["judge", "tokens in"] == 7 * costs.loc["judge", "calls"] > 0 and server.count


def test_operators_are_those_of_the_methods() -> None:
    assert replace(MADE, methods=("raw", "judge_stateful")).operators() == ("perceive", "refine", "interpret", "judge")
    with pytest.raises(UnknownOperator, match="'judge' is no operator of rewardprediction .*: perceive, refine"):
        replace(MADE, engines={"judge": "gpt-4o"}).resolved()
    with pytest.raises(UnknownOperator, match="did you mean 'refine'"):
        figure4.walked("blocksworld", 0, "rules", "any", engines={"refin": "gpt-4o"})


def test_a_judge_that_talks_rubbish_fails_no_episode_and_is_counted(
    wanted: Path, tmp_path: Path, server: ChatServer
) -> None:
    server.behave(lambda request: chat.says("Rather well, I think."))
    results = run(replace(SHORT, engine="model-b", methods=("judge_intuitive",), limit=1), tmp_path)
    counts = results.counts("judge_intuitive")
    assert (counts["failed"], counts["malformed"]) == (0, counts["steps"])


def test_a_spent_budget_keeps_whole_pairs_and_the_run_goes_on_from_there(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = replace(SHORT, engine="model-c")
    allow(monkeypatch, Budget(calls=2 * CALLS + 1))
    part = run(setup, tmp_path)
    assert len(part.pairs["blocksworld"]) == 1
    assert len(part.episodes) == 2 and len(predicted(part)) == 1
    before = (tmp_path / "run" / "episodes.jsonl").read_bytes()
    assert before.count(b"\n") == 3, "the half of a pair is kept, and not scored"
    allow(monkeypatch, Budget())
    whole = run(setup, tmp_path)
    assert len(whole.pairs["blocksworld"]) == 2
    after = (tmp_path / "run" / "episodes.jsonl").read_bytes()
    assert after.startswith(before) and after.count(b"\n") == 4, "nothing is played twice"
    assert predicted(whole)[0] == predicted(part)[0]


def test_a_budget_that_ends_before_a_pair_is_whole_says_so(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, Budget(calls=1))
    with pytest.raises(BudgetSpent, match="the budget of 1 model calls is spent"):
        run(replace(SHORT, engine="model-d"), tmp_path)


def test_a_recording_is_served_without_the_model_and_brings_its_own_setup(
    wanted: Path, tmp_path: Path, server: ChatServer
) -> None:
    setup = replace(SHORT, engine="model-e", methods=("statefactory", "judge_intuitive"))
    played = run(setup, tmp_path, "played")
    table1.record(played)
    asked = server.count
    served = run(Setup(engine="replay:first", data="official", limit=1), tmp_path, "served")
    assert server.count == asked > 0
    assert replace(served.setup, engine="model-e") == played.setup
    assert served.backbone == "model-e", "rows carry the name of what really answered"
    for method in setup.methods:
        assert predicted(served, method) == predicted(played, method)
    (line,) = contrasts.contrasts([served, run(SHORT, tmp_path)]).to_dict("records")
    ours, theirs = (scoring.distances(served, method)["blocksworld"] for method in setup.methods)
    assert line["difference"] == pytest.approx((ours - theirs).mean()) and line["n"] == 2
    assert line["backbone"] == "model-e"


def test_a_recording_of_a_part_is_replayed_as_that_part(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, Budget(calls=2 * CALLS + 1))
    part = run(replace(SHORT, engine="model-f"), tmp_path, "played")
    table1.record(part)
    allow(monkeypatch, Budget())
    served = run(Setup(engine="replay:first"), tmp_path, "served")
    assert served.pairs == part.pairs
    assert predicted(served) == predicted(part)


def in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers would know nothing of what a test has moved elsewhere."""
    monkeypatch.setattr(table1, "collect", partial(collect, workers=1))


def test_replayed_rows_are_those_that_were_saved_and_name_their_recording(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_one_process(monkeypatch)
    played = run(replace(SHORT, engine="model-g"), tmp_path, "played")
    table1.record(played)
    assert Setup.recorded() == ["first"]
    rows = table1.replayed(["first"])
    assert rows["value"].tolist() == scoring.frame(played)["value"].tolist()
    assert rows["source"].tolist() == ["recording first, synthetic data"]
    (took,) = {
        tuple(line) for line in recordings.usage(Setup.method)[["recording", "episodes"]].itertuples(index=False)
    }
    assert took == ("first", "4 of 4")


def test_a_recording_of_another_prompt_has_no_rows(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_one_process(monkeypatch)
    played = run(replace(SHORT, engine="model-h"), tmp_path, "played")
    table1.record(played)
    other = modules("object_attribute")
    newer = other._replace(refine=replace(other.refine, version="next"))
    monkeypatch.setattr("statefactory.extraction.modules", lambda level: newer)
    with pytest.raises(RecordingMiss, match="recorded with version"):
        run(Setup(engine="replay:first"), tmp_path, "served")
    assert table1.replayed(["first"]).empty
    assert "first is void, and its rows are left out" in capsys.readouterr().err


def test_rows_are_shown_as_they_were_saved_where_their_trajectories_cannot_be_made(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    played = run(replace(SHORT, engine="model-h"), tmp_path, "played")
    table1.record(played)

    def lacking(*_: object, **__: object) -> None:
        raise MissingData("no compiler here")

    monkeypatch.setattr(table1, "collect", lacking)
    rows = table1.replayed(["first"])
    assert rows["value"].tolist() == pytest.approx(scoring.frame(played)["value"].tolist())
    assert rows["source"].str.startswith("recording first, http://127.0.0.1").all()
    assert "first is shown as it was saved" in capsys.readouterr().err


def test_no_recordings_are_no_rows() -> None:
    assert table1.replayed([]).empty


def test_a_recording_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingRun, match="nowhere holds no answers.jsonl"):
        run(Setup(engine="replay:nowhere"), tmp_path)


# --- tables -------------------------------------------------------------------------------------------------------


def test_rules_are_asked_for_states_and_models_for_judgements_too() -> None:
    assert table1.methods_for("rules@0.9") == ("statefactory",)
    assert table1.methods_for("gpt-4o") == ("statefactory", *JUDGES)
    assert table1.methods_for("gpt-4o", chosen=["statefactory"]) == ("statefactory",)
    assert table1.methods_for("rules", {"Judge": "gpt-4o"}) == ("statefactory", *JUDGES)
    assert table1.methods_for("gpt-4o", {"judge": "rules"}) == ("statefactory",)


def test_variants_are_read_by_rules_where_a_model_would_be_asked_again() -> None:
    both = {"engine": "rules@0.9", "engines": {"refine": "rules"}}
    assert table1.readers(*both.values()) == both
    assert table1.readers("rules", {"refine": "gpt-4o"}) == table1.readers("gpt-4o") == {"engine": "rules"}


def test_overall_needs_all_five_domains(hashed: HashedEmbedder, tmp_path: Path) -> None:
    results = run(SHORT, tmp_path)
    assert scores.OVERALL not in table1.measured(results)["metric"].tolist()
    five = scores.rows("m", "b", dict.fromkeys(predictions.DOMAINS, np.array([0.1, 0.3])))
    assert (five[-1]["metric"], five[-1]["value"], five[-1]["n"]) == (scores.OVERALL, pytest.approx(0.2), 10)


def test_the_oracle_of_the_task_keeps_the_objects_that_the_goal_names(hashed: HashedEmbedder, tmp_path: Path) -> None:
    rows = ablations.goal_sources(run(SHORT, tmp_path))
    whole, _, task = rows[rows["metric"] == scores.metric("blocksworld")]["value"]
    assert whole != task


def test_rules_of_a_table_are_labelled_and_stand_behind_the_published_ones(
    hashed: HashedEmbedder, tmp_path: Path
) -> None:
    rows = table1.with_published(table1.measured(run(SHORT, tmp_path)))
    assert rows["evidence"].tolist() == sorted(rows["evidence"], reverse=True), "published, then measured"
    assert rows["method"].tolist()[-2:] == ["Monotonic", "StateFactory, rule-extracted"]
    published = rows[(rows["evidence"] == "published") & (rows["metric"] == scores.OVERALL)]
    assert 0.297 in published["value"].tolist()


def test_the_variants_are_two_conventions_of_two_forms_of_values(hashed: HashedEmbedder, tmp_path: Path) -> None:
    table = table1.variants(table1.both_values(SHORT, workers=1))
    assert table["method"].tolist() == [
        f"values as {values}, {convention}"
        for values in ("sentences", "fragments")
        for convention in ("the paper's equations", "the official program")
    ]
    assert table["value"].nunique() == 4


def test_every_wording_of_blocksworld_is_scored_on_the_same_answers(hashed: HashedEmbedder) -> None:
    runs = table1.both_values(SHORT, workers=1)
    table = table1.wordings(runs).set_index("method")["value"]
    assert set(table1.WORDINGS) == set(blocksworld.WORDINGS)
    assert len(table) == table.nunique() == 2 * len(blocksworld.WORDINGS)
    for values, results in runs.items():
        headline = scoring.rows(results, "statefactory")[0]["value"]
        assert table[f"{table1.WORDINGS['observed']}, values as {values}"] == headline


def test_what_each_level_gains_is_told_pair_by_pair(hashed: HashedEmbedder) -> None:
    runs = ablations.collect_levels(SHORT, workers=1)
    table, rows = ablations.gains(runs), ablations.representation(runs).set_index("method")["value"]
    assert len(table) == 3
    for line in table.itertuples():
        before, after = (rows[getattr(line, name)] for name in ("_1", "to"))
        assert line.gain == pytest.approx(before - after) and line.ci_low <= line.gain <= line.ci_high


def test_every_level_has_its_row_in_table_13(hashed: HashedEmbedder) -> None:
    runs = ablations.collect_levels(replace(SHORT, values="fragments"), workers=1)
    assert [runs[name].setup.values for name in ablations.LEVELS] == ["sentences"] * 4
    assert runs["fragments"].setup.values == "fragments"
    table = ablations.representation(runs)
    assert table["method"].tolist() == [*ablations.LEVELS.values(), ablations.FRAGMENTS]
    published = ablations.with_published("Table 13", table)
    published = set(published[published["evidence"] == "published"]["method"])
    assert published == set(ablations.LEVELS.values()), "named as the paper names them"
    metric = scores.metric("blocksworld")
    by_value = table.sort_values("value", ascending=False)["method"].tolist()
    assert ablations.ordered(table, by_value, metric) is True
    assert ablations.ordered(table, by_value[::-1], metric) is False
    assert ablations.ordered(table, by_value) is None, "Overall lacks"
    assert ablations.values(table, metric)[by_value[0]] == table["value"].max()


def test_table_14_sets_the_oracles_goal_beside_the_own_one(hashed: HashedEmbedder, tmp_path: Path) -> None:
    table = ablations.goal_sources(run(SHORT, tmp_path))
    assert dict(zip(table["method"], table["evidence"], strict=True)) == {
        ablations.GOALS["offline"]: "simulated",
        ablations.GOALS["online"]: "measured",
        ablations.TASK_GOALS["offline_task"]: "simulated",
    }
    published = set(ablations.with_published("Table 14", table)["method"])
    assert set(ablations.GOALS.values()) <= published, "named as the paper names them"


def test_table_16_has_a_row_for_every_engine(
    hashed: HashedEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ablations.backbone_rows(ablations.backbones(SHORT, ["rules", "rules@0.5"], workers=1))
    assert table["backbone"].tolist() == ["rules", "rules@0.5"]
    assert table["evidence"].tolist() == ["measured", "simulated"]


def test_an_embedding_without_its_files_is_left_out_and_any_other_name_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablations, "known", lambda: {"small": True, "large": False})
    assert ablations.available(["large", "small", "endpoint:other"]) == ["small", "endpoint:other"]


def test_rows_of_an_embedding_are_shown_where_its_files_are_not(
    hashed: HashedEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "recordings"))
    results = run(SHORT, tmp_path)
    small, large = (tables.table(scoring.rows(results, "statefactory", name=name)) for name in
                    ("all-MiniLM-L6-v2", "all-mpnet-base-v2"))  # fmt: skip
    assert ablations.with_kept(small, "synthetic").equals(small), "nothing is kept yet"
    assert ablations.keep(pd.concat([small, large]), results) == ["embedding-all-mpnet-base-v2-synthetic"]
    shown = ablations.with_kept(small, "synthetic")
    assert shown["method"].tolist() == ["all-MiniLM-L6-v2", "all-mpnet-base-v2"]
    assert shown["value"].tolist()[1] == large["value"].item()
    assert shown["source"].tolist()[1].startswith("recording embedding-all-mpnet-base-v2-synthetic, sha256:")
    assert ablations.with_kept(large, "synthetic")["source"].tolist() == ["this run, synthetic data"], (
        "the own row goes first"
    )
    assert ablations.with_kept(small, "official").equals(small)


def test_a_pair_is_walked_through_step_by_step(hashed: HashedEmbedder) -> None:
    walked = figure4.walked("blocksworld", 0, "rules", "any")
    pair = replace(MADE, limit=0).pairs()["blocksworld"][0]
    assert walked.goal == pair.positive.goal_description
    assert len(walked.negative) == len(pair.negative.trajectory)
    assert walked.note == f"measured · rules · synthetic data · {pair.task}"
    assert figure4.walked("blocksworld", 0, "rules@0.5", "any").note.startswith("simulated · rules@0.5")


@pytest.mark.parametrize("number", [-1, 10**6])
def test_a_pair_that_there_is_not_is_refused_with_those_there_are(number: int) -> None:
    with pytest.raises(ValueError, match=r"blocksworld has no synthetic pair .*; its pairs are 0 to \d+"):
        figure4.walked("blocksworld", number, "rules", "any")


# --- with the real embedding model --------------------------------------------------------------------------------


@pytest.mark.slow
def test_extracted_states_are_nearer_to_the_truth_than_a_rising_line(tmp_path: Path) -> None:
    results = run(replace(MADE, domains=("blocksworld", "alfworld"), limit=4), tmp_path)
    table = table1.measured(results).pivot_table(index="metric", columns="method", values="value")
    assert (table["StateFactory, rule-extracted"] < table["Monotonic"] - 0.1).all()
    for _, pair, of in scoring.rewards(results, "statefactory"):
        expert = [number for number, step in enumerate(pair.positive.trajectory) if step.reward.is_expert]
        assert of[expert[-1]] > of[0], "who reaches the goal is nearer to it than at the start"
        assert of[expert[-1]] >= of.max() - 0.05


def test_a_limit_left_open_is_a_slice_of_made_data_and_all_of_official(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = Setup(domains=("blocksworld",), limit=-1)
    made = replace(setup, data="synthetic").resolved()
    assert made.limit == made.parameters()["limit"] == SLICE
    assert [len(pairs) for pairs in made.pairs().values()] == [SLICE]
    monkeypatch.setattr(predictions, "data_of", lambda built: "official")
    assert replace(setup, data="synthetic").resolved().limit == 0


def test_a_kept_episode_is_told_with_what_was_extracted_and_asked(server: ChatServer, tmp_path: Path) -> None:
    server.behave(lambda request: chat.answer({"belief": "so far", "reward": len(request.text) % 100}))
    asking = replace(SHORT, limit=1, methods=("statefactory", "judge_stateful"), engines={"judge": "a-model"})
    results = run(asking, tmp_path)
    kept = Kept(results.folder)
    (pair,) = results.pairs["blocksworld"]
    for method, asked in (("statefactory", 3), ("judge_stateful", 1)):
        task = predictions.task_id(method, "blocksworld", pair.positive)
        shown = kept.timeline(task, prompts=True)
        assert [step.title for step in shown.steps] == pair.positive.actions and not shown.notes
        assert {len(step.exchanges) for step in shown.steps} == {asked}
    rewards = results.rewards("judge_stateful", "blocksworld", pair.positive)
    assert shown.steps[-1].reason.startswith(f"reward {rewards[-1]:.2f} ")
    told = kept.timeline(predictions.task_id("statefactory", "blocksworld", pair.positive))
    assert told.task == pair.positive.goal_description and any(step.changes for step in told.steps)
