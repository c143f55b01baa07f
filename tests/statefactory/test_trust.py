"""Flags of rewards: on text that no rule reads, states that copy the goal, cut text; in the API, rows and panels.

A random direction for every text stands in for an embedding model, but for the one slow test at the end.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab import connect
from lab.models.backbone import Answer, MalformedAnswer
from lab.results import tables
from lab.runs.collecting import collect
from plain_routing import HashedEmbedder
from statefactory import trust
from statefactory.benchmark import Pair, Row
from statefactory.embeddings import open_embedder
from statefactory.experiments import predictions, scoring
from statefactory.experiments.own import Walk, distances_of
from statefactory.experiments.predictions import PredictionExperiment
from statefactory.extraction import extract, read_trace
from statefactory.planning.lookahead import Lookahead, Outcome
from statefactory.predictors import Path as Steps
from statefactory.predictors.baselines import Countdown, Monotonic
from statefactory.predictors.factored import StateFactory
from statefactory.predictors.judge import Judge
from statefactory.studies.table1 import MONOTONIC, STATEFACTORY, STUDY
from statefactory.trust import CONSTANT, COPIED, CUT, EMPTY, UNREAD, UntrustedReward
from statefactory.walkthrough import walk

OURS = STATEFACTORY.name
PAIRS = PredictionExperiment(domain="blocksworld", data="synthetic", limit=2, shortest=True).pairs()


def paraphrased(row: Row) -> Row:
    """The same episode, told in words of another translator."""
    steps = (
        replace(step, observation=step.observation.replace("is on top of", "rests upon").replace(" is ", " stays "))
        for step in row.trajectory
    )
    return replace(row, trajectory=tuple(steps))


class Copying:
    """What a 0.5B model does: the goal is written into the state, whatever was observed."""

    def ask(self, prompt: Any, **fields: Any) -> Answer:
        item = ({"identity": "red block", "attributes": [{"name": "position", "value": fields["goal"]}]},)
        name = "goal" if prompt.operator == "interpret" else "state"
        value = prompt.answer.model_validate(
            {"thinking": "", name: item} if prompt.operator != "refine" else {name: item}
        )
        return Answer(value, None)  # type: ignore[arg-type]


def test_rules_on_a_paraphrased_world_say_that_they_read_nothing() -> None:
    row = paraphrased(PAIRS[0].positive)
    method = StateFactory(connect("rules"), HashedEmbedder())
    with pytest.warns(UntrustedReward, match=f"StateFactory: {len(row.steps)} of .* steps flagged: .* unread"):
        rewards = method.predict(row.goal_description, row.actions, row.observations)
    rated = method.rated(row.goal_description, row.actions, row.observations)
    assert rated.rewards.tolist() == rewards.tolist() and max(row.shaped) == 1.0
    assert all(UNREAD in step for step in rated.flags)


def test_episodes_in_a_worlds_own_words_have_no_flags_and_no_warning() -> None:
    row, method = PAIRS[0].positive, StateFactory(connect("rules"), HashedEmbedder())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method.predict(row.goal_description, row.actions, row.observations)
    assert not any(method.rated(row.goal_description, row.actions, row.observations).flags)


def test_a_goal_that_is_copied_into_the_state_scores_1_and_is_flagged_at_the_first_step() -> None:
    row, method = PAIRS[0].positive, StateFactory(Copying(), HashedEmbedder())  # type: ignore[arg-type]
    with pytest.warns(UntrustedReward, match=r"copied, \d+ constant"):
        rewards = method.predict(row.goal_description, row.actions, row.observations)
    assert rewards[0] == 1.0 and row.shaped[0] < 1
    assert method.rated(row.goal_description, row.actions, row.observations).flags[0] == {COPIED, CONSTANT}


@pytest.mark.parametrize(
    ("thinking", "unread"),
    [("", False), ("Unparsed: abcd", False), ("Unparsed: ab\ncd e", True), ("I left out: abcdefgh", False)],
)
def test_an_observation_is_unread_where_more_than_half_of_it_was_not_understood(thinking: str, unread: bool) -> None:
    assert trust.mostly_unread(thinking, "a bc d e fgh") is unread


def test_each_flag_is_raised_by_its_own_fault_alone() -> None:
    row = PAIRS[0].positive
    trace = extract(connect("rules"), row.goal_description, row.actions, row.observations)
    (state, goal), last = (trace.states[0], trace.goals[0]), trace.states[0][-1].attributes[-1].value
    assert trust.of_states([goal], [state]) == (frozenset(),)
    assert trust.of_states([goal], [state], unread=[0]) == (frozenset({UNREAD}),)
    assert trust.of_states([goal], [()]) == trust.of_states([()], [state]) == (frozenset({EMPTY}),)
    assert trust.of_states([("Do it.",)], [("",)]) == (frozenset({EMPTY}),), "the raw level's empty text"
    assert trust.of_states([state], [state[::-1]]) == (frozenset({COPIED}),)
    assert trust.of_states([("Do it.",)], [("Done.",)]) == (frozenset(),), "of one length, and not the same"
    assert trust.of_states([goal], [state], cut={last}) == (frozenset({CUT}),)
    assert trust.of_states([("Do it.",)], [("Done.",)], cut={"Do it."}) == (frozenset({CUT}),)
    assert trust.with_constant((frozenset(),) * 2, [0.5, 0.5]) == (frozenset({CONSTANT}),) * 2
    assert trust.with_constant((frozenset(),) * 2, [0.5, 0.6]) == (frozenset(),) * 2
    assert trust.with_constant((frozenset(),), [0.5]) == (frozenset(),), "one step is no course"


def test_malformed_answers_leave_the_observation_unread() -> None:
    class Malformed:
        def ask(self, prompt: Any, **fields: Any) -> Answer:
            raise MalformedAnswer("no JSON")

    row, broken = PAIRS[0].positive, Malformed()
    first = row.goal_description, row.actions[:2], row.observations[:2]
    judged = Judge(broken, "intuitive").rated(*first)  # type: ignore[arg-type]
    assert judged.flags == (frozenset({UNREAD, CONSTANT}),) * 2
    read = Judge(connect("first"), "intuitive")  # type: ignore[arg-type]
    after = read.advance(replace(read.start("goal"), malformed=1, unread=True), "go", "There.")
    assert read.flags([after]) == (frozenset(),), "the next answer is read"
    extracted = StateFactory(broken, HashedEmbedder()).rated(*first)  # type: ignore[arg-type]
    assert extracted.flags == (frozenset({UNREAD, EMPTY, CONSTANT}),) * 2


def test_predictors_that_count_steps_have_no_flags() -> None:
    for predictor, first in ((Monotonic(), 0.5), (Countdown(), 0.5)):
        rated = predictor.rated("goal", ["go", "stay"], ["x", "y"])
        assert rated.rewards[0] == first and not any(rated.flags)


# --- rows, episodes, panels -------------------------------------------------------------------------------------------


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Table 1's study on two pairs, of which one is paraphrased."""
    embedder = HashedEmbedder()
    monkeypatch.setattr("statefactory.experiments.scoring.embedder_of", lambda name: embedder)
    first, second = PAIRS
    told = Pair(paraphrased(first.positive), tuple(map(paraphrased, first.negatives)))
    pairs = {pair.task: pair for pair in (told, second)}
    monkeypatch.setattr(predictions, "_pairs", lambda *about: pairs)
    trial = STUDY.trial(data="synthetic", benchmarks=("blocksworld",), conditions=(MONOTONIC.name, OURS))
    return collect(trial, 1, run=str(tmp_path / "run"), show_progress=False)


