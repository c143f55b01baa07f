"""Replies of servers that differ come to one form, and each is of one kind."""

from __future__ import annotations

import json
import time
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chat_server as chat
from asking import Placing
from chat_server import ChatServer
from lab.machine.faults import Unavailable
from lab.models.backbone import MalformedAnswer
from lab.models.client import EndpointError, Kind, kind_of
from lab.models.connect import connect
from lab.models.parsing import RefusedAnswer, read, reply_in
from lab.models.prompts import Prompt

GOOD: dict[str, Any] = {"shelf": 3, "why": "it is free"}
TEXT = json.dumps(GOOD)


def body(message: Any, finish: Any = "stop", **more: Any) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return json.dumps({"object": "chat.completion", "choices": [choice], **more}).encode()


def chunk(content: str | None, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    return b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"


def called(arguments: Any, content: str | None = None) -> bytes:
    return body({"content": content, "tool_calls": [{"type": "function", "function": {"arguments": arguments}}]})


STREAM = chunk(TEXT[:9]) + chunk(TEXT[9:]) + chunk(None, "stop")
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": '{"shelf": 9}'}]}
# Inputs are ours; the kind of fault is that of the report.
ANSWERS = {
    "microsoft/agent-framework#6978: parts": body({"content": [THOUGHT, {"type": "text", "text": TEXT}]}),
    "brainlid/langchain#418: several parts": body(
        {"content": [{"type": "text", "text": TEXT[:9]}, {"type": "text", "text": TEXT[9:]}]}
    ),
    "BigDawnGhost/wenyi#131: in reasoning_content": body({"content": None, "reasoning_content": TEXT}),
    "vllm-project/vllm#50948: in reasoning": body({"content": "", "reasoning": f"\n{TEXT}"}),
    "ai-dynamo/dynamo#11203: blanks beside reasoning": body({"content": "\n\n", "reasoning_content": TEXT}),
    "pydantic-ai: arguments of a tool": called(TEXT),
    "huggingface/text-generation-inference#2461: arguments as an object": called(GOOD),
    "vercel/ai#1080: the old function_call": body({"content": None, "function_call": {"arguments": TEXT}}),
    "langchain-ai/open-swe#277: words beside a tool": called(TEXT, content="I call the tool."),
    "decolua/9router#3492: a whole completion, then [DONE]": body({"content": TEXT}) + b"\n\ndata: [DONE]\n\n",
    "unslothai/unsloth#6570: chunks": STREAM + b"data: [DONE]\n\n",
    "perplexityai/api-discussion#209: chunks without [DONE]": STREAM,
    "thoughts in chunks, which are the answer": STREAM.replace(b'"content"', b'"reasoning_content"'),
    "sgl-project/genai-bench#159: chunks without blanks": STREAM.replace(b"data: ", b"data:"),
    "a gateway's comments and events": b": PROCESSING\n\nevent: message\n" + STREAM,
    "a completion as an event": b"data: " + body({"content": TEXT}) + b"\n\ndata: [DONE]",
    "no finish_reason": body({"content": TEXT}, finish=None),
    "an unknown finish_reason": body({"content": TEXT}, finish="eos_token"),
    "error null": body({"content": TEXT}, error=None),
    "tool_calls of no form": body({"content": TEXT, "tool_calls": 5, "function_call": "x"}),
}
ERROR = {"message": "context too long"}
OTHERS = {
    "stanford-crfm/helm#3804: length without content": (body({"role": "assistant"}, "length"), Kind.TRUNCATED),
    "google/generative-ai-docs#235: MAX_TOKENS without a message": (body(None, "MAX_TOKENS"), Kind.TRUNCATED),
    "wenyi#131: thoughts at the limit": (body({"content": "", "reasoning": TEXT}, "length"), Kind.TRUNCATED),
    "ag2ai/ag2#1718: RECITATION": (body({"content": None}, "RECITATION"), Kind.REFUSAL),
    "epam/ai-dial-adapter-vertexai#149: SAFETY without a message": (body(None, "SAFETY"), Kind.REFUSAL),
    "a refusal as a part": (body({"content": [{"type": "refusal", "refusal": "No."}]}), Kind.REFUSAL),
    "UKGovernmentBEIS/inspect_ai#1534: code 400": (b'{"error": {"message": "x", "code": 400}}', Kind.BAD_REQUEST),
    "open-jarvis/OpenJarvis#970: no code": (json.dumps({"error": ERROR}).encode(), Kind.BAD_REQUEST),
    "an error that is a text": (b'{"error": "model not found"}', Kind.BAD_REQUEST),
    "vLLM's old form": (b'{"object": "error", "message": "too long", "code": 400}', Kind.BAD_REQUEST),
    "tatsu-lab/alpaca_eval#227: a filter": (b'{"error": {"code": "content_filter", "message": "no"}}', Kind.REFUSAL),
    "open-webui/computer#293: code 429": (
        b'{"error": {"message": "Provider returned error", "code": 429, "metadata": {}}}', Kind.OVERLOAD,
    ),
    "anomalyco/opencode#22448: no error around": (b'{"code": 502, "message": "lost"}', Kind.OVERLOAD),
    "Aider-AI/aider#3550: in the choice": (
        b'{"choices": [{"error": {"code": 502, "message": "x"}, "message": {"content": "{}"}}]}', Kind.OVERLOAD,
    ),
    "a model that loads": (b'{"error": "model is loading"}', Kind.OVERLOAD),
    "overloaded, without a code": (b'{"error": {"type": "overloaded_error", "message": "x"}}', Kind.OVERLOAD),
    "an error among events": (b'data: {"error": {"code": "429"}}\n\n', Kind.OVERLOAD),
    "a stream that breaks off": (chunk(TEXT), Kind.OVERLOAD),
    "half a body": (body({"content": TEXT})[:-9], Kind.OVERLOAD),
    "a server that broke off": (body({"content": TEXT}, "network_error"), Kind.OVERLOAD),
    "langchain-ai/langchain#35236: choices null": (b'{"choices": null, "model": "busy"}', Kind.NOT_THIS_API),
    "mishl-dev/Discord-AI-Chatbot#143: the old protocol": (b'{"choices": [{"text": "hm"}]}', Kind.NOT_THIS_API),
    "Ollama's own protocol": (b'{"message": {"content": "is busy"}, "done": true}', Kind.NOT_THIS_API),
    "no choices": (b'{"choices": []}', Kind.NOT_THIS_API),
    "a text": (b'"hello"', Kind.NOT_THIS_API),
    "a list": (b'[{"message": "busy"}]', Kind.NOT_THIS_API),
    "content that is a mapping": (body({"content": GOOD}), Kind.NOT_THIS_API),
    "a part without a form": (body({"content": [{"type": "text", "text": {"x": 1}}]}), Kind.NOT_THIS_API),
    "a part of an unknown type": (body({"content": [{"type": "image", "url": "x"}]}), Kind.NOT_THIS_API),
    "no message": (body(None), Kind.NOT_THIS_API),
    "a finish_reason of no form": (body({"content": TEXT}, finish=["stop"]), Kind.NOT_THIS_API),
}  # fmt: skip


@pytest.mark.parametrize("sent", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_read_wherever_a_server_puts_it(sent: bytes, prompt: Prompt) -> None:
    assert read(reply_in(sent), prompt)[0] == Placing(**GOOD)


@pytest.mark.parametrize(("sent", "kind"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_answer_has_one_kind(sent: bytes, kind: Kind) -> None:
    assert kind_in(sent) is kind


def test_an_error_without_a_code_is_of_this_request_alone() -> None:
    """As a status 401, it would end the run: it would be taken for a wrong key."""
    with pytest.raises(openai.APIStatusError) as caught:
        reply_in(b'{"error": "model not found"}')
    assert caught.value.status_code == 400


def kind_in(sent: bytes) -> Kind | None:
    try:
        return reply_in(sent).kind
    except Exception as error:
        return kind_of(error)


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "reasoning_content": f"I think {TEXT}"},
        {"content": None, "reasoning_content": "positive"},
        {"content": "hm", "reasoning_content": TEXT},
        {"content": TEXT, "tool_calls": [{"function": {"arguments": '{"shelf": 4, "why": ""}'}}]},
        {
            "content": None,
            "tool_calls": [{"function": {"arguments": TEXT}}, {"function": {"arguments": '{"shelf": 4, "why": ""}'}}],
        },
    ],
)
def test_thoughts_and_answers_that_differ_are_no_answer(message: dict[str, Any], prompt: Prompt) -> None:
    with pytest.raises(ValueError, match="JSON|empty"):
        read(reply_in(body(message)), prompt)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["choices", "message", "content", "type", "text", "error", "code", "tool_calls", "function",
                         "arguments", "finish_reason", "delta", "reasoning", "refusal", "usage"]), inner, max_size=4
    ),
    max_leaves=25,
)  # fmt: skip


