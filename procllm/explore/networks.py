"""Task networks by hand: text beside its tree, checked as it is typed; played, with the tree as it comes to life."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ipywidgets import HTML, BoundedIntText, Dropdown, HBox, Image, IntSlider, Layout, Textarea, VBox

from lab.explore.controls import (
    STYLE,
    Action,
    Panel,
    at_most_every,
    engine_box,
    escaped,
    offer,
    on_change,
    png,
    row,
    warning,
    words,
)
from lab.models import engines as engine_strings
from lab.models.connect import connected
from lab.models.engines import MODELS
from lab.viewer.timeline import Timeline
from lab.viewer.transcripts import Transcript
from procllm import domains, effects
from procllm.conditions import EXTENDED, HUMAN, NONE, PLACEBO, network_of
from procllm.domains import Instance
from procllm.experiments.episodes import OPERATORS, Episodes
from procllm.loop import play
from procllm.network import BadNetwork, Network, read, write
from procllm.plots import State, state_after, tree
from procllm.prompts import ACTING, VERIFYING
from procllm.trajectory import Step, Trajectory, timeline

STARTS = (HUMAN, NONE, PLACEBO, EXTENDED)  # networks to begin with
PROBLEMS = 5  # of a domain, to choose from
HORIZON = 40  # iterations, of a person who watches
PAUSE = 0.5  # seconds between two looks at an episode that is being played


class Played(NamedTuple):
    """An episode under a network, and what is shown of it."""

    network: Network
    trajectory: Trajectory
    timeline: Timeline


def problems(domain: str, data: str = "synthetic", seed: int = 0) -> list[Instance]:
    """Some problems of a domain. Raises as `Episodes.instances`, and MissingData."""
    return list(Episodes(domain=domain, limit=PROBLEMS, data=data, seed=seed).decided().instances().values())


def checked(domain: str, text: str, engine: str = "rules") -> Network:
    """The network that a text states. Raises BadNetwork, also for an effect that rules cannot read if they verify."""
    known = domains.domain(domain)
    network = read(text, known.paths)
    try:
        verifying = engine_strings.routed(engine, {}, OPERATORS, "ProcLLM").of(VERIFYING.operator)
    except ValueError:  # no engine: the button says so
        return network
    return effects.check(known, network) if verifying.kind == "rules" else network


def played(
    domain: str, instance: Instance, text: str, engine: str = "rules", horizon: int = HORIZON,
    watch: Callable[[Sequence[Step]], None] | None = None,
) -> Played:  # fmt: skip
    """Play a problem under the network that a text states. Raises BadNetwork, and what `procllm.play` raises."""
    network, transcript = checked(domain, text, engine), Transcript(connected(engine))
    trajectory = play(domains.domain(domain), instance, network, transcript, horizon, watch=watch)
    return Played(network, trajectory, timeline(trajectory, transcript.exchanges, instance.request))


def told(domain: str, network: Network) -> str:
    """What a checked network comes to, in a line."""
    tasks = sum(1 for _ in network.tree())
    unused = f"; never used: {', '.join(network.unreachable)}" if network.unreachable else ""
    unread = len(effects.unread(domains.domain(domain), network))
    passing = f"; {unread} effects that rules cannot read pass once their files hold text" if unread else ""
    return f"{tasks} tasks to verify, from {len(network.methods)} methods{unused}{passing}"


def price(engine: str, horizon: int) -> str:
    """What an episode asks of models at most, in a few words."""
    answering = engine_strings.routed(engine, {}, OPERATORS, "ProcLLM")
    # A Verify asks twice: what to do, and whether the task is done.
    models = dict.fromkeys(each.label for name in OPERATORS if (each := answering.of(name)).kind in MODELS)
    asked = [operator for operator in (ACTING.operator, VERIFYING.operator) if answering.of(operator).kind in MODELS]
    return f"at most {len(asked) * horizon} calls of {' and '.join(models)}" if models else "free"


class Networks(Panel):
    """Its controls, the tree, and the episode. Where they stand at first is the notebook's parameters."""

    def __init__(
        self,
        domain: str = "units",
        engine: str = "rules",
        data: str = "synthetic",
        seed: int = 0,
        horizon: int = HORIZON,
    ) -> None:
        self.data, self.seed = Episodes(domain=domain, data=data).decided().data, seed
        self.played: Played | None = None
        wide = {"style": STYLE, "layout": Layout(width="24em")}
        self.domain = Dropdown(options=domains.NAMES, value=domain, description="domain", **wide)
        self.start = Dropdown(options=STARTS, description="begin with", **wide)
        self.problem = Dropdown(description="problem", **wide)
        self.horizon = BoundedIntText(horizon, min=1, max=1000, description="iterations", **wide)
        self.engine = engine_box("engine", engine)
        self.text = Textarea(layout=Layout(width="auto", height="28em"), continuous_update=True)
        self.said, self.told, self.episode = HTML(), HTML(), HTML()
        self.drawing = Image(format="png", layout=Layout(max_width="100%", object_fit="contain"))
        self.iteration = IntSlider(0, min=0, max=0, description="iteration", disabled=True, style=STYLE,
                                   layout=Layout(width="36em"))  # fmt: skip
        self.network: Network | None = None
        self._problems, self._missing = list[Instance](), ""
        self.play = Action("Play it", self.play_it, self._price, self._asked, [self.told, self.episode])
        self._begin()
        left = VBox([self.text, self.said], layout=Layout(flex="1 1 26em"))
        right = VBox([self.drawing, self.iteration, self.told], layout=Layout(flex="2 1 36em", min_width="0"))
        super().__init__(
            [row(self.domain, self.start, self.problem, self.horizon, self.engine), self.play,
             HBox([left, right], layout=Layout(flex_flow="row wrap", grid_gap="4px 20px")), self.episode]
        )  # fmt: skip
        on_change((self.domain, self.start), self._begin)
        on_change((self.problem, self.horizon), self.play.refresh)
        on_change((self.text, self.engine), self.check)
        self.iteration.observe(lambda _: self._look(), "value")

    def check(self) -> None:
        """Read the text: its tree, or what is wrong with it, in words. The last good tree stays until then."""
        self.network = None
        try:
            self.network = checked(self.domain.value, self.text.value, self.engine.value.strip())
        except BadNetwork as error:
            self.said.value = warning(words(error))
        else:
            self.said.value = f"✓ {escaped(told(self.domain.value, self.network))}"
            self.iteration.disabled = not self.played or self.played.network != self.network
            if self.iteration.disabled:
                self._draw(self.network, State((), ""))
            else:
                self._look()
        self.play.refresh()

    def play_it(self) -> None:
        """Play the problem under the network, and show the tree as it goes; then any iteration of it can be seen."""
        (instance,) = (each for each in self._problems if each.id == self.problem.value)

        def watch(steps: Sequence[Step]) -> None:
            if self.network:
                self._draw(self.network, state_after(steps))
                self.told.value = f"iteration {len(steps)}"

        engine = engine_strings.seeded(self.engine.value.strip(), self.seed)
        self.played = played(self.domain.value, instance, self.text.value, engine, self.horizon.value,
                             at_most_every(PAUSE, watch))  # fmt: skip
        self.play.made()
        self.episode.value = self.played.timeline._repr_html_()
        before, count = self.iteration.value, len(self.played.trajectory.steps)
        with self.iteration.hold_trait_notifications():
            self.iteration.max, self.iteration.value, self.iteration.disabled = count, count, False
        if count == before:  # else it was looked at already
            self._look()

    def picture(self) -> bytes:
        """The tree as it is drawn."""
        return bytes(self.drawing.value)

    def _begin(self) -> None:
        """Another domain, or another network to begin with."""
        self._problems, self._missing = list[Instance](), ""
        try:
            self._problems = problems(self.domain.value, self.data, self.seed)
        except Exception as error:  # data that is not here, say
            self._missing = words(error)
        offer(self.problem, [each.id for each in self._problems])
        text = write(network_of(self.start.value, domains.domain(self.domain.value)))
        same, self.text.value = self.text.value == text, text
        if same or self.network is None:  # else it was checked when it changed
            self.check()

    def _look(self) -> None:
        if not self.played:
            return
        steps = self.played.trajectory.steps[: self.iteration.value]
        self._draw(self.played.network, state_after(steps))
        told = (f"{one.task}: {one.command or 'an answer that is no action'} → {one.outcome}" for one in steps[-1:])
        self.told.value = escaped(next(told, "before the first iteration"))

    def _draw(self, network: Network, state: State) -> None:
        self.drawing.value = png(lambda: tree(network, state.verified, state.active))

    def _asked(self) -> tuple[object, ...]:
        """What an episode depends on."""
        return self.domain.value, self.problem.value, self.horizon.value, self.engine.value.strip(), self.network

    def _price(self) -> str:
        if self._missing:
            raise ValueError(self._missing)
        if self.network is None:
            raise BadNetwork("mend the network first")
        return price(self.engine.value.strip(), self.horizon.value)
