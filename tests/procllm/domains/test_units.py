"""Unit Movement: networks as the paper builds them, a checker beside a brute-force check, rules, and the picture."""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers_checked import assert_both_agree
from lab.results import plots
from procllm.domains import Instance, domain
from procllm.domains.units import CALL_SIGNS, PLACES, BadAnswer, NoProblem, along_edges, instances, parsed
from procllm.domains.units.plots import AFTER, BEFORE, arranged, draw, points_of, sections_of
from procllm.experiments import figure_a1

UNITS = domain("units")
SIZES = st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))

# The network that the paper prints in C.4.2, a letter a place: sections A to D, and outer places 1 to 3 in each.
PRINTED = "A1-D2 A1-C3 A2-D3 A2-B3 B1-B2 B2-C2 B2-D2 B2-D1 C1-C2"


def some(n: int = 5, k: int = 3, seed: int = 0) -> Instance:
    return instances(1, seed, n, k)[0]


def moves(pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"unit_id": unit, "action_type": "move", "location": place} for unit, place in pairs]


def solution(instance: Instance) -> str:
    """Every unit to the neighbour of its own section."""
    network = instance.problem.network
    home = {outer: place for place in instance.problem.neighbours for outer in network[place]}
    return json.dumps(moves((unit, home[place]) for unit, place in instance.problem.units.items()))


# --- problems


def beyond_the_tree(instance: Instance) -> list[tuple[str, str]]:
    problem = instance.problem
    inner = {problem.target, *problem.neighbours}
    pairs = {tuple(sorted((place, other))) for place, beside in problem.network.items() for other in beside}
    return [pair for pair in pairs if not set(pair) & inner]


@given(st.integers(0, 200), st.sampled_from([0, 9, 12, 66]))
def test_the_network_is_the_papers(seed: int, edges: int) -> None:
    instance = instances(1, seed, 3, 2, edges)[0]
    network, target = instance.problem.network, instance.problem.target
    assert len(network) == 17 and set(network) <= set(PLACES) and len(set(PLACES)) == 50
    assert len(network[target]) == 4 and next(iter(network)) == target
    assert all(place in network[other] for place, beside in network.items() for other in beside)
    assert all(len(set(beside)) == len(beside) and place not in beside for place, beside in network.items())
    outer = [place for neighbour in network[target] for place in network[neighbour] if place != target]
    assert len(outer) == len(set(outer)) == 12 and all(len(network[place]) == 4 for place in network[target])
    assert sum(map(len, network.values())) / 2 == 16 + edges and len(beyond_the_tree(instance)) == edges


def test_the_printed_example_has_nine_edges_beyond_the_tree_all_between_outer_places_of_any_two_sections() -> None:
    edges = [tuple(edge.split("-")) for edge in PRINTED.split()]
    within = sum(one[0] == other[0] for one, other in edges)
    opposite = sum(abs(ord(one[0]) - ord(other[0])) == 2 for one, other in edges)
    assert (len(edges), len(set(map(frozenset, edges))), within, opposite) == (9, 9, 2, 3)
    degrees = Counter(place for edge in edges for place in edge)
    assert degrees["A3"] == 0 and degrees["B2"] == 4  # one outer place has none, one has four
    facts = figure_a1.construction(3, 5, 3).set_index("fact")
    assert set(facts["value"]) == {100} and facts["unit"].str.endswith("by construction").all()
    assert facts.loc["there are 12 edges beyond the 16 of the tree", "the paper's example"] == str(len(edges))


def test_random_edges_join_places_within_and_between_sections_alike() -> None:
    kinds: Counter[str] = Counter()
    for instance in instances(300, 0, 1, 1):
        section = {place: name for name, places in sections_of(instance.problem).items() for place in places}
        kinds.update("within" if section[a] == section[b] else "between" for a, b in beyond_the_tree(instance))
    # 12 of the 66 pairs of outer places are of one section; the mean of 3,600 draws is within 4 standard errors.
    assert abs(kinds["within"] / kinds.total() - 12 / 66) < 4 * math.sqrt(12 / 66 * 54 / 66 / 3600)


