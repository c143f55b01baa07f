"""Published predictions of six systems on the 33 dev questions, scored again by this suite's scorer."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

from lab.machine.faults import MissingData
from lab.machine.paths import official_data
from worlds.assistantbench import official
from worlds.assistantbench.scorer import scores

if TYPE_CHECKING:
    import pandas as pd

PREDICTIONS, SCORES = "dev33_reference_predictions.jsonl", "dev33_reference_scores.csv"
OF_FILE = {"accuracy": "accuracy", "precision": "precision", "exact match": "exact_match", "answer rate": "answer_rate"}


def present() -> bool:
    """Whether the predictions are present."""
    return (official_data() / official.NAME / PREDICTIONS).exists()


def recomputed() -> pd.DataFrame:
    """Six systems' published scores on the 33 dev questions, next to our scorer's on their published predictions.

    apart: the largest difference among the four metrics, in points. Raises MissingData without the official data.
    """
    import pandas as pd

    folder = official_data() / official.NAME
    if not present():
        raise MissingData(f"The published predictions are not at {folder}; set LAB_DATA to the official data")
    gold = {question.task.id: question.answer or "" for question in official.questions(folder, "dev")}
    predictions: dict[str, dict[str, str]] = {}
    for line in (folder / PREDICTIONS).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        predictions.setdefault(row["system"], {})[row["id"]] = str(row["prediction"])
    rows = []
    with (folder / SCORES).open(encoding="utf-8", newline="") as file:
        for published_row in csv.DictReader(file):
            result = scores(predictions[published_row["system"]], gold)
            ours = {name: 100 * getattr(result, key) for name, key in OF_FILE.items()}
            difference = max(abs(ours[name] - float(published_row[key])) for name, key in OF_FILE.items())
            published = {f"{name}, published": float(published_row[key]) for name, key in OF_FILE.items()}
            rows.append(
                {"system": published_row["system"], "n": result.tasks} | published | ours | {"apart": difference}
            )
    return pd.DataFrame(rows).assign(evidence="published")
