"""Servers: what each takes is negotiated, and one that is missing is told within seconds; real ones on the loopback."""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import chat_server as chat
from asking import ASK, Asking, Placing
from chat_server import ChatServer
from lab.models import client, servers
from lab.models.backbone import Backbone, Ledger, by_operator
from lab.models.cache import AnswerCache
from lab.models.client import EndpointError, EndpointUnavailable
from lab.models.connect import connect, connected
from lab.models.engines import BadEngine, parse, presets
from lab.models.prompts import Prompt
from lab.models.rendering import request_of
from lab.models.servers import MissingKey, Profile, rejected, same_model
from lab.runs.collecting import collect
from lab.runs.manifest import Manifest
from quirky_server import SHELF, redirects_to, rejects_parameters, right, takes, way

VALUE = Placing.model_validate(SHELF)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LONGEST_WAIT", 0.02)


def asked(engine: str, prompt: Prompt, boxes: int = 1, **about: Any) -> Backbone:
    backbone = connect(engine, cache=None)
    for box in range(boxes):
        assert backbone.ask(replace(prompt, **about), box=box).value == VALUE
    return backbone


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 404, 422, 500, 501])
@pytest.mark.parametrize("way_", ["tool", "json_object", "text"])
def test_the_strictest_way_that_a_server_takes_is_used(
    server: ChatServer, prompt: Prompt, way_: str, status: int
) -> None:
    server.behave(takes(right, way_, status=status))
    backbone = asked("small?patience=5", prompt, 2)
    assert [way(request) for request in server.requests[-2:]] == [way_, way_]
    assert backbone.server.bindings == {"tests.place": way_}  # type: ignore[attr-defined]


def test_what_two_prompts_found_out_is_where_others_and_other_engines_begin(server: ChatServer, prompt: Prompt) -> None:
    server.behave(takes(right, "tool"))
    for number in range(4):
        asked("small", prompt, name=f"tests.{number}")
    asked("small?temperature=0.5", prompt, name="tests.0")
    ways = [way(request) for request in server.requests]
    assert ways == ["json_schema", "tool", "json_schema", "tool", "tool", "tool", "tool"]


def test_an_odd_schema_costs_no_other_prompt_its_schema(server: ChatServer, prompt: Prompt) -> None:
    server.behave(lambda request: takes(right, "tool")(request) if "Box 0" in request.text else right(request))
    asked("small", prompt)
    backbone = connect("small", cache=None)
    for name in ("tests.a", "tests.b"):
        assert backbone.ask(replace(prompt, name=name), box=1).call.path == "schema"


def test_a_server_that_ignores_a_schema_is_asked_by_a_tool_from_then_on(server: ChatServer, prompt: Prompt) -> None:
    server.behave(lambda request: right(request) if way(request) == "tool" else chat.in_prose(SHELF))
    backbone = connect("small", cache=None)
    assert [backbone.ask(prompt, box=box).call.path for box in (1, 2, 3)] == ["repaired", "repaired", "schema"]
    assert [way(request) for request in server.requests] == ["json_schema", "json_schema", "tool"]


def test_an_answer_in_prose_or_an_overload_costs_no_schema(server: ChatServer, prompt: Prompt) -> None:
    prose = chat.in_prose(SHELF)
    server.script(prose, right, prose, prose, prose, right)
    asked("small", prompt, 6)
    server.behave(right)
    server.script(*[chat.status(500)] * 6)
    asked("small?patience=5", prompt, 2)
    assert {way(request) for request in server.requests} == {"json_schema"}


def test_a_server_that_ignores_all_is_asked_plainly_in_the_end(server: ChatServer, prompt: Prompt) -> None:
    server.behave(lambda request: chat.in_prose(SHELF))
    asked("small", prompt, 6)
    ways = ["json_schema", "json_schema", "tool", "tool", "json_object", "json_object"]
    assert [way(request) for request in server.requests] == ways
    asked("small?schema=tool", prompt, 3)
    assert [way(request) for request in server.requests[6:]] == ["tool"] * 3


def test_what_a_model_rejects_is_left_out(
    server: ChatServer, prompt: Prompt, capsys: pytest.CaptureFixture[str]
) -> None:
    server.behave(rejects_parameters(right, "temperature", "max_tokens", "top_k"))
    asked("small?max_tokens=50&top_k=5&seed=1", prompt, 2)
    last = server.requests[-1].body
    assert last["max_completion_tokens"] == 50 and "seed" in last
    assert not {"temperature", "max_tokens", "top_k"} & last.keys()
    told = capsys.readouterr().err
    for words in ("rejects temperature; it is left out", "rejects max_tokens; it is sent as max_completion_tokens"):
        assert told.count(words) == 1
    assert server.count == 5  # three rejections, then two answers


