"""Notebooks as experiments: parameters, real executions by papermill, normalised outputs, expected figures."""

from __future__ import annotations

import ast
import base64
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from lab.__main__ import main
from lab.machine.faults import DamagedFile
from lab.machine.paths import ROOT
from lab.notebooks import check, commands, expected, register
from lab.notebooks.documents import FOLDER, NotebookError, committed, locate, read, text_of, write
from lab.notebooks.execute import Job, Outcome, execute
from lab.notebooks.expected import Expectation
from lab.notebooks.normalise import normalise
from lab.notebooks.parameters import Parameter, declared, offline, parse, resolve
from lab.notebooks.worker import NO_ANSWER, Progress, answered
from lab.results import stored
from lab.results.stored import Reported, reported
from small_notebooks import notebook


def outputs(path: Path) -> list[str]:
    """The printed text of every cell that printed."""
    return [output.text for cell in read(path).cells for output in cell.get("outputs", []) if "text" in output]


def test_parameters_are_read_with_their_types_defaults_and_help(tmp_path: Path) -> None:
    found = declared(read(notebook(tmp_path / "a.ipynb")), "a")
    assert found["engine"] == Parameter("engine", "str", "rules?a=1&b=2", "what answers; a = sign here is fine")
    assert found["names"].default == ["a", "b # not a comment"] and found["names"].help == "what to call them"
    assert found["share"].annotation == "float | None"


@pytest.mark.parametrize(
    "line",
    ["limit = 3  # untyped", "limit: int = 3", "limit: int = f()  # a call", "limit: Path = 3  # p",
     'limit: int = "3"  # a text', "names: list[int] = ['a']  # a text in it", "n: int | str = 1  # either"],
)  # fmt: skip
def test_a_parameter_line_of_another_form_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(NotebookError, match="line 1 of the parameters cell of a"):
        declared(read(notebook(tmp_path / "a.ipynb", parameters=line)), "a")


@pytest.mark.parametrize(
    "text", ["{verify: m?seed=1&top_p=1, act: replay:a-b.c}", "verify: m?seed=1&top_p=1\nact: replay:a-b.c"]
)
def test_engines_of_operators_are_typed_as_yaml_and_a_colon_in_braces_wants_quotes(text: str) -> None:
    engines = Parameter("engines", "dict", {}, "who answers single operators")
    assert parse(text, engines) == {"verify": "m?seed=1&top_p=1", "act": "replay:a-b.c"}
    with pytest.raises(NotebookError, match='a colon and a space wants "quotes"'):
        parse("{verify: m: 1}", engines)


@pytest.mark.parametrize(
    ("chooses", "lines"),
    [
        (True, ['writer: str = "rules"  # of the letters', 'writer: str = "rules@0.8?seed=1"  # of the letters',
                'writer: str = "replay:letters"  # of the letters', 'writer: str = "local"  # of the letters',
                'writer: str | None = "local:small"  # of them', 'writer: str = "gpt-4o"  # who writes the letters',
                'writer: str = ""  # who writes the letters']),
        (False, ['data: str = "auto"  # official where it is, else made', 'cluster: str = ""  # an address',
                 'names: list[str] = ["rules"]  # who is named']),
    ],
)  # fmt: skip
def test_a_parameter_that_chooses_an_engine_is_known(tmp_path: Path, chooses: bool, lines: list[str]) -> None:
    for line in lines:
        (parameter,) = declared(read(notebook(tmp_path / "a.ipynb", parameters=line)), "a").values()
        assert parameter.chooses_engine is chooses, line


def test_the_engines_of_the_committed_notebooks_are_known() -> None:
    parameters = [one for path in committed() for one in declared(read(path), path.stem).values()]
    chosen = {one.name for one in parameters if one.chooses_engine}
    assert {"engine", "paraphraser", "maker"} <= chosen and not chosen & {"data", "cluster", "embedding", "task"}
    by_default = {one.default for one in parameters if one.chooses_engine and one.default}
    assert all(offline(engine) for engine in by_default), (
        "no notebook needs a server, or takes another word for a model"
    )


def test_what_a_committed_notebook_imports_of_the_suite_is_there() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    sources = {path.stem: "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
               for path in committed()}  # fmt: skip
    for stem, source in sources.items():
        imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
        for module, names in ((str(node.module), node.names) for node in imports):
            if module.partition(".")[0] in packages:
                package = importlib.import_module(module)
                for name in (alias.name for alias in names):
                    there = hasattr(package, name) or importlib.util.find_spec(f"{module}.{name}")
                    assert there, f"{stem}: {module} has no {name}"


