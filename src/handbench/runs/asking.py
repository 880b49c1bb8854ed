"""Source → questions: the first stage of a run, in bounded memory and in any number of shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext, Source
from handbench.runs import controls, released
from handbench.runs.folder import RunFolder, versions
from handbench.runs.parts import find_task, load_source
from handbench.runs.sampling import expectation
from handbench.runs.sampling import sample as take_sample
from handbench.specs import Spec

HANDS_PER_CHUNK = 4_000
NO_DATA: Final = "none"
"""In place of a source, where the questions are text alone."""


@dataclass(frozen=True)
class Shard:
    """One of ``of`` equal parts of the hands, counted from 1."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``2/7``."""
        left, slash, right = text.partition("/")
        if not (slash and left.isdigit() and right.isdigit() and 1 <= int(left) <= int(right)):
            raise HandbenchError(f"--shard {text!r}: write i/N with i from 1 to N, as in 2/7")
        return cls(int(left), int(right))

    def take(self, frame: pl.DataFrame) -> pl.DataFrame:
        """This shard's rows: a run of consecutive ones, so that shards laid end to end are the whole."""
        start, end = (frame.height * step // self.of for step in (self.number - 1, self.number))
        return frame[start:end]


def asked(
    task_spec: str, options: Any, data: str, context: ReadContext, shard: Shard, sample: int | None = None
) -> dict[str, Any]:
    """The part of the record that decides which questions there are."""
    return {
        "task": task_spec,
        "options": options.manifest(),
        "data": data,
        "split": context.split or "",
        "protocol": context.protocol,
        "shard": f"{shard.number}/{shard.of}",
        **_mano(context),
        **({} if sample is None else {"sample": sample}),
    }


def _mano(context: ReadContext) -> dict[str, str]:
    """What the user's own MANO files hold, where they are given."""
    if context.mano is None:
        return {}
    from handbench.datasets.mano import fingerprint

    return {"mano": fingerprint(context.mano)}


def source_table(options: Any) -> str | None:
    """The source's table that a task's questions are made of: ``hands`` unless its options say otherwise.

    None stands for a task that needs no source: its questions are text alone.
    """
    kind = getattr(options, "source_table", "hands")
    return None if kind is None else str(kind)


def _text_alone() -> Source:
    """What questions without any image are made of."""
    return Source(
        "text", tables.empty("frames"), tables.empty("hands"), Path(), notes=["Text alone: no image is shown."]
    )


SOURCE_KEYS: Final = {"hands": "hand_id", "gestures": "gesture_id", "clips": "clip_id", "scenes": "scene_id"}
"""The tables that questions can be made of, and what identifies a row of each."""


def _rows(source: Source, kind: str) -> pl.DataFrame:
    """The table of that name, sorted by its id; empty where the source has none."""
    found: pl.DataFrame | None = getattr(source, kind)
    return tables.empty(kind) if found is None else found.sort(SOURCE_KEYS[kind])


def _images_of(rows: pl.DataFrame) -> pl.Series:
    """The images that rows of a source table are about, each once."""
    return (rows["images"].explode() if "images" in rows.columns else rows["image"]).drop_nulls().unique()


def once_each(frames: pl.DataFrame) -> pl.DataFrame:
    """The ``frames`` table as a run keeps it: by image, so that shards laid together are the whole."""
    return frames.unique("image", keep="first", maintain_order=True).sort("image")


def chunks(hands: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Hands in slabs of bounded size."""
    for start in range(0, hands.height, HANDS_PER_CHUNK):
        yield hands[start : start + HANDS_PER_CHUNK]


def ask(
    folder: RunFolder,
    task_name: str,
    data: str,
    context: ReadContext,
    shard: Shard | None = None,
    sample: int | None = None,
) -> dict[str, Any]:
    """Make the questions of a run, or find that they are made already.

    Args:
        folder: where the run lives.
        task_name: the task with its options, e.g. ``handvqa?seed=1``.
        data: the source, e.g. ``ge:PATH``; ``released:PATH`` takes over released question files.
        context: split, protocol and how to read.
        shard: which part of the hands, all by default.
        sample: take a stratified sample of so many questions.

    Returns:
        The run's record.

    Raises:
        HandbenchError: the folder holds the questions of another run, or the source is not as expected.
    """
    task, options = find_task(task_name, context.protocol)
    shard = shard or Shard()
    if sample is not None and shard.of > 1:
        raise HandbenchError("--sample takes from all questions: ask without --shard, or merge the shards first")
    wanted = asked(str(Spec.parse(task_name)), options, str(Spec.parse(data)), context, shard, sample)
    if folder.manifest_path.exists():
        manifest = folder.manifest()
        _same_or_refuse(folder, manifest["asked"], wanted)
        return manifest
    if Spec.parse(data).kind == released.KIND:
        return released.ask(folder, task, data, (shard.number, shard.of), wanted, context)
    kind = source_table(options)
    if kind is not None and data == NO_DATA:
        raise HandbenchError(f"{task_name}: say where the {kind} come from with --data; handbench list shows all")
    if kind is None and data != NO_DATA:
        raise HandbenchError(f"{task_name}: shows no image and needs no source; leave out --data {data}")
    if kind is None and shard.of > 1:
        raise HandbenchError(f"{task_name}: is made of no source that could be shared out; leave out --shard")
    source = load_source(data, context) if kind is not None else _text_alone()
    if kind is not None and _rows(source, kind).is_empty():
        raise HandbenchError(f"{data}: no {kind} to ask about{_why(source)}")
    return _write(folder, task, options, source, shard, wanted, context)


def _write(
    folder: RunFolder,
    task: Any,
    options: Any,
    source: Source,
    shard: Shard,
    wanted: dict[str, Any],
    context: ReadContext,
) -> dict[str, Any]:
    folder.root.mkdir(parents=True, exist_ok=True)
    kind = source_table(options)
    hands = shard.take(_rows(source, kind)) if kind else tables.empty("hands")
    frames = once_each(source.frames.filter(pl.col("image").is_in(_images_of(hands).implode())))
    skipped: Counter[str] = Counter()
    done = 0
    with tables.Writer(folder.table("questions"), "questions") as writer:
        for chunk in chunks(hands) if kind else [None]:
            questions, missing = task.ask(chunk, options)
            writer.add(questions)
            skipped.update(missing)
            done += 0 if chunk is None else chunk.height
            context.progress(done, hands.height, "asking")
    if not writer.rows and (hands.height or shard.of == 1):  # a small set may leave a shard without hands
        folder.table("questions").unlink()
        reasons = ", ".join(f"{reason}: {count}" for reason, count in sorted(skipped.items()))
        raise HandbenchError(f"{wanted['data']}: nothing can be asked of its {hands.height} hands ({reasons})")
    count, notes = writer.rows, list(source.notes)
    if "sample" in wanted and wanted["sample"] < count:
        hands, frames = _thin(folder, wanted["sample"], hands, frames)
        notes.append(
            f"A stratified sample of {wanted['sample']} from {count} questions: {expectation(wanted['sample'])}."
        )
        count = wanted["sample"]
    tables.write(frames, folder.table("frames"), "frames")
    tables.write(hands, folder.table(kind or "hands"), kind or "hands")
    varied = controls.add(folder, wanted["task"], task, options, kind)
    manifest = {
        "asked": wanted,
        "questions": {
            "count": count,
            "hands": hands.height,
            "images": frames.height,
            "hash": tables.content_hash(folder.table("questions"), "questions"),
        },
        "source": {
            "name": source.name,
            "root": str(source.root.resolve()),
            "synthetic": source.synthetic,
            "rendered": source.images is not None,
            "notes": notes,
            "skipped": source.skipped,
            **({"joint_error": source.joint_error} if source.joint_error else {}),
        },
        "not_asked": dict(sorted(skipped.items())),
        **({"controls": varied} if varied else {}),
        "versions": versions(),
    }
    folder.write_manifest(manifest)
    return manifest


def _thin(
    folder: RunFolder, sample: int, hands: pl.DataFrame, frames: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Keep a sample of the questions, and of the source what shares an image with them."""
    questions = take_sample(folder.read("questions"), sample)
    tables.write(questions, folder.table("questions"), "questions")
    shown = questions["images"].explode().drop_nulls().unique().implode()
    if "images" in hands.columns:
        hands = hands.filter(pl.col("images").list.eval(pl.element().is_in(shown)).list.any())
    elif hands.height:
        hands = hands.filter(pl.col("image").is_in(shown))
    return hands, frames.filter(pl.col("image").is_in(shown))


def _why(source: Source) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in source.skipped.items())
    return f" ({reasons})" if reasons else ""


def _same_or_refuse(folder: RunFolder, there: dict[str, Any], wanted: dict[str, Any]) -> None:
    differing = [key for key in {**wanted, **there} if there.get(key) != wanted.get(key)]
    if differing:
        first = differing[0]
        raise HandbenchError(
            f"{folder.root}: holds the questions of another run: {first} is {there.get(first)!r} there and "
            f"{wanted.get(first)!r} here; take another folder with -o"
        )


def ensure_images(folder: RunFolder, images: list[str], context: ReadContext | None = None) -> None:
    """Make sure that rendered images are on disk; real ones are where their dataset keeps them.

    Args:
        folder: the run.
        images: paths as in the ``image`` column.
        context: how to read and whom to tell about progress.
    """
    manifest = folder.manifest()
    _, options = find_task(str(manifest["asked"]["task"]), str(manifest["asked"]["protocol"]))
    kind = source_table(options)
    wanted = controls.originals(folder, images, kind)
    if manifest["source"]["rendered"]:
        _draw(folder, manifest, wanted, context)
    root = folder.images if manifest["source"]["rendered"] else Path(manifest["source"]["root"])
    controls.write_images(folder, images, root, kind)


def _draw(folder: RunFolder, manifest: dict[str, Any], images: list[str], context: ReadContext | None) -> None:
    if all((folder.images / image).exists() for image in images):
        return  # arranging a rendered source anew may take longer than looking
    context = context or ReadContext()
    source = load_source(
        manifest["asked"]["data"],
        ReadContext(
            split=manifest["asked"]["split"] or None,
            protocol=manifest["asked"]["protocol"],
            cache=folder.images,
            workers=context.workers,
        ),
    )
    wanted = source.frames.filter(pl.col("image").is_in(images))
    if source.images is not None:
        source.images(wanted, context.progress)