@given(SIZES, st.integers(0, 50))
def test_three_sections_have_n_units_each_at_their_outer_places(size: tuple[int, int], seed: int) -> None:
    problem = some(*size, seed).problem
    by_sign: dict[str, set[str]] = {}
    for unit, place in problem.units.items():
        by_sign.setdefault(unit.split("_")[0], set()).add(place)
    assert len(by_sign) == 3 and set(by_sign) <= set(CALL_SIGNS)
    assert list(problem.units) == [f"{sign}_{number}" for sign in by_sign for number in range(size[0])]
    homes = [next(name for name, outer in sections_of(problem).items() if at <= set(outer)) for at in by_sign.values()]
    assert len(set(homes)) == 3 and problem.need == size[1]


@given(SIZES, st.integers(0, 50))
def test_every_problem_is_solvable_along_edges_and_its_request_reads_back(size: tuple[int, int], seed: int) -> None:
    instance = some(*size, seed)
    assert UNITS.check(instance, solution(instance)).solved and along_edges(instance, solution(instance)) == 1
    assert parsed(instance.request) == instance.problem
    assert list(parsed(instance.request).network) == list(instance.problem.network)


def test_all_sections_get_their_turn_without_units() -> None:
    empty: Counter[int] = Counter()
    for instance in instances(80):
        at, outer = set(instance.problem.units.values()), sections_of(instance.problem).values()
        empty.update(number for number, places in enumerate(outer) if not at & set(places))
    assert set(empty) == {0, 1, 2, 3} and empty.total() == 80


@pytest.mark.parametrize(
    "size",
    [{"n": 2, "k": 3}, {"n": 0, "k": 0}, {"n": 3, "k": 0}, {"n": 1000, "k": 1}, {"edges": 67}, {"edges": -1}],
)
def test_sizes_without_a_problem_are_refused(size: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"k=|edges="):
        instances(1, **size)
    with pytest.raises(ValueError, match="count="):
        instances(1000)


def spoiled_requests() -> Iterator[str]:
    request, neighbour = some().request, some().problem.neighbours[0]
    yield ""
    yield request.replace("Surround", "Leave")
    yield request.replace("at least 3 of", "at least 6 of")
    yield "\n".join(line for line in request.split("\n") if not line.startswith(f"{neighbour} -"))
    yield request.replace(f"'{neighbour}', ", "", 1)
    yield request.replace("at (", "at (New")
    yield request.replace("Infantry", "Cavalry")


@pytest.mark.parametrize("text", list(spoiled_requests()))
def test_a_request_that_tells_of_no_problem_is_refused(text: str) -> None:
    with pytest.raises(NoProblem):
        parsed(text)


def test_of_two_lines_that_disagree_the_first_counts() -> None:
    instance = some()
    target = instance.problem.target
    unit, place = next(iter(instance.problem.units.items()))
    later = instance.request
    for here, there in (
        (f"{{{target}}}", f"{{{place}}}"),
        ("at least 3 of your", "at least 1 of your"),
        (f"({unit}) at ({place})", f"({unit}) at ({target})"),
    ):
        later = later.replace(here, there)
    assert later != instance.request and parsed(instance.request + later) == instance.problem


# --- the checker beside a brute-force check that reads the request by words and tries all sets of three places


def brute_force(instance: Instance, answer: str) -> tuple[bool, bool, bool]:
    """format, moves, surrounded."""
    request = instance.request
    target, need = request.split("{")[1].split("}")[0], int(request.split("at least ")[2].split()[0])
    at = {line.split("(")[1].split(")")[0]: line.split("(")[2].split(")")[0]
          for line in request.splitlines() if line.startswith("Infantry")}  # fmt: skip
    rows = [line.split(" - ") for line in request.split("next to it):\n")[1].splitlines()]
    beside = {place: json.loads(names.replace("'", '"')) for place, names in rows}
    shape = {"unit_id": str, "action_type": str, "location": str}
    try:
        listed = json.loads(answer)
    except ValueError:
        return False, False, False
    if type(listed) is not list:
        return False, False, False
    for each in listed:
        if type(each) is not dict or {key: type(value) for key, value in each.items()} != shape:
            return False, False, False
        if each["action_type"] != "move":
            return False, False, False
    if len({each["unit_id"] for each in listed}) < len(listed):
        return True, False, False
    if any(each["unit_id"] not in at or each["location"] not in beside for each in listed):
        return True, False, False
    for each in listed:
        at[each["unit_id"]] = each["location"]
    sides = combinations(beside[target], 3)
    return True, True, any(all(list(at.values()).count(side) >= need for side in three) for three in sides)


