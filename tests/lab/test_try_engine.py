"""`lab try ENGINE`: one question of each operator, and what came of it."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

import chat_server as chat
from chat_server import ChatServer
from lab.__main__ import main
from lab.models.prompts import GROUP
from lab.try_engine import examples
from quirky_server import fitting, rejects_parameters


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
    assert "16 of 16 questions were answered" in printed
    assert (
        """sdp realize (sdp.travelplanner.select)
  raw     {'content': '{"choice": 1}'}
  answer  choice=1
  read as schema of a request bound by json_schema; """
        in printed
    )
    assert "tokens a second, an unknown price" in printed
    assert (
        "bound by json_schema 16; token limit: max_tokens; left out: temperature; model that answers: small-2"
        in printed
    )


def test_an_operator_without_answer_is_named_and_fails(server: ChatServer, capsys: pytest.CaptureFixture[str]) -> None:
    junk = chat.says("I would rather talk about kites.")
    server.behave(lambda request: junk if "procllm_verify" in str(request.body) else fitting(request))
    assert main(["try", "small"]) == 1
    printed = capsys.readouterr().out
    assert "15 of 16 questions were answered; not: procllm verify" in printed
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
