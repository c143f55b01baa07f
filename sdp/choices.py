"""Where the paper leaves a choice, or says two things: what is done here, and the parameter that changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Choice(NamedTuple):
    """paper: what it says, with its place. here: what the code does. parameter: what changes it; "" if nothing does."""

    question: str
    paper: str
    here: str
    parameter: str = ""


CHOICES = (
    Choice(
        "How many attempts before Replan?",
        "Algorithm 1, L.16: when failures exceed b; §3.2: after b",
        "when they exceed b",
        "Settings.retry_while",
    ),
    Choice("What does a Propose call give?", "Eq. 1: one predicate; A.3: a whole plan", "a plan", "Settings.propose"),
    Choice(
        "Does Realize see the world?",
        "Definition 1: only Validate reads observations; A.3: s_t follows the simulator after each action",
        "what the world shows stands beside the certified state, which changes by certification alone",
        "Adapter.view",
    ),
    Choice(
        "A malformed answer to Replan?",
        "not said",
        "asked for again, as often as the budget allows attempts at a target",
        "Settings.budget",
    ),
    Choice("Global step cap on TravelPlanner?", "Table 7, not recovered", "100 attempts", "Settings.step_cap"),
    Choice(
        "Which failures does Realize see?",
        "A.1: a history threaded through Realize and Replan",
        "those at its target since the state was certified, also after a Replan that keeps the target",
    ),
    Choice(
        "Where does return transport stand?",
        "A.2 counts it sixth, and wants costly global decisions before per-day content",
        "before the meals",
        "Policy.order",
    ),
    Choice(
        "Meals of travel days?",
        "A.2: three slots a day; the evaluator asks for them on other days only",
        "both, as rows; else required days first, then as far as the budget carries",
        "Policy.every_meal",
    ),
    Choice(
        "Which cities?",
        "A.2: a deterministically extracted sequence",
        "both, as rows; else the benchmark's own, which is privileged",
        "Policy.cities",
    ),
    Choice(
        "Which rows are options?",
        "A.2, filter 1: those of the reference data",
        "those that searches list, but for the 0.4 to 0.8 % that the evaluator's rule for names takes for another row",
    ),
    Choice(
        "May Realize look ahead?",
        "A.2, filter 5: option cost plus running total is within the budget",
        "no; as a row, it keeps back what the meals to come cost at least",
        "Policy.keep_back",
    ),
    Choice("May Replan undo decisions?", "A.2: retry only", "no", "Policy.undo"),
    Choice("How many paragraphs does a search show?", "A.5, A.6: not said", "five", "worlds.multihop.world.TOP"),
    Choice(
        "How many paragraphs does one extraction read?",
        "A.5: all that were accumulated",
        "the newest 20: all of the distractor setting, and what a small model's context holds of the open one",
        "Policy.shown",
    ),
    Choice(
        "A retry whose prompt is the same again?",
        "§3.2: another action; A.1: temperature 0",
        "sampled at 0.7: at 0 a model repeats itself",
        "prompts.RETRIED",
    ),
    Choice(
        "What does a predicate on ScienceWorld cover?",
        "§4.1: a single observable state change performed most reliably",
        "that; a stage or a single action by parameter",
        "Policy.grain",
    ),
    Choice("How much history on ScienceWorld?", "A.3: recent", "the last 8 actions and answers", "Policy.recent"),
    Choice(
        "How deep may one action cascade on ScienceWorld?",
        "A.3: up to the goal",
        "4 conditions at a time, so that a small model's Validate has a short list",
        "Policy.judged",
    ),
    Choice(
        "What does the end of a ScienceWorld task certify?",
        "A.3: the done flag or a score of 100 certifies all that is left",
        "a score of 100 alone; a wrong focus ends a task as well, at -100",
    ),
    Choice(
        "Partial findings on AssistantBench?",
        "§4.1: with uncertainty markers they beat forced completeness",
        "marked; forced by parameter",
        "Policy.uncertainty",
    ),
    Choice(
        "The second source of evidence on AssistantBench?",
        "A.4: GPT-4o with web search",
        "a search in the step's own words, and up to three further results: no second model is at hand",
        "Policy.second",
    ),
    Choice(
        "How many results of a search are shown on AssistantBench?",
        "A.4: ranked results with snippets",
        "the first five of each search for the step at hand",
        "Policy.results",
    ),
    Choice(
        "Who writes AssistantBench's findings?",
        "A.4: the second phase of validation; Definition 1: Validate reads observations",
        "a call of its own before the verdict, so that findings are also there where Validate is switched off",
    ),
    Choice(
        "Which evidence does a finding on AssistantBench read?",
        "A.4: the fresh evidence and prior findings",
        "all pages that were read since the last certified step, so that a retry adds to what was read",
    ),
    Choice(
        "Does a dead link put its site on the blacklist?",
        "A.4: timeouts, denied access and fewer than 100 characters do",
        "no; every other failure does",
    ),
    Choice(
        "What may be scraped on AssistantBench?",
        "A.4: what the planning call asks for",
        "results of searches for the step at hand, so that no page decides what is read next",
    ),
    Choice(
        "Fidelity of a run that certified nothing?",
        "Appendix C: a share of the certified steps",
        "0: nothing was shown",
    ),
    Choice(
        "Score of a run over its steps without cascade?",
        "Appendix C: incomplete, scored proportionally",
        "times step cap over steps needed",
    ),
)


def table() -> pd.DataFrame:
    """All choices, one a row."""
    import pandas as pd

    return pd.DataFrame(CHOICES)