def random_answer(instance: Instance, random: Random) -> str:
    """Enough units to three neighbours, the others anywhere; or one too few; or one of these with a slip in it."""
    problem = instance.problem
    units = random.sample(list(problem.units), len(problem.units))
    pairs, spare = [], 0 if random.random() < 0.65 else 1
    for place in random.sample(problem.neighbours, 3):
        pairs += [(units.pop(), place) for _ in range(problem.need - spare)]
        spare = 0
    if spare == 0 and random.random() < 0.6:
        pairs += [(unit, random.choice(list(problem.network))) for unit in units if random.random() < 0.5]
    listed: Any = moves(pairs)
    random.shuffle(listed)
    if random.random() < 0.5:
        return slipped(listed, instance, random)
    return json.dumps(listed, indent=random.choice([None, 2]))


def slipped(listed: list[Any], instance: Instance, random: Random) -> str:
    """The list with one thing wrong in its JSON, in the shape of an item, or in what an item says."""
    at = random.randrange(len(listed))
    kind = random.choice(
        ["fence", "prose", "object", "null", "key", "extra", "type", "action", "unit", "place", "twice", "lose", "cut"]
    )
    if kind == "null":
        listed[at] = random.choice([None, [], 3, "move", math.nan])
    elif kind == "key":
        listed[at]["unit"] = listed[at].pop("unit_id")
    elif kind == "extra":
        listed[at]["why"] = "because"
    elif kind == "type":
        listed[at]["location"] = [listed[at]["location"]]
    elif kind == "action":
        listed[at]["action_type"] = random.choice(["Move", "attack", ""])
    elif kind == "unit":
        listed[at]["unit_id"] = random.choice(["Nobody_0", "", listed[at]["unit_id"].lower()])
    elif kind == "place":
        listed[at]["location"] = random.choice(["Nowhere", "", listed[at]["location"] + " "])
    elif kind == "twice":
        listed.append(listed[at] | {"location": random.choice(list(instance.problem.network))})
    elif kind == "lose":
        del listed[at]
    text = json.dumps({"moves": listed} if kind == "object" else listed)
    return {"fence": f"```json\n{text}\n```", "prose": f"My orders: {text}", "cut": text[:-1]}.get(kind, text)


def test_the_checker_and_a_brute_force_check_agree_on_a_thousand_answers() -> None:
    problems = [each for n, k in ((1, 1), (3, 3), (5, 3), (10, 6)) for each in instances(10, 1, n, k)]
    assert_both_agree(UNITS, problems, random_answer, brute_force)


UNIT, PLACE = next(iter(some().problem.units)), some().problem.neighbours[0]
ORDER = json.dumps(moves([(UNIT, PLACE)])[0])


@pytest.mark.parametrize(
    ("answer", "part", "reason"),
    [
        ("", "format", "JSON list and nothing else"),
        (f"```json\n[{ORDER}]\n```", "format", "nothing else"),
        (f"[{ORDER}] Done.", "format", "nothing else"),
        (ORDER, "format", "not a dict"),
        (f'[{ORDER[:-1]}, "unit_id": "{UNIT}"}}]', "format", "twice"),
        (f"[{ORDER}, NaN]", "format", "Item 2"),
        ("[{}]", "format", "Item 1"),
        (f"[{ORDER.replace('move', 'hold')}]", "format", "'hold'"),
        (f"[{ORDER.replace(UNIT, 'Ghost_0')}]", "moves", "no unit 'Ghost_0'"),
        (f"[{ORDER.replace(PLACE, 'Atlantis')}]", "moves", "'Atlantis'"),
        (f"[{ORDER}, {ORDER}]", "moves", "two moves"),
        (f"[{ORDER}]", "surrounded", "Only 0 of 3"),
        ("[]", "surrounded", "Only 0 of 3"),
    ],
)
def test_the_reason_names_the_first_fault(answer: str, part: str, reason: str) -> None:
    verdict = UNITS.check(some(), answer)
    assert reason in verdict.reason
    assert next(name for name, holds in verdict.parts.items() if not holds) == part


