"""One request before the first: is the server there, does it take the key, does it have the model?

Asked within seconds, while a question would be repeated for as long as the patience lasts. The list of models costs
nothing and needs no model to be loaded; only where it says no, one token is asked for, since some servers answer for
more models than they list.
"""

from __future__ import annotations

import threading

from lab.machine.spelling import hint
from lab.models.client import Client, body_json, is_page
from lab.models.retries import BadBody, EndpointError, EndpointUnavailable, Redirected, only_pages, refused

LONGEST = 4.0  # seconds that one try may take
SMALL = [{"role": "user", "content": "Answer with OK."}]  # what finds out whether a server answers at all
MOST_NAMES = 8  # of models that a message lists
_passed: set[tuple[str, str]] = set()  # address and model, in this process
_one_at_a_time = threading.Lock()


def try_out(client: Client, address: str, model: str) -> None:
    """Ask once a process whether this server answers for this model; a server that is slow or cannot tell passes.

    Raises EndpointUnavailable where there is no connection, no permission, no such model, or a web page for an answer.
    """
    with _one_at_a_time:
        if (address, model) in _passed:
            return
        error = _objection(client, address, model)
        # Outside the handler of the SDK's error: no context that holds the request, and with it the key.
        if error:
            raise error
        _passed.add((address, model))


def _objection(client: Client, address: str, model: str) -> EndpointError | None:
    import openai

    try:
        there = _names(client.body(lambda sdk: sdk.models.with_streaming_response.list(), LONGEST))
    except TimeoutError:
        return None
    except openai.APIConnectionError as error:
        return _unreachable(error, address) if _before_connecting(error) else None
    except openai.APIStatusError as error:
        if error.status_code not in (401, 403):  # others have no such list
            return None
        there = []
    except (BadBody, Redirected):
        there = []
    if model in there:
        return None

    try:
        body = client.chat({"model": model, "messages": SMALL, "max_tokens": 1}, LONGEST)
    except openai.APIStatusError as error:
        # Only what would hold for every question; a model that wants other options is there.
        return _explained(refused(error, address), error.status_code, model, there)
    except (openai.APIConnectionError, BadBody, TimeoutError):  # it may pass: the first question will tell
        return None
    except Redirected as error:
        return EndpointUnavailable(str(error))
    return only_pages(address) if is_page(body) else None


def _names(body: bytes) -> list[str]:
    """The models that a list has; none where the body is no list of models."""
    match body_json(body):
        case {"data": [*models]}:
            return [model["id"] for model in models if isinstance(model, dict) and isinstance(model.get("id"), str)]
    return []


def _explained(error: EndpointError, status: int, model: str, there: list[str]) -> EndpointError | None:
    if not isinstance(error, EndpointUnavailable):
        return None
    if status in (401, 403):
        return EndpointUnavailable(f"{error}. The key is what OPENAI_API_KEY holds")
    more = ", …" if len(there) > MOST_NAMES else ""
    has = f". It has: {', '.join(there[:MOST_NAMES])}{more}" if there else ""
    return EndpointUnavailable(f"{error}{has}{hint(model, there)}")


def _unreachable(error: Exception, address: str) -> EndpointUnavailable:
    cause = error.__cause__ or error
    why = str(cause) or type(cause).__name__
    return EndpointUnavailable(
        f"{address} cannot be reached: {why}. Start the server, or set OPENAI_BASE_URL to the address of one that runs"
    )


def _before_connecting(error: Exception) -> bool:
    """Whether there was no connection at all, and not one that broke."""
    return type(error.__cause__).__name__ in ("ConnectTimeout", "ConnectError", "ProxyError", "UnsupportedProtocol")
