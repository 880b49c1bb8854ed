"""Guards against a wrong unit, joint order, axis, side, placeholder or camera, run by every 3D reader.

Each check looks at whole sets of hands and stays silent where few hands cannot prove anything.  A check that
fails names the likeliest cause; :func:`guard` raises it, or keeps it as a note where the user insists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.datasets.anatomy import EXCHANGED, OTHER_ORDERS, bending, misproportion, palm_lengths
from handbench.errors import HandbenchError
from handbench.hand.camera import project
from handbench.hand.geometry import Floats
from handbench.hand.skeleton import ORDERS
from handbench.protocols import ReadContext

PALM_RANGE: Final = (0.045, 0.14)
"""Metres from wrist to middle MCP that the median of a set may have: 0.07 to 0.12 in adults, with room for
children and for labels that put the wrist elsewhere."""

MAJORITY: Final = 8
"""Fewer decided hands than this give no verdict on their side."""

BY_FORCE: Final = "went on by force"
"""How a note begins that tells of a stop that the user overrode."""

_SAMPLE = 4096
_PLAUSIBLE = 0.2
_FLIPS: Final[dict[str, tuple[float, float, float]]] = {
    "these look like OpenGL axes (y up, z toward the camera)": (1, -1, -1),
    "the y axis looks turned up": (1, -1, 1),
    "these look mirrored (x negated)": (-1, 1, 1),
    "the z axis looks turned toward the camera": (1, 1, -1),
}


@dataclass(frozen=True)
class Evidence:
    """What a reader knows about a set of hands; what it does not know stays None.

    Attributes:
        joints_cam: (N, 21, 3) as the reader is about to give them out, joints not annotated being NaN.
        sides: N times ``left`` or ``right``.
        order: key of ``skeleton.ORDERS`` that the reader took the joints by.
        raw: (N, 21, D) the file's own numbers in the reader's order, joints not annotated being NaN.
        intrinsics: (N, 3, 3) pixels.
        sizes: (N, 2) width and height of the images.
        boxes: (N, 4) boxes around the hands [x1, y1, x2, y2].
        pixels: (N, 21, 2) the owner's own image points.
    """

    joints_cam: Floats
    sides: Sequence[str]
    order: str = "openpose"
    raw: NDArray[np.floating] | None = None
    intrinsics: NDArray[np.floating] | None = None
    sizes: NDArray[np.number] | None = None
    boxes: NDArray[np.floating] | None = None
    pixels: NDArray[np.floating] | None = None


@dataclass
class Verdict:
    """What the checks found: ``stops`` forbid to go on, ``notes`` belong in the report."""

    stops: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def guard(source: str | Path, evidence: Evidence, context: ReadContext) -> list[str]:
    """Run all checks.

    Args:
        source: what to call the data in an error.
        evidence: the hands.
        context: ``force`` turns stops into notes.

    Returns:
        Notes for the report.

    Raises:
        HandbenchError: a check failed and ``context.force`` is not set.
    """
    verdict = check(evidence)
    notes = [stop_or_note(source, message, context) for message in verdict.stops]
    return notes + verdict.notes


def stop_or_note(source: str | Path, message: str, context: ReadContext) -> str:
    """Raise a message, or give it back as a note where the user insists.

    Raises:
        HandbenchError: ``context.force`` is not set.
    """
    if not context.force:
        raise HandbenchError(f"{source}: {message} (--force goes on all the same)")
    return f"{BY_FORCE}: {message}"


def check(evidence: Evidence) -> Verdict:
    """Run all checks, the most fundamental first, and never raise."""
    verdict = Verdict()
    if len(evidence.joints_cam) == 0:
        return verdict
    sample = _complete_sample(evidence.joints_cam)
    joints = evidence.joints_cam[sample]
    stops = [
        placeholders(evidence),
        joint_order(joints, evidence.order),
        unit(joints),
        axes(evidence.joints_cam),
    ]
    stops.append(reprojection(evidence))
    verdict.stops = [message for message in stops if message]
    stop, note = chirality(joints, np.asarray(evidence.sides)[sample])
    verdict.stops += [stop] if stop else []
    verdict.notes += [note] if note else []
    return verdict


def _complete_sample(joints: Floats) -> NDArray[np.intp]:
    complete = np.flatnonzero(np.isfinite(joints).all(axis=(1, 2)))
    if len(complete) > _SAMPLE:
        complete = np.sort(np.random.default_rng(0).choice(complete, _SAMPLE, replace=False))
    return complete


def is_placeholder(raw: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which points are one of the constants that datasets write for "not annotated".

    Args:
        raw: (..., D) points as the file has them.

    Returns:
        (...) bool: all coordinates are -1, all 0, or all 1.
    """
    first = raw[..., 0]
    constant = (first == 0) | (first == 1) | (first == -1)
    return np.asarray(constant & (raw == first[..., None]).all(axis=-1), bool)