def test_a_recording_is_of_a_model_and_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    lines = 'engine: str = "rules"  # who answers\nwriter: str = "replay:letters"  # of the letters'
    path = notebook(tmp_path / "a.ipynb", "1 / 0", parameters=lines)
    assert main(["record", str(path), "-p", "engine", "rules@0.7"]) == 2
    error = capsys.readouterr().err
    assert "runs no model: engine='rules@0.7', writer='replay:letters'; record one with -p engine local" in error
    monkeypatch.setenv("LAB_RECORDING", "")  # set anew below, and restored after the test
    monkeypatch.setattr(commands, "run", lambda *arguments, **options: 0)
    main(["record", str(path), "-p", "engine", "local?max_tokens=9"])
    assert os.environ["LAB_RECORDING"] == "a-local-openvino"


def test_notebooks_that_cannot_run_together_or_so_are_refused(tmp_path: Path) -> None:
    a, b = notebook(tmp_path / "a.ipynb"), notebook(tmp_path / "b.ipynb", parameters="seed: int = 0  # of all draws")
    with pytest.raises(NotebookError, match="b has no parameter 'limit', while a has"):
        resolve([a, b], [("limit", "5")])
    with pytest.raises(NotebookError, match="run them apart"):
        execute([Job(a, tmp_path / "out.ipynb"), Job(b, tmp_path / "out.ipynb")])
    with pytest.raises(NotebookError, match="drop -p and --out"):
        commands.run([str(a)], [("limit", "1")], in_place=True)


