"""SDP on multi-hop questions: plans, searches, the two stages of Validate, and what an episode leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.models.backbone import Ledger, MalformedAnswer
from lab.models.connect import connect
from sdp.adapters.multihop.adapter import FINAL, GOAL, HOP, Claim, Finding, MultiHopAdapter, Policy, _rejected
from sdp.adapters.multihop.filters import entities_of, misfit, ranked, unfounded, unusable
from sdp.experiments.multihop import HotpotQA, MuSiQue, Setup, answer_of
from sdp.loop import Settings, run_episode
from sdp.operators import Verdict
from sdp.trajectory import Predicate, Trajectory
from worlds.multihop import MultiHop, load


def played(setup: Setup, count: int = 20) -> Iterator[tuple[dict[str, Any], Trajectory]]:
    setup = setup.resolved()
    for task in setup.tasks()[:count]:
        result = setup.play(task, Ledger(connect(setup.engine)))
        yield result, Trajectory.from_json(result["trajectory"])


@pytest.mark.slow
@pytest.mark.parametrize("dataset", [HotpotQA, MuSiQue])
def test_rules_answer_the_questions_that_they_were_written_on(dataset: type[Setup]) -> None:
    for result, trajectory in played(dataset(data="synthetic", split="writing")):
        assert result["em"] == result["gold_seen"] == 1 and not result["forced"]
        kinds = [predicate.kind for predicate in trajectory.plans[0].predicates]
        hops = len(trajectory.states[-1]["findings"])
        assert kinds == [HOP] * hops + [FINAL, GOAL] and trajectory.attempts[-1].k == 2


def test_what_is_searched_for_is_found_and_told() -> None:
    results = list(played(HotpotQA(data="synthetic", split="writing", setting="open")))
    assert sum(result["em"] for result, _ in results) >= 18
    for _, trajectory in results:
        view = trajectory.views[-1]
        assert 0 < len(view["queries"]) <= len(trajectory.attempts) and view["paragraphs"]


def test_without_cascade_the_goal_has_an_attempt_of_its_own() -> None:
    setup = HotpotQA(data="synthetic", split="writing", settings=Settings(cascade=False))
    for result, trajectory in played(setup, 5):
        assert result["em"] == 1 and [each.k for each in trajectory.attempts] == [1] * len(trajectory.attempts)
        assert trajectory.attempts[-1].kind == GOAL


@pytest.mark.parametrize("setup", [HotpotQA(), MuSiQue(), MuSiQue(policy=Policy(hops="guess", strict=True))], ids=str)
def test_one_hop_a_call_gives_the_same_plan_and_nobody_is_asked_for_answer_and_goal(setup: Setup) -> None:
    setup = replace(setup, data="synthetic")
    whole, single = (
        [trajectory.plans[0] for _, trajectory in played(replace(setup, settings=settings), 5)]
        for settings in (Settings(), Settings(propose="predicate"))
    )
    assert [plan.predicates for plan in whole] == [plan.predicates for plan in single]
    ends = int(setup.policy.hops == "guess")  # then a call has to say that there is no hop more
    assert [plan.cost.calls for plan in single] == [len(plan.predicates) - 2 + ends for plan in whole]
    assert {plan.cost.calls for plan in whole} == {1}


@pytest.mark.parametrize("failures", ["target", "episode"])
def test_realize_is_shown_the_rejections_of_its_hop_or_of_the_episode(world: MultiHop, failures: Any) -> None:
    asked: list[tuple[str, list[tuple[str, str]]]] = []

    class Told(MultiHopAdapter):
        def realize(self, state: Any, target: Predicate, failures: Any, view: Any) -> Any:
            asked.append((target.text, [(failure.tried, failure.reason) for failure in _rejected(failures, target)]))
            return super().realize(state, target, failures, view)

        def validate(self, tail: Any, observation: Any, failures: Any) -> Verdict:
            return super().validate(tail, observation, failures) if failures else Verdict(0, "not at once")

    task = world.tasks("writing")[0]
    run_episode(task.id, Told(task, world, connect("rules")), Settings(failures=failures))
    firsts = [tries for (target, tries), before in zip(asked, [("", []), *asked], strict=False) if target != before[0]]
    seconds = [tries for (target, tries), before in zip(asked[1:], asked, strict=False) if target == before[0]]
    assert all(tries[-1][1] == "not at once" for tries in seconds) and len(firsts) == len(seconds) == 3
    assert [len(tries) for tries in firsts] == ([0, 0, 0] if failures == "target" else [0, 1, 2])
    assert failures == "target" or firsts[1][0][1] == f"not at once; it was for: {asked[0][0]}"


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["distractor", "open"])
def test_replan_keeps_what_is_certified_and_the_cap_forces_an_answer(setting: Any) -> None:
    setup = MuSiQue(
        data="synthetic", split="writing", setting=setting, engine="rules@0.6", settings=Settings(1, step_cap=9)
    )
    forced = replanned = 0
    for result, trajectory in played(setup, 25):
        findings = [state["findings"] for state in trajectory.states]
        assert all(after[: len(before)] == before for before, after in zip(findings, findings[1:], strict=False))
        assert len(trajectory.attempts) <= 9
        assert result["answer"] == answer_of(trajectory) and result["forced"] == (trajectory.end == "step cap")
        forced += result["forced"]
        replanned += trajectory.replans > 0
    assert forced and replanned


@pytest.fixture
def world() -> Iterator[MultiHop]:
    with load("hotpotqa", "distractor", "synthetic") as made:
        yield made


def adapter_of(world: MultiHop, **policy: Any) -> MultiHopAdapter:
    return MultiHopAdapter(world.tasks("writing")[0], world, connect("rules"), Policy(**policy))


class Misquoting(MultiHopAdapter):
    """Cites a title that is not there, or one of another paragraph."""

    title = "The Wrong Page"

    def act(self, action: Any) -> Any:
        if hasattr(action, "finding"):
            action = replace(action, finding=replace(action.finding, title=self.title))
        return super().act(action)


@pytest.mark.parametrize("other", [False, True])
def test_a_finding_with_a_wrong_title_is_accepted_with_the_right_one(world: MultiHop, other: bool) -> None:
    task = world.tasks("writing")[0]
    question = world.hidden(task)
    adapter = Misquoting(task, world, connect("rules"))
    Misquoting.title = next(p.title for p in question.paragraphs if p not in question.gold) if other else "Nowhere"
    trajectory = run_episode(task.id, adapter)
    assert trajectory.reached_goal
    assert {one["title"] for one in trajectory.states[-1]["findings"]} == {one.title for one in question.gold}
    cited = [one.observation["claim"]["finding"]["title"] for one in trajectory.attempts if one.kind == HOP]
    assert set(cited) == {Misquoting.title}, "the attempt keeps what was said"


def test_how_many_hops_there_are_is_told_read_from_the_id_or_guessed(world: MultiHop) -> None:
    assert [adapter_of(world, hops=hops).hops for hops in ("two", "guess")] == [2, 0]
    task = load("musique", data="synthetic").tasks("writing")[0]
    adapter = MultiHopAdapter(task, world, connect("rules"), Policy(hops="id"))
    assert task.id.startswith(f"{adapter.hops}hop")
    with pytest.raises(ValueError, match="does not begin with a number of hops"):
        _ = MultiHopAdapter(type(task)("5ab", "?", "musique"), world, connect("rules"), Policy(hops="id")).hops
    with pytest.raises(ValueError, match="choose 'two', 'id' or 'guess'"):
        Policy(hops="three")  # type: ignore[arg-type]
    guessed = MuSiQue(data="synthetic", split="writing", policy=Policy(hops="guess", strict=True))
    assert all(result["em"] == 1 for result, _ in played(guessed, 8))


def test_searches_that_fail_escalate_to_entities_and_to_a_guess() -> None:
    setup = MuSiQue(
        data="synthetic", split="writing", setting="open", settings=Settings(budget=9, step_cap=9)
    ).resolved()
    adapter = setup.adapter(setup.tasks()[0], Ledger(connect("rules")))
    state, _ = adapter.start()
    target = Predicate("The first hop is answered", HOP, {"question": "Who is the keeper of Nowhere Tower?"})
    for _ in range(8):
        adapter.realize(state, target, (), adapter.view())
    queries = adapter.view().queries
    assert len(set(queries[:4])) == 1 and queries[4] == queries[5] and queries[6] == queries[7]
    assert len({queries[0], queries[4], queries[6]}) > 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The paragraph does not provide it.", "does not provide"),
        ("It is Not Mentioned.", "not mentioned"),
        (" ", "empty"),
    ],
)
def test_a_finding_that_finds_nothing_is_refused_unread(text: str, said: str) -> None:
    assert said in unfounded(text) and not unfounded("It is the river Dorn.")


@pytest.mark.parametrize("answer", ["", "Unknown", "It cannot be determined.", "n/a", "not available"])
def test_garbage_is_no_answer(answer: str) -> None:
    assert unusable(answer) and not any(map(unusable, ("yes", "no", "Nona Gaye", "1,204", "none other than Ada")))


@pytest.mark.parametrize(
    ("answer", "question", "said"),
    [
        ("Dorn", "Who built the bridge over the Dorn?", "names it already"),
        ("Ada Bel", "Where was the director born?", "a step on the way"),
        ("word " * 16, "What is it?", "more than 15 words"),
        ("a town", "When was it founded?", "a date or a number"),
        ("a lot", "How many people live there?", "a date or a number"),
    ],
)
def test_musique_refuses_what_cannot_be_the_answer(answer: str, question: str, said: str) -> None:
    assert said in misfit(answer, question, ["Ada Bel", "Corick"])
    assert not misfit("Corick", "Where was the director born?", ["Ada Bel", "Corick"])
    assert not misfit("in May", "When was it founded?", []) and not misfit("1950", "How old is it?", [])


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=30)), max_size=6), st.text(max_size=30))
def test_ranking_gives_each_place_once_and_only_where_a_word_is_shared(paragraphs: list, finding: str) -> None:
    places = ranked(paragraphs, finding)
    assert len(places) == len(set(places)) and all(0 <= place < len(paragraphs) for place in places)
    assert ranked(
        [("a", "Some common words"), ("b", "nothing"), ("c", "common again words here some")], "common words"
    ) == [0, 2]
    titled = [("The Common Words", "nothing"), ("b", "some words")]
    assert ranked(titled, "common words", titles=True) == [0, 1] and ranked(titled, "common words", titles=False) == [1]


@pytest.mark.parametrize(("overlap", "titles"), [("text", False), ("title and text", True)])
def test_a_findings_paragraph_is_looked_for_by_its_text_or_by_its_title_too(
    world: MultiHop, monkeypatch: pytest.MonkeyPatch, overlap: Any, titles: bool
) -> None:
    adapter, asked = adapter_of(world, overlap=overlap), list[Any]()
    adapter.start()
    monkeypatch.setattr("sdp.adapters.multihop.adapter.ranked", lambda *given: asked.append(given) or [1])
    assert adapter.act(Claim(Finding("?", "some words", "Nowhere", ""))).best == world.shown[1]
    assert asked == [(world.shown, "some words", titles)]


def test_the_entities_of_a_question_are_its_names() -> None:
    assert entities_of("Where was the director of The Garden of Fobes born?") == "The Garden of Fobes"
    assert entities_of("where is it?") == "is it?"


def test_an_answer_that_is_no_answer_ends_as_the_methods_failure(
    monkeypatch: pytest.MonkeyPatch, world: MultiHop
) -> None:
    def garbled(*_: Any, **__: Any) -> Any:
        raise MalformedAnswer("no JSON")

    adapter = adapter_of(world)
    monkeypatch.setattr(type(adapter.backbone), "ask", garbled)
    trajectory = run_episode("q", adapter)
    assert trajectory.end == "malformed plan" and not trajectory.attempts and answer_of(trajectory) == ""
