"""``handbench compare``: tables in four formats, and one HTML file with the replies side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

import polars as pl

from handbench.controls.names import main
from handbench.hand.descriptors import DESCRIPTORS
from handbench.protocols import ReadContext
from handbench.reports import compared, comparison, findings, sheet
from handbench.reports.comparison import Difference, Group, Side
from handbench.reports.drawing import TITLES
from handbench.reports.environment import template
from handbench.reports.findings import Confusion
from handbench.reports.printed import Printed
from handbench.runs.answering import image_root
from handbench.runs.asking import ensure_images
from handbench.runs.strategies import last_turns

KEY: Final = ["question_id", "variant"]
PER_DESCRIPTOR: Final = 3
_BLIND: Final = ("chance", "prior", "oracle")


@dataclass(frozen=True)
class Pairing:
    """One model beside the base on one dataset: replies of which one is right and the other wrong.

    Attributes:
        dataset: whose questions.
        base: its name.
        model: the other's.
        parts: (descriptor's title, cards where the model alone is right, cards where the base alone is).
    """

    dataset: str
    base: str
    model: str
    parts: tuple[tuple[str, list[sheet.Card], list[sheet.Card]], ...]


@dataclass(frozen=True)
class Compared:
    """What came of a comparison.

    Attributes:
        differences: every paired difference.
        tables: as they are printed.
        out: the folder with the files.
        page: the HTML file.
    """

    differences: list[Difference]
    tables: list[Printed]
    out: Path
    page: Path


def compare(
    runs: Sequence[str | Path],
    out: Path,
    *,
    base: str | None = None,
    named: dict[str, str] | None = None,
    shared: bool = False,
    context: ReadContext | None = None,
) -> Compared:
    """Compare scored runs and write what comes of it.

    Args:
        runs: folders of runs; runs on one dataset must have the same questions and protocol.
        out: a folder for ``compare.html``, ``compare.md``, ``compare.tex`` and one CSV file per table.
        base: the model that others are held against; by default the first that is no baseline.
        named: model → what it was tuned on, where its adapter does not tell.
        shared: compare on the questions that all runs of a dataset have.
        context: for rendered images.

    Raises:
        HandbenchError: runs cannot be compared; what differs is listed.
    """
    sides = [comparison.open_side(run) for run in runs]
    found = comparison.groups(sides, shared=shared)
    differences = comparison.corrected([one for group in found for one in comparison.paired(group, base)])
    published = sides[0].task.published()
    tables = [
        compared.paired(differences),
        compared.scores(found, named or {}, published),
        *filter(None, (compared.vision_only(found, named or {}, published), compared.people(found, published))),
    ]
    out.mkdir(parents=True, exist_ok=True)
    (out / "compare.md").write_text("\n\n".join(table.markdown() for table in tables) + "\n", encoding="utf-8")
    (out / "compare.tex").write_text("\n\n".join(table.latex() for table in tables) + "\n", encoding="utf-8")
    for table in tables:
        (out / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
    page = out / "compare.html"
    text = template("compare.html.j2").render(
        version=version("handbench"),
        groups=found,
        tables=tables,
        sentences=sentences(differences),
        confusions=_confusions(found, base),
        pairings=[pairing for group in found for pairing in _pairings(group, base, context)],
    )
    page.write_text(text, encoding="utf-8")
    return Compared(differences, tables, out, page)


def sentences(differences: Sequence[Difference]) -> list[str]:
    """What stands after the correction, in words; one line per pair and dataset."""
    pairs = dict.fromkeys((one.dataset, one.model, one.base) for one in differences)
    lines = []
    for dataset, model, base in pairs:
        mine = [one for one in differences if (one.dataset, one.model, one.base) == (dataset, model, base)]
        parts = [one for one in mine if one.descriptor != comparison.EVERYTHING] or mine
        told = []
        for word, sign in (("better than", 1), ("worse than", -1)):
            names = [
                f"{TITLES.get(one.descriptor, one.descriptor).partition(' (')[0].lower()} "
                f"({100 * (one.cell.value or 0):+.1f} points)".replace("-", "−")
                for one in parts
                if one.sure and sign * (one.cell.value or 0) > 0
            ]
            if names:
                told.append(f"{word} {base} on {findings._and(names)}")
        level = [one for one in parts if not one.sure]
        if told and level:
            told.append(f"not surely different on {len(level)} of {len(parts)}")
        lines.append(
            f"{dataset}: {model} is {'; '.join(told)}."
            if told
            else f"{dataset}: no difference between {model} and {base} stands after the correction."
        )
    return lines


def _confusions(found: Sequence[Group], base: str | None) -> list[tuple[str, list[tuple[str, Confusion]]]]:
    """Per descriptor: the confusion of the base and of every seeing model, all datasets together (Figs. 8 to 13)."""
    labels = {descriptor.name: descriptor.asked_labels for descriptor in DESCRIPTORS}
    rows: dict[str, list[pl.DataFrame]] = {}
    for group in found:
        chosen = comparison.base_of(group.models, base)
        about = group.questions.select(
            "question_id", pl.col("variant", "about_descriptor").cast(pl.String), "truth_rank"
        )
        for model, side in sorted(group.models.items(), key=lambda pair: pair[0] != chosen):
            if side.kind_of(model) in _BLIND:
                continue
            bare = model if model in side.models else model.rpartition(" (")[0]
            mine = side.readings.filter(pl.col("model").cast(pl.String) == bare)
            columns = ["question_id", pl.col("variant").cast(pl.String), "chosen_rank"]
            joined = mine.select(columns).join(about, on=KEY, how="inner")
            rows.setdefault(model, []).append(joined.with_columns(pl.lit(model).alias("model")))
    made = {model: findings.confusions(pl.concat(parts), model, labels) for model, parts in rows.items()}
    titles = [title for title in TITLES.values() if any(title == one.title for all_ in made.values() for one in all_)]
    return [
        (title, [(model, one) for model, all_ in made.items() for one in all_ if one.title == title])
        for title in titles
    ]


def _pairings(group: Group, base: str | None, context: ReadContext | None) -> list[Pairing]:
    models = group.models
    chosen = comparison.base_of(models, base)
    found = []
    for model, side in models.items():
        if model != chosen and side.kind_of(model) not in _BLIND:
            parts = _parts(group, (chosen, models[chosen]), (model, side), context)
            found.append(Pairing(group.dataset, chosen, model, tuple(parts)))
    return found


def _said(pair: tuple[str, Side]) -> pl.DataFrame:
    """Answers and readings of one model, under the name that it has here."""
    name, side = pair
    bare = name if name in side.models else name.rpartition(" (")[0]
    mine = pl.col("model").cast(pl.String) == bare
    answers = main(last_turns(side.folder.read("answers"))).filter(mine & (pl.col("repeat") == 0))
    readings = side.readings.filter(mine & (pl.col("repeat") == 0))
    columns = [pl.col("variant").cast(pl.String), pl.lit(name).alias("model")]
    joined = answers.select("question_id", *columns, "repeat", "reply").join(
        readings.select("question_id", *columns, "repeat", "status", "correct"),
        on=[*KEY, "model", "repeat"],
        how="inner",
    )
    return joined


def _parts(
    group: Group, first: tuple[str, Side], second: tuple[str, Side], context: ReadContext | None
) -> list[tuple[str, list[sheet.Card], list[sheet.Card]]]:
    before, after = _said(first), _said(second)
    questions = group.questions.with_columns(pl.col("variant").cast(pl.String))
    both = before.join(after.select(*KEY, pl.col("correct").alias("after")), on=KEY, how="inner")
    won = both.filter(~pl.col("correct") & pl.col("after")).select(KEY)
    lost = both.filter(pl.col("correct") & ~pl.col("after")).select(KEY)
    chosen: list[tuple[str, pl.DataFrame, pl.DataFrame]] = []
    for name, title in TITLES.items():
        mine = questions.filter(pl.col("about_descriptor").cast(pl.String) == name)
        picked = [_spread(mine.join(keys, on=KEY, how="semi", maintain_order="left")) for keys in (won, lost)]
        if any(part.height for part in picked):
            chosen.append((title, picked[0], picked[1]))
    side = group.sides[0]
    shown = [part for _, *parts in chosen for part in parts]
    images = pl.concat([part.select(pl.col("images").list.first()) for part in shown])["images"] if shown else None
    if images is not None:
        ensure_images(side.folder, images.drop_nulls().unique().to_list(), context)
    hands = side.folder.read("hands")
    said = pl.concat([before, after])
    return [(title, _cards(side, one, said, hands), _cards(side, other, said, hands)) for title, one, other in chosen]


def _spread(rows: pl.DataFrame) -> pl.DataFrame:
    step = max(1, rows.height // PER_DESCRIPTOR)
    return rows.gather_every(step).head(PER_DESCRIPTOR)


def _cards(side: Side, rows: pl.DataFrame, said: pl.DataFrame, hands: pl.DataFrame) -> list[sheet.Card]:
    root = image_root(side.folder, side.manifest)
    key = ["question_id", "variant", "model", "repeat"]
    return [
        card
        for row in rows.iter_slices(1)
        for card in sheet.cards(
            root,
            row,
            said.join(row.select(KEY), on=KEY, how="semi").select(*key, "reply"),
            said.join(row.select(KEY), on=KEY, how="semi").select(*key, "status", "correct"),
            hands.join(row.select("hand_id"), on="hand_id", how="semi"),
        )
    ]
