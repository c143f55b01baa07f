"""Timelines, in which foreign text does nothing; and a run's folder read back, shown and saved for others."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import SHELVES, Asking, Checking
from chat_server import ChatServer, answer
from lab.__main__ import main
from lab.machine.files import write_atomically
from lab.machine.printing import visible
from lab.models.backbone import Cost
from lab.runs.collecting import collect
from lab.runs.experiment import Results
from lab.viewer import pages
from lab.viewer.episodes import StoredRun
from lab.viewer.saving import save
from lab.viewer.steps import LINE, Change, Exchange, Step, plain
from lab.viewer.timeline import Timeline, side_by_side
from odd_texts import ODD

HOSTILE = (
    "<script>window.hostile = 1</script>",
    "</pre></details><img src=x onerror='window.hostile = 1'>",
    "\x00\x1b[2J\u202etxet desrever\u202c \ud83d",
    "{{ 7 * 7 }}{% for %}",
    "&lt;b&gt;\r\n✓ 99 a step that nobody took",
)
OURS = {"div", "style", "p", "strong", "br", "em", "span", "bdi", "details", "summary", "dl", "dt", "dd", "pre"}
OURS |= {"samp", "table", "thead", "tbody", "tr", "th", "td"}


class Reader(HTMLParser):
    """Collects what a browser would see: elements with their attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.text += "\n" if tag == "br" else ""
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def episode(*texts: str) -> Timeline:
    """Every field that foreign text can get into."""
    one, *rest = texts
    asked = Exchange(one, ({"role": "user", "content": one},), one, one, Cost(1, 2, 3))
    step = Step(
        title=one, verdict=False, reason=one, target=one, action={one: [one, {one: 1}]}, observation=one,
        exchanges=(asked,), cost=Cost(1, 2, 3), before={one: one}, after={f"{one}.": one},
    )  # fmt: skip
    return Timeline(
        title=one, task=one, outcome=one, about={one: one}, notes=(one,),
        steps=(step, *(Step(title=text, observation=text) for text in rest)),
    )  # fmt: skip


@pytest.mark.parametrize("text", [*HOSTILE, *ODD])
def test_foreign_text_is_shown_and_does_nothing(text: str, tmp_path: Path) -> None:
    shown = episode(text)
    for page in (shown._repr_html_(), shown.folded().data, side_by_side(shown, episode("x"))._repr_html_()):
        read = Reader(page)
        assert read.tags <= OURS and read.names <= {"class", "style", "open", "colspan", "valign"}
        assert visible(text).replace("\r\n", "\n") in read.text.replace("\r\n", "\n")
        assert page.encode() and not set(page) & set("\x00\x1b\u202e")
    assert shown.html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "\x1b" not in shown.text(detail=True)


@pytest.mark.slow
@given(st.text(max_size=60))
def test_no_text_makes_an_element(text: str) -> None:
    read = Reader(pages.fragment(pages.timeline(episode(text, text))))
    assert read.tags <= OURS and read.names <= {"class", "style", "open"}


def test_a_text_form_has_a_line_a_step_and_forges_none() -> None:
    shown = Timeline(title="a task", steps=(Step(title="first\n   2 ✓ forged", verdict=True), Step(title="second")))
    assert shown.text().splitlines()[-2:] == ["   1 ✓ first 2 ✓ forged", "   2 • second"]
    assert repr(shown) == shown.text()


def test_a_line_is_never_cut_below_its_limit_and_a_long_text_says_how_much_is_left_out(tmp_path: Path) -> None:
    title, long = "t" * LINE, "x" * 100_000
    shown = Timeline(title="a task", steps=(Step(title=title, observation=long),))
    page = shown._repr_html_()
    assert title in page and "96,000 more characters" in page and len(page) < 20_000
    assert long in shown.html(tmp_path / "whole.html").read_text()


def test_a_thousand_steps_with_long_texts_stay_small() -> None:
    step = Step(title="a step", action="a" * 10_000, observation="o" * 10_000, before={"a": "b" * 10_000}, after={})
    page = Timeline(title="a task", steps=(step,) * 1000)._repr_html_()
    assert page.count("<details>") == 1000 and len(page) < 2_000_000


