from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

from handbench.estimators._region import Region, crop, letterbox

regions = st.builds(
    Region,
    st.tuples(st.floats(-50, 80), st.floats(-50, 80)),
    st.floats(2, 200),
    st.floats(-np.pi, np.pi),
)


def picture(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (height, width, 3), np.uint8)


def oracle(image: np.ndarray, region: Region, size: int, mode: str) -> np.ndarray:
    """The same crop by scipy, with the rotation written out from its definition."""
    row, column = np.mgrid[:size, :size] / size - 0.5
    cosine, sine = np.cos(region.angle), np.sin(region.angle)
    x = region.center[0] + region.side * (column * cosine - row * sine)
    y = region.center[1] + region.side * (column * sine + row * cosine)
    planes = [map_coordinates(image[..., c].astype(float), [y, x], order=1, mode=mode) for c in range(3)]
    return np.stack(planes, axis=-1)


def test_corners_of_an_upright_region() -> None:
    region = Region((10.0, 20.0), 8.0)
    np.testing.assert_allclose(region.to_image([[0, 0], [1, 0], [1, 1]]), [[6, 16], [14, 16], [14, 24]])


def test_a_quarter_turn_clockwise_puts_the_top_at_the_right() -> None:
    region = Region((10.0, 20.0), 8.0, np.pi / 2)
    np.testing.assert_allclose(region.to_image([[0.5, 0], [0, 0.5]]), [[14, 20], [10, 16]])


@given(regions)
def test_points_come_back(region: Region) -> None:
    points = np.array([[0.0, 0.0], [0.25, 0.9], [1.0, 1.0], [-3.0, 2.0]])
    np.testing.assert_allclose(region.to_region(region.to_image(points)), points, atol=1e-9)


@given(regions)
def test_a_turned_region_keeps_centre_and_side(region: Region) -> None:
    corners = region.to_image([[0, 0], [1, 0], [1, 1], [0, 1]])
    np.testing.assert_allclose(corners.mean(axis=0), region.center, atol=1e-9)
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, region.side)


@given(regions, st.integers(1, 40), st.integers(1, 40))
def test_crop_with_replicated_border_is_scipy_nearest(region: Region, height: int, width: int) -> None:
    image = picture(height, width)
    found = crop(image, region, 17, "replicate")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, oracle(image, region, 17, "nearest"), atol=2e-3)


@given(regions, st.integers(1, 40), st.integers(1, 40))
def test_crop_with_zero_border_is_scipy_constant(region: Region, height: int, width: int) -> None:
    image = picture(height, width)
    found = crop(image, region, 17, "zero")
    np.testing.assert_allclose(found, oracle(image, region, 17, "grid-constant"), atol=2e-3)


def test_crop_at_pixel_scale_returns_the_pixels() -> None:
    image = picture(12, 12)
    np.testing.assert_array_equal(crop(image, letterbox(12, 12), 12, "zero"), image)


def test_crop_reads_any_memory_layout() -> None:
    image = picture(20, 30)
    flipped = image[:, ::-1]
    region = Region((15.0, 10.0), 18.0, 0.4)
    np.testing.assert_array_equal(
        crop(flipped, region, 9, "zero"), crop(np.ascontiguousarray(flipped), region, 9, "zero")
    )


@pytest.mark.parametrize(("width", "height"), [(40, 10), (10, 40)])
def test_letterbox_holds_the_whole_image_centred(width: int, height: int) -> None:
    region = letterbox(width, height)
    assert region.side == 40
    image = np.full((height, width, 3), 255, np.uint8)
    lit = crop(image, region, 40, "zero")[..., 0] > 0
    assert lit.sum() == width * height
    rows, columns = np.flatnonzero(lit.any(axis=1)), np.flatnonzero(lit.any(axis=0))
    assert (columns[0], columns[-1]) == ((0, 39) if width == 40 else (15, 24))
    assert (rows[0], rows[-1]) == ((0, 39) if height == 40 else (15, 24))
