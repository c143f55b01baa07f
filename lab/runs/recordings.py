"""Recordings: a real model's answers and the rows they made, small enough for the repository.

    data/recordings/NAME/manifest.json     what ran, with which model file, on which tasks, when
    data/recordings/NAME/answers.jsonl.gz  request hashes, answers and token counts; no benchmark text
    data/recordings/NAME/rows.csv          the finished rows of the results table
    data/recordings/NAME/usage.csv         calls, tokens, seconds and parse paths by operator

Rows that no model's answers made, but files that are not on every machine, are kept as manifest and rows alone.

`python -m lab record NOTEBOOK -p engine local` makes one, `replay:NAME` serves it, and notebooks show its rows.
"""

from __future__ import annotations

import datetime
import gzip
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.files import write_atomically
from lab.machine.paths import recordings_folder
from lab.models import engines
from lab.models.replay import ANSWERS
from lab.results import tables
from lab.runs.run import read_lines

if TYPE_CHECKING:
    import pandas as pd

WANTED = "LAB_RECORDING"  # the name under which `lab record` asks the notebook to save
MANIFEST = "manifest.json"


def save(run: Path, rows: pd.DataFrame, usage: pd.DataFrame, tasks: list[str], name: str = "") -> Path | None:
    """Save a run folder and its finished rows as a recording, in place of an earlier one of that name.

    name: by default the one that `lab record` gave; None is returned, and nothing written, outside of it.
    tasks: ids of the tasks that were played. Raises FileNotFoundError for a run that kept no answers.
    """
    name = name or os.environ.get(WANTED, "")
    if not name:
        return None
    if not (run / ANSWERS).exists():
        raise FileNotFoundError(f"{run} holds no {ANSWERS}: only runs of a model are recorded")
    target = recordings_folder() / name
    manifest = json.loads((run / MANIFEST).read_text())
    about = {key: manifest[key] for key in ("method", "engine", "address", "parameters", "code", "surroundings")}
    about |= {"tasks": tasks, "planned": manifest["n_tasks"], "date": datetime.date.today().isoformat()}
    answers = {answer["request"]: answer for answer in read_lines(run / ANSWERS)}  # the last of a repeated request
    lines = "".join(json.dumps(answers[request], sort_keys=True) + "\n" for request in sorted(answers))
    write_atomically(target / f"{ANSWERS}.gz", gzip.compress(lines.encode(), 9, mtime=0))
    write_atomically(target / "rows.csv", rows.to_csv(index=False).encode())
    write_atomically(target / "usage.csv", usage.to_csv(index=False).encode())
    write_atomically(target / MANIFEST, json.dumps(about, indent=1).encode())
    return target


def save_rows(name: str, rows: pd.DataFrame, about: Mapping[str, Any]) -> Path:
    """Save finished rows alone, where what made them cannot be replayed: nobody answered, but files were used.

    about: `method` (under which `rows` finds them), `engine`, `address` (of those files, "sha256:…"), `parameters`.
    """
    target = recordings_folder() / name
    write_atomically(target / "rows.csv", rows.to_csv(index=False).encode())
    dated = {**about, "date": datetime.date.today().isoformat()}
    write_atomically(target / MANIFEST, json.dumps(dated, indent=1).encode())
    return target


def manifests() -> dict[str, Mapping[str, Any]]:
    """The manifests of all recordings, by name."""
    return {
        path.parent.name: json.loads(path.read_text()) for path in sorted(recordings_folder().glob(f"*/{MANIFEST}"))
    }


def names(method: str) -> list[str]:
    """The recordings of a run method."""
    return [name for name, about in manifests().items() if about["method"] == method]


def rows(method: str) -> pd.DataFrame:
    """The finished rows of every recording of a run method; the source names recording, model file and date."""
    import pandas as pd

    found = [_rows(name, about) for name, about in manifests().items() if about["method"] == method]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def usage(method: str) -> pd.DataFrame:
    """What every recording of a run method took, by operator, with its number of episodes, model file and date."""
    import pandas as pd

    found = [_usage(name, about) for name, about in manifests().items() if about["method"] == method]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _rows(name: str, about: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    source = f"recording {name}, {_model(about)}, {about['date']}"
    rows = pd.read_csv(recordings_folder() / name / "rows.csv").assign(source=source)
    return rows.reindex(columns=tables.COLUMNS)  # those of before outcomes were counted lack these columns


def _model(about: Mapping[str, Any]) -> str:
    """What answered, in a word each: addresses, or the beginnings of model files' hashes."""
    whole, others = engines.split(about["address"])
    return engines.joined(whole[:19], {operator: part[:19] for operator, part in others.items()})


def _usage(name: str, about: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    made = {"episodes": f"{len(about['tasks'])} of {about['planned']}", "model file": _model(about)}
    return pd.read_csv(recordings_folder() / name / "usage.csv").assign(recording=name, **made, date=about["date"])
