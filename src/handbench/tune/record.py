"""The record of a training, ``tune.toml``: what was asked for, what came out, and whether this is the same training."""

from __future__ import annotations

import tomllib
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import polars as pl
import tomli_w

from handbench.errors import HandbenchError

RECORD: Final = "tune.toml"
WEIGHTS: Final = "adapter_model.safetensors"
_OWN: Final = {"questions", "tests", "checkpoints", RECORD}
"""What a folder of ours may hold before a training has begun."""


def read_record(out: Path) -> dict[str, Any]:
    """The record of an adapter.

    Raises:
        HandbenchError: the folder holds none.
    """
    path = out / RECORD
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HandbenchError(f"{out}: no adapter of ours ({RECORD} is missing)") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HandbenchError(f"{path}: damaged ({error}); take another folder with -o, or delete this one") from None
    if record.get("state") not in ("begun", "done", "failed") or (
        record["state"] == "done" and not {"trained", "packing", "parity"} <= set(record)
    ):
        raise HandbenchError(f"{path}: damaged (it is not whole); take another folder with -o, or delete this one")
    return record


def refuse_what_is_not_ours(out: Path) -> None:
    """Look that a folder is empty or an adapter's own, before anything is written to it.

    Raises:
        HandbenchError: it holds something else, or checkpoints of nobody knows which training.
    """
    if not out.is_dir() or (out / RECORD).exists():
        return
    if strange := sorted({path.name for path in out.iterdir()} - _OWN):
        raise HandbenchError(f"{out}: holds something else ({strange[0]}); take another folder with -o")
    if any((out / "checkpoints").glob("checkpoint-*")):
        raise HandbenchError(
            f"{out}: holds checkpoints, but no {RECORD} that says of which training; take another folder with -o, or "
            "delete this one"
        )


def there(out: Path, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """The record if this very training is done; None if it is to be done or gone on with.

    Raises:
        HandbenchError: the folder holds another training, or files that must not be used.
    """
    refuse_what_is_not_ours(out)
    if not (out / RECORD).exists():
        return None
    record = read_record(out)
    plain = tomllib.loads(tomli_w.dumps(wanted))
    for key in wanted:  # settings before questions, which follow from them
        value = plain[key]
        if record.get(key) != value:
            raise HandbenchError(
                f"{out}: holds another training ({_difference(key, record.get(key), value)}); "
                "take another folder with -o"
            )
    if record["state"] == "failed":
        raise HandbenchError(f"{out}: its files did not give the trained model: do not use them; delete the folder")
    if record["state"] == "done" and not (out / WEIGHTS).exists():
        raise HandbenchError(f"{out}: {WEIGHTS} is missing, though the training was done; delete the folder")
    return record if record["state"] == "done" else None


def _difference(key: str, there: Any, here: Any) -> str:
    """What differs, as short as it can be said."""
    if isinstance(there, dict) and isinstance(here, dict):
        name = next(name for name in (*there, *here) if there.get(name) != here.get(name))
        return _difference(f"{key}.{name}", there.get(name), here.get(name))
    if key == "questions":
        return "the questions differ"
    return f"{key} is {there!r} there and {here!r} here"


def fingerprint(questions: pl.DataFrame) -> str:
    """Of which questions were chosen, and in which order."""
    keys = questions.select(pl.concat_str("question_id", "variant", separator=" ")).to_series().to_list()
    return blake2b("\n".join(keys).encode(), digest_size=12).hexdigest()


def write_record(out: Path, record: dict[str, Any]) -> None:
    """Write it whole or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    draft = out / f"{RECORD}.part"
    draft.write_text(tomli_w.dumps(record), encoding="utf-8")
    draft.replace(out / RECORD)


def versions() -> dict[str, str]:
    """Versions of the packages that decide what comes out."""
    found = {}
    for name in ("handbench", "torch", "transformers", "peft", "trl", "accelerate"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found
