"""Figure 2's run: which one is chosen, and what its table says."""

from __future__ import annotations

from sdp.adapters.corridor import Corridor, CorridorAdapter
from sdp.experiments import figure2
from sdp.loop import Settings, run_episode
from sdp.trajectory import Trajectory

TASK = "3hop__made_musique_writing_0_000016"
NOISY = {"engine": "rules@0.8", "data": "synthetic"}


def walk(*dice: int) -> Trajectory:
    return run_episode("corridor", CorridorAdapter(Corridor(3, dice)), Settings(budget=1, step_cap=9))


def test_a_run_with_a_cascade_and_a_replan_is_preferred_and_then_the_goal_and_then_a_short_one() -> None:
    plain, cascade, replan = walk(1, 1, 1), walk(3), walk(0, 0, 1, 1, 1)
    capped, both, longer = walk(2, 0, 0, 0, 0), walk(0, 0, 3), walk(0, 0, 0, 3)
    assert figure2.telling([plain, cascade]) is cascade and figure2.telling([plain, replan]) is replan
    assert figure2.telling([cascade, replan, capped]) is capped
    assert figure2.telling([capped, longer, both, both]) is both


def test_a_replan_that_no_attempt_follows_is_none() -> None:
    assert figure2.replans(walk(0, 0, 1)) and not figure2.replans(walk(1, 1, 1))
    capped = run_episode("corridor", CorridorAdapter(Corridor(3, [0, 0])), Settings(budget=1, step_cap=2))
    assert capped.replans and not figure2.replans(capped)


def test_the_example_is_chosen_from_the_questions_and_played_again_with_its_prompts() -> None:
    example = figure2.example("hotpotqa", limit=20, **NOISY)
    played = example.trajectory
    assert figure2.cascades(played) and figure2.replans(played) and played.reached_goal
    assert "of 20 episodes have a cascade and a Replan" in example.reason
    assert example.evidence == "simulated · rules@0.8 · one episode, synthetic data"
    assert len(example.exchanges) == played.cost.calls and example.timeline().steps[-1].verdict is not None


def test_where_no_run_has_both_it_says_what_the_chosen_one_lacks() -> None:
    example = figure2.example("musique", engine="rules", data="synthetic", limit=2)
    assert example.reason == ("none of 2 episodes has a cascade and a Replan; the one that is shown has no Replan")


def test_the_table_has_every_plan_and_attempt_in_order_and_every_text_in_full() -> None:
    example = figure2.example("musique", TASK, setting="open", **NOISY)
    table, played = example.table(), example.trajectory
    assert len(table) == len(played.plans) + len(played.attempts)
    assert table["step"].tolist()[0] == "Propose" and "Replan 1" in table["step"].tolist()
    attempts = table[table["step"].str.startswith("attempt")]
    assert attempts["k"].tolist() == [attempt.k for attempt in played.attempts]
    assert attempts["states"].str.contains("→").tolist() == [attempt.k > 0 for attempt in played.attempts]
    assert set(played.plans[0].predicates[2].text.split()) <= set(" ".join(table.iloc[0].astype(str)).split())
