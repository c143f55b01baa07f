"""Best of n: ties count exactly, every predictor chooses among the same attempts, and what is set beside its distance.

A random direction for every text stands in for an embedding model.
"""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from agents.experiments import attempts
from agents.experiments.attempts import Attempt, Told
from lab.runs import collecting
from lab.runs.collecting import collect
from lab.runs.study_results import Results
from plain_routing import HashedEmbedder
from statefactory.benchmark import DOMAINS
from statefactory.experiments import best_of_n, rivals
from statefactory.experiments.best_of_n import CHANCE, END, MIDWAY, BestOfN, When, attempted, choices, expected
from statefactory.experiments.rivals import MONOTONIC, ORACLE, RANDOM, SHORTEST, Search
from statefactory.experiments.scoring import STANDARD
from statefactory.plots import draw_policy
from statefactory.predictors import METHODS
from statefactory.reward_models.adapters import SHIPPED
from statefactory.reward_models.evaluation import pairs_of
from statefactory.studies import policy, reward_against_policy
from statefactory.studies.policy import tree_search
from statefactory.studies.reward_against_policy import WorldComparison

MADE = attempts.Setup(world="blocksworld", data="synthetic", limit=3, count=6)
NAMES = ["statefactory", "raw", MONOTONIC, RANDOM, SHORTEST]


def scored(names: list[str]) -> Results:
    trial = policy.best_of_n(names).trial(benchmarks=("blocksworld",), data="synthetic", limit=3, options={"count": 6})
    return collecting.collect(trial, workers=1, show_progress=False)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Results:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LAB_RUNS", str(tmp_path_factory.mktemp("runs")))
        return scored(NAMES)


@pytest.fixture(autouse=True)
def hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = HashedEmbedder()
    for module in ("best_of_n", "scoring"):
        monkeypatch.setattr(f"statefactory.experiments.{module}.embedder_of", lambda name: embedder)


def attempt(success: bool, steps: int = 1) -> Attempt:
    return Attempt("task", "goal", "", (Told("act", "seen", float(success)),) * steps, float(success))


def by_name(run: Results, when: When = END) -> dict[str, dict[str, float]]:
    return {choice.name: dict(choice.success) for choice in choices(attempted(MADE), run, when)}


# --- choosing -----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.booleans()), min_size=1, max_size=8))
def test_a_choice_is_what_drawing_among_the_best_comes_to(of: list[tuple[float, bool]]) -> None:
    best = [success for reward, success in of if reward == max(reward for reward, _ in of)]
    assert expected([reward for reward, _ in of], [attempt(success) for _, success in of]) == np.mean(best)


def test_the_oracle_takes_a_success_wherever_there_is_one_and_chance_takes_the_mean(played: Results) -> None:
    found = by_name(played)
    for task, of in attempted(MADE).attempts().items():
        assert found[ORACLE][task] == any(one.success for one in of)
        assert found[CHANCE][task] == pytest.approx(np.mean([one.success for one in of]))
        assert all(found[name][task] <= found[ORACLE][task] for name in NAMES)


def test_the_shortest_attempt_and_the_longest_are_chosen_by_the_two_that_count_steps(played: Results) -> None:
    found = by_name(played)
    for task, of in attempted(MADE).attempts().items():
        for name, extreme in ((SHORTEST, min), (MONOTONIC, max)):
            length = extreme(len(one.steps) for one in of)
            assert found[name][task] == np.mean([one.success for one in of if len(one.steps) == length])


def test_midway_only_attempts_that_still_run_are_chosen_among_and_their_length_says_nothing(played: Results) -> None:
    found, half = by_name(played, MIDWAY), MADE.steps // 2
    for task, success in found[CHANCE].items():
        still = [one for one in attempted(MADE).attempts()[task] if len(one.steps) > half]
        assert success == pytest.approx(np.mean([one.success for one in still]))
    assert found[SHORTEST] == found[MONOTONIC] == found[CHANCE]


