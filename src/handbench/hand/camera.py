"""The pinhole camera: metres to pixels (OpenCV axes, no distortion)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from handbench.hand.geometry import Floats


def project(points_cam: NDArray[np.floating], intrinsics: NDArray[np.floating]) -> Floats:
    """Project camera-frame points to pixels.

    Args:
        points_cam: (N, P, 3) points, camera frame (x right, y down, z away), any unit.
        intrinsics: (N, 3, 3) or (3, 3) camera matrices in pixels.

    Returns:
        (N, P, 2) pixels; NaN for points that are not in front of the camera.
    """
    points = np.asarray(points_cam, np.float64)
    image = points @ np.swapaxes(np.asarray(intrinsics, np.float64), -1, -2)
    depth = image[..., 2:]
    return np.divide(image[..., :2], depth, out=np.full_like(image[..., :2], np.nan), where=depth > 0)
