"""Pictures: nothing overlaps, the same bytes every time, and bars that have the values of their table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from lab.results import plots, tables
from plain_routing import HashedEmbedder
from statefactory.benchmark.schema import Reward, Row, StepRecord
from statefactory.experiments import scores
from statefactory.extraction import Trace
from statefactory.planning.mcts import Node, best_line, in_order
from statefactory.plots import (
    draw_ablations,
    draw_learning,
    draw_table1,
    draw_tree,
    draw_walkthrough,
    results,
)
from statefactory.plots.policy import draw_policy
from statefactory.state import entity
from statefactory.walkthrough import Walkthrough, walk

TITLE = "Cabinet Organizer, Easy Assemble, Solid Wood, $41.0 to $53.25, for a very small and narrow kitchen shelf"
DOMAINS = ("alfworld", "scienceworld", "webshop", "blocksworld", "textworld")


@pytest.fixture(autouse=True)
def look() -> Iterator[None]:
    plots.style()
    yield
    plt.close("all")


def walked(steps: int, objects: int, name: str = "brass lamp") -> Walkthrough:
    """A trajectory along which one object of the goal after another is found and brought to its place."""
    records = tuple(
        StepRecord(f"unstack the {name[:30]} {n} from on top of the red block", "…", Reward(n, n / steps, True))
        for n in range(1, steps + 1)
    )
    row = Row("1_positive", "d", "1", "positive", "plan", "synthetic", 0, "", f"Bring each {name}. " * 12, records)
    found = [min(objects, step * objects // max(1, steps - 1)) for step in range(steps)]
    others = tuple(entity(f"box {n}", {"location": f"shelf {n}", "lid": "shut"}) for n in range(7))
    states = tuple(tuple(entity(f"{name} {n}", {"location": "on the table", "price": TITLE}) for n in range(count))
                   + others for count in found)  # fmt: skip
    goals = tuple(tuple(entity(f"{name} {n}" if n < count else f"a {name} of kind {n}", {"location": "on the table"})
                        for n in range(objects)) for count in found)  # fmt: skip
    return walk(row, Trace("object_attribute", states, goals), HashedEmbedder())


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Level texts that lie on one another, or leave the figure."""
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    texts = [text for text in texts if text not in out_of_view(figure)]
    level = [(text.get_text(), text.get_window_extent()) for text in texts if not text.get_rotation()]
    page = figure.bbox.padded(1)
    outside = [(one, "the margin") for one, box in level if not (page.contains(*box.min) and page.contains(*box.max))]
    pairs = [(one, other) for place, (one, box) in enumerate(level) for other, more in level[:place]
             if box.width and more.width and box.padded(-1.5).overlaps(more.padded(-1.5))]  # fmt: skip
    return outside + pairs


def out_of_view(figure: Figure) -> list[Text]:
    """Labels of ticks beyond the limits of their axis, which matplotlib keeps and does not draw."""
    axes = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    return [tick.label1 for axis in axes for tick in axis.get_major_ticks()
            if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "objects", "name"), [(9, 1, "mug"), (19, 4, "red block"), (7, 2, TITLE), (60, 8, "egg"), (1, 1, "mug")]
)
def test_no_text_of_a_walkthrough_overlaps(steps: int, objects: int, name: str) -> None:
    told = walked(steps, objects, name)
    assert not overlapping(draw_walkthrough(told, negative=np.full(steps, 0.99), note="measured · rules"))


def test_a_walkthrough_shows_the_step_that_was_asked_for() -> None:
    told = walked(9, 2)
    texts = [text.get_text() for text in draw_walkthrough(told, step=4).findobj(Text)]
    assert any(text.startswith("Step 4, ") and text.endswith(f"reward {told.rewards[3]:.2f}") for text in texts)
    with pytest.raises(ValueError, match="steps 1 to 9"):
        draw_walkthrough(told, step=10)


@pytest.mark.slow
def test_a_walkthrough_without_goal_or_state_is_drawn() -> None:
    row = walked(3, 1).row
    for states, goals in ((((),) * 3, ((),) * 3), (((),) * 3, ((entity("mug", {}),),) * 3)):
        draw_walkthrough(walk(row, Trace("object_attribute", states, goals), HashedEmbedder())).canvas.draw()


def test_whole_texts_and_strange_characters_are_drawn() -> None:
    texts = (("you see $x_1$ and\x07 $\\frac$",), ("",), ("the end",))
    told = walk(walked(3, 1).row, Trace("raw", texts, (("find {x} % $",),) * 3), HashedEmbedder())
    draw_walkthrough(told, negative=[0.1]).canvas.draw()