def test_only_what_a_step_changed_is_told() -> None:
    step = Step(title="t", before={"a": 1, "b": "x", "gone": ""}, after={"a": 1, "b": "y", "new": [1, 2]})
    assert step.changes == [Change("b", "x", "y"), Change("gone", "", None), Change("new", None, "1, 2")]


def test_json_is_read_without_quotes_and_escapes() -> None:
    assert plain({"a": [1, "two"], "b": {"c": "x\ny"}, "d": None}) == "a: 1, two\nb:\n  c:\n    x\n    y\nd:"


def test_side_by_side_pairs_targets_and_marks_the_first_difference() -> None:
    def told(*steps: tuple[str, bool]) -> Timeline:
        return Timeline(title="t", steps=tuple(Step(title=name, verdict=verdict) for name, verdict in steps))

    left = told(("A", True), ("B", False), ("B", True), ("C", True))
    right = told(("A", True), ("B", True), ("C", True))
    both = side_by_side(left, right)
    pairs = [[side and side[0] for side in row] for row in both.rows]
    assert pairs == [[1, 1], [2, 2], [3, None], [4, 3]]
    assert both.diverged == 1 and "first difference: verdict<" in both._repr_html_()
    lines = both.text(60).splitlines()
    assert any(line.startswith("◆") for line in lines) and max(map(len, lines)) <= 60
    page = side_by_side(*[Timeline(title="t", task="<a>\nb", steps=())] * 2)._repr_html_()
    assert page.count("&lt;a&gt;<br>b</samp>") == 2 and "<pre" not in page  # which would not wrap without styles
    same = side_by_side(left, left)
    assert same.diverged is None and "first difference" not in same._repr_html_()


@given(st.lists(st.sampled_from("ABC")), st.lists(st.sampled_from("ABC")))
def test_side_by_side_has_every_step_once_in_order_and_pairs_only_what_is_for_the_same(left: str, right: str) -> None:
    both = side_by_side(
        *(Timeline(title="t", steps=tuple(Step(title=name) for name in names)) for names in (left, right))
    )
    for place, names in enumerate((left, right)):
        steps = [row[place] for row in both.rows if row[place]]
        assert [(number, step.title) for number, step in steps] == [*enumerate(names, start=1)]
    assert all(row.left[1].title == row.right[1].title for row in both.rows if row.left and row.right)
    assert (both.diverged is None) == (left == right)


# --- a run's folder --------------------------------------------------------------------------------------------------


def played(setup: Asking) -> Results[Asking]:
    return collect(setup, workers=1, show_progress=False)


def without_note(run: Results[Asking]) -> Path:
    """The run's folder as one of before manifests named their experiment."""
    path = run.folder / "manifest.json"
    held = json.loads(path.read_text())
    del held["surroundings"]["experiment"]
    write_atomically(path, json.dumps(held).encode())
    return run.folder


def test_prompts_and_answers_are_had_again_and_no_rule_is_needed_to_have_kept_them() -> None:
    run = played(Checking(engine="rules@0.5", count=1))
    assert not (run.folder / "answers.jsonl").exists()
    shown = StoredRun(run.folder).timeline("000", prompts=True)
    asked = [each for step in shown.steps for each in step.exchanges]
    shelves = [json.loads(each.answer)["shelf"] for each in asked if each.operator == "realize"]
    assert shelves == [shelf for shelf, _ in run.episodes["000"].result["pairs"]]
    assert all(each.messages[0]["role"] == "system" for each in asked) and not shown.notes
    assert not any(step.exchanges for step in StoredRun(run.folder).timeline("000").steps)


def test_a_models_answers_come_from_what_the_run_kept_and_no_model_is_asked(server: ChatServer) -> None:
    server.behave(lambda request: answer({"shelf": len(request.text) % SHELVES, "why": "there is room"}))
    run = played(Asking(engine="a-model", count=2))
    asked = len(server.requests)
    shown = StoredRun(run.folder).timeline("001", prompts=True)
    shelves = [json.loads(each.answer)["shelf"] for step in shown.steps for each in step.exchanges]
    assert shelves == run.episodes["001"].result["shelves"] and len(server.requests) == asked
    (run.folder / "answers.jsonl").unlink()
    assert "were not kept" in StoredRun(run.folder).timeline("000", prompts=True).notes[-1]


