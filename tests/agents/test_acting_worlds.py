"""Acting agents on every world: its experts, errors, nonsense, and what is refused."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

import pytest

import chat_server as chat
from agents.environment import Environment
from agents.experiments.acting import ASKING, FIRST, RANDOM, REACT, TRIVIAL, Acting
from agents.experiments.acting_worlds import (
    AlfWorld,
    AssistantBench,
    BlocksWorld,
    HotpotQA,
    ScienceWorld,
    TextWorld,
    TravelPlanner,
    WebShop,
)
from agents.play import Settings
from agents.trivial import NothingListed
from chat_server import ChatServer
from lab.machine.paths import ROOT
from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.models.rules import NoRule
from lab.runs import playable
from lab.runs.collecting import collect
from lab.runs.experiment import Results
from lab.viewer.transcripts import Transcript
from worlds.checks import inform

MADE: dict[str, Acting] = {
    "ALFWorld": AlfWorld(data="synthetic", limit=2),
    "AssistantBench": AssistantBench(data="synthetic", split="writing", limit=2, faults=0),
    "BlocksWorld": BlocksWorld(data="synthetic", limit=2),
    "TextWorld": TextWorld(quests=1),
    "WebShop": WebShop(data="synthetic", limit=2),
    "HotpotQA": HotpotQA(data="synthetic", engine="oracle", split="writing", limit=2),
    "ScienceWorld": ScienceWorld(data="synthetic", lengths=("short",), limit=1, settings=Settings(steps=60)),
    "TravelPlanner": TravelPlanner(data="synthetic", limit=2),
}
OF_VALID = [*MADE][:-2]  # whose stand-in errs by one of the valid actions; in the others by an action of its own


@pytest.fixture(autouse=True, scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder of compiled games for all tests here."""
    folder = tmp_path_factory.mktemp("games")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("worlds.stored.answer_cache", lambda: folder / "answers.sqlite")
        yield


@pytest.fixture(params=MADE)
def setup(request: pytest.FixtureRequest) -> Acting:
    if request.param == "TextWorld" and not inform().ok:
        pytest.skip(f"TextWorld makes no games here: {inform().detail}")
    return MADE[request.param]


def played(setup: Acting) -> Results[Acting]:
    return collect(setup, workers=1, show_progress=False)


def results(setup: Acting) -> list[dict[str, Any]]:
    return [one.result for one in played(setup).episodes.values()]


def begun(setup: Acting) -> Environment:
    setup = setup.resolved()
    environment = setup.environment(setup.tasks()[0])
    environment.begin()
    return environment


