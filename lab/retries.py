"""Retries that honour Retry-After, say why they wait, and stop after a stated time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

from lab import progress
from lab.secrets import redact

PASSING_STATUS = (408, 409, 425, 429)  # besides every 5xx: the same request may succeed later


class GaveUp(RuntimeError):
    """A server did not answer within the stated patience."""


class BadBody(ValueError):
    """A reply with status 200 whose body is no chat completion: cut off, or from something else on the way."""


def with_retries(call: Callable[[], Any], address: str, patience: float, longest: float) -> tuple[Any, int]:
    """The completion that `call` gives, and how many tries failed before it.

    patience: seconds after which no further try is started. longest: the longest wait, in seconds, where the server
    does not say how long. Raises GaveUp, or at once the error that a retry cannot mend.
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
        completion = retrying(lambda: _checked(call()))
    except tenacity.RetryError as error:
        last = redact(reason(error.last_attempt.exception()))
        tries = retrying.statistics.get("attempt_number", 1)
        raise GaveUp(
            f"{address} gave no answer in {patience:g} s ({tries} tries, the last: {last}). "
            "Give it longer with the engine option patience=SECONDS"
        ) from None
    retries = retrying.statistics.get("attempt_number", 1) - 1
    if retries:
        progress.note("")
    return completion, retries


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later: overload, faults on the way, broken bodies; not a spent quota."""
    import openai

    if isinstance(error, openai.APIStatusError):
        spent = getattr(error, "code", None) == "insufficient_quota"
        return not spent and (error.status_code in PASSING_STATUS or error.status_code >= 500)
    return isinstance(
        error, (openai.APIConnectionError, openai.APIResponseValidationError, BadBody, json.JSONDecodeError)
    )


def reason(error: BaseException | None) -> str:
    """A few words on why a call failed, fit for a progress line."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status != 200:
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
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


class _Wait:
    """Retry-After where given, else exponential with jitter, so that many workers do not come back at once."""

    def __init__(self, longest: float) -> None:
        import tenacity

        self._backoff = tenacity.wait_random_exponential(multiplier=1.0, max=longest)

    def __call__(self, state: Any) -> float:
        asked = retry_after(state.outcome.exception())
        return self._backoff(state) if asked is None else asked


def _checked(completion: Any) -> Any:
    choices = getattr(completion, "choices", None)
    if not choices or getattr(choices[0], "message", None) is None:
        raise BadBody("the body is no chat completion")
    return completion


def _say(state: Any, address: str) -> None:
    wait = state.next_action.sleep
    why = reason(state.outcome.exception())
    progress.note(f"waiting {wait:.0f} s for {address}: {why} (try {state.attempt_number})")
