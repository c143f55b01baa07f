"""`pytest tests/golden --record` plays the studies with their stand-ins and writes the golden files again."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="play the studies and write their golden files again")
