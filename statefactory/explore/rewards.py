"""Reward explorer: pick a trajectory and a predictor, step through it, edit a fact and see the reward change."""

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

METHOD = "statefactory"  # all levels of extraction, which are separate methods in experiments
BY_LEVEL: dict[Level, str] = {level: name for name, (_, level) in EXTRACTIONS.items()}
SHOWN = 300  # characters of an observation


@dataclass(frozen=True)
class Selection:
    """What to predict, and how. number: index of the pair in its domain.

    predictor: a name in `METHODS`, or METHOD, which `level` specifies further.
    """

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
        """The method's name in `METHODS`."""
        return BY_LEVEL[self.level] if self.predictor == METHOD else self.predictor

    @property
    def pair(self) -> Pair:
        """The selected pair. Raises as `figure4.pair_of`."""
        return figure4.pair_of(self.domain, self.number, self.data, self.seed)

    def follow(self) -> PairWalkthrough:
        """Run the predictor on both trajectories of the pair. Raises as an experiment."""
        engine = engine_strings.seeded(self.engine, self.seed)
        return figure4.walked(
            self.domain, self.number, engine, self.embedding, self.seed, values=self.values, method=self.method,
            data=self.data,
        )  # fmt: skip


class Fact(NamedTuple):
    """An editable text in a state or goal.

    side: "state" or "goal". item: index of the object or sentence. part: index of the object's attribute or sentence;
    None for the object's name or a whole sentence. told: label in the menu. text: the current text.
    """

    side: str
    item: int
    part: int | None
    told: str
    text: str


def facts(walked: Walkthrough, step: int) -> list[Fact]:
    """The editable texts at a step (from 1). The goal's come first, since only they are matched with the state."""
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
    """The walkthrough with one fact replaced at one step, and its new reward. text: "" removes the fact."""
    index = walked.index_of(step)
    name = "goals" if fact.side == "goal" else "states"
    states: list[State] = list(getattr(walked.trace, name))
    items: list[Entity | Group | str] = list(states[index])
    changed = _changed(items[fact.item], fact.part, text.strip())
    items[fact.item : fact.item + 1] = [changed] if changed else []
    states[index] = tuple(items)  # type: ignore[assignment]  # items keep the level's type
    changed_trace = replace(walked.trace, **{name: tuple(states)})  # type: ignore[arg-type]  # `name` is a field with states
    return walk(walked.row, changed_trace, embedder_of(embedding))


def _changed(item: Entity | Group | str, part: int | None, text: str) -> Entity | Group | str | None:
    """The item with one part replaced; None if it is removed."""
    if isinstance(item, str):
        return text or None
    if part is None:
        return replace(item, identity=text) if text else None
    if isinstance(item, Entity):
        attributes = [*item.attributes]
        attributes[part : part + 1] = [Attribute(attributes[part].name, text)] if text else []
        return replace(item, attributes=tuple(attributes))
    statements = [*item.statements]
    statements[part : part + 1] = [text] if text else []
    return replace(item, statements=tuple(statements))


def price(asked: Selection) -> str:
    """Describe how many model calls the pair needs."""
    steps = sum(len(row.trajectory) for row in (asked.pair.positive, asked.pair.negative))
    asking = operators_of(asked.method)
    answering: Engine = engine_strings.routed(asked.engine, {}, asking, METHODS[asked.method].title)
    models = [engine.label for name in asking if (engine := answering.of(name)).kind in MODELS]
    if not models:
        return f"{steps} steps, free"
    return f"{steps * len(models)} calls of {' and '.join(dict.fromkeys(models))}, less what is cached"


