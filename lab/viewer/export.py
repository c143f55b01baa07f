"""Trajectories as chat messages: JSONL and Parquet that `datasets.load_dataset` reads, for analysis or fine-tuning.

A row is an episode: the task is the user's first message, an action the assistant's, and what it led to the user's
next. With `calls` a row is one call of a model instead: the prompt as it was sent, and the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lab.machine.files import write_atomically
from lab.viewer.episodes import Kept
from lab.viewer.steps import plain
from lab.viewer.timeline import Timeline

FORMATS = ("jsonl", "parquet")
Record = dict[str, Any]


class NoCalls(ValueError):
    """Single calls were asked for, and no prompt of the runs is to be had; the message says why."""


def export(folders: Iterable[Path], path: Path, calls: bool = False) -> int:
    """Write the finished episodes of runs, in the format that the path's ending names; the number of rows.

    Raises ValueError for another ending, NoCalls, and DamagedFile.
    """
    if path.suffix.lstrip(".") not in FORMATS:
        raise ValueError(f"{path.name} ends in no format; name it {' or '.join(f'*.{name}' for name in FORMATS)}")
    found = list(rows(folders, calls))
    if path.suffix == ".jsonl":
        # Escaped, so that no reader trips over a line separator inside a text.
        text = "".join(json.dumps(row) + "\n" for row in found)
        write_atomically(path, text.encode("ascii"))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(found, schema=_schema(calls)), sink)
        write_atomically(path, sink.getvalue().to_pybytes())
    return len(found)


def rows(folders: Iterable[Path], calls: bool = False) -> Iterator[Record]:
    """A row an episode, or a row a call. Raises NoCalls."""
    for folder in folders:
        kept = Kept(Path(folder))
        about = {"run": kept.folder.name, "method": kept.manifest.method, "engine": kept.manifest.engine}
        for task, episode in kept.episodes.items():
            timeline = kept.timeline(task, prompts=calls)
            common = {**about, "task": task, "failed": episode.failed, "score": timeline.score}
            if not calls:
                yield _whole(common | {"outcome": timeline.outcome}, timeline)
            elif timeline.notes and not any(step.exchanges for step in timeline.steps):
                raise NoCalls(f"{kept.folder.name}, {task}: {timeline.notes[-1]}")
            else:
                yield from _each_call(common, timeline)


def _whole(common: Record, timeline: Timeline) -> Record:
    messages = [("user", timeline.task or timeline.title)]
    for step in timeline.steps:
        if action := plain(step.action):
            messages.append(("assistant", action))
        # A verdict is told to the agent, as the observation is; a remark beside a step without one is the reader's.
        judged = {True: "passed", False: "rejected", None: ""}[step.verdict]
        told = ": ".join(part for part in (judged, step.reason) if part) if judged else ""
        if answer := "\n".join(part for part in (plain(step.observation), told) if part):
            messages.append(("user", answer))
    steps = [
        {"title": _sound(step.title), "verdict": step.verdict, "reason": _sound(step.reason),
         "tokens_in": step.cost.tokens_in if step.cost else None,
         "tokens_out": step.cost.tokens_out if step.cost else None}
        for step in timeline.steps
    ]  # fmt: skip
    return {**common, "messages": [_message(*each) for each in messages], "steps": steps}


def _each_call(common: Record, timeline: Timeline) -> Iterator[Record]:
    for number, step in enumerate(timeline.steps, start=1):
        for each in step.exchanges:
            sent = [_message(message["role"], message["content"]) for message in each.messages]
            yield {
                **common, "step": number, "verdict": step.verdict, "operator": each.operator, "path": each.path,
                "tokens_in": each.cost.tokens_in, "tokens_out": each.cost.tokens_out,
                "messages": [*sent, _message("assistant", each.answer)],
            }  # fmt: skip


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": _sound(content)}


def _sound(text: str) -> str:
    """Text that every reader takes: halves of characters, which are no UTF-8, become their escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _schema(calls: bool) -> Any:
    # Stated, since a column that is empty in all rows has no type of its own.
    import pyarrow as pa

    text, messages = pa.string(), pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
    common = {"run": text, "method": text, "engine": text, "task": text, "failed": pa.bool_(), "score": pa.float64()}
    tokens = {"tokens_in": pa.int64(), "tokens_out": pa.int64()}
    if calls:
        step = {"step": pa.int64(), "verdict": pa.bool_(), "operator": text, "path": text, **tokens}
        return pa.schema({**common, **step, "messages": messages})
    step = {"title": text, "verdict": pa.bool_(), "reason": text, **tokens}
    return pa.schema({**common, "outcome": text, "messages": messages, "steps": pa.list_(pa.struct(step))})
