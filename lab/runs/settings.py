"""Settings by dotted names: "settings.budget" is the field `budget` of what is in the field `settings`."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from lab.runs.experiment import BadSetting

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def has(holder: Any, name: str) -> bool:
    """Whether a dataclass has a field of that name, or one that has, where the name has dots."""
    first, _, rest = name.partition(".")
    known = is_dataclass(holder) and first in {setting.name for setting in fields(holder)}
    return known and (not rest or has(getattr(holder, first), rest))


def changed(holder: Any, name: str, value: Any) -> Any:
    """A copy with one field changed. value: as JSON has it. Raises BadSetting for a wrong field or type."""
    from pydantic import ValidationError

    first, _, rest = name.partition(".")
    kind: Any = type(holder)
    known = [setting.name for setting in fields(holder)]
    if first not in known:
        raise BadSetting(f"{kind.__name__} has no setting {first!r}; there are: {', '.join(known)}")
    if rest:
        return replace(holder, **{first: changed(getattr(holder, first), rest, value)})
    try:
        typed = _type_of(kind, first).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise BadSetting(f"{name}={value!r}: {error.errors()[0]['msg']}") from None
    return replace(holder, **{first: typed})


@cache  # making one takes milliseconds, and every episode of a study changes some settings
def _type_of(kind: type, name: str) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(get_type_hints(kind)[name])