class Rewards(Panel):
    """The panel: controls, the drawing of a step, and a fact to edit. Arguments are the controls' first values."""

    alternative = "A state's objects and attributes, and their similarity to the goal"

    def __init__(
        self, domain: str = "alfworld", number: int = 0, engine: str = "rules", embedding: str = DEFAULT,
        data: str = "synthetic", seed: int = 0, step: int = -1, values: Values = "fragments",
    ) -> None:  # fmt: skip
        fields: dict[str, Any] = {
            "engine": engine,
            "embedding": embedding,
            "data": data,
            "seed": seed,
            "values": values,
        }
        self.first = Selection(domain, number, **fields)
        steps = len(
            self.first.pair.positive.trajectory
        )  # first, since it raises a clear error for an unknown domain or pair
        self.followed: PairWalkthrough | None = None
        self.selected = self.first  # the selection behind `followed`
        self.changed: Walkthrough | None = None  # with the edited fact
        options = {"style": STYLE, "layout": Layout(width="32em")}
        self.world = Dropdown(options=[(world.title, name) for name, world in BY_NAME.items()], value=domain,
                              description="world", **options)  # fmt: skip
        self.task = Dropdown(description="task", **options)
        predictors = [(method.title, name) for name, method in METHODS.items() if name not in EXTRACTIONS]
        self.predictor = Dropdown(options=[("StateFactory", METHOD), *predictors], description="predictor", **options)
        self.level = Dropdown(options=[(level.replace("_", "-"), level) for level in LEVELS], description="level",
                              value=self.first.level, style=STYLE, layout=WIDE)  # fmt: skip
        names = [name for name, present in known().items() if present]
        self.embedding = Combobox(value=embedding, options=names, description="embedding", continuous_update=False,
                                  **options)  # fmt: skip
        self.engine = engine_box("engine", engine)
        self.step = IntSlider(1, min=1, max=steps, description="step", continuous_update=False, style=STYLE,
                              layout=Layout(width="48em"))  # fmt: skip
        self.fact = Dropdown(description="fact", options=[], **options)
        self.text = Text(description="in other words", continuous_update=False, **options)
        self.moved, self.about = HTML(), HTML()
        self.drawing = Image(format="png", layout=Layout(max_width="100%"))
        self._list_tasks()
        self.task.value = number
        self.play = Action("Follow the trajectory", self.follow, lambda: price(self.asked()), self.asked,
                           [self.about, self.drawing])  # fmt: skip
        selection = VBox([self.world, self.task, self.predictor, row(self.level), self.embedding, self.engine])
        edit = VBox([HTML("<b>Edit a fact at this step</b>"), self.fact, self.text, self.moved])
        super().__init__([row(selection, edit), self.play, self.step, self.about, self.drawing])
        self.world.observe(lambda _: self._list_tasks(), "value")
        on_change((self.world, self.task, self.predictor, self.level, self.embedding, self.engine), self._refresh)
        self.step.observe(lambda _: self._look(), "value")
        self.fact.observe(lambda _: self._offer(), "value")
        self.text.observe(lambda _: self.edit(), "value")
        self.follow(step)

    def asked(self) -> Selection:
        """The current values of the controls."""
        return replace(
            self.first, domain=self.world.value, number=self.task.value, predictor=self.predictor.value,
            level=self.level.value, embedding=self.embedding.value.strip(), engine=self.engine.value.strip(),
        )  # fmt: skip

    def follow(self, step: int = -1) -> None:
        """Run the predictor on the pair and display a step (from 1; -1 for the last).

        Raises as `Selection.follow`, and ValueError if the step does not exist.
        """
        selected = self.asked()
        self.followed, self.selected = selected.follow(), selected
        self.play.made()
        before, index = self.step.value, self.followed.positive.index_of(step)
        with self.step.hold_trait_notifications():
            self.step.max, self.step.value = len(self.followed.positive), index + 1
        if self.step.value == before:  # otherwise the slider's observer displayed it already
            self._look()

    def edit(self) -> None:
        """Replace the fact by the text and display how the reward changes. Errors are displayed as text."""
        fact, followed = self.fact.value, self.followed
        if followed is None or fact is None or self.text.value == fact.text:
            self.moved.value = ""
            if self.changed:
                self.changed = None
                self._draw()
            return
        try:
            self.changed = edited(followed.positive, self.step.value, fact, self.text.value, self.selected.embedding)
        except Exception as error:
            self.changed, self.moved.value = None, warning(words(error))
            return
        index = self.step.value - 1
        old_reward, new_reward = followed.positive.rewards[index], self.changed.rewards[index]
        self.moved.value = (
            f"reward of step {index + 1}: {old_reward:.3f} → <b>{new_reward:.3f}</b> ({new_reward - old_reward:+.3f})"
        )
        self._draw()

    def picture(self) -> bytes:
        """The drawing of the step, as PNG."""
        return bytes(self.drawing.value)

    def _list_tasks(self) -> None:
        try:
            members: Sequence[Pair] = figure4.pairs_of(self.world.value, self.first.data, self.first.seed)
        except Exception as error:  # such as missing data
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
        """Display the selected step: its facts, texts and drawing."""
        if not self.followed:
            return
        walked, index = self.followed.positive, self.step.value - 1
        record = walked.row.trajectory[index]
        self.about.value = (
            f"<b>{escaped(record.action)}</b> → {escaped(shortened(record.observation, SHOWN))}<br>"
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
        """Put the selected fact into the text field; this discards an edit of another fact."""
        self.text.value = self.fact.value.text if self.fact.value else ""
        self.edit()

    def _draw(self) -> None:
        from statefactory import plots  # which loads matplotlib

        if self.followed:
            followed, walked = self.followed, self.changed or self.followed.positive
            note = followed.note + (" · one fact edited" if self.changed else "")
            self.drawing.value = png(lambda: plots.draw_walkthrough(walked, followed.negative, self.step.value, note))
