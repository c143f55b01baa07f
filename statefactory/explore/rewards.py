"""Rewards by hand: pick a trajectory and a predictor, step through it, edit a fact, and see the reward move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ipywidgets import HTML, Combobox, Dropdown, Image, IntSlider, Layout, Text, VBox

from lab.explore.controls import (
    STYLE,
    WIDE,
    Action,
    Panel,
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
from lab.models.engines import MODELS, Engine
from lab.results.text import shortened
from statefactory.benchmark import Pair
from statefactory.benchmark.domains import BY_NAME
from statefactory.embeddings import DEFAULT, known
from statefactory.experiments import figure4
from statefactory.experiments.figure4 import PairWalkthrough
from statefactory.experiments.predictions import EXTRACTIONS
from statefactory.experiments.scoring import embedder_of
from statefactory.predictors import METHODS, operators_of
from statefactory.state import LEVELS, Attribute, Entity, Group, Level, State, Values
from statefactory.trust import told
from statefactory.walkthrough import Walkthrough, walk

METHOD = "statefactory"  # stands for all levels of extraction, which are methods of their own in experiments
BY_LEVEL: dict[Level, str] = {level: name for name, (_, level) in EXTRACTIONS.items()}
SHOWN = 300  # characters of an observation


@dataclass(frozen=True)
class Selection:
    """What is predicted. number: of the domain's pairs. predictor: of `METHODS`, or METHOD, for which level counts."""

    domain: str
    number: int
    predictor: str = METHOD
    level: Level = "object_attribute"
    embedding: str = DEFAULT
    engine: str = "rules"
    data: str = "synthetic"
    seed: int = 0
    values: Values = "fragments"

    @property
    def method(self) -> str:
        """The name in `METHODS`."""
        return BY_LEVEL[self.level] if self.predictor == METHOD else self.predictor

    @property
    def pair(self) -> Pair:
        """The trajectory and its negative. Raises as `figure4.pair_of`."""
        return figure4.pair_of(self.domain, self.number, self.data, self.seed)

    def follow(self) -> PairWalkthrough:
        """Let the predictor follow both trajectories of the pair. Raises as an experiment does."""
        engine = engine_strings.seeded(self.engine, self.seed)
        return figure4.walked(
            self.domain, self.number, engine, self.embedding, self.seed, values=self.values, method=self.method,
            data=self.data,
        )  # fmt: skip


class Fact(NamedTuple):
    """A place in a state or a goal. side: "state" or "goal". item: which object or sentence; part: which attribute or
    sentence of the object, None for its name or for all of the sentence.
    """

    side: str
    item: int
    part: int | None
    told: str
    text: str


def facts(walked: Walkthrough, step: int) -> list[Fact]:
    """What can be edited at a step (from 1): the goal's facts first, since those alone are looked for in the state."""
    index = walked.index_of(step)
    sides: dict[str, Sequence[Entity | Group | str]] = {
        "goal": walked.trace.goals[index], "state": walked.trace.states[index]
    }  # fmt: skip
    return [fact for side, state in sides.items() for number, item in enumerate(state)
            for fact in _facts(side, number, item)]  # fmt: skip


def _facts(side: str, number: int, item: Entity | Group | str) -> list[Fact]:
    if isinstance(item, str):
        return [Fact(side, number, None, f"{side}: {shortened(item, 60)}", item)]
    named = Fact(side, number, None, f"{side}: {item.identity}", item.identity)
    if isinstance(item, Entity):
        inner = [(attribute.name, attribute.value) for attribute in item.attributes]
    else:
        inner = [(shortened(text, 30), text) for text in item.statements]
    return [named, *(Fact(side, number, part, f"{side}: {item.identity} · {shortened(name, 40)}", text)
                     for part, (name, text) in enumerate(inner))]  # fmt: skip


