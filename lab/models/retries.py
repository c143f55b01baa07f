"""Retries of requests: exponential backoff that honours Retry-After, with a stated limit on the total time."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.machine.secrets import redact
from lab.models.usage import Call

T = TypeVar("T")
PASSING_STATUS = (408, 409, 425, 429)  # besides 5xx (but 501, not implemented): the same request may succeed later
REFUSING_STATUS = (401, 402, 403, 404)  # a wrong key, an empty account, an unknown model: the same for every request
LONGEST_QUOTE = 500  # characters of a server's error that are shown


class EndpointError(RuntimeError):
    """A request failed for good; the message has the server's last error, with keys redacted."""

    call: Call = Call("unknown", "unknown", "failed")
    request: str = ""


class EndpointUnavailable(EndpointError, Unavailable):
    """The server answers no request at all: no connection, no permission, or no quota."""


class GaveUp(EndpointError):
    """The server did not answer this request within the stated patience."""


class BadBody(ValueError):
    """A reply with status 200 whose body is no chat completion: truncated, or written by a proxy on the way."""


def with_retries(call: Callable[[], T], address: str, patience: float, longest: float) -> T:
    """Call until a try succeeds, and return what it gives.

    patience: seconds after which no further try is started. longest: the longest wait, in seconds, where the server
    does not say how long. Raises GaveUp, EndpointUnavailable if the server was not there or took no requests, or at
    once the error that a retry cannot mend.
    """
    import tenacity

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(may_pass),
        wait=_Wait(longest),
        stop=tenacity.stop_before_delay(patience),
        before_sleep=lambda state: _say(state, address),
        reraise=False,
    )
    try:
        return retrying(call)
    except tenacity.RetryError as error:
        given_up = _given_up(error.last_attempt, address, patience)
    finally:
        progress.waits("")
    raise given_up  # outside the handler: no context that holds the request, and with it the key


def _given_up(last: Any, address: str, patience: float) -> EndpointError:
    error = last.exception()
    why, asked = reason(error), retry_after(error)
    wait = f", asking to wait {asked:.0f} s" if asked else ""
    longer = " (or timeout=SECONDS for one try)" if why == "time-out" else ""
    # A time-out is of one request: the next may be shorter. A refused connection or a rate limit is of all.
    kind = EndpointUnavailable if why in ("429", "no connection") else GaveUp
    return kind(
        f"{address} gave no answer: {why}{wait} at try {last.attempt_number}, and the patience is {patience:g} s. "
        f"Give it longer with the engine option patience=SECONDS{longer}"
    )


def refused(error: Any, address: str) -> EndpointError:
    """What to raise for a status error that a retry cannot mend."""
    kind = EndpointUnavailable if error.status_code in REFUSING_STATUS or _spent(error) else EndpointError
    said = redact(str(error))
    return kind(f"{address} refuses the request: {said[:LONGEST_QUOTE]}{'…' if len(said) > LONGEST_QUOTE else ''}")


def _spent(error: Any) -> bool:
    # OpenAI sends 429 for a rate limit, which passes, and for an exhausted quota, which does not.
    return "insufficient_quota" in (error.code, error.type)


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later: overload, faults on the way, broken bodies; not a spent quota."""
    import openai

    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        return not _spent(error) and (status in PASSING_STATUS or (status >= 500 and status != 501))
    return isinstance(
        error, (openai.APIConnectionError, openai.APIResponseValidationError, BadBody, json.JSONDecodeError)
    )


def reason(error: BaseException | None) -> str:
    """A few words on why a call failed, fit for a progress line."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status != 200:  # APIResponseValidationError has 200, which says nothing
        return str(status)
    return {
        "APITimeoutError": "time-out",
        "APIConnectionError": "no connection",
        "BadBody": "broken body",
        "JSONDecodeError": "broken body",
        "APIResponseValidationError": "broken body",
    }.get(type(error).__name__, type(error).__name__)


def retry_after(error: BaseException | None) -> float | None:
    """Seconds that the server asks to wait, from Retry-After (seconds or a date); None where it does not say."""
    response = getattr(error, "response", None)
    value = response.headers.get("retry-after") if response is not None else None
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None  # NaN is unequal to itself


class _Wait:
    """Retry-After where given, else exponential; both with jitter, so that many workers do not come back at once."""

    def __init__(self, longest: float) -> None:
        import tenacity

        self._backoff = tenacity.wait_random_exponential(multiplier=1.0, max=longest)

    def __call__(self, state: Any) -> float:
        asked = retry_after(state.outcome.exception())
        return self._backoff(state) if asked is None else asked + random.uniform(0.02, 0.2)


def _say(state: Any, address: str) -> None:
    wait = state.next_action.sleep
    why = reason(state.outcome.exception())
    progress.waits(why, f"waiting {wait:.1f} s for {address}: {why} (try {state.attempt_number})")
