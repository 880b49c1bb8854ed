"""A run that scores pose estimators: source → poses → cleanup → matches and scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from handbench import protocols, tables
from handbench.errors import HandbenchError
from handbench.protocols import PoseTable, PoseTask, ReadContext, Source
from handbench.runs.folder import RunFolder, slug, versions
from handbench.runs.parts import load_source, make_estimator
from handbench.runs.posing import estimate, imported
from handbench.runs.signals import hand_signals
from handbench.specs import Options, Spec

CLEANUPS: Final[dict[str, tuple[str, ...]]] = {
    "off": (),
    "spatial": ("spatial",),
    "temporal": ("temporal",),
    "both": ("both",),
    "majority": ("majority",),
    "ablation": ("spatial", "deduplicate", "phantoms", "gaps", "temporal", "both", "majority"),
}
"""What ``--cleanup`` scores besides the raw poses."""


def is_pose_task(text: str) -> bool:
    """Whether a task scores pose estimators instead of asking questions."""
    return isinstance(protocols.find("tasks", Spec.parse(text).kind), PoseTask)


def find_pose_task(text: str, protocol: str = "paper") -> tuple[PoseTask, Any]:
    """A task and its options by name, e.g. ``handpose?iou=0.3``."""
    spec = Spec.parse(text)
    task = cast(PoseTask, protocols.find("tasks", spec.kind))
    options = Options(spec)
    chosen = task.options.from_options(options, protocol)
    options.done()
    return task, chosen


def check_estimators(task: str, names: Sequence[str]) -> None:
    """Look whether estimators can be had before any work is done for them.

    Raises:
        HandbenchError: none is named, or one does not exist or cannot run here.
    """
    if not names:
        raise HandbenchError(f"{task} scores pose estimators: name one with --estimator, e.g. --estimator blaze-full")
    for name in names:
        make_estimator(name)


def prepare(
    folder: RunFolder, task_text: str, data: str, context: ReadContext, truth: str | None = None
) -> dict[str, Any]:
    """Read the source into the run's folder, draw what is rendered, and tell the strata; or find that it is done.

    Args:
        folder: where the run lives.
        task_text: the task with its options.
        data: the source, e.g. ``synth:clips``.
        context: split, workers, cache.
        truth: a file of annotations for the source's images, where the source has none of its own.

    Returns:
        The run's record.
    """
    task, options = find_pose_task(task_text, context.protocol)
    asked = {
        "task": str(Spec.parse(task_text)),
        "options": options.manifest(),
        "data": str(Spec.parse(data)),
        "split": context.split or "",
        "protocol": context.protocol,
        "truth": truth or "",
    }
    if folder.manifest_path.exists():
        there = folder.manifest()["asked"]
        differing = [key for key in asked if there.get(key) != asked[key]]
        if differing:
            key = differing[0]
            raise HandbenchError(
                f"{folder.root}: holds another run: {key} is {there.get(key)!r} there and {asked[key]!r} here; "
                "take another folder with -o"
            )
        return folder.manifest()
    source = load_source(data, context)
    if truth is not None:
        source = with_truth(source, truth, context)
    if source.hands.is_empty():
        raise HandbenchError(f"{data}: no true hand to score against; give annotations with --truth FILE")
    if source.images is not None:
        source.images(source.frames, context.progress)
    root = folder.images if source.images is not None else source.root
    signals = hand_signals(source.frames, source.hands, root, context.progress)
    hands = task.strata(source.frames, source.hands, options, signals.table)
    folder.root.mkdir(parents=True, exist_ok=True)
    tables.write(source.frames, folder.table("frames"), "frames")
    tables.write(hands, folder.table("hands"), "hands")
    signals.table.write_parquet(folder.table("signals"))
    videos = source.frames["video"].drop_nulls().n_unique()
    manifest = {
        "kind": "poses",
        "asked": asked,
        "set": {
            "frames": source.frames.height,
            "annotated": int(source.frames["annotated"].sum()),
            "hands": hands.height,
            "left": int((hands["side"].cast(pl.String) == "left").sum()),
            "right": int((hands["side"].cast(pl.String) == "right").sum()),
            "videos": videos,
            "hash": tables.content_hash(folder.table("hands"), "hands"),
        },
        "source": {
            "name": source.name,
            "root": str(root.resolve()),
            "synthetic": source.synthetic,
            "rendered": source.images is not None,
            "notes": [*source.notes, *signals.notes],
            "skipped": source.skipped,
        },
        "versions": versions(),
    }
    folder.write_manifest(manifest)
    return manifest


def with_truth(source: Source, truth: str, context: ReadContext) -> Source:
    """A source's frames with the hands of a file of annotations."""
    text = truth if ":" in truth.partition("?")[0] else f"annotations:{truth}"
    spec = Spec.parse(text)
    if spec.kind == "annotations" and "images" not in spec.options:
        text = str(Spec(spec.kind, spec.name, {**spec.options, "images": str(source.root)}))
    given = load_source(text, context)
    known = set(source.frames["image"])
    told = given.frames.filter(pl.col("image").is_in(list(known)))
    missing = given.frames.height - told.height
    skipped = {**source.skipped, **given.skipped}
    if missing:
        skipped["annotated frame that the data does not have"] = missing
    if told.is_empty():
        raise HandbenchError(f"{truth}: none of its {given.frames.height} images is among those of the data")
    rest = source.frames.join(told, on="image", how="anti").with_columns(annotated=pl.lit(False))
    shared = [name for name in source.frames.columns if name != "annotated"]
    both = source.frames.select(shared).join(told.select("image", "annotated"), on="image", how="inner")
    frames = tables.conform(pl.concat([both, rest], how="diagonal_relaxed"), "frames")
    return Source(
        name=source.name,
        frames=frames.sort("image"),
        hands=given.hands.filter(pl.col("image").is_in(list(known))),
        root=source.root,
        synthetic=source.synthetic,
        skipped=skipped,
        notes=[*source.notes, *given.notes, f"Truth from {truth}: {told.height} of {source.frames.height} frames."],
        images=source.images,
    )


