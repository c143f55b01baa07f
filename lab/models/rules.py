"""The `rules` engine: answers from hand-written functions of a prompt's fields, with seeded noise.

Modules that register rules, noise and oracles are stand-ins. Nothing imports them; they are entry points, loaded when
the engine `rules` or `oracle` is first asked one of their prompts:

    [project.entry-points."lab.standins"]
    procllm = "standins.procllm.agent"          # for every prompt whose name begins with "procllm."

Noise is not part of a prompt, which defines what a model is asked. It produces only what a model could answer: a wrong
answer passes the schema, narrowed to the fields, that binds a model. A prompt that judges (Validate, Verify) is
registered by `verdict`. It has two error rates, since real judges accept wrong steps far more often than they reject
right ones (data/published/judge_errors.csv).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import ValidationError

from lab.machine.files import key_of
from lab.models.answers import AnswerModel, FreeText, faults
from lab.models.backbone import Answer, Call
from lab.models.engines import ORACLE, Engine
from lab.models.prompts import Fields, Prompt
from lab.models.rendering import rendered, shuffled

GROUP = "lab.standins"
Rule = Callable[[Any], AnswerModel]
Corruption = Callable[[Any, Any, Random], Any]  # fields, the right answer, randomness -> another answer
Reading = Callable[[Any], bool]  # answer of a judging prompt -> whether it certifies
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
_rules: dict[str, Rule] = {}
_corruptions: dict[str, Corruption] = {}
_readings: dict[str, Reading] = {}
_tables: tuple[dict[str, Any], ...] = (_rules, _corruptions, _readings)
NONE: Mapping[str, Any] = MappingProxyType({})


class NoRule(LookupError):
    """No rule answers this prompt, or no oracle is registered for this world."""


@cache
def load(name: str) -> None:
    """Import the stand-ins for a prompt or an oracle of this name, if they are installed. Raises ImportError."""
    for point in _stand_ins():
        if f"{name}.".startswith(f"{point.name}."):
            try:
                point.load()
            except ModuleNotFoundError as error:
                # The whole package may be missing; another missing module is a mistake.
                if error.name != point.module.partition(".")[0]:
                    raise


@cache
def _stand_ins() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))  # takes 20 ms, since it reads the metadata of all packages


def _into(table: dict[str, Any], name: str) -> Callable[[F], F]:
    def register(function: F) -> F:
        table[name] = function
        return function

    return register


def rule(prompt: Prompt) -> Callable[[F], F]:
    """Register a function of the prompt's fields as its rule. Raises ValueError if the prompt has one already."""

    def register(function: F) -> F:
        registered = _rules.get(prompt.name)
        # The same function again: its module was reloaded, as in a notebook.
        if registered is not None and registered.__qualname__ != function.__qualname__:
            raise ValueError(f"Prompt {prompt.name} has a rule already: {registered.__qualname__}")
        return _into(_rules, prompt.name)(function)

    return register


def rule_of(prompt: Prompt) -> Rule | None:
    """The function that answers the prompt, if there is one."""
    load(prompt.name)
    return _rules.get(prompt.name)


def corruption(prompt: Prompt) -> Callable[[F], F]:
    """Register a function of (fields, answer, random) as the prompt's noise; a later one replaces it."""
    return _into(_corruptions, prompt.name)


def corruption_of(prompt: Prompt) -> Corruption | None:
    """The prompt's noise function, if there is one."""
    load(prompt.name)
    return _corruptions.get(prompt.name)


def verdict(prompt: Prompt) -> Callable[[F], F]:
    """Register how to read the answer of a prompt that judges: a function of the answer, True if it certifies."""
    return _into(_readings, prompt.name)


def within_schema(prompt: Prompt, fields: Fields, answer: AnswerModel) -> AnswerModel:
    """The answer, if a model could have given it to this prompt with these fields. Raises ValueError."""
    try:
        prompt.narrowed(fields).answer.model_validate_json(answer.model_dump_json())
    except ValidationError as error:
        raise ValueError(
            f"The noise of prompt {prompt.name} made an answer that its schema does not allow: {faults(error)}. "
            "Let the corruption draw from what the prompt offers"
        ) from None
    return answer


def corrupted(prompt: Prompt, fields: Fields, answer: AnswerModel, random: Random) -> Any:
    """A wrong answer to replace `answer`; by default another option, if the answer names one of those listed.

    Raises LookupError for a prompt without noise.
    """
    if function := corruption_of(prompt):
        return function(fields, answer, random)
    if listing := prompt.listing(fields):
        free, typed = isinstance(answer, FreeText), cast(Any, answer)
        if free and listing.form:
            typed = listing.form(fields).from_text(typed.text)
        named, options = getattr(typed, listing.answer, None), listing.names(listing.options(fields))
        if named is not None and not isinstance(named, list):  # of several that are named, nothing says which go wrong
            others = [option for option in options if option != named]
            if not others:
                return answer  # one option leaves nothing to get wrong
            wrong = typed.model_copy(update={listing.answer: random.choice(others)})
            return FreeText(text=wrong.as_text()) if free else wrong
    raise LookupError(
        f"Nothing says how an answer to prompt {prompt.name} goes wrong. Register a function with "
        "@lab.models.rules.corruption(PROMPT), or use the engine without a probability"
    )


