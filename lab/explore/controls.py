"""Panels of `4_explore/`: static views for use without a kernel, buttons that state their cost, and controls."""

from __future__ import annotations

import html
import inspect
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from ipywidgets import (
    HTML,
    Button,
    Checkbox,
    Combobox,
    DOMWidget,
    Dropdown,
    FloatText,
    HBox,
    IntText,
    Layout,
    Output,
    Text,
    VBox,
    Widget,
)

from lab.machine.printing import visible
from lab.models import engines
from lab.models.judges import Errors
from lab.results import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure


DPI = 90  # of a figure in a panel
FOR_READERS = (ValueError, RuntimeError, OSError)  # errors whose messages are sentences for users here
FADED = "lab-outdated"
OUTDATED = (
    f"<style>.{FADED} {{{{ opacity: .45; }}}}</style><b>Outdated:</b> the result of “{{}}” was made before a control \
was changed. Press the button again."
)
WRAPPED = Layout(flex_flow="row wrap", align_items="flex-start", grid_gap="4px 20px")


class Panel(VBox):
    """Widgets, with a static view for a committed notebook, a book or a mail: a page, or else a picture.

    A front end displays the richest form that it supports; the notebook's normaliser removes the widget from the
    output. The page begins with the marks of outdated results. alternative: what the picture shows.
    """

    alternative = ""

    def page(self) -> str:
        """The static view as HTML; "" for none."""
        return ""

    def picture(self) -> bytes:
        """The static view as a PNG; b"" for none."""
        return b""

    def _repr_html_(self) -> str | None:
        marks = [action.mark.value for action in actions(self)]
        return "".join([*marks, self.page()]) if self.page() else None

    def _repr_png_(self) -> tuple[bytes, dict[str, str]] | None:
        return (self.picture(), {"alt": self.alternative}) if self.picture() else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}: run this cell for its controls"


class Action(VBox):
    """A button that states the cost of a press, is disabled while it works, and displays errors as text.

    work: what a press does. cost: gives the cost of a press as text; `refresh` calls it again. If it raises, the
    error is displayed next to the button, which stays disabled.
    settings: returns the current settings that a result depends on. While they differ from the settings at the last
    call of `made`, the result is marked as outdated. results: widgets to fade while outdated.
    """

    def __init__(
        self, label: str, work: Callable[[], object], cost: Callable[[], str],
        settings: Callable[[], object] = lambda: None, results: Sequence[DOMWidget] = (),
    ) -> None:  # fmt: skip
        self.button = Button(button_style="primary", layout=Layout(width="auto"))
        self.said, self.mark, self.output = HTML(), HTML(), Output()
        super().__init__([HBox([self.button, self.said], layout=WRAPPED), self.mark, self.output])
        self._label, self._work, self._cost, self._settings, self._results = label, work, cost, settings, results
        self._made_with: list[object] = []
        self.button.on_click(self._clicked)
        self.refresh()

    @property
    def outdated(self) -> bool:
        """Whether the displayed result was computed with other settings than the current ones."""
        return bool(self.mark.value)

    def made(self) -> None:
        """Note that a result was just computed with the current settings."""
        self._made_with = [self._settings()]
        self._mark_outdated()

    def refresh(self) -> None:
        """Update the stated cost and the outdated mark; call it after each change of a control."""
        self.tell("")
        self._offer()
        self._mark_outdated()

    def press(self) -> None:
        """Do the work. Raises nothing: errors are displayed next to the button."""
        self.button.disabled = True
        self.button.description = f"{self._label}: working …"
        self.tell("")
        message = ""
        try:
            self._work()
        except KeyboardInterrupt:
            message = "Stopped. What was finished is kept; press again to go on."
        except Exception as error:
            message = words(error)
        self._offer()
        if message:
            self.tell(message)

    def tell(self, message: str) -> None:
        """Display an error message next to the button; "" removes it."""
        self.said.value = warning(message) if message else ""

    def _offer(self) -> None:
        try:
            self.button.description, self.button.disabled = f"{self._label} ({self._cost()})", False
        except Exception as error:
            self.button.description, self.button.disabled = self._label, True
            self.tell(words(error))

    def _mark_outdated(self) -> None:
        try:
            outdated = bool(self._made_with) and self._made_with != [self._settings()]
        except Exception:  # invalid settings
            outdated = bool(self._made_with)
        self.mark.value = OUTDATED.format(escaped(self._label)) if outdated else ""
        for widget in self._results:
            (widget.add_class if outdated else widget.remove_class)(FADED)

    def _clicked(self, _: Button) -> None:
        self.output.clear_output()
        with self.output:  # captures a run's progress line
            self.press()


def actions(widget: Widget) -> Iterator[Action]:
    """The buttons in a widget, however deep."""
    for inner in getattr(widget, "children", ()):
        yield from [inner] if isinstance(inner, Action) else actions(inner)


def words(error: BaseException) -> str:
    """The text of an error: its message, with the error class if the message was not written for users."""
    message = str(error).strip()
    ours = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    return message if message and (ours or isinstance(error, FOR_READERS)) else f"{type(error).__name__}: {message}"