def test_a_preset_says_where_the_negotiation_begins(server: ChatServer, prompt: Prompt) -> None:
    server.behave(rejects_parameters(right, "temperature", "max_tokens"))
    asked("small?preset=openai-reasoning&max_tokens=50", prompt)
    assert server.count == 1 and server.requests[0].body["max_completion_tokens"] == 50


class Refusal(Exception):
    """A status error as the SDK has it."""

    def __init__(self, status: int, message: str, param: str = "", code: str = "") -> None:
        self.status_code, self.message, self.param, self.code = status, message, param, code


SENT = {"temperature": 0.0, "max_tokens": 5, "seed": 1, "response_format": {}}


@pytest.mark.parametrize(
    ("refusal", "name"),
    [
        (Refusal(400, "Unsupported value: 'temperature' does not support 0 with this model."), "temperature"),
        (Refusal(400, "Use 'max_completion_tokens'.", "max_tokens", "unsupported_parameter"), "max_tokens"),
        (Refusal(422, "[{'loc': ['body', 'seed'], 'msg': 'Extra inputs are not permitted'}]"), "seed"),
        (Refusal(400, "max_tokens is too large: 5. This model supports at most 4 completion tokens"), ""),
        (Refusal(400, "maximum context length is 4096 tokens, you asked for 5 of max_tokens"), ""),
        (Refusal(400, "response_format is not supported"), ""),
        (Refusal(500, "temperature is not supported"), ""),
    ],
)
def test_an_error_rejects_the_parameter_that_it_names(refusal: Refusal, name: str) -> None:
    assert rejected(refusal, SENT) == name


def test_a_request_that_is_wrong_in_itself_ends(server: ChatServer, prompt: Prompt) -> None:
    server.behave(lambda request: chat.status(400, "seed temperature max_tokens: unknown trouble"))
    with pytest.raises(RuntimeError, match="unknown trouble"):
        connect("small?seed=1&max_tokens=5", cache=None).ask(prompt, box=1)
    assert server.count < 12


# --- options ----------------------------------------------------------------------------------------------------


def test_server_options_reach_body_and_headers(
    server: ChatServer, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "secret-of-the-gateway")
    server.behave(right)
    extra = '{"min_p":0.1,"chat_template_kwargs":{"a":1}}'
    headers = '{"X-Gateway":"$GATEWAY_KEY","X-Team":"b"}'
    asked(f"small?top_k=20&enable_thinking=false&extra_body={extra}&headers={headers}&schema=tool", prompt)
    (request,) = server.requests
    assert (request.body["top_k"], request.body["min_p"]) == (20, 0.1)
    assert request.body["chat_template_kwargs"] == {"a": 1, "enable_thinking": False}
    assert (request.headers["x-gateway"], request.headers["x-team"]) == ("secret-of-the-gateway", "b")
    assert way(request) == "tool" and not {"headers", "schema", "extra_body"} & request.body.keys()


@pytest.mark.parametrize("option", ["top_k=3", "enable_thinking=false", 'extra_body={"a":1}', "schema=off"])
def test_options_that_change_answers_change_the_key(prompt: Prompt, option: str) -> None:
    def key(engine: str) -> Any:
        return request_of(prompt, [], parse(engine), "http://a", 0)

    assert key(f"small?{option}") != key("small") == key("small?preset=ollama")


def test_azure_gets_its_key_and_version(server: ChatServer, prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-deployment")
    server.behave(right)
    asked("small?preset=azure", prompt)
    assert server.requests[0].headers["api-key"] == "key-of-the-deployment"
    assert server.paths == ["/v1/chat/completions?api-version=2024-10-21"]


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("m?preset=olama", "preset=olama must be .*did you mean 'ollama'"),
        ("m?schema=no", "schema=no must be off or json_schema"),
        ("m?extra_body=[1]", "extra_body='.*' is not a JSON object"),
        ('m?extra_body={"messages":[]}', "messages is the suite's own"),
        ("m?enable_thinking=no", "is not true or false"),
        ('m?headers={"X-Api-Key":"abc"}', 'X-Api-Key is a secret.*"X-Api-Key":"\\$NAME"'),
        (f'm?query={{"key":"{"sk-" + "0" * 18}"}}', "key is a secret"),
        ('m?headers={"X":1}', "X holds 1"),
        ("local?preset=ollama", "Unknown engine option 'preset'"),
    ],
)
def test_options_that_mean_nothing_are_refused(engine: str, message: str) -> None:
    with pytest.raises(BadEngine, match=message):
        parse(engine)


