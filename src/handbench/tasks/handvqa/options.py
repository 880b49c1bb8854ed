"""The choices a person can make about HandVQA questions; each is recorded with the questions."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from handbench.errors import HandbenchError
from handbench.hand.descriptors import DESCRIPTORS, PAPER, Catalogue
from handbench.hand.geometry import Scale
from handbench.hand.skeleton import JOINT_INDEX, JOINTS
from handbench.specs import Options
from handbench.tasks.handvqa.text import ANSWER_STYLES
from handbench.tasks.handvqa.wording import PHRASES, WORDINGS


@dataclass(frozen=True)
class HandVQAOptions:
    """How the questions are made.

    Attributes:
        seed: of the sample and of the option order.
        per_descriptor: how many questions per descriptor and hand; None asks all 107.
        scale: which extent of the hand is made 1.
        answer: whether the whole lettered sentence is asked for (the paper's way) or the letter.
        catalogue: joints, pairs and thresholds.
        wording: ``anatomical`` (the paper's words) or ``plain``.
        paraphrase: which way of saying it, from 1; None draws one for each question by its id.
    """

    seed: int = 0
    per_descriptor: int | None = 5
    scale: Scale = Scale.PAPER
    answer: str = "sentence"
    catalogue: Catalogue = PAPER
    wording: str = WORDINGS[0]
    paraphrase: int | None = 1

    @classmethod
    def from_options(cls, options: Options, protocol: str = "paper") -> HandVQAOptions:
        """Read ``seed, per_descriptor, scale, answer, pairs, thresholds, wording, paraphrase``.

        The scale rule follows the protocol unless it is given.  ``wording=plain`` draws one of its paraphrases
        for each question unless ``paraphrase`` names one; ``wording=anatomical`` keeps to the paper's own
        sentences unless ``paraphrase`` names another or says ``any``.

        ``pairs`` is a JSON file ``[["thumb_tip", "index_tip"], ...]``; ``thresholds`` one such as
        ``{"angle": [105, 150, 170], "x": [-0.1, 0.1]}``.
        """
        count = options.text("per_descriptor", "5")
        if count != "all" and not (count.isdigit() and int(count) > 0):
            raise HandbenchError(f"{options.spec}: per_descriptor must be all or a number from 1, not {count!r}")
        catalogue = PAPER
        if pairs := options.text("pairs", ""):
            catalogue = replace(catalogue, pairs=_read_pairs(Path(pairs)))
        if thresholds := options.text("thresholds", ""):
            catalogue = _with_thresholds(catalogue, Path(thresholds))
        wording = options.choice("wording", WORDINGS[0], WORDINGS)
        phrases = ("any", *(str(number) for number in range(1, PHRASES + 1)))
        phrase = options.choice("paraphrase", "1" if wording == WORDINGS[0] else "any", phrases)
        return cls(
            wording=wording,
            paraphrase=None if phrase == "any" else int(phrase),
            seed=options.integer("seed", 0),
            per_descriptor=None if count == "all" else int(count),
            scale=Scale(options.choice("scale", protocol, tuple(Scale))),
            answer=options.choice("answer", "sentence", ANSWER_STYLES),
            catalogue=catalogue,
        )

    @property
    def phrases(self) -> tuple[int, ...]:
        """The paraphrases that a question may have."""
        return (self.paraphrase,) if self.paraphrase else tuple(range(1, PHRASES + 1))

    @property
    def catalogue_tag(self) -> str:
        """Empty for the paper's catalogue, else a short fingerprint of the one used."""
        if self.catalogue == PAPER:
            return ""
        text = json.dumps([self.catalogue.pairs, [descriptor.thresholds for descriptor in self.catalogue.descriptors]])
        return "custom-" + blake2b(text.encode(), digest_size=4).hexdigest()

    def manifest(self) -> dict[str, Any]:
        """What goes into the run's record."""
        return {
            "seed": self.seed,
            "per_descriptor": self.per_descriptor or "all",
            "scale": self.scale.value,
            "answer": self.answer,
            "catalogue": self.catalogue_tag or "paper",
            "wording": self.wording,
            "paraphrase": self.paraphrase or "any",
        }


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise HandbenchError(f"{path}: expected a JSON file: {error}") from None


def _read_pairs(path: Path) -> tuple[tuple[str, str], ...]:
    rows = _read_json(path)
    if not isinstance(rows, list) or not rows:
        raise HandbenchError(f'{path}: expected a list of joint pairs such as [["thumb_tip", "index_tip"]]')
    pairs = []
    for number, row in enumerate(rows):
        if not (isinstance(row, list) and len(row) == 2 and row[0] != row[1]):
            raise HandbenchError(f"{path}, row {number}: expected two different joints, found {row!r}")
        for joint in row:
            if joint not in JOINT_INDEX:
                raise HandbenchError(f"{path}, row {number}: no joint {joint!r}; joints are {', '.join(JOINTS)}")
        pairs.append((row[0], row[1]))
    if len(set(pairs)) < len(pairs):
        raise HandbenchError(f"{path}: a pair is given twice")
    return tuple(pairs)


def _with_thresholds(catalogue: Catalogue, path: Path) -> Catalogue:
    given = _read_json(path)
    known = {descriptor.name: descriptor for descriptor in DESCRIPTORS}
    if not isinstance(given, dict) or not set(given) <= set(known):
        raise HandbenchError(f"{path}: expected thresholds by descriptor ({', '.join(known)})")
    for name, limits in given.items():
        wanted = len(known[name].thresholds)
        numbers = isinstance(limits, list) and all(isinstance(limit, int | float) for limit in limits)
        if not numbers or len(limits) != wanted or sorted(set(limits)) != limits:
            raise HandbenchError(f"{path}: {name} needs {wanted} rising thresholds, found {limits!r}")
        known[name] = replace(known[name], thresholds=tuple(float(limit) for limit in limits))
    return replace(catalogue, descriptors=tuple(known.values()))
