"""The shop over the official small catalogue and against recorded sessions; skipped where `LAB_DATA` has neither."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from worlds.webshop import WebShop, load
from worlds.webshop.expert import Expert
from worlds.webshop.official import DATASET, by_people, templates
from worlds.webshop.reward import Score, kind_score, options_found

DATA = Path(os.environ.get("LAB_DATA") or "nowhere") / "webshop"
# Published sessions over the full catalogue of 1.18 million products: 50 of people, and 500 episodes of a ReAct agent.
PEOPLE, AGENT = "human_trajs_50.jsonl.gz", "react_gpt3_500_episodes.jsonl.gz"

pytestmark = [
    pytest.mark.official,
    pytest.mark.skipif(not DATASET.present(DATA), reason="LAB_DATA names no WebShop data"),
]
needs_sessions = pytest.mark.skipif(
    not (DATA / PEOPLE).exists() or not (DATA / AGENT).exists(),
    reason="LAB_DATA has no recorded WebShop sessions",
)

# The pages of the recorded episodes, and ours written the same way: one line an element, a button in brackets, an
# option's values behind its name.
RESULTS = re.compile(
    r"\[Back to Search\]\nPage \d+ \(Total results: \d+\)\n(\[< Prev\]\n)?\[Next >\]"
    r"(\n\[B[0-9A-Z]{9}\](\n[^\n]+)?\n\$[\d.]+( to \$[\d.]+)?)*"
)
ITEM = re.compile(
    r"\[Back to Search\]\n\[< Prev\](\n[^\n\[]+ (\[[^\n]+\])+)*(\n[^\n]+)?\nPrice: \$[\d.]+"
    r"( to \$[\d.]+)?\nRating: N.A.\n\[Description\]\n\[Features\]\n\[Reviews\](\n\[Attributes\])?"
    r"\n\[Buy Now\]"
)


@pytest.fixture(scope="module")
def shop() -> WebShop:
    return load("official")


def recorded(file: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def tasks(shop: WebShop) -> list:
    return [task for split in shop.splits for task in shop.tasks(split)]


def test_the_catalogue_and_its_instructions_are_all_there(shop: WebShop) -> None:
    assert len(shop.catalogue.products) == len(shop.catalogue.by_asin) == 1000
    assert sum(bool(product.options) for product in shop.catalogue.products) == 423
    assert (len(templates(DATA)), len(by_people(DATA))) == (415, 13)
    assert (len(shop.tasks("train")), len(shop.tasks("test"))) == (100, 328)


@pytest.mark.slow
def test_the_shopper_gets_full_reward_on_every_task(shop: WebShop) -> None:
    expert, rewards = Expert(shop), Counter()
    for task in tasks(shop):
        step = shop.reset(task)
        for action in expert.actions(task):
            step = shop.step(action)
        rewards[step.score] += 1
    assert rewards == {1.0: 428}


@needs_sessions
def test_the_recorded_rewards_of_people_are_reproduced() -> None:
    """From what was recorded of each purchase: the products themselves are not in the small catalogue."""
    sold = 0
    for record in recorded(PEOPLE):
        goal, bought, told = record["goal"], record["steps"][-1]["content"], record["steps"][-1]["reward_info"]
        found = Score(
            kind=kind_score(told["query_match"] or told["category_match"], told["title_score"]),
            attributes=round(told["r_att"] * len(goal["attributes"])),
            options=options_found(bought["options"].values(), goal["goal_options"]),
            price=bought["price"] <= goal["price_upper"],
            asked=len(goal["attributes"]) + len(goal["goal_options"]) + 1,
        )
        assert (found.kind, found.price) == (told["r_type"], told["r_price"])
        assert found.options == round(told.get("r_option", 0) * len(goal["goal_options"]))
        assert found.total == pytest.approx(record["reward"])
        sold += 1
    assert sold == 50


@needs_sessions
def test_pages_are_built_as_the_recorded_ones_are() -> None:
    seen: Counter[str] = Counter()
    for episode in recorded(AGENT):
        for step in episode["steps"][1:]:
            text = re.sub(r" *\n", "\n", step["observation"].strip())
            text = re.sub(r"(?<=\[Buy Now\]).*", "", text, flags=re.DOTALL)  # a warning was recorded once
            if text.startswith("[Back to Search]"):
                kind = RESULTS if "Page " in text.split("\n")[1] else ITEM
                assert kind.fullmatch(text), text
                seen[kind.pattern] += 1
    assert min(seen[RESULTS.pattern], seen[ITEM.pattern]) > 300


@pytest.mark.slow
def test_our_pages_have_the_same_build(shop: WebShop) -> None:
    for task in tasks(shop):
        shop.reset(task)
        for action in Expert(shop).actions(task):
            step = shop.step(action)
            if step.facts["page"] in ("results", "item"):
                pattern = RESULTS if step.facts["page"] == "results" else ITEM
                assert pattern.fullmatch(as_recorded(step.text, shop, step.facts)), step.text


def as_recorded(text: str, shop: WebShop, facts: dict) -> str:
    """Our page without the instruction and what was clicked, in the recorded episodes' writing."""
    text = text[text.index("[button] Back to Search") :].replace("\n\n", "\n")
    text = re.sub(r"\[(?:clicked )?button\] (.*) \[(?:clicked )?button_\]", r"[\1]", text)
    for name in shop.catalogue.by_asin[facts["product"]].options if "product" in facts else ():
        text = text.replace(f"\n{name}\n  [", f"\n{name} [", 1)
    return re.sub(r"\n  \[", "[", text)
