"""Hands → questions, in arrays: no Python loop over hands or questions (HandVQA, sections 3.3 and 6.3)."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import draws
from handbench.hand.descriptors import UNDEFINED, Catalogue, categorise, describe, margins
from handbench.hand.geometry import Floats
from handbench.tables import WORD
from handbench.tasks.handvqa import text, wording
from handbench.tasks.handvqa.options import HandVQAOptions

SIDES: Final = ("left", "right", "unknown")
EXTENTS: Final = ("mesh", "joints")


def item_name(descriptor: str, joint_a: str, joint_b: str | None) -> str:
    """The tail of a question id: ``angle/index_pip`` or ``x/thumb_tip-index_tip``."""
    return f"{descriptor}/{joint_a}" + (f"-{joint_b}" if joint_b else "")


class Templates:
    """Every text that can be asked: one row per (paraphrase, extent, side, item, option order).

    A question is a row number here plus a hand, which is what makes a million of them a second possible.
    """

    def __init__(self, options: HandVQAOptions) -> None:
        catalogue = options.catalogue
        orders = [np.array(list(permutations(range(len(d.asked_labels))))) for d in catalogue.descriptors]
        self.orders = orders
        self.order_count = np.array([len(orders[index]) for index, _, _ in catalogue.items], np.int64)
        self.start = np.concatenate([[0], np.cumsum(self.order_count)[:-1]])
        self.per_block = int(self.order_count.sum())
        self.item_keys = draws.name_keys(
            [item_name(catalogue.descriptors[index].name, a, b) for index, a, b in catalogue.items]
        )
        # truth_index of (item, order, rank): where the label of that rank stands in that order.
        self.position = np.full((len(catalogue.items), int(self.order_count.max()), 4), -1, np.int8)
        for item, (index, _, _) in enumerate(catalogue.items):
            self.position[item, : len(orders[index]), : orders[index].shape[1]] = np.argsort(orders[index], axis=1)
        self.frame = self._build(options)

    def _build(self, options: HandVQAOptions) -> pl.DataFrame:
        catalogue = options.catalogue
        rows = []
        for phrase, extent, side in product(options.phrases, EXTENTS, SIDES):
            say = wording.SENTENCES[options.wording][phrase - 1]
            for index, joint_a, joint_b in catalogue.items:
                descriptor = catalogue.descriptors[index]
                labels = descriptor.asked_labels
                sentences = [say(label, joint_a, joint_b) for label in labels]
                for order in self.orders[index]:
                    shown = [sentences[rank] for rank in order]
                    rows.append(
                        {
                            "variant": variant(options, extent, order, phrase),
                            "prompt": text.prompt(shown, side, options.answer, phrase),
                            "options": shown,
                            "option_labels": [labels[rank] for rank in order],
                            "about_descriptor": descriptor.name,
                            "about_joint_a": joint_a,
                            "about_joint_b": joint_b,
                            "about_side": side,
                            "item": "/" + item_name(descriptor.name, joint_a, joint_b),
                        }
                    )
        words = pl.col("variant", "prompt", "about_descriptor", "about_joint_a", "about_joint_b", "about_side")
        lists = pl.col("options", "option_labels").cast(pl.List(WORD))
        schema = {"about_joint_b": pl.String}
        return pl.DataFrame(rows, schema_overrides=schema).with_columns(words.cast(WORD), lists)


@lru_cache(maxsize=4)
def templates(options: HandVQAOptions) -> Templates:
    """The texts for one set of options, made once."""
    return Templates(options)


def variant(options: HandVQAOptions, extent: str, order: NDArray[np.int64], phrase: int = 1) -> str:
    """What else decides the question: ``paper/mesh;anatomical-1;sentence;order=120``.

    ``order`` gives the rank of the category that stands behind each letter; ``phrase`` is told of all
    paraphrases but the paper's own.
    """
    own = (options.wording, phrase) == (wording.WORDINGS[0], 1)
    parts = [
        f"{options.scale}/{extent}",
        *filter(None, [options.catalogue_tag]),
        f"{options.wording}-{text.VERSION}",
        options.answer,
        *([] if own else [f"phrase={phrase}"]),
        "order=" + "".join(str(rank) for rank in order),
    ]
    return ";".join(parts)


def hand_values(hands: pl.DataFrame, options: HandVQAOptions) -> Floats:
    """Descriptor values of a hands table.

    Args:
        hands: N rows of the ``hands`` table.
        options: scale rule and catalogue.

    Returns:
        (N, C) values as :func:`handbench.hand.descriptors.describe` gives them; NaN where undefined.
    """
    joints = joint_arrays(hands)
    center, extent = vector_arrays(hands["center"]), vector_arrays(hands["extent"])
    return describe(joints, center, extent, options.scale, options.catalogue)


def joint_arrays(hands: pl.DataFrame) -> Floats:
    """(N, 21, 3) camera-frame joints of a hands table; NaN where they are missing."""
    return _array(hands["joints_cam"], (21, 3))


def vector_arrays(vectors: pl.Series) -> Floats:
    """(N, 3) centres or extents of a hands table; NaN where they are missing."""
    return _array(vectors, (3,))


def _array(series: pl.Series, shape: tuple[int, ...]) -> Floats:
    flat: Floats = np.full((series.len(), *shape), np.nan)
    present = series.is_not_null().to_numpy()
    if present.all():
        return series.to_numpy().reshape(flat.shape)
    if present.any():
        flat[present] = series.drop_nulls().to_numpy().reshape(-1, *shape)
    return flat


def ask(hands: pl.DataFrame, options: HandVQAOptions) -> tuple[pl.DataFrame, dict[str, int]]:
    """Make the questions of a chunk of hands.

    Args:
        hands: N rows of the ``hands`` table.
        options: how to ask.

    Returns:
        The ``questions`` table, ordered by hand and then by the catalogue, and how many descriptors were not
        askable, by reason: ``angle: undefined``, ``x: aligned`` and so on.
    """
    catalogue, texts = options.catalogue, templates(options)
    values = hand_values(hands, options)
    categories = categorise(values, catalogue)
    eligible, ranks, skipped = _askable(categories, catalogue)

    keys = draws.pair_keys(draws.name_keys(hands["hand_id"].to_list()), texts.item_keys, options.seed)
    chosen = eligible
    if options.per_descriptor is not None:
        chosen = np.concatenate(
            [
                draws.smallest(keys[:, part], eligible[:, part], options.per_descriptor)
                for part in map(catalogue.columns, range(len(catalogue.descriptors)))
            ],
            axis=1,
        )
    hand, item = np.nonzero(chosen)
    order = (draws.mix(keys[hand, item]) % texts.order_count[item].astype(np.uint64)).astype(np.int64)
    extent_code = _code(hands["extent_source"], EXTENTS)
    side_code = _code(hands["side"], SIDES)
    block = (extent_code * len(SIDES) + side_code)[hand]
    if len(options.phrases) > 1:
        # Bits of their own: the paraphrase must not go with the order of the options.
        lots = draws.mix(draws.mix(keys[hand, item])) % np.uint64(len(options.phrases))
        block = block + lots.astype(np.int64) * len(SIDES) * len(EXTENTS)
    row = block * texts.per_block + texts.start[item] + order
    rank = ranks[hand, item]
    value = values[hand, item]

    about_hand = hands.select(
        "hand_id", "image_hash", "dataset", "split", "subject", "sequence", "cluster",
        pl.concat_list(pl.col("image")).alias("images"),
        *(name for name in hands.columns if name.startswith("factor_")),
    )[hand]  # fmt: skip
    frame = pl.concat([texts.frame[row], about_hand], how="horizontal").with_columns(
        pl.concat_str(pl.lit("handvqa/"), "hand_id", "item").alias("question_id"),
        pl.lit("handvqa", WORD).alias("task"),
        pl.lit("choice", WORD).alias("kind"),
        pl.lit(text.SYSTEM, WORD).alias("system"),
        pl.Series("truth_index", texts.position[item, order, rank]),
        pl.Series("truth_rank", rank),
        pl.Series("truth_value", value.astype(np.float32)),
        pl.Series("truth_margin", margins(values, catalogue)[hand, item].astype(np.float32)),
    )
    labels = _asked_labels(catalogue)
    code = catalogue.descriptor_of[item] * 4 + rank
    return frame.with_columns(labels[code].alias("truth_category")), skipped


def _code(words: pl.Series, known: tuple[str, ...]) -> NDArray[np.int64]:
    """Place of each word among those known; a hand without a word has no question that would need it."""
    places = {word: place for place, word in enumerate(known)}
    return words.cast(pl.String).replace_strict(places, default=0, return_dtype=pl.Int64).to_numpy()


def _asked_labels(catalogue: Catalogue) -> pl.Series:
    table = [(*d.asked_labels, *[""] * (4 - len(d.asked_labels))) for d in catalogue.descriptors]
    return pl.Series([label for row in table for label in row], dtype=WORD)


def _askable(
    categories: NDArray[np.int8], catalogue: Catalogue
) -> tuple[NDArray[np.bool_], NDArray[np.int8], dict[str, int]]:
    """Which entries may be asked, the rank of their label among those asked, and what falls away."""
    eligible = categories != UNDEFINED
    ranks = categories.copy()
    skipped: dict[str, int] = {}
    for index, descriptor in enumerate(catalogue.descriptors):
        part = catalogue.columns(index)
        if undefined := int((~eligible[:, part]).sum()):
            skipped[f"{descriptor.name}: undefined"] = undefined
        if descriptor.dropped is None:
            continue
        gone = descriptor.labels.index(descriptor.dropped)
        aligned = categories[:, part] == gone
        eligible[:, part] &= ~aligned
        ranks[:, part] -= categories[:, part] > gone
        if count := int(aligned.sum()):
            skipped[f"{descriptor.name}: {descriptor.dropped}"] = count
    return eligible, ranks, skipped
