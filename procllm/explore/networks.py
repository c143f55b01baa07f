"""Edit a task network by hand: its text beside its tree, validated while typing; play it, compare it with another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from ipywidgets import HTML, BoundedIntText, Dropdown, HBox, Image, IntSlider, Layout, Textarea, VBox

from lab.explore.comparison import Comparison, measured
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
from lab.results import statistics
from lab.viewer.timeline import SideBySide, Timeline, side_by_side
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

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

STARTS = (HUMAN, NONE, PLACEBO, EXTENDED)  # networks to begin with
PROBLEMS = 5  # problems of a domain to choose from
HORIZON = 40  # iterations; a person watches, so fewer than the paper's
PAUSE = 0.5  # seconds between two drawings of a running episode


class Played(NamedTuple):
    """An episode under a network, and its timeline."""

    network: Network
    trajectory: Trajectory
    timeline: Timeline


def problems(domain: str, data: str = "synthetic", seed: int = 0, limit: int = PROBLEMS) -> list[Instance]:
    """The first problems of a domain. Raises as `Episodes.instances`, and MissingData."""
    return list(Episodes(domain=domain, limit=limit, data=data, seed=seed).decided().instances().values())


def checked(domain: str, text: str, engine: str = "rules") -> Network:
    """Read and validate a network. Raises BadNetwork; if rules verify, also for an effect that they cannot read."""
    known = domains.domain(domain)
    network = read(text, known.paths)
    try:
        verifying = engine_strings.routed(engine, {}, OPERATORS, "ProcLLM").of(VERIFYING.operator)
    except ValueError:  # not an engine: the button shows the error
        return network
    return effects.check(known, network) if verifying.kind == "rules" else network


def played(
    domain: str, instance: Instance, text: str, engine: str = "rules", horizon: int = HORIZON,
    watch: Callable[[Sequence[Step]], None] | None = None,
) -> Played:  # fmt: skip
    """Play a problem under the network that the text states. Raises BadNetwork, and as `procllm.play`."""
    network, transcript = checked(domain, text, engine), Transcript(connected(engine))
    trajectory = play(domains.domain(domain), instance, network, transcript, horizon, watch=watch)
    return Played(network, trajectory, timeline(trajectory, transcript.exchanges, instance.request))


def told(domain: str, network: Network) -> str:
    """A line about a valid network: its tasks, methods, unused methods and effects that rules cannot read."""
    tasks = sum(1 for _ in network.tree())
    unused = f"; never used: {', '.join(network.unreachable)}" if network.unreachable else ""
    unread = len(effects.unread(domains.domain(domain), network))
    passing = f"; {unread} effects that rules cannot read pass once their files hold text" if unread else ""
    return f"{tasks} tasks to verify, from {len(network.methods)} methods{unused}{passing}"


def price(engine: str, iterations: int) -> str:
    """The most model calls that so many iterations can take, as a phrase."""
    answering = engine_strings.routed(engine, {}, OPERATORS, "ProcLLM")
    # A Verify takes two calls: one for the action, one for the verdict.
    models = dict.fromkeys(choice.label for name in OPERATORS if (choice := answering.of(name)).kind in MODELS)
    asked = [operator for operator in (ACTING.operator, VERIFYING.operator) if answering.of(operator).kind in MODELS]
    return f"at most {len(asked) * iterations} calls of {' and '.join(models)}" if models else "free"


class Networks(Panel):
    """The panel: controls, the tree, and the episode. The notebook's parameters are the controls' initial values."""

    alternative = "The task tree at a step of the episode"

    def __init__(
        self,
        domain: str = "units",
        engine: str = "rules",
        data: str = "synthetic",
        seed: int = 0,
        horizon: int = HORIZON,
        limit: int = PROBLEMS,
    ) -> None:
        domains.domain(domain)  # which says what there is
        self.data = Episodes(domain=domain, data=data, horizon=horizon).decided().data
        self.seed, self.limit = seed, limit
        self.played: Played | None = None
        wide = {"style": STYLE, "layout": Layout(width="24em")}
        self.domain = Dropdown(
            options=(*domains.NAMES, *domains.registered), value=domain, description="domain", **wide
        )
        self.start = Dropdown(options=STARTS, description="begin with", **wide)
        self.beside = Dropdown(options=STARTS, value=NONE, description="beside", **wide)
        self.problem = Dropdown(description="problem", **wide)
        self.horizon = BoundedIntText(horizon, min=1, max=max(horizon, 1000), description="iterations", **wide)
        self.engine = engine_box("engine", engine)
        self.text = Textarea(layout=Layout(width="auto", height="28em"), continuous_update=True)
        self.said, self.told, self.episode = HTML(), HTML(), HTML()
        self.drawing = Image(format="png", layout=Layout(max_width="100%", object_fit="contain"))
        self.iteration = IntSlider(0, min=0, max=0, description="iteration", disabled=True, style=STYLE,
                                   layout=Layout(width="36em"))  # fmt: skip
        self.network: Network | None = None
        self._problems, self._missing = list[Instance](), ""
        self.play = Action("Play it", self.play_it, self._price, self._asked, [self.told, self.episode])
        self.pairs: dict[str, tuple[Played, Played]] = {}  # problem -> both episodes, of the last batch
        self.batches: dict[tuple[str, ...], dict[str, Any]] = {}  # network, domain and engine -> a row of `table`
        self.comparison = Comparison(self._both)
        self.batch = Action("Play all problems beside another network", self.play_batch, self._price_of_batch,
                            self._asked_of_batch, [self.comparison])  # fmt: skip
        self._begin()
        left = VBox([self.text, self.said], layout=Layout(flex="1 1 26em"))
        right = VBox([self.drawing, self.iteration, self.told], layout=Layout(flex="2 1 36em", min_width="0"))
        super().__init__(
            [row(self.domain, self.start, self.problem, self.horizon, self.engine), self.play,
             HBox([left, right], layout=Layout(flex_flow="row wrap", grid_gap="4px 20px")), self.episode,
             row(self.beside), self.batch, self.comparison]
        )  # fmt: skip
        on_change((self.domain, self.start), self._begin)
        on_change((self.problem, self.horizon, self.beside), self._refresh)
        on_change((self.text, self.engine), self.check)
        self.iteration.observe(lambda _: self._look(), "value")

    def check(self) -> None:
        """Validate the text and show its tree, or the error. With an error, the last valid tree stays."""
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
        self._refresh()

    def play_it(self) -> None:
        """Play the problem and show the tree meanwhile; afterwards the slider shows any iteration."""
        (instance,) = (candidate for candidate in self._problems if candidate.id == self.problem.value)

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
        if count == before:  # otherwise the slider's change has shown it
            self._look()

    def play_batch(self) -> None:
        """Play all problems under this network and under another one, and compare them. Raises as `played`."""
        known, engine = domains.domain(self.domain.value), engine_strings.seeded(self.engine.value.strip(), self.seed)
        texts = (self.text.value, write(network_of(self.beside.value, known)))
        edited = texts[0] != write(network_of(self.start.value, known))
        names = (f"{self.start.value}{', edited' * edited}", self.beside.value)
        self.pairs = {
            problem.id: tuple(played(known.name, problem, text, engine, self.horizon.value) for text in texts)  # type: ignore[misc]
            for problem in self._problems
        }
        first, second = (
            {task: float(pair[side].trajectory.success) for task, pair in self.pairs.items()} for side in (0, 1)
        )
        for name, sides in zip(names, zip(*self.pairs.values(), strict=True), strict=True):
            row_of = _batch(name, [side.trajectory for side in sides], sides[0].network)
            self.batches[name, known.title, engine] = row_of | {"who answered": engine}
        says = " − ".join(names)
        result = statistics.compare(first, second)
        played_now = measured(says, names, result, engine, self.data, ("ProcLLM", known.title), "of problems solved")
        scores = {task: (score, second[task]) for task, score in first.items()}
        self.comparison.add(played_now, scores, "networks", every=True)
        self.batch.made()

    def compare_all(self) -> None:
        """Play this network beside each of the others, No-TN last."""
        others = [name for name in STARTS if name not in (self.start.value, NONE)]
        for name in [*others, NONE]:
            self.beside.value = name
            self.play_batch()

    def table(self) -> pd.DataFrame:
        """A row a network that was played on all problems: how many it solved, and what that took."""
        import pandas as pd

        return pd.DataFrame(self.batches.values())

    def answer(self) -> str:
        """A sentence for each network that was played on all problems."""
        return "\n".join(
            f"{name}: {of['solved']} of {of['problems']} problems of {title} solved, "
            f"{of['iterations, median']:g} iterations by the median ({engine}, {self.data} data)"
            for (name, title, engine), of in self.batches.items()
        )

    def figure(self) -> Figure:
        """The tree after the episode that was played last, as a figure; its title is what came of it."""
        assert self.played
        network, trajectory, _ = self.played
        state, solved = state_after(trajectory.steps), "solved" if trajectory.success else "not solved"
        title = (
            f"{trajectory.instance}: {solved}, {len(trajectory.steps)} iterations, {len(trajectory.verified)} verified"
        )
        return tree(network, state.verified, state.active, title)

    def picture(self) -> bytes:
        """The displayed tree, as PNG."""
        return bytes(self.drawing.value)

    def _begin(self) -> None:
        """Start again with another domain or another initial network."""
        self._problems, self._missing = list[Instance](), ""
        try:
            self._problems = problems(self.domain.value, self.data, self.seed, self.limit)
        except Exception as error:  # such as missing data
            self._missing = words(error)
        offer(self.problem, [instance.id for instance in self._problems])
        text = write(network_of(self.start.value, domains.domain(self.domain.value)))
        unchanged, self.text.value = self.text.value == text, text
        if unchanged or self.network is None:  # otherwise its change has been checked
            self.check()

    def _look(self) -> None:
        if not self.played:
            return
        steps = self.played.trajectory.steps[: self.iteration.value]
        self._draw(self.played.network, state_after(steps))
        texts = (f"{s.task}: {s.command or 'an answer that is no action'} → {s.outcome}" for s in steps[-1:])
        self.told.value = escaped(next(texts, "before the first iteration"))

    def _draw(self, network: Network, state: State) -> None:
        self.drawing.value = png(lambda: tree(network, state.verified, state.active))

    def _asked(self) -> tuple[object, ...]:
        """The values that an episode depends on."""
        return self.domain.value, self.problem.value, self.horizon.value, self.engine.value.strip(), self.network

    def _both(self, problem: str) -> SideBySide:
        """The episodes of a problem under the two networks of the last batch."""
        first, second = self.pairs[problem]
        return side_by_side(first.timeline, second.timeline)

    def _asked_of_batch(self) -> tuple[object, ...]:
        """What a batch depends on."""
        return self.domain.value, self.beside.value, self.horizon.value, self.engine.value.strip(), self.network

    def _refresh(self) -> None:
        self.play.refresh()
        self.batch.refresh()

    def _price_of_batch(self) -> str:
        return self._price(2 * len(self._problems))

    def _price(self, episodes: int = 1) -> str:
        if self._missing:
            raise ValueError(self._missing)
        if self.network is None:
            raise BadNetwork("mend the network first")
        return price(self.engine.value.strip(), episodes * self.horizon.value)


def _batch(name: str, trajectories: Sequence[Trajectory], network: Network) -> dict[str, Any]:
    """A row of `Networks.table`."""
    return {
        "network": name, "problems": len(trajectories),
        "solved": sum(trajectory.success for trajectory in trajectories),
        "iterations, median": median(len(trajectory.steps) for trajectory in trajectories),
        "tasks": sum(1 for _ in network.tree()),
    }  # fmt: skip
