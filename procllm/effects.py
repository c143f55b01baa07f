"""Check that the offline verifier can read a network's effects; suggest the nearest readable one if not.

A model reads any effect. The rules of the engine `rules` read the effects of the domain's own networks and similar
wordings. For any other effect they only check that its files are not empty, so the task would pass unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher, get_close_matches

from lab.models import rules
from procllm.conditions import ALL, LLM, network_of
from procllm.domains import Domain
from procllm.network import BadNetwork, Method, Network, Task
from procllm.prompts import VERIFYING

Reader = Callable[[Domain, Network], list[Task]]
NEAR = 0.8  # difflib's similarity from which a word counts as another one misspelt
SUFFIXES = ("", "s", "es", "d", "ed", "ing")
_readers: list[Reader] = []


def reader(function: Reader) -> Reader:
    """Register the function that lists the effects which no rule can read; a later one replaces it."""
    _readers[:] = [function]
    return function


def unread(domain: Domain, network: Network) -> list[Task]:
    """The tasks whose effect no rule can read, each as often as it is worked off; empty if no rules are installed."""
    rules.load(VERIFYING.name)
    return [task for read in _readers for task in read(domain, network)]


def check(domain: Domain, network: Network) -> Network:
    """Return the network if rules can read its effects.

    The effects of the domain's own networks pass, also the placebo's, which have no content on purpose.
    Raises BadNetwork for an unreadable effect, or a misspelt word in one, and names the nearest readable effect.
    """
    known = [method for condition in ALL for method in _methods(condition, domain)]
    effects = {method.effect for method in known}
    for task in unread(domain, network):
        if task.effect not in effects:
            raise BadNetwork(_refusal(task, "", known))
    vocabulary = {*_words(domain.specification), *_words(domain.tools_specification)}
    vocabulary |= {word for method in known for text in (method.task, method.effect) for word in _words(text)}
    forms = {form for word in vocabulary for form in _forms(word)}
    for _, name in network.tree():
        task = network.task(name)
        for word in () if task.effect in effects else _words(task.effect):
            if word not in forms and get_close_matches(word, vocabulary, 1, NEAR):
                raise BadNetwork(_refusal(task, word, known))
    return network


def _methods(condition: str, domain: Domain) -> Iterable[Method]:
    try:
        return () if condition == LLM else network_of(condition, domain).methods
    except BadNetwork:  # a condition that this domain does not have
        return ()


def _refusal(task: Task, word: str, known: Iterable[Method]) -> str:
    def nearness(method: Method) -> float:
        pairs = ((method.task, task.name), (method.effect, task.effect))
        return max(SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in pairs)

    nearest = max(known, key=nearness)
    unknown = f": it knows no {word!r}" if word else ""
    return (
        f"No check can read the effect of task {task.name!r}, {task.effect!r}{unknown}. The nearest that can be read "
        f"is {nearest.effect!r}, the effect of task {nearest.task!r}; word it so, or let a model verify"
    )


def _words(text: str) -> Iterator[str]:
    return iter(re.findall(r"[a-z]{4,}", text.lower()))


def _forms(word: str) -> Iterator[str]:
    """The inflections of the word's possible stems."""
    bases = {word.removesuffix(suffix) for suffix in SUFFIXES if len(word) - len(suffix) > 3}
    for base in {*bases, *(base.removesuffix("e") for base in bases)}:
        yield from (base + suffix for suffix in (*SUFFIXES, "e"))
