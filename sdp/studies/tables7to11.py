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
from sdp.experiments.travelplanner import Setup
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
PAPER, OPEN = "the paper", ""
LENGTHS = "predicates 3d/1c, 5d/2c, 7d/3c"


class Setting(NamedTuple):
    """One setting. parameter: what a user changes, "" for nothing. published: its name among the paper's values, "" for
    one that the paper does not have. source: the paper, the reason for our choice, or OPEN where the paper leaves it
    open and data/deviations/sdp.yaml has the reason. value: None for what the parameter is set to. said: what the paper
    says, where it is no value.
    """

    words: str
    parameter: str = ""
    published: str = ""
    source: str = PAPER
    value: Any = None
    said: str = ""


LOOP = [  # but for its budget and its cap, of which the paper says something else everywhere
    Setting("b is spent where", "Settings.retry_while", source=OPEN),
    Setting("a call of Propose gives", "Settings.propose", source=OPEN),
    Setting("Validate", "Settings.validate", said="Algorithm 1; off in an ablation, §4.3"),
    Setting("Replan", "Settings.replan", said="Algorithm 1; off in an ablation, §4.3"),
    Setting("cascade", "Settings.cascade", said="Algorithm 1; off in an ablation, §4.3"),
]
ASKED = [  # whoever answers, and the seed
    Setting("temperature", "engine=MODEL?temperature=", "temperature", value=endpoint.TEMPERATURE),
    Setting("who answers", "Setup.engine", "backbone", "our choice: it runs offline"),
    Setting("one try of a call, s", "engine=MODEL?timeout=", "", "our choice", endpoint.TIMEOUT),
    Setting("retries of a call, s", "engine=MODEL?patience=", "", "our choice", endpoint.PATIENCE),
    Setting("seed of synthetic data and noise", "Setup.seed", source="our choice"),
]


def travelplanner(setup: Setup) -> list[Setting]:
    """What is set for TravelPlanner: all fields of the loop's settings and of the policy, and what is around them."""
    validating = "a model" if "validate" in setup.operators() else "programs"
    tasks = f"{setup.split}, {' and '.join(setup.levels)}"
    lacking = "our choice: the flight table at hand lacks flights for 16 of the easy queries"
    return [
        Setting("attempt budget b", "Settings.budget", "attempt budget b"),
        Setting("global step cap", "Settings.step_cap", "global step cap", OPEN),
        *LOOP,
        Setting("all meals of all days", "Policy.every_meal", source=OPEN),
        Setting("sequence of cities", "Policy.cities", source=OPEN),
        Setting("order of predicates", "Policy.order", "predicate order", OPEN),
        Setting("money kept back for meals", "Policy.keep_back", source=OPEN),
        Setting("Replan may undo, times", "Policy.undo", "replan"),
        Setting("options shown to Realize, at most", "", "option cap per Realize", value=options.CAP),
        Setting("who validates", "", "validation", value=validating),
        Setting("queries", "Setup.split, Setup.levels", "tasks", lacking, tasks),
        *ASKED,
    ]


def multihop_questions(benchmark: str, setup: multihop.Setup) -> list[Setting]:
    """What is set for HotpotQA or MuSiQue."""
    policy = setup.policy
    hops = "hops by the task's id" if policy.hops == "id" else f"{policy.hops} hops"
    entities, guess = "entity-only queries after unsuccessful queries", "guess-the-answer query after"
    words = [Setting("words of an answer, at most", "", "max answer words", value=filters.MOST_WORDS)]
    annotated = "those with annotated evidence"
    escalating = [
        Setting(entities, "", entities, value=adapter.ENTITIES_AFTER),
        Setting(guess, "", guess, value=adapter.GUESS_AFTER),
    ]
    return [
        Setting("attempt budget b", "Settings.budget", "attempt budget", "our choice: TravelPlanner's"),
        Setting("global step cap", "Settings.step_cap", "global step cap"),
        *LOOP,
        Setting("predicates", "Policy.hops", "predicates", value=f"{hops} + answer + goal"),
        Setting("stricter answers", "Policy.strict", said="A.6; A.5 has none of them"),
        *(words if policy.strict else []),
        Setting("escalating queries", "Policy.escalate", said="A.6; A.5 has none of them"),
        *(escalating if policy.escalate else []),
        Setting("paragraphs that an extraction is shown, at most", "Policy.shown", source=OPEN),
        Setting("temperature of a retry in the same words", "prompts.RETRIED", "", OPEN, prompts.RETRIED[0]),
        Setting("paragraphs that a search shows", "worlds.multihop.world.TOP", "", OPEN, world.TOP),
        Setting("who validates", "", "validation", value="a model, with rejection filters"),
        Setting("setting", "Setup.setting", "", "our choice: both are played", said="A.5: both"),
        Setting("corpus", "", "corpus", "our choice: what is at hand", f"{CORPORA[benchmark]} paragraphs"),
        Setting("questions", "Setup.split, Setup.limit", "tasks", "our choice: the same", annotated),
        *ASKED,
    ]


def science_experiments(setup: scienceworld.Setup) -> list[Setting]:
    """What is set for ScienceWorld."""
    tasks = f"30 types, at most {PROTOCOL_VARIATIONS} test variations each, simplification {setup.simplification!r}"
    protocol, same_plan = "SwiftSage's protocol, which B.2 names", "our choice: at 0 it is the same plan"
    return [
        Setting("attempt budget b", "Settings.budget", "attempt budget b"),
        Setting("global step cap", "Settings.step_cap", "global step cap"),
        *LOOP,
        Setting("what a predicate covers", "Policy.grain", source=OPEN),
        Setting("actions shown to Realize and Replan, at most", "Policy.recent", source=OPEN),
        Setting("conditions shown to Validate, at most", "Policy.judged", source=OPEN),
        Setting("temperature of a retried plan", "", "", same_plan, PLAN.retry_temperatures[0]),
        Setting("who validates", "", "validation", value="a model, after three shortcuts"),
        Setting("tasks", "Setup.lengths, Setup.simplification", "tasks", protocol, tasks),
        *ASKED,
    ]