def edited(walked: Walkthrough, step: int, fact: Fact, text: str, embedding: str = DEFAULT) -> Walkthrough:
    """The same with a fact in other words at one step, and with what that does to its reward. text: "" drops it."""
    index = walked.index_of(step)
    name = "goals" if fact.side == "goal" else "states"
    states: list[State] = list(getattr(walked.trace, name))
    items: list[Entity | Group | str] = list(states[index])
    changed = _changed(items[fact.item], fact.part, text.strip())
    items[fact.item : fact.item + 1] = [changed] if changed else []
    states[index] = tuple(items)  # type: ignore[assignment]  # of the level's own kind still
    changed_trace = replace(walked.trace, **{name: tuple(states)})  # type: ignore[arg-type]  # one of two fields
    return walk(walked.row, changed_trace, embedder_of(embedding))


def _changed(item: Entity | Group | str, part: int | None, text: str) -> Entity | Group | str | None:
    """The item with one part in other words; None for one that is gone."""
    if isinstance(item, str):
        return text or None
    if part is None:
        return replace(item, identity=text) if text else None
    if isinstance(item, Entity):
        kept = [*item.attributes]
        kept[part : part + 1] = [Attribute(kept[part].name, text)] if text else []
        return replace(item, attributes=tuple(kept))
    statements = [*item.statements]
    statements[part : part + 1] = [text] if text else []
    return replace(item, statements=tuple(statements))


def price(asked: Selection) -> str:
    """What following the pair asks of models, in a few words."""
    steps = sum(len(row.trajectory) for row in (asked.pair.positive, asked.pair.negative))
    asking = operators_of(asked.method)
    answering: Engine = engine_strings.routed(asked.engine, {}, asking, METHODS[asked.method].title)
    models = [engine.label for name in asking if (engine := answering.of(name)).kind in MODELS]
    if not models:
        return f"{steps} steps, free"
    return f"{steps * len(models)} calls of {' and '.join(dict.fromkeys(models))}, less what is cached"