def test_rows_count_flagged_steps_and_show_their_share_beside_the_number(played: Any) -> None:
    rows = played.frame()
    own = rows[rows["method"].str.startswith(OURS)].iloc[0]
    told, plain = (len(pair.shaped) for pair in PAIRS)
    assert (own["steps"], own["unread"], own["cut"]) == (told + plain, told, 0)
    assert own["note"] == f"flagged {round(100 * told / (told + plain))} %"
    assert rows[rows["method"] == MONOTONIC.name].iloc[0]["note"] == ""
    shown = tables.side_by_side(rows, ["EPIC distance, BlocksWorld"], decimals=3).set_index("method")
    cells = shown["EPIC distance, BlocksWorld"]
    assert cells.iloc[1].endswith(f"], {own['note']}") and cells.iloc[0].endswith("]")
    assert own["note"] in played.answer()
    assert trust.table(rows)["unread"].tolist() == [told], "rows without flags are left out"
    assert trust.table(tables.published("Table 1", "statefactory")).empty


def test_flags_of_a_pair_are_those_of_both_trajectories_and_of_a_reward_that_never_moves(played: Any) -> None:
    part = played.part("blocksworld", OURS)
    told, plain = part.flags()
    assert len(told) == len(PAIRS[0].shaped) and all(UNREAD in step for step in told) and not any(plain)
    still = scoring.Prediction(PAIRS[0], rewards=[0.5] * len(told))
    assert scoring.flags([still], [np.array(still.rewards)]) == [(frozenset({CONSTANT}),) * len(told)]