def by_video(frames: pl.DataFrame) -> list[list[str]]:
    """Images video by video, in the order of time; none where frames do not tell their video."""
    known = frames.filter(pl.col("video").is_not_null() & pl.col("frame").is_not_null())
    ordered = known.with_columns(pl.col("video").cast(pl.String)).sort("video", "frame")
    return [part["image"].to_list() for part in ordered.partition_by("video", maintain_order=True)]


def pose_all(folder: RunFolder, estimators: Sequence[str], context: ReadContext) -> None:
    """Poses by each estimator that the run does not have yet; what is broken off is taken up."""
    for text in estimators:
        name = str(Spec.parse(text))
        made = make_estimator(name)
        manifest = folder.manifest()
        known = dict(manifest.get("estimators", {}))
        for other, told in known.items():
            if told["name"] == made.name and other != name:
                raise HandbenchError(f"{name}: {other} has the name {made.name!r} already; give another with name=")
        frames = folder.read("frames")
        facts: dict[str, Any] = {"name": made.name}
        if isinstance(made, PoseTable):
            poses, skipped = imported(name, frames, folder.poses(made.name))
            facts["skipped"] = skipped
        else:
            ready = _videos_first(frames)
            poses = estimate(
                name,
                Path(manifest["source"]["root"]),
                ready,
                folder.poses(made.name),
                workers=context.workers,
                progress=context.progress,
                videos=by_video(frames),
            )
            spent = poses.group_by("image").agg(pl.col("seconds").first())["seconds"].drop_nulls()
            if spent.len():
                facts["median_milliseconds"] = round(1000 * float(cast(float, spent.median())), 2)
                facts["frames_per_second"] = round(spent.len() / max(float(spent.sum()), 1e-9), 2)
        facts["frames_with_a_hand"] = poses.filter(pl.col("hand") >= 0)["image"].n_unique()
        known[name] = facts
        folder.write_manifest({**folder.manifest(), "estimators": known})


def _videos_first(frames: pl.DataFrame) -> list[str]:
    return [*(image for video in by_video(frames) for image in video), *frames.filter(
        pl.col("video").is_null() | pl.col("frame").is_null())["image"].to_list()]  # fmt: skip


def cleaned(folder: RunFolder, estimator: str, stage: str) -> Path:
    """The file of one estimator's poses after a stage of cleanup."""
    return folder.root / "poses" / f"{slug(estimator)}.{stage}.parquet"


def score(folder: RunFolder, cleanup: str | None = None) -> pl.DataFrame:
    """Clean, match and score the poses of every estimator of a run.

    Writes ``matches.parquet`` and ``scores.parquet``, and the cleaned poses beside the raw ones.

    Args:
        folder: a prepared run with poses.
        cleanup: a key of :data:`CLEANUPS`; what the run was made with before, unless given.

    Returns:
        The ``scores`` table.
    """
    manifest = folder.manifest()
    chosen = cleanup or str(manifest.get("cleanup", "off"))
    if chosen not in CLEANUPS:
        raise HandbenchError(f"--cleanup {chosen!r}: choose one of {', '.join(CLEANUPS)}")
    if not manifest.get("estimators"):
        raise HandbenchError(f"{folder.root}: no estimator has looked at it yet; name one with --estimator")
    task, options = find_pose_task(manifest["asked"]["task"], manifest["asked"]["protocol"])
    frames, hands = folder.read("frames"), folder.read("hands")
    poses, done = [], {}
    for told in manifest["estimators"].values():
        raw = tables.read(folder.poses(told["name"]), "poses")
        raw = tables.conform(raw.with_columns(estimator=pl.lit(told["name"])), "poses")
        poses.append(raw)
        for stage in CLEANUPS[chosen]:
            table, counts = task.clean(frames, raw, stage)
            tables.write(table, cleaned(folder, told["name"], stage), "poses")
            poses.append(table)
            done[f"{told['name']} ({stage})"] = counts
    matches, scores, skipped = task.judge(frames, hands, poses, options)
    tables.write(matches, folder.table("matches"), "matches")
    tables.write(scores, folder.table("scores"), "scores")
    folder.write_manifest({**manifest, "cleanup": chosen, "cleaned": done, "left_out": skipped})
    return tables.conform(scores, "scores")
