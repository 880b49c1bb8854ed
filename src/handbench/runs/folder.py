"""The run folder: where everything lies, and the record of what was asked (``run.toml``)."""

from __future__ import annotations

import platform
import re
import tomllib
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import tomli_w

from handbench import tables
from handbench.errors import HandbenchError


def slug(name: str) -> str:
    """A file name for a model or estimator: readable, with a fingerprint where characters had to go."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60]
    if plain == name:
        return plain
    return f"{plain}-{blake2b(name.encode(), digest_size=3).hexdigest()}"


@dataclass(frozen=True)
class RunFolder:
    """Paths inside a run folder; nothing is created until something is written."""

    root: Path

    @property
    def manifest_path(self) -> Path:
        """The record of the run."""
        return self.root / "run.toml"

    @property
    def images(self) -> Path:
        """Where rendered images are kept."""
        return self.root / "images"

    @property
    def report(self) -> Path:
        """The report."""
        return self.root / "report.html"

    def table(self, name: str) -> Path:
        """The file (or folder of parts) of a table."""
        return self.root / f"{name}.parquet"

    def log(self, model: str) -> Path:
        """The append-only answers of one model."""
        return self.root / "answers" / f"{slug(model)}.jsonl"

    def facts(self, model: str) -> Path:
        """What is known of one model besides its answers."""
        return self.root / "answers" / f"{slug(model)}.facts.jsonl"

    def poses(self, estimator: str) -> Path:
        """The poses of one estimator."""
        return self.root / "poses" / f"{slug(estimator)}.parquet"

    def read(self, name: str) -> pl.DataFrame:
        """Read one of the run's tables."""
        return tables.read(self.table(name), name)

    def manifest(self) -> dict[str, Any]:
        """The record of the run.

        Raises:
            HandbenchError: the folder holds no run.
        """
        try:
            return tomllib.loads(self.manifest_path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise HandbenchError(f"{self.root}: no run here (run.toml is missing); begin with handbench ask") from None
        except tomllib.TOMLDecodeError as error:
            raise HandbenchError(f"{self.manifest_path}: damaged: {error}") from None

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write the record, whole or not at all."""
        self.root.mkdir(parents=True, exist_ok=True)
        draft = self.manifest_path.with_name("run.toml.part")
        draft.write_text(tomli_w.dumps(manifest), encoding="utf-8")
        draft.replace(self.manifest_path)


def versions() -> dict[str, str]:
    """What made the run."""
    packages = ("handbench", "numpy", "polars", "scipy", "pillow")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
