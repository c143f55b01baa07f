"""A synthetic slice of judged steps as AgentProcessBench has them: invented questions, agents, labels and judges."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from lab.models.judges import published

QUESTION = "In which valley was the painter of the Amber Heron born?"
FOUND = 'Odalys Verrin\nOdalys Verrin painted the ""Amber Heron"" and was born in the valley of Tarn Mellow.'
OTHER = "Quiet Harbour\nQuiet Harbour is a fishing village."
REASON = "the page on Odalys Verrin"  # what a model says of it, which may not be kept


def search(*queries: str, arguments: str = "") -> dict[str, Any]:
    told = arguments or json.dumps({"query_list": queries})
    return {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "search", "arguments": told}}]}


def found(*pages: str) -> dict[str, str]:
    listed = [[{"document": {"id": "1", "contents": page}, "score": 0.9} for page in pages]]
    return {"role": "tool", "name": "search", "content": json.dumps({"result": listed})}


def says(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


# Of one question each: a good search and the right answer; a search for something else, and a wrong one; a turn without
# a call, a search whose arguments are broken, and an answer made up.
TRAJECTORIES = [
    ([search("Amber Heron painter", "Odalys Verrin birthplace"), found(FOUND, OTHER),
      says("She was. <answer> Tarn Mellow </answer>")], {"2": 1, "4": 1}),
    ([search("Quiet Harbour boats"), found(OTHER), says("<answer>Quiet Harbour</answer>")], {"2": -1, "4": -1}),
    ([says("I think of a valley."), {"role": "user", "content": "Nothing was called."},
      search(arguments='{"query_list": ["Amber Heron"'), {"role": "tool", "content": '{"error": "missing query"}'},
      says("<answer>Upper Lorn</answer>")], {"2": 0, "4": -1, "6": -1}),
]  # fmt: skip


def write(folder: Path, questions: int = 4) -> None:
    """Write the slice into a folder of official data: each question with one sample of each trajectory.

    Every judge says what people say, but calls every third wrong step right and gives nothing on neutral ones.
    """
    rows: list[dict[str, Any]] = []
    for number in range(questions * len(TRAJECTORIES)):
        question, sample = divmod(number, len(TRAJECTORIES))
        turns, labels = TRAJECTORIES[sample]
        start = [{"role": "system", "content": "You search."}, {"role": "user", "content": QUESTION}]
        rows.append({"id": f"made:{question}:{sample}", "question": QUESTION, "messages": start + turns,
                     "step_labels": labels})  # fmt: skip
    said = [
        {"judge": judge.replace("-medium", " (medium)"), "id": row["id"], "step_labels": _judged(row["step_labels"])}
        for judge in published()
        for row in rows
    ]
    (folder / "agentprocessbench").mkdir(parents=True)
    for name, lines in (("hotpotqa", rows), ("hotpotqa_judges", said)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "agentprocessbench" / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))


def _judged(labels: dict[str, int]) -> dict[str, int | None]:
    return {step: {0: None, -1: 1 if step == "2" else -1, 1: 1}[label] for step, label in labels.items()}
