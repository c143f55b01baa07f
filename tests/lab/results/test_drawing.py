"""The drawings of the papers' ideas: what they mark is what happened, and every text has room."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch
from matplotlib.text import Text

import procllm.plots
import sdp.plots
import statefactory.plots
from lab.models.connect import connect
from lab.results import drawing
from lab.results.drawing import Canvas
from odd_texts import ODD
from procllm.domains import domain
from procllm.loop import play
from sdp.adapters.corridor import Corridor, CorridorAdapter
from sdp.loop import Settings, run_episode
from statefactory.benchmark.schema import Reward, Row, StepRecord
from statefactory.extraction import Trace
from statefactory.routing import Match
from statefactory.state import Attribute, Entity
from statefactory.walkthrough import Walkthrough


@pytest.fixture(autouse=True)
def no_figure_left() -> object:
    yield
    plt.close("all")


def colors(figure: Figure) -> list[str]:
    """Of the marks, in the order in which they were drawn."""
    marks = (patch for patch in figure.axes[0].patches if isinstance(patch, Circle))
    return [matplotlib.colors.to_hex(mark.get_facecolor()) for mark in marks]


def outside(figure: Figure) -> list[str]:
    """Texts that leave the figure, or the box that their left middle stands in."""
    figure.canvas.draw()
    page, found = figure.bbox, []
    boxes = [patch.get_window_extent() for patch in figure.axes[0].patches if isinstance(patch, FancyBboxPatch)]
    for text in figure.axes[0].findobj(Text):
        if not text.get_text():
            continue
        extent = text.get_window_extent()
        around = [box for box in boxes if box.contains(extent.x0 + 1, (extent.y0 + extent.y1) / 2)]
        inner = min(around, key=lambda box: box.width * box.height, default=page)
        if extent.x0 < 0 or extent.x1 > inner.x1 + 1:
            found.append(text.get_text())
    return found


def test_an_sdp_episode_has_a_row_a_plan_and_a_mark_an_attempt() -> None:
    world = Corridor(6, [1, 0, 0, 0, 2, 1, 1, 1])
    episode = run_episode("corridor", CorridorAdapter(world), Settings(budget=1, retry_while="r<=b"))
    rejected = [attempt.step for attempt in episode.attempts if not attempt.k]
    figure = sdp.plots.draw_idea(episode, "A walk of six rooms", {rejected[0]: "go east"}, {}, "simulated")
    marks = colors(figure)
    assert episode.reached_goal and episode.replans and len(rejected) == 3
    assert marks.count(drawing.RED) == len(rejected) + 1  # and that of the attempt in full
    assert marks.count(drawing.GREEN) == len(episode.attempts) - len(rejected)
    assert not outside(figure)


def test_a_procllm_episode_shows_each_iteration_and_the_tasks_verified_by_then() -> None:
    blocks = domain("blocks")
    episode = play(blocks, blocks.instances(1, seed=0)[0], blocks.network, connect("rules"))
    verified = [number for number, step in enumerate(episode.steps, 1) if step.outcome == "verified"]
    figure = procllm.plots.draw_idea(blocks, episode, verified[1], ODD[0], "measured", " ".join(ODD))
    # Two tasks of the tree, the turn's own verdict, and one for each verification of the strip.
    assert colors(figure).count(drawing.GREEN) == 2 + 1 + len(verified)
    assert not outside(figure)


def test_a_statefactory_trajectory_shows_the_rewards_of_the_steps_that_are_asked_for() -> None:
    goal = Entity("mug", (Attribute("location", "in the sink " * 9),))
    seen = Entity("mug 1", (Attribute("location", "on the shelf"),))
    matches = tuple(
        (Match(goal, entity, 1.0, (), score),) for entity, score in ((None, 0.0), (seen, 0.25), (seen, 1.0))
    )
    steps = tuple(
        StepRecord(action, " ".join(ODD), Reward(shaped, shaped, True))
        for action, shaped in (("look " * 20, 0.0), ("go", 0.5), ("take", 1.0))
    )
    row = Row("a_positive", "alfworld", "a", "positive", "expert", "synthetic", 0, "", "a mug " * 30, steps)
    walked = Walkthrough(row, Trace("object_attribute", (), ()), np.array([0.0, 0.25, 1.0]), matches, ())
    figure = statefactory.plots.draw_idea(walked, [0.0, 0.1], (2, 3), "a note", "measured")
    texts = [text.get_text() for text in figure.axes[0].findobj(Text)]
    assert [text for text in texts if text.startswith("fit ")] == ["fit 0.25", "fit 1.00"]
    assert not outside(figure)


def test_a_text_is_cut_to_its_room_bold_ones_too() -> None:
    canvas = Canvas(4, 2)
    canvas.box(0.5, 0.5, 2, 1, "white", "black")
    canvas.text(0.6, 0.7, "word " * 50, 12, 1.8, 2)
    canvas.text(0.6, 1.2, "Wide Words " * 50, 12, 1.8, fontweight="bold")
    assert sum(text.get_text().endswith("…") for text in canvas.axes.texts) == 2
    assert not outside(canvas.figure)
