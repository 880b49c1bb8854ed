"""What there is to name."""

from __future__ import annotations

import json

from handbench.cli.app import app
from handbench.cli.options import Json


@app.command("list")
def list_parts(as_json: Json = False) -> None:
    """What there is to name: tasks, data, models, strategies, estimators."""
    from handbench import protocols

    found = {room: protocols.names(room) for room in ("tasks", "datasets", "models", "strategies", "estimators")}
    found["models"] += [f"pose:{name}" for name in found["estimators"]]
    if as_json:
        print(json.dumps(found))
        return
    for room, names in found.items():
        print(f"{room:<11} {', '.join(names)}")
