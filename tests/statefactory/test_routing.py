"""The routing against plain loops of the equations, its invariances, and goals and states of every odd shape."""

from __future__ import annotations

import math
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plain_routing import HashedEmbedder, plain_reward
from statefactory.routing import OFFICIAL, PAPER, Convention, matches, rewards
from statefactory.similarity import _products
from statefactory.state import Attribute, Entity, entities, entity

EMBEDDER = HashedEmbedder()
both = pytest.mark.parametrize("convention", [PAPER, OFFICIAL], ids=lambda convention: convention.name)

texts = st.sampled_from(["mug 1", "on the shelf 2", "on", "off", "", " ", "\x00\x07\x1b[2J", "台灯", "Tür offen"])
names = st.sampled_from(["location", "goal_location", "intermediate_power", "power", "state", "", "place"])
found = st.builds(Entity, texts, st.lists(st.builds(Attribute, names, texts), max_size=4).map(tuple))
states = st.lists(found, max_size=5).map(tuple)
trajectories = st.lists(st.tuples(states, states), min_size=1, max_size=5)
# Entities whose attributes are told apart by their names under both conventions, and none of whose texts is empty.
whole = st.builds(
    entity,
    st.sampled_from(["mug 1", "mug 2", "台灯"]),
    st.dictionaries(st.sampled_from(["location", "power", "state"]), st.sampled_from(["on", "off", "红"]), min_size=1),
)


def by_loops(goals: list, seen: list, convention: Convention) -> list[float]:
    plain = [plain_reward(goal, state, EMBEDDER, convention) for goal, state in zip(goals, seen, strict=True)]
    return plain if convention is PAPER else [math.floor(value * 100 + 1e-4) / 100 for value in plain]


@pytest.mark.slow
@both
@settings(max_examples=150)
@given(steps=trajectories)
def test_a_trajectory_at_once_is_what_loops_give(convention: Convention, steps: list) -> None:
    goals, seen = map(list, zip(*steps, strict=True))
    found = rewards(goals, seen, EMBEDDER, convention)
    assert found.tolist() == pytest.approx(by_loops(goals, seen, convention), abs=1e-6)
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.slow
@both
@given(goal=states, state=states, seed=st.randoms(use_true_random=False))
def test_the_order_of_entities_does_not_matter(convention: Convention, goal: tuple, state: tuple, seed: object) -> None:
    shuffled = [tuple(seed.sample(items, len(items))) for items in (goal, state)]
    first, second = rewards([goal, shuffled[0]], [state, shuffled[1]], EMBEDDER, convention)
    assert first == pytest.approx(second, abs=1e-9)


@pytest.mark.slow
@both
@given(goal=st.lists(whole, min_size=1, max_size=3), more=st.lists(whole, max_size=4))
def test_a_goal_that_the_state_says_word_for_word_is_fulfilled(convention: Convention, goal: list, more: list) -> None:
    assert rewards([goal], [[*more, *goal]], EMBEDDER, convention).tolist() == pytest.approx([1.0], abs=1e-6)


@pytest.mark.slow
@both
@given(goal=states, state=states)
def test_matches_say_how_the_reward_comes_about(convention: Convention, goal: tuple, state: tuple) -> None:
    found = matches(goal, state, EMBEDDER, convention)
    assert [match.goal for match in found] == list(goal)
    if not goal:
        return
    mean = min(max(sum(match.score for match in found) / len(found), 0), 1)
    assert mean == pytest.approx(plain_reward(goal, state, EMBEDDER, convention), abs=1e-6)
    for match in found:
        assert (match.entity is None) == (not state)
        similarities = [attribute.similarity for attribute in match.attributes]
        if match.entity and similarities:
            fit = match.identity * np.mean(similarities)
            assert match.score == pytest.approx(fit if convention.floor is None else max(fit, 0.0), abs=1e-6)
        for attribute in match.attributes:
            if attribute.aligned is not None:
                assert Attribute(attribute.aligned, attribute.found) in match.entity.attributes


def test_a_match_names_the_object_and_the_aligned_attribute() -> None:
    goal = entity("mug 1", {"location": "on the shelf 2"})
    state = (entity("台灯", {"power": "on"}), entity("mug 1", {"power": "off", "location": "on the shelf 2"}))
    (match,) = matches((goal,), state, EMBEDDER)
    assert match.entity is state[1] and match.identity == 1 and match.score == 1
    assert match.attributes == (("location", "on the shelf 2", "location", "on the shelf 2", 1.0),)


@both
def test_what_the_equations_leave_open(convention: Convention) -> None:
    mug, bare = entity("mug 1", {"power": "on"}), Entity("mug 1", ())
    goals = [(), (mug,), (bare,), (mug,), (bare,)]
    seen = [(mug,), (), (mug,), (bare,), (bare,)]
    assert rewards(goals, seen, EMBEDDER, convention).tolist() == [0, 0, 1, 0, 1]
    assert rewards([], [], EMBEDDER, convention).shape == (0,)