def placeholders(evidence: Evidence) -> str | None:
    """Points that pass as annotated and are constants, or stand on one and the same spot."""
    if evidence.raw is not None:
        found = is_placeholder(evidence.raw)
        if found.any():
            row, joint = (int(index[0]) for index in np.nonzero(found))
            value = ", ".join(f"{number:g}" for number in evidence.raw[row, joint])
            return (
                f"{int(found.sum())} joints hold ({value}), which stands for 'not annotated', yet count as "
                f"annotated (first: hand {row}, joint {joint})"
            )
    # Two joints share a spot exactly when they share this number, short of a coincidence of 1 in 10^8.
    number = np.sort(evidence.joints_cam @ np.array([1.0, np.pi, np.e]), axis=1)
    same = (np.diff(number, axis=1) == 0).any(axis=1)
    if same.sum() > 1e-4 * len(same):
        return (
            f"{int(same.sum())} hands have several joints on one and the same spot, as placeholders for 'not "
            f"annotated' do (first: hand {int(np.flatnonzero(same)[0])})"
        )
    return None


def joint_order(joints: Floats, applied: str) -> str | None:
    """Whether bone proportions fit another joint order clearly better than the one applied."""
    if len(joints) == 0:
        return None
    theirs = joints[:, np.argsort(np.array(ORDERS[applied]) % 21)]
    own = float(np.median(misproportion(joints)))
    others = {name: float(np.median(misproportion(theirs[:, order]))) for name, order in OTHER_ORDERS.items()}
    # MANO's own order has the little finger before the ring finger, and is taken the other way round now and then.
    exchanged = f"{applied} with ring and little finger exchanged"
    others[exchanged] = float(np.median(misproportion(joints[:, OTHER_ORDERS[EXCHANGED]])))
    best = min(others, key=others.__getitem__)
    if others[best] > _PLAUSIBLE and own > _PLAUSIBLE:
        return f"the joints are in no known order: bone lengths are off by a factor of {np.exp(own):.2f}"
    if others[best] < own - (0.04 if len(joints) >= MAJORITY else 0.08):
        return (
            f"the joints look to be in the order {best}: bone lengths are off human proportions by a factor "
            f"of {np.exp(others[best]):.2f} in it and of {np.exp(own):.2f} as read"
        )
    return None


def unit(joints: Floats) -> str | None:
    """Whether the hands have the size of hands in metres."""
    if len(joints) == 0:
        return None
    length = float(np.median(palm_lengths(joints)))
    low, high = PALM_RANGE
    if low <= length <= high:
        return None
    cause = "these are no hands in metres"
    for factor, name in ((1e-2, "centimetres"), (1e-3, "millimetres"), (1e-6, "micrometres")):
        if low <= length * factor <= high:
            cause = f"these look like {name}"
    for factor in (1e2, 1e3):
        if low <= length * factor <= high:
            cause = f"these look converted to metres twice (by {factor:g})"
    return f"{cause}: the median wrist-to-middle-MCP length is {length:.4g}, expected 0.07 to 0.12"


def axes(joints_cam: Floats) -> str | None:
    """Whether the hands lie in front of the camera."""
    depth = joints_cam[..., 2]
    depth = depth[np.isfinite(depth)]
    if len(depth) == 0:
        return None
    behind = float((depth <= 0).mean())
    if behind <= 0.02:
        return None
    placed = joints_cam[np.isfinite(joints_cam[:, [0, 9]]).all(axis=(1, 2))]
    centred = len(placed) > 0 and behind < 0.9
    if centred and (np.median(np.abs(placed[:, 9]), axis=0) < 2 * np.median(palm_lengths(placed))).all():
        return (
            f"these look relative to a root joint: z is negative for {behind:.0%} of joints and the hands "
            "lie around the origin; camera coordinates are expected"
        )
    if behind > 0.5:
        return f"these look like OpenGL axes: z is negative for {behind:.0%} of joints"
    return f"z is negative for {behind:.0%} of joints, behind the camera"


