"""The rules that read the shop's pages and its shoppers' wishes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shop_visits import visits
from standins.statefactory import webshop
from standins.statefactory.fidelity import fidelity
from standins.statefactory.webshop.wishes import Wish, phrases, stem, wish
from statefactory.state import entity

OFFICIAL = Path(os.environ.get("LAB_DATA") or "nowhere") / "webshop"
GOAL = "i need leak proof lunch boxes with color: teal, and size: set of 3, and price lower than 30.00 dollars"
TITLE = "Norby Classic Lunch Box, Leak Proof, for Picnics"
SEARCH = f"WebShop\nInstruction:\n{GOAL}\n[button] Search [button_]"
HEAD = f"Instruction:\n{GOAL}\n[button] Back to Search [button_]\n"
RESULTS = (
    f"{HEAD}Page 1 (Total results: 2)\n[button] Next > [button_]\n\n[button] B000000001 [button_]\n{TITLE}\n$12.5\n\n"
    "[clicked button] B000000002 [clicked button_]\nOrea Wall Charger, Usb Port\n$8.0 to $9.5"
)
SUB_PAGE = f"{HEAD}[button] < Prev [button_]\n"
DESCRIPTION = f"{SUB_PAGE}It is easy to clean and BPA-free. Made for the office."
BOUGHT = "You have successfully purchased the product."


def item(color: str = "", price: str = "$12.5", colors: tuple[str, ...] = ("teal", "red"), title: str = TITLE) -> str:
    """A product's page; color: the one clicked."""
    options = "\n".join(
        f"  [clicked button] {value} [clicked button_]" if value == color else f"  [button] {value} [button_]"
        for value in colors
    )
    return (
        (f"You have clicked {color}.\n" if color else "")
        + f"{SUB_PAGE}color\n{options}\nsize\n  [button] set of 3 [button_]\n{title}\nPrice: {price}\nRating: N.A.\n"
        + "".join(f"[button] {name} [button_]\n" for name in ("Description", "Features", "Reviews", "Buy Now"))
    )


def known_after(*steps: tuple[str, str], kept: bool = False) -> dict[str, dict[str, str]]:
    """What is known after actions and their pages. kept: whether only what matters is kept in between."""
    known = ()
    for action, page in steps:
        reading = webshop.read(known, action, page)
        assert not reading.unparsed
        known = webshop.relevant(GOAL, reading.known) if kept else reading.known
    return {e.identity: {a.name: a.value for a in e.attributes} for e in known}


SESSION = (
    ("", SEARCH), ("search[Lunch Box]", RESULTS), ("click[b000000001]", item()), ("click[description]", DESCRIPTION),
    ("click[< prev]", item()), ("click[teal]", item("teal")), ("click[buy now]", BOUGHT),
)  # fmt: skip


def test_reviews_say_nothing_of_what_a_product_is() -> None:
    opinion = f"{SUB_PAGE}best dog bed ever\n5.0"
    assert known_after(*SESSION[:3], ("click[reviews]", opinion))[TITLE] == known_after(*SESSION[:3])[TITLE]


@pytest.mark.parametrize("kept", [False, True])
def test_a_product_left_is_remembered_with_what_was_read_of_it(kept: bool) -> None:
    known = known_after(*SESSION[:6], ("click[< prev]", RESULTS), kept=kept)
    assert known[TITLE]["status"] == "looked at before" and known[TITLE]["color"] == "teal"
    assert "looking-at" not in known["agent"]


def test_an_action_without_effect_leaves_the_page_as_it_was() -> None:
    assert known_after(*SESSION[:4]) == known_after(*SESSION[:4], ("click[nonsense]", DESCRIPTION))


def test_reading_goes_on_from_what_was_kept() -> None:
    """What matters after reading everything is what was kept on the way; in whatever order."""
    all_along = webshop.relevant(GOAL, tuple(entity(*pair) for pair in known_after(*SESSION).items()))
    kept = tuple(entity(*pair) for pair in known_after(*SESSION, kept=True).items())
    assert {e.identity: set(e.attributes) for e in kept} == {e.identity: set(e.attributes) for e in all_along}


@pytest.mark.parametrize("page", [SEARCH, RESULTS, item(), DESCRIPTION])
def test_nothing_is_read_from_the_task_on_a_page(page: str) -> None:
    other = page.replace(GOAL, "i want a purple unicorn with size: enormous")
    assert webshop.read((), "click[x]", other) == webshop.read((), "click[x]", page)


@pytest.mark.parametrize(
    ("page", "foreign"),
    [
        ("You are in a room. There is a mug.", "You are in a room. There is a mug."),
        (RESULTS.replace("Page 1", "Sponsored\nPage 1"), "Sponsored"),
        (RESULTS + "\nonly 2 left", "only 2 left"),
        (item().replace("color\n", "sold by Orea\ncolor\n"), "sold by Orea"),
        (SEARCH + "\n[button] Log in [button_]", "[button] Log in [button_]"),
        (DESCRIPTION + "\nYour score (min 0.0, max 1.0): 0.5 of all", "Your score (min 0.0, max 1.0): 0.5 of all"),
        (item() + "Thank you for shopping with us!", "Thank you for shopping with us!"),
    ],
)
def test_a_foreign_line_is_said_not_to_be_understood(page: str, foreign: str) -> None:
    assert webshop.read((), "", page).unparsed == (foreign,)


