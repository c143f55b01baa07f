"""Plots of networks: nothing overlaps or leaves its box, states show, and the same bytes every time."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch
from matplotlib.text import Text

from lab.models.connect import connect
from lab.results import plots
from odd_texts import ODD
from procllm.domains import NAMES, AnswerVerdict, domain
from procllm.loop import play
from procllm.network import TOP, Method, Network
from procllm.plots import State, film, state_at, to_text, tree
from procllm.plots.trees import ACTIVE_FILL, ENTRIES, GAP, JOINT, PRIMITIVE, STRONG, Box, laid_out, spread
from procllm.trajectory import Step, Trajectory

DEEP = {TOP: ("go", "level 2"), "level 2": ("level 3", "go"), "level 3": ("level 4", "go"), "level 4": ODD}
WIDE = {TOP: tuple(f"subtask {n} that says at some length what is to be done in it" for n in range(8))}
SHARED = {TOP: ("one", "two"), "one": ("look",), "two": ("look", "act")}


def network_of(subtasks: Mapping[str, tuple[str, ...]]) -> Network:
    return Network(tuple(Method(f"m-{task}", task, "effect", ("f",), below) for task, below in subtasks.items()))


MADE: dict[str, dict[str, tuple[str, ...]]] = {
    "deep": DEEP,
    "wide": WIDE,
    "shared": SHARED,
    "alone": {TOP: ()},
    "none": {},
}


@pytest.fixture(autouse=True)
def look() -> Iterator[None]:
    plots.style()
    yield
    plt.close("all")


@cache
def played() -> Trajectory:
    blocks = domain("blocks")
    (instance,) = blocks.instances(1, seed=0)
    return play(blocks, instance, blocks.network, connect("rules"))


# Without combining marks: a pile of accents leaves any box.
TEXT = st.text(st.characters(exclude_categories=["Cs", "Mn", "Me"]), max_size=40)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Acyclic ones: a task has none but later tasks below it, any of them below several parents."""
    names = st.one_of(TEXT, st.sampled_from(ODD), st.from_regex(r"[a-z]{1,9}( [a-z_-]{1,14}){0,12}", fullmatch=True))
    tasks = [TOP, *draw(st.lists(names.filter(lambda name: name != TOP), min_size=1, max_size=6, unique=True))]
    below = [draw(st.lists(st.sampled_from(tasks[n:]), unique=True)) if n < len(tasks) else []
             for n in range(1, len(tasks) + 1)]  # fmt: skip
    return network_of(dict(zip(tasks, map(tuple, below), strict=True)))


def overlap(one: Box, other: Box, room: float) -> bool:
    across = min(one.right, other.right) - max(one.left, other.left) > -room
    return across and min(one.top + one.height, other.top + other.height) - max(one.top, other.top) > -room


def faults(figure: Figure) -> list[str]:
    """Texts that leave the page or the box that they stand in, or lie on one another."""
    figure.canvas.draw()
    page = figure.bbox
    texts = [(text.get_text(), text.get_window_extent()) for text in written(figure)]
    boxes = [box.get_window_extent() for box in figure.findobj(FancyBboxPatch)]
    found = [f"{text!r} leaves the page" for text, at in texts
             if not (page.contains(*at.min) and page.contains(*at.max))]  # fmt: skip
    for text, at in texts:
        around = [box for box in boxes if box.overlaps(at)]
        found += [f"{text!r} leaves its box" for box in around if not (box.contains(*at.min) and box.contains(*at.max))]
    pairs = combinations(texts, 2)
    return found + [f"{one!r} on {other!r}" for (one, at), (other, to) in pairs if at.padded(-0.5).overlaps(to)]


def written(figure: Figure) -> list[Text]:
    return [text for axes in figure.axes for text in axes.texts if text.get_text().strip()]


def drawn_boxes(figure: Figure) -> list[FancyBboxPatch]:
    """Of tasks and methods, in the order of the tree; the legend's are left out."""
    return [box for box in figure.findobj(FancyBboxPatch) if box.get_width() > 0.4]


