"""The `rules` engine: answers from hand-written functions of a prompt's fields, optionally with seeded noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from lab.models import standins
from lab.models.backbone import Answer, request_of
from lab.models.cache import key_of
from lab.models.engines import ORACLE, Engine
from lab.models.noise import Corruption, certifies, corrupted, corruption_of, within_schema
from lab.models.prompts import AnswerModel, Fields, Prompt
from lab.models.rendering import shuffled
from lab.models.usage import Call

Rule = Callable[[Any], AnswerModel]
R = TypeVar("R", bound=Rule)
_rules: dict[str, Rule] = {}


class NoRule(LookupError):
    """The rules engine was asked a prompt that no rule answers, or `oracle` about a world that none knows."""


def rule(prompt: Prompt) -> Callable[[R], R]:
    """Register a function of the prompt's fields as its rule. Raises ValueError if the prompt has one already."""

    def register(function: R) -> R:
        known = _rules.get(prompt.name)
        # The same function again is its module loaded a second time, as a notebook's reload does.
        if known is not None and known.__qualname__ != function.__qualname__:
            raise ValueError(f"Prompt {prompt.name} has a rule already: {known.__qualname__}")
        _rules[prompt.name] = function
        return function

    return register


def rule_of(prompt: Prompt) -> Rule | None:
    """The function that answers the prompt, if there is one."""
    standins.load(prompt.name)
    return _rules.get(prompt.name)


NONE: Mapping[str, Any] = MappingProxyType({})


class Known(NamedTuple):
    """What rules answer with, and how that goes wrong where no noise is registered; by prompt name."""

    answers: Mapping[str, Rule] = NONE
    errors: Mapping[str, Corruption] = NONE


_of_episode: ContextVar[Known] = ContextVar("_of_episode")
Knowing = Callable[..., Known]
_oracles: dict[str, Knowing] = {}
K = TypeVar("K", bound=Knowing)


def knows(name: str) -> Callable[[K], K]:
    """Register a function of an episode as the oracle of that name: it returns the answers that `oracle` gives."""

    def register(function: K) -> K:
        _oracles[name] = function
        return function

    return register


def knowing(name: str, *episode: Any) -> AbstractContextManager[None]:
    """A context in which the engine `oracle` answers as the oracle of that name, told the episode. Raises NoRule."""
    standins.load(name)
    if name not in _oracles:
        raise NoRule(f"No oracle is registered for {name} (lab.models.rules.knows). Use another engine")
    return oracle(*_oracles[name](*episode))


@contextmanager
def oracle(known: Mapping[str, Rule], errors: Mapping[str, Corruption] = NONE) -> Iterator[None]:
    """Within, these functions answer for the engine `oracle`, by prompt name; they know how the episode is solved.

    errors: the noise of prompts for which none is registered, where it takes knowledge of the episode as well.
    """
    token = _of_episode.set(Known(known, errors))
    try:
        yield
    finally:
        _of_episode.reset(token)


class Rules:
    """Answers with the registered rules.

    With noise (`rules@p`) an answer stays right with probability `engine.kept(…)`, else it is replaced by a wrong one
    (see `lab.models.noise`). corruptions, answers: prompt name -> a function in place of the registered noise or rule.
    The draw is a function of (seed, prompt, fields, sample) alone: the same question gets the same answer in any order
    and in any process, and a higher rate corrupts a superset of the answers.
    """

    def __init__(
        self, engine: Engine, corruptions: Mapping[str, Corruption] | None = None, answers: Mapping[str, Rule] = NONE
    ) -> None:
        self.engine = engine
        self._corruptions, self._answers = corruptions or {}, answers
        self._seed = engine.options.get("seed", 0)
        self._errs = engine.noisy

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Raises NoRule and LookupError if the prompt has no rule or no corruption, ValueError for unknown fields.

        Raises ValueError if the corruption makes what no model could answer.
        """
        standins.load(prompt.name)
        seen = shuffled(prompt, prompt.fill(**fields), self.engine)
        value, path = _answer(prompt, seen.fields, self._known.answers), "rules"
        if self._errs:
            value, path = self._noisy(prompt, seen.fields, value, sample)
        return Answer(seen.restored(value), Call(prompt.operator, prompt.name, path), text=seen.as_shown(value))

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The request hash under which a recording keeps the answer."""
        return request_here(self.engine, prompt, sample, fields)

    @property
    def _known(self) -> Known:
        if self.engine.name == ORACLE:
            return _of_episode.get(Known())
        return Known({**_rules, **self._answers} if self._answers else _rules)

    def _noisy(self, prompt: Prompt, fields: Fields, value: AnswerModel, sample: int) -> tuple[AnswerModel, str]:
        random = Random(key_of([self._seed, prompt.name, fields.model_dump(mode="json"), sample]))
        # Drawn before anything else, and whatever the rate is: only so are corrupted answers nested across rates.
        if random.random() < self.engine.kept(certifies(prompt, value)):
            return value, "rules"
        noise = self._corruptions.get(prompt.name) or corruption_of(prompt) or self._known.errors.get(prompt.name)
        wrong = (noise or partial(corrupted, prompt))(fields, value, random)
        # Where the schema leaves one answer only, a model has to give it as well.
        return (value, "rules") if wrong == value else (within_schema(prompt, fields, wrong), "corrupted")


def request_here(engine: Engine, prompt: Prompt, sample: int, values: Mapping[str, Any]) -> str:
    """The request hash of an engine that answers from a prompt's fields, without a model."""
    fields = shuffled(prompt, prompt.fill(**values), engine).fields
    return key_of(request_of(prompt.narrowed(fields), prompt.render(fields), engine, "rules", sample))


def _answer(prompt: Prompt, fields: Fields, known: Mapping[str, Rule]) -> AnswerModel:
    try:
        function = known[prompt.name]
    except KeyError:
        who = "rule" if known is _rules else "oracle"
        raise NoRule(
            f"No {who} answers prompt {prompt.name}. Register a rule with @lab.models.rules.rule(PROMPT), "
            "or use a model as engine"
        ) from None
    return function(fields)