@pytest.mark.slow
@given(anything, anything, st.booleans())
def test_every_body_has_a_kind(value: Any, message: Any, event: bool) -> None:
    for sent in (json.dumps(value).encode(), body(message)):
        assert kind_in((b"data: " if event else b"") + sent) is not None


# --- on the way -------------------------------------------------------------------------------------------------


def ask(server: ChatServer, prompt: Prompt, response: chat.Response, patience: float = 30) -> Any:
    server.behave(lambda request: response)
    return connect(f"small?patience={patience}", cache=None).ask(prompt, box=1)


FILTERED = {
    "stanford-crfm/helm#3327": {"code": "content_filter", "status": 400},
    "tatsu-lab/alpaca_eval#227": {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}},
    "BerriAI/litellm#16231": {"code": "400", "message": "litellm.ContentPolicyViolationError: AzureException"},
    "a gateway's moderation": {"code": 403, "metadata": {"reasons": ["x"], "flagged_input": "…"}},
}


@pytest.mark.parametrize("error", FILTERED.values(), ids=FILTERED)
def test_a_filtered_question_is_refused_and_asked_once(
    server: ChatServer, prompt: Prompt, error: dict[str, Any]
) -> None:
    with pytest.raises(RefusedAnswer):
        ask(server, prompt, chat.Response(400, json.dumps({"error": error}).encode()))
    assert server.count == 1


