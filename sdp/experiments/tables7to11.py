"""Tables 7 to 11: every setting of SDP's experiments, what the paper says of it, and what is set here and why.

The bodies of the paper's tables were not recovered; what its text says of them is in `data/published/sdp_tables.csv`.
What is set here is read from the code that runs, never typed again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.models import endpoint
from lab.notebooks import deviations
from lab.results import tables
from lab.results.exports import EMPTY
from sdp.adapters.assistantbench import adapter as web_adapter
from sdp.adapters.assistantbench import browser
from sdp.adapters.assistantbench import prompts as web_prompts
from sdp.adapters.multihop import adapter, filters, prompts
from sdp.adapters.scienceworld.prompts import PLAN
from sdp.adapters.travelplanner import options
from sdp.experiments import assistantbench, multihop, scienceworld
from sdp.experiments.certifying import Certifying
from sdp.experiments.travelplanner import Setup, play
from sdp.loop import Settings
from sdp.studies.table5 import CORPORA
from worlds.multihop import world
from worlds.scienceworld.tasks import PROTOCOL_VARIATIONS

if TYPE_CHECKING:
    import pandas as pd

# The published table of each benchmark.
TABLES = {
    "TravelPlanner": "Table 7 config TravelPlanner",
    "ScienceWorld": "Table 8 config ScienceWorld",
    "AssistantBench": "Table 9 config AssistantBench",
    "HotpotQA": "Table 10 config HotpotQA",
    "MuSiQue": "Table 11 config MuSiQue",
}
NOT_RECOVERED, NOT_SAID = "not recovered", "not said"
PAPER = "the paper"
LENGTHS = "predicates 3d/1c, 5d/2c, 7d/3c"


class Setting(NamedTuple):
    """One setting. published: its name among the paper's values, "" for one that the paper does not have. parameter:
    what a user changes, "" for nothing. value: as it is set. source: the paper, or the reason for our choice. said:
    what the paper says, where it is no value.
    """

    words: str
    published: str
    parameter: str
    value: Any
    source: str
    said: str = ""


def looped(loop: Settings) -> list[Setting]:
    """What is set of the loop, but for its budget and its cap, of which the paper says something else everywhere."""
    return [
        _chosen("b is spent where", "Settings.retry_while", loop.retry_while),
        _chosen("a call of Propose gives", "Settings.propose", loop.propose),
        Setting("Validate", "", "Settings.validate", loop.validate, PAPER, "Algorithm 1; off in an ablation, §4.3"),
        Setting("Replan", "", "Settings.replan", loop.replan, PAPER, "Algorithm 1; off in an ablation, §4.3"),
        Setting("cascade", "", "Settings.cascade", loop.cascade, PAPER, "Algorithm 1; off in an ablation, §4.3"),
    ]


def asked(setup: Certifying) -> list[Setting]:
    """What is set of whoever answers, and of the seed."""
    return [
        Setting("temperature", "temperature", "engine=MODEL?temperature=", endpoint.TEMPERATURE, PAPER),
        Setting("who answers", "backbone", "Setup.engine", setup.engine, "our choice: it runs offline"),
        Setting("one try of a call, s", "", "engine=MODEL?timeout=", endpoint.TIMEOUT, "our choice"),
        Setting("retries of a call, s", "", "engine=MODEL?patience=", endpoint.PATIENCE, "our choice"),
        Setting("seed of synthetic data and noise", "", "Setup.seed", setup.seed, "our choice"),
    ]


def travelplanner(setup: Setup) -> list[Setting]:
    """What is set for TravelPlanner: all fields of the loop's settings and of the policy, and what is around them."""
    loop, policy = setup.settings, setup.policy
    validating = "a model" if "validate" in setup.operators() else "programs"
    tasks = f"{setup.split}, {' and '.join(setup.levels)}"
    lacking = "our choice: the flight table at hand lacks flights for 16 of the easy queries"
    return [
        Setting("attempt budget b", "attempt budget b", "Settings.budget", loop.budget, PAPER),
        _chosen("global step cap", "Settings.step_cap", loop.step_cap, "global step cap"),
        *looped(loop),
        _chosen("all meals of all days", "Policy.every_meal", policy.every_meal),
        _chosen("sequence of cities", "Policy.cities", policy.cities),
        _chosen("order of predicates", "Policy.order", policy.order, "predicate order"),
        _chosen("money kept back for meals", "Policy.keep_back", policy.keep_back),
        Setting("Replan may undo, times", "replan", "Policy.undo", policy.undo, PAPER),
        Setting("options shown to Realize, at most", "option cap per Realize", "", options.CAP, PAPER),
        Setting("who validates", "validation", "", validating, PAPER),
        Setting("queries", "tasks", "Setup.split, Setup.levels", tasks, lacking),
        *asked(setup),
    ]


