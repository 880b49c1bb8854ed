"""Who answered, for the report: what was asked of whom, what it took, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from handbench.runs.costs import Price, money, who_answered
from handbench.runs.folder import RunFolder

_NONE = "–"


@dataclass(frozen=True)
class Answered:
    """One line of the table; every field is text for people.

    Attributes:
        model: its name in the tables.
        how: where and how it was asked.
        answers: how many.
        failures: errors, refusals and cut replies, none where there are none.
        tokens_in: read.
        tokens_out: written.
        latency: seconds for one reply, the median and the 95th percentile.
        sizes: the commonest image sizes as the model was sent them.
        cost: in the currency of the prices given.
        took: time of asking, all sessions together.
    """

    model: str
    how: str
    answers: str
    failures: tuple[str, ...]
    tokens_in: str
    tokens_out: str
    latency: str
    sizes: str
    cost: str
    took: str


def answered(folder: RunFolder) -> list[Answered]:
    """A line for each model of a scored run."""
    prices = {
        name: Price.parse(entry, f"{name}: its price") for name, entry in folder.manifest().get("prices", {}).items()
    }
    return [_line(record) for record in who_answered(folder, folder.read("answers"), prices)]


def _line(record: dict[str, Any]) -> Answered:
    median, most = record["seconds_median"], record["seconds_p95"]
    return Answered(
        model=record["model"],
        how=_how(record["facts"]),
        answers=_number(record["answers"]),
        failures=tuple(f"{_number(record[key])} {word}" for key, word in _FAILURES if record[key]),
        tokens_in=_number(record["tokens_in"]),
        tokens_out=_number(record["tokens_out"]),
        latency=_NONE if median is None else f"{_seconds(median)} ({_seconds(most)})",
        sizes=", ".join(f"{size}" for size, _ in record["sizes"]) or _NONE,
        cost=_NONE if record["cost"] is None else money(record["cost"]),
        took=_NONE if record["wall_seconds"] is None else _seconds(record["wall_seconds"]),
    )


_FAILURES = (("errors", "errors"), ("refused", "refused"), ("cut", "cut short"))


def _how(facts: dict[str, Any]) -> str:
    """What a model's facts tell of the way in which it was asked."""
    parts = []
    if "endpoints" in facts:
        parts += [", ".join(facts["endpoints"]), f"images sent {facts['images']}"]
    if "architecture" in facts:
        parts += [f"{facts['architecture']}, {facts['dtype']}", f"{facts['mode']}"]
        parts += [f"image shared: {facts['sharing']}"] if facts["mode"] == "options" else []
        template = facts.get("identity", {}).get("chat template")
        parts += [f"chat template {template}"] if template else []
        parts += [f"{tokens} visual tokens" for tokens in list(facts.get("visual_tokens", {}))[:1]]
    if "engine" in facts:
        parts += [f"vLLM {facts['vllm']}, {facts['engine']['dtype']}", f"images {facts['images']}"]
    if facts and not facts.get("system_role", True):
        parts.append("system text before the question")
    return "; ".join(parts) or _NONE


def _number(value: int | None) -> str:
    return _NONE if value is None else f"{value:,}".replace(",", "\u202f")


def _seconds(value: float) -> str:
    if value >= 100:
        return f"{value / 60:.1f} min"
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.0f} ms"
