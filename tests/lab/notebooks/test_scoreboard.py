"""The register as committed: what it lists and links, and that all that is computed from it is current; deviations."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from lab.machine.faults import DamagedFile
from lab.machine.paths import ROOT, published_data, recordings_folder
from lab.notebooks import answers, commands, deviations, expected, front_page, page, panels, register, scoreboard
from lab.notebooks.documents import committed, name_of
from lab.results import dots, exports, stored
from lab.results.claims import BadClaim
from lab.results.statistics import Interval
from lab.results.stored import Stored
from lab.runs import recordings

PAPERS = {"1_sdp": "SDP", "2_statefactory": "StateFactory", "3_procllm": "ProcLLM"}
ITEM = re.compile(r"(?:Table|Figure) (?:[A-Z]\.)?\d+")
JUDGED = register.committed()
FINDINGS = scoreboard.findings(JUDGED)
ITEMS = {(paper.paper.paper, name): item for paper in JUDGED for item in paper.paper.items for name in item.items}


@pytest.mark.slow
def test_no_claim_is_missing_or_void_and_there_are_sixty() -> None:
    assert register.faults() == []
    assert len(FINDINGS) >= 60


def test_every_claim_on_a_real_model_and_official_data_has_a_null_model() -> None:
    asked = [finding for finding in FINDINGS if finding.on_a_model and finding.data == "official"]
    assert asked and not [finding.claim.id for finding in asked if not finding.null]


def test_every_table_and_figure_with_published_numbers_is_listed_once_and_has_its_notebook() -> None:
    assert len(ITEMS) == sum(len(item.items) for paper in JUDGED for item in paper.paper.items)
    papers = {paper.lower(): paper for paper in PAPERS.values()}
    for path in published_data().glob("*_tables.csv"):
        with path.open() as file:
            names = {item for line in csv.DictReader(file) for item in ITEM.findall(line["table"])}
        paper = papers[path.name.removesuffix("_tables.csv")]
        assert names and {(paper, name) for name in names} <= ITEMS.keys()
    listed = {item.notebook for item in ITEMS.values()}
    ours = {name_of(path): path for path in committed()}
    assert listed - {""} <= ours.keys()
    assert all((ROOT / item.page).is_file() for item in ITEMS.values() if item.page)
    assert all(item.notebook or item.page or item.note for item in ITEMS.values())
    assert {finding.claim.notebook for finding in FINDINGS} - {""} <= ours.keys()
    assert {name for name in ours if name.partition("/")[0] in PAPERS} <= listed


@pytest.mark.slow
def test_pages_answer_boxes_and_the_scoreboards_files_are_current() -> None:
    for path in front_page.pages():
        text = path.read_text(encoding="utf-8")
        assert front_page.filled(text, path.name) == text, f"{path.name} is stale; write it: make readme"
    assert not front_page.stale(), "stale; write them: make readme"
    for paper in JUDGED:
        rows = scoreboard.table(paper, "../notebooks/")
        kept = (stored.COMMITTED / f"0_scoreboard_{paper.paper.published}.md").read_text(encoding="utf-8")
        data = (stored.COMMITTED / f"0_scoreboard_{paper.paper.published}.csv").read_text(encoding="utf-8")
        now = exports.markdown(rows), exports.csv(scoreboard.rows([paper]))
        assert now == (kept, data), "stale; run: python -m lab run --in-place 0_scoreboard"


def test_a_claims_numbers_are_data_in_its_unit() -> None:
    rows = scoreboard.rows(JUDGED).set_index("claim")
    assert list(rows.index) == [finding.claim.id for finding in FINDINGS]
    for finding in (finding for finding in FINDINGS if isinstance(finding.here, Interval)):
        row = rows.loc[finding.claim.id]
        assert (row["value"], row["n"]) == (finding.here.value, finding.n)
        assert row[["ci_low", "ci_high"]].tolist() == pytest.approx(finding.here[1:], nan_ok=True)
        if finding.sides:
            assert row["first"] - row["second"] == pytest.approx(row["value"])


def test_every_table_and_figure_links_its_notebook_or_page() -> None:
    links = scoreboard.items(JUDGED, "").set_index(["paper", "items"])["notebook or page"]
    assert links["SDP", "Table 7"] == "[docs/configuration.md](../docs/configuration.md)"
    assert links["SDP", "Table 1"] == "[1_sdp/table1_mdp_objects](1_sdp/table1_mdp_objects.ipynb)"


def test_every_recording_with_answers_notes_the_prompts_that_it_answers() -> None:
    with_answers = {path.parent.name for path in recordings_folder().glob("*/answers.jsonl.gz")}
    assert {name for name, about in recordings.manifests().items() if about.prompts} == with_answers


@pytest.mark.slow
def test_a_changed_prompt_makes_its_recordings_void_and_their_claims_fail_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    changed = dict(recordings.digests()) | {"sdp.travelplanner.select": "another wording"}
    monkeypatch.setattr(recordings, "digests", lambda *_: changed)
    assert commands.check([]) == 1
    told = [line for line in capsys.readouterr().out.splitlines() if "wording of sdp.travelplanner.select" in line]
    assert told and all("claim sdp-travelplanner" in line and "is VOID" in line for line in told)
    assert "table2_travelplanner-local-openvino" not in recordings.names("sdp-table2")


@pytest.mark.slow
def test_a_removed_row_fails_the_check_and_names_the_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def without(path: Path) -> list[stored.Scores]:
        return [scores for scores in kept(path) if scores.side.condition != "ReAct"]

    kept = stored._read_scores
    monkeypatch.setattr(stored, "_read_scores", without)
    assert commands.check([]) == 1
    assert re.search(
        r"claim sdp-travelplanner-react .* is MISSING: no scores of TravelPlanner, ReAct", capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("paper: A\n", "published"),
        ("[", "is damaged"),
        ("paper: A\npublished: sdp\nmodels: []\nitems: []\nclaims: [{id: x, item: y, says: z, colour: red}]", "colour"),
    ],
)
def test_a_register_that_cannot_be_read_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "sdp.yaml").write_text(text)
    with pytest.raises(DamagedFile, match=said):
        register.papers(tmp_path)


def test_own_results_count_where_made_with_the_same_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lab.notebooks.expected import Report

    monkeypatch.setattr(stored, "COMMITTED", tmp_path / "committed")
    for place, data in (("committed", "official"), ("own", "synthetic")):
        monkeypatch.setenv("LAB_FIGURES", str(tmp_path / place))
        Report("book", data, 3)("facts", 4)
    assert Stored("auto").folder("book") == tmp_path / "committed"
    Report("book", "official", 3)("facts", 5)
    assert Stored("auto").folder("book") == tmp_path / "own"
    assert Stored().folder("book") == tmp_path / "committed"
    Report("book", "official", 3)("facts", None)  # of data that is not here
    assert Stored("auto").folder("book") == tmp_path / "committed"


def test_the_five_sentences_name_what_the_findings_say() -> None:
    sentences = answers.found(JUDGED)
    assert len(sentences) == 5
    run = [finding for finding in FINDINGS if finding.on_a_model]
    assert f"Of {len(run)} comparisons on real models" in sentences[2]
    for word in ("AGREES", "OPPOSES"):
        chosen = [finding.claim for finding in run if finding.verdict.word == word]
        for notebook in {claim.notebook for claim in chosen}:
            first, *others = sorted((c for c in chosen if c.notebook == notebook), key=lambda claim: not claim.headline)
            assert first.says in sentences[3] and (f"and {len(others)} more of {first.item}" in sentences[3]) == bool(
                others
            )


# --- deviations from the papers --------------------------------------------------------------------------------------


ENTRY = '- {kind: setting, where: "A.1", paper: "it | says", here: "we do", file: "Makefile", switch: "b"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(deviations, "FOLDER", tmp_path)
    return tmp_path


def test_every_file_has_its_table_on_the_page() -> None:
    page = (ROOT / "docs" / "deviations.md").read_text(encoding="utf-8")
    files = {path.stem for path in deviations.FOLDER.glob("*.yaml")}
    assert "sdp" in files and all(f"<!-- deviations ({name}): made by" in page for name in files)
    assert len(deviations.entries("sdp")) > 60


def test_an_entry_is_a_row_of_a_table(folder: Path) -> None:
    (folder / "sdp.yaml").write_text(ENTRY, encoding="utf-8")
    text = front_page.differences("sdp")
    assert "| A.1 | it \\| says | we do | [setting](../Makefile) | `b` |" in text
    assert deviations.table("sdp").to_dict("records")[0]["switch"] == "b"


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (ENTRY.replace("setting", "typo"), "entry 2.*typo"),
        (ENTRY.replace("Makefile", "none.py"), "entry 2.*there is no file 'none.py'"),
        (ENTRY.replace("we do", ""), "entry 2.*have to say something"),
        (ENTRY.replace("switch", "swich"), "entry 2.*swich"),
    ],
)
def test_what_cannot_be_read_is_named(folder: Path, entry: str, why: str) -> None:
    (folder / "sdp.yaml").write_text(ENTRY + entry, encoding="utf-8")
    with pytest.raises(DamagedFile, match=why):
        deviations.entries("sdp")


def test_an_items_answer_states_the_reported_figures() -> None:
    values = {"wrong, %": 2.5, "reaches the goal": True, "stalls": False}
    answer = "{wrong, %} % are wrong; it {reaches the goal|ends|goes on} and {stalls|stalls|moves}."
    assert answers.filled(answer, values) == "2.5 % are wrong; it ends and moves."
    with pytest.raises(BadClaim, match=r"'wrong %'.*did you mean 'wrong, %'"):
        answers.filled("{wrong %}", values)
    with pytest.raises(BadClaim, match="'open', which its notebook does not report"):
        answers.filled("it {open|ends|goes on}", {"open": None})  # of data that is not here: neither text is true


def test_the_first_run_of_a_page_whose_answer_names_a_new_figure_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    notebook = "3_procllm/figure4_runtime"
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path))
    expected.Report(notebook, "synthetic", 3)("of an older version", 1)
    monkeypatch.setattr(stored, "COMMITTED", tmp_path)
    with pytest.raises(BadClaim, match="which its notebook does not report"):
        page.bundles(notebook)  # what is written into committed pages
    page.answer(notebook)
    assert "which its notebook does not report" in capsys.readouterr().out


def test_engines_in_sentences_are_code_and_no_email_addresses() -> None:
    text = "80.0 (simulated: rules@0.8?judge=GPT-5.2, oracle@1), `rules@0.7`. By rules@0.6."
    assert answers.engines_as_code(text) == (
        "80.0 (simulated: `rules@0.8?judge=GPT-5.2`, `oracle@1`), `rules@0.7`. By `rules@0.6`."
    )


def test_a_panels_sentence_compares_answers_of_the_same_kind() -> None:
    def line(label: str, *values: tuple[float, str], **more: Any) -> dots.Line:
        return dots.Line(label, tuple(dots.Dot(value, who=who, n=40, name="m") for value, who in values), **more)

    lines = [
        line("ours", (60.0, dots.RULES), (30.0, dots.SMALL), paper=(75.0,)),
        line("no check", (55.0, dots.RULES), (99.0, dots.SMALL)),
        line("no plan", (50.0, dots.RULES)),
        line("ours, placebo", (58.0, dots.RULES)),
        dots.Line(dots.NULL_MODEL, null=12.0, note="first, n = 40, synthetic"),
    ]
    sentence = panels.sentence(panels.Panel("score", lines, lower=False), 1, "synthetic")
    assert sentence == (
        "score, synthetic data: ours 60.0 by rules (no model), n = 40; 30.0 by m, n = 40; published: 75.0; "
        "best other: *no check* 55.0; placebo: *ours, placebo* 58.0; null model (first, n = 40, synthetic) 12.0."
    )
    lower = panels.sentence(panels.Panel("distance", lines, lower=True), 1)
    assert "best other: *no plan* 50.0" in lower
    assert panels.sentence(panels.Panel("score", lines[-1:], lower=False), 1) == ""
    # Rules are no counterpart of the paper's model, and agents without skill on other data are none of this page's.
    by_rules = line("ours", (60.0, dots.RULES), paper=(75.0,))
    alone = panels.sentence(panels.Panel("score", [by_rules, lines[-1]], lower=False), 1, "official")
    assert alone == "score, official data: ours 60.0 by rules (no model), n = 40."
    # A table that tells its data is believed.
    labelled = dots.Line("ours", (dots.Dot(60.0, who=dots.RULES, n=40, data="synthetic"),))
    sentence = panels.sentence(panels.Panel("score", [labelled, lines[-1]], lower=False), 1, "official")
    assert sentence.startswith("score, synthetic data: ours") and "null model" in sentence
    # Beside a model, rules that do better are not hidden.
    rival, rules = line("other", (20.0, dots.SMALL)), line("rules", (35.0, dots.RULES))
    sentence = panels.sentence(panels.Panel("score", [line("ours", (30.0, dots.SMALL)), rival, rules], lower=False), 1)
    assert sentence.endswith("best other model: *other* 20.0; best without a model: *rules* 35.0.")