def test_a_unit_without_a_move_stays_and_any_place_may_be_the_target_of_a_move() -> None:
    instance = some(1, 1)
    problem = instance.problem
    crossed = json.dumps(moves(zip(problem.units, problem.neighbours[1:], strict=False)))
    assert UNITS.check(instance, crossed).solved and 0 <= along_edges(instance, crossed) < 1
    there = Instance("", "", replace(problem, units=dict(zip(problem.units, problem.neighbours, strict=False))))
    assert UNITS.check(there, "[]").solved and math.isnan(along_edges(there, "[]"))
    assert math.isnan(along_edges(instance, "no list"))


# --- the picture


@pytest.fixture
def look() -> Iterator[None]:
    plots.style()
    yield
    plt.close("all")


def discs(figure: Any, color: str) -> list[tuple[float, float]]:
    wanted = matplotlib.colors.to_rgba(color)
    circles = (patch for patch in figure.axes[0].patches if isinstance(patch, matplotlib.patches.Circle))
    return [circle.center for circle in circles if circle.get_facecolor() == wanted]


def test_places_lie_on_two_rings_and_apart_in_an_order_that_shortens_edges() -> None:
    for instance in instances(5, 7):
        problem = instance.problem
        points = points_of(problem, arranged(problem))
        assert set(points) == set(problem.network) and points[problem.target] == (0, 0)
        assert min(math.dist(a, b) for a, b in combinations(points.values(), 2)) > 0.9
        plain = points_of(problem, sections_of(problem))
        lengths = [
            sum(math.dist(where[a], where[b]) for a, b in beyond_the_tree(instance)) for where in (points, plain)
        ]
        assert lengths[0] <= lengths[1] * 1.05


@pytest.mark.usefixtures("look")
def test_the_picture_shows_the_units_before_and_after() -> None:
    instance = some(5, 3)
    start, moved = draw(instance.problem), draw(instance.problem, solution(instance))
    occupied = len(set(instance.problem.units.values()))
    assert len(discs(start, BEFORE)) == occupied and not discs(start, AFTER)
    assert len(discs(moved, BEFORE)) == occupied and len(discs(moved, AFTER)) == 3
    texts = [text.get_text() for text in moved.axes[0].texts]
    assert set(instance.problem.network) <= set(texts) and texts.count("5") == 3 + list(
        Counter(instance.problem.units.values()).values()).count(5)  # fmt: skip
    with pytest.raises(BadAnswer):
        draw(instance.problem, "nothing")


@pytest.mark.slow
@pytest.mark.usefixtures("look")
def test_names_and_numbers_do_not_cover_one_another() -> None:
    for n, k, seed in ((15, 9, 0), (5, 3, 1), (10, 6, 2)):
        instance = some(n, k, seed)
        figure = draw(instance.problem, solution(instance))
        figure.canvas.draw()
        boxes = [(text.get_text(), text.get_window_extent()) for text in (*figure.axes[0].texts, *figure.texts)]
        overlapping = [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)]
        assert not overlapping
        page = figure.bbox
        assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and box.y1 <= page.y1 for _, box in boxes)


@pytest.mark.slow
@pytest.mark.usefixtures("look")
def test_the_picture_has_the_same_bytes_every_time() -> None:
    instance, saved = some(), [io.BytesIO(), io.BytesIO()]
    for file in saved:
        draw(instance.problem, solution(instance)).savefig(file, format="png", dpi=50)
    assert saved[0].getvalue() == saved[1].getvalue()