@pytest.mark.slow
@settings(max_examples=40)
@given(networks())
@example(network_of(DEEP))
@example(network_of(WIDE))
def test_boxes_keep_apart_and_each_task_lies_beyond_its_parent(network: Network) -> None:
    layout = laid_out(network)
    boxes = [box for node in layout.nodes for box in (node.box, node.oval) if box]
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair, min(GAP, JOINT) - 1e-6)]
    for node in layout.nodes:
        if node.parent is not None:
            oval = layout.nodes[node.parent].oval
            assert oval and node.box.left >= oval.right + JOINT / 2
    assert all(box.left >= 0 and box.right <= layout.width + 1e-6 for box in boxes)
    assert all(box.top >= -1e-6 and box.top + box.height <= layout.height + 1e-6 for box in boxes)


@pytest.mark.slow
@settings(max_examples=40)
@given(networks())
@example(network_of(SHARED))
def test_every_task_is_laid_out_as_often_as_the_tree_lists_it(network: Network) -> None:
    layout = laid_out(network)
    assert [node.name for node in layout.nodes] == [name for _, name in network.tree()]
    for number, node in enumerate(layout.nodes):
        method = network.find_first_relevant(node.name)
        below = [child for child in layout.nodes if child.parent == number]
        assert tuple(child.name for child in below) == (method.subtasks if method else ())
        assert bool(node.oval) == bool(below)
        assert below == sorted(below, key=lambda child: child.box.top)


@pytest.mark.parametrize("name", NAMES)
def test_the_networks_of_the_domains_are_legible(name: str) -> None:
    network = domain(name).network
    tasks = [task for _, task in network.tree()]
    figure = tree(network, tasks[2:], tasks[1], title=f"Human-TN of {name}")
    assert not faults(figure)
    assert not [text for text in figure.findobj(Text) if "…" in text.get_text()]
    assert len(drawn_boxes(figure)) == len(tasks) + sum(bool(node.oval) for node in laid_out(network).nodes)


@pytest.mark.slow
@pytest.mark.parametrize("made", MADE)
def test_deep_wide_and_odd_networks_are_legible(made: str) -> None:
    network = network_of(MADE[made])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as for a glyph that the font lacks
        assert not faults(tree(network, ODD[:3], ODD[4], title="$odd_title$ \x00 " + "long " * 60))


@pytest.mark.slow
@settings(max_examples=10)
@given(networks(), TEXT)
def test_no_name_stops_a_plot(network: Network, title: str) -> None:
    names = [name for _, name in network.tree()]
    assert not faults(tree(network, names[::2], names[-1], title=title))
    plt.close("all")


def test_kinds_and_states_are_told_apart_without_color() -> None:
    figure = tree(network_of(SHARED), verified=("look",), active="act")
    process, method, one, _, look, two, _, again, act = drawn_boxes(figure)
    assert [box.get_linestyle() for box in (process, one, two, act)] == ["solid", "solid", "solid", "solid"]
    assert look.get_linestyle() != "solid"
    assert again.get_linestyle() == look.get_linestyle()  # below each of its parents
    assert act.get_linewidth() > 2 * one.get_linewidth()
    grey, orange = matplotlib.colors.to_rgba(PRIMITIVE), matplotlib.colors.to_rgba(ACTIVE_FILL)
    assert (look.get_facecolor(), act.get_facecolor()) == (grey, orange)
    assert process.get_facecolor() == (1, 1, 1, 1) != method.get_facecolor()
    badges = [circle for circle in figure.findobj(Circle) if circle.center[1] < look.get_y() + act.get_y()]
    assert len(figure.findobj(Circle)) == 3 + 2  # those of the legend too
    assert len(badges) >= 3


def test_strong_lines_lead_from_the_top_to_the_task_worked_on() -> None:
    for active, strong in (("act", 4), ("two", 2), (TOP, 0), ("look", 7), ("unknown", 0)):
        (axes,) = tree(network_of(SHARED), active=active).axes
        assert [line.get_color() for line in axes.lines].count(STRONG) == strong