def test_a_header_of_a_variable_that_is_not_set_is_told_at_once(server: ChatServer) -> None:
    with pytest.raises(MissingKey, match=r"X is to hold \$NOT_SET"):
        connect('small?headers={"X":"$NOT_SET"}', cache=None)


@pytest.mark.parametrize("name", presets())
def test_every_preset_makes_an_engine_and_says_its_address(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = parse(f"m?preset={name}").options
    assert Profile.first(options).bindings[-1] == "text"
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    with pytest.raises(MissingKey, match=f"usually {presets()[name]['address']}"):
        connect(f"m?preset={name}")


@pytest.mark.parametrize("query", ["?api-version=2024-10-21", "?a=1&b=", "#here"])
def test_a_query_in_the_address_is_refused_with_the_option_for_it(monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://localhost:1/v1{query}")
    with pytest.raises(ValueError, match="http://localhost:1/v1, and .*query=.*preset=azure"):
        connect("small", cache=None)


# --- who answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "stated", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True), ("gpt-4o", "gpt-4o-mini-2024-07-18", False),
        ("gpt-4", "gpt-4.1", False), ("gpt-4", "gpt-4-0613", True),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", True), ("openai/gpt-oss-20b", "gpt-oss-20b", True),
        ("llama3", "llama3:latest", True), ("llama3", "llama3:70b", False),
        ("qwen2.5-0.5b-instruct", "/models/Qwen2.5-0.5B-Instruct-Q4_K_M.gguf", True),
        ("qwen2.5-0.5b-instruct", "/models/qwen2.5-1.5b-instruct.gguf", False),
        ("/models/small", "/models/small@main", True), ("small", "", True),
    ],
)  # fmt: skip
def test_snapshots_paths_and_files_are_the_same_model(wanted: str, stated: str, same: bool) -> None:
    assert same_model(wanted, stated) is same


def test_answers_of_another_model_are_told_once_counted_and_kept(
    server: ChatServer, prompt: Prompt, cache: AnswerCache, capsys: pytest.CaptureFixture[str]
) -> None:
    server.behave(partial(right, model="tiny", system_fingerprint="fp_1"))
    ledger = Ledger(connect("small", cache=cache))
    for box in (1, 2, 1):
        ledger.ask(prompt, box=box)
    assert [call.other_model for call in ledger.calls] == ["tiny"] * 3 and ledger.calls[2].cached
    assert by_operator(ledger.calls)["realize"]["other_model"] == 3
    assert capsys.readouterr().err.count("answers come from another model: tiny") == 1
    kept: Any = cache.get(ledger.request(prompt, box=1))
    assert (kept["model"], kept["fingerprint"]) == ("tiny", "fp_1")


def test_a_run_notes_what_its_server_takes_and_resumes(server: ChatServer) -> None:
    server.behave(rejects_parameters(takes(partial(right, model="small-0613"), "tool"), "temperature"))
    for _ in range(2):
        results = collect(Asking(engine="small", count=2), workers=1)
    (noted,) = Manifest.read(results.folder).surroundings["servers"]
    assert set(noted["bindings"].values()) == {"tool"} and noted["without"] == ["temperature"]
    assert noted["models"] == ["small-0613"]


# --- redirects --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("all_of_them", [True, False])
def test_no_prompt_follows_a_redirect_which_is_a_fault_of_the_server_where_all_requests_meet_it(
    server: ChatServer, prompt: Prompt, status: int, all_of_them: bool
) -> None:
    with ChatServer(right) as elsewhere:
        away = redirects_to(elsewhere.address, status)
        server.behave(lambda request: away(request) if all_of_them or "Box 1." in request.text else right(request))
        with pytest.raises(EndpointError, match=f"redirects to {elsewhere.address}.*OPENAI_BASE_URL") as caught:
            connect("small", cache=None).ask(prompt, box=1)
        assert isinstance(caught.value, EndpointUnavailable) == all_of_them
        assert elsewhere.count == 0 and not elsewhere.paths


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test-0123456789")


