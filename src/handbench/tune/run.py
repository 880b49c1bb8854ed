"""A table of questions and a base model → an adapter, with the record of what it was made of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl

from handbench.errors import HandbenchError
from handbench.models import _seen
from handbench.models._hf_load import DTYPES, Loaded, load
from handbench.protocols import Progress, no_progress
from handbench.specs import Spec
from handbench.tune import parity, together, training
from handbench.tune.batches import Batches
from handbench.tune.begin import begin, refuse_another_shape, seen
from handbench.tune.choosing import choose, shares
from handbench.tune.lessons import Lesson, lessons, read_mix
from handbench.tune.record import fingerprint, there, versions, write_record
from handbench.tune.settings import Settings

LOSSES: Final = "losses.parquet"


@dataclass(frozen=True)
class Base:
    """The model to be tuned.

    Attributes:
        spec: as it was named, e.g. ``tiny`` or ``hf:PATH``.
        path: the model's folder, or its name at the hub.
        dtype: number format of its weights.
        device: where it is loaded.
    """

    spec: str
    path: str
    dtype: str = "auto"
    device: str = "auto"

    @classmethod
    def named(cls, text: str) -> Base:
        """Find the folder of ``tiny`` or ``hf:PATH``.

        Raises:
            HandbenchError: it is no model that can be tuned here.
        """
        spec = Spec.parse(text)
        if spec.kind == "tiny" and not spec.options:
            from handbench.models.tiny import FOLDER

            return cls("tiny", str(FOLDER), "float32", "cpu")
        if spec.kind == "hf" and spec.name:
            strange = set(spec.options) - {"dtype", "device"}
            if not strange and spec.options.get("dtype", "auto") in DTYPES:
                return cls(text, spec.name, spec.options.get("dtype", "auto"), spec.options.get("device", "auto"))
        raise HandbenchError(f"--base {text}: tiny, or hf:FOLDER?dtype=bfloat16&device=cpu, can be tuned")


@dataclass(frozen=True)
class Mix:
    """An instruction-alignment set to be mixed in.

    Attributes:
        path: JSON lines; see :func:`handbench.tune.lessons.read_mix`.
        share: of all questions.
    """

    path: Path
    share: float

    @classmethod
    def parse(cls, text: str) -> Mix:
        """Read ``FILE:SHARE``, e.g. ``chat.jsonl:0.1``."""
        path, colon, share = text.rpartition(":")
        try:
            value = float(share)
        except ValueError:
            value = -1.0
        if not colon or not 0 < value < 1:
            raise HandbenchError(f"--mix {text!r}: write FILE:SHARE with a share between 0 and 1, as in chat.jsonl:0.1")
        return cls(Path(path), value)


def tune(
    questions: pl.DataFrame,
    images: Path,
    base: Base,
    settings: Settings,
    out: Path,
    *,
    start: Path | None = None,
    mix: Mix | None = None,
    about: dict[str, Any] | None = None,
    progress: Progress = no_progress,
    stop_at: int | None = None,
) -> dict[str, Any]:
    """Tune a base on questions; call it again to go on where it was broken off.

    Args:
        questions: rows of the ``questions`` table; those without a known answer are left out.
        images: the folder that their image paths are relative to.
        base: the model.
        settings: how.
        out: the adapter's folder.
        start: an adapter to go on from, instead of a new one.
        mix: an instruction-alignment set.
        about: what else belongs in the record: task, data, split.
        progress: told how far it is.
        stop_at: break off after so many steps, as if the machine had.

    Returns:
        The record, as ``tune.toml`` in the folder has it.

    Raises:
        HandbenchError: the folder holds another training, or something needed is missing.
    """
    settings = settings.checked()
    wanted = {"base": base.spec, "settings": settings.record(), "about": about or {}}
    if start:
        wanted["start"] = str(start.resolve())
        refuse_another_shape(start, settings)
    if mix:
        others = read_mix(mix.path)
        content = blake2b(mix.path.read_bytes(), digest_size=12).hexdigest()
        wanted["mix"] = {"path": str(mix.path), "share": mix.share, "content": content}
    chosen = choose(questions, settings)
    wanted["questions"] = fingerprint(chosen)
    if done := there(out, wanted):
        return done
    rows = lessons(chosen)
    mixed: list[str] = []
    if mix:
        rows = _mixed(rows, others, mix.share, settings.seed)
        mixed = [str(Path(image).resolve()) for lesson in others for ask in lesson.asks for image in ask.images]
    loaded = load(base.path, "", base.dtype, base.device)
    # A training pads on the right; answers are asked with padding on the left.
    model = begin(loaded, base.path, settings, start)
    packed, check = _packing(model, loaded, images, rows, settings)
    batches = Batches(loaded, images, packed)
    if not packed:
        rows = [single for lesson in rows for single in lesson.single()]
    if together.main_process():
        write_record(out, {**wanted, "state": "begun"})
    made = training.train(
        model, loaded.processor, rows, batches, settings, out / "checkpoints", progress, stop_at=stop_at
    )
    if stop_at is not None and made.steps > stop_at:
        return {**wanted, "state": "begun"}
    if not together.main_process():  # one of several that worked together; the first writes and checks the files
        return {**wanted, "state": "done"}
    before = parity.logprobs(made.model, Batches(loaded, images, packed=False), rows)
    made.model.save_pretrained(str(out))
    (out / "README.md").unlink(missing_ok=True)  # an empty form
    seen(chosen, mixed, start).write_parquet(out / _seen.FILE)
    _losses(made, out)
    files = _files_check(made.model, loaded, base, out, images, rows, before)
    record = {
        **wanted,
        "state": "done" if files.passed else "failed",
        "trained": _told(made, rows, chosen, check),
        "packing": {
            "on": packed,
            "checked": check.text,
            "tokens": batches.tokens,
            "plain_tokens": batches.plain_tokens,
        },
        "parity": {"merged": files.merged, "reloaded": files.reloaded, "passed": files.passed},
        "categories": shares(chosen).to_dicts(),
        "versions": versions(),
    }
    write_record(out, record)
    if not files.passed:
        raise HandbenchError(
            f"{out}: the adapter as saved does not give what the trained model gave (log-likelihoods differ by "
            f"{files.merged:.3g} merged, {files.reloaded:.3g} reloaded); do not use it"
        )
    return record


def _told(made: training.Trained, rows: Sequence[Lesson], chosen: pl.DataFrame, check: _Checked) -> dict[str, Any]:
    """What a training was, in numbers; its last loss is the mean of the last ten."""
    last = [row["loss"] for row in made.losses[-10:]]
    return {
        "questions": sum(map(len, rows)),
        "images": chosen["images"].list.join("\0").n_unique(),
        "steps": made.steps,
        "resumed_at": made.resumed,
        "processes": made.processes,
        "per_step": round(made.per_step, 1),
        "seconds": round(made.seconds, 1),
        "parameters": sum(p.numel() for p in made.model.parameters() if p.requires_grad) or check.parameters,
        "first_loss": made.losses[0]["loss"],
        "last_loss": sum(last) / len(last),
    }


def _losses(made: training.Trained, out: Path) -> None:
    pl.DataFrame(made.losses).write_parquet(out / LOSSES)


def _mixed(rows: list[Lesson], others: Sequence[Lesson], share: float, seed: int) -> list[Lesson]:
    """Add so many of the others that they are the share wanted of all questions, each as seldom as possible twice."""
    count = round(sum(map(len, rows)) * share / (1 - share))
    draw = random.Random(seed)
    whole, rest = divmod(count, len(others))
    return [*rows, *list(others) * whole, *draw.sample(list(others), rest)]


@dataclass(frozen=True)
class _Checked:
    text: str
    parameters: int


def _packing(
    model: Any, loaded: Loaded, images: Path, rows: Sequence[Lesson], settings: Settings
) -> tuple[bool, _Checked]:
    """Whether rows are packed, and what the check said."""
    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if settings.packing == "off":
        return False, _Checked("not asked for", parameters)
    found = parity.check_packing(model, Batches(loaded, images, True), Batches(loaded, images, False), rows)
    if found.passed:
        text = f"agrees with plain rows: loss within {found.loss:.1e}, gradients within {found.gradient:.1e}"
        return True, _Checked(text, parameters)
    text = f"plain rows: {found.reason} (loss {found.loss:.1e}, gradients {found.gradient:.1e})"
    if settings.packing == "on":
        raise HandbenchError(f"tune: packing=on, but packed rows do not agree with plain ones: {text}")
    return False, _Checked(text, parameters)


def _files_check(
    model: Any, loaded: Loaded, base: Base, out: Path, images: Path, rows: Sequence[Lesson], before: Any
) -> parity.FilesCheck:
    """Merge the adapter in memory, and load base and adapter from their files: three times the same answer."""
    dtype = str(loaded.model.dtype).removeprefix("torch.")
    merged = replace(loaded, model=model.merge_and_unload().eval())
    after = parity.logprobs(merged.model, Batches(merged, images, packed=False), rows)
    del merged, model
    again = load(base.path, str(out), base.dtype, base.device)
    anew = parity.logprobs(again.model, Batches(again, images, packed=False), rows)
    return parity.compare(before, after, anew, dtype)
