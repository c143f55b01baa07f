"""Any model at an OpenAI-compatible address: render, look in the cache, call with retries, parse, re-ask once."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from lab.backbones import Answer, request_of
from lab.cache import AnswerCache, key_of
from lab.engines import Engine
from lab.parsing import MalformedAnswer, parse
from lab.prompts import AnswerModel, Prompt
from lab.secrets import clean_address, redact
from lab.usage import Call, price

OPENAI = "https://api.openai.com/v1"
PATIENCE = 600.0  # seconds of retrying before giving up; engine option `patience`
LONGEST_WAIT = 60.0  # seconds between two tries when the server does not say
CHARACTERS_A_TOKEN = 4  # a cautious estimate, only used to refuse prompts that cannot fit `context`
_DEFAULT_CACHE: Any = object()


class MissingKey(RuntimeError):
    """An endpoint was chosen, and the environment says neither where it is nor how to get in."""


class EndpointError(RuntimeError):
    """The server could not be made to answer; what it said last is in the message, without keys."""


class PromptTooLong(ValueError):
    """A prompt does not fit the context that the engine string states."""


class RefusedAnswer(MalformedAnswer):
    """The model declined to answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One completion. fault: why its text cannot be an answer at all (empty, cut off), else ""."""

    text: str
    tokens_in: int
    tokens_out: int
    schema: bool
    retries: int
    fault: str = ""


class Endpoint:
    """A model behind the chat-completions protocol, temperature 0 unless the engine string says otherwise (A.1).

    Safe for threads and picklable; the key is read from the environment where the call is made and kept nowhere.
    """

    def __init__(self, engine: Engine, address: str, cache: AnswerCache | None) -> None:
        self.engine = engine
        self.address = clean_address(address)
        self.cache = cache
        self._takes_schema = True
        self._client: Any = None

    @classmethod
    def of(cls, engine: Engine, cache: AnswerCache | None = _DEFAULT_CACHE) -> Endpoint:
        """An endpoint at OPENAI_BASE_URL. Raises MissingKey if neither an address nor a key is set."""
        address = os.environ.get("OPENAI_BASE_URL")
        if not address and not os.environ.get("OPENAI_API_KEY"):
            raise MissingKey(
                f"Engine {engine.text!r} is a model's name: set OPENAI_BASE_URL to the server that has it "
                "(and OPENAI_API_KEY if the server wants one), or use engine='rules'"
            )
        return cls(engine, address or OPENAI, AnswerCache() if cache is _DEFAULT_CACHE else cache)

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Raises MalformedAnswer if also the re-ask gives no answer, RefusedAnswer, EndpointError, PromptTooLong."""
        started = time.perf_counter()
        messages = prompt.render(prompt.fill(**fields))
        self._check_length(prompt, messages)
        request = key_of(request_of(prompt, messages, self.engine, self.address, sample))
        known = self.cache.get(request) if self.cache is not None else None
        if known is not None:
            return self._from_cache(prompt, request, known, time.perf_counter() - started)
        return self._from_server(prompt, request, messages, started)

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The request hash under which caches and recordings keep the answer."""
        messages = prompt.render(prompt.fill(**fields))
        return key_of(request_of(prompt, messages, self.engine, self.address, sample))

    def _from_cache(self, prompt: Prompt, request: str, known: dict[str, Any], seconds: float) -> Answer:
        value = prompt.answer.model_validate_json(known["text"])
        tokens = known["tokens_in"], known["tokens_out"]
        call = Call(prompt.operator, prompt.name, known["path"], *tokens, seconds, usd=0.0, cached=True)
        return Answer(value, call, request, known["text"])

    def _from_server(self, prompt: Prompt, request: str, messages: list[dict[str, str]], started: float) -> Answer:
        replies: list[Reply] = []
        try:
            value, path = self._converse(prompt, messages, replies)
        except MalformedAnswer as error:
            error.call = self._book(prompt, "malformed", replies, started)
            error.request = request
            raise
        call = self._book(prompt, path, replies, started)
        text = value.model_dump_json()
        if self.cache is not None:
            kept = {"text": text, "path": path, "tokens_in": call.tokens_in, "tokens_out": call.tokens_out}
            self.cache.put(request, kept)
        return Answer(value, call, request, text)

    def _converse(
        self, prompt: Prompt, messages: list[dict[str, str]], replies: list[Reply]
    ) -> tuple[AnswerModel, str]:
        """Ask; if the text is no answer, show the model its text and the error, and ask once more."""
        replies.append(self._complete(prompt, messages))
        try:
            return _read(replies[-1], prompt)
        except RefusedAnswer:
            raise
        except MalformedAnswer as error:
            shown = [
                {"role": "assistant", "content": replies[-1].text or "(nothing)"},
                {"role": "user", "content": f"That could not be used: {error}. Give the JSON object alone, corrected."},
            ]
            replies.append(self._complete(prompt, messages + shown))
            return _read(replies[-1], prompt)[0], "reasked"

    def _book(self, prompt: Prompt, path: str, replies: list[Reply], started: float) -> Call:
        tokens_in, tokens_out = sum(r.tokens_in for r in replies), sum(r.tokens_out for r in replies)
        return Call(
            prompt.operator, prompt.name, path, tokens_in, tokens_out,
            seconds=time.perf_counter() - started,
            usd=price(self.engine.name, tokens_in, tokens_out),
            retries=sum(r.retries for r in replies),
        )  # fmt: skip

    def _complete(self, prompt: Prompt, messages: list[dict[str, str]]) -> Reply:
        import openai

        try:
            return self._negotiate(prompt, messages)
        except openai.APIStatusError as error:
            # `from None`: the SDK's error holds the request, and with it the key.
            raise EndpointError(f"{self.address} refuses the request: {redact(str(error))}") from None

    def _negotiate(self, prompt: Prompt, messages: list[dict[str, str]]) -> Reply:
        import openai

        if self._takes_schema:
            try:
                return self._call(messages, _response_format(prompt))
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                # Either the server knows no schemas or the request is wrong in itself: the plain call tells which.
                reply = self._call(messages, None)
                self._takes_schema = False
                return reply
        return self._call(messages, None)

    def _call(self, messages: list[dict[str, str]], response_format: dict[str, Any] | None) -> Reply:
        from lab.retries import with_retries

        arguments = self._sampling() | ({"response_format": response_format} if response_format else {})
        patience = self.engine.options.get("patience", PATIENCE)

        def once() -> Any:
            return self._openai().chat.completions.create(model=self.engine.name, messages=messages, **arguments)

        completion, retries = with_retries(once, self.address, patience, LONGEST_WAIT)
        return _reply(completion, bool(response_format), retries)

    def _sampling(self) -> dict[str, Any]:
        options = {k: v for k, v in self.engine.options.items() if k not in ("patience", "context", "timeout")}
        if "reasoning_effort" in options and "max_tokens" in options:
            options["max_completion_tokens"] = options.pop("max_tokens")  # what reasoning models call it
        return {"temperature": 0.0} | options

    def _openai(self) -> Any:
        if self._client is None:
            from openai import OpenAI

            self._client = OpenAI(
                # The address as the environment has it: it may carry what `self.address` must not.
                base_url=os.environ.get("OPENAI_BASE_URL") or self.address,
                api_key=os.environ.get("OPENAI_API_KEY") or "none",  # local servers want no key, the SDK wants a word
                max_retries=0,  # ours are visible and bounded
                timeout=self.engine.options.get("timeout", 120.0),
            )
        return self._client

    def _check_length(self, prompt: Prompt, messages: list[dict[str, str]]) -> None:
        context = self.engine.options.get("context")
        if context is None:
            return
        tokens = sum(len(message["content"]) for message in messages) // CHARACTERS_A_TOKEN
        if tokens + self.engine.options.get("max_tokens", 0) > context:
            raise PromptTooLong(
                f"Prompt {prompt.name} takes about {tokens} tokens and the engine states context={context}; "
                "raise it, or give the prompt fewer options"
            )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_client": None}


def _response_format(prompt: Prompt) -> dict[str, Any]:
    name = prompt.name.replace(".", "_")
    return {"type": "json_schema", "json_schema": {"name": name, "schema": prompt.schema, "strict": True}}


def _reply(completion: Any, schema: bool, retries: int) -> Reply:
    choice = completion.choices[0]
    text = choice.message.content or ""
    if getattr(choice.message, "refusal", None) or choice.finish_reason == "content_filter":
        fault = "refused"
    elif choice.finish_reason == "length":
        fault = "the answer was cut off before its end; be shorter"
    else:
        fault = "" if text.strip() else "the answer was empty"
    usage = completion.usage
    tokens = (usage.prompt_tokens or 0, usage.completion_tokens or 0) if usage else (0, 0)
    return Reply(text, *tokens, schema=schema, retries=retries, fault=fault)


def _read(reply: Reply, prompt: Prompt) -> tuple[AnswerModel, str]:
    if reply.fault == "refused":
        raise RefusedAnswer(f"The model declined to answer {prompt.name}")
    if reply.fault:
        raise MalformedAnswer(reply.fault)
    value, path = parse(reply.text, prompt.answer)
    return value, "schema" if path == "strict" and reply.schema else path