def test_an_answer_without_content_at_the_limit_names_the_limit(server: ChatServer, prompt: Prompt) -> None:
    with pytest.raises(MalformedAnswer, match="max_tokens"):
        ask(server, prompt, chat.Response(body=body({"role": "assistant"}, "length")))
    assert server.count == 2  # asked again once, as after any text that cannot be read


@pytest.mark.parametrize(
    ("sent", "quote"),
    [(b'{"choices": null}', "choices"), (b'{"error": {"message": "too long", "code": 400}}', "too long")],
)
def test_a_body_that_is_no_answer_is_quoted_at_once(
    server: ChatServer, prompt: Prompt, sent: bytes, quote: str
) -> None:
    with pytest.raises(EndpointError, match=quote):
        ask(server, prompt, chat.Response(body=sent))
    assert server.count <= 5  # bound in each way, and a small one, which tells whether others are answered
    server.script(chat.Response(body=b"[1, 2]"))
    with pytest.raises(EndpointError, match=r"\[1, 2\]") as caught:
        ask(server, prompt, chat.answer(GOOD))
    assert not isinstance(caught.value, Unavailable), "one such body costs no other request"


@pytest.mark.parametrize("header", ["retry-after", "retry-after-ms"])
def test_a_server_that_asks_for_no_wait_is_asked_more_rarely(server: ChatServer, prompt: Prompt, header: str) -> None:
    began, times = time.monotonic(), list[float]()

    def busy(request: chat.Request) -> chat.Response:
        times.append(time.monotonic() - began)
        return chat.Response(429, b"{}", {header: "0"})

    server.behave(busy)
    with pytest.raises(EndpointError):
        connect("small?patience=2", cache=None).ask(prompt, box=1)
    assert len([at for at in times if at < 2]) <= 6
