"""What came of a request, and retries of those that met an overload: exponential backoff that honours Retry-After."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Callable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import partial
from typing import Any, TypeVar

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.machine.secrets import redact
from lab.models.usage import Call

T = TypeVar("T")
PASSING_STATUS = (408, 409, 425, 429)  # besides 5xx (but 501, not implemented): the same request may succeed later
REFUSING_STATUS = (401, 402, 403, 404, 405)  # wrong key, empty account, unknown model, no API: as a rule for all
# Errors of a filter that refuses a question, as Azure, OpenAI, Alibaba, LiteLLM and OpenRouter state them.
FILTERED = re.compile(
    "'code': '(content_filter|content_policy_violation|data_inspection_failed|ResponsibleAIPolicyViolation)'"
    "|ContentPolicyViolation|'flagged_input':"
)
PROBING = 10.0  # seconds in which a small request must get through where another one did not
LONGEST_QUOTE = 500  # characters of a server's error that are shown
FIRST_WAIT = 0.2  # seconds; doubled at each try, it is the least wait, also where the server asks for none


class Kind(Enum):
    """What came of a request. Only an overload is retried; refusals and truncated answers count for the model."""

    ANSWER = "answer"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    BAD_REQUEST = "bad request"
    OVERLOAD = "overload"
    NOT_THIS_API = "not this API"


class EndpointError(RuntimeError):
    """A request failed for good; the message has the server's last error, with keys redacted."""

    call: Call = Call("unknown", "unknown", "failed")
    request: str = ""


class EndpointUnavailable(EndpointError, Unavailable):
    """The server answers no request at all: no connection, no permission, no quota, or web pages for answers."""


class Redirected(EndpointError):
    """The server redirects this request to another server."""


class BadBody(ValueError):
    """A reply that is no answer: truncated, not UTF-8, written by a proxy on the way. The message says which."""


class NotThisApi(BadBody):
    """A reply that is whole and of another form than this API has. The message quotes it."""


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
    Raises EndpointError, its EndpointUnavailable if others get no answer either, or at once the error that a retry
    cannot mend.
    """
    import tenacity

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda error: kind_of(error) is Kind.OVERLOAD),
        wait=_Wait(longest),
        stop=tenacity.stop_before_delay(patience),
        before_sleep=lambda state: _say(state, address),
        reraise=False,
    )
    try:
        return retrying(call)
    except tenacity.RetryError as error:
        failure = partial(_given_up, error.last_attempt, patience)
    except NotThisApi as error:
        failure = partial(_not_this_api, str(error))
    finally:
        progress.waits("")
    # Outside the handlers: no context that holds the request, and with it the key.
    raise failure(address, others())


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


def _given_up(last: Any, patience: float, address: str, others: bool) -> EndpointError:
    error = last.exception()
    why, asked = reason(error), retry_after(error)
    wait = f", asking to wait {asked:.0f} s" if asked else ""
    quote = f" ({_quoted(str(error))})" if isinstance(error, BadBody) else ""
    longer = " (or timeout=SECONDS for one try)" if why == "time-out" else ""
    scope = "It answers other requests" if others else "It answers no other request either"
    return (EndpointError if others else EndpointUnavailable)(
        f"{address} gave no answer: {why}{quote}{wait} at try {last.attempt_number}, and the patience is "
        f"{patience:g} s. {scope}. Give it longer with the engine option patience=SECONDS{longer}"
    )


def _not_this_api(message: str, address: str, others: bool) -> EndpointError:
    kind = EndpointError if others else EndpointUnavailable
    return kind(f"{address} does not answer as this API does: {_quoted(message)}{end_of(address)}")


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
    safe = redact(text)
    return f"{safe[:LONGEST_QUOTE]}{'…' if len(safe) > LONGEST_QUOTE else ''}"


def _of_all(error: Any) -> bool:
    return error.status_code in REFUSING_STATUS or _spent(error)


def _spent(error: Any) -> bool:
    # OpenAI sends 429 for a rate limit, which passes, and for an exhausted quota, which does not.
    return "insufficient_quota" in (error.code, error.type)


def kind_of(error: BaseException) -> Kind | None:
    """What a failed request met; None for an error that is none of the server's."""
    import openai

    match error:
        case openai.APIStatusError():
            return _kind_of_status(error)
        case NotThisApi():
            return Kind.NOT_THIS_API
        case openai.APIConnectionError() | BadBody() | TimeoutError():  # faults on the way, bodies that break off
            return Kind.OVERLOAD
    return None


def _kind_of_status(error: Any) -> Kind:
    if error.status_code < 500 and FILTERED.search(str(error.body)):
        return Kind.REFUSAL
    passing = error.status_code in PASSING_STATUS or (error.status_code >= 500 and error.status_code != 501)
    return Kind.OVERLOAD if passing and not _spent(error) else Kind.BAD_REQUEST


def reason(error: BaseException | None) -> str:
    """A few words on why a call failed, fit for a progress line."""
    name = type(error).__name__
    words = {"APITimeoutError": "time-out", "TimeoutError": "time-out", "APIConnectionError": "no connection"}
    usual = "broken body" if isinstance(error, BadBody) else words.get(name, name)
    return str(getattr(error, "status_code", usual))


def retry_after(error: BaseException | None) -> float | None:
    """Seconds that the server asks to wait, in retry-after-ms or Retry-After (seconds or a date); None in neither."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        with suppress(ValueError):
            seconds = float(value) * unit
            return max(0.0, seconds) if math.isfinite(seconds) else None
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None


class _Wait:
    """Retry-After where given, else exponential; both with jitter, so that many workers do not come back at once.

    Retry-After is kept to as the least: a server that asks for no wait again and again is overloaded all the same.
    """

    def __init__(self, longest: float) -> None:
        import tenacity

        self._backoff = tenacity.wait_random_exponential(multiplier=1.0, max=longest)
        self._least = tenacity.wait_exponential(multiplier=FIRST_WAIT, max=longest)

    def __call__(self, state: Any) -> float:
        asked = retry_after(state.outcome.exception())
        if asked is None:
            return self._backoff(state)
        return max(asked, self._least(state)) + random.uniform(0.02, 0.2)


def _say(state: Any, address: str) -> None:
    wait = state.next_action.sleep
    why = reason(state.outcome.exception())
    progress.waits(why, f"waiting {wait:.1f} s for {address}: {why} (try {state.attempt_number})")
