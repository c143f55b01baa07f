"""The networks of §5 and others as conditions of studies on the four domains; and settings that these studies share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lab.runs.study import Condition, Metric, Settings, Study, register
from lab.runs.trial import Trial
from procllm import conditions
from procllm.domains import NAMES, Domain, domain
from procllm.domains import register as register_domain
from procllm.experiments.episodes import MADE_BY, Episodes
from procllm.experiments.floors import CONSTANTS, Answering
from procllm.loop import BOTH, HORIZON, NARROW, PROGRAM, TURNS
from procllm.prompts import CHECKING

TITLES = {name: domain(name).title for name in NAMES}
TRAVEL, RECIPES, BLOCKS, UNITS = TITLES.values()
LIMITS = {"synthetic": {TRAVEL: 4}}  # the other domains generate any number
SUCCESS = Metric("success, {benchmark}", "success", "rate")


def _on(*titles: str) -> dict[str, Any]:
    """Title -> experiment, for these domains."""
    return {title: PLAYS[title] for title in titles}


PLAYS = {title: partial(Episodes, domain=name) for name, title in TITLES.items()}
HUMAN = Condition(conditions.HUMAN, PLAYS, {"network": conditions.HUMAN}, recorded=True)
LLM = HUMAN.but(conditions.LLM, "network", conditions.LLM)
PLACEBO = HUMAN.but(conditions.PLACEBO, "network", conditions.PLACEBO, role="placebo")
NONE = HUMAN.but(conditions.NONE, "network", conditions.NONE)
EXTENDED = HUMAN.but(conditions.EXTENDED, "network", conditions.EXTENDED, recorded=False)
HUMAN_PAPER = HUMAN.but(
    conditions.HUMAN_PAPER, "network", conditions.HUMAN_PAPER, recorded=False, plays=_on(TRAVEL, UNITS)
)
LLM_PAPER = HUMAN.but(conditions.LLM_PAPER, "network", conditions.LLM_PAPER, plays=_on(BLOCKS, UNITS))
BEST_OF_4 = NONE.but(f"{NONE.name}, best of 4", "attempts", 4, recorded=False)  # sharing the horizon
NARROWED = HUMAN.but(f"{HUMAN.name}, narrowed", "form", NARROW, recorded=False)
BY_TURNS, NONE_BY_TURNS = (base.but(f"{base.name}, by turns", "form", TURNS, recorded=False) for base in (HUMAN, NONE))
CHECKED = BY_TURNS.but(f"{BY_TURNS.name}, verified by program", "verified_by", PROGRAM)
CHECKED_TWICE = BY_TURNS.but(f"{BY_TURNS.name}, verified by both", "verified_by", BOTH)
CONSTANT = Condition(
    "constant answer",
    {TITLES[name]: partial(Answering, domain=name, answer=answer) for name, answer in CONSTANTS.items()},
    {"network": conditions.NONE},
    role="null",
)
COPIED = "copied entries"
EVERYWHERE = (HUMAN, LLM, PLACEBO, NONE, BEST_OF_4, EXTENDED, NARROWED, BY_TURNS, CHECKED, CHECKED_TWICE, NONE_BY_TURNS)
ALL = (*EVERYWHERE, HUMAN_PAPER, LLM_PAPER, CONSTANT)


def source(trial: Trial, benchmark: str) -> str:
    """The data, and the engine that made LLM-TN's networks."""
    makers = f", LLM-TN's networks of {trial.options['maker']}" if LLM.name in trial.methods_of(benchmark) else ""
    return f"{trial.data_of(benchmark)} data{makers}"


def programs(trial: Trial) -> dict[str, str]:
    """Route the operator `check` to rules if a condition asks it; an engine that the user names has priority."""
    verifiers = {trial.of.condition(name).settings.get("verified_by") for name in trial.methods}
    verifiers |= {value for name, value in trial.options.items() if name.rpartition(":")[2] == "verified_by"}
    return {CHECKING.operator: "rules"} if verifiers & {PROGRAM, BOTH} and trial.who.kind != "replay" else {}


def declared(
    name: str, benchmarks: Sequence[str], played: Sequence[Condition], options: Settings | None = None,
    known: Sequence[Condition] = ALL, **other: Any,
) -> Study:  # fmt: skip
    """A study of success, compared with No-TN. played: the default conditions; the other known ones run if named."""
    extra = tuple(condition.but(condition.name, extra=True) for condition in known if condition not in played)
    shared = {"horizon": HORIZON, "nudge": False, "maker": MADE_BY}
    fields: dict[str, Any] = {"metrics": (SUCCESS,), "metric": "success", "against": NONE.name, "source": source}
    fields |= {
        "packages": Episodes.packages,
        "options": {**(options or {}), **shared},
        "limits": LIMITS,
        "others": programs,
        **other,
    }
    return register(Study(name, tuple(benchmarks), (*played, *extra), **fields))


def of_own(
    name: str, *domains: Domain, constant: str = "", copy: Callable[[str], str] | None = None, **other: Any
) -> Study:
    """A study of a reader's own domains: Human-TN, Placebo-TN and No-TN on each; the other conditions run if named.

    Rows are success and iterations. constant: the answer of the null model `constant answer`. copy(request): the answer
    of the null model `copied entries`, which exists if this is given. other: fields of `Study`, such as `limits`.
    Raises BadNetwork for an invalid network, and ValueError for a name that a domain of §5 has.
    """
    plays = {register_domain(each).title: partial(Episodes, own=each) for each in domains}
    known = {each.name: each.but(each.name, plays=plays) for each in EVERYWHERE}
    answers = {each.title: partial(Answering, own=each, answer=constant) for each in domains}
    known[CONSTANT.name] = CONSTANT.but(CONSTANT.name, plays=answers)
    if copy:
        copies = {each.title: partial(Answering, own=each, copy=copy) for each in domains}
        known[COPIED] = CONSTANT.but(COPIED, plays=copies)
    metrics = (SUCCESS, Metric("iterations, {benchmark}", "iterations", "mean", scale=1))
    played = [known[each.name] for each in (HUMAN, PLACEBO, NONE)]
    return declared(name, [*plays], played, known=[*known.values()], **{"metrics": metrics, "limits": {}, **other})
