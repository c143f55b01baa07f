"""Controls by hand: a widget for each field of a dataclass, and boxes for engines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from importlib.util import find_spec
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from ipywidgets import HTML, Checkbox, Combobox, Dropdown, FloatText, IntText, Layout, Text, VBox, Widget

from lab.explore.panel import escaped
from lab.models import engines
from lab.models.judges import Errors

T = TypeVar("T")
WIDE, WIDER = Layout(width="21em"), Layout(width="32em")
STYLE = {"description_width": "9em"}
OFFERED = ("rules", "rules@0.8")


class Group(Generic[T]):
    """The controls of a dataclass: switches, numbers, choices and texts; a field of another type has none."""

    def __init__(self, title: str, settings: T) -> None:
        """settings: where the controls stand at first; the text of its class explains them, a click away."""
        self._settings = settings
        hints = get_type_hints(type(settings))
        names = [field.name for field in fields(settings)]  # type: ignore[arg-type]  # any dataclass
        made = ((name, control(name, hints[name], getattr(settings, name))) for name in names)
        self.controls = {name: widget for name, widget in made if widget is not None}
        text = f"<small>{escaped(inspect.getdoc(type(settings)) or '')}</small>"
        heading = HTML(f"<details><summary><b>{escaped(title)}</b></summary>{text}</details>", layout=WIDE)
        self.widget = VBox([heading, *self.controls.values()])

    def read(self) -> T:
        """The dataclass as the controls stand. Raises what its own checks raise."""
        return replace(self._settings, **{name: widget.value for name, widget in self.controls.items()})  # type: ignore[type-var]


def control(name: str, kind: Any, value: Any) -> Widget | None:
    """The widget for a value of a type; None for a type that has none."""
    looks = {"description": name.replace("_", " "), "style": STYLE, "layout": WIDE}
    if kind is bool:
        return Checkbox(value, **looks)
    if get_origin(kind) is Literal:
        return Dropdown(options=get_args(kind), value=value, **looks)
    plain = {int: IntText, float: FloatText, str: Text}.get(kind)
    return plain(value=value, continuous_update=False, **looks) if plain else None


def engine_box(title: str, value: str, recorded: Iterable[str] = (), hint: str = "") -> Combobox:
    """A box for an engine: any text, with some that work here offered. recorded: names of recordings."""
    return Combobox(value=value, options=offered(recorded), description=title, placeholder=hint,
                    continuous_update=False, style=STYLE, layout=WIDER)  # fmt: skip


def offered(recorded: Iterable[str] = ()) -> list[str]:
    """Engines that need no server here."""
    local = ["local"] if find_spec("xllamacpp") else []
    return [*OFFERED, *local, *(f"replay:{name}" for name in recorded)]


def misjudging(engine: str, errors: Errors) -> str:
    """The engine with these two error rates of Validate; as it is where both are 0.

    Raises ValueError for an engine that is not rules, since the rates stand in for a model's, or that has rates.
    """
    if not any(errors):
        return engine
    whole, others = engines.split(engine)
    known = engines.parse(whole)
    if known.kind != "rules" or known.errors:
        why = "has rates of its own" if known.errors else "is a model, which errs by itself"
        raise ValueError(f"{whole} {why}: set both rates of Validate to 0, or let rules answer")
    rates = f"certify={errors.certify:g}&reject={errors.reject:g}"
    return engines.joined(f"{whole}{'&' if '?' in whole else '?'}{rates}", others)


def on_change(widgets: Iterable[Widget], do: Callable[[], object]) -> None:
    """Call this after each change of a value."""
    for widget in widgets:
        widget.observe(lambda _: do(), "value")
