"""Panels: buttons say what they cost and tell errors in words; each setting is a run beside the full loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import nbformat
import pytest

from lab.explore import ablation
from lab.explore.ablation import Ablation, difference, watched
from lab.explore.controls import Action, Group, Panel, misjudging
from lab.models.backbone import Ledger
from lab.models.engines import BadEngine
from lab.models.judges import Errors
from lab.notebooks.normalise import WIDGET, normalise
from lab.results.outcomes import Judgement
from lab.runs import playable, runs
from lab.runs.experiment import BadSetting
from lab.runs.playable import OnStep, Playable
from lab.runs.run import Episode
from lab.viewer.steps import Step
from lab.viewer.timeline import Timeline
from lab.viewer.transcripts import Transcript


@dataclass(frozen=True)
class Knobs:
    """A bit of each."""

    check: bool = True
    budget: int = 3
    order: Literal["first", "last"] = "first"
    name: str = "a"
    share: float = 0.5
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.budget < 0:
            raise ValueError("budget: at least 0")


def test_a_control_for_each_field_gives_the_dataclass_back() -> None:
    group = Group("knobs", Knobs(budget=5))
    assert list(group.controls) == ["check", "budget", "order", "name", "share"]
    assert group.read() == Knobs(budget=5)
    for name, value in {"check": False, "order": "last", "share": 0.25}.items():
        group.controls[name].value = value
    assert group.read() == Knobs(check=False, budget=5, order="last", share=0.25)
    group.controls["budget"].value = -1
    with pytest.raises(ValueError, match="at least 0"):
        group.read()


def test_a_press_that_fails_is_told_in_words_and_the_button_works_again() -> None:
    faults: list[BaseException] = [ValueError("no <b>such</b> network"), KeyError("odd"), KeyboardInterrupt()]
    prices: list[str | Exception] = ["3 calls"] * 9

    def price() -> str:
        if isinstance(told := prices.pop(0), Exception):
            raise told
        return told

    action = Action("Play", lambda: (_ for _ in ()).throw(faults.pop(0)), price)
    assert action.button.description == "Play (3 calls)" and not action.said.value
    for said in ("✗ no &lt;b&gt;such&lt;/b&gt; network", "KeyError: &#x27;odd&#x27;", "Stopped"):
        action.press()
        assert said in action.said.value and not action.button.disabled, "Ctrl-C stops the work and not the kernel"
    prices[:] = [BadEngine("no engine"), "free"]
    action.refresh()
    assert action.button.disabled and "no engine" in action.said.value
    action.refresh()
    assert not action.button.disabled and not action.said.value


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ("rules@0.8", "rules@0.8?certify=0.2&reject=0"),
        ("rules?seed=3", "rules?seed=3&certify=0.2&reject=0"),
        ("rules, Realize: gpt-4o", "rules?certify=0.2&reject=0, Realize: gpt-4o"),
    ],
)
def test_the_two_rates_of_validate_become_part_of_the_engine(engine: str, told: str) -> None:
    assert misjudging(engine, Errors(0.2, 0.0)) == told
    assert misjudging(engine, Errors(0.0, 0.0)) == engine


@pytest.mark.parametrize("engine", ["gpt-4o", "rules?judge=GPT-5.2", "rules?certify=1&reject=0"])
def test_rates_beside_a_model_or_other_rates_are_refused(engine: str) -> None:
    with pytest.raises(ValueError, match="set both rates of Validate to 0"):
        misjudging(engine, Errors(0.2, 0.1))


class Stilled(Panel):
    """A panel with a still."""

    def page(self) -> str:
        return "<p>as it stood</p>"


def test_without_a_kernel_a_panel_is_its_still() -> None:
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(Stilled())
    assert WIDGET in data and data["text/html"] == "<p>as it stood</p>"
    outputs = [nbformat.v4.new_output("display_data", found) for found in (data, {**data, "text/html": ""})]
    del outputs[1].data["text/html"]  # a bar of progress: the text names the widget alone
    cell = nbformat.v4.new_code_cell("panel", outputs=outputs)
    (kept,) = normalise(nbformat.v4.new_notebook(cells=[cell])).cells[0].outputs
    assert kept.data["text/html"] == "<p>as it stood</p>" and WIDGET not in kept.data


# --- ablations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Care:
    """What can be switched."""

    look: bool = True
    tries: int = 2


@dataclass(frozen=True, kw_only=True)
class Crossing(Playable):
    """Roads to cross: who does not look comes over the first one only."""

    care: Care = Care()

    method: ClassVar[str] = "crossing"
    packages: ClassVar[tuple[str, ...]] = ("lab",)
    metric: ClassVar[str] = "crossed"

    def tasks(self) -> list[str]:
        return [f"road {number}" for number in range(self.limit or 8)]

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        return {"crossed": self.care.look or task == "road 0"}

    def judged(self, episode: Episode) -> Judgement:
        return Judgement(float(episode.result["crossed"]), "" if episode.result["crossed"] else "did not look")

    def watch(self, task: str, transcript: Transcript, seen: OnStep) -> Timeline:
        steps = (Step(title="look", verdict=self.care.look), Step(title="walk", verdict=True))
        for number in range(len(steps)):
            seen(Timeline(title=task, steps=steps[:number]))
        return Timeline(title=task, steps=steps)


@pytest.fixture
def panel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ablation]:
    """The panel of an agent and a benchmark that only a notebook registered."""
    monkeypatch.setattr(playable.PLAYABLE, "own", {})
    playable.register("Walker", "Roads", Crossing)
    yield Ablation("rules", limit=6, agent="Walker", benchmark="Roads")


def test_what_is_registered_is_there_with_a_control_for_each_mechanism(panel: Ablation) -> None:
    assert ("Walker on Roads", ("Walker", "Roads")) in panel.what.options
    assert list(panel.groups["care"].controls) == ["look", "tries"]
    assert panel.task.options == tuple(f"road {number}" for number in range(8))
    assert panel.setup() == Crossing(engine="rules", limit=6, data="synthetic")
    with pytest.raises(BadSetting, match="There is no .*Walker.Moon.*There are: .*Walker.Roads"):
        playable.named("Walker", "Moon")
    with pytest.raises(ValueError, match="no task 'road 9'; did you mean 'road .'\\? it has road 0 to road 7"):
        Ablation("rules", task="road 9", agent="Walker", benchmark="Roads")
    with pytest.raises(ValueError, match="no mechanism has 'luck'; there are: look, tries"):
        Ablation("rules", changed={"luck": 1}, agent="Walker", benchmark="Roads")


class Flooded(Crossing):
    """Whose roads are not to be had."""

    def tasks(self) -> list[str]:
        raise OSError("the roads are under water")


def test_a_benchmark_that_cannot_be_read_is_told_and_the_one_before_stays_as_it_was_set(panel: Ablation) -> None:
    playable.register("Walker", "Rivers", Flooded)
    panel.what.options = [*panel.what.options, ("Walker on Rivers", ("Walker", "Rivers"))]
    panel.what.value = "Walker", "Roads"
    panel.groups["care"].controls["tries"].value = 7
    panel.what.value = "Walker", "Rivers"
    assert "under water" in panel.play.said.value and panel.what.value == ("Walker", "Roads")
    assert panel.setup() == Crossing(engine="rules", limit=6, data="synthetic", care=Care(tries=7))


def test_an_episode_is_shown_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablation, "PAUSE", 0.0)
    lengths: list[int] = []
    played = watched(Crossing(), "road 3", lambda timeline: lengths.append(len(timeline.steps)))
    assert lengths == [0, 1, 2] and [step.verdict for step in played.steps] == [True, True]


def test_a_batch_stands_beside_the_full_loop_and_both_are_runs(panel: Ablation) -> None:
    panel.groups["care"].controls["look"].value = False
    assert panel.batch.button.description == "Play the batch beside the full loop (12 episodes, free)"
    panel.batch.press()
    assert not panel.batch.said.value and panel.compared
    assert panel.compared.parts[0].result.difference.value == pytest.approx(-5 / 6)
    assert "care.look: first false, second true" in panel.summary.value
    assert len(runs()) == 2 and " --beside " in panel.summary.value
    assert panel.batch.button.description.endswith("(all kept, free)")
    assert "second: the full loop" in panel.page()
    assert difference(panel.compared) in panel.page() and panel.compared.first.folder.name[-6:] not in panel.page()
    assert "Of 6 tasks the first scores higher on 0, the second on 5" in panel.page()
    assert (
        "road 1" in panel.comparison.flipped.value and "(observation); did not look" in panel.comparison.flipped.value
    )
    assert panel.comparison.task.options == tuple(f"road {number}" for number in range(1, 6))
    assert panel.comparison.both and panel.comparison.both.left.title == "road 1"
    panel.comparison.task.value = "road 3"
    assert panel.comparison.both.left.title == "road 3" and "road 3" in panel.comparison.episodes.value
    text = "Walker on Roads, look = false: -83.3 [-100.0, -50.0], n = 6, points of crossed less the full loop"
    figure = panel.comparison.figure()
    assert figure.get_suptitle() == "look = false: -83.3 [-100.0, -50.0], n = 6"
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["look = false"]
    assert panel.answer() == f"{text} (rules (no model): rules, synthetic data)"
    panel.groups["care"].controls["look"].value = True
    assert panel.batch.outdated and not panel.play.outdated, "no episode was played yet"
    assert (panel._repr_html_() or "").count(
        "<b>Outdated:</b>"
    ) == 1 and "lab-outdated" in panel.comparison._dom_classes
    panel.groups["care"].controls["tries"].value = -1
    panel.groups["care"].controls["look"].value, panel.groups["care"].controls["tries"].value = False, 2
    assert not panel.batch.outdated and "lab-outdated" not in panel.comparison._dom_classes, "it is as it was played"
    panel.groups["care"].controls["look"].value = True
    panel.batch.press()
    assert not panel.batch.outdated and "no setting differs" in panel.summary.value and len(runs()) == 2


def test_what_no_run_can_have_is_told_and_nothing_is_played(panel: Ablation) -> None:
    panel.engine.value = "rulez"
    assert panel.play.button.disabled and panel.batch.button.disabled and "did you mean" in panel.batch.said.value
    panel.engine.value = "some-model"
    assert "OPENAI_BASE_URL" in panel.play.said.value
    panel.engine.value = "rules"
    panel.certify.value = 0.5
    assert panel.setup().engine == "rules?certify=0.5&reject=0"
    assert not panel.play.button.disabled and not panel.play.said.value


def test_on_travelplanner_each_operator_that_asks_has_an_engine() -> None:
    panel = Ablation("rules@0.8", limit=2, changed={"validate": False, "undo": 3})
    assert list(panel.others) == ["realize"]
    panel.groups["policy"].controls["cities"].value = "propose"
    assert list(panel.others) == ["propose", "realize"]
    panel.others["propose"].value = "rules@0.5"
    assert panel.setup().engines == {"propose": "rules@0.5"}
    panel.others["propose"].value = ""
    panel.groups["policy"].controls["cities"].value = "reference"
    assert panel.full().settings.validate and panel.full().policy.undo == 3  # type: ignore[attr-defined]
    panel.groups["settings"].controls["budget"].value = -1
    assert panel.play.button.disabled and "budget &gt;= 0" in panel.play.said.value
    panel.groups["settings"].controls["budget"].value = 0
    panel.play.press()
    assert not panel.play.outdated
    panel.task.value = panel.task.options[1]
    assert panel.play.outdated and not panel.batch.outdated
    panel.task.value = panel.task.options[0]
    panel.engine.value = "rulez"
    assert panel.play.outdated, "settings that cannot be played are other settings"
    assert panel.timeline and "not checked: Validate is switched off" in panel.episode.value
