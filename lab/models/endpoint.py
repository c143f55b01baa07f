"""An endpoint: render, look up the cache, ask the server with retries, parse, re-ask once.

ask -> _converse (asks, re-asks once) -> _complete (binds the answer, retries) -> client
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from lab.machine import progress
from lab.machine.files import key_of
from lab.machine.secrets import clean_address
from lab.models import budget
from lab.models.answers import AnswerModel
from lab.models.backbone import Answer, Call, MalformedAnswer, answered, price
from lab.models.cache import RECORDING, AnswerCache
from lab.models.client import (
    LONGEST_WAIT,
    BadBody,
    Chat,
    Client,
    EndpointError,
    Kind,
    SchemaNotTaken,
    WebPage,
    gets_through,
    kind_of,
    only_pages,
    refused,
    with_retries,
)
from lab.models.engines import BINDINGS, OF_THE_MACHINE, SCHEMA, SHUFFLE, TEXT, TOOL, Engine, presets
from lab.models.parsing import RefusedAnswer, Reply, read, reply_in
from lab.models.prompts import Prompt
from lab.models.rendering import Rendered, options_of, rendered
from lab.models.servers import NOT_TAKEN, SMALL, Profile, Server, bound, client_settings, server_of, stated_address

TEMPERATURE = 0.0  # unless the engine string says otherwise
TIMEOUT = 120.0  # seconds for one try; engine option `timeout`
PATIENCE = 600.0  # seconds of retrying before giving up; engine option `patience`
SEVERAL = 3  # web pages, without any answer, that prove that there is no API; a starting gateway may send one
CRASHES = 3  # statuses 500 after which a binding that never worked counts as not supported
SEEDS = 2**31  # a seed is below
NOT_SENT = (*OF_THE_MACHINE, "context", SHUFFLE, "headers", "query", "schema", "extra_body")
_DEFAULT_CACHE: Any = object()


@dataclass(slots=True)
class Exchange:
    """The replies to one question, re-ask included. unanswered: requests without a reply.

    options: the engine's options, with the temperature of this sample. key: hash of sample and messages.
    """

    options: Mapping[str, Any]
    key: str = ""
    started: float = field(default_factory=time.perf_counter)
    replies: list[Reply] = field(default_factory=list)
    unanswered: int = 0


class Endpoint:
    """A model behind the chat-completions protocol, temperature 0 unless the engine string says otherwise (A.1).

    Thread-safe and picklable; the API key is read from the calling process's environment, and never stored.
    """

    def __init__(
        self, engine: Engine, address: str, cache: AnswerCache | None, local: Callable[[], Chat] | None = None
    ) -> None:
        """address: for cache keys and manifests. local: loads a model in this process, at the first request."""
        self.engine = engine
        self._local = local
        self.address = clean_address(address)
        self.cache = cache
        self._first = Profile.first(engine.options, BINDINGS if local is None else (SCHEMA, TEXT))
        self._client: Chat | None = None
        self.body = b""  # of the last reply
        self._last_reply, self._pages = 0.0, 0  # when a reply came, on any thread; how many web pages came

    @classmethod
    def of(cls, engine: Engine, cache: AnswerCache | None = _DEFAULT_CACHE) -> Endpoint:
        """An endpoint at OPENAI_BASE_URL.

        Raises MissingKey if neither an address nor a key is set.
        Raises ValueError for an invalid address or price file.
        """
        usual = presets()[engine.options["preset"]]["address"] if "preset" in engine.options else ""
        address = stated_address(f"Engine {engine.text!r} is a model's name", "engine='rules'", usual)
        client_settings(clean_address(address), engine.options)
        price(engine.name, 0, 0)  # a bad price file fails here, not after the first paid answer
        return cls(engine, address, AnswerCache() if cache is _DEFAULT_CACHE else cache)

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Answer from the cache or the model.

        Raises MalformedAnswer if the re-ask gives no answer either.
        Raises BudgetSpent before a request for which no budget is left.
        Raises RefusedAnswer, EndpointError, PromptTooLong.
        """
        question = rendered(prompt, fields, self.engine)
        exchange = Exchange(options_of(prompt, self.engine, sample), key_of([sample, question.messages]))
        request = question.key(sample, self.address)
        longest_wait = self._patience + self._timeout
        with self.cache.single_flight(request, longest_wait) if self.cache is not None else nullcontext() as cached:
            if cached is not None:
                return self._from_cache(question, request, cached, exchange.started)
            budget.of_environment().check()
            self.try_out()
            try:
                value, path = self._converse(question.prompt, question.messages, exchange)
            except (MalformedAnswer, EndpointError) as fault:
                raise self._fault(fault, question, request, exchange) from None
            call, last_reply = self._book(question, path, exchange), exchange.replies[-1]
            origin = {"model": last_reply.model, "fingerprint": last_reply.fingerprint}
            origin = {name: text for name, text in origin.items() if text}
            text = self._keep(request, call, value.model_dump_json(), **origin)
            return answered(question, text, call, request)

    @property
    def server(self) -> Server:
        """What this process knows about the server: the parameters that it supports, and which model answers."""
        return server_of(self.address, self.engine.name, self._first)

    @property
    def served(self) -> list[dict[str, Any]]:
        """The supported parameters and the answering model, for a manifest; empty if nothing was asked."""
        return [self.server.record()] if self.server.bindings and self._local is None else []

    def try_out(self) -> None:
        """Check within seconds, once per process, that the server is there, accepts the key and has the model.

        Runs before the first question; call it to know earlier. Raises EndpointUnavailable.
        """
        # A model in this process needs no check; it is loaded at the first question.
        if self._local is None and isinstance(client := self._sending(), Client):
            self.server.try_out(client)

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The request hash under which caches and recordings keep the answer."""
        return rendered(prompt, fields, self.engine).key(sample, self.address)

    def _from_cache(self, question: Rendered, request: str, known: dict[str, Any], started: float) -> Answer:
        prompt = question.prompt
        tokens = known["tokens_in"], known["tokens_out"]
        call = Call(
            prompt.operator, prompt.name, known["path"], *tokens,
            seconds=time.perf_counter() - started, took=known.get("seconds", 0.0), cached=True, cut=question.cut,
            truncated=known.get("truncated", False),
            other_model=self.server.other(known.get("model", ""), known.get("fingerprint", "")),
        )  # fmt: skip
        return answered(question, known["text"], call, request, known.get("said", ""))

    def _fault(
        self, fault: MalformedAnswer | EndpointError, question: Rendered, request: str, exchange: Exchange
    ) -> MalformedAnswer | EndpointError:
        """The error to raise for an unanswered question, with the logged call and the request hash."""
        error, malformed = fault, isinstance(fault, MalformedAnswer)
        if (
            malformed and exchange.replies[-1].truncated
        ):  # the re-ask was truncated, too: name the option that raises the limit
            limit = self.engine.options.get("max_tokens")
            limit_text = f"max_tokens={limit}" if limit else "the server's own limit of tokens"
            error = MalformedAnswer(
                f"{fault} at {limit_text}; state a larger one in the engine string (…?max_tokens=N)"
            )
        error.call, error.request = self._book(question, "malformed" if malformed else "failed", exchange), request
        if isinstance(error, MalformedAnswer):
            error.text = exchange.replies[-1].text
            # A recording has one outcome per request, so asking again must fail in the same way.
            if os.environ.get(RECORDING):
                self._keep(request, error.call, str(error), said=error.text)
        return error

    def _keep(self, request: str, call: Call, text: str, **more: str) -> str:
        """Cache the outcome of a request. Returns its text, or the text that another caller stored first."""
        if self.cache is None:
            return text
        entry = {"text": text, "path": call.path, "tokens_in": call.tokens_in, "tokens_out": call.tokens_out}
        rare = {"truncated": True} if call.truncated else {}
        return str(self.cache.put(request, entry | {"seconds": call.took} | rare | more)["text"])

    def _converse(self, prompt: Prompt, messages: list[dict[str, str]], exchange: Exchange) -> tuple[AnswerModel, str]:
        """Ask; if the text is no answer, show the model its text and the error, and ask once more."""
        reply = self._complete(prompt, messages, exchange)
        try:
            return read(reply, prompt)
        except RefusedAnswer:
            raise  # a re-ask would press the model to answer; a refusal counts as refused
        except MalformedAnswer as error:
            if prompt.free:
                raise  # no format to correct; the caller asks again in its own words
            correction = [
                {"role": "assistant", "content": reply.text or "(nothing)"},
                {"role": "user", "content": f"That could not be used: {error}. Give the JSON object alone, corrected."},
            ]
            return read(self._complete(prompt, messages + correction, exchange), prompt)[0], "reasked"

    def _book(self, question: Rendered, path: str, exchange: Exchange) -> Call:
        replies = exchange.replies
        tokens_in, tokens_out = sum(r.tokens_in for r in replies), sum(r.tokens_out for r in replies)
        usd = price(self.engine.name, tokens_in, tokens_out) if all(r.counted for r in replies) else None
        progress.spend(tokens_in + tokens_out, usd)
        budget.of_environment().book()
        seconds = time.perf_counter() - exchange.started
        return Call(
            question.prompt.operator, question.prompt.name, path, tokens_in, tokens_out,
            seconds=seconds,
            took=round(seconds, 3),
            usd=usd,
            retries=exchange.unanswered,
            cut=question.cut,
            truncated=any(r.truncated for r in replies),
            other_model=next(filter(None, [self.server.other(r.model, r.fingerprint) for r in replies]), ""),
        )  # fmt: skip

    def _complete(self, prompt: Prompt, messages: list[dict[str, str]], exchange: Exchange) -> Reply:
        """Ask with the strictest binding that the server supports, and without the parameters that it rejects."""
        import openai

        began, ways, failure = time.monotonic(), [*self.server.ways(prompt)], None
        tried, crashes = [ways.pop(0)], Counter[str]()

        def once() -> Reply:
            try:
                return self._once(messages, self._timeout, **sent)
            except Exception as error:
                exchange.unanswered += 1
                if isinstance(error, WebPage) and self._only_pages():
                    raise only_pages(self.address) from None
                crashes[tried[-1]] += getattr(error, "status_code", 0) == 500
                # Statuses 500 may mean that the server does not support this binding.
                if ways and prompt.name not in self.server.bindings and crashes[tried[-1]] == CRASHES:
                    raise SchemaNotTaken from None
                raise

        while not failure:
            sent = self.server.profile.adapted(_sampling(exchange) | bound(tried[-1], prompt))
            try:
                reply = with_retries(once, self.address, self._patience, lambda: self._others(began))
                break
            except (SchemaNotTaken, openai.APIStatusError) as error:
                if isinstance(error, openai.APIStatusError) and self.server.adapts(error, sent):
                    continue
                # Does the server not support the binding, or is the request itself wrong? The last way tells.
                if ways and getattr(error, "status_code", 501) in NOT_TAKEN:
                    tried.append(ways.pop(0))
                elif isinstance(error, SchemaNotTaken):
                    raise
                else:
                    failure = refused(error, self.address, lambda: self._others(began))
        if failure:
            # Raised outside the handlers: the SDK's error, which holds the request and so the key, would stay as the
            # context, and clusters pickle errors with their context.
            raise failure
        bound_it = None
        if tried[-1] in (SCHEMA, TOOL) and reply.kind is Kind.ANSWER:
            # Every schema describes an object.
            bound_it = reply.called if tried[-1] == TOOL else reply.text.lstrip()[:1] in ("", "{")
        self.server.takes(prompt.name, (*tried,), bound_it)
        exchange.replies.append(replace(reply, schema=tried[-1] == SCHEMA or reply.called))
        return exchange.replies[-1]

    def _once(self, messages: Sequence[dict[str, str]], seconds: float, **arguments: Any) -> Reply:
        """Send one request. A question that a content filter rejects returns a refusal.

        Raises as `Client.chat` and `reply_in` do.
        """
        import openai

        request = {"model": self.engine.name, "messages": messages, **arguments}
        try:
            self.body = self._sending().chat(request, seconds)
            reply = reply_in(self.body)
        except openai.APIStatusError as error:
            if kind_of(error) is not Kind.REFUSAL:
                raise
            reply = Reply("", 0, 0, counted=False, kind=Kind.REFUSAL)
        self._last_reply = time.monotonic()
        return reply

    def _others(self, since: float) -> bool:
        """Whether the server answers other requests: it has since `since`, or answers a small one now."""
        return self._last_reply > since or gets_through(self._small, self.address, self._patience)

    def _only_pages(self) -> bool:
        """Whether the server has only ever sent web pages, and several: then it has no API, and waiting is useless."""
        import openai

        self._pages += 1
        if self._last_reply > 0 or self._pages < SEVERAL:
            return False
        try:
            self._small()
        except WebPage:
            return True
        except (openai.OpenAIError, BadBody, TimeoutError):
            pass
        return False

    def _small(self) -> Reply:
        return self._once(SMALL, min(self._timeout, LONGEST_WAIT), **self.server.profile.adapted({"max_tokens": 1}))

    @property
    def _patience(self) -> float:
        return self.engine.options.get("patience", PATIENCE)

    @property
    def _timeout(self) -> float:
        return self.engine.options.get("timeout", TIMEOUT)

    def _sending(self) -> Chat:
        if self._client is None or self._client.process != os.getpid():
            self._client = (
                self._local() if self._local else Client(**client_settings(self.address, self.engine.options))
            )
        return self._client

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_client": None, "body": b""}


def _sampling(exchange: Exchange) -> dict[str, Any]:
    """The sampling parameters of a request. Each question and sample has its own seed, which follows from the engine's.

    With one seed all samples would be the same answer, and the n-th token of all questions would be drawn alike.
    """
    options = {k: v for k, v in exchange.options.items() if k not in NOT_SENT}
    if "seed" in options:
        options["seed"] = int(key_of([options["seed"], exchange.key])[:8], 16) % SEEDS
    body = exchange.options.get("extra_body", {})
    if (thinking := options.pop("enable_thinking", None)) is not None:
        body = {**body, "chat_template_kwargs": {**body.get("chat_template_kwargs", {}), "enable_thinking": thinking}}
    return {"temperature": TEMPERATURE} | options | body
