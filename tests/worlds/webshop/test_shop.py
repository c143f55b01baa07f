"""The text shop: its pages, its actions, and what it keeps from a shopper. Over the synthetic catalogue."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.base import EpisodeOver, Step
from worlds.webshop import ShopTask, WebShop, load
from worlds.webshop.catalogue import words
from worlds.webshop.expert import Expert


@pytest.fixture(scope="module")
def shop() -> WebShop:
    return load("synthetic")


@pytest.fixture
def task(shop: WebShop) -> ShopTask:
    """A task whose product has two options."""
    return next(task for task in shop.tasks("test") if len(shop.hidden_goal(task).options) == 2)


def play(shop: WebShop, task: ShopTask, *actions: str) -> Step:
    step = shop.reset(task)
    for action in actions:
        step = shop.step(action)
    return step


def to_own_product(shop: WebShop, task: ShopTask) -> list[str]:
    """The way to the page of the product that the task is about."""
    product = shop.hidden_goal(task).product
    return [f"search[{product.name}]", f"click[{product.asin}]"]


def test_a_visit_starts_on_the_search_page(shop: WebShop, task: ShopTask) -> None:
    step = shop.reset(task)
    assert step.text.splitlines() == ["WebShop", "Instruction:", task.goal, "[button] Search [button_]"]
    assert (step.score, step.done, step.facts["page"]) == (0.0, False, "search")


def test_results_come_ten_a_page_with_id_title_and_price(shop: WebShop, task: ShopTask) -> None:
    step = play(shop, task, f"search[{task.goal}]")
    lines = step.text.splitlines()
    assert lines[:5] == [
        "Instruction:", task.goal, "[button] Back to Search [button_]", "Page 1 (Total results: 50)",
        "[button] Next > [button_]",
    ]  # fmt: skip
    first = shop.catalogue.by_asin[step.facts["products"][0]]
    assert lines[5:9] == ["", f"[button] {first.asin} [button_]", first.name, first.price_tag]
    assert step.text.count("\n\n") == len(step.facts["products"]) == 10
    second = shop.step("click[Next >]")
    assert "Page 2 (Total results: 50)\n[button] < Prev [button_]\n[button] Next > [button_]" in second.text
    assert not set(second.facts["products"]) & set(step.facts["products"])
    assert shop.step("click[< Prev]").text == step.text


def test_a_product_page_shows_options_price_and_sub_pages(shop: WebShop, task: ShopTask) -> None:
    product = shop.hidden_goal(task).product
    lines = play(shop, task, *to_own_product(shop, task)).text.splitlines()
    name, values = next(iter(product.options.items()))
    assert lines[3] == "[button] < Prev [button_]" and lines[4] == name
    assert lines[5 : 5 + len(values)] == [f"  [button] {value} [button_]" for value in values]
    assert lines[-7:] == [
        product.name, f"Price: {product.price_tag}", "Rating: N.A.", "[button] Description [button_]",
        "[button] Features [button_]", "[button] Reviews [button_]", "[button] Buy Now [button_]",
    ]  # fmt: skip


def test_a_chosen_option_is_marked_and_replaced_by_another_of_its_name(shop: WebShop, task: ShopTask) -> None:
    name, (one, other, *_) = next(iter(shop.hidden_goal(task).product.options.items()))
    step = play(shop, task, *to_own_product(shop, task), f"click[{one}]")
    assert step.text.startswith(f"You have clicked {one}.\nInstruction:")
    assert f"  [clicked button] {one} [clicked button_]" in step.text and step.facts["chosen"] == {name: one}
    step = shop.step(f"click[{other.upper()}]")
    assert step.facts["chosen"] == {name: other} and f"  [button] {one} [button_]" in step.text


def test_sub_pages_lead_back_to_the_product_with_its_options_kept(shop: WebShop, task: ShopTask) -> None:
    product = shop.hidden_goal(task).product
    option = next(iter(product.options.values()))[0]
    before = play(shop, task, *to_own_product(shop, task), f"click[{option}]").text
    for name, text in {
        "Description": product.description,
        "Features": product.features[0],
        "Reviews": "No reviews found",
    }.items():
        assert text in shop.step(f"click[{name}]").text
        assert shop.step("click[< Prev]").text == before


def test_leaving_a_product_forgets_its_options_and_marks_it_as_seen(shop: WebShop, task: ShopTask) -> None:
    product = shop.hidden_goal(task).product
    option = next(iter(product.options.values()))[0]
    step = play(shop, task, *to_own_product(shop, task), f"click[{option}]", "click[< prev]")
    assert f"\n\n[clicked button] {product.asin} [clicked button_]\n" in step.text
    assert shop.step(f"click[{product.asin}]").facts["chosen"] == {}
    assert shop.step("click[back to search]").text == shop.reset(task).text


@pytest.mark.parametrize("form", [
    "click[{id}]", "CLICK[{lower}]", "click[item - {title}]", "Click[Item - {shout}]", "click[item - {id}]",
    "  click[ {id} ]\n",
])  # fmt: skip
def test_a_product_is_clicked_by_id_or_by_title_in_any_case(shop: WebShop, task: ShopTask, form: str) -> None:
    product = shop.hidden_goal(task).product
    action = form.format(id=product.asin, lower=product.asin.lower(), title=product.name, shout=product.name.upper())
    step = play(shop, task, f"SEARCH[{product.name.upper()}]", action)
    assert step.facts["page"] == "item" and step.facts["product"] == product.asin


@pytest.mark.parametrize("action", [
    "", "buy", "click[]", "search[]", "search[ ]", "click[buy now]", "click[next >]", "click[search]", "click[WebShop]",
    "click[item - ]", "think[shoes]", "]click[",
])  # fmt: skip
def test_an_invalid_action_shows_the_same_page_again(shop: WebShop, task: ShopTask, action: str) -> None:
    start = shop.reset(task)
    assert shop.step(action) == start


def test_search_and_products_of_other_pages_are_out_of_reach(shop: WebShop, task: ShopTask) -> None:
    results = play(shop, task, f"search[{task.goal}]")
    beyond = shop.step("click[next >]").facts["products"][0]
    for action in ("search[lamp]", f"click[{beyond}]", f"click[item - {shop.catalogue.by_asin[beyond].name}]"):
        assert shop.step("click[< prev]").text == results.text
        assert shop.step(action) == results
        shop.step("click[next >]")
    assert play(shop, task, *to_own_product(shop, task), "search[lamp]").facts["page"] == "item"


def test_a_purchase_ends_the_episode_with_the_reward(shop: WebShop, task: ShopTask) -> None:
    goal = shop.hidden_goal(task)
    wanted = [f"click[{value}]" for value in goal.options]
    step = play(shop, task, *to_own_product(shop, task), *wanted, "click[Buy Now]")
    assert (step.score, step.done, step.actions) == (1.0, True, ())
    assert step.text == "You have successfully purchased the product." and shop.valid_actions() == ()
    with pytest.raises(EpisodeOver, match=task.id):
        shop.step("click[back to search]")
    without = play(shop, task, *to_own_product(shop, task), "click[Buy Now]").score
    assert without == (len(goal.attributes) + 1) / (len(goal.attributes) + len(goal.options) + 1)


def test_valid_actions_are_sorted_and_every_one_changes_the_page(shop: WebShop, task: ShopTask) -> None:
    rng = Random(5)
    step = shop.reset(task)
    for _ in range(200):
        assert list(step.actions) == sorted(set(step.actions)) and step.actions == shop.valid_actions()
        action = rng.choice(step.actions)
        after = shop.step(action)
        same_choice = action[6:-1] in step.facts.get("chosen", {}).values()
        assert after.text != step.text or action == "click[search]" or same_choice
        step = shop.reset(task) if after.done else after


def test_the_search_page_offers_the_instruction_and_kinds_that_it_does_not_name(
    shop: WebShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WebShop, "hidden_goal", lambda *_: pytest.fail("what is listed must not tell of it"))
    for task in shop.tasks("train"):
        searches = {action[7:-1] for action in shop.reset(task).actions if action.startswith("search[")}
        assert len(searches) == 5 and task.goal in searches
        others = searches - {task.goal}
        assert others <= set(shop.catalogue.queries)
        assert not any(set(query.split()) <= words(task.goal) for query in others)


def test_unknown_splits_and_tasks_of_another_shop_are_named(shop: WebShop, task: ShopTask) -> None:
    with pytest.raises(ValueError, match="choose one of train, test"):
        shop.tasks("validation")
    with pytest.raises(LookupError, match=f"{task.id}.*seed 1"):
        load("synthetic", seed=1).reset(task)


@given(
    actions=st.lists(
        st.one_of(
            st.text(max_size=30),
            st.builds("search[{}]".format, st.text(max_size=30)),
            st.builds(
                "click[{}]".format, st.sampled_from(["next >", "< prev", "buy now", "description", "item - x", "["])
            ),
            st.integers(0, 60),
        ),
        max_size=12,
    )
)
def test_no_action_breaks_the_shop(shop: WebShop, actions: list[str | int]) -> None:
    step = shop.reset(shop.tasks("test")[0])
    for action in actions:
        step = shop.step(step.actions[action % len(step.actions)] if isinstance(action, int) else action)
        assert step.text and 0 <= step.score <= 1
        if step.done:
            break


def test_the_expert_solves_every_made_task_and_differently_for_each(shop: WebShop) -> None:
    expert, ways = Expert(shop), set()
    for task in (*shop.tasks("train"), *shop.tasks("test")):
        actions = expert.actions(task)
        assert actions == Expert(shop).actions(task) and 2 <= len(actions[0].split()) <= 6
        assert play(shop, task, *actions).score == 1.0
        ways.add(actions)
    assert len(ways) > 100
