"""WebShop's reward and search: hand-computed purchases, the nouns of names, and BM25 against its formula."""

from __future__ import annotations

import math
import sys
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.base import NoSolution
from worlds.webshop import WebShop, load
from worlds.webshop.catalogue import K1, B, Catalogue, Instruction, Product, SearchEngine, price_of, stemmed
from worlds.webshop.expert import Expert
from worlds.webshop.goals import CAPS, NO_CAP, Goal, draw_goals, price_cap
from worlds.webshop.reward import alike, colour_or_all, name_overlap, nouns, same_option, score, type_score
from worlds.webshop.synthetic import synthetic_catalogue

MADE = synthetic_catalogue(0)
SHOES = ("Clothing", "Women", "Shoes")
SANDAL = Product(
    "B1", "Sandal Leather Strap Buckle", "sandals", SHOES, (30.0,), description="A rubber sole.",
    features=("Non slip heel",), attributes=("open toe", "ankle strap"),
    options={"color": ("jet black", "dark red"), "size": ("7", "8.5")},
)  # fmt: skip


def product(name: str, query: str = "lamps", path: tuple[str, ...] = ("Home",)) -> Product:
    return Product("B2", name, query, path, (10.0,))


def goal(*attributes: str, options: tuple[str, ...] = (), cap: float = 50.0) -> Goal:
    return Goal(SANDAL, attributes, options, cap)


@pytest.mark.parametrize(("wanted", "chosen", "price", "reward"), [
    (goal("open toe"), (), 30.0, 1.0),
    (goal("open toe", cap=20.0), (), 30.0, 1 / 2),
    (goal("open toe", cap=30.0), (), 30.0, 1.0),
    (goal("toe open", "strap, ankle!"), (), 30.0, 1.0),  # same words in another order
    (goal("rubber sole", "non slip", "leather"), (), 30.0, 1.0),  # from description, features and title
    (goal("open toe", "gluten free"), (), 30.0, 2 / 3),
    (goal("open toe", options=("black", "8.5")), ("jet black", "8.5"), 30.0, 1.0),
    (goal("open toe", options=("black", "8.5")), ("dark red", "8.5"), 30.0, 3 / 4),
    (goal("open toe", options=("black", "8.5")), (), 99.0, 1 / 4),
    (goal(options=("8.5",)), ("7",), 30.0, 1 / 2),
])  # fmt: skip
def test_a_purchase_of_the_right_product_counts_what_was_asked_for(
    wanted: Goal, chosen: tuple[str, ...], price: float, reward: float
) -> None:
    assert score(SANDAL, chosen, price, wanted).total == pytest.approx(reward)


@pytest.mark.parametrize(("bought", "kind"), [
    (product("Sandal", query="sandals"), 1.0),  # same query; 1 of 4 nouns
    (product("Sandal", path=("Shoes", "Women")), 1.0),  # two categories in common, in any order
    (product("Sandal"), 1.0),  # overlap 0.25 > 0.2
    (product("Lamp", query="sandals", path=SHOES), 0.0),  # no noun in common overrules both
])  # fmt: skip
def test_the_kind_of_product_is_told_by_query_categories_and_nouns(bought: Product, kind: float) -> None:
    assert type_score(bought, SANDAL) == kind


def test_the_steps_of_the_noun_overlap() -> None:
    def wanted(words: int) -> Product:
        return product(" ".join(["Shade", *(f"Word{letter}" for letter in "ABCDEFGHIJK"[: words - 1])]), query="other")

    lamp = product("Shade")
    assert [type_score(lamp, wanted(words)) for words in (4, 5, 10, 11)] == [1.0, 0.5, 0.5, 0.1]
    assert type_score(product("Shade", query="other"), wanted(11)) == 0.1
    assert name_overlap("Shade", "100 x 200") == 0.0 and name_overlap("Shade", "100 200") == 0.2


def test_a_repeated_noun_counts_among_those_wanted_alone() -> None:
    assert name_overlap("Lamp", "Lamp Lamp Shade") == pytest.approx(1 / 3)


@pytest.mark.parametrize(("value", "colour"), [
    ("plain black", "black"), ("light blue", "blue"), ("standard", "tan"), ("x-large", "x-large"),
    ("navy and apricot", "apricot"),
])  # fmt: skip
def test_an_option_is_its_first_colour_in_the_order_of_the_list(value: str, colour: str) -> None:
    assert colour_or_all(value) == colour


def test_likeness_is_rounded_and_blind_to_case_and_marks() -> None:
    assert alike("12 Ounce (Pack of 1)", "12 ounce pack of 1") and not alike("12 ounce", "lavender")
    assert not alike("a" * 29 + "b" * 5, "a" * 29 + "c" * 5)  # 85.3 % is 85
    assert alike("12 ounce", "16 ounce") and alike("x-small", "small")  # sizes pass easily, as they do officially
    assert not alike("漢字", "漢字")  # nothing is left of what is not ASCII
    assert same_option("café black", "black")


