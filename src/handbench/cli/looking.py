"""What there is, and what is in a run."""

from __future__ import annotations

import json

from handbench.cli.app import app
from handbench.cli.options import Folder, Json


@app.command()
def describe(folder: Folder, as_json: Json = False) -> None:
    """What is in the questions: counts per descriptor and label, and the terms of the options."""
    from handbench.reports.description import describe as rows
    from handbench.reports.description import show

    found = rows(folder)
    if as_json:
        print(json.dumps({name: frame.to_dicts() for name, frame in found.items()}))
        return
    show(found)
    print(folder)


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