def chirality(joints: Floats, sides: NDArray[np.str_]) -> tuple[str | None, str | None]:
    """Whether left hands bend like left hands and right hands like right hands, by majority.

    Returns:
        A reason to stop, and a note; None where there is none.
    """
    score = bending(joints)
    decided = np.abs(score) > 1
    agree = {}
    for side, sign in (("right", 1), ("left", -1)):
        votes = score[decided & (sides == side)] * sign > 0
        if len(votes) >= MAJORITY:
            agree[side] = float(votes.mean())
    wrong = [side for side, share in agree.items() if share < 0.25]
    shares = " and ".join(
        f"{1 - agree[side]:.0%} of the hands marked {side} bend like {_other(side)} hands" for side in wrong
    )
    if wrong and len(wrong) == len(agree):
        return f"these look mirrored (an axis is negated), or left and right are exchanged: {shares}", None
    if wrong:
        side = wrong[0]
        return f"the {side} hands look like mirrored {_other(side)} hands: {shares}", None
    unsure = [f"{share:.0%} of {side}" for side, share in agree.items() if share < 0.6]
    note = f"sides could not be confirmed: only {', '.join(unsure)} hands bend as such" if unsure else None
    return None, note


def _other(side: str) -> str:
    return "left" if side == "right" else "right"


def reprojection(evidence: Evidence) -> str | None:
    """Whether the joints land where the image, the box or the owner's own points say."""
    known = evidence.pixels is not None or evidence.boxes is not None or evidence.sizes is not None
    if evidence.intrinsics is None or not known:
        return None
    as_read = _misses(evidence, evidence.joints_cam)
    if not as_read > 0.5:
        return None
    where = "the owner's image points" if evidence.pixels is not None else "the image"
    where = "the hand's box" if evidence.pixels is None and evidence.boxes is not None else where
    fact = f"{as_read:.0%} of the joints do not project to {where}"
    for cause, signs in _FLIPS.items():
        if _misses(evidence, evidence.joints_cam * np.array(signs)) < 0.1:
            return f"{cause}: {fact}"
    return f"the camera does not fit: {fact}{_centre(evidence)}"


def _misses(evidence: Evidence, joints_cam: Floats) -> float:
    """Share of joints that project to a wrong place; joints behind the camera are wrong."""
    assert evidence.intrinsics is not None
    known: NDArray[np.bool_] = np.asarray(np.isfinite(joints_cam).all(axis=-1))
    points = project(joints_cam, evidence.intrinsics)
    if evidence.pixels is not None:
        known &= np.isfinite(evidence.pixels).all(axis=-1)
        shown = known[..., None]
        low = np.where(shown, evidence.pixels, np.inf).min(axis=1)
        high = np.where(shown, evidence.pixels, -np.inf).max(axis=1)
        size = (high - low).max(axis=1)
        near = np.linalg.norm(points - evidence.pixels, axis=-1) < 0.15 * size[:, None]
        return 1 - float(near[known].mean()) if known.any() else 0.0
    if evidence.boxes is not None:
        low, high = evidence.boxes[:, None, :2], evidence.boxes[:, None, 2:]
    else:
        assert evidence.sizes is not None
        low, high = np.zeros((1, 1, 2)), np.asarray(evidence.sizes, np.float64)[:, None]
    margin = 0.1 * (high - low)
    inside: NDArray[np.bool_] = np.asarray(((points >= low - margin) & (points <= high + margin)).all(axis=-1))
    return 1 - float(inside[known].mean()) if known.any() else 0.0


def _centre(evidence: Evidence) -> str:
    if evidence.sizes is None or evidence.intrinsics is None:
        return ""
    x, y = np.median(evidence.intrinsics[:, :2, 2], axis=0)
    width, height = np.median(np.asarray(evidence.sizes), axis=0)
    return f"; the camera's centre is ({x:.0f}, {y:.0f}), the images are {width:.0f} x {height:.0f}"
