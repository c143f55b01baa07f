"""The benchmark as published by its authors: download, read its layout, and write files for their scorer.

Layout: rewardprediction/<domain>/<task>/positive.json and negative_<i>.json, each a `goal_description` and a
`trajectory` (README of yijunshens/StateFactory; the dataset YijunShen/RewardPrediction on the Hugging Face hub).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab.machine.datasets import Dataset, Report, UnexpectedData, check
from lab.machine.faults import MissingData
from lab.machine.files import write_atomically
from statefactory.benchmark.schema import DOMAINS, Pair, Row, pairs_of, read_row
from statefactory.state import Entity, Group, State

NAME = "rewardprediction"
PUBLISHED = "published"  # value of `data` for these trajectories
HUB_DATASET = "YijunShen/RewardPrediction"
SOURCES = {"positive": "published positive", "negative": "published negative"}
_NEGATIVE = re.compile(r"negative_\d+")


def present(folder: Path) -> bool:
    """Whether every domain's folder has trajectories."""
    return all(next((folder / domain).rglob("positive.json"), None) for domain in DOMAINS)


def fetch(folder: Path, report: Report) -> None:
    """Download the dataset from the hub into `folder`; an interrupted download resumes at the next call.

    Raises UnexpectedData if a domain is missing, and huggingface_hub's own errors if the hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    raw = folder / "raw"
    report(f"downloading {HUB_DATASET} from the Hugging Face hub")
    # Read HF_ENDPOINT here, since the package reads it only once, at import.
    snapshot_download(HUB_DATASET, repo_type="dataset", local_dir=raw, endpoint=os.environ.get("HF_ENDPOINT"))
    # On the hub the tree is in a folder `data`, as its README says. It is moved only when complete, so that `present`
    # sees all or nothing of it.
    tree = raw / "data" if (raw / "data").is_dir() else raw
    missing = [domain for domain in DOMAINS if not (tree / domain).is_dir()]
    if missing or not present(tree):
        domains_found = ", ".join(sorted(path.name for path in tree.iterdir()))
        raise UnexpectedData(
            f"{HUB_DATASET} lacks trajectories of {', '.join(missing) or 'a domain'}; it has {domains_found}"
        )
    for domain in DOMAINS:
        shutil.rmtree(folder / domain, ignore_errors=True)
        (tree / domain).replace(folder / domain)
    shutil.rmtree(raw)
    report(", ".join(f"{domain} {sum(1 for _ in _files(folder / domain))}" for domain in DOMAINS) + " trajectories")


def read_published(domain: str, folder: Path | None = None) -> list[Pair]:
    """The complete pairs of a domain. folder: has one folder per domain; by default the downloaded dataset.

    Raises MissingData if the domain is missing, ValueError naming a file that does not have the published layout.
    """
    folder = DATASET.folder if folder is None else folder
    files = sorted(_files(folder / domain))
    if not files:
        raise MissingData(f"{folder / domain} has no trajectories. Fetch them with: python -m lab data fetch {NAME}")
    folders: dict[str, Path] = {}
    for path in files:
        if folders.setdefault(path.parent.name, path.parent) != path.parent:
            raise ValueError(
                f"{path.parent} and {folders[path.parent.name]} have the same name, but names identify tasks"
            )
    return pairs_of(_read(path, domain) for path in files)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*.json"):
        if path.stem == "positive" or _NEGATIVE.fullmatch(path.stem):
            yield path


def _read(path: Path, domain: str) -> Row:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        # The official alfworld.py expects a list with one observation, the README a string; both occur.
        texts = [step["observation"] for step in record["trajectory"]]
        texts = ["\n".join(text) if isinstance(text, list) else text for text in texts]
        trajectory = [{**step, "observation": text} for step, text in zip(record["trajectory"], texts, strict=True)]
        goal = record["goal_description"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no RewardPrediction trajectory: {error!r}") from None
    kind = path.stem.partition("_")[0]
    return read_row(
        {
            "id": f"{path.parent.name}_{path.stem}", "domain": domain, "task": path.parent.name, "kind": kind,
            "source": SOURCES[kind], "data": PUBLISHED, "seed": 0, "initial_observation": "",
            "goal_description": goal, "trajectory": trajectory,
        },
        str(path),
    )  # fmt: skip


def require(domain: str) -> None:
    """Raise MissingData if a domain's trajectories are missing, DamagedData if the dataset is incomplete."""
    folder = DATASET.folder
    if next(_files(folder / domain), None) is None:
        raise MissingData(
            f"data={PUBLISHED!r}: {folder / domain} has no trajectories. Fetch them with: python -m lab data fetch "
            f"{NAME}, or set LAB_DATA to a folder that has {NAME}/{domain}, or use data='official' or 'synthetic'"
        )
    check(NAME)


