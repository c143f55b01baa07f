"""Work hours, a domain that is not from the paper: a report on a list. A template for a reader's own domain."""

from __future__ import annotations

import re
from random import Random

from procllm.domains import AnswerVerdict, Domain, Instance, cumulative

PEOPLE = ("Ada", "Ben", "Cleo", "Dev", "Eva", "Finn")
ENTRY = re.compile(r"^(\w+) (\d+)$", re.MULTILINE)
NETWORK = """
{
  "m-top": {
    "task": "process user request",
    "subtasks": {"subtask1": "take notes on user request", "subtask2": "add up the hours"},
    "effect": "answer.txt has a line for each person, by the alphabet: the name and the sum of the hours",
    "effect_files": {"file1": "answer.txt", "file2": "files/request.txt", "file3": "files/problem_specification.txt"}
  },
  "m-note": {
    "task": "take notes on user request",
    "effect": "the notes repeat the user request",
    "effect_files": {"file1": "files/request.txt", "file2": "files/notes.txt"}
  },
  "m-add": {
    "task": "add up the hours",
    "effect": "the notes hold the sum of each person's hours",
    "effect_files": {"file1": "files/notes.txt"}
  }
}
"""


def instances(count: int, seed: int = 0, people: int = 3, entries: int = 8) -> list[Instance]:
    """The first `count` requests of a seed: `entries` entries of the first `people` of PEOPLE."""
    return [_instance(f"hours-{people}-{entries}-s{seed}-{n:03d}", people, entries) for n in range(count)]


def _instance(name: str, people: int, entries: int) -> Instance:
    random = Random(name)
    lines = [f"{random.choice(PEOPLE[:people])} {random.randint(1, 8)}" for _ in range(entries)]
    request = "Who worked how long this week?\n" + "\n".join(lines) + "\n"
    return Instance(name, request, added_up(request))


def added_up(request: str) -> str:
    """The right answer to a request, which the engine `rules` gives."""
    sums: dict[str, int] = {}
    for name, hours in ENTRY.findall(request):
        sums[name] = sums.get(name, 0) + int(hours)
    return "\n".join(f"{name} {sums[name]}" for name in sorted(sums))


def entries(request: str) -> str:
    """The entries of a request as they are, the answer of a null model that copies."""
    return "\n".join(entry.group() for entry in ENTRY.finditer(request))


def check(problem: Instance, answer: str) -> AnswerVerdict:
    """Check the people, then their sums. Accepts any text."""
    expected = problem.problem.splitlines()
    lines = [line.strip() for line in answer.split("\n") if line.strip()]
    names = [line.split()[0] for line in lines]
    return cumulative(
        {
            "people": "" if names == [line.split()[0] for line in expected] else f"it names {names}",
            "sums": "" if lines == expected else "a sum is wrong",
        }
    )


HOURS = Domain(
    name="hours",
    title="Work hours",
    specification="The user lists names with hours. Write to answer.txt a line for each person: the name, a blank, the "
    "sum of the hours. Sort the lines by name, and write nothing else.\n",
    human=NETWORK,
    check=check,
    instances=instances,
    sized=("people", "entries"),
    rule=added_up,
)
