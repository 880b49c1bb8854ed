"""SV-CoT: direction, ray, candidates, verification, explicit rejection (EgoPoint-Ground, section 4.1.1).

The model supplies a direction, candidate boxes and a score for each; which candidates the ray meets and which one is
chosen at the threshold τ are computed here, exactly.  The paper prints no prompt; these are ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.protocols import Strategy, strategy
from handbench.replies.box import Box, BoxStatus, read_box
from handbench.replies.envelope import END_TOKEN, without_thinking
from handbench.replies.families import Family
from handbench.replies.folding import fold
from handbench.replies.frames import Placement, Size
from handbench.schemas import WORD
from handbench.specs import Options, Spec
from handbench.stats.boxes import ray_meets_boxes
from handbench.tasks.pointing.options import seen_by, speaks_of
from handbench.tasks.pointing.prompts import coordinates, form, said_box

NAME: Final = "sv-cot"
VERSION: Final = "1"
"""Of these prompts."""
TAU: Final = 0.5
"""Scores below this reject; the paper names no value."""
MOST_CANDIDATES: Final = 8

_KEY: Final = ["question_id", "variant"]
_NUMBER = r"[+-]?(?:\d{1,6}(?:\.\d{0,40})?|\.\d{1,40})"
_DIRECTION = re.compile(
    rf"[\"']?(?:direction|vector|v)[\"']?\s*[:=]\s*[\[(]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[\])]", re.IGNORECASE
)
_SCORE = re.compile(rf"[\"']?(?:score|confidence|consistency|psi)[\"']?\s*:\s*[\"']?({_NUMBER})", re.IGNORECASE)
_NAME_KEY = re.compile(r"[\"'](?:name|label|category|object)[\"']\s*:\s*[\"']([^\"'\n]{0,60})[\"']", re.IGNORECASE)
_SCORES = re.compile(r"[\"']?scores?[\"']?\s*[:=]\s*[\[{]([^\]}]*)[\]}]", re.IGNORECASE)
_BARE_LIST = re.compile(rf"\[\s*({_NUMBER}(?:\s*,\s*{_NUMBER})*)\s*\]")


@dataclass(frozen=True)
class Candidate:
    """Something that may be meant.

    Attributes:
        box: pixels of the original image.
        name: as the model calls it.
        score: its consistency with what was said, 0 to 1; None where the model gave none.
        met: whether the ray meets it.
    """

    box: Box
    name: str
    score: float | None
    met: bool


@dataclass(frozen=True)
class Chain:
    """Every step of one answer.

    Attributes:
        direction: unit vector in the image, x right and y down; None where it is not readable.
        origin: where the ray begins, the middle of the hand's box; pixels.
        candidates: as the model gave them, with the ray test.
        chosen: number of the candidate chosen, None where all are rejected or the chain is broken.
        confidence: the highest score among the candidates that the ray meets; 0 where it meets none.
        status: ``ok``, ``rejected``, or why the chain is broken.
        rule: which step decided.
    """

    direction: tuple[float, float] | None
    origin: tuple[float, float]
    candidates: tuple[Candidate, ...]
    chosen: int | None
    confidence: float
    status: BoxStatus
    rule: str

    @property
    def box(self) -> Box | None:
        """The box chosen."""
        return None if self.chosen is None else self.candidates[self.chosen].box


def center(box: Sequence[float] | NDArray[np.floating]) -> tuple[float, float]:
    """The middle of a box: where the paper's ray begins."""
    return (float(box[0]) + float(box[2])) / 2, (float(box[1]) + float(box[3])) / 2


def choose(
    direction: tuple[float, float] | None,
    origin: tuple[float, float],
    found: Sequence[tuple[Box, str, float | None]],
    tau: float,
) -> Chain:
    """The ray test and the choice at τ (equation 4): the best of the candidates that the ray meets, if good enough.

    Args:
        direction: of the ray; None where the model gave none.
        origin: of the ray, pixels.
        found: box, name and score of each candidate.
        tau: the lowest score that is not rejected.

    Returns:
        The chain.  Of equal scores the candidate nearest along the ray wins.
    """
    if direction is None:
        broken = tuple(Candidate(box, name, score, False) for box, name, score in found)
        return Chain(None, origin, broken, None, 0.0, BoxStatus.UNPARSED, "no-direction")
    ray = np.array([*origin, *direction])
    boxes = np.array([box for box, _, _ in found], dtype=np.float64).reshape(-1, 4)
    met, far = ray_meets_boxes(ray, boxes)
    candidates = tuple(
        Candidate(box, name, score, bool(hit)) for (box, name, score), hit in zip(found, met, strict=True)
    )
    scored = [number for number, one in enumerate(candidates) if one.met and one.score is not None]
    if not scored:
        if any(one.met for one in candidates):
            return Chain(direction, origin, candidates, None, 0.0, BoxStatus.UNPARSED, "no-score")
        return Chain(direction, origin, candidates, None, 0.0, BoxStatus.REJECTED, "empty-ray")
    best = max(scored, key=lambda number: (candidates[number].score or 0.0, -far[number]))
    confidence = float(candidates[best].score or 0.0)
    if confidence < tau:
        return Chain(direction, origin, candidates, None, confidence, BoxStatus.REJECTED, "below-tau")
    return Chain(direction, origin, candidates, best, confidence, BoxStatus.OK, "chosen")


