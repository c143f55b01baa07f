"""SDP on ScienceWorld: A.3's shortcuts, what each operator is shown, and an oracle that plays tasks to the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from lab.models import rules
from lab.models.backbone import Ledger
from lab.models.connect import connect
from lab.models.rules import NoRule, corrupted, within_schema
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from sdp.adapters.scienceworld import prompts
from sdp.adapters.scienceworld.adapter import GOAL, TARGET, Event, ObservedWorld, Policy, ScienceWorldAdapter
from sdp.experiments.scienceworld import Setup
from sdp.loop import Settings, run_episode
from sdp.trajectory import Attempt, Plan, Predicate, Trajectory
from standins.sdp.scienceworld import DONE, GAINED, STAGE, Oracle, Played, actions, changes, judge, stages
from worlds.scienceworld import ScienceWorld, load
from worlds.scienceworld.tasks import LENGTHS

ANIMAL = "scienceworld-find-animal-0225"


@pytest.fixture(scope="module")
def world() -> Iterator[ScienceWorld]:
    with load(list_actions=False) as world:
        yield world


def adapter(world: ScienceWorld, says: Mapping[str, Any] | None = None) -> ScienceWorldAdapter:
    """With a backbone that gives these answers, by prompt name; any other question is an error."""
    known = {name: (lambda fields, answer=answer: answer) for name, answer in (says or {}).items()}

    class Says:
        engine = connect("oracle", cache=None).engine

        def ask(self, prompt: Any, sample: int = 0, **fields: Any) -> Any:
            with rules.oracle(known):
                return connect("oracle", cache=None).ask(prompt, sample, **fields)

    return ScienceWorldAdapter(world.task(ANIMAL), ObservedWorld(world), Ledger(Says()))  # type: ignore[arg-type]


TAIL = [Predicate("The agent is in the kitchen.", TARGET), Predicate("It is warm.", TARGET), Predicate("100", GOAL)]


def event(**changes: Any) -> Event:
    return replace(Event("wait", "x", gained=0, new_room=False, score=0, done=False), **changes)


def test_a_task_that_is_done_certifies_all_that_is_left(world: ScienceWorld) -> None:
    assert adapter(world).validate(TAIL, event(score=100, done=True), ()).k == 3


def test_a_refused_action_and_a_goal_that_is_not_reached_are_rejected_unasked(world: ScienceWorld) -> None:
    refused = event(answer="No known action matches that input.")
    assert adapter(world).validate(TAIL, refused, ()).k == 0
    assert adapter(world).validate(TAIL[2:], event(score=83), ()).k == 0


def test_a_failed_task_certifies_nothing_by_its_end(world: ScienceWorld) -> None:
    asked = adapter(world, {prompts.JUDGE.name: prompts.Judged(reason="no", held=0)})
    assert asked.validate(TAIL, event(score=-100, done=True), ()).k == 0
    assert asked.ended(event(score=-100, done=True))


def test_a_verdict_never_reaches_into_the_goal(world: ScienceWorld) -> None:
    asked = adapter(world, {prompts.JUDGE.name: prompts.Judged(reason="yes", held=2)})
    assert asked.validate(TAIL, event(), ()).k == 2
    fields = prompts.JudgeFields(targets=["a", "b"], action="wait", answer="x", gained=0, new_room=False)
    with pytest.raises(ValueError, match="less than or equal to 2"):
        prompts.JUDGE.narrowed(fields).answer(reason="", held=3)  # type: ignore[call-arg]


def test_the_view_follows_the_simulator_after_each_action_and_the_state_does_not(world: ScienceWorld) -> None:
    played = adapter(world)
    state, _ = played.start()
    before = played.view()
    entered = played.act("teleport to outside")
    after = played.view()
    assert before.room != after.room and "outside" in after.room
    assert (
        entered.new_room
        and after.visited[-1] == "outside"
        and after.recent == (("teleport to outside", entered.answer),)
    )
    assert not played.act("teleport to outside").new_room
    assert state.held == () and {"kitchen", "outside"} <= {*played.world.rooms()} and "door" not in played.world.rooms()


def attempt(step: int, target: str, action: str, answer: str = "x", state: int = 0, kind: str = TARGET) -> Attempt:
    return Attempt(step, 0, 0, state, target, kind, action, {"answer": answer}, 0, f"reason {step}")


REFUSAL = "No known action matches that input."


@pytest.mark.parametrize("told", ["targets", "actions"])
def test_replan_is_told_this_targets_failures_and_what_the_simulator_refused(world: ScienceWorld, told: Any) -> None:
    asked: list[Any] = []
    stuck = adapter(world, {prompts.REPLAN.name: prompts.Targets(targets=["x"])})
    ask = stuck.backbone.ask
    object.__setattr__(stuck, "policy", Policy(refused=told))

    def noted(prompt: Any, sample: int = 0, **fields: Any) -> Any:
        asked.append(prompt.fill(**fields))
        return ask(prompt, sample, **fields)

    object.__setattr__(stuck.backbone, "ask", noted)
    state, goal = stuck.start()
    attempts = (
        attempt(0, "It is warm.", "dance", REFUSAL, state=0), attempt(1, "It is cold.", "wait", state=1),
        attempt(2, "It is cold.", "hop", REFUSAL, state=1), attempt(3, "It is hot.", "wait", state=1),
        attempt(4, prompts.WHOLE, "sing", REFUSAL, state=1, kind=GOAL),
        attempt(5, "It is hot.", "dance", REFUSAL, state=1),
    )  # fmt: skip
    plan = Plan((goal,), 0, "propose")
    trajectory = Trajectory("t", goal, {}, (0, 1), (plan,), attempts, ())
    assert [p.text for p in stuck.replan(state, goal, trajectory, stuck.view())] == ["x", prompts.WHOLE]
    (seen,) = asked
    assert (seen.target, seen.failed) == ("It is hot.", 2)
    assert [(one.action, one.reason) for one in seen.attempts] == [("wait", "reason 3"), ("dance", "reason 5")]
    assert seen.invalid == (["It is warm.", "It is cold.", "It is hot."] if told == "targets" else [])
    assert seen.unknown == (["dance", "hop"] if told == "actions" else [])


def test_looking_takes_no_step(world: ScienceWorld) -> None:
    task = world.task(ANIMAL)
    texts = []
    for looking in (False, True):
        world.reset(task)
        steps = []
        for action in ("teleport to outside", "wait", "look around", "wait", "look around"):
            steps.append(world.step(action).text)
            if looking:
                world.looks()
        texts.append(steps)
    assert texts[0] == texts[1]


@pytest.mark.slow
@pytest.mark.parametrize("length", LENGTHS)
def test_the_oracle_plays_to_the_end_with_fewer_conditions_than_actions(length: str) -> None:
    run = collect(Setup(lengths=(length,), limit=1), 1, show_progress=False)
    assert run.evidence == "simulated"
    for episode in run.episodes.values():
        assert (episode.result["score"], episode.result["end"], episode.result["length"]) == (1.0, "goal", length)
        plan = episode.result["trajectory"]["plans"][0]["predicates"]
        assert len(plan) < episode.result["steps"] == run.setup.expert_actions(episode.task)


def test_noise_costs_attempts_and_ends() -> None:
    setup = Setup(lengths=("short",), limit=1, settings=Settings(budget=10, step_cap=40))
    noisy, plain = (collect(setup.answered_by(name), 1, show_progress=False) for name in ("oracle@0.7", "oracle"))
    assert sum(noisy.named("steps").values()) > sum(plain.named("steps").values())


@pytest.mark.slow
def test_a_killed_simulator_costs_a_try_and_no_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    real, killed = ObservedWorld.act, list[int]()

    def act(visit: ObservedWorld, action: str) -> Event:
        if not killed and visit.world.pid:
            killed.append(visit.world.pid)
            os.kill(visit.world.pid, signal.SIGKILL)
        return real(visit, action)

    monkeypatch.setattr(ObservedWorld, "act", act)
    run = collect(Setup(data="synthetic", lengths=("short",), limit=1), 1, show_progress=False)
    assert killed and list(run.scores.values()) == [1.0] and not run.not_measured


def test_rules_make_no_plans_here(world: ScienceWorld) -> None:
    setup = Setup(engine="rules", limit=1).resolved()
    with pytest.raises(NoRule, match=r"sdp\.scienceworld\.plan"):
        setup.episode(setup.tasks()[0], Ledger(connect("rules", cache=None)))


def test_an_unknown_length_is_refused() -> None:
    with pytest.raises(BadSetting, match="No length 'endless'"):
        Setup(lengths=("endless",)).resolved()


PATH = [
    Played("look around", "This room is called the hallway.", 0),
    Played("go to kitchen", "You move to the kitchen.", 10),
    Played("open fridge", "The fridge is now open.", 0),
    Played("wait", "You decide to wait for 10 iterations.", 20),
    Played("focus on egg", "You focus on the egg.", 70),
]
KITCHEN, FRIDGE = "The agent is in the kitchen.", "The fridge is open."


def test_a_plan_names_what_gains_points_and_as_much_between_as_a_stretch_is_long() -> None:
    assert changes(PATH, 30) == [(1, KITCHEN), (3, GAINED)]
    assert changes(PATH[1:], 1) == [(0, KITCHEN), (1, FRIDGE), (2, GAINED)]
    assert actions(PATH, 30) == [
        (0, "The agent is in the hallway."), (1, KITCHEN), (2, FRIDGE), (3, DONE.format("wait")),
    ]  # fmt: skip
    assert stages(PATH, 30) == [(3, STAGE)]


def test_what_holds_earlier_on_the_way_is_a_condition_of_its_own() -> None:
    back = [replace(PATH[1], gained=0), Played("go to hall", "You move to the hall.", 0), *PATH[1:]]
    assert changes(back, 30)[:2] == [(0, KITCHEN), (2, KITCHEN)]
    assert planned(Oracle(back, 30))[:2] == [KITCHEN, f"{KITCHEN} (2)"]


SITUATION: dict[str, Any] = {"task": "", "rooms": ["kitchen"], "room": "", "inventory": "", "certified": []}
STUCK: dict[str, Any] = {"target": "____", "failed": 3, "attempts": [], "invalid": [], "unknown": []}


def planned(knows: Oracle, grain: prompts.Grain = "change") -> list[str]:
    return knows.plan(prompts.PlanFields(grain=grain, planned=[], single=False, **SITUATION)).targets


def repaired(knows: Oracle) -> list[str]:
    return knows.replan(prompts.ReplanFields(grain="change", **STUCK, **SITUATION)).targets


def asked(knows: Oracle, target: str, *recent: str) -> str:
    done = [prompts.ActionTaken(action=action, answer="") for action in recent]
    return knows.act(prompts.ActFields(room="", inventory="", visited=[], recent=done, failed=[], target=target)).action


def test_the_oracle_goes_on_where_its_action_was_done_and_repeats_it_where_not() -> None:
    knows = Oracle(PATH, 30)
    assert planned(knows) == [KITCHEN, GAINED]
    assert [asked(knows, KITCHEN), asked(knows, KITCHEN, "sing"), asked(knows, KITCHEN, "look around")] == [
        "look around", "look around", "go to kitchen",
    ]  # fmt: skip
    assert asked(knows, KITCHEN, "go to kitchen") == "look around", "done, and not certified"
    assert asked(knows, GAINED, "look around") == "open fridge"


def test_what_is_certified_too_early_is_left_out_until_the_next_plan() -> None:
    knows = Oracle(PATH, 30)
    planned(knows)
    assert asked(knows, GAINED) == "open fridge", "the kitchen seemed to be reached"
    assert asked(knows, prompts.WHOLE, "open fridge") == "focus on egg", "and so did the points"
    assert repaired(knows) == [KITCHEN, GAINED] and asked(knows, KITCHEN, "focus on egg") == "look around"


def test_one_condition_a_call_makes_the_oracles_plan_whatever_the_planned_ones_say() -> None:
    fields = prompts.PlanFields(grain="change", planned=[], single=True, **SITUATION)
    knows, plans = Oracle(PATH, 1), list[list[str]]()
    for words in ("{}", "____"):
        plan = list[str]()
        while more := knows.plan(fields.model_copy(update={"planned": [words.format(one) for one in plan]})).targets:
            plan += more
        plans.append(plan)
    assert plans == [planned(Oracle(PATH, 1))] * 2 and len(plans[0]) > 2


def test_a_placebos_targets_and_those_of_noise_leave_the_oracle_on_its_path() -> None:
    knows = Oracle(PATH, 30)
    planned(knows)
    assert [asked(knows, "Step 1"), asked(knows, "Step 9", "look around")] == ["look around", "go to kitchen"]


def test_the_oracles_verdict_reads_the_answer_alone() -> None:
    about = {"action": "go", "answer": "You move to the kitchen.", "gained": 0, "new_room": True}
    assert judge(prompts.JudgeFields(targets=["The agent is in the kitchen.", "It is warm."], **about)).held == 1  # type: ignore[arg-type]
    assert judge(prompts.JudgeFields(targets=["The agent is in the workshop."], **about)).held == 0  # type: ignore[arg-type]
    assert judge(prompts.JudgeFields(targets=[STAGE], **about)).held == 0  # type: ignore[arg-type]
    gaining: dict[str, Any] = about | {"gained": 5}
    assert judge(prompts.JudgeFields(targets=[STAGE, f"{STAGE} (2)"], **gaining)).held == 1, "points speak for one"
    assert judge(prompts.JudgeFields(targets=[KITCHEN, DONE.format("go"), GAINED], **gaining)).held == 2


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_what_a_model_could_answer(seed: int) -> None:
    room = "This room is called the hallway.\n\ta picture\n\tthe agent\n"
    seen = {"room": room, "inventory": ""}
    about = {"grain": "change", **SITUATION, **seen}
    plan = prompts.PlanFields(planned=[], single=False, **about)
    act = prompts.ActFields(visited=[], recent=[], failed=[], target="a", **seen)
    asked: list[tuple[Any, Any, Any]] = [
        (prompts.PLAN, plan, prompts.Targets(targets=["a", "b"][: 1 + seed % 2])),
        (prompts.REPLAN, prompts.ReplanFields(**STUCK, **about), prompts.Targets(targets=["a", "b"][: 1 + seed % 2])),
        (prompts.ACT, act, prompts.Action(action="wait")),
        (prompts.JUDGE, prompts.JudgeFields(targets=["a"], action="wait", answer="", gained=0, new_room=False),
         prompts.Judged(reason="", held=seed % 2)),
    ]  # fmt: skip
    for prompt, fields, answer in asked:
        wrong = corrupted(prompt, fields, answer, Random(seed))
        assert wrong != answer and within_schema(prompt, fields, wrong)
        assert "focus" not in str(wrong)


@pytest.mark.slow
def test_an_episode_of_a_model_that_talks_nonsense_ends_by_its_cap(world: ScienceWorld) -> None:
    nonsense = {
        prompts.PLAN.name: prompts.Targets(targets=["x"]),
        prompts.REPLAN.name: prompts.Targets(targets=["x"]),
        prompts.ACT.name: prompts.Action(action="dance"),
        prompts.JUDGE.name: prompts.Judged(reason="", held=0),
    }  # fmt: skip
    trajectory = run_episode("t", adapter(world, nonsense), Settings(budget=2, step_cap=7))
    assert (trajectory.end, len(trajectory.attempts), trajectory.replans) == ("step cap", 7, 2)
