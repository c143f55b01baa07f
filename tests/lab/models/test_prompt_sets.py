"""A folder of a reader's own wordings: what a model is asked then, what it may answer, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import chat_server as chat
from chat_server import ChatServer
from lab.machine.paths import ROOT
from lab.models.backbone import Ledger, MalformedAnswer
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.models.engines import BadEngine, parse
from lab.models.prompt_sets import digests, stamped
from sdp.adapters.multihop.prompts import DECOMPOSE, QUERY
from statefactory.prompts import modules
from statefactory.state import Group

QUESTION = {"question": "Who built the harbour of Norwick?", "asked": "Who built it?", "found": [], "tried": []}
OURS = (ROOT / "sdp/prompt_texts/multihop/query.md").read_text(encoding="utf-8")
# The form of a state in the official program: objects by their descriptions.
PERCEIVE = """---
name: statefactory.perceive
version: "paper"
operator: perceive
schema:
  type: object
  properties:
    object: {type: object, additionalProperties: {type: array, items: {type: string}}}
  required: [object]
---
<system>State what holds. {{ form }}</system>
<user>{{ observation }}</user>
<answer>{"thinking": "", "state": [
{% for name, statements in object.items() %}
{"identity": {{ name | json }}, "statements": {{ statements | json }}}{{ "" if loop.last else "," }}
{% endfor %}
]}</answer>
"""
SEEN = {
    "goal": "the gate is open", "action": "push", "observation": "The gate is shut.", "previous_goal": None,
    "previous_state": None,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The set `mine`, beside which one works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "mine"


def put(folder: Path, name: str, text: str) -> None:
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def asked(engine: str, cache: AnswerCache, prompt: Any, fields: dict[str, Any]) -> Any:
    return Ledger(connect(engine, cache=cache), record=True).ask(prompt, **fields)


def test_a_changed_word_is_asked_and_has_a_recording_of_its_own(
    server: ChatServer, cache: AnswerCache, folder: Path
) -> None:
    put(folder, "sdp/multihop/query", OURS.replace("The best query", "The finest query"))
    server.behave(lambda request: chat.answer({"query": "Norwick harbour"}))
    ours, mine, again = (asked(name, cache, QUERY, QUESTION) for name in ("small", "small?prompts=mine", "small"))
    assert "best" in server.requests[0].text and "finest" in server.requests[1].text
    assert ours.value == mine.value and ours.request != mine.request
    assert again.call.cached and again.request == ours.request and len(server.requests) == 2
    # What the folder lacks is asked in the suite's words.
    server.behave(lambda request: chat.answer({"questions": ["Who built it?"]}))
    plan = {"question": QUESTION["question"], "count": 1, "found": [], "planned": [], "single": False}
    assert asked("small?prompts=mine", cache, DECOMPOSE, plan).request == asked("small", cache, DECOMPOSE, plan).request


def test_rows_and_manifests_name_the_folder_and_what_is_in_it(folder: Path) -> None:
    put(folder, "sdp/multihop/query", OURS)
    first = stamped("rules, Realize: small?prompts=mine&top_p=0.9")
    assert first.startswith("rules, Realize: small?prompts=mine~") and stamped(first) == first
    assert first in parse(first).label and "prompts=mine~" in parse(stamped("local?prompts=mine")).label
    put(folder, "sdp/multihop/query", OURS.replace("best", "finest"))
    assert stamped("rules, Realize: small?prompts=mine&top_p=0.9") != first
    with pytest.raises(BadEngine, match="mine has other files now.*prompts=mine begins another run"):
        stamped(first)
    changed = {name for name, digest in digests(parse("small?prompts=mine")).items() if digests()[name] != digest}
    assert changed == {QUERY.name}


def test_an_answer_in_another_form_is_read_as_the_suites_own(
    server: ChatServer, cache: AnswerCache, folder: Path
) -> None:
    put(folder, "statefactory.object_centric.perceive", PERCEIVE)
    state = {"object": {"gate": ["The gate is shut.", 'It says "no".'], "kite 3": []}}
    server.script(chat.answer({"object": ["gate"]}), chat.answer(state))
    prompt = modules("object_centric").perceive
    answer = asked("small?prompts=mine", cache, prompt, SEEN)
    assert answer.value.state == (Group("gate", ("The gate is shut.", 'It says "no".')), Group("kite 3", ()))
    assert answer.call.path == "reasked" and "is not of type 'object'" in server.requests[1].text
    sent = server.requests[0].body
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["object"]
    assert "A state is a list of objects" in server.requests[0].text and "'object'" not in server.requests[0].text
    kept = asked("small?prompts=mine", cache, prompt, SEEN)
    assert kept.call.cached and kept.value == answer.value and json.loads(kept.text) == json.loads(answer.text)


def test_an_answer_that_is_none_of_the_suites_is_malformed(
    server: ChatServer, cache: AnswerCache, folder: Path
) -> None:
    """The suite narrows what may be answered to what there is, whatever the schema of the reader allows."""
    schema = "operator: propose\nschema: {type: object, properties: {parts: {type: array}}, required: [parts]}"
    text = (ROOT / "sdp/prompt_texts/multihop/decompose.md").read_text(encoding="utf-8")
    put(
        folder,
        "sdp/multihop/decompose",
        text.replace("operator: propose", schema) + '\n<answer>{"questions": {{ parts | json }}}</answer>\n',
    )
    server.behave(lambda request: chat.answer({"parts": ["Who?", "Where?"]}))
    plan = {"question": QUESTION["question"], "found": [], "planned": [], "single": False}
    assert asked("small?prompts=mine", cache, DECOMPOSE, plan | {"count": 2}).value.questions == ["Who?", "Where?"]
    with pytest.raises(MalformedAnswer, match="at least 3 items"):
        asked("small?prompts=mine", cache, DECOMPOSE, plan | {"count": 3})


BAD = {
    "a field that there is not": (
        "{{ asked }}",
        "{{ aksed }}",
        r"query.md: {{ aksed }} is unknown; there are: question",
    ),
    "no template": ("{{ asked }}", "{{ asked", "query.md: no Jinja template"),
    "another operator": (
        "operator: realize",
        "operator: propose",
        "its operator is 'propose', and that of .* 'realize'",
    ),
    "no section": ("<user>", "<usr>", r"has the sections \['system'\]"),
    "a schema alone": ("operator: realize", "operator: realize\nschema: {type: object}", "a schema needs a last text"),
    "an answer alone": ("</user>", "</user>\n<answer>{}</answer>", "<answer> needs the schema"),
    "no schema": ("operator: realize", "operator: realize\nschema: 3", "schema: Input should be a valid dict"),
}


@pytest.mark.parametrize(("word", "instead", "message"), BAD.values(), ids=BAD.keys())
def test_a_set_is_checked_before_anything_is_asked(folder: Path, word: str, instead: str, message: str) -> None:
    put(folder, "sdp/multihop/query", OURS.replace(word, instead))
    with pytest.raises(BadEngine, match=message):
        connect("small?prompts=mine")


def test_a_folder_or_a_name_that_there_is_not_is_told_with_the_nearest(folder: Path) -> None:
    with pytest.raises(BadEngine, match=r"there is no folder mine, here or in .* such as mine/sdp/multihop/query.md"):
        connect("small?prompts=mine")
    folder.mkdir()
    with pytest.raises(BadEngine, match="holds no file"):
        connect("small?prompts=mine")
    put(folder, "sdp/multihop/querry", OURS)
    with pytest.raises(BadEngine, match=r"querry.md is the place of no prompt.*sdp/multihop/query"):
        connect("small?prompts=mine")
    with pytest.raises(BadEngine, match="Unknown engine option 'prompts'"):
        connect("rules?prompts=mine")