@pytest.mark.slow
def test_the_same_walkthrough_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []
    for folder in ("first", "second"):
        monkeypatch.setenv("LAB_FIGURES", str(tmp_path / folder))
        files.append([path.read_bytes() for path in plots.save(draw_walkthrough(walked(8, 2)), "walk")])
    assert files[0] == files[1]


def measured(method: str, backbone: str, mean: float, n: int = 30, evidence: str = "measured") -> list[tables.Row]:
    drawn = np.random.default_rng(3)
    return scores.rows(method, backbone, {name: drawn.normal(mean, 0.05, n) for name in DOMAINS}, evidence=evidence)


def beside(name: str, rows: Sequence[tables.Row]) -> pd.DataFrame:
    return pd.concat([tables.published(name, "statefactory"), tables.table(rows)], ignore_index=True)


@pytest.fixture
def table1() -> pd.DataFrame:
    rows = [*measured("Monotonic", "none", 0.54), *measured("StateFactory, rule-extracted", "rules", 0.28)]
    return beside("Table 1", [*rows, *measured("LLM-as-a-Judge, stateful", "local:tiny", 0.5, 2)])


def heights(figure: Figure) -> list[list[float]]:
    """The lengths of the bars in each axes."""
    return [[round(bar.get_width(), 3) for bar in axes.patches] for axes in figure.axes]


def test_table1_has_every_zero_shot_number(table1: pd.DataFrame) -> None:
    figure = draw_table1(table1)
    for axes, metric in zip(heights(figure), scores.metrics(), strict=True):
        zero_shot = table1[(table1["metric"] == metric) & ~table1["method"].str.startswith(("Supervised", "VLWM"))]
        assert sorted(axes) == pytest.approx(sorted(zero_shot["value"].round(3)))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[:3] == ["Monotonic", "Monotonic", "LLM-as-a-Judge, first row"]
    assert labels[-1] == "Supervised, published"
    assert "measured" in figure.get_supxlabel()


def test_published_bars_are_lighter_and_measured_ones_have_whiskers(table1: pd.DataFrame) -> None:
    axes = draw_table1(table1).axes[0]
    light, full = (np.array(bar.get_facecolor())[:3] for bar in axes.patches[:2])  # Monotonic: without a model
    assert 1 - light == pytest.approx(results.LIGHTER * (1 - full))
    assert len(axes.containers) - len(axes.patches) == 3


@pytest.mark.slow
def test_a_backbone_has_one_color_in_all_figures(table1: pd.DataFrame) -> None:
    names = list(dict.fromkeys(tables.published("Table 13", "statefactory")["method"]))
    rows = measured(names[0], "rules@0.8", 0.3, evidence="simulated")
    other = {"representation": beside("Table 13", [*rows, *measured(names[1], "local:tiny", 0.3)])}
    figures = [draw_table1(table1), draw_ablations(other), draw_ablations(panels())]
    drawn = {bar.get_facecolor()[:3] for figure in figures for axes in figure.axes for bar in axes.patches}
    own = ["no model", "rules", "rules@0.8", "local:tiny"]
    assert {results._color(name) for name in own} <= drawn
    published = [*tables.published("Table 16", "statefactory")["backbone"], "gpt-oss-20b", "no model"]
    assert drawn == {results._color(name) for name in own} | {results._color(name, "published") for name in published}
    assert results._color("gpt-oss-20b (Low)") == results._color("gpt-oss-20b")


def test_two_values_for_one_bar_are_refused() -> None:
    twice = tables.table([*measured("A", "rules", 0.3), *measured("A", "rules", 0.4)])
    with pytest.raises(ValueError, match="two values of EPIC distance, Overall for A, measured · rules"):
        draw_ablations({"representation": twice})


def panels() -> dict[str, pd.DataFrame]:
    raw, *_, ours = dict.fromkeys(tables.published("Table 13", "statefactory")["method"])
    rows = [*measured(raw, "rules", 0.6), *measured(ours, "rules", 0.25)]
    oracle = measured("Offline (Oracle Goal State)", "rules", 0.2, evidence="simulated")
    return {
        "representation": beside("Table 13", rows),
        "goal": beside("Table 14", oracle),
        "backbone": beside("Table 16", measured("StateFactory", "rules", 0.3)),
        "embedding": tables.published("Table 15", "statefactory"),
        "triplets": tables.published("Table 15", "statefactory"),
    }