def _clean(reply: str) -> str:
    return END_TOKEN.sub(" ", without_thinking(fold(reply))[0])


def read_direction(reply: str) -> tuple[float, float] | None:
    """The unit vector in a reply, the last one where it is corrected; None where there is none, or it is nought."""
    found = list(_DIRECTION.finditer(_clean(reply)))
    if not found:
        return None
    x, y = float(found[-1][1]), float(found[-1][2])
    length = float(np.hypot(x, y))
    return (x / length, y / length) if length > 1e-9 else None


def read_candidates(
    reply: str, speaks: Family, size: Size, sent: Size | Placement | None
) -> list[tuple[Box, str, float | None]]:
    """Box, name and score of every candidate in a reply, each read as any box is; at most :data:`MOST_CANDIDATES`.

    Entries whose box is not readable, lies outside the image or is of another frame are left out.
    """
    found: list[tuple[Box, str, float | None]] = []
    for entry in _entries(_clean(reply)):
        name, score = _NAME_KEY.search(entry), _SCORE.search(entry)
        bare = _NAME_KEY.sub(" ", _SCORE.sub(" ", entry))
        reading = read_box(bare, speaks.frame, size, sent, layout=speaks.layout)
        if reading.box is None:
            continue
        value = None if score is None else min(max(float(score[1]), 0.0), 1.0)
        found.append((reading.box, name[1] if name else "", value))
    return found[:MOST_CANDIDATES]


def _entries(text: str) -> list[str]:
    """The innermost objects of a text that speak of a box; where there is none, its lines."""
    objects = [found.group() for found in re.finditer(r"\{[^{}]*\}", text) if re.search(r"\d", found.group())]
    boxed = [one for one in objects if not _DIRECTION.fullmatch(one.strip("{} \n"))]
    if boxed:
        return boxed
    return [line for line in text.splitlines() if line.count(",") >= 3 or "<loc_" in line]


def read_scores(reply: str, count: int) -> list[float | None]:
    """Scores of ``count`` candidates, in their order, from ``{"scores": [0.1, 0.9]}``; None where one is lacking."""
    text = _clean(reply)
    listed = _SCORES.search(text) or _BARE_LIST.search(text)
    numbers = [float(value) for value in re.findall(rf"(?<![\w.]){_NUMBER}(?![\"']?\s*:)", listed[1])] if listed else []
    if len(numbers) != count:
        return [None] * count
    return [min(max(value, 0.0), 1.0) for value in numbers]


_GIVEN: Final = ("edg", "pog")
"""Sub-tasks that give the hand's box.  In the others no prompt tells it; the ray test still begins at its middle."""

_REFERENCE: Final = " What is said: {referent}."
_SCENE: Final = (
    "You are given an egocentric (first-person) image where a hand may point to an object. "
    "Coordinates are {coordinates}.{hand}{reference}"
)
_ASK_DIRECTION: Final = (
    "From the shape of the hand in its box, give the direction in which the index finger points as a unit vector in "
    "the image, x to the right and y down"
)
_ASK_CANDIDATES: Final = (
    "follow the ray from the middle of the hand box along this direction and list every object that it meets, at most "
    "8, each with its name and its box"
)
_ASK_SCORES: Final = (
    "give every object a score from 0 to 1 of how well it fits both the pointing and what is said; low scores for all "
    "if nothing fits"
)


