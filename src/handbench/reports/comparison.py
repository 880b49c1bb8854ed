"""Several runs side by side: which may be compared, paired differences, and tables across datasets."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from handbench.controls.names import main
from handbench.errors import HandbenchError
from handbench.models.tiny import adapter_folder
from handbench.protocols import Task
from handbench.reports.board import Cell
from handbench.reports.drawing import TITLES
from handbench.reports.findings import kind
from handbench.runs.answering import task_of
from handbench.runs.folder import RunFolder
from handbench.runs.parts import model_name
from handbench.specs import Spec
from handbench.stats.paired import holm, mcnemar_exact, minimum_detectable, sign_flip
from handbench.stats.ratios import ratios, sums_by_cluster

KEY: Final = ["question_id", "variant"]
EVERYTHING: Final = "all"
_SHOWN: Final = 5


@dataclass(frozen=True)
class Side:
    """One scored run.

    Attributes:
        folder: where it lies.
        manifest: its record.
        task: its task.
        questions: main questions.
        readings: main readings.
        scores: its ``scores``.
    """

    folder: RunFolder
    manifest: dict[str, Any]
    task: Task
    questions: pl.DataFrame
    readings: pl.DataFrame
    scores: pl.DataFrame

    @property
    def dataset(self) -> str:
        """What was asked about: dataset and split."""
        asked = self.manifest["asked"]
        split = f" {asked['split']}" if asked["split"] else ""
        return f"{self.manifest['source']['name']}{split}"

    @property
    def models(self) -> list[str]:
        """Who is scored, in the order of the run."""
        return [str(model) for model in self.scores["model"].cast(pl.String).unique(maintain_order=True)]

    def kind_of(self, model: str) -> str:
        """``pose``, ``hf``, ``people`` and so on, whatever the model is called in tables."""
        return kind(self.spec_of(model if model in self.models else model.rpartition(" (")[0]))

    def spec_of(self, model: str) -> str:
        """The full name of a model."""
        specs = {model_name(spec): str(spec) for spec in self.manifest.get("models", [])}
        return specs.get(model, model)


def open_side(path: str | Path) -> Side:
    """Open a scored run.

    Raises:
        HandbenchError: there is no run, or it is not scored.
    """
    folder = RunFolder(Path(path))
    manifest = folder.manifest()
    if not folder.table("scores").exists():
        raise HandbenchError(f"{folder.root}: is not scored yet; go on with handbench score {folder.root}")
    task, _ = task_of(manifest)
    questions = main(folder.read("questions"))
    if questions["options"].null_count() == questions.height:
        raise HandbenchError(
            f"{folder.root}: {task.name} has no options to choose from; compare is for choice questions"
        )
    return Side(folder, manifest, task, questions, main(folder.read("readings")), folder.read("scores"))


@dataclass(frozen=True)
class Group:
    """Runs that ask the same questions of the same data."""

    dataset: str
    sides: list[Side]
    dropped: int = 0

    @property
    def questions(self) -> pl.DataFrame:
        """The questions that all have."""
        return self.sides[0].questions

    @property
    def protocol(self) -> str:
        """What decides the questions besides the data."""
        return protocol_of(self.questions)

    @property
    def models(self) -> dict[str, Side]:
        """Every model and the run that asked it; a name that two runs have is told apart by its run."""
        counts: dict[str, int] = {}
        for side in self.sides:
            for model in side.models:
                counts[model] = counts.get(model, 0) + 1
        named = {}
        for side in self.sides:
            for model in side.models:
                twice = counts[model] > 1
                if twice and kind(model) in ("chance", "prior", "oracle") and model in named:
                    continue
                blind = kind(model) in ("chance", "prior", "oracle")
                named[f"{model} ({side.folder.root.name})" if twice and not blind else model] = side
        return named


def protocol_of(questions: pl.DataFrame) -> str:
    """The variants of a question table without the order of their options."""
    variants = questions["variant"].unique().cast(pl.String).str.replace(r";?order=\d+", "").unique().sort()
    return " + ".join(variants)


def groups(sides: Sequence[Side], *, shared: bool = False) -> list[Group]:
    """Sort runs by what they ask about, and refuse those that cannot be compared.

    Args:
        sides: the runs.
        shared: compare on the questions that all runs of a dataset have, instead of refusing.

    Raises:
        HandbenchError: two runs on one dataset differ in questions or protocol; every difference is listed.
    """
    by_dataset: dict[tuple[str, str], list[Side]] = {}
    for side in sides:
        by_dataset.setdefault((side.task.name, side.dataset), []).append(side)
    found = []
    for (_, dataset), mine in by_dataset.items():
        differing = [line for other in mine[1:] for line in differences(mine[0], other)]
        if differing and not shared:
            raise HandbenchError(
                f"these runs on {dataset} cannot be compared: " + "; ".join(differing)
                + ". With --shared they are compared on the questions that all have."
            )  # fmt: skip
        found.append(_shared(dataset, mine) if differing else Group(dataset, mine))
    return found


def _shared(dataset: str, sides: list[Side]) -> Group:
    same = [*KEY, "prompt", "truth_category"]
    text = pl.col("variant", "prompt", "truth_category").cast(pl.String)
    common = sides[0].questions.select("question_id", text)
    for side in sides[1:]:
        common = common.join(side.questions.select("question_id", text), on=same, how="semi")
    if common.is_empty():
        raise HandbenchError(f"these runs on {dataset} have no question in common: nothing can be compared")
    keys = common.select(KEY)
    kept = []
    for side in sides:
        readings, questions = (
            frame.with_columns(pl.col("variant").cast(pl.String))
            .join(keys, on=KEY, how="semi", maintain_order="left")
            .with_columns(pl.col("variant").cast(pl.Categorical))
            for frame in (side.readings, side.questions)
        )
        scores = side.task.score(questions, readings)
        kept.append(Side(side.folder, side.manifest, side.task, questions, readings, scores))
    dropped = max(side.questions.height for side in sides) - common.height
    return Group(dataset, kept, dropped)


def differences(first: Side, second: Side) -> list[str]:
    """What keeps two runs from being compared, one line each; none where nothing does."""
    a, b = first.folder.root, second.folder.root
    lines = []
    asked = (first.manifest["asked"], second.manifest["asked"])
    flat = [{**record, **{f"options.{key}": value for key, value in record["options"].items()}} for record in asked]
    for key in dict.fromkeys((*flat[0], *flat[1])):
        one, other = flat[0].get(key), flat[1].get(key)
        if key not in ("options", "task", "data", "controls") and one != other:
            lines.append(f"{key} is {one!r} in {a} and {other!r} in {b}")
    if (protocols := (protocol_of(first.questions), protocol_of(second.questions)))[0] != protocols[1]:
        lines.append(f"the protocol is {protocols[0]} in {a} and {protocols[1]} in {b}")
    mine, theirs = (
        side.questions.select("question_id", pl.col("variant", "prompt", "truth_category").cast(pl.String))
        for side in (first, second)
    )
    for one, other, name in ((mine, theirs, a), (theirs, mine, b)):
        alone = one.join(other, on=KEY, how="anti")
        if alone.height:
            lines.append(f"{alone.height} questions are only in {name}, the first {alone['question_id'][0]}")
    both = mine.join(theirs, on=KEY, suffix="_other")
    for column, words in (("prompt", "ask in other words"), ("truth_category", "have another truth")):
        if differ := int((both[column] != both[f"{column}_other"]).sum()):
            lines.append(f"{differ} questions {words}")
    return lines


@dataclass(frozen=True)
class Difference:
    """A paired difference of accuracy.

    Attributes:
        dataset: whose questions.
        model: who is compared.
        base: with whom.
        descriptor: of which questions, ``all`` for all of them.
        cell: the difference, with its interval.
        first: accuracy of the model.
        second: accuracy of the base.
        p_value: of the sign-flip test by clusters.
        corrected: the same after Holm's correction over the whole table.
        mcnemar: exact McNemar p-value where every cluster has one question, else None.
        detectable: the smallest true difference that would be found four times in five.
        n: questions.
        clusters: clusters.
        won: questions that the model alone has right.
        lost: questions that the base alone has right.
    """

    dataset: str
    model: str
    base: str
    descriptor: str
    cell: Cell
    first: float
    second: float
    p_value: float
    mcnemar: float | None
    detectable: float | None
    n: int
    clusters: int
    won: int
    lost: int
    corrected: float = field(default=float("nan"))

    @property
    def sure(self) -> bool:
        """Whether the difference stands after the correction."""
        return self.corrected <= 0.05


def paired(group: Group, base: str | None = None) -> list[Difference]:
    """Differences of every model of a group to one of them.

    Args:
        group: runs on the same questions.
        base: whom to compare with; by default the first that is no baseline.

    Raises:
        HandbenchError: there is no such model.
    """
    models = group.models
    chosen = base_of(models, base)
    plain = _right(models[chosen], chosen, group)
    return [
        one
        for model, side in models.items()
        if model != chosen and kind(model) != "oracle"
        for one in _pairs(group.dataset, model, chosen, _right(side, model, group), plain)
    ]


def base_of(models: dict[str, Side], base: str | None) -> str:
    """The model that others are compared with."""
    if base is None:
        return next((model for model in models if kind(model) not in ("chance", "prior", "oracle")), next(iter(models)))
    found = [model for model in models if model == base or model.startswith(f"{base} (")]
    if not found:
        raise HandbenchError(f"--base {base!r}: no model here is called so; there are {', '.join(models)}")
    return found[0]


def _right(side: Side, model: str, group: Group) -> pl.DataFrame:
    """Share of right answers to each question (a share where several people or repeats answered)."""
    name = model if model in side.models else model.rpartition(" (")[0]
    mine = side.readings.filter(pl.col("model").cast(pl.String) == name)
    right = mine.group_by(pl.col("question_id"), pl.col("variant").cast(pl.String)).agg(pl.col("correct").mean())
    about = group.questions.select(
        "question_id", pl.col("variant").cast(pl.String), "cluster", pl.col("about_descriptor").cast(pl.String)
    )
    return about.join(right, on=KEY, how="inner", maintain_order="left")


def _pairs(dataset: str, model: str, base: str, mine: pl.DataFrame, theirs: pl.DataFrame) -> list[Difference]:
    both = mine.join(theirs.select(*KEY, pl.col("correct").alias("other")), on=KEY, how="inner", maintain_order="left")
    if both.is_empty():
        return []
    descriptor = both["about_descriptor"].fill_null(EVERYTHING)
    names = [EVERYTHING, *(name for name in TITLES if name in set(descriptor))]
    member = np.stack(
        [np.ones(both.height, bool) if name == EVERYTHING else (descriptor == name).to_numpy() for name in names],
        axis=1,
    )
    gap = (both["correct"] - both["other"]).to_numpy()[:, None] * member
    cluster = both["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    events, items = sums_by_cluster(cluster, gap), sums_by_cluster(cluster, member.astype(np.float64))
    found, p_values, limits = ratios(events, items), sign_flip(events), minimum_detectable(events, items)
    won, lost = (gap > 0).sum(0), (gap < 0).sum(0)
    exact = mcnemar_exact(won, lost)
    alone = (items.max(0) <= 1) & (len(items) == int(cluster.max()) + 1)
    first, second = (
        (both[column].to_numpy()[:, None] * member).sum(0) / member.sum(0) for column in ("correct", "other")
    )
    return [
        Difference(
            dataset, model, base, name,
            Cell(*_known(found.value[place], found.low[place], found.high[place])),
            float(first[place]), float(second[place]), float(p_values[place]),
            float(exact[place]) if alone[place] else None,
            None if np.isnan(limits[place]) else float(limits[place]),
            int(member[:, place].sum()), int(found.clusters[place]), int(won[place]), int(lost[place]),
        )
        for place, name in enumerate(names)
    ]  # fmt: skip


def _known(value: float, low: float, high: float) -> tuple[float | None, float | None, float | None]:
    numbers = [None if np.isnan(number) else float(number) for number in (value, low, high)]
    return numbers[0], numbers[1], numbers[2]


def corrected(found: Sequence[Difference]) -> list[Difference]:
    """The same with Holm's correction over all of them; ``all`` is no test besides its parts and stays out."""
    parts = [one.descriptor != EVERYTHING for one in found]
    if not any(parts):
        parts = [True] * len(found)
    p_values = holm(np.array([one.p_value if part else np.nan for one, part in zip(found, parts, strict=True)]))
    whole = holm(np.array([np.nan if part else one.p_value for one, part in zip(found, parts, strict=True)]))
    return [
        Difference(**{**vars(one), "corrected": float(p_values[place] if parts[place] else whole[place])})
        for place, one in enumerate(found)
    ]


def tuned_on(side: Side, model: str, named: dict[str, str]) -> str | None:
    """What a model was tuned on: as named by the user, else as its adapter's record tells; None for a base.

    Args:
        side: the run that asked it.
        model: its name.
        named: model → dataset.
    """
    bare = model if model in side.models else model.rpartition(" (")[0]
    if bare in named or model in named:
        return named.get(bare, named.get(model))
    spec = Spec.parse(side.spec_of(bare).partition(" + ")[0])
    adapter = spec.options.get("adapter")
    if not adapter:
        return None
    record = Path(adapter_folder(adapter) if spec.kind == "tiny" else adapter) / "tune.toml"
    try:
        told = tomllib.loads(record.read_text(encoding="utf-8"))
        parts = told.get("about", {}).get("lessons") or []
        return " and ".join(str(part["data"]) for part in parts) or f"adapter {Path(adapter).name}"
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError):
        return f"adapter {Path(adapter).name}"