def test_an_oracles_goal_is_copied_from_no_one(played: Any) -> None:
    flags = played.part("blocksworld", OURS).flags(scoring.Scoring(goal="offline"))
    assert COPIED not in {name for pair in flags for step in pair for name in step}


def test_episodes_and_walkthroughs_name_the_flags_of_a_step(played: Any) -> None:
    timeline = played.timeline("blocksworld", OURS, PAIRS[0].task)
    assert "; flagged: " in timeline.steps[1].reason and "unread" in timeline.steps[1].reason
    episode = played.episodes[f"blocksworld/{OURS}/{PAIRS[0].task}"]
    walked = walk(
        paraphrased(PAIRS[0].positive), read_trace(episode.result["trajectories"][0]["trace"]), HashedEmbedder()
    )
    assert UNREAD in walked.flags[0] and "unread" in walked.table()["Flags"].iloc[0]
    assert "unread" in walked.timeline().steps[0].reason


def test_what_a_planner_looks_at_and_rewards_in_a_readers_world_have_flags() -> None:
    row = paraphrased(PAIRS[0].positive)

    class Told:
        def outcomes(self, path: Steps, actions: Any) -> list[Outcome]:
            return [Outcome(row.observations[0]) for _ in actions]

    method = StateFactory(connect("rules"), HashedEmbedder())
    ahead = Lookahead(method, Told())  # type: ignore[arg-type]
    ((candidate,), _) = ahead.candidates(
        Steps(row.goal_description), method.start(row.goal_description), row.actions[:1]
    )
    assert UNREAD in candidate.flags
    walked = Walk("", [(step.action, step.observation, step.reward.shaped) for step in row.trajectory])
    pairs = [(row.goal_description, [walked])]
    told = distances_of(pairs, {"rules": method, "time": Monotonic()}, "rules", "measured")
    assert told.set_index("method")["note"].tolist() == ["flagged 100 %", ""]


@pytest.mark.slow
def test_a_webshop_page_longer_than_256_word_pieces_is_flagged_and_moves_no_reward() -> None:
    embedder = open_embedder()
    method = StateFactory(connect("rules"), embedder, level="raw")
    page = " ".join(["word"] * 255)
    short, long, longer = method.rated("Buy a red mug.", ["a", "b", "c"], ["a mug", f"{page} red", f"{page} mug"]).flags
    assert not short and long == longer == {CUT}
    rewards = method.rated("Buy a red mug.", ["b", "c"], [f"{page} red", f"{page} mug"]).rewards
    assert rewards[0] == pytest.approx(rewards[1], abs=1e-6), "what stands behind has no effect"
