"""One request before the first: no connection, wrong key and unknown model are told within seconds."""

from __future__ import annotations

import socket
import time

import pytest

import chat_server as chat
from asking import ASK
from chat_server import ChatServer
from lab.models import servers
from lab.models.client import EndpointUnavailable
from lab.models.connect import connect
from lab.models.servers import MissingKey

GOOD = {"shelf": 3, "why": "it is free"}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test-0123456789")


def asked(server: ChatServer, monkeypatch: pytest.MonkeyPatch, model: str = "small") -> None:
    """Ask the server's model one question, with the patience that a user has who states none."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    connect(model, cache=None).ask(ASK, box=1)


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
            asked(server, monkeypatch)
        assert server.count == 1 and "0123456789" not in str(caught.value)


def test_an_unknown_model_is_told_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(lambda request: chat.status(404, "no such model")) as server:
        server.listing = chat.models("large", "small-instruct")
        with pytest.raises(EndpointUnavailable, match="It has: large, small-instruct; did you mean 'small-instruct'?"):
            asked(server, monkeypatch, "small-instuct")


@pytest.mark.parametrize(
    "listing",
    [chat.status(404), chat.status(500), chat.status(403), chat.models("another"), chat.Response(body=b"<html>")],
)
def test_a_server_whose_list_tells_nothing_is_asked_all_the_same(
    monkeypatch: pytest.MonkeyPatch, listing: chat.Response
) -> None:
    with ChatServer(lambda request: chat.answer(GOOD)) as server:
        server.listing = listing
        asked(server, monkeypatch)


PAGE = chat.Response(body=b"<!doctype html><title>Welcome</title>", headers={"Content-Type": "text/html"})


@pytest.mark.parametrize("listing", [PAGE, chat.models("another"), chat.models("small"), chat.status(404)])
def test_a_web_page_for_an_answer_is_told_at_once_with_the_likely_address(
    monkeypatch: pytest.MonkeyPatch, listing: chat.Response
) -> None:
    with ChatServer(lambda request: PAGE) as server:
        server.listing, bare = listing, server.address.removesuffix("/v1")
        monkeypatch.setattr(server, "address", bare)
        with pytest.raises(EndpointUnavailable, match=rf"{bare} answers with a web page.*OPENAI_BASE_URL={bare}/v1"):
            asked(server, monkeypatch)
        assert server.count <= 4


def test_a_page_before_the_first_answer_of_a_server_that_is_there_is_no_web_site(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ChatServer(lambda request: chat.answer(GOOD)) as server:
        server.listing = chat.models("small")
        server.script(PAGE)
        asked(server, monkeypatch)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OPENAI_API_KEY", "ключ", "OPENAI_API_KEY holds"),
        ("OPENAI_API_KEY", "sk-one\nsk-two", "OPENAI_API_KEY holds"),
        ("OPENAI_BASE_URL", "http://localhost:99999/v1", "OPENAI_BASE_URL is no address .*Port"),
        ("OPENAI_BASE_URL", "http://[::1/v1", "OPENAI_BASE_URL is no address"),
    ],
)
def test_a_key_or_an_address_that_can_be_none_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    monkeypatch.setenv(name, value)
    with pytest.raises((MissingKey, ValueError), match=said):
        connect("small", cache=None)


def test_a_path_without_an_api_is_told_with_the_likely_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(lambda request: chat.status(404, "Not Found")) as server:
        monkeypatch.setattr(server, "address", bare := server.address.removesuffix("/v1"))
        with pytest.raises(EndpointUnavailable, match=rf"404.*try OPENAI_BASE_URL={bare}/v1"):
            asked(server, monkeypatch)


def test_a_busy_server_is_no_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "LONGEST", 0.2)
    with ChatServer(lambda request: chat.answer(GOOD)) as server:
        server.listing = chat.Response(delay=1.0)
        asked(server, monkeypatch)


def test_it_is_tried_once_and_then_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(lambda request: chat.answer(GOOD)) as server:
        server.listing = chat.models("another")
        for _ in range(3):
            asked(server, monkeypatch)
        assert server.count == 1 + 3