class Known(NamedTuple):
    """answers: prompt name -> rule. errors: prompt name -> noise, for prompts without registered noise."""

    answers: Mapping[str, Rule] = NONE
    errors: Mapping[str, Corruption] = NONE


_of_episode: ContextVar[Known] = ContextVar("_of_episode")
_oracles: dict[str, Callable[..., Known]] = {}


def knows(name: str) -> Callable[[F], F]:
    """Register a function of an episode as the oracle of that name; it returns the arguments of `oracle`."""
    return _into(_oracles, name)


def knowing(name: str, *episode: Any) -> AbstractContextManager[None]:
    """A context in which the engine `oracle` answers by the oracle of that name, given the episode. Raises NoRule."""
    load(name)
    if name not in _oracles:
        raise NoRule(f"No oracle is registered for {name} (lab.models.rules.knows). Use another engine")
    return oracle(*_oracles[name](*episode))


@contextmanager
def oracle(known: Mapping[str, Rule], errors: Mapping[str, Corruption] = NONE) -> Iterator[None]:
    """A context in which these functions answer for the engine `oracle`; they know the episode's solution.

    known: prompt name -> rule. errors: prompt name -> noise that also needs to know the episode, for prompts without
    registered noise.
    """
    token = _of_episode.set(Known(known, errors))
    try:
        yield
    finally:
        _of_episode.reset(token)


class Rules:
    """Answers with the registered rules.

    With noise (`rules@p`) an answer stays right with probability `engine.kept(…)`, else it is replaced by a wrong one
    (see `lab.models.rules`). corruptions, answers: prompt name -> a function in place of the registered noise or rule.
    The random numbers depend on (seed, prompt, fields, sample) alone: the same question gets the same answer in any
    order and in any process, and a higher error rate corrupts a superset of the answers.
    """

    def __init__(
        self, engine: Engine, corruptions: Mapping[str, Corruption] | None = None, answers: Mapping[str, Rule] = NONE
    ) -> None:
        self.engine = engine
        self._corruptions, self._answers = corruptions or {}, answers
        self._seed = engine.options.get("seed", 0)
        self._errs = engine.noisy

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Answer by the prompt's rule, with noise if the engine has any.

        Raises NoRule if the prompt has no rule, LookupError if it has no noise.
        Raises ValueError for unknown fields, and for noise that no model could answer.
        """
        load(prompt.name)
        view = shuffled(prompt, prompt.fill(**fields), self.engine)
        if prompt.name not in (answers := self._known.answers):
            raise NoRule(
                f"No {self.engine.name.removesuffix('s')} answers prompt {prompt.name}. Register a rule with "
                "@lab.models.rules.rule(PROMPT), or use a model as engine"
            )
        value, path = answers[prompt.name](view.fields), "rules"
        if self._errs:
            value, path = self._noisy(prompt, view.fields, value, sample)
        return Answer(view.restored(value), Call(prompt.operator, prompt.name, path), text=view.as_shown(value))

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The request hash under which a recording keeps the answer."""
        return rendered(prompt, fields, self.engine).key(sample)

    @property
    def _known(self) -> Known:
        if self.engine.name == ORACLE:
            return _of_episode.get(Known())
        return Known({**_rules, **self._answers} if self._answers else _rules)

    def _noisy(self, prompt: Prompt, fields: Fields, value: AnswerModel, sample: int) -> tuple[AnswerModel, str]:
        random = Random(key_of([self._seed, prompt.name, fields.model_dump(mode="json"), sample]))
        # The first random number decides, whatever the rate: so the corrupted answers are nested across rates.
        reading = _readings.get(prompt.name)
        if random.random() < self.engine.kept(reading(value) if reading else None):
            return value, "rules"
        noise = self._corruptions.get(prompt.name) or corruption_of(prompt) or self._known.errors.get(prompt.name)
        wrong = (noise or partial(corrupted, prompt))(fields, value, random)
        # If the schema allows only one answer, a model must give it, too.
        return (value, "rules") if wrong == value else (within_schema(prompt, fields, wrong), "corrupted")


def taken() -> tuple[dict[str, Any], ...]:
    """Rules and noise that a notebook or a script defines, for worker processes that never ran it.

    Those of a module are registered wherever it is imported. Functions of `__main__` are sent by value with the
    episodes.
    """
    return tuple(
        {name: function for name, function in table.items() if getattr(function, "__module__", "") == "__main__"}
        for table in _tables
    )


def played(carried: tuple[dict[str, Any], ...], play: Callable[[str], R], task: str) -> R:
    """Register the `carried` rules and noise (see `taken`), and play a task."""
    for table, functions in zip(_tables, carried, strict=True):
        table.update(functions)
    return play(task)
