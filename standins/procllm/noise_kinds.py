"""Ablation of the noise: which kinds of simulated mistakes make the conditions differ.

`rules@p` makes three kinds of mistakes: a text with a mistake or a needless read, a premature Verify, and a wrong
verdict. Under the placebo, rules work on the answer, as under any task that they do not understand. An idle agent,
which only verifies there, shows how much of the placebo's gain comes from this work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lab.models.backbone import Backbone
from lab.models.connect import Routed
from lab.models.engines import parse
from lab.models.rules import Rules
from lab.results.statistics import compare, holm, wilson
from lab.runs.trial import Trial
from procllm.actions import Response, Verify, stated
from procllm.conditions import HUMAN, NONE, PLACEBO, network_of
from procllm.domains import Instance, domain
from procllm.experiments.episodes import Episodes
from procllm.loop import play
from procllm.network import TOP
from procllm.prompts import ACTING, VERIFYING, ActFields
from standins.procllm import agent
from standins.procllm.noise import noisy_action

if TYPE_CHECKING:
    import pandas as pd


# remaining mistakes -> whether Verify may be premature, and whether verdicts may be wrong
NOISES = {
    "all, as elsewhere": (True, True),
    "no Verify too early": (False, True),
    "no wrong verdicts": (True, False),
    "neither": (False, False),
}
IDLE = f"{PLACEBO}, idle agent"
BESIDE = (HUMAN, PLACEBO, IDLE)  # each is compared with No-TN


def idle(fields: ActFields) -> Response:
    """The rules' action for the top task; any other task is verified at once, without work."""
    if fields.task == TOP:
        return agent.act(fields)
    return Response(observation="", thought="I leave the work to the top task.", action=stated(Verify()))


def noisy(level: float, kinds: str, seed: int, agent_is_idle: bool = False) -> Backbone:
    """Rules that make only the mistakes of one entry of NOISES, which are sampled as with the full noise."""
    early, verdicts = NOISES[kinds]
    corruptions = {} if early else {ACTING.name: partial(noisy_action, early=False)}
    answers = {ACTING.name: idle} if agent_is_idle else {}
    rules = Rules(parse(f"rules@{level:g}?seed={seed}"), corruptions, answers)
    return rules if verdicts else Routed(rules, {VERIFYING.operator: Rules(parse("rules"))})


def taken_apart(level: float, trial: Trial) -> pd.DataFrame:
    """Success in percent with each kind of mistake left out, for each of BESIDE paired with No-TN.

    trial: gives the domains, sizes and seed. There is a row for each domain, size, kind of mistake and network. A rate
    has its Wilson interval, the difference a bootstrap interval over instances. p is McNemar's; p (Holm) is adjusted
    over all rows.
    """
    import pandas as pd

    experiments: dict[str, Episodes] = {benchmark: trial.part(benchmark, HUMAN) for benchmark in trial.datasets}
    lines = [
        {"domain": benchmark, "size": size, "mistakes": kinds} | line
        for benchmark, experiment in experiments.items()
        for size, instances in experiment.by_size().items()
        for kinds in NOISES
        for line in _lines(level, kinds, experiment.domain, [*instances.values()], trial.seed)
    ]
    adjusted = {"p (Holm)": holm([line["McNemar p"] for line in lines])}
    return pd.DataFrame(lines).assign(**adjusted, evidence="simulated", backbone=f"rules@{level:g}")


def _lines(level: float, kinds: str, name: str, instances: Sequence[Instance], seed: int) -> Iterator[dict[str, Any]]:
    def solved(condition: str) -> dict[str, float]:
        backbone = noisy(level, kinds, seed, agent_is_idle=condition == IDLE)
        network = network_of(PLACEBO if condition == IDLE else condition, domain(name))
        return {instance.id: float(play(domain(name), instance, network, backbone).success) for instance in instances}

    without = solved(NONE)
    for condition in BESIDE:
        scores = solved(condition)
        result = compare(scores, without)
        value, low, high = (100 * bound for bound in result.difference)
        yield {
            "condition": condition, **_rate("success", scores), **_rate(NONE, without), "difference": value,
            "ci_low": low, "ci_high": high, "McNemar p": result.mcnemar, "n": result.n,
        }  # fmt: skip


def _rate(name: str, scores: dict[str, float]) -> dict[str, float]:
    bounds = (100 * bound for bound in wilson(sum(scores.values()), len(scores)))
    return dict(zip((name, f"{name} low", f"{name} high"), bounds, strict=True))
