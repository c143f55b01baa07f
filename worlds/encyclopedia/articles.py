"""The sentence patterns of the synthetic encyclopedia's articles, by kind of entity."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Formatter

from lab.machine.reading import read_yaml

PEOPLE = ("director", "novelist", "musician", "actor", "entrepreneur", "architect")
# Kinds of which an entity may have the name of one of another kind; a hop that starts from one says its kind.
SHARED_NAMES = {"film", "novel", "album", "town"}
FORMS = {"name", "short", "they", "They", "their"}  # fields that state no fact
Group = tuple[frozenset[str], tuple[str, ...]]


@cache
def sentences() -> dict[str, tuple[Group, ...]]:
    """Kind -> groups of sentence patterns that state the same facts; a group has its fields and its patterns.

    People's kinds share the groups of "person".
    """
    entries = {entry["kind"]: entry["groups"] for entry in read_yaml(Path(__file__).with_name("sentences.yaml"))}
    groups = {kind: tuple(map(_group, patterns)) for kind, patterns in entries.items()}
    return groups | dict.fromkeys(PEOPLE, groups["person"])


def _group(patterns: list[str]) -> Group:
    fields = {field for _, field, _, _ in Formatter().parse(patterns[0]) if field}
    return frozenset(fields - FORMS), tuple(patterns)
