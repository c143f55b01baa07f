"""The command line: a map for a newcomer, and messages that say what to type."""

from __future__ import annotations

import re
import shlex

import pytest

from lab import overview
from lab.__main__ import _parser, main
from lab.machine.paths import ROOT


def test_without_arguments_a_map_of_all_commands_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    told = capsys.readouterr()
    for name in ("doctor", "data list", "model list", "run", "reproduce", "record", "check", "estimate"):
        assert f"\n  {name}  " in told.out and f"python -m lab {name}" in told.out
    assert not told.err and max(map(len, told.out.splitlines())) <= overview.WIDTH


def test_the_map_says_where_every_package_is(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    told = capsys.readouterr().out
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert "lab" in packages and packages <= set(re.findall(r"^  (\w+)/ ", told, re.MULTILINE))
    assert all((ROOT / folder).is_dir() for folder in overview.FOLDERS)


def test_help_has_the_same_map(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    printed = capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0 and printed in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [one for group in overview.COMMANDS.values() for one in group], ids=lambda c: c.name
)
def test_every_example_of_the_map_is_a_command_that_parses(command: overview.Command) -> None:
    words = shlex.split(command.example)
    assert command.example.startswith(command.name) and _parser().parse_args(words).do


def test_a_wrong_command_is_an_error_that_lists_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["look"])
    assert end.value.code == 2 and "'doctor'" in capsys.readouterr().err


def test_the_notebook_of_the_examples_is_there() -> None:
    assert any("0_tour" in command.example for group in overview.COMMANDS.values() for command in group)
    assert (ROOT / "notebooks" / "0_tour.ipynb").is_file()