@given(st.data())
def test_the_reward_is_between_0_and_1_and_never_falls_with_a_higher_cap(data: st.DataObject) -> None:
    products = MADE.products
    bought, meant = (products[data.draw(st.integers(0, len(products) - 1))] for _ in range(2))
    options = tuple(values[0] for values in meant.options.values())
    chosen = [data.draw(st.sampled_from(values)) for values in bought.options.values()]
    low, high = (score(bought, chosen, 40.0, Goal(meant, meant.attributes, options, cap)) for cap in (20.0, 60.0))
    assert 0 <= low.total <= high.total <= 1
    assert high.total - low.total == pytest.approx(high.kind / high.asked)
    assert score(meant, options, 40.0, Goal(meant, meant.attributes, options, 60.0)).total == 1


@pytest.mark.parametrize(("name", "expected"), [
    (
        "Women's Ankle Strap Sandals, Comfortable and washable",
        ("women", "ankle", "strap", "sandals", "comfortable"),
    ),
    ("500ml Bottle (2 Pack) for the Kitchen", ("ml", "bottle", "pack", "kitchen")),
    ("small lamp with 1080p", ("lamp",)),
    ("", ()),
])  # fmt: skip
def test_nouns_of_a_name(name: str, expected: tuple[str, ...]) -> None:
    assert nouns(name) == expected


@given(st.floats(0.01, 969.99), st.integers())
def test_a_price_cap_is_the_larger_of_two_of_the_next_four_multiples(price: float, seed: int) -> None:
    above = [cap for cap in CAPS if cap > price][:4]
    cap = price_cap(price, Random(seed))
    assert cap in above[1:] and cap <= 990


def test_the_dearest_products_have_no_cap_and_no_words_about_one() -> None:
    dear = Product("B3", "Sofa", "sofas", ("Home",), (985.0,))
    drawn = draw_goals({"test": [Instruction("B3", "find a sofa.", ("soft",))]}, Catalogue([dear]), 0)
    (task,) = drawn.tasks["test"]
    assert task.goal == "find a sofa" and drawn.goals[task.id].price_cap == NO_CAP


def test_texts_name_the_options_and_the_cap_that_the_goal_has() -> None:
    for task in (shop := load("synthetic")).tasks("test"):
        hidden = shop.hidden_goal(task)
        assert task.goal.endswith(f", and price lower than {hidden.price_cap:.2f} dollars")
        assert all(f": {value}" in task.goal for value in hidden.options)
        assert price_of(hidden.product, 0) < hidden.price_cap


def test_the_seed_draws_other_options_caps_and_prices() -> None:
    catalogue = MADE
    instructions = {"test": [Instruction(one.asin, "find", one.attributes) for one in catalogue.products[:50]]}
    texts = [[task.goal for task in draw_goals(instructions, catalogue, seed).tasks["test"]] for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    ranged = next(one for one in catalogue.products if len(one.pricing) == 2)
    assert ranged.pricing[0] <= price_of(ranged, 0) <= ranged.pricing[1] and price_of(ranged, 0) != price_of(ranged, 1)


def test_a_goal_that_nothing_fulfils_is_named() -> None:
    catalogue = Catalogue([SANDAL])
    wish = {"test": [Instruction("B1", "find me gold sandals", ("gold plated",))], "train": []}
    shop = WebShop(catalogue, draw_goals(wish, catalogue, 0), "synthetic")
    with pytest.raises(NoSolution, match="webshop-test-0000"):
        Expert(shop).actions(shop.tasks("test")[0])


def test_where_the_instruction_does_not_find_the_product_words_of_its_title_do() -> None:
    lamps = [
        Product(f"L{number}", f"Lamp {number}", "lamps", ("Home",), (9.0,), attributes=("dim",)) for number in range(60)
    ]
    catalogue = Catalogue([*lamps, SANDAL])
    wish = {"test": [Instruction("B1", "lamps to dim", ("open toe", "ankle strap"), ())], "train": []}
    shop = WebShop(catalogue, draw_goals(wish, catalogue, 0), "synthetic")
    first, *_ = Expert(shop).actions(shop.tasks("test")[0])
    assert first == "search[sandal leather]"


TEXTS = ("a red lamp for reading", "lamps and lamp shades", "dog bed, red", "red red red wine", "", "a dog that reads")


def formula(query: str, texts: tuple[str, ...]) -> list[float]:
    """BM25 as Lucene scores it, word by word."""
    words = stemmed(texts)
    average = sum(map(len, words)) / len(words)
    counts = [Counter(text) for text in words]
    totals = [0.0] * len(texts)
    for word in stemmed([query])[0]:
        holding = sum(word in count for count in counts)
        weight = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        for position, count in enumerate(counts):
            norm = K1 * (1 - B + B * len(words[position]) / average)
            totals[position] += weight * count[word] / (count[word] + norm)
    return totals


@pytest.mark.parametrize("query", ["red lamp", "reading dogs", "shade", "wine red bed", "a the of"])
def test_results_are_ordered_by_bm25(query: str) -> None:
    totals = formula(query, TEXTS)
    expected = sorted(
        (position for position in range(len(TEXTS)) if totals[position] > 0),
        key=lambda position: (-round(totals[position], 5), position),
    )
    assert list(SearchEngine(TEXTS).search(query)) == expected


def test_a_missing_package_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(ImportError, match="bm25s.*python -m pip install -r requirements.txt"):
        SearchEngine(TEXTS)


def test_at_most_fifty_results_and_equals_stay_in_order() -> None:
    engine = SearchEngine(["blue lamp"] * 80 + ["lamp"])
    assert engine.search("lamps") == (80, *range(49)) and engine.search("??") == () == engine.search("")