def tried(server: ChatServer, monkeypatch: pytest.MonkeyPatch, model: str = "small") -> None:
    """Ask the server's model one question, with the patience that a user has who states none."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    connect(model, cache=None).ask(ASK, box=1)


def test_a_key_that_was_corrected_is_used_from_then_on(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    server.behave(lambda request: chat.answer(SHELF))
    sent = []
    for number, value in enumerate(("sk-mistyped-0123456789", "sk-right-0123456789")):
        monkeypatch.setenv("OPENAI_API_KEY", value)
        connected("corrected").ask(ASK, box=number)
        sent.append(server.requests[-1].headers.get("authorization"))
    assert sent == ["Bearer sk-mistyped-0123456789", "Bearer sk-right-0123456789"]


def test_a_server_that_is_not_there_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:  # bound, and not listening: nobody else has this port
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        import openai  # noqa: F401  # its import takes a second, and is no part of what is measured

        began = time.monotonic()
        with pytest.raises(EndpointUnavailable, match=rf"{address} cannot be reached: .*set OPENAI_BASE_URL"):
            connect("small", cache=None).ask(ASK, box=1)
    assert time.monotonic() - began < 5


def test_a_wrong_key_is_told_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(
        lambda request: chat.status(401, "Incorrect API key provided: sk-of-the-test-0123456789")
    ) as server:
        server.listing = chat.status(401)
        with pytest.raises(EndpointUnavailable, match="Incorrect API key.*OPENAI_API_KEY") as caught:
            tried(server, monkeypatch)
        assert server.count == 1 and "0123456789" not in str(caught.value)


def test_an_unknown_model_is_told_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(lambda request: chat.status(404, "no such model")) as server:
        server.listing = chat.models("large", "small-instruct")
        with pytest.raises(EndpointUnavailable, match="It has: large, small-instruct; did you mean 'small-instruct'?"):
            tried(server, monkeypatch, "small-instuct")


NO_LIST = [chat.status(404), chat.status(500), chat.status(403), chat.models("another"), chat.Response(body=b"<html>")]


@pytest.mark.parametrize("listing", [*NO_LIST, chat.Response(delay=1.0)])
def test_a_server_with_an_odd_list_of_models_is_asked(monkeypatch: pytest.MonkeyPatch, listing: chat.Response) -> None:
    monkeypatch.setattr(servers, "LONGEST", 0.2)
    with ChatServer(right) as server:
        server.listing = listing
        tried(server, monkeypatch)
        first = server.count
        for _ in range(2):
            tried(server, monkeypatch)
        assert server.count == first + 2, "it is tried once, and then no more"


PAGE = chat.Response(body=b"<!doctype html><title>Welcome</title>", headers={"Content-Type": "text/html"})


@pytest.mark.parametrize("listing", [PAGE, chat.models("another"), chat.models("small"), chat.status(404)])
@pytest.mark.parametrize(
    ("reply", "told"), [(PAGE, "{} answers with a web page.*OPENAI_BASE_URL={}/v1"),
                        (chat.status(404, "Not Found"), "{}.*404.*try OPENAI_BASE_URL={}/v1")]
)  # fmt: skip
def test_a_path_without_an_api_is_told_at_once_with_the_likely_address(
    monkeypatch: pytest.MonkeyPatch, listing: chat.Response, reply: chat.Response, told: str
) -> None:
    with ChatServer(lambda request: reply) as server:
        server.listing, bare = listing, server.address.removesuffix("/v1")
        monkeypatch.setattr(server, "address", bare)
        with pytest.raises(EndpointUnavailable, match=told.format(bare, bare)):
            tried(server, monkeypatch)
        assert server.count <= 4 + (reply is not PAGE)


def test_a_page_before_the_first_answer_of_a_server_is_no_web_site(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(right) as server:
        server.listing = chat.models("small")
        server.script(PAGE)
        tried(server, monkeypatch)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OPENAI_API_KEY", "ключ", "OPENAI_API_KEY holds"),
        ("OPENAI_API_KEY", "sk-one\nsk-two", "OPENAI_API_KEY holds"),
        ("OPENAI_BASE_URL", "http://localhost:99999/v1", "OPENAI_BASE_URL is no address .*Port"),
        ("OPENAI_BASE_URL", "http://[::1/v1", "OPENAI_BASE_URL is no address"),
    ],
)
def test_a_malformed_key_or_address_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    monkeypatch.setenv(name, value)
    with pytest.raises((MissingKey, ValueError), match=said):
        connect("small", cache=None)
