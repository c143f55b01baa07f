"""AgentProcessBench's HotpotQA slice: a search agent's steps with labels by people and by model judges.

250 trajectories, five samples of each of 50 questions, with 734 labelled steps. The slice has no licence: it is read
through `LAB_DATA`, and its text may not be stored; labels, ids and counts may.
Source: AgentProcessBench, arXiv 2603.14465.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from lab.machine.datasets import choose_data
from lab.machine.faults import MissingData
from lab.machine.paths import official_data
from lab.machine.reading import read_text
from lab.models import judges

NAME = "agentprocessbench"
STEPS, JUDGED = "hotpotqa.jsonl.gz", "hotpotqa_judges.jsonl.gz"
RIGHT, NEUTRAL, WRONG = 1, 0, -1  # labels of a step
ANSWER = re.compile("<answer>(.*?)</answer>", re.DOTALL)


class Page(NamedTuple):
    """A paragraph that a search returned."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of the agent, with the replies to it.

    number: index of the turn among its trajectory's messages. task: the question's id, which its five samples share.
    said: the agent's text. answer: the final answer, None for a step without one. queries: its searches. pages: their
    results. reply: the text of other replies, such as an error. label: RIGHT, NEUTRAL or WRONG, by people.
    """

    trajectory: str
    number: int
    task: str
    question: str
    said: str
    answer: str | None
    queries: tuple[str, ...]
    pages: tuple[Page, ...]
    reply: str
    label: int

    @property
    def id(self) -> str:
        return f"{self.trajectory}/{self.number}"


def present() -> bool:
    """Whether the slice is present. Raises DamagedData if only a part of it is, or a file is damaged."""
    folder = official_data() / NAME
    return choose_data("auto", all((folder / file).exists() for file in (STEPS, JUDGED)), NAME) == "official"


def steps() -> Mapping[str, Step]:
    """All labelled steps by id, in the order of the slice. Raises MissingData, DamagedData."""
    return _steps(_folder())


def before(step: Step) -> list[Step]:
    """The labelled steps before this one in its trajectory. Raises MissingData, DamagedData."""
    same = (other for other in steps().values() if other.trajectory == step.trajectory)
    return [other for other in same if other.number < step.number]


def judged() -> Mapping[str, Mapping[str, int | None]]:
    """Judge (its name in `lab.models.judges`) -> step id -> label; None if the judge's label could not be read.

    Raises MissingData, DamagedData.
    """
    return _judged(_folder())


def _folder() -> Path:
    if not present():
        raise MissingData(
            f"AgentProcessBench's slice is not in {official_data()}. Nothing downloads it: set LAB_DATA to a folder "
            f"that has {NAME}/{STEPS} and {NAME}/{JUDGED}, made from the benchmark's public repository"
        )
    return official_data() / NAME


@cache
def _steps(folder: Path) -> dict[str, Step]:
    return {step.id: step for row in _rows(folder / STEPS) for step in _of_trajectory(row)}


@cache
def _judged(folder: Path) -> dict[str, dict[str, int | None]]:
    judge_names = {_letters(name): name for name in judges.published()}
    labels: dict[str, dict[str, int | None]] = {name: {} for name in judges.published()}
    for row in _rows(folder / JUDGED):
        step_labels = {f"{row['id']}/{number}": label for number, label in row["step_labels"].items()}
        labels[judge_names[_letters(row["judge"])]].update(step_labels)
    return labels


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, read_text(path).splitlines())


def _letters(name: str) -> str:
    """A judge's name reduced to letters and digits, since the two sources write brackets and blanks differently."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _of_trajectory(row: Mapping[str, Any]) -> Iterator[Step]:
    messages = row["messages"]
    for number, label in ((int(key), label) for key, label in row["step_labels"].items()):
        turn = messages[number]
        text, calls = turn["content"] or "", turn.get("tool_calls") or []
        replies = list(takewhile(lambda message: message["role"] != "assistant", messages[number + 1 :]))
        answers = ANSWER.findall(text)
        yield Step(
            row["id"], number, row["id"].rpartition(":")[0], row["question"], text,
            answers[-1].strip() if answers else None,
            tuple(query for call in calls for query in _queries(call["function"]["arguments"])),
            tuple(_page(entry) for reply in replies for listed in _results(reply) for entry in listed),
            "\n".join(reply["content"] for reply in replies if not _results(reply)),
            label,
        )  # fmt: skip


def _queries(arguments: str) -> list[str]:
    """The queries in a tool call's arguments; the arguments themselves if they are no JSON object, as some are."""
    try:
        call = json.loads(arguments)
    except ValueError:
        call = arguments
    if not isinstance(call, dict):
        return [str(call)]
    listed = call.get("query_list") or []
    return [str(query) for query in (*(listed if isinstance(listed, list) else [listed]), call.get("query")) if query]


def _results(reply: Mapping[str, Any]) -> list[Any]:
    """The results of a search, one list per query; [] if the reply is not a search's."""
    return json.loads(reply["content"]).get("result", []) if reply["role"] == "tool" else []


def _page(entry: Mapping[str, Any]) -> Page:
    title, _, text = entry["document"]["contents"].partition("\n")
    return Page(title.strip('"'), text.replace('""', '"'))