def test_a_product_without_title_or_options_is_read() -> None:
    page = f"{SUB_PAGE}Price: $3.0\nRating: N.A.\n[button] Buy Now [button_]"
    assert known_after(("click[b1]", page))["product"]["price"] == "$3.0"


def test_an_end_page_of_another_shop_tells_nothing_of_how_well_it_went() -> None:
    lines = ("Thank you for shopping with us!", "Your code: 12 ab", "Purchased b000000001", "Your score: 0.5 points")
    before = webshop.read((), "click[b1]", item()).known
    reading = webshop.read(before, "click[description]", SUB_PAGE + "\n".join(lines))
    assert reading.unparsed == lines
    facts = {(e.identity, a.name) for e in reading.known for a in e.attributes}
    assert facts == {(e.identity, a.name) for e in before for a in e.attributes}


def test_stems_keep_three_letters() -> None:
    assert (stem("washable"), stem("boxes"), stem("used")) == ("wash", "box", "used")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (GOAL, Wish("lunch boxes", ("leak proof",), (("color", "teal"), ("size", "set of 3")), "30.00")),
        (
            "Find me slim fit, hand wash men's robes with long sleeve, faux fur for gym workout with fit type: men, "
            "and color: green with dots, and price lower than 40.00 dollars",
            Wish("men's robes", ("slim fit", "hand wash", "long sleeve", "faux fur", "gym workout"),
                 (("fit type", "men"), ("color", "green with dots")), "40.00"),
        ),
        ("Find me women's hats, caps & hoods with fur", Wish("women's hats, caps & hoods", ("fur",), (), None)),
        ("Find me jars for dining room", Wish("jars", ("dining room",), (), None)),
        (
            "i need a red color tent that is easy to clean and has a size of 3.5, and price lower than 9.00 dollars",
            Wish("tent", ("easy clean",), (("color", "red"), ("size", "3.5")), "9.00"),
        ),
        ("canvas tent, olive, < 80.00 dollars", Wish("canvas tent", ("olive",), (), "80.00")),
        ("", Wish("product", (), (), None)),
    ],
)  # fmt: skip
def test_a_wish_is_read_into_its_parts(text: str, read: Wish) -> None:
    assert wish(text) == read


def test_the_goal_is_a_purchase_of_the_kind() -> None:
    (goal,) = webshop.blueprint(GOAL)
    assert goal == entity(
        "lunch boxes",
        {"leak-proof": "leak proof", "color": "teal", "size": "set of 3", "price": "lower than 30.00 dollars",
         "status": "purchased"},
    )  # fmt: skip


def wanted_after(*steps: tuple[str, str]) -> str:
    """What the goal calls the product wanted."""
    known, wanted = (), webshop.blueprint(GOAL)
    for action, page in steps:
        known = webshop.relevant(GOAL, webshop.read(known, action, page).known)
        anchored = webshop.anchored(GOAL, wanted, known, page)
        assert [e.attributes for e in anchored] == [e.attributes for e in wanted]
        wanted = anchored
    return wanted[0].identity


def test_the_kind_becomes_the_product_opened_and_stays() -> None:
    assert wanted_after(*SESSION[:2]) == "lunch boxes"
    assert wanted_after(*SESSION[:3]) == wanted_after(*SESSION, ("", SEARCH)) == TITLE


@pytest.mark.parametrize(
    "page",
    [item(price="$30.0"), item(price="$12.5 to $31.0"), item(colors=("red", "pink")), item(title="Orea Charger")],
    ids=["too dear", "may be too dear", "no such colour", "another kind"],
)
def test_a_product_that_cannot_be_it_is_not_taken_for_the_one_wanted(page: str) -> None:
    assert wanted_after(("", SEARCH), ("click[b1]", page)) == "lunch boxes"


def test_the_agents_own_search_is_no_evidence_of_a_products_kind() -> None:
    search = ("search[lunch boxes]", RESULTS)
    assert wanted_after(search, ("click[b1]", item(title="Orea Glass Jar"))) == "lunch boxes"
    assert "query" not in known_after(search, kept=True)["agent"]


def test_once_anchored_the_goal_stays_with_another_that_can_be_it_open() -> None:
    other = item(title="Orea Lunch Box, Red")
    assert wanted_after(("click[b1]", other)) == "Orea Lunch Box, Red"
    assert wanted_after(*SESSION[:3], ("click[b2]", other)) == TITLE


def test_of_a_product_only_what_the_wish_names_is_kept() -> None:
    kept = known_after(*SESSION[:6], kept=True)
    assert set(kept) == {"agent", TITLE}
    assert set(kept[TITLE]) == {"leak-proof", "color", "size", "price", "status"}


def test_phrases_stay_within_a_clause_and_skip_small_words() -> None:
    assert phrases("Easy to clean, BPA-free: the Lunch-Box.") == ["easy clean", "bpa free", "lunch box"]


def test_unseen_visits_agree_with_the_simulator() -> None:
    result = fidelity(list(visits(games=8, seed=31)))
    assert result.steps > 120 and result.f1 >= 0.99 and not result.unparsed


@pytest.mark.slow
@pytest.mark.official
@pytest.mark.skipif(not OFFICIAL.exists(), reason="LAB_DATA has no WebShop data")
def test_official_pages_agree_with_the_simulator() -> None:
    result = fidelity(list(visits(games=60, seed=31, data="official")))
    assert result.f1 >= 0.99 and not result.unparsed
