"""The columns of every table: the truth of what stands between the rooms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

VERSION: Final = "1"
"""Version of all schemas; a file of another version is refused."""

JOINTS_3D: Final = pl.Array(pl.Float64, (21, 3))
JOINTS_2D: Final = pl.Array(pl.Float64, (21, 2))
FLAGS: Final = pl.Array(pl.Boolean, 21)
VECTOR: Final = pl.Array(pl.Float64, 3)
MATRIX: Final = pl.Array(pl.Float64, (3, 3))
BOX: Final = pl.Array(pl.Float64, 4)
"""x1, y1, x2, y2 in pixels of the original image, from its upper left corner."""
WORD: Final = pl.Categorical()
"""Text that repeats much (a prompt template, a dataset): kept once, pointed at by number."""


@dataclass(frozen=True)
class Column:
    """What a column must be.

    Attributes:
        dtype: polars type; a column that casts to it without loss is taken.
        null: whether a row may lack the value.  A nullable column may be absent altogether.
        nan: whether NaN may stand in it.
        meaning: one line for people.
    """

    dtype: pl.DataType | type[pl.DataType]
    null: bool = False
    nan: bool = False
    meaning: str = ""


def _optional(dtype: pl.DataType | type[pl.DataType], meaning: str = "", *, nan: bool = False) -> Column:
    return Column(dtype, null=True, nan=nan, meaning=meaning)


_ORIGIN: dict[str, Column] = {
    "dataset": Column(WORD, meaning="name of the dataset"),
    "split": Column(WORD, meaning="the owner's name of the split, or paper-train, paper-test"),
    "subject": _optional(WORD, "the person, where the dataset tells"),
    "sequence": _optional(WORD, "the recording, where the dataset tells"),
}

_QUESTION_KEY: dict[str, Column] = {
    "question_id": Column(pl.String, meaning="derived and stable: task/dataset/split/image/side/..."),
    "variant": Column(WORD, meaning="scale rule, extent, wording, order, answer style"),
}

_ANSWER_KEY: dict[str, Column] = {
    **_QUESTION_KEY,
    "model": Column(WORD, meaning="who answered, as named on the command line"),
    "repeat": Column(pl.Int16, meaning="0 for the first time of asking"),
}

SCHEMAS: Final[dict[str, dict[str, Column]]] = {
    "frames": {
        "image": Column(pl.String, meaning="path of the image, relative to the dataset's folder or absolute"),
        "image_hash": _optional(pl.String, "of the image's bytes, or of its recipe where it is rendered"),
        **_ORIGIN,
        "video": _optional(WORD),
        "frame": _optional(pl.Int64, "number of the frame in its video"),
        "seconds": _optional(pl.Float64),
        "width": Column(pl.Int32, meaning="pixels"),
        "height": Column(pl.Int32, meaning="pixels"),
        "annotated": Column(pl.Boolean, meaning="whether all hands of the frame are annotated"),
    },
    "hands": {
        "hand_id": Column(pl.String, meaning="dataset/split/image/side"),
        "image": Column(pl.String),
        "image_hash": _optional(pl.String),
        **_ORIGIN,
        "side": Column(WORD, meaning="left or right, the person's own; unknown where the dataset does not tell"),
        "cluster": Column(pl.String, meaning="the unit that is drawn again in every interval"),
        "joints_cam": _optional(JOINTS_3D, "metres, camera frame (x right, y down, z away)", nan=True),
        "joints_px": _optional(JOINTS_2D, "pixels of the original image", nan=True),
        "visible": _optional(FLAGS),
        "occluded": _optional(FLAGS),
        "in_frame": _optional(FLAGS),
        "intrinsics": _optional(MATRIX, "pinhole camera, pixels"),
        "center": _optional(VECTOR, "centroid of mesh or joints, metres, camera frame", nan=True),
        "extent": _optional(VECTOR, "axis-aligned size of mesh or joints, metres", nan=True),
        "extent_source": _optional(WORD, "mesh or joints"),
        "initial_px": _optional(JOINTS_2D, "the estimate an annotator began with", nan=True),
        "verified": _optional(pl.Boolean),
    },
    "gestures": {
        "gesture_id": Column(pl.String, meaning="dataset/split/image"),
        "image": Column(pl.String),
        "image_hash": _optional(pl.String),
        **_ORIGIN,
        "gesture": Column(WORD, meaning="the gesture shown, by the name that tasks know"),
        "source_label": _optional(WORD, "the dataset's own name of it, where a stand-in was declared"),
        "side": _optional(WORD),
        "cluster": Column(pl.String, meaning="the person, else the image"),
    },
    "clips": {
        "clip_id": Column(pl.String, meaning="dataset/split/clip"),
        "images": Column(pl.List(pl.String), meaning="frames in the order of time"),
        **_ORIGIN,
        "action": _optional(WORD, "what is done, in the dataset's own words"),
        "start": _optional(pl.Int64, "number of the first frame in its video"),
        "end": _optional(pl.Int64, "number of the last frame, itself included"),
        "side": _optional(WORD, "the acting hand: left, right or both"),
        "cluster": Column(pl.String),
    },
    "scenes": {
        "scene_id": Column(pl.String, meaning="dataset/split/image"),
        "image": Column(pl.String),
        "image_hash": _optional(pl.String),
        **_ORIGIN,
        "source": Column(WORD, meaning="real, synthetic, edited or rendered"),
        "width": Column(pl.Int32, meaning="pixels"),
        "height": Column(pl.Int32, meaning="pixels"),
        "hand_box": Column(BOX),
        "hand_side": _optional(WORD),
        "hand_px": _optional(JOINTS_2D, "joints of the pointing hand, pixels", nan=True),
        "ray_px": _optional(BOX, "a point of the true pointing ray and its unit direction, pixels, y down"),
        "target_box": _optional(BOX, "what the hand points at; null where that is nothing"),
        "target_category": _optional(pl.String),
        "negative": _optional(WORD, "why a referent has no target: not-pointing, empty-ray, contradiction, or unnamed"),
        "occluded": _optional(pl.Float32, "part of the target that is hidden, 0..1"),
        "candidate_boxes": Column(pl.List(BOX), meaning="everything that could be pointed at, the target among them"),
        "candidate_categories": Column(pl.List(pl.String)),
        "referents": Column(pl.List(pl.String), meaning="what is said while pointing, each an item of its own"),
        "question": _optional(pl.String, "about the target"),
        "answer": _optional(pl.String),
        "caption_image": _optional(pl.String),
        "caption_object": _optional(pl.String),
        "caption_hand": _optional(pl.String),
        "cluster": Column(pl.String, meaning="the image"),
    },
    "questions": {
        **_QUESTION_KEY,
        "task": Column(WORD),
        "kind": Column(WORD, meaning="choice, fields, box or text"),
        "images": Column(pl.List(pl.String), meaning="paths, none for text alone"),
        "image_hash": _optional(pl.String),
        "system": Column(WORD),
        "prompt": Column(WORD),
        "options": _optional(pl.List(WORD), "without their letters, in the order shown"),
        "option_labels": _optional(pl.List(WORD), "the category that each option stands for"),
        "truth_index": _optional(pl.Int8, "the right option, from 0"),
        "truth_category": _optional(WORD),
        "truth_rank": _optional(pl.Int8, "place of the category among those that are asked"),
        "truth_value": _optional(pl.Float32, "degrees, or share of the hand's size"),
        "truth_margin": _optional(pl.Float32, "distance of the value to its nearest threshold"),
        "about_descriptor": _optional(WORD, "what is asked about; labels are shared within it"),
        "about_joint_a": _optional(WORD),
        "about_joint_b": _optional(WORD),
        "about_side": _optional(WORD),
        "about_gesture": _optional(WORD),
        "about_scenario": _optional(WORD),
        "about_referent": _optional(WORD, "what is said while pointing"),
        "about_category": _optional(WORD, "of the thing that is pointed at"),
        "hand_id": _optional(pl.String),
        "scene_id": _optional(pl.String),
        "image_size": _optional(pl.Array(pl.Int32, 2), "width and height of the image, where boxes are asked for"),
        "hand_box": _optional(BOX),
        "truth_box": _optional(BOX, "null where nothing is to be pointed out"),
        "truth_text": _optional(pl.String, "the answer in words"),
        **_ORIGIN,
        "cluster": Column(pl.String),
    },
    "answers": {
        **_ANSWER_KEY,
        "turn": Column(pl.Int16),
        "respondent": _optional(WORD),
        "reply": _optional(pl.String, "null where nothing came back"),
        "finish": Column(WORD, meaning="stop, length, content_filter, error, none (nothing was said)"),
        "error": _optional(pl.String),
        "option_logprobs": _optional(pl.List(pl.Float32), "in the order of the options"),
        "seconds": _optional(pl.Float64),
        "tokens_in": _optional(pl.Int32, "tokens read; 0 where the reply to an equal request was taken"),
        "tokens_out": _optional(pl.Int32, "tokens written; 0 likewise"),
        "sent_sizes": _optional(pl.List(pl.Array(pl.Int32, 2)), "width and height of each image as sent"),
    },
    "readings": {
        **_ANSWER_KEY,
        "status": Column(WORD, meaning="ok, or why the reply has no reading"),
        "rule": Column(WORD, meaning="the rule that decided"),
        "span_start": _optional(pl.Int32),
        "span_end": _optional(pl.Int32),
        "choice": _optional(pl.Int8),
        "chosen_rank": _optional(pl.Int8),
        "correct": Column(pl.Boolean),
        "distance": _optional(pl.Float32, "ranks between the chosen and the true category"),
        "gesture": _optional(WORD, "the gesture named, where one is asked for"),
        "gesture_correct": _optional(pl.Boolean),
        "likelihoods": _optional(pl.List(pl.Float32), "of each option, adding up to 1: told in words or by logprobs"),
        "label": _optional(WORD, "the label named, null where none is readable"),
        "box": _optional(BOX, "the box read"),
        "written": _optional(BOX, "the box as written, in its frame"),
        "iou": _optional(pl.Float32, "of the box and the truth"),
        "confidence": _optional(pl.Float32, "in the box, where the reply states one"),
        "text": _optional(pl.String, "the answer in words, as it is compared"),
        "official_rank": _optional(pl.Int8, "the rank that the paper's own evaluator takes"),
    },
    "poses": {
        "estimator": Column(WORD),
        "stage": Column(WORD, meaning="raw, spatial, temporal or both"),
        "image": Column(pl.String),
        "hand": Column(pl.Int16, meaning="0, 1, ... within the image; -1 says that none was found"),
        "video": _optional(WORD),
        "frame": _optional(pl.Int64),
        "side": _optional(WORD),
        "score": _optional(pl.Float32),
        "keypoints_px": _optional(JOINTS_2D, nan=True),
        "keypoint_scores": _optional(pl.Array(pl.Float32, 21), nan=True),
        "keypoints_cam": _optional(JOINTS_3D, "metres, OpenCV axes, the estimator's own origin", nan=True),
        "center": _optional(VECTOR, nan=True),
        "extent": _optional(VECTOR, nan=True),
        "seconds": _optional(pl.Float64, "time spent on the image"),
    },
    "ceiling": {
        "task": Column(WORD),
        "descriptor": Column(WORD, meaning="the descriptor, or all"),
        "noise": Column(pl.Float64, meaning="mean 3D error of a joint, metres"),
        "noise_source": Column(WORD, meaning="published by the dataset, assumed, or given"),
        "accuracy": Column(pl.Float64, meaning="share of right options that stay right; 1 minus the flips"),
        "low": _optional(pl.Float64, "lower end of the 95 % interval"),
        "high": _optional(pl.Float64, "upper end of the 95 % interval"),
        "mae": _optional(pl.Float64, "mean ranks away, where ranks mean something"),
        "undecided": Column(pl.Float64, meaning="share of labels that end between the options"),
        "n": Column(pl.Int64, meaning="questions"),
        "clusters": Column(pl.Int64),
        "repeats": Column(pl.Int32, meaning="how often each hand was disturbed"),
        "seed": Column(pl.Int64),
    },
    "matches": {
        "estimator": Column(WORD),
        "stage": Column(WORD),
        "image": Column(pl.String),
        "video": _optional(WORD),
        "frame": _optional(pl.Int64),
        "outcome": Column(
            WORD, meaning="right, misplaced, swapped, missed; of predictions: duplicate, crossed, spurious"
        ),
        "hand_id": _optional(pl.String, "the true hand; null for a prediction without one"),
        "hand": _optional(pl.Int16, "the prediction's number in its image; null for a missed hand"),
        "side": _optional(WORD, "the true side"),
        "said": _optional(WORD, "the predicted side"),
        "iou": _optional(pl.Float32, "of the match; of a missed hand with the prediction nearest to it"),
        "pck": _optional(pl.Float32),
        "mpjpe": _optional(pl.Float32, "in the protocol's normaliser"),
        "size": _optional(pl.Float32, "longer side of the true hand's box, pixels"),
        "passed": Column(pl.Boolean, meaning="counts as a true positive of Pose-F1"),
    },
    "captions": {
        "scene_id": Column(pl.String),
        "caption": Column(pl.String, meaning="of the whole image"),
        "target_category": _optional(pl.String),
        "encoder": Column(WORD, meaning="its folder's name and a fingerprint of its weights"),
        "cut": Column(pl.Boolean, meaning="whether the caption was too long for the encoder and lost its end"),
        "image_vector": Column(pl.List(pl.Float32), meaning="unit vector of the image"),
        "caption_vector": Column(pl.List(pl.Float32), meaning="unit vector of the caption, in the same space"),
    },
    "scores": {
        "task": Column(WORD),
        "model": Column(WORD),
        "stage": _optional(WORD, "of cleanup, where poses were cleaned"),
        "metric": Column(WORD),
        "descriptor": Column(WORD, meaning="the descriptor, or all"),
        "slice": Column(WORD, meaning="all, or the column that divides: joint, pair, side, factor_..."),
        "slice_value": Column(pl.String, meaning="all, or the value in that column"),
        "value": _optional(pl.Float64, "a fraction, or ranks for the errors"),
        "low": _optional(pl.Float64, "lower end of the 95 % interval"),
        "high": _optional(pl.Float64, "upper end of the 95 % interval"),
        "n": Column(pl.Int64, meaning="answers counted"),
        "clusters": Column(pl.Int64),
        "protocol": Column(WORD),
    },
}
"""Every table by name.  ``frames``, source tables and ``questions`` may have ``factor_*`` columns besides."""