def multihop_questions(benchmark: str, setup: multihop.Setup) -> list[Setting]:
    """What is set for HotpotQA or MuSiQue."""
    loop, policy, strict = setup.settings, setup.policy, setup.policy.strict
    escalating = {
        "entity-only queries after unsuccessful queries": adapter.ENTITIES_AFTER,
        "guess-the-answer query after": adapter.GUESS_AFTER,
    }
    plan = f"{policy.hops} hops + answer + goal" if policy.hops != "id" else "hops by the task's id + answer + goal"
    return [
        Setting("attempt budget b", "attempt budget", "Settings.budget", loop.budget, "our choice: TravelPlanner's"),
        Setting("global step cap", "global step cap", "Settings.step_cap", loop.step_cap, PAPER),
        *looped(loop),
        Setting("predicates", "predicates", "Policy.hops", plan, PAPER),
        Setting("stricter answers", "", "Policy.strict", strict, PAPER, "A.6; A.5 has none of them"),
        *(
            [Setting("words of an answer, at most", "max answer words", "", filters.MOST_WORDS, PAPER)]
            if strict
            else []
        ),
        Setting("escalating queries", "", "Policy.escalate", policy.escalate, PAPER, "A.6; A.5 has none of them"),
        *[Setting(name, name, "", count, PAPER) for name, count in escalating.items() if policy.escalate],
        _chosen("paragraphs that an extraction is shown, at most", "Policy.shown", policy.shown),
        _chosen("temperature of a retry in the same words", "prompts.RETRIED", prompts.RETRIED[0]),
        _chosen("paragraphs that a search shows", "worlds.multihop.world.TOP", world.TOP),
        Setting("who validates", "validation", "", "a model, with rejection filters", PAPER),
        Setting("setting", "", "Setup.setting", setup.setting, "our choice: both are played", "A.5: both"),
        Setting("corpus", "corpus", "", f"{CORPORA[benchmark]} paragraphs", "our choice: what is at hand"),
        Setting(
            "questions", "tasks", "Setup.split, Setup.limit", "those with annotated evidence", "our choice: the same"
        ),
        *asked(setup),
    ]


def science_experiments(setup: scienceworld.Setup) -> list[Setting]:
    """What is set for ScienceWorld."""
    loop, policy = setup.settings, setup.policy
    easy = f"30 types, at most {PROTOCOL_VARIATIONS} test variations each, simplification {setup.simplification!r}"
    return [
        Setting("attempt budget b", "attempt budget b", "Settings.budget", loop.budget, PAPER),
        Setting("global step cap", "global step cap", "Settings.step_cap", loop.step_cap, PAPER),
        *looped(loop),
        _chosen("what a predicate covers", "Policy.grain", policy.grain),
        _chosen("actions shown to Realize and Replan, at most", "Policy.recent", policy.recent),
        _chosen("conditions shown to Validate, at most", "Policy.judged", policy.judged),
        Setting(
            "temperature of a retried plan", "", "", PLAN.retry_temperatures[0], "our choice: at 0 it is the same plan"
        ),
        Setting("who validates", "validation", "", "a model, after three shortcuts", PAPER),
        Setting("tasks", "tasks", "Setup.lengths, Setup.simplification", easy, "SwiftSage's protocol, which B.2 names"),
        *asked(setup),
    ]


