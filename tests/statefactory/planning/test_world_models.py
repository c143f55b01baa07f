"""A prompted world model: what it is told, what it foresees, and what an answer that cannot be read comes to."""

from __future__ import annotations

import json

import chat_server as chat
from chat_server import ChatServer
from lab.models.connect import connected
from statefactory.planning.paths import Path
from statefactory.planning.world_models import Outcome, Prompted

PATH = Path("the red block is on the blue block", "all is on the table").then("pick up the red block", "you hold it")


def asked(server: ChatServer, *texts: str) -> list[Outcome]:
    server.behave(lambda request: chat.says(texts[request.number % len(texts)]))
    model = Prompted(connected("small?patience=5"), "blocksworld", "You move blocks.")
    return model.outcomes(PATH, ["stack it", "put it down"])


def test_it_is_told_the_path_and_foresees_each_action_by_itself(server: ChatServer) -> None:
    foreseen = [{"observation": "red on blue", "done": True}, {"observation": "as before", "done": False}]
    assert asked(server, *map(json.dumps, foreseen)) == [Outcome("red on blue", True), Outcome("as before")]
    system, user = (message["content"] for message in server.requests[1].body["messages"])
    assert "You move blocks." in system
    told = ("all is on the table", "pick up the red block", "you hold it", PATH.goal, "put it down")
    assert [user.index(text) for text in told] == sorted(user.index(text) for text in told)
    assert "stack it" not in user and "red on blue" not in user


def test_an_answer_that_cannot_be_read_leaves_all_as_it_was(server: ChatServer) -> None:
    assert asked(server, "I would rather not say.") == [Outcome("you hold it", known=False)] * 2