def web_questions(setup: assistantbench.Setup) -> list[Setting]:
    """What is set for AssistantBench."""
    fit = "our choice: five steps with three attempts each, and three answers, fit"
    forced, weak = "force-pass after consecutive rejections", "force-accept after weak answers"
    second = "fallback web-search after consecutive validation failures"
    return [
        Setting("attempt budget b", "Settings.budget", "", "our choice: TravelPlanner's"),
        Setting("global step cap", "Settings.step_cap", "attempt budget / global step cap", fit),
        *LOOP,
        Setting("max narrowing steps", "", "max narrowing steps", value=web_prompts.MOST_STEPS),
        Setting("forced pass after rejections in a row", "", forced, value=web_adapter.FORCED_AFTER),
        Setting("second source of evidence after rejections in a row", "", second, value=web_adapter.FORCED_AFTER),
        Setting("weak answers, the last of which is accepted", "", weak, value=web_adapter.WEAK_ANSWERS),
        Setting("characters of a page, at least", "", "min scraped characters", value=browser.SHORTEST),
        Setting("temperature of a retried answer", "", "finalize retry temperature", value=web_prompts.RETRIED[0]),
        Setting("partial findings", "Policy.uncertainty", source=OPEN),
        Setting("second source of evidence", "Policy.second", source=OPEN),
        Setting("results of a search shown, at most", "Policy.results", source=OPEN),
        Setting("who validates", "", "validation", value="finding and verdict by a model"),
        Setting("questions", "Setup.split", "tasks", "our choice: what has answers", setup.split or "the first split"),
        Setting("faulty pages beside each list of the synthetic web", "Setup.faults", source="our choice"),
        *ASKED,
    ]


def plan_lengths(setup: Setup) -> dict[int, int]:
    """Days of a trip -> predicates of its first plan, counted in the plan of a query of each length as it is played."""
    of_days = {query.days: query.id for query in setup.resolved().queries()}
    return {days: len(setup.episode(of_days[days]).plans[0].predicates) for days in sorted(of_days)}


def table(setup: Setup, lengths: Mapping[int, int]) -> pd.DataFrame:
    """A row a setting and benchmark: the paper's value and its place, and ours, where it comes from, what changes it.

    lengths: as `plan_lengths` has them. evidence: "published" where the paper's value is had, and "measured" where ours
    was counted, on `data`; a setting itself is neither.
    """
    import pandas as pd

    hotpotqa, musique = multihop.HotpotQA(), multihop.MuSiQue()
    science, web = scienceworld.Setup(), assistantbench.Setup()
    counted = Setting("predicates, by days", "", LENGTHS, "counted in plans", " / ".join(map(str, lengths.values())))
    lines = [_line("TravelPlanner", setup, setting) for setting in [*travelplanner(setup), counted]]
    lines[-1] |= {"data": setup.decided().data, "evidence": f"{lines[-1]['evidence']}; measured, rules"}
    for benchmark, own, settings in (
        ("ScienceWorld", science, science_experiments(science)),
        ("AssistantBench", web, web_questions(web)),
        ("HotpotQA", hotpotqa, multihop_questions("HotpotQA", hotpotqa)),
        ("MuSiQue", musique, multihop_questions("MuSiQue", musique)),
    ):
        lines += [_line(benchmark, own, setting) for setting in settings]
        known = {setting.published for setting in settings}
        lines += [_row(benchmark, name, *said) for name, said in _said(benchmark).items() if name not in known]
    return pd.DataFrame(lines)


def _said(benchmark: str) -> dict[str, tuple[str, str]]:
    """What the paper says of a benchmark: setting -> value and source."""
    rows = tables.published(TABLES[benchmark], "sdp").to_dict("records")
    numbers = ("" if math.isnan(row["value"]) else f"{row['value']:g}" for row in rows)
    return {row["metric"]: (row["text"] or number, row["source"]) for row, number in zip(rows, numbers, strict=True)}


def _line(benchmark: str, setup: Any, setting: Setting) -> dict[str, Any]:
    value, source, paper = setting.value, setting.source, setting.said
    if value is None:
        owner, _, name = setting.parameter.partition(".")
        value = getattr({"Settings": setup.settings, "Policy": setup.policy, "Setup": setup}[owner], name)
    if isinstance(value, bool):
        value = "on" if value else "off"
    if source == OPEN:
        (choice,) = (entry for entry in deviations.entries("sdp") if entry.switch == setting.parameter)
        source, paper = f"our choice: {choice.here}", f"{choice.where}: {choice.paper}"
    said, place = _said(benchmark)[setting.published] if setting.published else ("", "")
    row = _row(benchmark, setting.words, said, place) | ({"paper": paper} if paper and not place else {})
    return row | {"ours": str(value), "source of ours": source, "parameter": setting.parameter or EMPTY}


def _row(benchmark: str, name: str, said: str, place: str) -> dict[str, Any]:
    return {
        "benchmark": benchmark, "setting": name, "paper": said or (NOT_RECOVERED if place else NOT_SAID),
        "place in the paper": place.removeprefix("arXiv 2605.12755 ") if said else EMPTY, "ours": "",
        "source of ours": EMPTY, "parameter": EMPTY, "data": EMPTY, "evidence": "published" if said else EMPTY,
    }  # fmt: skip
