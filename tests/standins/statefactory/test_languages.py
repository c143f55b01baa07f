"""What holds of the languages of all five worlds: whose a task is, what no text breaks, and how faithful each reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.machine import yaml12
from standins.statefactory.fidelity import compared, fidelity
from standins.statefactory.languages import NAMES, Entities, UnknownLanguage, language_of, named
from statefactory.state import LEVELS, Level, at_level, from_level

LANGUAGES = Path(__file__).with_name("languages.yaml")  # goals, and texts that are cut up in any way
WORLDS = yaml12.load(LANGUAGES.read_text(encoding="utf-8"))
NOBODYS = (
    "", "red", "melt", "put a mug", "put the red block in the fridge", "move the red block east",
    "I need you to take the keycard from the box.",
    "You are in the middle of a room. Your task is to: put a mug in shelf.",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_task_is_in_the_words_of_its_own_world_alone(name: str) -> None:
    for goal in WORLDS[name]["goals"]:
        assert language_of(goal) is named(name)
        assert [other for other in NAMES if named(other).is_goal(goal)] == [name]
        assert named(name).blueprint(goal)


@pytest.mark.parametrize("goal", NOBODYS)
def test_other_words_are_no_task_of_any_world(goal: str) -> None:
    with pytest.raises(UnknownLanguage):
        language_of(goal)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150)
@given(st.data())
def test_no_text_makes_a_language_fail(name: str, data: st.DataObject) -> None:
    pieces = WORLDS[name]["texts"]
    cut = st.sampled_from(pieces).flatmap(lambda text: st.integers(0, len(text)).map(lambda end: text[:end]))
    text = st.one_of(st.text(max_size=30), st.lists(st.sampled_from(pieces) | cut, max_size=8).map("".join))
    language, goal = named(name), data.draw(st.sampled_from(WORLDS[name]["goals"]) | text)
    known: Entities = ()
    wanted = language.blueprint(goal) if language.is_goal(goal) else ()
    for _ in range(3):
        action, observation = data.draw(text), data.draw(text)
        reading = language.read(known, action, observation)
        assert language.read(known, action, observation) == reading
        kept = language.relevant(goal, reading.known)
        facts = {entity.identity: {*entity.attributes} for entity in reading.known}
        assert all({*entity.attributes} <= facts[entity.identity] for entity in kept)
        assert language.relevant(goal, kept) == kept
        if wanted:
            anchored = language.anchored(goal, wanted, kept, observation)
            assert [entity.attributes for entity in anchored] == [entity.attributes for entity in wanted]
        known = kept


@pytest.mark.parametrize("level", [level for level in LEVELS if level != "raw"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_survives_being_written_at_every_level(name: str, level: Level) -> None:
    known = named(name).read((), "look", WORLDS[name]["texts"][0]).known
    for state in (known, named(name).blueprint(WORLDS[name]["goals"][0])):
        assert state and from_level(at_level(state, level)) == state


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "games", "seed", "steps"),
    [("alfworld", 2, 21, 80), ("blocksworld", 12, 3, 100), ("textworld", 4, 2, 100), ("scienceworld", 0, 0, 40),
     ("webshop", 0, 0, 30)],
)  # fmt: skip
def test_all_that_unseen_games_tell_is_read_and_nothing_else(name: str, games: int, seed: int, steps: int) -> None:
    score = fidelity(list(compared(name, games, seed)))
    assert score.f1 == 1 and score.steps >= steps
    # Many sentences of TextWorld state nothing (greetings, jokes, refusals), and count as unread.
    assert name == "textworld" or not score.unparsed