class Rewards(Panel):
    """Its controls, the drawing of a step, and a fact to edit. Where they stand at first: the notebook's parameters."""

    def __init__(
        self, domain: str = "alfworld", number: int = 0, engine: str = "rules", embedding: str = DEFAULT,
        data: str = "synthetic", seed: int = 0, step: int = -1, values: Values = "fragments",
    ) -> None:  # fmt: skip
        asked: dict[str, Any] = {"engine": engine, "embedding": embedding, "data": data, "seed": seed, "values": values}
        self.first = Selection(domain, number, **asked)
        steps = len(self.first.pair.positive.trajectory)  # first of all: it says in words what there is not
        self.followed: PairWalkthrough | None = None
        self.selected = self.first  # what was followed
        self.changed: Walkthrough | None = None  # with the edited fact
        drop = {"style": STYLE, "layout": Layout(width="32em")}
        self.world = Dropdown(options=[(world.title, name) for name, world in BY_NAME.items()], value=domain,
                              description="world", **drop)  # fmt: skip
        self.task = Dropdown(description="task", **drop)
        others = [(method.title, name) for name, method in METHODS.items() if name not in EXTRACTIONS]
        self.predictor = Dropdown(options=[("StateFactory", METHOD), *others], description="predictor", **drop)
        self.level = Dropdown(options=[(level.replace("_", "-"), level) for level in LEVELS], description="level",
                              value=self.first.level, style=STYLE, layout=WIDE)  # fmt: skip
        here = [name for name, there in known().items() if there]
        self.embedding = Combobox(value=embedding, options=here, description="embedding", continuous_update=False,
                                  **drop)  # fmt: skip
        self.engine = engine_box("engine", engine)
        self.step = IntSlider(1, min=1, max=steps, description="step", continuous_update=False, style=STYLE,
                              layout=Layout(width="48em"))  # fmt: skip
        self.fact = Dropdown(description="fact", options=[], **drop)
        self.text = Text(description="in other words", continuous_update=False, **drop)
        self.moved, self.about = HTML(), HTML()
        self.drawing = Image(format="png", layout=Layout(max_width="100%"))
        self._list_tasks()
        self.task.value = number
        self.play = Action("Follow the trajectory", self.follow, lambda: price(self.asked()), self.asked,
                           [self.about, self.drawing])  # fmt: skip
        what = VBox([self.world, self.task, self.predictor, row(self.level), self.embedding, self.engine])
        edit = VBox([HTML("<b>Edit a fact at this step</b>"), self.fact, self.text, self.moved])
        super().__init__([row(what, edit), self.play, self.step, self.about, self.drawing])
        self.world.observe(lambda _: self._list_tasks(), "value")
        on_change((self.world, self.task, self.predictor, self.level, self.embedding, self.engine), self._refresh)
        self.step.observe(lambda _: self._look(), "value")
        self.fact.observe(lambda _: self._offer(), "value")
        self.text.observe(lambda _: self.edit(), "value")
        self.follow(step)

    def asked(self) -> Selection:
        """What the controls say."""
        return replace(
            self.first, domain=self.world.value, number=self.task.value, predictor=self.predictor.value,
            level=self.level.value, embedding=self.embedding.value.strip(), engine=self.engine.value.strip(),
        )  # fmt: skip

    def follow(self, step: int = -1) -> None:
        """Let the predictor follow the trajectory, and show a step (from 1; -1 for the last). Raises as
        `Selection.follow`.
        """
        selected = self.asked()
        self.followed, self.selected = selected.follow(), selected
        self.play.made()
        before, index = self.step.value, self.followed.positive.index_of(step)
        with self.step.hold_trait_notifications():
            self.step.max, self.step.value = len(self.followed.positive), index + 1
        if self.step.value == before:  # else it was looked at already
            self._look()

    def edit(self) -> None:
        """Put the text in the place of the fact, and show how the reward moves; what goes wrong is told in words."""
        fact, before = self.fact.value, self.followed
        if before is None or fact is None or self.text.value == fact.text:
            self.moved.value = ""
            if self.changed:
                self.changed = None
                self._draw()
            return
        try:
            self.changed = edited(before.positive, self.step.value, fact, self.text.value, self.selected.embedding)
        except Exception as error:
            self.changed, self.moved.value = None, warning(words(error))
            return
        index = self.step.value - 1
        was, now = before.positive.rewards[index], self.changed.rewards[index]
        self.moved.value = f"reward of step {index + 1}: {was:.3f} → <b>{now:.3f}</b> ({now - was:+.3f})"
        self._draw()

    def picture(self) -> bytes:
        """The step as it is drawn."""
        return bytes(self.drawing.value)

    def _list_tasks(self) -> None:
        try:
            members: Sequence[Pair] = figure4.pairs_of(self.world.value, self.first.data, self.first.seed)
        except Exception as error:  # data that is not here, say
            members, self.about.value = (), warning(words(error))
        labels = [
            f"{shortened(pair.positive.goal_description, 60)} ({len(pair.positive.trajectory)} steps)"
            for pair in members
        ]
        offer(self.task, [(f"{number}: {text}", number) for number, text in enumerate(labels)])

    def _refresh(self) -> None:
        self.level.disabled = self.embedding.disabled = self.predictor.value != METHOD
        self.play.refresh()

    def _look(self) -> None:
        """Another step: its facts, its words, and its drawing."""
        if not self.followed:
            return
        walked, index = self.followed.positive, self.step.value - 1
        done = walked.row.trajectory[index]
        self.about.value = (
            f"<b>{escaped(done.action)}</b> → {escaped(shortened(done.observation, SHOWN))}<br>"
            f"<small>{escaped('; '.join(walked.changed(index + 1)) or 'no change of the state')}</small>"
        )
        if walked.flags[index]:
            names = ", ".join(sorted(walked.flags[index]))
            self.about.value += warning(f"The reward of this step may mean nothing: {names}. {told(walked.flags)}")
        self.changed, self.moved.value = None, ""
        offer(self.fact, [(fact.told, fact) for fact in facts(walked, index + 1)])
        self._offer()
        self._draw()

    def _offer(self) -> None:
        """The chosen fact as it is, to be edited; an edit of another one is taken back."""
        self.text.value = self.fact.value.text if self.fact.value else ""
        self.edit()

    def _draw(self) -> None:
        from statefactory import plots  # which loads matplotlib

        if self.followed:
            followed, shown = self.followed, self.changed or self.followed.positive
            note = followed.note + (" · one fact edited" if self.changed else "")
            self.drawing.value = png(lambda: plots.draw_walkthrough(shown, followed.negative, self.step.value, note))