def test_the_best_is_hatched_red_and_the_worst_blue_of_one_evidence_and_backbone() -> None:
    figure = draw_ablations(panels())
    hatched = [[bar for bar in axes.patches if "/" in (bar.get_hatch() or "")] for axes in figure.axes[:5]]
    marked = [[(round(bar.get_width(), 2), bar.get_edgecolor()[0] > 0.5) for bar in bars] for bars in hatched]
    published = [(0.57, False), (0.3, True)]
    assert [bar for bar in marked[0] if bar in published] == published and len(marked[0]) == 4
    assert marked[2] == [], "each bar is of another backbone"
    assert marked[1] == [(0.28, True), (0.3, False)]
    assert marked[4] == [(0.83, True), (0.67, False)]


@pytest.mark.slow
def test_ablations_say_how_their_numbers_came_to_be() -> None:
    figure = draw_ablations(panels())
    said = figure.get_supxlabel().replace("\N{NO-BREAK SPACE}", " ")
    assert "published · gpt-oss-20b" in said and "simulated · rules · n = 150" in said
    assert not overlapping(figure)


@pytest.mark.slow
def test_a_learning_curve_has_the_points_and_their_running_mean() -> None:
    points = [(step, 1 / step, 1 - 1 / step) for step in range(1, 31)]
    alone, several = draw_learning({"one": points}), draw_learning({"one": points, "two": points[:3]})
    smooth, raw = alone.axes[0].get_lines()
    assert np.allclose(raw.get_ydata(), [loss for _, loss, _ in points])
    assert smooth.get_ydata()[-1] == pytest.approx(np.mean([loss for _, loss, _ in points[-6:]]))
    assert [len(axes.get_lines()) for axes in several.axes] == [2, 2]
    assert [text.get_text() for text in several.axes[1].get_legend().get_texts()] == ["one", "two"]


def grown(count: int, seed: int) -> Node:
    """A tree of so many nodes that grew by visits of random leaves."""
    random, root = Random(seed), Node("", "", 0.1, visits=1)
    while len(found := [node for node, _ in in_order(root)]) < count:
        way = [root]
        while way[-1].children:
            way.append(random.choice(way[-1].children))
        many = min(random.randint(1, 9), count - len(found))
        name = random.choice(["go to desk 1", TITLE, "$x$ \x07"])
        way[-1].children = [Node(f"{n} {name}", "seen", random.random(), reward=random.uniform(-0.1, 0.3))
                            for n in range(many)]  # fmt: skip
        for node in way:
            node.visits, node.total = node.visits + 1, node.total + random.random()
    return root


@pytest.mark.slow
@pytest.mark.parametrize(("count", "seed"), [(1, 0), (2, 0), (12, 1), (50, 2), (50, 3), (400, 4)])
def test_no_text_of_a_search_tree_overlaps_and_the_chosen_line_is_drawn(count: int, seed: int) -> None:
    root = grown(count, seed)
    figure = draw_tree(root, "Look at the disc", "simulated · rules")
    assert not overlapping(figure)
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert all(any(text.startswith(node.action[:3]) for text in texts) for node in best_line(root))
    shown = sum(" · " in text and text[0].isdigit() for text in texts)
    assert shown <= 50 + len(list(best_line(root)))
    left_out = sum(int(text.split()[1]) for text in texts if text.startswith("and ") and " more" in text)
    assert shown + left_out == count or count > 50  # of the large one, children of what is left out are not told


def test_reward_and_success_have_a_color_for_each_predictor_and_no_interval_of_a_single_task() -> None:
    points = pd.DataFrame({
        "world": "AlfWorld", "when": "at the end", "method": [f"predictor {n}" for n in range(14)], "kind": "predictor",
        "distance": np.linspace(0.1, 0.8, 14), "distance_low": 0.1, "distance_high": 0.8, "success": 50.0,
        "ci_low": 40.0, "ci_high": 60.0, "n": 1, "evidence": "simulated", "backbone": "oracle",
    })  # fmt: skip
    rank = {"world": "AlfWorld", "when": "at the end", "among": "predictors", "rho": -0.5, "p": 0.2, "n": 14}
    titles = []
    for low in (-0.9, float("nan")):
        figure = draw_policy(points, pd.DataFrame([rank | {"ci_low": low, "ci_high": low + 1}]), {})
        titles.append(figure.axes[0].get_title().split("\n")[1])
    assert titles == ["ρ = -0.50 [-0.90, 0.10], p = 0.20, n = 14", "ρ = -0.50, p = 0.20, n = 14"]
    assert len({tuple(bars.lines[0].get_color()) for bars in figure.axes[0].containers}) == 14