def test_where_the_official_program_differs() -> None:
    opposite = _Fixed({"mug": [1, 0], "dog": [-1, 0.1], "power": [0, 1], "on": [0, 1], "off": [0.8, 0.6]})
    mug, dog = entity("mug", {"power": "on"}), entity("dog", {"power": "on"})
    goal = (mug, dog)
    assert rewards([goal], [(mug,)], opposite).item() == pytest.approx((1 + opposite.cosine("mug", "dog")) / 2)
    assert rewards([goal], [(mug,)], opposite, OFFICIAL).item() == 0.5
    assert rewards([(mug,)], [(entity("mug", {"power": "off"}),)], opposite).item() == pytest.approx(0.6)
    assert rewards([(mug,)], [(entity("mug", {"power": "off"}),)], opposite, OFFICIAL).item() == 0.6
    several = {"intermediate_power": "off", "goal_power": "on"}
    assert rewards([(entity("mug", several),)], [(mug,)], opposite, OFFICIAL).item() == pytest.approx(0.8)
    assert rewards([(entity("mug", {"power": ""}),)], [(entity("mug", {"power": ""}),)], opposite).item() == 1
    assert rewards([(entity("mug", {"power": ""}),)], [(entity("mug", {"power": ""}),)], opposite, OFFICIAL).item() == 0


def test_the_reward_is_cut_and_not_rounded() -> None:
    near = _Fixed({"mug": [1, 0], "cup": [0.999, math.sqrt(1 - 0.999**2)]})
    assert rewards([(Entity("mug", ()),)], [(Entity("cup", ()),)], near).item() == pytest.approx(0.999)
    assert rewards([(Entity("mug", ()),)], [(Entity("cup", ()),)], near, OFFICIAL).item() == 0.99


def test_the_first_of_equally_named_attributes_is_taken() -> None:
    state = (Entity("mug 1", (Attribute("power", "on"), Attribute("power", "off"))),)
    (match,) = matches((entity("mug 1", {"power": "off"}),), state, EMBEDDER)
    assert match.attributes[0].found == "on"


def test_whole_texts_are_compared_as_nameless_entities() -> None:
    goal, state = entities(("The mug is on the shelf.",)), entities(("A mug.", "It is on a shelf."))
    expected = EMBEDDER.vector("The mug is on the shelf.") @ EMBEDDER.vector("A mug. It is on a shelf.")
    assert rewards([goal], [state], EMBEDDER).item() == pytest.approx(max(float(expected), 0), abs=1e-6)
    assert rewards([goal], [(entity("mug", {"text": "The mug is on the shelf."}),)], EMBEDDER).item() == 0


def test_the_texts_of_a_trajectory_are_embedded_in_one_batch_once_each_and_no_empty_one() -> None:
    embedder = HashedEmbedder()
    mug = entity("mug 1", {"power": "on", "": "", "state": "on"})
    rewards([(mug,)] * 3, [(), (mug,), (mug, entity("lamp", {"power": "off"}))], embedder)
    assert len(embedder.asked) == 1
    assert sorted(embedder.asked[0]) == ["lamp", "mug 1", "off", "on", "power", "state"]


def test_goals_and_states_must_be_equally_many() -> None:
    with pytest.raises(ValueError, match="2 goals for 1 states"):
        rewards([(), ()], [()], EMBEDDER)


@pytest.mark.slow
@both
def test_ten_thousand_objects_take_seconds_and_little_memory(convention: Convention) -> None:
    many = tuple(
        entity(f"object {n}", {f"name {n % 17}": f"value {n}", "power": "on", "place": f"room {n % 99}"})
        for n in range(10_000)
    )
    goal = many[77::2000]
    embedder = HashedEmbedder(384)
    rewards([goal], [many], embedder, convention)  # vectors are known now
    tracemalloc.start()
    began = time.perf_counter()
    found = rewards([goal] * 3, [many, many[:5000], many[::-1]], embedder, convention)
    seconds, peak = time.perf_counter() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[0] == found[2] == 1 and found[1] < 1
    assert seconds < 10 and peak < 1e9


@pytest.mark.parametrize("one_thread", [1, 50, 10**6])
def test_products_are_the_same_in_pieces_of_any_size(monkeypatch: pytest.MonkeyPatch, one_thread: int) -> None:
    monkeypatch.setattr("statefactory.similarity.ONE_THREAD", one_thread)
    first, second = np.random.default_rng(1).normal(size=(2, 7, 5)).astype(np.float32)
    assert _products(first, second[:6]) == pytest.approx(first @ second[:6].T, abs=1e-5)


def test_large_goals_are_routed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    goal = tuple(entity(f"object {n}", {"power": "on", "place": str(n)}) for n in range(40))
    expected = rewards([goal], [goal[::2]], EMBEDDER)
    monkeypatch.setattr("statefactory.similarity.TABLE", 50)
    assert rewards([goal], [goal[::2]], EMBEDDER) == pytest.approx(expected)


class _Fixed:
    """Vectors in the plane, brought to length 1."""

    name = "fixed"

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.vectors = {text: np.array(v, np.float32) / np.float32(np.linalg.norm(v)) for text, v in vectors.items()}

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.stack([self.vectors.get(text, np.array([0, 1], np.float32)) for text in texts])

    def cosine(self, first: str, second: str) -> float:
        return float(self.vectors[first] @ self.vectors[second])