def write_layout(folder: Path, pairs: Iterable[Pair]) -> None:
    """Write pairs to `folder` in the published layout, which the official program and `read_published` can read."""
    for pair in pairs:
        for row in pair.rows:
            steps = [asdict(step) for step in row.trajectory]
            record = {"goal_description": row.goal_description, "trajectory": steps}
            kind = row.id.removeprefix(f"{row.task}_")
            path = folder / row.domain / row.task.replace("/", "_") / f"{kind}.json"
            write_atomically(path, json.dumps(record, ensure_ascii=False).encode("utf-8", "replace"))


def write_output(
    folder: Path, row: Row, rewards: Sequence[float], states: Sequence[State] = (), goals: Sequence[State] = (),
    model: str = "",
) -> Path:  # fmt: skip
    """Write a trajectory's predictions as the official program does; returns the path `<folder>/complete/<id>.json`.

    rewards, shape (steps,), states, goals: one per step; states and goals are optional. model: who answered. The
    official get_distance.py reads a folder of such files: `--data_dir <folder>/complete`.
    Raises ValueError if rewards and steps differ in number, or for a trajectory without steps, which get_distance.py
    would skip silently.
    """
    if len(rewards) != len(row.trajectory) or not rewards:
        raise ValueError(f"{row.id} has {len(row.trajectory)} steps and {len(rewards)} rewards; each step needs one")
    steps = [
        {"Step": number, "Action": step.action, "Observation": step.observation,
         "CurState": official_state(states[number]) if states else [],
         "GoalState": official_state(goals[number]) if goals else []}
        for number, step in enumerate(row.trajectory)
    ]  # fmt: skip
    record = {
        "meta_info": {"task_id": row.id, "goal_description": row.goal_description, "backend": "api", "model": model},
        "trajectory": steps,
        "thinkings": [],
        "evaluation": {
            "gold_actions": row.actions,
            "predicted_rewards": [float(reward) for reward in rewards],
            "sparse_gt": [step.reward.raw for step in row.trajectory],
            "shaped_gt": row.shaped,
        },
    }
    # The official scorer takes the task from the file's name and ignores subfolders.
    path = folder / "complete" / f"{row.id.replace('/', '_')}.json"
    write_atomically(path, json.dumps(record, indent=4, ensure_ascii=False).encode("utf-8", "replace"))
    return path


def official_state(state: State) -> list[Any]:
    """A state in the official format: per object {"object": {identity: [{name: value}]}}, sentences as str."""
    return [_official_item(item) for item in state]


def _official_item(item: Entity | Group | str) -> Any:
    match item:
        case Entity():
            return {"object": {item.identity: [{attribute.name: attribute.value} for attribute in item.attributes]}}
        case Group():
            return {"object": {item.identity: [*item.statements]}}
        case _:
            return item


DATASET = Dataset(
    name=NAME,
    about="RewardPrediction's 2,454 published trajectories in five domains (Shen et al. 2026)",
    present=present,
    fetch=fetch,
)
