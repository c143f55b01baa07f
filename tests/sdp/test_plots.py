"""Drawings of runs: what they mark is what happened, no text covers another, and what is cut is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from cellar import Cellar, CellarAdapter
from lab.models.backbone import MalformedAnswer
from lab.results import drawing
from odd_texts import ODD
from sdp.adapters.corridor import Corridor, CorridorAdapter
from sdp.adapters.travelplanner.adapter import Policy
from sdp.experiments import travelplanner
from sdp.experiments.multihop import HotpotQA, MuSiQue
from sdp.loop import Settings, run_episode
from sdp.plots import draw_run
from sdp.trajectory import Predicate, Trajectory


@pytest.fixture(autouse=True)
def no_figure_left() -> Iterator[None]:
    yield
    plt.close("all")


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def marks(figure: Figure) -> list[str]:
    """The colours of ticks and crosses, in the order in which they were drawn, without the legend's."""
    discs = [patch for patch in figure.axes[0].patches if isinstance(patch, Circle)]
    found = [matplotlib.colors.to_hex(disc.get_facecolor()) for disc in discs]
    colors = [color for color in found if color in (drawing.GREEN, drawing.RED, drawing.ORANGE)]
    return colors[: len(colors) - 2 - (drawing.ORANGE in colors)]


def overlaps(figure: Figure) -> list[tuple[str, ...]]:
    """Texts that cover one another, and texts that leave the page."""
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]  # of the backend that is set above
    shown = [text for text in figure.axes[0].texts if text.get_text().strip()]
    placed = [(text.get_text(), text.get_window_extent(renderer)) for text in shown]
    page = figure.bbox
    found = [(text,) for text, box in placed if box.x0 < 0 or box.x1 > page.x1 or box.y0 < 0 or box.y1 > page.y1]
    return found + [
        (one, other)
        for (one, here), (other, there) in combinations(placed, 2)
        # The extent of a text has room above and below its letters, so lines of one paragraph touch.
        if min(here.x1, there.x1) - max(here.x0, there.x0) > 1 and min(here.y1, there.y1) - max(here.y0, there.y0) > 4
    ]


def walk(dice: list[int], length: int = 6, **options: Any) -> Trajectory:
    return run_episode("corridor", CorridorAdapter(Corridor(length, dice)), Settings(**{"budget": 1} | options))


RUNS = {
    "questions": lambda: MuSiQue(engine="rules@0.8", data="synthetic", setting="open").episode(
        "3hop__made_musique_writing_0_000049"
    ),
    "an answer that is forced": lambda: HotpotQA(
        engine="rules@0.3", data="synthetic", settings=Settings(budget=1, step_cap=7)
    ).episode("2hop__made_hotpotqa_writing_0_000048"),
    "trips": lambda: travelplanner.Setup(engine="rules@0.6", data="synthetic", policy=Policy(undo=3)).episode(
        "made-validation-035"
    ),
    "a walk": lambda: walk([1, 0, 0, 2, 0, 1, 3]),
    "a cellar": lambda: run_episode("cellar", CellarAdapter(Cellar([0, 2, 0, 1, None], 5)), Settings(budget=1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_each_attempt_has_a_mark_and_each_cascade_its_k(run: str) -> None:
    trajectory = RUNS[run]()
    figure = draw_run(trajectory, "simulated")
    assert marks(figure) == [drawing.GREEN if attempt.k else drawing.RED for attempt in trajectory.attempts]
    cascades = [f"cascade, k = {attempt.k}" for attempt in trajectory.attempts if attempt.k > 1]
    assert [text for text in texts(figure) if text.startswith("cascade")] == cascades
    assert sum(text == "k = 1" for text in texts(figure)) == sum(attempt.k == 1 for attempt in trajectory.attempts)
    assert sum(text.startswith("Replan ") and text[7:].isdigit() for text in texts(figure)) == trajectory.replans
    assert any("an answer is forced" in text for text in texts(figure)) == (trajectory.forced is not None)
    assert not overlaps(figure)


@pytest.mark.slow
@settings(max_examples=5)
@given(
    dice=st.lists(st.sampled_from((0, 0, 1, 2, 5)), max_size=30),
    length=st.integers(1, 20),
    budget=st.integers(0, 3),
    most=st.integers(2, 6),
)
def test_no_text_covers_another_whatever_happens(dice: list[int], length: int, budget: int, most: int) -> None:
    trajectory = walk(dice, length, budget=budget, step_cap=30)
    assert not overlaps(draw_run(trajectory, "measured", most=most))
    plt.close("all")


@pytest.mark.slow
def test_texts_of_any_kind_keep_to_their_places() -> None:
    trajectory = walk([1, 0, 0, 2, 0, 1, 3])
    plans = tuple(
        replace(plan, predicates=tuple(Predicate(text) for text in ODD[: len(plan.predicates)]))
        for plan in trajectory.plans
    )
    attempts = tuple(replace(attempt, reason=" ".join(ODD)) for attempt in trajectory.attempts)
    assert not overlaps(draw_run(replace(trajectory, plans=plans, attempts=attempts), " ".join(ODD), ODD[8]))


def test_predicates_that_nobody_tried_are_counted_where_they_would_take_lines_of_their_own() -> None:
    shown = texts(draw_run(walk([1, 0, 0, 0, 0], length=20, replan=False)))
    assert "to the goal" in " ".join(shown) and "6–20: 15" in " ".join(shown)
    assert not [text for text in shown if text.startswith("7. ")]


def test_attempts_at_one_predicate_that_there_is_no_room_for_are_left_out_before_the_last() -> None:
    figure = draw_run(walk([0] * 20 + [6], budget=30))
    numbers = [text for text in texts(figure) if text.isdigit()]
    assert numbers[-1] == "21" and "…" in texts(figure) and not overlaps(figure)


def test_of_many_plans_the_first_ones_and_the_last_are_drawn_and_the_others_told() -> None:
    trajectory = walk([0] * 16 + [6], budget=1)
    figure = draw_run(trajectory, most=3)
    assert trajectory.replans == 8
    assert "Replans 2 to 7 are left out: 12 attempts, 0 predicates certified" in texts(figure)
    assert {"Replan 1", "Replan 8"} <= {*texts(figure)} and "Replan 2" not in texts(figure)
    assert not overlaps(figure)


class Mumbling(CorridorAdapter):
    """Propose, or Replan, gives nothing that can be read."""

    def replan(self, *_: Any) -> Any:
        raise MalformedAnswer("no JSON")


class Mute(Mumbling):
    def propose(self, *_: Any) -> Any:
        raise MalformedAnswer("no JSON")


@pytest.mark.parametrize(("adapter", "told"), [(Mute, "it gave no predicate"), (Mumbling, "no JSON")])
def test_an_episode_without_a_plan_says_so(adapter: type[CorridorAdapter], told: str) -> None:
    trajectory = run_episode("corridor", adapter(Corridor(3, [1])), Settings(budget=1))
    figure = draw_run(trajectory)
    assert trajectory.end == "malformed plan" and told in " ".join(texts(figure))
    assert "no usable plan" in " ".join(texts(figure)) and not overlaps(figure)
