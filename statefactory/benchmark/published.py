"""The benchmark as its authors publish it: fetching it and reading its layout.

Layout: rewardprediction/<domain>/<task>/positive.json and negative_<i>.json, each a `goal_description` and a
`trajectory` (README of yijunshens/StateFactory; the dataset YijunShen/RewardPrediction on the Hugging Face hub).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from lab.machine.datasets import Dataset, Report, UnexpectedData
from lab.machine.faults import MissingData
from statefactory.benchmark.schema import DOMAINS, Pair, Row, pairs_of, read_row

NAME = "rewardprediction"
HUB_DATASET = "YijunShen/RewardPrediction"
SOURCES = {"positive": "published positive", "negative": "published negative"}
_NEGATIVE = re.compile(r"negative_\d+")


def present(folder: Path) -> bool:
    """Whether every domain's folder has trajectories."""
    return all(next((folder / domain).rglob("positive.json"), None) for domain in DOMAINS)


def fetch(folder: Path, report: Report) -> None:
    """Download the dataset from the hub into `folder`; stopped and called again, it goes on.

    Raises UnexpectedData if it lacks a domain, and huggingface_hub's own errors where the hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    raw = folder / "raw"
    report(f"downloading {HUB_DATASET} from the Hugging Face hub")
    # The address read now: the package itself reads it once, when it is imported.
    snapshot_download(HUB_DATASET, repo_type="dataset", local_dir=raw, endpoint=os.environ.get("HF_ENDPOINT"))
    # The hub keeps the tree one folder down, as its README says. Moved only when whole, so that `present` sees all or
    # nothing of it.
    tree = raw / "data" if (raw / "data").is_dir() else raw
    missing = [domain for domain in DOMAINS if not (tree / domain).is_dir()]
    if missing or not present(tree):
        there = ", ".join(sorted(path.name for path in tree.iterdir()))
        raise UnexpectedData(f"{HUB_DATASET} lacks trajectories of {', '.join(missing) or 'a domain'}; it has {there}")
    for domain in DOMAINS:
        shutil.rmtree(folder / domain, ignore_errors=True)
        (tree / domain).replace(folder / domain)
    shutil.rmtree(raw)
    report(", ".join(f"{domain} {sum(1 for _ in _files(folder / domain))}" for domain in DOMAINS) + " trajectories")


def read_published(domain: str, folder: Path | None = None) -> list[Pair]:
    """The complete pairs of a domain. folder: holds the domains' folders; by default that of the fetched dataset.

    Raises MissingData if the domain is not there, ValueError naming a file that is not of the layout.
    """
    folder = DATASET.folder if folder is None else folder
    files = sorted(_files(folder / domain))
    if not files:
        raise MissingData(f"{folder / domain} has no trajectories. Fetch them with: python -m lab data fetch {NAME}")
    folders: dict[str, Path] = {}
    for path in files:
        if folders.setdefault(path.parent.name, path.parent) != path.parent:
            raise ValueError(f"{path.parent} and {folders[path.parent.name]} have one name, and so one task")
    return pairs_of(_read(path, domain) for path in files)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*.json"):
        if path.stem == "positive" or _NEGATIVE.fullmatch(path.stem):
            yield path


def _read(path: Path, domain: str) -> Row:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        # The official alfworld.py reads `observations[i][0]`, a list of one, where the README has a text; both occur.
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
            "source": SOURCES[kind], "data": "published", "seed": 0, "initial_observation": "",
            "goal_description": goal, "trajectory": trajectory,
        },
        str(path),
    )  # fmt: skip


DATASET = Dataset(
    name=NAME,
    about="RewardPrediction's 2,454 published trajectories in five domains (Shen et al. 2026)",
    present=present,
    fetch=fetch,
)
