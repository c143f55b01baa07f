"""The stand-in for a model: what it takes next, whatever was done before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agents.prompts import ActFields, Past
from standins.agents.oracle import next_of
from worlds.benchmark import along, from_the_beginning


def test_it_goes_on_where_it_was_and_begins_again_at_the_end() -> None:
    path = along(["a", "b"])
    done: list[tuple[str, ...]] = [(), ("x",), ("a",), ("a", "x"), ("a", "b"), ("a", "b", "a")]
    assert [path(each) for each in done] == [*"aabbab"]


def test_led_astray_it_goes_back_to_the_beginning_first() -> None:
    way = from_the_beginning(["a", "b", "c"], "back")
    assert [way([]), way(["a"]), way(["a", "b"])] == ["a", "b", "c"]
    assert [way(["b"]), way(["a", "x"]), way(["a", "x", "y"])] == ["back"] * 3
    assert [way(["a", "x", "back"]), way(["x", "back", "a"])] == ["a", "b"]


def test_a_turn_without_an_action_does_not_lead_it_astray() -> None:
    turns = [Past(action=action, said="hm", observation="") for action in ("a", "", "b", "")]
    way = from_the_beginning(["a", "b", "c"], "back")
    assert next_of(way, ActFields(tools="", task="", turns=turns)).action == "c"


@given(st.lists(st.sampled_from([*"abcx", "back"]), max_size=12))
def test_left_alone_it_takes_its_whole_path_from_anywhere(done: list[str]) -> None:
    path, turns = ["a", "b", "c"], list(done)
    if turns[-3:] == path:
        return
    way = from_the_beginning(path, "back")
    for _ in range(4):
        if turns[-3:] == path:
            break
        turns.append(way(turns))
    assert turns[-3:] == path