def warning(message: str) -> str:
    """A message as HTML in the colour of warnings; the message is escaped."""
    return f'<span style="color:var(--jp-error-color1,#b3261e)">✗ {escaped(message)}</span>'


def escaped(text: str) -> str:
    """Text escaped for HTML, with invisible characters spelt out."""
    return html.escape(visible(text))


def folded(title: str, page: str) -> str:
    """HTML that a click on its title opens."""
    return f"<details><summary>{escaped(title)}</summary>{page}</details>"


def styled() -> HTML:
    """An HTML widget whose tables and texts look like those of a cell's output."""
    widget = HTML()
    widget.add_class("jp-RenderedHTMLCommon")
    return widget


def png(draw: Callable[[], Figure]) -> bytes:
    """Draw a figure and return it as a PNG; the figure is closed, so that the cell does not display it again."""
    import io

    import matplotlib.pyplot as plt

    figure = draw()
    try:
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI, metadata=plots.NO_METADATA[".png"])
        return buffer.getvalue()
    finally:
        plt.close(figure)


def save(draw: Callable[[], Figure], stem: str) -> None:
    """Write a drawing among the figures, as `plots.save`; its figure is closed, so that no cell shows it besides."""
    import matplotlib.pyplot as plt

    plots.style()
    figure = draw()
    plots.save(figure, stem)
    plt.close(figure)


def row(*widgets: Widget) -> HBox:
    """Widgets next to each other, wrapped to the available width."""
    return HBox(widgets, layout=WRAPPED)


T = TypeVar("T")
WIDE, WIDER = Layout(width="21em"), Layout(width="32em")
STYLE = {"description_width": "9em"}
OFFERED = ("rules", "rules@0.8")


class Group(Generic[T]):
    """The controls of a dataclass: switches, numbers, choices and texts; fields of other types have no control."""

    def __init__(self, title: str, settings: T) -> None:
        """settings: the initial values; a click displays the docstring of their class as an explanation."""
        self._settings = settings
        hints = get_type_hints(type(settings))
        names = [field.name for field in fields(settings)]  # type: ignore[arg-type]  # any dataclass
        widgets = ((name, control(name, hints[name], getattr(settings, name))) for name in names)
        self.controls = {name: widget for name, widget in widgets if widget is not None}
        text = f"<small>{escaped(inspect.getdoc(type(settings)) or '')}</small>"
        heading = HTML(f"<details><summary><b>{escaped(title)}</b></summary>{text}</details>", layout=WIDE)
        self.widget = VBox([heading, *self.controls.values()])

    def read(self) -> T:
        """The dataclass with the controls' current values. Raises as its own checks do."""
        return replace(self._settings, **{name: widget.value for name, widget in self.controls.items()})  # type: ignore[type-var]


def control(name: str, kind: Any, value: Any) -> Widget | None:
    """The widget for a value of type `kind`; None for a type without a widget."""
    options = {"description": name.replace("_", " "), "style": STYLE, "layout": WIDE}
    if kind is bool:
        return Checkbox(value, **options)
    if get_origin(kind) is Literal:
        return Dropdown(options=get_args(kind), value=value, **options)
    plain = {int: IntText, float: FloatText, str: Text}.get(kind)
    return plain(value=value, continuous_update=False, **options) if plain else None


def engine_box(title: str, value: str, hint: str = "") -> Combobox:
    """A box for an engine string: free text, with suggestions that work here."""
    return Combobox(value=value, options=offered(), description=title, placeholder=hint,
                    continuous_update=False, style=STYLE, layout=WIDER)  # fmt: skip


def offered(recorded: Iterable[str] = ()) -> list[str]:
    """Engine strings that work here without a server."""
    local = ["local"] if find_spec("openvino_genai") else []
    return [*OFFERED, *local, *(f"replay:{name}" for name in recorded)]


def misjudging(engine: str, errors: Errors) -> str:
    """The engine string with two error rates of Validate; unchanged if both are 0.

    Raises ValueError for an engine that is not rules, since the rates simulate a model's errors, or that has rates.
    """
    if not any(errors):
        return engine
    default, others = engines.split(engine)
    parsed = engines.parse(default)
    if parsed.kind != "rules" or parsed.errors:
        why = "has rates of its own" if parsed.errors else "is a model, which errs by itself"
        raise ValueError(f"{default} {why}: set both rates of Validate to 0, or let rules answer")
    rates = f"certify={errors.certify:g}&reject={errors.reject:g}"
    return engines.joined(f"{default}{'&' if '?' in default else '?'}{rates}", others)


def offer(box: Dropdown, options: Sequence[Any]) -> None:
    """Replace a dropdown's options, and select the first one if there are any."""
    box.options = options
    box.index = 0 if options else None


def at_most_every(seconds: float, do: Callable[[T], object]) -> Callable[[T], None]:
    """The function, rate-limited: calls within `seconds` after the last executed one are dropped."""
    last = -math.inf

    def called(value: T) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            do(value)
            last = time.monotonic()

    return called


def on_change(widgets: Iterable[Widget], do: Callable[[], object]) -> None:
    """Call `do` after every change of a widget's value."""
    for widget in widgets:
        widget.observe(lambda _: do(), "value")