def test_what_a_predictor_says_of_an_attempt_is_what_it_says_when_it_follows_it(played: Results) -> None:
    half, episodes = MADE.steps // 2, played.of("blocksworld", RANDOM)
    random = rivals.method_of(RANDOM, "blocksworld").make(None, None)  # type: ignore[arg-type]
    for task, of in attempted(MADE).attempts().items():
        for number, one in enumerate(of):
            rewards = random.predict(one.goal, one.actions, one.observations, one.first)
            kept = episodes[f"{task}#{number}"].result["rewards"]
            assert kept[-1] == rewards[-1]
            assert len(kept) == 1 if len(one.steps) <= half else kept == [rewards[half - 1], rewards[-1]]


def test_one_predictor_more_plays_no_attempt(played: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_RUNS", str(played.folder.parent.parent))
    kept = attempted(MADE).folder / "episodes.jsonl"
    before = kept.stat().st_mtime_ns
    attempted.cache_clear()
    more = by_name(scored([*NAMES, "textual"]))
    assert kept.stat().st_mtime_ns == before
    assert {name: more[name] for name in NAMES} == {name: by_name(played)[name] for name in NAMES}


def test_the_length_table_counts_how_often_a_success_is_shorter(played: Results) -> None:
    line = best_of_n.lengths([attempted(MADE)]).iloc[0]
    wins, count = 0.0, 0
    for of in attempted(MADE).attempts().values():
        good, bad = ([len(one.steps) for one in of if one.success == wanted] for wanted in (True, False))
        if good and bad:
            # The Mann-Whitney statistic counts the pairs in which a failure is longer, ties half.
            wins, count = wins + mannwhitneyu(bad, good).statistic, count + len(good) * len(bad)
    assert line["AUC of being shorter"] == pytest.approx(wins / count)
    assert 0 < line["tasks where some succeed"] <= line["tasks"] == 3


# --- the scatter --------------------------------------------------------------------------------------------------


def together(run: Results, distances: reward_against_policy.Distances) -> list[WorldComparison]:
    made = attempted(MADE)
    return [WorldComparison(made, [*choices(made, run), *choices(made, run, MIDWAY)], distances)]


def test_the_scatter_has_each_predictor_at_its_distance_and_its_success(
    played: Results, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setenv("LAB_RUNS", str(played.folder.parent.parent))
    asked = {"engine": "rules", "engines": {}, "workers": 1}
    far = reward_against_policy.distances("blocksworld", NAMES, STANDARD, data="synthetic", limit=3, **asked)
    compared = together(played, far)
    points = reward_against_policy.points(compared)
    at_end = points[points["when"] == END].set_index("predictor")
    assert set(at_end.index) == {*NAMES, ORACLE} and at_end.loc[ORACLE, "distance"] == 0
    for name in NAMES:
        assert at_end.loc[name, "distance"] == pytest.approx(np.mean(list(far[name].values())))
        assert at_end.loc[name, "success"] == pytest.approx(100 * np.mean(list(by_name(played)[name].values())))
    # Of one pair the correlations of a sequence and of its reverse differ in sign alone.
    for pair, distance in far[MONOTONIC].items():
        assert far[SHORTEST][pair] ** 2 == pytest.approx(1 - distance**2)
    found = reward_against_policy.correlations(compared)
    assert set(found["n"]) == {3, 5}, "without placebos and with them; never the oracle"
    # A search that was not measured on a task, another in each predictor, is left out there.
    (world,) = compared
    lacking = [
        choice._replace(
            success={task: done for number, (task, done) in enumerate(choice.success.items()) if number != k}
        )
        for k, choice in enumerate(world.chosen(END)[:3])
    ]
    stopped = WorldComparison(world.attempts, lacking, world.distances)
    assert set(reward_against_policy.correlations([stopped])["tasks"]) == {3}
    ranks = reward_against_policy.Ranks(found, "synthetic")
    alone = found[found["among"] == "predictors"].set_index("when")["rho"]
    assert ranks.rows().set_index("metric")["value"].to_dict() == {
        f"Spearman's rho, {when}": rho for when, rho in alone.dropna().items()
    }
    assert f"{END}: Spearman's rho of distance and success {alone[END]:.2f} to {alone[END]:.2f} in 1 worlds" in (
        ranks.answer()
    )
    figure = draw_policy(points, found, reward_against_policy.chance(compared))
    assert [panel.get_title().split("\n")[0] for panel in figure.axes] == [
        "BlocksWorld, at the end", "BlocksWorld, midway",
    ]  # fmt: skip


@pytest.mark.slow
def test_trained_predictors_have_the_distances_that_are_kept_with_the_suite() -> None:
    from statefactory.experiments.reward_models import LORA, by_domain, stored_distances

    far = reward_against_policy._stored("reward_model_blocksworld", "textworld")
    assert sorted(far.values()) == sorted(by_domain(stored_distances(), LORA, "blocksworld")["textworld"].tolist())


@pytest.mark.slow
def test_ridge_comes_fitted_with_the_suite_and_predicts_what_was_kept_of_it() -> None:
    assert "ridge" in rivals.names_for(official=True) and "ridge" not in rivals.names_for(official=False)
    for domain in DOMAINS:
        made = rivals.method_of("ridge", domain).make(None, None)  # type: ignore[arg-type]
        assert made.card["pairs"] in (80, 120)
        card = json.loads((SHIPPED / domain / "card.json").read_text(encoding="utf-8"))
        assert made.card["rows"] == card["rows"], "it was fitted on the pairs of the adapter"
    kept = pd.read_parquet(SHIPPED / "ridge" / "predictions.parquet")
    kept = kept.query(
        "model == 'ridge' and shown == 'own goal' and trained_on == 'textworld' and domain == 'textworld'"
    )
    (pair,) = pairs_of("textworld", "synthetic", 1)
    found = rivals.method_of("ridge", "textworld").make(None, None).predict_pair(pair)  # type: ignore[arg-type]
    assert kept[kept["task"] == pair.task]["reward"].tolist() == pytest.approx(found.tolist(), abs=1e-4)
    with pytest.raises(ValueError, match="no predictor 'ridge' to compare in chess"):
        rivals.method_of("ridge", "chess")


def test_asking_for_a_trained_adapter_adds_no_method_to_table_1() -> None:
    before = list(METHODS)
    assert rivals.method_of("reward_model_all", "blocksworld").title == "Reward model, all"
    assert list(METHODS) == before


def test_a_predictor_that_a_notebook_registered_goes_to_worker_processes_with_its_run() -> None:
    METHODS["mine"] = rivals.COUNTERS[MONOTONIC]
    try:
        sent = pickle.dumps(policy.best_of_n(["mine"]).trial(benchmarks=("blocksworld",)))
    finally:
        del METHODS["mine"]
    with pytest.raises(ValueError, match="no predictor 'mine'"):
        BestOfN(predictor="mine").operators()
    assert pickle.loads(sent).part("blocksworld", "mine").how.title == rivals.COUNTERS[MONOTONIC].title


# --- tree search -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_oracle_leads_straight_to_the_goal_and_luck_does_not() -> None:
    trial = tree_search([RANDOM, MONOTONIC]).trial(benchmarks=("blocksworld",), data="synthetic", limit=3)
    run = collect(trial, workers=1, show_progress=False)
    reached = {name: list(run.scores_of("blocksworld", name).values()) for name in (RANDOM, MONOTONIC, ORACLE)}
    assert reached[ORACLE] == [1.0] * 3
    assert sum(map(bool, reached[RANDOM])) < 3 and sum(map(bool, reached[MONOTONIC])) < 3
    assert all(0 < episode.result["outcomes"] <= Search().search.outcomes for episode in run.episodes.values())
