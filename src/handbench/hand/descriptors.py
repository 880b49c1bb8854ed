"""Pose descriptors: a value for every joint and pair asked about, and the category that it falls into.

Source: HandVQA, Table 1 (thresholds, labels), Table 5 (joints and pairs), section 6.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.hand.geometry import Floats, Scale, bend_angles, normalise, offsets
from handbench.hand.skeleton import ANGLE_JOINTS, JOINT_INDEX, JOINT_PAIRS, PARENTS

UNDEFINED: Final = -1
"""Category of a value that does not exist (missing joint, zero-length bone, no extent)."""


@dataclass(frozen=True)
class Descriptor:
    """One measured property and its categories.

    Attributes:
        name: ``angle``, ``distance``, ``x``, ``y`` or ``z``.
        unit: what a value is counted in.
        labels: category labels from the lowest value to the highest.
        thresholds: rising limits; a value below a limit takes the lower category (half-open intervals).
        dropped: the label that never becomes a question or an option, if any.
    """

    name: str
    unit: str
    labels: tuple[str, ...]
    thresholds: tuple[float, ...]
    dropped: str | None = None

    @property
    def asked_labels(self) -> tuple[str, ...]:
        """The labels that options are made of, in rank order."""
        return tuple(label for label in self.labels if label != self.dropped)

    @property
    def ordinal(self) -> bool:
        """Whether a distance between ranks means something (angle, distance)."""
        return self.dropped is None


DESCRIPTORS: Final = (
    Descriptor(
        "angle",
        "degree",
        ("bent completely inward", "bent inward", "bent slightly inward", "straight"),
        (105.0, 150.0, 170.0),
    ),
    Descriptor("distance", "hand size", ("close to", "spread from", "spread wide from"), (0.1, 0.3)),
    Descriptor("x", "hand size", ("at the left of", "aligned", "at the right of"), (-0.15, 0.15), "aligned"),
    Descriptor("y", "hand size", ("below", "aligned", "above"), (-0.15, 0.15), "aligned"),
    Descriptor("z", "hand size", ("behind", "aligned", "in front of"), (-0.15, 0.15), "aligned"),
)
"""The five descriptors of Table 1, in the paper's order."""


@dataclass(frozen=True)
class Catalogue:
    """Which joints and pairs are described, and with which limits.

    The default is the paper's 15 angle joints and 23 pairs: 107 descriptors of a hand.

    Attributes:
        angle_joints: joints whose bend angle is taken.
        pairs: joint pairs, first named first.
        descriptors: the five descriptors with their thresholds.
    """

    angle_joints: tuple[str, ...] = ANGLE_JOINTS
    pairs: tuple[tuple[str, str], ...] = JOINT_PAIRS
    descriptors: tuple[Descriptor, ...] = DESCRIPTORS

    @cached_property
    def items(self) -> tuple[tuple[int, str, str | None], ...]:
        """(descriptor index, first joint, second joint or None) of each column."""
        angle = [(0, joint, None) for joint in self.angle_joints]
        return (*angle, *((index, a, b) for index in range(1, 5) for a, b in self.pairs))

    @cached_property
    def descriptor_of(self) -> NDArray[np.intp]:
        """(C,) descriptor index of each column."""
        return np.array([index for index, _, _ in self.items], np.intp)

    def columns(self, descriptor: int) -> slice:
        """The columns of one descriptor."""
        angles, pairs = len(self.angle_joints), len(self.pairs)
        if descriptor == 0:
            return slice(0, angles)
        start = angles + (descriptor - 1) * pairs
        return slice(start, start + pairs)

    @cached_property
    def _triples(self) -> NDArray[np.intp]:
        middle = [JOINT_INDEX[joint] for joint in self.angle_joints]
        return np.array([(PARENTS[row], row, row + 1) for row in middle], np.intp).reshape(-1, 3)

    @cached_property
    def _pair_rows(self) -> NDArray[np.intp]:
        return np.array([(JOINT_INDEX[a], JOINT_INDEX[b]) for a, b in self.pairs], np.intp).reshape(-1, 2)


PAPER: Final = Catalogue()
"""The paper's own 107 descriptors."""


def describe(
    joints_cam: NDArray[np.floating],
    center: Floats,
    extent: Floats,
    scale: Scale = Scale.PAPER,
    catalogue: Catalogue = PAPER,
) -> Floats:
    """Every descriptor value of every hand.

    Args:
        joints_cam: (N, 21, 3) joints, camera frame (x right, y down, z away), any unit.
        center: (N, 3) centroid of mesh or joints, same unit.
        extent: (N, 3) axis-aligned size of mesh or joints, same unit.
        scale: which extent is made 1.
        catalogue: joints, pairs and limits.

    Returns:
        (N, C) values, columns as in ``catalogue.items``: degrees for angles, shares of the hand's size
        for the rest.  Offsets are first joint minus second in the viewer's frame: positive x is right,
        positive y up, positive z toward the camera.  NaN where undefined.
    """
    values = np.empty((len(joints_cam), len(catalogue.items)), np.float64)
    values[:, catalogue.columns(0)] = bend_angles(joints_cam, catalogue._triples)
    difference = offsets(normalise(joints_cam, center, extent, scale), catalogue._pair_rows)
    values[:, catalogue.columns(1)] = np.sqrt(np.einsum("npk,npk->np", difference, difference))
    for axis in range(3):
        values[:, catalogue.columns(2 + axis)] = difference[:, :, axis]
    return values


def categorise(values: Floats, catalogue: Catalogue = PAPER) -> NDArray[np.int8]:
    """Category of each value.

    Args:
        values: (N, C) as :func:`describe` gives them.
        catalogue: the same as there.

    Returns:
        (N, C) int8 index into the descriptor's ``labels``; :data:`UNDEFINED` where the value is NaN.
    """
    categories = np.zeros(values.shape, np.int8)
    for index, descriptor in enumerate(catalogue.descriptors):
        columns = catalogue.columns(index)
        for threshold in descriptor.thresholds:
            categories[:, columns] += values[:, columns] >= threshold
    categories[np.isnan(values)] = UNDEFINED
    return categories


def margins(values: Floats, catalogue: Catalogue = PAPER) -> Floats:
    """Distance of each value to its nearest threshold: how far the truth is from another answer.

    Args:
        values: (N, C) as :func:`describe` gives them.
        catalogue: the same as there.

    Returns:
        (N, C) in the unit of the descriptor (degrees, or shares of the hand's size), never negative.
    """
    nearest = np.full(values.shape, np.inf)
    for index, descriptor in enumerate(catalogue.descriptors):
        columns = catalogue.columns(index)
        for threshold in descriptor.thresholds:
            np.minimum(nearest[:, columns], np.abs(values[:, columns] - threshold), out=nearest[:, columns])
    return nearest