def web_questions(setup: assistantbench.Setup) -> list[Setting]:
    """What is set for AssistantBench."""
    loop, policy, forced = setup.settings, setup.policy, web_adapter.FORCED_AFTER
    open_ended = "our choice: five steps with three attempts each, and three answers, fit"
    return [
        Setting("attempt budget b", "", "Settings.budget", loop.budget, "our choice: TravelPlanner's"),
        Setting("global step cap", "attempt budget / global step cap", "Settings.step_cap", loop.step_cap, open_ended),
        *looped(loop),
        Setting("max narrowing steps", "max narrowing steps", "", web_prompts.MOST_STEPS, PAPER),
        Setting(
            "forced pass after rejections in a row", "force-pass after consecutive rejections", "", forced, PAPER
        ),
        Setting(
            "second source of evidence after rejections in a row",
            "fallback web-search after consecutive validation failures", "", forced, PAPER,
        ),
        Setting("weak answers, the last of which is accepted", "force-accept after weak answers", "",
                web_adapter.WEAK_ANSWERS, PAPER),
        Setting("characters of a page, at least", "min scraped characters", "", browser.SHORTEST, PAPER),
        Setting("temperature of a retried answer", "finalize retry temperature", "", web_prompts.RETRIED[0], PAPER),
        _chosen("partial findings", "Policy.uncertainty", policy.uncertainty),
        _chosen("second source of evidence", "Policy.second", policy.second),
        _chosen("results of a search shown, at most", "Policy.results", policy.results),
        Setting("who validates", "validation", "", "finding and verdict by a model", PAPER),
        Setting("questions", "tasks", "Setup.split", setup.split or "the first split", "our choice: what has answers"),
        Setting("faulty pages beside each list of the synthetic web", "", "Setup.faults", setup.faults, "our choice"),
        *asked(setup),
    ]  # fmt: skip


def plan_lengths(setup: Setup) -> dict[int, int]:
    """Days of a trip -> predicates of its first plan, counted in the plan of a query of each length as it is played."""
    of_days = {query.days: query.id for query in setup.resolved().queries()}
    return {days: len(play(setup, of_days[days]).plans[0].predicates) for days in sorted(of_days)}


def table(setup: Setup, lengths: Mapping[int, int]) -> pd.DataFrame:
    """A row a setting and benchmark: the paper's value and its place, and ours, where it comes from, what changes it.

    lengths: as `plan_lengths` has them. evidence: "published" where the paper's value is had, and "measured" where ours
    was counted, on `data`; a setting itself is neither.
    """
    import pandas as pd

    counted = Setting("predicates, by days", LENGTHS, "", " / ".join(map(str, lengths.values())), "counted in plans")
    lines = [_line("TravelPlanner", setting) for setting in [*travelplanner(setup), counted]]
    lines[-1] |= {"data": setup.decided().data, "evidence": f"{lines[-1]['evidence']}; measured, rules"}
    set_here = {
        "ScienceWorld": science_experiments(scienceworld.Setup()),
        "AssistantBench": web_questions(assistantbench.Setup()),
        "HotpotQA": multihop_questions("HotpotQA", multihop.HotpotQA()),
        "MuSiQue": multihop_questions("MuSiQue", multihop.MuSiQue()),
    }
    for benchmark in list(TABLES)[1:]:
        settings = set_here[benchmark]
        lines += [_line(benchmark, setting) for setting in settings]
        known = {setting.published for setting in settings}
        rest = {name: said for name, said in _said(benchmark).items() if name not in known}
        lines += [_row(benchmark, name, *said) for name, said in rest.items()]
    return pd.DataFrame(lines)


def _said(benchmark: str) -> dict[str, tuple[str, str]]:
    """What the paper says of a benchmark: setting -> value and source."""
    rows = tables.published(TABLES[benchmark], "sdp").to_dict("records")
    return {row["metric"]: (row["text"] or _number(row["value"]), row["source"]) for row in rows}


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:g}"


def _chosen(words: str, parameter: str, value: Any, published: str = "") -> Setting:
    """A setting that the paper leaves open, with what data/deviations/sdp.yaml has on it."""
    (choice,) = (one for one in deviations.entries("sdp") if one.switch == parameter)
    return Setting(words, published, parameter, value, f"our choice: {choice.here}", f"{choice.where}: {choice.paper}")


def _line(benchmark: str, setting: Setting) -> dict[str, Any]:
    said, place = _said(benchmark)[setting.published] if setting.published else ("", "")
    value = ("on" if setting.value else "off") if isinstance(setting.value, bool) else str(setting.value)
    about = {"ours": value, "source of ours": setting.source, "parameter": setting.parameter or EMPTY}
    row = _row(benchmark, setting.words, said, place) | about
    return row if place or not setting.said else row | {"paper": setting.said}


def _row(benchmark: str, name: str, said: str, place: str) -> dict[str, Any]:
    return {
        "benchmark": benchmark, "setting": name, "paper": said or (NOT_RECOVERED if place else NOT_SAID),
        "place in the paper": place.removeprefix("arXiv 2605.12755 ") if said else EMPTY, "ours": "",
        "source of ours": EMPTY, "parameter": EMPTY, "data": EMPTY, "evidence": "published" if said else EMPTY,
    }  # fmt: skip
