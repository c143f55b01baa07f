"""Retries of requests: exponential backoff that honours Retry-After, with a stated limit on the total time."""

from __future__ import annotations

import math
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
REFUSING_STATUS = (
    401,
    402,
    403,
    404,
    405,
)  # a wrong key, an empty account, an unknown model, no API: as a rule for all
PROBING = 10.0  # seconds in which a small request must get through where another one did not
LONGEST_QUOTE = 500  # characters of a server's error that are shown


class EndpointError(RuntimeError):
    """A request failed for good; the message has the server's last error, with keys redacted."""

    call: Call = Call("unknown", "unknown", "failed")
    request: str = ""


class EndpointUnavailable(EndpointError, Unavailable):
    """The server answers no request at all: no connection, no permission, no quota, or web pages for answers."""


class GaveUp(EndpointError):
    """The server did not answer this request within the stated patience; it does answer others."""


class Redirected(EndpointError):
    """The server redirects this request to another server."""


class BadBody(ValueError):
    """A reply that is no answer: truncated, not UTF-8, written by a proxy on the way. The message says which."""


class WebPage(BadBody):
    """A reply that is a web page: what a server sends where there is no API."""


def no_others() -> bool:
    """For `others` below, where nothing else can be asked."""
    return False


def with_retries(
    call: Callable[[], T], address: str, patience: float, longest: float, others: Callable[[], bool] = no_others
) -> T:
    """Call until a try succeeds, and return what it gives.

    patience: seconds after which no further try is started. longest: the longest wait, in seconds, where the server
    does not say how long. others: whether the server answers other requests; asked when this one got no answer.
    Raises GaveUp, EndpointUnavailable if others get no answer either, or at once the error that a retry cannot mend.
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
        last = error.last_attempt
    finally:
        progress.waits("")
    # Outside the handler: no context that holds the request, and with it the key.
    raise _given_up(last, address, patience, others())


def gets_through(small: Callable[[], object], address: str, patience: float, longest: float) -> bool:
    """Whether a small request is answered, with some patience: what meets a fault alone is at fault itself."""
    import openai

    try:
        with_retries(small, address, min(patience, PROBING), longest)
    except openai.APIStatusError as error:
        return not _of_all(error)  # an answer is one that says what is wrong with just this request
    except EndpointError:
        return False
    return True


def _given_up(last: Any, address: str, patience: float, others: bool) -> EndpointError:
    error = last.exception()
    why, asked = reason(error), retry_after(error)
    wait = f", asking to wait {asked:.0f} s" if asked else ""
    said = f" ({_quoted(str(error))})" if isinstance(error, BadBody) else ""
    longer = " (or timeout=SECONDS for one try)" if why == "time-out" else ""
    scope = "It answers other requests" if others else "It answers no other request either"
    return (GaveUp if others else EndpointUnavailable)(
        f"{address} gave no answer: {why}{said}{wait} at try {last.attempt_number}, and the patience is "
        f"{patience:g} s. {scope}. Give it longer with the engine option patience=SECONDS{longer}"
    )


def refused(error: Any, address: str, others: Callable[[], bool] = no_others) -> EndpointError:
    """What to raise for a status error that a retry cannot mend. others: as in `with_retries`."""
    kind = EndpointUnavailable if _of_all(error) and not others() else EndpointError
    likely = end_of(address) if error.status_code in (404, 405) else ""
    return kind(f"{address} refuses the request: {_quoted(str(error))}{likely}")


def only_pages(address: str) -> EndpointUnavailable:
    """What to raise where a server answers with web pages."""
    likely = end_of(address) or ". Set OPENAI_BASE_URL to the address of a server of models"
    return EndpointUnavailable(f"{address} answers with a web page, and not as a model does{likely}")


def end_of(address: str) -> str:
    """What is likely wrong with an address at which there is no API; "" where nothing tells."""
    if "/v1" in address:
        return ""
    return f". Addresses usually end in /v1: try OPENAI_BASE_URL={address.rstrip('/')}/v1"


def _quoted(text: str) -> str:
    said = redact(text)
    return f"{said[:LONGEST_QUOTE]}{'…' if len(said) > LONGEST_QUOTE else ''}"


def _of_all(error: Any) -> bool:
    return error.status_code in REFUSING_STATUS or _spent(error)


def _spent(error: Any) -> bool:
    # OpenAI sends 429 for a rate limit, which passes, and for an exhausted quota, which does not.
    return "insufficient_quota" in (error.code, error.type)


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later: overload, faults on the way, broken bodies; not a spent quota."""
    import openai

    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        return not _spent(error) and (status in PASSING_STATUS or (status >= 500 and status != 501))
    return isinstance(error, (openai.APIConnectionError, BadBody, TimeoutError))


def reason(error: BaseException | None) -> str:
    """A few words on why a call failed, fit for a progress line."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return str(status)
    return {
        "APITimeoutError": "time-out",
        "TimeoutError": "time-out",
        "APIConnectionError": "no connection",
        "BadBody": "broken body",
        "WebPage": "broken body",
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
    return max(0.0, seconds) if math.isfinite(seconds) else None


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
