"""The panel of `4_explore/ablate`: change a mechanism, watch an episode, compare a batch with the full method.

It offers the `Playable` experiments of all packages. A setting that is played as a batch is an ordinary run:
`python -m lab show` lists it, and playing it again costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ipywidgets import HTML, Dropdown, FloatSlider, IntText, VBox

from lab.explore.claims import Row
from lab.explore.comparison import Comparison, measured
from lab.explore.controls import (
    STYLE,
    WIDE,
    WIDER,
    Action,
    Group,
    Panel,
    at_most_every,
    engine_box,
    escaped,
    folded,
    misjudging,
    offered,
    on_change,
    row,
    styled,
    words,
)
from lab.machine.files import canonical
from lab.machine.printing import hint
from lab.models import engines as engine_strings
from lab.models.connect import connected
from lab.models.judges import Errors
from lab.runs import playable
from lab.runs.collecting import collect, manifest_of
from lab.runs.forecast import Estimate, forecast, played
from lab.runs.manifest import Manifest
from lab.runs.playable import OnStep, Playable
from lab.runs.showing import RunComparison, compare
from lab.viewer.timeline import SideBySide, Timeline, side_by_side
from lab.viewer.transcripts import Transcript

PAUSE = 0.3  # seconds between two updates of an episode that is being played
HASH = 6  # characters at the end of a run's name, the beginning of its hash
SURROUNDINGS = ("commit", "packages", "code", "address")  # entries of a run's manifest that are no settings
ALIKE = "no setting differs"
BESIDE = ("the full loop", "all as it is by default")


def watched(setup: Playable, task: str, seen: OnStep = lambda timeline: None) -> Timeline:
    """Play one episode without storing it. seen: called with the timeline every PAUSE seconds. Raises as a run does."""
    setup = setup.resolved()
    timeline = setup.watch(task, Transcript(connected(setup.engine)), at_most_every(PAUSE, seen))
    seen(timeline)
    return timeline


def beside(setup: Playable, other: Playable) -> RunComparison:
    """Play both as runs, as far as they are not stored already, and compare them task by task."""
    return compare(*(collect(side).folder for side in (setup, other)))


def difference(compared: RunComparison) -> str:
    """A comparison of two runs as HTML: the settings that differ, and the paired difference.

    It omits the runs' names, which change with the code.
    """
    settings = [
        f"{name}: first {canonical(first)}, second {canonical(second)}"
        for name, (first, second) in differing(compared).items()
    ]
    text = "\n".join([*(settings or [f"{ALIKE}: this is the full loop itself"]), "", *compared.lines()])
    return f'<pre style="white-space:pre-wrap">{escaped(text)}</pre>'


def differing(compared: RunComparison) -> dict[str, tuple[Any, Any]]:
    """The settings that differ, by name, in the first and the second run."""
    return {name: pair for name, pair in compared.settings.items() if name not in SURROUNDINGS}


def as_row(compared: RunComparison, other: str, what: tuple[str, str], data: str) -> Row:
    """Two runs compared, for the forest plot: what the first has set otherwise, and its difference to the second.

    other: what the second run is. what: agent and benchmark.
    """
    settings = [f"{name.rpartition('.')[2]} = {canonical(first)}" for name, (first, _) in differing(compared).items()]
    says, engine = ", ".join(settings) or ALIKE, compared.first.manifest.engine
    sides = ("as it was set", other)
    return measured(says, sides, compared.parts[0].result, engine, data, what, f"of {compared.metric}")


def both(compared: RunComparison, task: str = "") -> SideBySide:
    """Both episodes of a task, by default of the first that flipped.

    Runs' names are without their hash, which changes with the code.
    """
    timelines = compared.side_by_side(task).timelines
    return side_by_side(
        *(
            replace(timeline, about={**timeline.about, "run": timeline.about["run"][: -HASH - 1]})
            for timeline in timelines
        )
    )


def price(manifests: Iterable[Manifest]) -> str:
    """The cost of playing these runs, as text, without stored episodes; estimated from earlier similar episodes."""
    runs = list({run.digest: run for run in manifests}.values())
    if shares := forecast(runs):
        return "; ".join(map(_in_words, shares))
    remaining = sum(len(run.tasks) - played(run) for run in runs)
    return f"{remaining} episode{'s' * (remaining != 1)}, free" if remaining else "all kept, free"


def _in_words(share: Estimate) -> str:
    remaining = share.episodes - share.played
    parts = [f"{remaining:,} episode{'s' * (remaining != 1)} of {share.engine}"]
    parts += [f"about {share.calls:,.0f} calls"] if share.calls is not None else ["calls unknown: try one task first"]
    parts += [f"${share.dollars:,.2f}"] if share.dollars is not None else []
    return ", ".join(parts)


class Ablation(Panel):
    """The panel: controls, two buttons and their results. The arguments are initial values, the notebook's parameters.

    changed: field of a mechanism -> its initial value, such as {"validate": False}. task: "" for the first task.
    """

    def __init__(
        self, engine: str = "rules@0.8", engines: Mapping[str, str] | None = None, data: str = "synthetic", limit: int =
        12, seed: int = 0, task: str = "", changed: Mapping[str, Any] | None = None,
        agent: str = "SDP", benchmark: str = "TravelPlanner",
    ) -> None:  # fmt: skip
        self.first: dict[str, Any] = {"engine": engine, "engines": dict(engines or {}), "data": data, "seed": seed}
        self.timeline: Timeline | None = None
        self.compared: RunComparison | None = None
        self.told = ""  # HTML of the comparison, without names of runs
        self.what = Dropdown(options=[(" on ".join(pair), pair) for pair in playable.names()],
                             description="plays", style=STYLE, layout=WIDER)  # fmt: skip
        self.task = Dropdown(description="task to watch", style=STYLE, layout=WIDER)
        self.limit = IntText(limit, description="tasks in a batch", style=STYLE, layout=WIDE)
        self.engine = engine_box("engine", engine)
        self.certify, self.reject = (
            FloatSlider(0.0, min=0.0, max=1.0, step=0.05, description=name, style=STYLE, layout=WIDE)
            for name in ("wrong passes", "right refused")
        )
        self.beside = Dropdown(options=BESIDE, description="beside", style=STYLE, layout=WIDER)
        self.switches, self.operators = VBox(), VBox()
        self.groups: dict[str, Group[Any]] = {}
        self.others: dict[str, Any] = {}
        self.episode, self.summary = HTML(), styled()
        self.comparison = Comparison(lambda task: both(self.compared, task))  # type: ignore[arg-type]  # of a batch
        self.initial = dict(changed or {})
        self._choose((agent, benchmark), task, self.initial)
        if engines:  # with the operators that ask, as it is set up
            engine_strings.routed(engine, engines, self.setup().operators(), self.base.method)
        self.what.value = agent, benchmark
        self.play = Action(
            "Play one episode",
            self.play_one,
            self._price_of_one,
            lambda: (self.setup(), self.task.value),
            [self.episode],
        )
        self.batch = Action(
            "Play the batch beside the full loop", self.play_batch, self._price_of_batch,
            lambda: (self.setup(), self.full()), [self.summary, self.comparison],
        )  # fmt: skip
        rates = VBox([HTML("<b>Validate errs (with rules)</b>"), self.certify, self.reject])
        tasks = VBox([HTML("<b>What is played</b>"), self.what, self.task, self.limit, self.beside])
        answering = VBox([HTML("<b>Who answers</b>"), self.engine, self.operators])
        super().__init__(
            [row(tasks, self.switches), row(answering, rates), self.play, self.batch, self.summary, self.comparison,
             self.episode]
        )  # fmt: skip
        self.what.observe(self._switch, "value")
        on_change((self.task, self.limit, self.engine, self.certify, self.reject, self.beside), self._changed)

    def setup(self) -> Playable:
        """The experiment that the controls select. Raises as invalid settings of an experiment do."""
        values = {name: group.read() for name, group in self.groups.items()}
        engine = misjudging(self.engine.value.strip(), Errors(self.certify.value, self.reject.value))
        others = {name: text for name, box in self.others.items() if (text := box.value.strip())}
        return replace(self.base, engine=engine, engines=others, limit=self.limit.value, **values)

    def full(self) -> Playable:
        """The experiment to compare the batch with."""
        return self.setup().full() if self.beside.value == BESIDE[0] else replace(self.base, limit=self.limit.value)

    def _second(self) -> str:
        """The name of the experiment to compare with, and the values that the panel changed at first in both."""
        controls = {name: box for group in self.groups.values() for name, box in group.controls.items()}
        values = {name: controls[name].value for name in self.initial if name in controls}
        changed = [f"{name} = {value}" for name, value in values.items() if not isinstance(value, bool)]
        full = self.beside.value == BESIDE[0]
        return f"{self.beside.value} with {', '.join(changed)}" if full and changed else self.beside.value

    def play_one(self) -> None:
        """Play the selected episode, and display it while it is played."""
        self.timeline = watched(self.setup(), self.task.value, self._show)
        self.play.made()

    def play_batch(self) -> None:
        """Play the batch and the experiment to compare with, and display the difference."""
        sides = f"{self.what.label}. First: as the controls stood; second: {self.beside.value}."
        setup = self.setup().resolved()
        self.compared = beside(setup, self.full())
        self.told = f"<p>{escaped(sides)}</p>{difference(self.compared)}"
        first, second = (run.folder.name[-HASH:] for run in (self.compared.first, self.compared.second))
        command = f"python -m lab show {first} --beside {second}"
        self.summary.value = f"{self.told}<p><small>Kept as runs: <code>{escaped(command)}</code></small></p>"
        played = as_row(self.compared, self._second(), self.what.value, setup.data)
        pairs = self.compared.parts[0].pairs
        scores = {first.of: (first.value, second.value) for first, second in pairs}
        why = {first.of: "; ".join(filter(None, dict.fromkeys(score.why for score in (first, second))))
               for first, second in pairs}  # fmt: skip
        self.comparison.add(played, scores, "setting", why)
        self.batch.made()

    def without(self, *mechanisms: str) -> None:
        """Play a batch with each of these switches off alone; the last one stays off. Raises KeyError for another."""
        switches = {name: box for group in self.groups.values() for name, box in group.controls.items()}
        for name in mechanisms:
            before, switches[name].value = switches[name].value, False
            self.play_batch()
            switches[name].value = before if name != mechanisms[-1] else False

    def answer(self) -> str:
        """A sentence a batch: its difference to the full loop, with n and who answered."""
        return self.comparison.answer()

    def page(self) -> str:
        """The comparison and the episode."""
        shown = f"The episode of {self.timeline.title}, as it was set" if self.timeline else ""
        return self.told + self.comparison.page() + (folded(shown, self.episode.value) if shown else "")

    def _choose(self, what: tuple[str, str], task: str = "", changed: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Set up the controls of an agent on a benchmark; an error changes nothing.

        Raises BadSetting, ValueError for an unknown task or field, and as loading the benchmark does.
        """
        kind = playable.named(*what)
        base = kind(**self.first)
        tasks = list(base.decided().tasks())
        if task and task not in tasks:
            raise ValueError(
                f"{' on '.join(what)} has no task {task!r}{hint(task, tasks) or ';'} it has {tasks[0]} to {tasks[-1]}"
            )
        groups = {name: Group(name, value) for name, value in base.mechanisms.items()}
        known = [name for group in groups.values() for name in group.controls]
        for name in changed.keys() - {*known}:
            raise ValueError(f"no mechanism has {name!r}; there are: {', '.join(known)}{hint(name, known)}")
        self.chosen, self.base, self.groups = what, base, groups
        self.task.options = tasks
        self.task.value = task or tasks[0]
        self.engine.options = offered(kind.recorded())
        for group in self.groups.values():
            for name in group.controls.keys() & changed.keys():
                group.controls[name].value = changed[name]
            on_change(group.controls.values(), self._changed)
        self.switches.children = [row(*(group.widget for group in self.groups.values()))]
        self._changed()

    def _switch(self, change: Any) -> None:
        """Switch to another agent or benchmark; if it cannot be set up, display the error and switch back."""
        if change.new == self.chosen:  # switched back
            return
        try:
            self._choose(change.new)
        except Exception as error:  # such as missing data
            self.what.value = change.old
            self.play.tell(words(error))

    def _changed(self) -> None:
        """After any change: update the boxes of the operators that ask questions, and the prices."""
        try:
            operators = self.setup().operators()
        except ValueError:
            operators = tuple(self.others)  # the error is displayed next to the buttons
        if set(operators) != set(self.others) or not self.operators.children:
            values = {name: box.value for name, box in self.others.items()} or self.first["engines"]
            self.others = {name: engine_box(name, values.get(name, ""), hint="as above") for name in operators}
            on_change(self.others.values(), self._changed)
            self.operators.children = list(self.others.values()) or [HTML("no operator asks a model")]
        for action in (getattr(self, name, None) for name in ("play", "batch")):
            if action:
                action.refresh()

    def _show(self, timeline: Timeline) -> None:
        self.episode.value = timeline._repr_html_()

    def _price_of_one(self) -> str:
        return price([replace(manifest_of(self.setup().resolved()), tasks=(self.task.value,))])

    def _price_of_batch(self) -> str:
        return price(manifest_of(setup.resolved()) for setup in (self.setup(), self.full()))
