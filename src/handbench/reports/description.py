"""What a question table holds, on a terminal, as Markdown or as records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from rich.console import Console

from handbench import tables
from handbench.controls.names import main
from handbench.errors import HandbenchError
from handbench.protocols import HasCeiling, HasPublishedCounts, ReadContext, Source, Task
from handbench.reports import captions
from handbench.reports.terminal_table import plain
from handbench.runs.answering import task_of
from handbench.runs.asking import chunks, source_table
from handbench.runs.ceilings import ASSUMED, keep_ceiling, parse_noise, published_or_assumed
from handbench.runs.folder import RunFolder
from handbench.runs.parts import find_task, load_source
from handbench.schemas import WORD

_SHARES: Final = ("share", "paper_share", "accuracy", "flipped", "undecided")
_TITLES: Final = {
    "table_6": "HandVQA, Table 6: labels of the paper's six sets together",
    "section_7_1": "HandVQA, section 7.1: images and questions of each set",
    "similarity": "Images beside captions: cosine similarity",
    "ceiling": "How sure the truth is: what stays right where every joint is off",
}
_HEADINGS: Final = {
    "paper_count": "paper",
    "paper_share": "paper %",
    "share": "%",
    "difference": "± points",
    "paper_images": "paper",
    "paper_questions": "paper",
    "per_image": "per image",
    "paper_per_image": "paper",
    "noise": "mm off",
    "noise_source": "source",
    "flipped": "flips %",
    "accuracy": "stays %",
    "interval": "95 %",
    "mae": "MAE",
    "undecided": "between %",
    "n": "questions",
}
_LEFT_OUT: Final = ("clusters", "repeats", "seed")


@dataclass(frozen=True)
class Described:
    """Questions, and what they are made of.

    Attributes:
        task: whose questions they are.
        options: the task's options.
        questions: the ``questions`` table.
        hands: the ``hands`` table; None where there is none.
        source: the part ``source`` of a run's record.
        folder: the run, None for questions that were made to be looked at alone.
    """

    task: Task
    options: Any
    questions: pl.DataFrame
    hands: pl.DataFrame | None
    source: dict[str, Any]
    folder: RunFolder | None = None


def look_up(target: str, task: str, context: ReadContext) -> Described:
    """Open a run, or make the questions of a source in memory.

    Args:
        target: a run's folder, or a source such as ``ge:PATH``.
        task: the task that a source's questions are of.
        context: how a source is read.

    Raises:
        HandbenchError: it is neither, or nothing can be asked.
    """
    folder = RunFolder(Path(target))
    if folder.manifest_path.exists() or ":" not in target:
        manifest = folder.manifest()
        found, options = task_of(manifest)
        hands = folder.read("hands") if folder.table("hands").exists() else None
        return Described(found, options, main(folder.read("questions")), hands, manifest["source"], folder)
    found, options = find_task(task, context.protocol)
    kind = source_table(options)
    source = load_source(target, context)
    rows = getattr(source, kind or "hands")
    asked = [found.ask(chunk, options)[0] for chunk in chunks(rows)] if rows is not None else []
    if not any(part.height for part in asked):
        raise HandbenchError(f"{target}: nothing can be asked of it")
    return Described(found, options, tables.concat(asked), source.hands, _record(source))


def _record(source: Source) -> dict[str, Any]:
    return {"name": source.name, "synthetic": source.synthetic, "joint_error": source.joint_error}


def describe(
    targets: Sequence[str],
    *,
    against: str | None = None,
    noise: str | None = None,
    encoder: str | None = None,
    task: str = "handvqa",
    context: ReadContext | None = None,
) -> dict[str, pl.DataFrame]:
    """What is in the questions of one run or source, or several together.

    Args:
        targets: folders of runs, or sources.
        against: ``paper``: counts beside those that the task's paper prints.
        noise: the ceiling at a mean 3D joint error such as ``3mm``, or ``published``; kept with a run.
        encoder: the folder of a CLIP-like model that compares a run's images with their captions; kept with the run.
        task: the task that the questions of a source are of.
        context: how a source is read.

    Returns:
        Tables by name: ``labels`` and ``terms``, or those asked for.

    Raises:
        HandbenchError: the runs are of several tasks, or the task cannot tell.
    """
    found = [look_up(target, task, context or ReadContext()) for target in targets]
    first = found[0].task
    if any(other.task.name != first.name for other in found):
        raise HandbenchError(f"describe: one task at a time; these are of {', '.join(o.task.name for o in found)}")
    questions = tables.concat(other.questions for other in found)
    if len(found) > 1 and questions["question_id"].n_unique() < sum(
        one.questions["question_id"].n_unique() for one in found
    ):
        raise HandbenchError(f"describe: {', '.join(targets)} share questions, which would count twice")
    result: dict[str, pl.DataFrame] = {}
    if against is not None:
        if against != "paper":
            raise HandbenchError(f"--against {against!r}: expected paper")
        if not isinstance(first, HasPublishedCounts):
            raise HandbenchError(f"--against paper: no counts are published for {first.name}")
        result |= first.against_paper(questions)
    if noise is not None:
        result["ceiling"] = tables.concat(_ceiling(other, noise) for other in found)
    if encoder is not None:
        result["similarity"] = pl.concat(_similarity(other, encoder, context or ReadContext()) for other in found)
    return result or first.describe(questions)


def _similarity(described: Described, encoder: str, context: ReadContext) -> pl.DataFrame:
    if described.folder is None:
        raise HandbenchError(
            "--encoder: needs a run's folder, where images and results are kept; handbench ask makes one"
        )
    return captions.similarity(captions.keep(described.folder, encoder, context))


def _ceiling(described: Described, noise: str) -> pl.DataFrame:
    name = described.source["name"]
    chosen = published_or_assumed(described.source) if noise == "published" else (parse_noise(noise), "given")
    if chosen is None or chosen[1] == "assumed":
        raise HandbenchError(
            f"--noise published: no error of its joints is published for {name}; give one such as "
            f"--noise {1000 * ASSUMED:g}mm"
        )
    task, hands, table = described.task, described.hands, None
    if described.folder is not None:
        table = keep_ceiling(described.folder, chosen, described.questions)
    elif hands is not None and isinstance(task, HasCeiling):
        table = task.ceiling(described.questions, hands, described.options, *chosen)
    if table is None:
        raise HandbenchError(f"--noise: {task.name} on {name} has no joints whose error could matter")
    first = ["descriptor", "noise", "noise_source"]
    flipped = (1 - pl.col("accuracy")).alias("flipped")
    return table.select(pl.lit(name).alias("dataset"), *first, flipped, pl.exclude("task", *first))


def show(found: dict[str, pl.DataFrame], console: Console | None = None) -> None:
    """Print tables; shares with a bar."""
    console = console or Console()
    for name, frame in found.items():
        title, columns, rows = _laid_out(name, frame)
        table = plain(title)
        for heading, right in columns:
            table.add_column(heading, justify="right" if right else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        console.print(table)


def markdown(found: dict[str, pl.DataFrame]) -> str:
    """Tables as Markdown, ready to be pasted."""
    blocks = []
    for name, frame in found.items():
        title, columns, rows = _laid_out(name, frame)
        lines = [
            f"**{title}**",
            "",
            "| " + " | ".join(heading for heading, _ in columns) + " |",
            "| " + " | ".join("---:" if right else "---" for _, right in columns) + " |",
            *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows),
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _laid_out(name: str, frame: pl.DataFrame) -> tuple[str, list[tuple[str, bool]], list[list[str]]]:
    """Title, headings (whether they stand on the right), and cells.

    A word that is the same in every row moves into the title.
    """
    words = [column for column in frame.columns if frame[column].dtype in (WORD, pl.String)]
    alone = [column for column in words if frame[column].n_unique() == 1 and frame.height > 1]
    title = ", ".join([_TITLES.get(name, name), *(str(frame[column][0]) for column in alone)])
    rest = frame.drop(alone).drop(_LEFT_OUT, strict=False)
    if name == "ceiling":
        ends = pl.format("{}–{}", *((100 * pl.col(end)).round(1) for end in ("low", "high"))).alias("interval")
        rest = rest.insert_column(rest.columns.index("mae"), rest.select(ends).to_series()).drop("low", "high")
    columns = [
        (
            _HEADINGS.get(column, column),
            column == "interval" or (rest[column].dtype.is_numeric() and not _bar(name, column)),
        )
        for column in rest.columns
    ]
    rows = [[_cell(name, column, value) for column, value in row.items()] for row in rest.iter_rows(named=True)]
    return title, columns, rows


def _bar(table: str, column: str) -> bool:
    return table == "labels" and column == "share"


def _cell(table: str, column: str, value: object) -> str:
    if value is None:
        return "–"
    if not isinstance(value, int | float):
        return str(value)
    if _bar(table, column):
        return f"{100 * value:5.1f} % " + "█" * round(10 * value)
    if column in _SHARES:
        return f"{100 * value:.1f}"
    if column == "difference":
        return f"{100 * value:+.1f}"
    if column == "noise":
        return f"{1000 * value:.3g}"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