def test_the_legend_says_every_word_once() -> None:
    texts = Counter(text.get_text() for text in tree(network_of(SHARED)).findobj(Text))
    assert all(texts[word] == (word != "verified just now") for word in ENTRIES)


def test_the_state_follows_the_steps() -> None:
    trajectory = played()
    count = len(trajectory.steps)
    assert state_at(trajectory, 0) == State((), "")
    assert state_at(trajectory, count) == State(trajectory.verified, TOP)
    for iteration in range(1, count + 1):
        state, step = state_at(trajectory, iteration), trajectory.steps[iteration - 1]
        assert state.active == step.task
        assert (step.task in state.verified) == (step.outcome == "verified")
        assert state.verified == trajectory.verified[: len(state.verified)]
    for iteration in (-1, count + 1):
        with pytest.raises(ValueError, match=f"no iteration {iteration}; it has 1 to {count}"):
            state_at(trajectory, iteration)


@given(st.integers(1, 200), st.integers(1, 12))
def test_moments_are_spread_from_the_first_to_the_last(count: int, moments: int) -> None:
    iterations = spread(count, moments)
    assert len(iterations) == min(count, moments)
    assert iterations[-1] == count
    assert iterations[0] == 1 or moments == 1
    gaps = [later - sooner for sooner, later in zip(iterations, iterations[1:], strict=False)]
    assert not gaps or max(gaps) - min(gaps) <= 1


def test_a_film_shows_its_moments() -> None:
    trajectory, network = played(), domain("blocks").network
    figure = film(network, trajectory)
    titles = [text.get_text() for text in figure.findobj(Text) if text.get_text().startswith("iteration ")]
    count = len(trajectory.steps)
    assert titles == [f"iteration {n} of {count}: {trajectory.steps[n - 1].task}" for n in spread(count, 4)]
    assert len(drawn_boxes(figure)) == 4 * len(drawn_boxes(tree(network)))
    assert not faults(figure)
    assert any(text.get_text() == "verified just now" for text in figure.findobj(Text))


def test_a_film_shows_the_moments_asked_for_and_refuses_others() -> None:
    trajectory, network = played(), domain("blocks").network
    titles = {text.get_text().split(" of ")[0] for text in film(network, trajectory, [0, 3]).findobj(Text)}
    assert {"iteration 0", "iteration 3"} <= titles
    for moments, message in ((0, "No moment"), ([], "No moment"), ([99], "no iteration 99")):
        with pytest.raises(ValueError, match=message):
            film(network, trajectory, moments)


def test_odd_commands_and_episodes_without_a_step_are_filmed() -> None:
    steps = (Step(TOP, "", "malformed"), Step("unknown $task_", "Write $a_b$\n" + "x" * 400, "refused"))
    for taken in (steps, ()):
        trajectory = Trajectory("made-1", taken, "horizon", (), "", "", AnswerVerdict({}, ""))
        assert not faults(film(network_of(DEEP), trajectory))


def test_the_text_marks_each_task_on_a_line_of_its_own() -> None:
    assert to_text(network_of(SHARED), verified=("one", "look"), active="act").splitlines() == [
        f"[ ] {TOP}",
        "    [x] one",
        "        [x] look",
        "    [ ] two",
        "        [x] look",
        "        [>] act",
    ]


@settings(max_examples=40)
@given(networks())
def test_the_text_has_a_harmless_line_for_each_task(network: Network) -> None:
    lines = to_text(network).split("\n")
    assert len(lines) == 1 + len(list(network.tree()))
    assert all(line.isprintable() for line in lines)


@pytest.mark.slow
def test_the_same_plot_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []
    for folder in ("first", "second"):
        monkeypatch.setenv("LAB_FIGURES", str(tmp_path / folder))
        figure = film(domain("blocks").network, played(), 2)
        files.append([path.read_bytes() for path in plots.save(figure, "film")])
    assert files[0] == files[1]
