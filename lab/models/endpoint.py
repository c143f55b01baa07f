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
from lab.machine.secrets import clean_address
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
from lab.models.prompts import AnswerModel, Prompt, Rendered, options_of, rendered
from lab.models.servers import NOT_TAKEN, SMALL, Profile, Server, bound, client_settings, server_of, stated_address

TEMPERATURE = 0.0  # unless the engine string says otherwise
TIMEOUT = 120.0  # seconds for one try; engine option `timeout`
PATIENCE = 600.0  # seconds of retrying before giving up; engine option `patience`
SEVERAL = 3  # web pages from a server that has answered nothing yet; one may be a gateway's, which is starting
CRASHES = 3  # statuses 500 that tell that a server does not take what binds an answer, where it never did
NOT_SENT = (*OF_THE_MACHINE, "context", SHUFFLE, "headers", "query", "schema", "extra_body")
_DEFAULT_CACHE: Any = object()


@dataclass(slots=True)
class Exchange:
    """The replies to one question, re-ask included. sample: as in `ask`. unanswered: requests without a reply.

    options: the engine's, with the temperature of this sample.
    """

    options: Mapping[str, Any]
    sample: int = 0
    started: float = field(default_factory=time.perf_counter)
    replies: list[Reply] = field(default_factory=list)
    unanswered: int = 0


