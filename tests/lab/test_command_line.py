"""The command line: a map for a newcomer, messages that say what to type, and `lab try`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import chat_server as chat
from asking import Asking
from chat_server import ChatServer
from lab import arguments
from lab.__main__ import DO, main
from lab.machine.datasets import choose_data
from lab.machine.faults import MissingData
from lab.machine.paths import ROOT, official_data
from lab.models.prompts import GROUP
from lab.runs.collecting import collect
from lab.try_engine import examples
from quirky_server import fitting, rejects_parameters


def test_without_arguments_a_map_of_all_commands_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    told = capsys.readouterr()
    for name in ("doctor", "data", "model", "run", "record", "check", "eval", "show"):
        assert f"\n  {name}  " in told.out and f"python -m lab {name}" in told.out
    assert not told.err and max(map(len, told.out.splitlines())) <= arguments.WIDTH


@pytest.mark.parametrize(
    "command", [one for group in arguments.COMMANDS.values() for one in group], ids=lambda c: c.name
)
def test_every_example_of_the_map_is_a_command_that_parses(command: arguments.Command) -> None:
    words = shlex.split(command.example)
    assert command.example.startswith(command.name) and arguments.parser(DO).parse_args(words).do


@pytest.mark.parametrize("arguments", [[], ["--help"], ["record", "--help"], ["model"]], ids=" ".join)
def test_a_reader_that_is_gone_ends_a_command_quietly(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    # Unbuffered, argparse would meet the closed pipe itself, and pass over it.
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "lab", *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=buffered, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.slow
def test_what_is_printed_may_meet_an_ascii_terminal_or_a_full_disk(tmp_path: Path) -> None:
    collect(Asking(count=2), run="asked", show_progress=False)
    environment = dict(os.environ) | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": f"{ROOT}:{ROOT}/tests/support"}

    def show(stdout: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lab", "show", "asked"]
        with stdout.open("w") as file:
            return subprocess.run(command, env=environment, cwd=ROOT, stdout=file, stderr=subprocess.PIPE, text=True)

    assert show(tmp_path / "printed").returncode == 0
    assert "\\u2013" in (tmp_path / "printed").read_text(encoding="ascii")
    full = show(Path("/dev/full"))
    assert full.returncode == 1
    assert full.stderr == "error: [Errno 28] No space left on device; free some space, or write elsewhere (--out)\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("look", "'doctor'"),
        ("run 0_tour --jobs 0", "whole number of at least 1"),
        ("check --jobs 0", "whole number of at least 1"),
        ("run 0_tour --timeout -5", "above 0; leave the option out for no limit"),
        ("check --timeout -5", "above 0; leave the option out for no limit"),
    ],
)
def test_wrong_commands_and_limits_are_refused(command: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(command.split())
    assert end.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.slow
def test_a_file_in_place_of_the_folder_for_copies_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = tmp_path / "mine"
    file.write_text("kept")
    for out in (file, file / "below"):
        assert main(["run", "0_tour", "--out", str(out)]) == 2
        assert f"--out {out}" in capsys.readouterr().err
    assert file.read_text() == "kept"


@pytest.mark.slow
@pytest.mark.parametrize("data", ["auto", "official"])
def test_a_data_folder_that_is_not_there_is_an_error_however_it_is_met(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    from worlds.blocksworld import load

    monkeypatch.setenv("LAB_DATA", str(tmp_path / "misspelt"))
    with pytest.raises(MissingData, match="misspelt.*unset LAB_DATA"):
        load(data)
    assert main(["run", "0_tour", "--out", str(tmp_path / "out")]) == 2
    assert main(["doctor"]) == 1
    told = capsys.readouterr()
    assert "unset LAB_DATA" in told.err and "official data: MISSING (LAB_DATA names a folder" in told.out


def test_an_empty_variable_for_the_data_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_DATA", "")
    assert official_data() == ROOT / "data" / "official"
    assert choose_data("auto", False, "toy") == "synthetic"


# --- lab try ENGINE --------------------------------------------------------------------------------------------------


def test_every_operator_of_the_papers_has_an_example() -> None:
    papers = ("procllm", "sdp", "statefactory")
    asked = {
        (entry.name, prompt.operator)
        for entry in entry_points(group=GROUP)
        if entry.name in papers
        for prompt in entry.load()()
    }
    tried = [(package, prompt.operator) for package, prompt, fields in examples() if prompt.fill(**fields)]
    assert set(tried) == asked and len(tried) == len(asked)


def test_it_shows_replies_answers_speed_and_price(server: ChatServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.behave(rejects_parameters(fitting, "temperature"))
    assert main(["try", "small?temperature=0.5"]) == 0
    printed = capsys.readouterr().out
    assert "17 of 17 questions were answered" in printed
    assert (
        """sdp realize (sdp.travelplanner.select)
  raw     {'content': '{"choice": 1}'}
  answer  choice=1
  read as schema of a request bound by json_schema; """
        in printed
    )
    assert "tokens a second, an unknown price" in printed
    assert (
        "bound by json_schema 17; token limit: max_tokens; left out: temperature; model that answers: small-2"
        in printed
    )


def test_an_operator_without_answer_is_named_and_fails(server: ChatServer, capsys: pytest.CaptureFixture[str]) -> None:
    junk = chat.says("I would rather talk about kites.")
    server.behave(lambda request: junk if "procllm_verify" in str(request.body) else fitting(request))
    assert main(["try", "small"]) == 1
    printed = capsys.readouterr().out
    assert "16 of 17 questions were answered; not: procllm verify" in printed
    assert "raw     {'content': 'I would rather talk about kites.'}" in printed


def test_a_server_that_is_not_there_and_an_engine_that_means_nothing_end_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert main(["try", "small"]) == 1
    assert "error: http://127.0.0.1:9/v1 cannot be reached" in capsys.readouterr().out
    assert main(["try", "rules@7"]) == 2


def test_rules_and_null_models_are_tried_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "first, Act: rules"]) == 1
    printed = capsys.readouterr().out
    assert "sdp realize (sdp.travelplanner.select)\n  raw     choice=1\n" in printed and "NONE: NoChoice" in printed
