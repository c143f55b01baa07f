"""The rules of all stand-ins, for tests that register rules of their own and take them back."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from lab.models import rules


def registered() -> dict[str, Any]:
    """A copy of the registered rules. All stand-ins are loaded first: later, a test could take them back as its own."""
    for point in entry_points(group=rules.GROUP):
        point.load()
    return dict(rules._rules)
