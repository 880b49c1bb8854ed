"""Category names that mean the same, from ``aliases.json``."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files


@cache
def alias_table() -> dict[str, str]:
    """Name → the name that stands for its group, from ``aliases.json``."""
    groups = json.loads((files(__package__) / "aliases.json").read_text(encoding="utf-8"))["aliases"]
    return {alias: name for name, aliases in groups.items() for alias in (name, *aliases)}


def aliased(name: str) -> str:
    """The name that stands for a plain name's group; itself where it has none."""
    return alias_table().get(name, name)
