"""Buttons say what they cost, and tell errors in words; a panel has a still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import nbformat
import pytest

from lab.explore.controls import Action, Group, Panel, misjudging
from lab.models.engines import BadEngine
from lab.models.judges import Errors
from lab.notebooks.normalise import WIDGET, normalise


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
