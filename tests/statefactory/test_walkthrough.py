"""One trajectory step by step: what changed, how the goal was followed, and why a step has its reward."""

from __future__ import annotations

import numpy as np
import pytest

from lab.viewer.steps import Change
from plain_routing import HashedEmbedder
from statefactory.benchmark.schema import Reward, Row, StepRecord
from statefactory.extraction import Trace
from statefactory.predictors.factored import trace_rewards
from statefactory.state import Entity, entity
from statefactory.walkthrough import Walkthrough, walk

MUG = entity("mug", {"location": "in cabinet"})
MUG_2 = entity("mug 2", {"location": "in cabinet 1"})
STATES = (
    (entity("agent", {"location": "at desk 1"}),),
    (entity("agent", {"location": "at desk 1"}), entity("mug 2", {"location": "on desk 1", "temperature": "hot"})),
    (entity("mug 2", {"location": "in cabinet 1"}),),
)
GOALS = ((MUG,), (entity("mug 2", {"location": "in cabinet"}),), (MUG_2,))


def row_of(count: int, truths: tuple[float, ...] = ()) -> Row:
    worth = truths or tuple(step / count for step in range(1, count + 1))
    steps = tuple(StepRecord(f"act {n}", f"you see {n}\nof the goal", Reward(w, w, True)) for n, w in enumerate(worth))
    return Row("7_positive", "alfworld", "7", "positive", "plan", "synthetic", 0, "", "the goal", steps)


def walked(
    goals: tuple[tuple[Entity, ...], ...] = GOALS, states: tuple[tuple[Entity, ...], ...] = STATES
) -> Walkthrough:
    return walk(row_of(len(states)), Trace("object_attribute", states, goals), HashedEmbedder())


def test_a_step_is_told_by_what_it_changed() -> None:
    table = walked().table()
    assert table["Step"].tolist() == [1, 2, 3]
    assert table["Action"].tolist() == ["act 0", "act 1", "act 2"]
    assert table["State"].tolist() == [
        "agent: location at desk 1",
        "mug 2: location on desk 1, temperature hot",
        "mug 2: location in cabinet 1, temperature unknown; agent gone",
    ]


def test_observations_are_one_line_without_the_goal_that_a_world_repeats() -> None:
    assert walked().table()["Observation"].tolist() == ["you see 0 of …", "you see 1 of …", "you see 2 of …"]


def test_what_was_anchored_is_said_at_its_step() -> None:
    table = walked().table()
    assert table["Anchored"].tolist() == ["", "mug → mug 2", "in cabinet → in cabinet 1"]
    assert table["Goal"].tolist()[-1] == "mug 2: location in cabinet 1"


def test_rewards_gains_and_truth_stand_side_by_side() -> None:
    told = walked()
    table = told.table()
    assert table["Reward"].to_numpy() == pytest.approx(trace_rewards(told.trace, HashedEmbedder()))
    assert table["Gain"].cumsum().to_numpy() == pytest.approx(table["Reward"].to_numpy())
    assert table["Truth"].tolist() == told.row.shaped


def test_an_anchored_object_is_the_same_part_of_the_goal() -> None:
    (part,) = walked().parts
    assert part.name == "mug 2"
    assert part.fits[-1] == pytest.approx(1.0)


def test_parts_are_followed_by_name_whatever_their_order() -> None:
    red, blue = entity("red block", {"location": "on blue"}), entity("blue block", {"location": "on table"})
    told = walked(goals=((red, blue), (blue, red), (blue, red)))
    assert [part.name for part in told.parts] == ["red block", "blue block"]
    assert not told.anchored(2)


def test_two_objects_alike_are_anchored_each_to_its_own() -> None:
    first, second = (entity(name, {"location": "on bed"}) for name in ("first phone", "second phone"))
    one, two = (entity(name, {"location": "on bed"}) for name in ("phone 1", "phone 2"))
    told = walked(goals=((first, second), (one, second), (one, two)))
    assert [part.name for part in told.parts] == ["phone 1", "phone 2"]
    assert (told.anchored(2), told.anchored(3)) == (["first phone → phone 1"], ["second phone → phone 2"])


def test_a_milestone_opens_a_part_and_a_dropped_object_ends_one() -> None:
    extra = entity("lamp", {"status": "on"})
    told = walked(goals=((MUG,), (MUG, extra), (extra,)))
    assert [np.isnan(part.fits).tolist() for part in told.parts] == [[False, False, True], [True, False, False]]
    assert told.anchored(2) == ["new: lamp: status on"]


def test_jumps_are_remarked_with_what_the_matched_object_changed() -> None:
    events = [event for event in walked().events(jump=0.05) if event.kind == "rise"]
    assert (events[-1].step, events[-1].text) == (3, "mug 2: in cabinet 1")
    assert events[-1].change > 0.05


def test_a_fall_is_explained_by_the_object_that_was_matched_before() -> None:
    told = walked(goals=(GOALS[2],) * 3, states=(STATES[2], STATES[1], STATES[1]))
    (event,) = told.events()
    assert (event.step, event.kind, event.text) == (2, "fall", "mug 2: on desk 1")


def test_the_matching_says_what_each_attribute_was_compared_with() -> None:
    (line,) = walked().matching().to_dict("records")
    assert (line["Goal object"], line["State object"], line["Aligned value"]) == ("mug 2", "mug 2", "in cabinet 1")
    assert (line["Identity"], line["Similarity"], line["Fit"]) == pytest.approx((1, 1, 1))


def test_a_fit_is_the_identity_times_the_mean_of_the_attributes() -> None:
    wanted = entity("mug", {"location": "in cabinet", "temperature": "hot"})
    lines = walked(goals=((wanted,),) * 3).matching(2)
    assert len(lines) == 2
    assert lines["Fit"][0] == pytest.approx(lines["Identity"][0] * lines["Similarity"].mean())


def test_an_empty_state_and_a_goal_without_attributes_have_a_row() -> None:
    told = walked(goals=((Entity("mug", ()),),) * 3, states=((), (), ()))
    (line,) = told.matching(1).to_dict("records")
    assert (line["Goal object"], line["State object"], line["Fit"]) == ("mug", None, 0)
    assert told.table()["State"].tolist() == ["", "", ""]


def test_a_step_that_there_is_not_is_named() -> None:
    for step in (0, 4, -2):
        with pytest.raises(ValueError, match=f"no step {step} in 7_positive; it has steps 1 to 3"):
            walked().matching(step)


def test_a_trace_of_another_trajectory_is_refused() -> None:
    with pytest.raises(ValueError, match="7_positive has 2 steps, and its trace 3"):
        walk(row_of(2), Trace("object_attribute", STATES, GOALS), HashedEmbedder())


def test_raw_text_is_one_nameless_part() -> None:
    texts = (("you see a mug",), ("you see a cup",), ("you see",))
    told = walk(row_of(3), Trace("raw", texts, (("find a mug",),) * 3), HashedEmbedder())
    assert [part.name for part in told.parts] == [""]
    assert told.table()["State"].tolist()[1] == "text you see a cup"


def test_a_timeline_has_every_change_in_full() -> None:
    told = walked()
    steps = told.timeline().steps
    assert steps[1].changes == [
        Change("goal, mug", "location in cabinet", None),
        Change("mug 2", None, "location on desk 1; temperature hot"),
        Change("goal, mug 2", None, "location in cabinet"),
    ]
    assert [step.reason for step in steps[-1:]] == [
        f"reward {told.rewards[2]:.2f} ({told.rewards[2] - told.rewards[1]:+.2f}), truth 1.00; flagged: copied"
    ]
