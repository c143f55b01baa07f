"""Export of a run: HTML pages to send to a colleague, or chat messages for analysis and fine-tuning.

`datasets.load_dataset` reads the messages, as JSONL or Parquet. The task is the user's first message, an action is the
assistant's message, and its observation the user's next one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lab.machine.files import write_atomically
from lab.results.exports import text
from lab.runs.showing import RunSummary
from lab.viewer import pages
from lab.viewer.episodes import StoredRun
from lab.viewer.steps import plain
from lab.viewer.timeline import Timeline, cause, written

WHOLE = 20_000_000  # characters of all episodes in one page; a browser opens so many in a few seconds
ENDINGS = {"": "a folder of pages", ".html": "one page", ".jsonl": "messages", ".parquet": "messages"}
Row = dict[str, Any]


def save(run: StoredRun, path: Path, prompts: bool = False) -> str:
    """Write a run's finished episodes; returns a sentence that says where they are.

    path: its suffix selects the format, see ENDINGS. prompts: pages also show prompts and answers, and a row of
    messages is one call of a model instead of one episode. To get the prompts, episodes are played again without a
    model. Raises ValueError for another suffix, or if there are no prompts; DamagedFile, OSError.
    """
    if path.suffix not in ENDINGS:
        forms = ", ".join(f"{form} (*{ending})" if ending else form for ending, form in ENDINGS.items())
        raise ValueError(f"{path.name}: a run is saved as {forms}")
    if path.suffix in ("", ".html"):
        return f"open {_pages(run, path, prompts)}"
    rows = [row for task in run.episodes for row in _rows(run, task, prompts)]
    if path.suffix == ".jsonl":
        # Escaped as ASCII, since some readers break lines at a line separator inside a text.
        write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows).encode("ascii"))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows, schema=_schema(prompts)), sink)
        write_atomically(path, sink.getvalue().to_pybytes())
    return f"{len(rows):,} rows are in {path}"


class Line(NamedTuple):
    """A task in the index. verdict: True for the full score, False for none, else None. link, body: its page."""

    task: str
    state: str
    verdict: bool | None = None
    score: float | None = None
    why: str = ""
    link: str = ""
    body: str = ""


def _pages(run: StoredRun, path: Path, prompts: bool) -> Path:
    """Write an index with the run's summary and one line per task; returns its path.

    In a folder each episode has its own page, so that an index of thousands opens at once. In a single page long texts
    are truncated, the more so the more episodes there are.
    """
    single_page, lines = path.suffix == ".html", []
    for number, task in enumerate(run.manifest.tasks, start=1):
        line = Line(task, *_ended(run, task))
        if task in run.episodes and single_page:
            timeline = run.timeline(task, prompts)
            most = pages.limit([timeline], WHOLE // len(run.episodes))
            line = line._replace(body=pages.timeline(timeline, most))
        elif task in run.episodes:
            line = line._replace(link=f"episodes/{number:05}.html")
            run.timeline(task, prompts).html(path / line.link)
        lines.append(line)
    summary = RunSummary(run)
    tables = {
        title.capitalize(): [[text(cell) for cell in row] for row in [table.columns, *table.to_numpy(object)]]
        for title, table in summary.tables.items()
    }
    body = pages.rendered("run.html", name=run.folder.name, facts=summary.facts, tables=tables, lines=lines)
    return written(path if single_page else path / "index.html", pages.page(run.folder.name, body))


def _ended(run: StoredRun, task: str) -> tuple[str, bool | None, float | None, str]:
    """State, verdict, score, and the reason for a lower score."""
    if task not in run.episodes:
        why = run.not_measured.get(task)
        return ("pending", None, None, "") if why is None else ("not measured", None, None, cause(why))
    judged, failed = run.judged(task), run.episodes[task].failed
    verdict = False if failed or judged.score == 0 else True if judged.score == 1 else None
    return "failed" if failed else "scored", verdict, judged.score, judged.reason


def _rows(run: StoredRun, task: str, calls: bool) -> Iterator[Row]:
    timeline, manifest = run.timeline(task, prompts=calls), run.manifest
    row = {
        "run": run.folder.name, "method": manifest.method, "engine": manifest.engine, "task": task,
        "failed": run.episodes[task].failed, "score": timeline.score,
    }  # fmt: skip
    if not calls:
        yield row | {"outcome": timeline.outcome} | _trajectory(timeline)
    elif timeline.notes and not any(step.exchanges for step in timeline.steps):
        raise ValueError(f"{run.folder.name}, {task}: {timeline.notes[-1]}")
    else:
        yield from (row | call for call in _calls(timeline))


def _trajectory(timeline: Timeline) -> Row:
    messages = [_message("user", timeline.task or timeline.title)]
    for step in timeline.steps:
        if action := plain(step.action):
            messages.append(_message("assistant", action))
        # The agent gets the verdict with the observation; a remark on a step without a verdict is for readers only.
        verdict = {True: "passed", False: "rejected", None: ""}[step.verdict]
        reason = ": ".join(part for part in (verdict, step.reason) if part) if verdict else ""
        if answer := "\n".join(part for part in (plain(step.observation), reason) if part):
            messages.append(_message("user", answer))
    steps = [
        {"title": _encodable(step.title), "verdict": step.verdict, "reason": _encodable(step.reason),
         "tokens_in": step.cost.tokens_in if step.cost else None,
         "tokens_out": step.cost.tokens_out if step.cost else None}
        for step in timeline.steps
    ]  # fmt: skip
    return {"messages": messages, "steps": steps}


def _calls(timeline: Timeline) -> Iterator[Row]:
    for number, step in enumerate(timeline.steps, start=1):
        for call in step.exchanges:
            prompt = [_message(message["role"], message["content"]) for message in call.messages]
            yield {
                "step": number, "verdict": step.verdict, "operator": call.operator, "path": call.path,
                "tokens_in": call.cost.tokens_in, "tokens_out": call.cost.tokens_out,
                "messages": [*prompt, _message("assistant", call.answer)],
            }  # fmt: skip


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": _encodable(content)}


def _encodable(text: str) -> str:
    """Text that every reader accepts: lone surrogates, which are not valid UTF-8, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _schema(calls: bool) -> Any:
    # Explicit, since Parquet cannot infer the type of a column that is empty in all rows.
    import pyarrow as pa

    text, messages = pa.string(), pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
    row = {"run": text, "method": text, "engine": text, "task": text, "failed": pa.bool_(), "score": pa.float64()}
    tokens = {"tokens_in": pa.int64(), "tokens_out": pa.int64()}
    if calls:
        call = {"step": pa.int64(), "verdict": pa.bool_(), "operator": text, "path": text, **tokens}
        return pa.schema({**row, **call, "messages": messages})
    step = {"title": text, "verdict": pa.bool_(), "reason": text, **tokens}
    return pa.schema({**row, "outcome": text, "messages": messages, "steps": pa.list_(pa.struct(step))})