def one_prompt(speaks: Family, size: Size, hand: NDArray[np.floating] | None, referent: str) -> str:
    """All steps in one structured reply."""
    box = form(speaks) if speaks.form != "json" else form(speaks).strip("{}")
    entry = box if speaks.form == "json" else f'"box": "{box}"' if "<" in box else f'"box": {box}'
    return (
        f"{_scene(speaks, size, hand, referent)} First, {_lower(_ASK_DIRECTION)}. Second, {_ASK_CANDIDATES}. "
        f"Third, {_ASK_SCORES}. Return ONLY one JSON object in this format: "
        f'{{"direction": [x, y], "candidates": [{{"name": "...", {entry}, "score": 0.0}}]}}.'
    )


def _scene(speaks: Family, size: Size, hand: NDArray[np.floating] | None, referent: str) -> str:
    reference = _REFERENCE.replace("{referent}", referent) if referent else ""
    return (
        _SCENE.replace("{coordinates}", coordinates(speaks, size))
        .replace("{hand}", "" if hand is None else f" Hand bbox: {said_box(speaks, hand, size)}.")
        .replace("{reference}", reference)
    )


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def first_prompt(speaks: Family, size: Size, hand: NDArray[np.floating] | None, referent: str) -> str:
    """Turn 1: the direction."""
    return (
        f"{_scene(speaks, size, hand, referent)} {_ASK_DIRECTION}. "
        'Return ONLY one JSON object in this format: {"direction": [x, y]}.'
    )


def second_prompt(
    speaks: Family, size: Size, hand: NDArray[np.floating] | None, referent: str, direction: tuple[float, float]
) -> str:
    """Turn 2: the candidates along the ray."""
    box = form(speaks) if speaks.form != "json" else form(speaks).strip("{}")
    entry = box if speaks.form == "json" else f'"box": "{box}"' if "<" in box else f'"box": {box}'
    told = f"[{direction[0]:.3f}, {direction[1]:.3f}]"
    asked = _ASK_CANDIDATES[0].upper() + _ASK_CANDIDATES[1:]
    return (
        f"{_scene(speaks, size, hand, referent)} The index finger points in the direction {told}. {asked}. "
        f'Return ONLY one JSON object in this format: {{"candidates": [{{"name": "...", {entry}}}]}}.'
    )


def third_prompt(
    speaks: Family, size: Size, hand: NDArray[np.floating] | None, referent: str, candidates: Sequence[Candidate]
) -> str:
    """Turn 3: a score for each candidate that the ray meets."""
    listed = "; ".join(
        f"{number}. {one.name or 'object'} at {said_box(speaks, np.array(one.box), size)}"
        for number, one in enumerate(candidates, 1)
    )
    asked = _ASK_SCORES[0].upper() + _ASK_SCORES[1:]
    return (
        f"{_scene(speaks, size, hand, referent)} The pointing ray meets these objects: {listed}. {asked}. "
        'Return ONLY one JSON object with as many scores, in this order: {"scores": [0.0, ...]}.'
    )


@dataclass(frozen=True)
class Told:
    """What a question's row tells the strategy."""

    speaks: Family
    size: Size
    hand: NDArray[np.float64]
    referent: str

    @classmethod
    def of(cls, row: dict[str, Any]) -> Told:
        """From a row of the ``questions`` table.

        Raises:
            HandbenchError: the question is of another task, or asks for no box.
        """
        if row["hand_box"] is None or row["image_size"] is None:
            raise HandbenchError(f"{NAME}: {row['question_id']}: asks only questions of the pointing task")
        size = int(row["image_size"][0]), int(row["image_size"][1])
        return cls(speaks_of(str(row["variant"])), size, np.array(row["hand_box"]), str(row["about_referent"] or ""))