@pytest.mark.slow
def test_the_expert_solves_it_within_the_cap_and_is_called_simulated(setup: Acting) -> None:
    run = played(setup)
    ends = {(one.result["score"], one.result["end"], one.result["invalid"]) for one in run.episodes.values()}
    assert ends == {(1.0, "finished", 0)} and run.evidence == "simulated"
    for task, one in run.episodes.items():
        assert one.result["steps"] == one.result["calls"] == len(run.setup.solution(task)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("agent", TRIVIAL)
def test_agents_without_skill_ask_nobody_and_are_measured(setup: Acting, agent: str) -> None:
    setup = replace(setup, agent=agent, settings=Settings(steps=6))
    if isinstance(setup, TravelPlanner) and agent in (FIRST, RANDOM):
        with pytest.raises(NothingListed, match="lists no valid actions .* 'do nothing' or 'constant action'"):
            played(setup)
        return
    run, again = played(setup), results(replace(setup, engine="rules"))
    assert (run.evidence, run.by_a_model, run.usage[next(iter(run.episodes))]) == ("measured", False, {})
    for one, same in zip(run.episodes.values(), again, strict=True):
        assert one.result == same and one.result["calls"] == 0
        actions = [turn["action"] for turn in one.result["history"]["turns"]]
        assert len(actions) == one.result["steps"] <= 6
        match agent:
            case "do nothing":
                assert (one.result["end"], actions) == ("did nothing", [])
            case "constant action":
                assert set(actions) == {setup.constant}
            case _:
                assert actions
                # ScienceWorld's simulator lists some actions that it then turns down.
                assert one.result["invalid"] == 0 or isinstance(setup, ScienceWorld)
    if agent == RANDOM:
        drawn = {str([one["history"] for one in results(replace(setup, seed=seed, limit=1))]) for seed in range(3)}
        assert len(drawn) > 1


@pytest.mark.slow
@pytest.mark.parametrize("agent", [name for name, one in ASKING.items() if one.blanks])
def test_agents_that_plan_are_played_by_the_expert_and_end_under_noise(setup: Acting, agent: str) -> None:
    # A trial of Reflexion has a third of the steps.
    planned = replace(setup, limit=1, agent=agent, settings=replace(setup.settings, steps=3 * setup.settings.steps))
    (right,), (wrong,) = results(planned), results(replace(planned, engine="oracle@0.5", settings=Settings(steps=12)))
    assert (right["score"], right["end"], right["malformed"], right["invalid"]) == (1.0, "finished", 0, 0)
    assert right["calls"] > right["steps"] and wrong["steps"] <= 12 and wrong["calls"] <= 24 and wrong["malformed"] == 0


def test_experts_of_two_episodes_in_one_thread_do_not_take_each_other_for_their_own() -> None:
    setup = AlfWorld(data="synthetic", engine="oracle", limit=2).resolved()
    first, second = setup.tasks()
    begun = [[action] for action in setup.world().reset(setup.named(first)).actions]
    alone, others = [setup.expert(first)(actions) for actions in begun], setup.expert(second)([])
    one, other = setup.expert(first), setup.expert(second)
    assert [(other([]), one(actions)) for actions in begun] == [(others, own) for own in alone]


@pytest.mark.slow
@pytest.mark.parametrize("setup", OF_VALID, indirect=True)
def test_errors_cost_steps_and_come_again_in_every_run(setup: Acting) -> None:
    noisy = replace(setup, engine="oracle@0.3").resolved()
    assert sum(one["steps"] for one in results(noisy)) > sum(one["steps"] for one in results(setup))
    task = noisy.tasks()[0]
    again = [noisy.play(task, Ledger(connected(noisy.engine))) for _ in range(2)]
    assert again[0] == again[1] == played(noisy).episodes[task].result


@pytest.mark.slow
@pytest.mark.parametrize("setup", OF_VALID, indirect=True)
def test_what_is_taken_in_place_of_the_experts_action_is_always_valid(setup: Acting) -> None:
    wrong = results(replace(setup, engine="oracle@0"))
    assert {(one["malformed"], one["invalid"]) for one in wrong} == {(0, 0)}
    assert all(one["score"] < 1 for one in wrong)
    assert len({turn["action"] for one in wrong for turn in one["history"]["turns"]}) > 2


@pytest.mark.slow
@pytest.mark.parametrize("agent", [name for name, agent in ASKING.items() if not agent.searches])
def test_a_model_that_talks_nonsense_ends_by_its_caps(setup: Acting, agent: str, server: ChatServer) -> None:
    noise = "\x00 \\ \ud83d " + "x" * 999
    texts = ["no idea", "Thought: so\nAction: dance", "", '{"action": 1}', f"Thought: b\nAction: {noise}"]
    server.behave(lambda request: chat.says(texts[request.number % len(texts)]))
    caps = Settings(steps=4, calls=7)
    run = played(replace(setup, agent=agent, engine="small?patience=5", settings=caps))
    for episode in run.episodes.values():
        one = episode.result
        faults = [f"{one[fault]} {fault}" for fault in ("malformed", "invalid") if one[fault]]
        assert run.setup.judged(episode).reason.startswith(", ".join([one["end"], *faults]))
        assert one["end"] in ("out of calls", "out of steps")  # of Reflexion's trials each has a part of the steps
        assert (one["score"], one["calls"]) == (0.0, 7) and one["malformed"] >= 1
        if agent == REACT:  # the others ask for more than actions
            assert one["end"] == "out of calls"
            assert one["malformed"] + one["invalid"] == 7 and one["invalid"] >= 2


REFUSED = {
    "ALFWorld": ["dance", "go to moon 1", "take mug 1", ""],
    "AssistantBench": ["dance", "answer", "search  ", ""],
    "BlocksWorld": ["dance", "pick up the moon", "put down the red block", ""],
    "TextWorld": ["dance", "take moon", "go sideways", "unlock", "quit", ""],
    "WebShop": ["dance", "search[]", "click[buy now]", "search", ""],
    "HotpotQA": ["dance", "search[]", "finish[ ]", "search Oslo", "search[Oslo] now", ""],
    "ScienceWorld": ["dance with the axe"],
    "TravelPlanner": ["Submit[no plan]", "Submit[]", "Dance[now]", "FlightSearch[Rome]", "", "Submit[["],
}


@pytest.mark.parametrize("setup", REFUSED, indirect=True)
def test_what_a_world_turns_down_is_told_in_words_and_changes_nothing(
    setup: Acting, request: pytest.FixtureRequest
) -> None:
    environment = begun(setup)
    before = environment.valid_actions()
    for action in REFUSED[request.node.callspec.params["setup"]]:
        seen = environment.act(action)
        assert (seen.valid, seen.done, bool(seen.text)) == (False, False, True), action
    assert environment.valid_actions() == before and environment.result()["score"] == 0


@pytest.mark.parametrize("setup", OF_VALID[:5], indirect=True)
def test_the_task_is_told_once_and_the_actions_stand_in_the_tools(setup: Acting) -> None:
    resolved = setup.resolved()
    environment = resolved.environment(resolved.tasks()[0])
    goal = environment.task.goal  # type: ignore[attr-defined]
    assert environment.begin().count(goal) == 1 and environment.view() == ""
    verbs = {action.split("[")[0].split()[0] for action in resolved.solution(resolved.tasks()[0])}
    assert all(verb in environment.tools for verb in verbs)


def test_valid_actions_can_be_shown_before_each_turn() -> None:
    shown = begun(replace(MADE["BlocksWorld"], listed=True))
    assert shown.view() == f"Valid actions: {'; '.join(shown.valid_actions())}"
    first = shown.view()
    shown.act(shown.valid_actions()[0])
    assert shown.view() != first


def test_an_option_of_the_shop_can_be_clicked_again() -> None:
    setup = MADE["WebShop"].resolved()
    task = next(each for each in setup.tasks() if len(setup.solution(each)) > 4)
    shop = setup.environment(task)
    shop.begin()
    for action in setup.solution(task)[:-1]:
        assert shop.act(action).valid
    again = [shop.act(action) for action in setup.solution(task)[2:-1] if action in shop.valid_actions()]
    assert again and all(seen.valid for seen in again)


@pytest.mark.slow
def test_blocks_that_were_moved_wrongly_are_planned_for_anew() -> None:
    noisy = replace(MADE["BlocksWorld"], engine="oracle@0.6", limit=6, settings=Settings(steps=200))
    assert {(one["score"], one["invalid"]) for one in results(noisy)} == {(1.0, 0)}


def test_an_answer_has_the_official_scores_and_none_scores_nothing() -> None:
    setup = MADE["AssistantBench"]
    right = results(setup)
    assert {(one["has_answer"], one["unscorable"], one["evidence_read"]) for one in right} == {(1.0, False, 1.0)}
    silent = results(replace(setup, settings=Settings(steps=1)))
    assert {(one["end"], one["answer"], one["score"], one["evidence_read"]) for one in silent} == {
        ("out of steps", "", 0.0, None)
    }


def test_an_episode_is_watched_turn_by_turn_and_shown_again() -> None:
    setup, seen = MADE["ALFWorld"].resolved(), list[int]()
    task = setup.tasks()[0]
    shown = setup.watch(task, Transcript(connected(setup.engine)), lambda so_far: seen.append(len(so_far.steps)))
    assert seen == list(range(len(shown.steps))) and shown.score == 1.0
    kept = setup.timeline(played(setup).episodes[task])
    assert [step.action for step in kept.steps] == [step.action for step in shown.steps]


def test_no_honest_rule_plays_scienceworld_whose_room_is_seen_without_a_step() -> None:
    setup = replace(MADE["ScienceWorld"], engine="rules").resolved()
    with pytest.raises(NoRule, match="scienceworld"):
        setup.play(setup.tasks()[0], Ledger(connected(setup.engine)))
    visiting = setup.environment(setup.tasks()[0])
    assert "Rooms: " in visiting.begin()
    before = visiting.view()
    assert visiting.act("teleport to outside").valid and visiting.view() != before


def test_tasks_are_those_of_the_split_and_others_are_told() -> None:
    games = AlfWorld(data="synthetic").decided()
    assert games.split == "valid_unseen" and len(games.tasks()) == 36
    assert set(replace(games, limit=4).tasks()) < set(games.tasks())
    with pytest.raises(LookupError, match="alfworld-made-valid_unseen-000"):
        games.named("alfworld-made-train-000")
    with pytest.raises(ValueError, match="no split 'dev'"):
        replace(games, split="dev").tasks()


def test_each_is_declared_to_be_played_by_hand() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["entry-points"][playable.PLAYABLE.group]
    for name, setup in MADE.items():
        assert EntryPoint(name, declared[f"ReAct.{name}"], playable.PLAYABLE.group).load() is type(setup)