class Endpoint:
    """A model behind the chat-completions protocol, temperature 0 unless the engine string says otherwise (A.1).

    Thread-safe and picklable; the API key is read from the environment where the call is made, and stored nowhere.
    """

    def __init__(
        self, engine: Engine, address: str, cache: AnswerCache | None, local: Callable[[], Chat] | None = None
    ) -> None:
        """address: for cache keys and manifests. local: gives a model in this process, at the first request."""
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
        """An endpoint at OPENAI_BASE_URL. Raises MissingKey if neither an address nor a key is set, ValueError."""
        usual = presets()[engine.options["preset"]]["address"] if "preset" in engine.options else ""
        address = stated_address(f"Engine {engine.text!r} is a model's name", "engine='rules'", usual)
        client_settings(clean_address(address), engine.options)
        price(engine.name, 0, 0)  # a fault in the price file shows here, not when the first answer has been paid
        return cls(engine, address, AnswerCache() if cache is _DEFAULT_CACHE else cache)

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Raises MalformedAnswer if also the re-ask gives no answer, RefusedAnswer, EndpointError, PromptTooLong."""
        exchange = Exchange(options_of(prompt, self.engine, sample), sample)
        question = rendered(prompt, fields, self.engine)
        request = question.key(sample, self.address)
        waiting = self._patience + self._timeout
        with self.cache.single_flight(request, waiting) if self.cache is not None else nullcontext() as known:
            if known is not None:
                return self._from_cache(question, request, known, exchange.started)
            self.try_out()
            try:
                value, path = self._converse(question.prompt, question.messages, exchange)
            except (MalformedAnswer, EndpointError) as fault:
                raise self._fault(fault, question, request, exchange) from None
            call, last = self._book(question, path, exchange), exchange.replies[-1]
            stated = {"model": last.model, "fingerprint": last.fingerprint}
            stated = {name: text for name, text in stated.items() if text}
            text = self._keep(request, call, value.model_dump_json(), **stated)
            return answered(question, text, call, request)

    @property
    def server(self) -> Server:
        """What this process knows of the server: what it takes, and which model answers."""
        return server_of(self.address, self.engine.name, self._first)

    @property
    def served(self) -> list[dict[str, Any]]:
        """What the server takes and which model answers, for a manifest; empty where nothing was asked."""
        return [self.server.record()] if self.server.bindings and self._local is None else []

    def try_out(self) -> None:
        """Find out within seconds whether the server is there, takes the key and has the model, once a process.

        Done before the first question, and by whoever wants to know earlier. Raises EndpointUnavailable.
        """
        # Else it is a model of our own, which is loaded when it is asked.
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
            other_model=self.server.other(known.get("model", ""), known.get("fingerprint", "")),
        )  # fmt: skip
        return answered(question, known["text"], call, request, known.get("said", ""))

    def _fault(
        self, fault: MalformedAnswer | EndpointError, question: Rendered, request: str, exchange: Exchange
    ) -> MalformedAnswer | EndpointError:
        """The error of a question without an answer, with the booked call and the request."""
        error, malformed = fault, isinstance(fault, MalformedAnswer)
        if malformed and exchange.replies[-1].truncated:  # at the re-ask, too: which option raises the limit?
            limit = self.engine.options.get("max_tokens")
            at = f"max_tokens={limit}" if limit else "the server's own limit of tokens"
            error = MalformedAnswer(f"{fault} at {at}; state a larger one in the engine string (…?max_tokens=N)")
        error.call, error.request = self._book(question, "malformed" if malformed else "failed", exchange), request
        if isinstance(error, MalformedAnswer):
            error.text = exchange.replies[-1].text
            # A recording has one answer to a request: whoever asks it again gets the same one.
            if os.environ.get(RECORDING):
                self._keep(request, error.call, str(error), said=error.text)
        return error

    def _keep(self, request: str, call: Call, text: str, **more: str) -> str:
        """Cache what came of a request; its text, or another's, if that was first."""
        if self.cache is None:
            return text
        kept = {"text": text, "path": call.path, "tokens_in": call.tokens_in, "tokens_out": call.tokens_out}
        return str(self.cache.put(request, kept | {"seconds": call.took} | more)["text"])

    def _converse(self, prompt: Prompt, messages: list[dict[str, str]], exchange: Exchange) -> tuple[AnswerModel, str]:
        """Ask; if the text is no answer, show the model its text and the error, and ask once more."""
        reply = self._complete(prompt, messages, exchange)
        try:
            return read(reply, prompt)
        except RefusedAnswer:
            raise  # shown its own refusal, a model would be pressed to answer; it counts as refused instead
        except MalformedAnswer as error:
            if prompt.free:
                raise  # there is no form to correct; whoever asked tells the model in its own words
            shown = [
                {"role": "assistant", "content": reply.text or "(nothing)"},
                {"role": "user", "content": f"That could not be used: {error}. Give the JSON object alone, corrected."},
            ]
            return read(self._complete(prompt, messages + shown, exchange), prompt)[0], "reasked"

    def _book(self, question: Rendered, path: str, exchange: Exchange) -> Call:
        replies = exchange.replies
        tokens_in, tokens_out = sum(r.tokens_in for r in replies), sum(r.tokens_out for r in replies)
        usd = price(self.engine.name, tokens_in, tokens_out) if all(r.counted for r in replies) else None
        progress.spend(tokens_in + tokens_out, usd)
        seconds = time.perf_counter() - exchange.started
        return Call(
            question.prompt.operator, question.prompt.name, path, tokens_in, tokens_out,
            seconds=seconds,
            took=round(seconds, 3),
            usd=usd,
            retries=exchange.unanswered,
            cut=question.cut,
            truncated=sum(r.truncated for r in replies),
            other_model=next(filter(None, [self.server.other(r.model, r.fingerprint) for r in replies]), ""),
        )  # fmt: skip

    def _complete(self, prompt: Prompt, messages: list[dict[str, str]], exchange: Exchange) -> Reply:
        """Ask with the answer bound as strictly as the server takes it, and all parameters that it does not reject."""
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
                # Statuses 500 may mean that the server does not take what binds the answer.
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
                # Does the server not take what binds the answer, or is the request wrong in itself? The last way tells.
                if ways and getattr(error, "status_code", 501) in NOT_TAKEN:
                    tried.append(ways.pop(0))
                elif isinstance(error, SchemaNotTaken):
                    raise
                else:
                    failure = refused(error, self.address, lambda: self._others(began))
        if failure:
            # Outside the handlers: the SDK's error holds the request, and with it the key, and would stay as the
            # context, which travels along where a cluster pickles errors.
            raise failure
        bound_it = None
        if tried[-1] in (SCHEMA, TOOL) and reply.kind is Kind.ANSWER:
            # All schemas are of objects.
            bound_it = reply.called if tried[-1] == TOOL else reply.text.lstrip()[:1] in ("", "{")
        self.server.takes(prompt.name, (*tried,), bound_it)
        exchange.replies.append(replace(reply, schema=tried[-1] == SCHEMA or reply.called))
        return exchange.replies[-1]

    def _once(self, messages: Sequence[dict[str, str]], seconds: float, **arguments: Any) -> Reply:
        """One request. A question that a filter refuses is a refusal, too. Else raises as `Client.chat` and `reply_in`
        do.
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
        """Whether the server answers other requests: since then it did, or does so now with a small one."""
        return self._last_reply > since or gets_through(self._small, self.address, self._patience)

    def _only_pages(self) -> bool:
        """Whether nothing but web pages ever came, several: then there is no API, and no patience will help."""
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
    """The parameters of a request that say how to sample."""
    options = {k: v for k, v in exchange.options.items() if k not in NOT_SENT}
    if "seed" in options:  # with one seed, every sample would be the same answer
        options["seed"] += exchange.sample
    body = exchange.options.get("extra_body", {})
    if (thinking := options.pop("enable_thinking", None)) is not None:
        body = {**body, "chat_template_kwargs": {**body.get("chat_template_kwargs", {}), "enable_thinking": thinking}}
    return {"temperature": TEMPERATURE} | options | body
