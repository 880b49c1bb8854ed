"""What is in a question table: counts per descriptor and label, and the words of the options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from handbench.hand.descriptors import PAPER, categorise, describe
from handbench.hand.geometry import center_and_extent
from handbench.tasks.handvqa.options import HandVQAOptions
from handbench.tasks.handvqa.questions import hand_values, joint_arrays


def label_counts(questions: pl.DataFrame) -> pl.DataFrame:
    """Questions per split, descriptor and true label (HandVQA, Table 6 and Fig. 7).

    Returns:
        ``dataset, split, descriptor, label, count, share``, the share being within the descriptor.
    """
    group = ["dataset", "split", "about_descriptor"]
    order = {descriptor.name: place for place, descriptor in enumerate(PAPER.descriptors)}
    place = pl.col("about_descriptor").cast(pl.String).replace_strict(order, return_dtype=pl.Int8)
    return (
        questions.group_by(*group, "truth_category", "truth_rank")
        .len("count")
        .with_columns((pl.col("count") / pl.col("count").sum().over(group)).alias("share"))
        .sort(pl.col("dataset", "split").cast(pl.String), place, "truth_rank")
        .select(
            "dataset",
            "split",
            pl.col("about_descriptor").alias("descriptor"),
            pl.col("truth_category").alias("label"),
            "count",
            "share",
        )
    )


PAPER_SETS: Final = {"freihand": "FreiHAND", "interhand": "InterHand2.6M", "fpha": "FPHA"}
"""The paper's name of each dataset."""


def against_paper(questions: pl.DataFrame, published: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """Our counts beside the paper's.

    Args:
        questions: the ``questions`` table of one split or several.
        published: ``label_counts`` (Table 6, over all six splits) and ``split_sizes`` (section 7.1).

    Returns:
        ``table_6`` with ``descriptor, label, count, share, paper_count, paper_share, difference`` (of the shares
        within the descriptor), and ``section_7_1`` with ``dataset, split, images, paper_images, questions,
        paper_questions, per_image, paper_per_image`` of the paper's six splits, null where they are not among
        the questions.
    """
    rows = [
        {"descriptor": descriptor.name, "label": label, "paper_count": counts[label]}
        for descriptor in PAPER.descriptors
        for counts in [published["label_counts"][descriptor.name]]
        for label in descriptor.asked_labels
    ]
    own = questions.group_by(
        pl.col("about_descriptor").cast(pl.String).alias("descriptor"),
        pl.col("truth_category").cast(pl.String).alias("label"),
    ).len("count")
    share = pl.col("count") / pl.col("count").sum().over("descriptor")
    paper = pl.col("paper_count") / pl.col("paper_count").sum().over("descriptor")
    labels = (
        pl.DataFrame(rows)
        .join(own, on=["descriptor", "label"], how="left", maintain_order="left")
        .with_columns(pl.col("count").fill_null(0))
        .select("descriptor", "label", "count", share.alias("share"), "paper_count", paper.alias("paper_share"))
        .with_columns((pl.col("share") - pl.col("paper_share")).alias("difference"))
    )
    return {"table_6": labels, "section_7_1": _sizes(questions, published["split_sizes"])}


def _sizes(questions: pl.DataFrame, sizes: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    name = pl.col("dataset").cast(pl.String)
    own = questions.group_by(
        name.replace(PAPER_SETS).alias("dataset"),
        pl.col("split").cast(pl.String).str.replace("^paper-", "").alias("split"),
    ).agg(pl.col("images").list.first().n_unique().cast(pl.Int64).alias("images"), pl.len().alias("questions"))
    paper = pl.DataFrame(sizes).rename({"images": "paper_images", "vqa_pairs": "paper_questions"})
    joined = paper.join(own, on=["dataset", "split"], how="left", maintain_order="left")
    return joined.select(
        *("dataset", "split", "images", "paper_images", "questions", "paper_questions"),
        (pl.col("questions") / pl.col("images")).alias("per_image"),
        (pl.col("paper_questions") / pl.col("paper_images")).alias("paper_per_image"),
    )


def term_counts(questions: pl.DataFrame) -> pl.DataFrame:
    """How often each term stands in the options (HandVQA, Fig. 6): fingers, joints and labels.

    Returns:
        ``term, count``, commonest first.
    """
    options = questions.select(pl.col("options").alias("option")).explode("option")
    sentences = options.group_by("option").len("count").with_columns(pl.col("option").cast(pl.String))
    terms = [
        *("thumb", "index finger", "middle finger", "ring finger", "little finger"),
        *("tip joint", "metacarpophalangeal joint", "carpometacarpal joint"),
        *("proximal interphalangeal joint", "distal interphalangeal joint"),
        *("knuckle", "middle joint", "end joint"),
        *(label for descriptor in PAPER.descriptors for label in descriptor.asked_labels),
    ]
    rows = [
        {
            "term": term,
            "count": int((sentences["option"].str.count_matches(rf"\b{term}\b") * sentences["count"]).sum()),
        }
        for term in terms
    ]
    return pl.DataFrame(rows).sort("count", "term", descending=[True, False])


def extent_flips(hands: pl.DataFrame, options: HandVQAOptions) -> pl.DataFrame:
    """How many labels change where a mesh's extent is replaced by that of its joints.

    Args:
        hands: the ``hands`` table; only rows with ``extent_source`` mesh count.
        options: scale rule and catalogue.

    Returns:
        ``descriptor, flipped, of``; empty where no hand has a mesh.
    """
    meshes = hands.filter(pl.col("extent_source").cast(pl.String) == "mesh")
    if meshes.is_empty():
        return pl.DataFrame(schema={"descriptor": pl.String, "flipped": pl.Int64, "of": pl.Int64})
    joints = joint_arrays(meshes)
    by_mesh = categorise(hand_values(meshes, options), options.catalogue)
    center, extent = center_and_extent(joints)
    by_joints = categorise(describe(joints, center, extent, options.scale, options.catalogue), options.catalogue)
    rows = []
    for index, descriptor in enumerate(options.catalogue.descriptors):
        part = options.catalogue.columns(index)
        differs = by_mesh[:, part] != by_joints[:, part]
        rows.append({"descriptor": descriptor.name, "flipped": int(differs.sum()), "of": differs.size})
    return pl.DataFrame(rows)