def test_an_episode_that_comes_out_otherwise_shows_no_prompts_and_one_not_measured_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed = played(Asking(count=4, wrong=("001",), fault="BackendDied"))
    with pytest.raises(ValueError, match="no episode of 001, which was not measured"):
        StoredRun(missed.folder).timeline("001")
    save(StoredRun(missed.folder), tmp_path / "one.html")
    page = (tmp_path / "one.html").read_text()
    assert "not measured <bdi>" in page and "BackendDied in 001" in page
    run = played(Asking(count=1))
    monkeypatch.setattr(Asking, "play", lambda self, task, ledger: {"shelves": []})
    assert "came out otherwise" in StoredRun(run.folder).timeline("000", prompts=True).notes[-1]


def test_a_run_that_names_no_experiment_is_shown_as_it_was_kept_and_has_no_calls(tmp_path: Path) -> None:
    run = played(Asking(count=1))
    assert StoredRun(run.folder).setup == run.setup
    unnamed = StoredRun(without_note(run))
    shown = unnamed.timeline("000")
    assert shown.steps[-1].observation == run.episodes["000"].result
    assert "does not say which experiment" in shown.notes[0]
    with pytest.raises(ValueError, match="only the experiment that wrote the run"):
        save(unnamed, tmp_path / "d.jsonl", prompts=True)


@pytest.mark.parametrize("noted", ["os:path", "no_such_module:Setup", "asking:QUESTIONS", "asking"])
def test_a_manifest_can_name_nothing_but_an_experiment(noted: str) -> None:
    run = played(Asking(count=1))
    kept = StoredRun(run.folder)
    surroundings = {**kept.manifest.surroundings, "experiment": noted}
    kept.__dict__["manifest"] = replace(kept.manifest, surroundings=surroundings)
    assert kept.setup is None and noted in kept.timeline("000").notes[0]


def stored(**settings: object) -> StoredRun:
    return StoredRun(collect(Asking(**settings), workers=1, show_progress=False).folder)


def test_a_folder_links_episodes_and_one_page_has_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = stored(count=4, wrong=("001",))
    save(run, tmp_path / "pages")
    page = (tmp_path / "pages/index.html").read_text()
    links = [f"episodes/{number:05}.html" for number in (1, 2, 3, 4)]
    assert all(f'href="{link}"' in page and (tmp_path / "pages" / link).exists() for link in links)
    assert "3 scored, 1 failed, 0 not measured" in page and "ZeroDivisionError in 001" in page
    assert main(["show", str(run.folder), "--save", str(tmp_path / "one.html"), "--prompts"]) == 0
    whole = (tmp_path / "one.html").read_text()
    assert "href=" not in whole and "realize, user" in whole and str(tmp_path / "one.html") in capsys.readouterr().out


def test_trajectories_and_calls_are_chats_that_datasets_reads(tmp_path: Path) -> None:
    from datasets import load_dataset

    run = stored(engine="rules@0.5", count=2)
    for name, form in (("a.jsonl", "json"), ("a.parquet", "parquet")):
        said = save(run, tmp_path / name, prompts=True)
        rows = load_dataset(form, data_files=str(tmp_path / name), split="train", cache_dir=str(tmp_path / "cache"))
        assert said == f"{len(rows)} rows are in {tmp_path / name}"
        assert [message["role"] for message in rows[0]["messages"]] == ["system", "user", "assistant"]
        assert set(rows["operator"]) == {"realize"} and set(rows["task"]) == {"000", "001"}
    assert save(run, tmp_path / "b.jsonl").startswith("2 rows")
    with pytest.raises(ValueError, match=r"c.csv: a run is saved as a folder of pages, one page \(\*.html\), messages"):
        save(run, tmp_path / "c.csv")