def test_an_unknown_parameter_stops_everything_before_it_starts(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = notebook(tmp_path / "a.ipynb", "print(1)")
    assert main(["run", str(path), "-p", "limt", "5", "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "a has no parameter 'limt'" in error and "limit: int = 3  # tasks per split" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_one_failing_notebook_does_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    good = notebook(tmp_path / "in" / "good.ipynb", "print(engine, limit)", "import os; print(os.getcwd())")
    bad = notebook(tmp_path / "in" / "bad.ipynb", "print('before')", "1 / 0", "print('after')")
    out = tmp_path / "out"
    assert commands.run([str(bad), str(good)], [("limit", "5")], out=out) == 1
    assert outputs(out / "good.ipynb") == ["rules?a=1&b=2 5\n", f"{good.parent}\n"]
    assert outputs(out / "bad.failed.ipynb") == ["before\n"]
    assert sorted(path.name for path in out.iterdir()) == ["bad.failed.ipynb", "good.ipynb"]
    printed = capsys.readouterr().out
    assert "ZeroDivisionError: division by zero; its cells up to the error are in" in printed


@pytest.mark.campaign
def test_a_kernel_that_dies_and_one_that_hangs_fail_alone_and_leave_no_output(tmp_path: Path) -> None:
    dead = Job(notebook(tmp_path / "dead.ipynb", "import os; os._exit(1)"), tmp_path / "out" / "dead.ipynb")
    slow = Job(notebook(tmp_path / "slow.ipynb", "import time; time.sleep(99)"), tmp_path / "out" / "slow.ipynb")
    started = time.monotonic()
    first, second = execute([dead, slow], timeout=25)  # long enough for two kernels to start on a busy machine
    assert "the kernel died" in first.failure and first.failure.startswith("cell 3")
    assert second.failure == "cell 3: took longer than 25 s"
    assert time.monotonic() - started < 90
    assert not dead.output.exists() and not slow.output.exists()


@pytest.mark.campaign
def test_an_output_of_before_survives_a_failure_and_a_success_clears_the_failed_copy(tmp_path: Path) -> None:
    job = Job(notebook(tmp_path / "a.ipynb", "print('good')"), tmp_path / "out" / "a.ipynb")
    execute([job])
    before = job.output.read_bytes()
    notebook(job.source, "1 / 0")
    assert execute([job])[0].failure and job.failed.exists()
    assert job.output.read_bytes() == before
    notebook(job.source, "print('good')")
    assert not execute([job])[0].failure and not job.failed.exists()
    assert job.output.read_bytes() == before


@pytest.mark.slow
def test_the_scoreboard_starts_when_all_others_have_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = notebook(tmp_path / "0_scoreboard.ipynb", f"print(open({str(tmp_path / 'row')!r}).read())")
    other = notebook(
        tmp_path / "a.ipynb", f"import time; time.sleep(1); open({str(tmp_path / 'row')!r}, 'w').write('it')"
    )
    outcomes = execute([Job(path, tmp_path / "out" / path.name) for path in (board, other)], side_by_side=2)
    assert [(outcome.job.name, outcome.failure) for outcome in outcomes] == [("0_scoreboard", ""), ("a", "")]
    assert outputs(outcomes[0].job.output) == ["it\n"]
    placed = []
    monkeypatch.setattr(commands, "_refresh", lambda paths, *_: placed.append([path.stem for path in paths]) or 0)
    assert commands.run([str(board), str(other)], in_place=True) == 0
    assert placed == [["a"], ["0_scoreboard"]], "what the scoreboard reads is put in place before it starts"
    assert committed()[-1].stem == "0_scoreboard"


@pytest.mark.slow
def test_ctrl_c_stops_the_kernels_too(tmp_path: Path) -> None:
    code = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(99)"
    path = notebook(tmp_path / "slow.ipynb", code)
    command = [sys.executable, "-m", "lab", "run", str(path), "--out", str(tmp_path / "out")]
    runner = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    kernel = _wait_for_pid(tmp_path / "pid")
    runner.send_signal(signal.SIGINT)
    assert "stopped" in runner.communicate(timeout=30)[1]
    assert runner.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(kernel, 0)


def _wait_for_pid(path: Path) -> int:
    for _ in range(600):
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.1)
    raise AssertionError("the kernel did not start")


@pytest.mark.parametrize("message", ["didn't respond in 120 seconds", "died before replying to kernel_info"])
def test_a_kernel_that_never_answers_is_started_once_more_and_one_that_fails_is_not(message: str) -> None:
    faults = [RuntimeError(f"Kernel {message}")]

    def execute() -> str:
        if faults:
            raise faults.pop()
        return "executed"

    assert answered(execute, Progress()) == "executed"
    for fault, cell in ((RuntimeError("Kernel didn't respond"), 3), (RuntimeError("another"), 0)):
        faults.append(fault)
        with pytest.raises(RuntimeError, match=str(fault)):
            answered(execute, Progress(cell))


@pytest.mark.slow
def test_a_re_run_gives_the_same_file(tmp_path: Path) -> None:
    path = notebook(
        tmp_path / "a.ipynb",
        "import sys\nprint(object(), {'x', 'y', 'z'})\nprint(' 50%|###  | 1/2', file=sys.stderr)\nobject()",
        "import pandas as pd\npd.DataFrame({'a': [1.5]}).style",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    )
    jobs = [Job(path, tmp_path / out / "a.ipynb") for out in ("one", "two")]
    assert [outcome.failure for outcome in execute(jobs)] == ["", ""]
    assert jobs[0].output.read_bytes() == jobs[1].output.read_bytes()
    executed = read(jobs[0].output)
    assert text_of(normalise(executed)) == text_of(executed)
    assert check.stale_cells(executed, read(jobs[1].output)) == []
    assert [cell.id for cell in executed.cells] == ["title", "parameters", "code-0", "code-1", "code-2"]
    assert check.form(executed, "a") == []


def test_normalising_takes_out_what_a_run_leaves_behind() -> None:
    cell = new_code_cell("f()", execution_count=17, metadata={"tags": ["keep"], "papermill": {"duration": 1}})
    png = base64.b64encode(_png_with_text()).decode()
    cell.outputs = [
        new_output("stream", name="stderr", text="\r 50%|##\n"),
        new_output("stream", name="stdout", text=f"in {ROOT}/data at 0x7f3a2b1c4d5e\n"),
        new_output("stream", name="stderr", text="/tmp/ipykernel_12/345.py:3: a warning\n"),
        new_output("stream", name="stdout", text="more\n"),
        new_output("display_data", {"image/png": png}),
        new_output("display_data", {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "HBox()"}),
        new_output("execute_result", {"text/plain": "1"}, execution_count=17),
    ]
    dirty = new_notebook(
        cells=[cell],
        metadata={"papermill": {"duration": 2}, "widgets": {}, "kernelspec": {"name": "x", "display_name": "x"}},
    )
    clean = normalise(dirty)
    (left,) = clean.cells
    assert left.metadata == {"tags": ["keep"]} and set(clean.metadata) == {"kernelspec", "language_info"}
    texts = ["in ./data at 0x…\nmore\n", "<cell>: a warning\n", None, None]
    assert [output.get("text") for output in left.outputs] == texts
    assert b"Software" not in base64.b64decode(left.outputs[2].data["image/png"])
    assert left.execution_count == left.outputs[3].execution_count == 1
    assert text_of(normalise(clean)) == text_of(clean)
    assert cell.execution_count == 17, "the notebook given is left as it was"


def test_a_page_with_a_large_picture_is_normalised_at_once() -> None:
    page = f'<img src="data:image/png;base64,{"/9j4AAQ" * 300_000}"> at 0x7f3a2b1c4d5e'
    cell = new_code_cell("f()", outputs=[new_output("display_data", {"text/html": page})])
    (left,) = normalise(new_notebook(cells=[cell])).cells[0].outputs
    assert left.data["text/html"] == page.replace("0x7f3a2b1c4d5e", "0x…")


def _png_with_text() -> bytes:
    import io

    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    note, buffer = PngInfo(), io.BytesIO()
    note.add_text("Software", "something 1.2")
    Image.new("L", (2, 2)).save(buffer, "png", pnginfo=note)
    return buffer.getvalue()


def test_an_unformed_or_stale_notebook_is_found(tmp_path: Path) -> None:
    cells = [new_code_cell("def a(): ...\ndef b(): ...\ndef c(): ..."), new_code_cell("x = 1\n" * 121)]
    faults = "\n".join(check.form(new_notebook(cells=cells), "n"))
    for fault in ("0 cells tagged", "no outputs", "defines 3", "124 lines", "not normalised"):
        assert fault in faults
    table = new_output("display_data", {"text/html": '<table border="1" class="dataframe">'})
    assert "as pandas does" in "\n".join(check.form(new_notebook(cells=[new_code_cell("f()", outputs=[table])]), "n"))
    fresh = new_notebook(cells=[new_code_cell("f()", outputs=[new_output("stream", text="new\n")])])
    old = new_notebook(cells=[new_code_cell("f()", id=fresh.cells[0].id, outputs=[new_output("stream", text="old\n")])])
    (stale,) = check.stale_cells(old, fresh)
    assert "stale at cell 1" in stale and "old" in stale and "new" in stale


def test_cells_that_a_reader_writes_may_define_what_they_like_within_the_limit_of_a_notebook() -> None:
    world = "class House:\n    def a(self): ...\n\n    # why\n    def b(self): ...\n" + "x = 1\n" * 57
    tagged = [
        new_code_cell(world, metadata={"tags": ["yours"]}),
        new_code_cell("y = 1\n" * 50, metadata={"tags": ["yours-too"]}),
    ]
    plain = new_code_cell("z = 1\n" * 10)
    found = "\n".join(check.form(new_notebook(cells=[*tagged, plain]), "n"))
    assert "defines" not in found and "lines" not in found
    tagged[0].source += "x = 1\n"
    found = "\n".join(check.form(new_notebook(cells=[*tagged, plain]), "n"))
    assert "has 121 lines of code, more than 120" in found


@pytest.fixture
def committed_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of `figures/`, and others in place of `runs/` and of expected.yaml."""
    folder = tmp_path / "committed"
    monkeypatch.setattr(stored, "COMMITTED", folder)
    monkeypatch.setattr(expected, "COMMITTED", folder)
    monkeypatch.setattr(check, "COMMITTED", folder)
    monkeypatch.setattr(commands, "TRIALS", tmp_path / "runs")
    monkeypatch.setattr(register, "faults", list)  # whose claims rest on the real ones
    return folder


def reporting(value: str, data: str = "'synthetic'") -> str:
    """A last cell that reports one figure."""
    return (
        f"from lab.notebooks import expected\nreport = expected.Report('a', {data}, 3)\n"
        f"report('f1', {value})\nreport.table()"
    )


@pytest.mark.slow
def test_a_notebook_refreshed_passes_the_check(
    tmp_path: Path, committed_figures: Path, capsys: pytest.CaptureFixture
) -> None:
    table = "import pandas as pd\nfrom lab.results import tables\ntables.write(pd.DataFrame({'n': [1]}), 't')\n"
    path = notebook(tmp_path / "a.ipynb", f"{table}print(limit)", reporting("0.5"))
    assert main(["run", "--in-place", str(path)]) == 0
    assert outputs(path) == ["3\n"]
    assert {file.name for file in committed_figures.glob("t.*")} == {"t.csv", "t.md", "t.tex"}, (
        "Parquet is not committed"
    )
    assert reported("a", committed_figures) == Reported("synthetic", 3, (), {"f1": 0.5}, {})
    assert main(["check", str(path)]) == 0
    touched = read(path)
    touched.cells[2].outputs[0].text = "4\n"
    write(touched, path)
    assert main(["check", str(path)]) == 1
    assert "a: is stale at cell 3" in capsys.readouterr().out


@pytest.mark.slow
def test_other_data_is_not_put_in_place(tmp_path: Path, committed_figures: Path, capsys: pytest.CaptureFixture) -> None:
    path = notebook(tmp_path / "a.ipynb", reporting("0.5", "'official'"))
    assert main(["run", "--in-place", str(path)]) == 0
    before = path.read_bytes(), (committed_figures / "results" / "a.json").read_bytes()
    kept = read(path)
    kept.cells[-1].source = reporting("0.9", "'synthetic'")
    other = tmp_path / "other" / "a.ipynb"
    write(kept, other)
    assert main(["run", "--in-place", str(other)]) == 1
    assert (
        "it ran on synthetic data, n = 3, but the committed notebook on official data, n = 3" in capsys.readouterr().out
    )
    assert (path.read_bytes(), (committed_figures / "results" / "a.json").read_bytes()) == before
    assert read(other).cells[-1].outputs == kept.cells[-1].outputs


@pytest.mark.slow
def test_whoever_runs_a_notebook_leaves_the_committed_figures_alone(tmp_path: Path) -> None:
    runs, code = tmp_path / "runs", "import matplotlib.pyplot as plt\nfrom lab.results import plots\n"
    path = notebook(tmp_path / "a.ipynb", code + "plots.save(plt.figure(), 'a')", reporting("0.5"))
    command = [sys.executable, "-m", "papermill", str(path), "/dev/null", "-k", "python3", "--language", "python", "-p"]
    surroundings = {name: value for name, value in os.environ.items() if name not in ("LAB_FIGURES", "LAB_NOTEBOOK")}
    packages = {"PYTHONPATH": str(ROOT), "LAB_RUNS": str(runs)}
    start = partial(subprocess.Popen, cwd=tmp_path, env=surroundings | packages, stderr=subprocess.PIPE, text=True)
    lines = [[*command, *given] for given in (("limit", "3"), ("limit", "5"), ("limitt", "5"))]
    failures = []
    for papermill, again in zip([start(line) for line in lines], lines, strict=True):
        error = papermill.communicate(timeout=120)[1]
        if NO_ANSWER.search(error):  # another test took one of the kernel's ports
            papermill = start(again)
            error = papermill.communicate(timeout=120)[1]
        failures.append(error if papermill.returncode else "")
    assert failures[:2] == ["", ""]
    assert "no parameter 'limitt'; did you mean 'limit'?" in failures[2]
    for folder in (runs / "figures", runs / "figures" / "limit=5"):  # 3 is the default
        assert (folder / "a.png").exists() and (folder / "results" / "a.json").exists()


def test_a_run_with_changed_parameters_goes_to_a_folder_of_its_own_and_ends_with_its_result(
    tmp_path: Path, committed_figures: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    path = notebook(tmp_path / "a.ipynb")
    changed = {"limit=5": ("limit=5",), "": ()}
    answers = ("rules: Success (synthetic data, n = 5): SDP 50.0 [9.5, 90.5].", *["more " * 60] * 9)

    def executed(jobs: list[Job], *_: object) -> list[Outcome]:
        (job,) = jobs
        come = Reported(
            "synthetic", 5, changed[job.output.parent.name.removeprefix("runs")], dict(f=1, g=2), {}, answers
        )
        write_json = job.figures / "results" / "a.json"
        write_json.parent.mkdir(parents=True)
        write_json.write_text(json.dumps(come._asdict()))
        return [Outcome(job, "", 1.0, 1.0)]

    monkeypatch.setattr(commands, "execute", executed)
    told = [Expectation("a", "f", "synthetic", 1), Expectation("a", "g", "synthetic", 2)]
    monkeypatch.setattr(expected, "expectations", lambda: told)
    assert commands.run([str(path)], [("limit", "5")]) == commands.run([str(path)], [("limit", "3")]) == 0
    first, second = capsys.readouterr().out.split("notebook  result", 2)[1:]
    assert re.search(r"a +2 numbers +SKIPPED  with limit=5\n", first) and first.count("SKIPPED") == 1
    assert f"executed notebooks: {tmp_path / 'runs' / 'limit=5'};" in first
    assert f"executed notebooks: {tmp_path / 'runs'};" in second and second.count("OK") == 2
    assert "a (synthetic data, n = 5; with limit=5):\n  rules: Success (synthetic data, n = 5): SDP 50.0 [" in first
    assert first.rstrip().endswith("5 more sentences: results/a.json among the figures")


def test_the_last_cell_shows_what_was_expected_and_where_the_figures_are(
    tmp_path: Path, committed_figures: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    told = [Expectation("a", "f1", "synthetic", 0.5, 0.01), Expectation("a", "f2", "official", 3)]
    monkeypatch.setattr(expected, "expectations", lambda: told)
    monkeypatch.setenv("LAB_FIGURES", str(committed_figures))
    expected.Report("a", "official", 1200)("f1", 0.5)
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path / "mine"))
    report = expected.Report("a", "synthetic", 30)
    report("f1", 0.52)
    report("f2", None)
    report("f3", True)
    assert [tuple(row) for row in report.table().frame.to_numpy()] == [
        ("f1", "0.5 ± 0.01", "0.52", "OFF", ""),
        ("f2", "3", "", "SKIPPED", "needs official data"),
        ("f3", "", "True", "NOTE", "not in expected.yaml"),
    ]
    told = capsys.readouterr().err
    assert f"{tmp_path / 'mine'} (synthetic data, n = 30); those in {committed_figures}/ stay as they are" in told
    assert "(official data, n = 1,200)" in told


@pytest.mark.slow
def test_a_figure_off_or_missing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "expected.yaml").write_text("a: {synthetic: {f1: [0.5, 0.01], em: [0.5, 0.01]}}\n")
    path, out = notebook(tmp_path / "a.ipynb", reporting("share or 0.52")), tmp_path / "out"
    entries = expected.expectations(tmp_path / "expected.yaml")
    monkeypatch.setattr(expected, "expectations", lambda: entries)
    assert commands.run([str(path)], out=out) == 1
    assert (out / "figures" / "results" / "a.json").exists()
    printed = capsys.readouterr().out
    assert "0.5 ± 0.01  0.52      OFF" in printed and "MISSING  the notebook did not report it" in printed


@pytest.mark.parametrize(
    ("entries", "came", "states"),
    [
        ([("synthetic", 0.3, 0.1)], ("synthetic", 0.4), [("OK", "")]),
        ([("synthetic", 0.3, 0.1)], ("synthetic", 0.401), [("OFF", "")]),
        ([("synthetic", 12, 0)], ("synthetic", 12), [("OK", "")]),
        ([("official", 12, 0)], ("synthetic", 9), [("SKIPPED", "needs official data")]),
        ([("official", 12, 0)], ("official", None), [("OFF", "reported without a value")]),
        ([("official", 12, 0)], None, [("MISSING", "the notebook did not report it")]),
        ([("synthetic", True, 0)], ("synthetic", True), [("OK", "")]),
        ([("synthetic", "sdp", 0)], ("synthetic", "react"), [("OFF", "")]),
        ([("synthetic", 12, 0)], ("synthetic", 9, "noise=0.1"), [("SKIPPED", "with noise=0.1")]),
        # One that is stated for both kinds of data is judged once, by the kind that ran.
        ([("official", 99.0, 0), ("synthetic", 80.0, 0)], ("synthetic", 80.0), [("OK", "")]),
        ([("official", 99.0, 0), ("synthetic", 80.0, 0)], None, [("MISSING", "the notebook did not report it")] * 2),
    ],
)
def test_a_figure_is_judged_by_data_and_tolerance(entries: list, came: tuple | None, states: list) -> None:
    results = {"n": Reported(came[0], 1, came[2:], {"f": came[1]}) if came else None}
    verdicts = expected.judge([Expectation("n", "f", *entry) for entry in entries], results)
    assert [(verdict.state, verdict.reason) for verdict in verdicts] == states


@pytest.mark.parametrize(
    ("data", "figure", "own", "state"), [("official", 1, "synthetic", "OK"), ("synthetic", None, "official", "SKIPPED")]
)
def test_a_figure_of_other_data_than_the_notebook_is_judged_by_its_own(
    data: str, figure: int | None, own: str, state: str
) -> None:
    came = {"n": Reported(data, 3, (), {"f": figure}, {"f": own})}
    assert [verdict.state for verdict in expected.judge([Expectation("n", "f", own, 1)], came)] == [state]


def test_reports_of_one_notebook_add_up_and_take_numpy_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.setenv("LAB_FIGURES", str(tmp_path))
    report = expected.Report("1_sdp/t", "synthetic", np.int64(30))
    report("f1", np.float64(0.25))
    report("n", np.int64(3))
    report("f1", 0.75)
    assert reported("1_sdp/t") == Reported("synthetic", 30, (), {"f1": 0.75, "n": 3}, {})
    with pytest.raises(ValueError, match="came out as nan"):
        report("f1", float("nan"))
    with pytest.raises(ValueError, match="choose one of official, synthetic"):
        expected.Report("1_sdp/t", "real", 1)


@pytest.mark.slow
def test_a_notebook_that_costs_more_than_its_budget_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(commands, "MOST_CPU", 0.1)  # a kernel's start alone takes more than five times that
    assert commands.run([str(notebook(tmp_path / "a.ipynb", reporting("1")))], out=tmp_path / "out") == 1
    assert re.search(r"CPU-seconds +≤ 0.1 +\d+ +OFF", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("a: {real: {f: 1}}", "data='real' of a; choose one of official, synthetic"),
        ("b: {synthetic: {f: 1}}", "b, synthetic, 'f': there is no notebook 'b'"),
        ("a: {synthetic: {f: .inf}}", "value has to be a finite number"),
        ("a: {synthetic: {f: .nan}}", "value has to be a finite number"),
        (f"a: {{synthetic: {{f: 1{'0' * 400}}}}}", "f"),
        ("a: {synthetic: {f: [1, -1]}}", "tolerance has to be a finite number"),
        ("a: {synthetic: {f: [1, .inf]}}", "tolerance has to be a finite number"),
        ("a: {synthetic: {f: [one, 1]}}", "f"),
        ("a: {synthetic: {f: [1, 2, 3]}}", r"give a value, or \[value, tolerance\]"),
        ("a: {synthetic: {}}", "it states no number"),
    ],
)
def test_an_expectation_that_could_judge_nothing_is_named(tmp_path: Path, entry: str, said: str) -> None:
    (tmp_path / "a.ipynb").touch()
    path = tmp_path / "expected.yaml"
    path.write_text(entry + "\n")
    with pytest.raises(DamagedFile, match=said):
        expected.expectations(path)


def test_numbers_of_a_run_are_accepted_in_place_of_those_of_the_same_data_and_keep_their_tolerance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path / "figures"))
    path = tmp_path / "expected.yaml"
    (tmp_path / "a.ipynb").touch()
    path.write_text(
        "a: {synthetic: {gone: 1, wide: [0.5, 0.2], not here: 3},"
        " official: {gone: 1, wide: [0.7, 0.2], of other data: 1}}\n"
    )
    report = expected.Report("a", "synthetic", 3)
    report("wide", 0.6)
    report("new", 70.5)
    report("of other data", 2, data="official")
    report("not here", None)
    assert expected.accept(["a"], tmp_path / "figures", path) == ["a: 3 numbers, -1"]
    assert expected.expectations(path) == [
        Expectation("a", "of other data", "official", 2),
        Expectation("a", "wide", "official", 0.7, 0.2),
        Expectation("a", "new", "synthetic", 70.5, 0.01),
        Expectation("a", "not here", "synthetic", 3),
        Expectation("a", "wide", "synthetic", 0.6, 0.2),
    ]
    with pytest.raises(NotebookError, match="b has reported nothing in .*; run it with its defaults"):
        expected.accept(["b"], tmp_path / "figures", path)


def test_accepting_a_run_on_synthetic_data_keeps_the_numbers_that_official_data_alone_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path / "figures"))
    path = tmp_path / "expected.yaml"
    (tmp_path / "a.ipynb").touch()
    path.write_text("a: {official: {rate in TextWorld: 1}, synthetic: {rate in WebShop: 2}}\n")
    expected.Report("a", "synthetic", 3)("rate in AlfWorld", 0.6)
    assert expected.accept(["a"], tmp_path / "figures", path) == ["a: 1 numbers, +0"]
    assert expected.expectations(path) == [
        Expectation("a", "rate in TextWorld", "official", 1),
        Expectation("a", "rate in AlfWorld", "synthetic", 0.6, 0.001),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("text", [None, "", "# nothing\n", "[]", "a: 1\n", "- {notebook: 0_to", "\0\0"])
@pytest.mark.parametrize("command", [["run", "0_tour"], ["run"], ["check", "0_tour"]])
def test_without_a_list_that_can_be_read_no_notebook_is_run_and_the_command_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, text: str | None, command: list[str]
) -> None:
    path = tmp_path / "expected.yaml"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(expected, "expectations", partial(expected.expectations, path))
    monkeypatch.setattr("lab.notebooks.register.faults", list)
    for module in (commands, check):
        monkeypatch.setattr(module, "execute", lambda *_: pytest.fail("a notebook was executed"))
    assert main(command) == 2
    assert re.match(rf"error: {path} is damaged: .+\. Restore it", capsys.readouterr().err)


def test_a_committed_notebook_or_value_that_no_line_states_is_unlisted() -> None:
    results = {
        "0_tour": Reported("synthetic", 1, (), {"f": 1, "g": 2, "h": None}),
        "1_sdp/table2_travelplanner": Reported("synthetic", 1, (), {}),
        "1_sdp/table6_ablation": Reported("synthetic", 1, ("limit=2",), {"f": 1}),
        "0_scoreboard": None,
    }
    entries = [Expectation("0_tour", "f", "official", 1), Expectation("0_tour", "h", "official", 1)]
    found = [(v.notebook, v.figure, v.state, v.bad) for v in expected.judge(entries, results)]
    assert found == [
        ("0_tour", "f", "SKIPPED", False),  # its line is of other data
        ("0_tour", "h", "SKIPPED", False),
        ("0_tour", "f", "UNLISTED", True),
        ("0_tour", "g", "UNLISTED", True),
        ("1_sdp/table2_travelplanner", "any", "UNLISTED", True),
        ("1_sdp/table6_ablation", "f", "NOTE", False),  # with other parameters nothing is judged
        ("0_scoreboard", "any", "UNLISTED", True),
    ]


@pytest.mark.parametrize("user", [0, 1000])
def test_explore_opens_the_tour_without_news_and_as_root_says_what_that_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, user: int
) -> None:
    started = []
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "execve", lambda program, command, environment: started.append((command, environment)))
    commands.explore(["--no-browser"])
    ((command, environment),) = started
    config, *_ = environment["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert "announcements" in (Path(config) / "labconfig" / "page_config.json").read_text()
    assert command[-1] == "--no-browser" and ("--allow-root" in command) is (user == 0)
    assert "--LabApp.default_url=/lab/tree/notebooks/0_tour.ipynb" in command
    assert f"--ServerApp.root_dir={tmp_path / 'copies'}" in command
    assert (tmp_path / "copies" / "notebooks" / "0_tour.ipynb").exists()
    assert ("can run any command on this machine as root" in capsys.readouterr().out) is (user == 0)


def test_a_notebook_is_found_by_its_base_name_and_one_of_several_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    table2 = ROOT / "notebooks" / "1_sdp" / "table2_travelplanner.ipynb"
    assert locate(["table2_travelplanner"]) == locate(["table2_travelplanner.ipynb"]) == [table2]
    with pytest.raises(NotebookError, match="no notebook 'table2'; say which:\n  1_sdp/table2_travelplanner\n  2_"):
        locate(["table2"])
    with pytest.raises(NotebookError, match="no notebook 'tuor'; did you mean '0_tour'"):
        locate(["tuor"])
    twice = [FOLDER / "1_sdp" / "t.ipynb", FOLDER / "2_statefactory" / "t.ipynb"]
    monkeypatch.setattr("lab.notebooks.documents.committed", lambda: twice)
    with pytest.raises(NotebookError, match="'t' may be any of several notebooks; say which:\n  1_sdp/t\n  2_state"):
        locate(["t"])


def test_copies_to_explore_follow_the_committed_notebooks_and_keep_what_a_user_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    folder = commands.copies()
    tour, table = folder / "0_tour.ipynb", folder / "1_sdp/table2_travelplanner.ipynb"
    for path in committed():
        for link in re.findall(r"\]\(([\w./]+)[#)]", path.read_text()):
            assert (folder / path.relative_to(FOLDER)).parent.joinpath(link).exists(), link
    assert tour.read_bytes() == (ROOT / "notebooks" / "0_tour.ipynb").read_bytes() and table.exists()
    tour.write_text("changed")
    for stale in (table, table.with_name(f".{table.name}.origin")):  # as an earlier version left it
        stale.write_text("old")
    commands.copies()
    assert tour.read_text() == "changed" and table.read_text() != "old"
    assert not capsys.readouterr().out, "the committed notebook is still what the copy was made of"
    tour.with_name(".0_tour.ipynb.origin").write_text("old")
    commands.copies()
    assert tour.read_text() == "changed"
    assert f"{tour} keeps your changes; notebooks/0_tour.ipynb has changed since" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("rulse", "did you mean 'rules'"),
        ("replay:table2_travelplaner-local", "did you mean 'table2_travelplanner-local'"),
        ("gpt-4o", "cannot answer, and nothing was run: http://127.0.0.1:9/v1 cannot be reached"),
    ],
)
def test_an_engine_that_cannot_answer_is_told_before_a_kernel_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, engine: str, said: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    path = notebook(tmp_path / "a.ipynb", "1 / 0", parameters='engine: str = "rules"  # who answers')
    assert main(["run", str(path), "-p", "engine", engine, "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_figures_of_later_cells_are_shown_behind_an_answer_box() -> None:
    from nbclient import NotebookClient

    box = 'from lab.notebooks import page\npage.answer("1_sdp/table4_scienceworld")'
    drawn = "import matplotlib.pyplot as plt\nplt.subplots();"
    document = new_notebook(cells=[new_code_cell(source) for source in (box, drawn)])
    NotebookClient(document, kernel_name="python3").execute()
    for cell in document.cells:
        assert any("image/png" in output.get("data", {}) for output in cell.outputs)