@dataclass
class SpatialChain:
    """The strategy.

    Attributes:
        name: as in tables.
        turns: 1 for one structured reply, 3 for a turn per step.
        tau: the lowest score that is not rejected.
    """

    name: str
    turns: int
    tau: float

    def turn(self, number: int, questions: pl.DataFrame, replies: pl.DataFrame) -> pl.DataFrame:
        """The prompts of one turn; a question whose chain is broken or ends early has had its last turn."""
        if number >= self.turns:
            return questions.clear()
        said: dict[tuple[str, str], list[tuple[str, Size | None]]] = {}
        columns = ("question_id", pl.col("variant").cast(pl.String), "reply", "sent_sizes")
        for key, variant, reply, sizes in replies.select(columns).iter_rows():
            sent = (int(sizes[0][0]), int(sizes[0][1])) if sizes else None
            said.setdefault((key, variant), []).append((reply or "", sent))
        prompts = [
            self._prompt(number, Told.of(row), said.get((row["question_id"], str(row["variant"])), []), row)
            for row in questions.iter_rows(named=True)
        ]
        asked = questions.with_columns(pl.Series("prompt", prompts, dtype=pl.String))
        return asked.filter(pl.col("prompt").is_not_null()).with_columns(pl.col("prompt").cast(WORD))

    def prompts(self, row: dict[str, Any], said: list[tuple[str, Size | None]]) -> list[str]:
        """What was asked in each turn.

        Args:
            row: a row of the ``questions`` table.
            said: reply and size of the image as sent (None where it is not known) of every turn.
        """
        made = (self._prompt(number, Told.of(row), said, row) for number in range(len(said)))
        return [prompt for prompt in made if prompt is not None]

    def _prompt(self, number: int, told: Told, said: list[tuple[str, Size | None]], row: dict[str, Any]) -> str | None:
        if str(row["kind"]) != "box":
            raise HandbenchError(f"{NAME}: {row['question_id']}: asks for no box; ask the other sub-tasks with it")
        given = str(row["about_descriptor"]) in _GIVEN
        about = told.speaks, told.size, told.hand if given else None, told.referent
        if self.turns == 1:
            return one_prompt(*about)
        if number == 0:
            return first_prompt(*about)
        direction = read_direction(said[0][0])
        if direction is None:
            return None
        if number == 1:
            return second_prompt(*about, direction)
        reply, sent = said[1]
        found = read_candidates(reply, told.speaks, told.size, seen_by(told.speaks, told.size, sent))
        chain = choose(direction, center(told.hand), found, self.tau)
        met = [one for one in chain.candidates if one.met]
        return third_prompt(*about, met) if met else None


def read_chain(
    replies: Sequence[str], hand: Sequence[float], speaks: Family, size: Size, sent: Placement | None, tau: float
) -> Chain:
    """All steps of an answer from its replies, one per turn.

    Args:
        replies: of one turn, or of up to three.
        hand: (4,) the hand's box.
        speaks: the family.
        size: of the original image.
        sent: how it lies in what the model got.
        tau: the lowest score that is not rejected.
    """
    origin = center(hand)
    direction = read_direction(replies[0])
    if len(replies) == 1 and not re.search(r"candidates", replies[0], re.IGNORECASE):
        return choose(direction, origin, [], tau) if direction is None else _stopped(direction, origin)
    found = read_candidates(replies[0] if len(replies) == 1 else replies[1], speaks, size, sent)
    if len(replies) < 3:
        return choose(direction, origin, found, tau)
    met = [one for one in choose(direction, origin, found, tau).candidates if one.met]
    scores = iter(read_scores(replies[2], len(met)))
    scored = [
        (one.box, one.name, next(scores) if one.met else None)
        for one in choose(direction, origin, found, tau).candidates
    ]
    return choose(direction, origin, scored, tau)


def _stopped(direction: tuple[float, float], origin: tuple[float, float]) -> Chain:
    return Chain(direction, origin, (), None, 0.0, BoxStatus.UNPARSED, "no-candidates")


def told_by(model: str) -> SpatialChain | None:
    """The strategy that a model's name in tables tells of (``server:x + sv-cot?tau=0.4``); None for another."""
    _, plus, behind = model.rpartition(" + ")
    if not plus or not behind.startswith(NAME):
        return None
    return _made(Options(Spec.parse(behind)))


def _made(options: Options) -> SpatialChain:
    turns = options.integer("turns", 1)
    if turns not in (1, 3):
        raise HandbenchError(f"{options.spec}: turns must be 1 (one structured reply) or 3, not {turns}")
    tau = options.number("tau", TAU)
    if not 0 <= tau <= 1:
        raise HandbenchError(f"{options.spec}: tau must lie between 0 and 1, not {tau:g}")
    return SpatialChain(str(options.spec), turns, tau)


@strategy(NAME)
def make(spec: Spec, options: Options) -> Strategy:
    """``sv-cot?turns=1&tau=0.5``."""
    return _made(options)


def steps(chain: Chain) -> str:
    """A chain as JSON, for tables and reports."""
    return json.dumps(
        {
            "direction": chain.direction,
            "origin": chain.origin,
            "candidates": [
                {"box": [round(side, 2) for side in one.box], "name": one.name, "score": one.score, "met": one.met}
                for one in chain.candidates
            ],
            "chosen": chain.chosen,
            "confidence": chain.confidence,
            "rule": chain.rule,
        }
    )
