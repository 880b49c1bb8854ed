from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from handbench.synth import backgrounds
from handbench.synth.camera import intrinsics
from handbench.synth.mesh import template
from handbench.synth.picture import compose
from handbench.synth.raster import DepthBuffer, project, rasterise
from handbench.synth.sample import annotate, recipe, render
from handbench.synth.shading import Light, Surface, decode, draw, encode, painted
from handbench.synth.skin import CHANNELS, sample_texture, skin_colour, texture, tone_name

LIGHT = Light((0.0, -0.3, -1.0), (0.8, 0.8, 0.8), (0.3, 0.3, 0.3))


def plate(size: float, depth: float, colour: tuple[float, float, float], x: float = 0.0) -> Surface:
    """A square plate that faces the camera."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * size + [x, 0]
    vertices = np.column_stack([corners, np.full(4, depth)])
    faces = np.array([[0, 2, 1], [0, 3, 2]])
    return Surface(vertices, faces, painted(np.tile(colour, (4, 1)), faces, gloss=0.0), np.ones(4), wrap=0.0)


def picture(surfaces: list[Surface], light: Light = LIGHT, size: int = 64) -> np.ndarray:
    pixel, colour = draw(surfaces, intrinsics(1.0, size), size, size, light)
    image = np.zeros((size * size, 3))
    image[pixel] = colour
    return image.reshape(size, size, 3)


def ray_oracle(origin: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> tuple[int, float]:
    """Nearest triangle that faces a ray from the camera, by Cramer's rule, one by one."""
    best, front = -1, np.inf
    for number, (a, b, c) in enumerate(vertices[faces]):
        system = np.stack([a - b, a - c, origin], axis=1)
        determinant = np.linalg.det(system)
        if abs(determinant) < 1e-12 or np.cross(b - a, c - a) @ origin >= 0:
            continue
        s, t, distance = np.linalg.solve(system, a)
        if s >= 0 and t >= 0 and s + t <= 1 and 0 < distance < front:
            best, front = number, float(distance * origin[2])
    return best, front


def test_the_rasteriser_agrees_with_rays():
    generator = np.random.default_rng(3)
    vertices = generator.uniform([-0.5, -0.5, 0.8], [0.5, 0.5, 2.0], (15, 3))
    faces = generator.permuted(np.tile(np.arange(15), (14, 1)), axis=1)[:, :3]
    size, matrix = 20, intrinsics(1.0, 20)
    found = rasterise(project(vertices, matrix), vertices[:, 2], faces, size, size)
    face, depth = np.full(size * size, -1), np.full(size * size, np.inf)
    face[found.pixel], depth[found.pixel] = found.face, found.depth
    for pixel in range(size * size):
        row, column = divmod(pixel, size)
        ray = np.linalg.inv(matrix) @ [column + 0.5, row + 0.5, 1.0]
        number, distance = ray_oracle(ray, vertices, faces)
        assert face[pixel] == number
        if number >= 0:
            assert depth[pixel] == pytest.approx(distance)
    # Weights are those of the point in space, not on the screen.
    points = found.of(vertices[faces])
    np.testing.assert_allclose(
        project(points, matrix) - 0.5, np.stack(np.divmod(found.pixel, size)[::-1], axis=1), atol=1e-9
    )
    assert (np.diff(found.pixel) > 0).all()


def test_triangles_behind_the_camera_are_left_out():
    vertices = np.array([[-1.0, -1, -1], [1, -1, 1], [0, 1, 1]])
    found = rasterise(project(vertices, intrinsics(1.0, 16)), vertices[:, 2], np.array([[0, 2, 1]]), 16, 16, cull=False)
    assert found.pixel.size == 0


def test_the_nearer_mesh_owns_the_pixel():
    red, green = plate(0.2, 1.0, (0.9, 0.1, 0.1)), plate(0.6, 2.0, (0.1, 0.9, 0.1))
    for order in ([red, green], [green, red]):
        image = picture(order)
        assert image[32, 32, 0] > image[32, 32, 1]  # red in the middle
        assert image[32, 18, 1] > image[32, 18, 0]  # green around it
        assert (image[2, 2] == 0).all()


def test_a_depth_buffer_keeps_the_front():
    far, near = (plate(0.3, z, (1, 1, 1)) for z in (2.0, 1.0))
    layers = [
        rasterise(project(s.vertices, intrinsics(1.0, 32)), s.vertices[:, 2], s.faces, 32, 32) for s in (far, near)
    ]
    buffer = DepthBuffer(32, 32)
    for number, layer in enumerate(layers):
        buffer.draw(layer, number)
    assert buffer.seen(layers[0], 0).pixel.size == 0
    assert buffer.seen(layers[1], 1).pixel.size == layers[1].pixel.size
    assert buffer.depth.min() == pytest.approx(1.0)


def test_a_mesh_casts_a_shadow_on_another():
    light = Light((-1.0, 0.0, -1.0), (0.8, 0.8, 0.8), (0.1, 0.1, 0.1))
    wall, card = plate(0.8, 2.0, (0.8, 0.8, 0.8)), plate(0.15, 1.6, (0.8, 0.8, 0.8), x=-0.5)
    alone, shaded = picture([wall], light), picture([wall, card], light)
    # The light comes from the left: 0.4 m behind the card its shadow lies 0.4 m to the right of it.
    column = int(32 + 64 * -0.1 / 2.0)
    assert shaded[32, column].mean() < 0.4 * alone[32, column].mean()
    assert shaded[32, 50].mean() == pytest.approx(alone[32, 50].mean())


def test_what_faces_the_light_is_brighter():
    front, side = (
        picture([plate(0.3, 1.0, (0.7, 0.7, 0.7))], Light(d, LIGHT.key, LIGHT.sky)) for d in ((0, 0, -1), (3, 0, -1))
    )
    assert front[32, 32].mean() > side[32, 32].mean()


def test_colour_conversion_is_its_own_inverse():
    values = np.linspace(0, 1, 11)
    np.testing.assert_allclose(encode(decode(values)), values, atol=1e-12)


def test_supersampling_covers_in_parts():
    image = np.zeros((2, 2, 3), dtype=np.float32)
    compose(image, np.array([0, 1, 4]), np.ones((3, 3)), 2)  # three of the four rays of the first pixel
    np.testing.assert_allclose(image[0, 0], encode(np.full(3, 0.75)), rtol=1e-5)
    assert (image[0, 1] == 0).all()
    assert (image[1] == 0).all()


@pytest.mark.parametrize("kind", backgrounds.BACKGROUNDS)
def test_backgrounds_are_pictures_and_repeat(kind):
    one, again, other = (backgrounds.background(np.random.default_rng(seed), kind, 48) for seed in (1, 1, 2))
    assert one.shape == (48, 48, 3)
    assert one.dtype == np.float32
    assert ((one >= 0) & (one <= 1)).all()
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    assert (np.ptp(one.reshape(-1, 3), axis=0).max() > 0.05) == (kind != "solid")


def channel(name: str, vertices: np.ndarray) -> np.ndarray:
    """A channel of the texture at vertices."""
    base = template()
    uv = np.zeros((len(base.vertices), 2))
    uv[base.faces.ravel()] = base.uv[base.corner_uv.ravel()]
    return sample_texture(uv[vertices])[:, CHANNELS.index(name)]


def test_the_texture_knows_palm_back_and_nails():
    base = template()
    owner, z = base.weights.argmax(axis=1), base.vertices[:, 2]
    palm, back = np.flatnonzero((owner == 0) & (z > 0.015)), np.flatnonzero((owner == 0) & (z < -0.008))
    assert channel("palm", palm).mean() > 0.8
    assert channel("palm", back).mean() < 0.1
    assert channel("palm", np.flatnonzero(owner == 21)).mean() < 0.1
    assert channel("nail", np.flatnonzero(base.nail > 0.9)).mean() > 0.5
    assert channel("nail", np.concatenate([palm, back])).max() == 0
    assert texture()[:, :, CHANNELS.index("crease")].max() <= 1


def test_palms_are_lighter_than_backs_and_the_more_so_the_darker_the_skin():
    channels = np.zeros((2, len(CHANNELS)), dtype=np.float32)
    channels[0, CHANNELS.index("palm")] = 1
    contrast = []
    for tone in (0.1, 0.5, 0.95):
        (palm, back), _ = skin_colour(channels, tone, (1, 1, 1))
        contrast.append(palm.mean() / back.mean())
    assert contrast == sorted(contrast)
    assert contrast[-1] > 1.4


def test_creases_are_dark_and_nails_shine():
    channels = np.zeros((3, len(CHANNELS)), dtype=np.float32)
    channels[1, CHANNELS.index("crease")] = 1
    channels[2, CHANNELS.index("nail")] = 1
    (skin, crease, _), gloss = skin_colour(channels, 0.4, (1, 1, 1))
    assert (crease < 0.8 * skin).all()
    assert gloss[2] > 2 * gloss[0]


def test_tones_have_names():
    assert [tone_name(t) for t in (0.0, 0.5, 0.999, 1.0)] == ["very_light", "tan", "dark", "dark"]


def test_pictures_repeat_and_differ():
    made = recipe(21, 2, size=96)
    np.testing.assert_array_equal(render(made), render(made, annotate(made)))
    assert (render(recipe(21, 3, size=96)) != render(made)).any()
    assert render(made, supersample=2).shape == (96, 96, 3)


def test_a_left_hand_is_drawn_as_the_mirror_image_of_the_right_in_frontal_light():
    made = recipe(22, 1, size=128, background="solid", view="palm", pose="open_palm", side="right")
    frontal = dataclasses.replace(made.light, direction=(0.0, -0.4, -1.0))
    made = dataclasses.replace(made, light=frontal, grain=0.0)
    right = render(made).astype(float)
    left = render(dataclasses.replace(made, side="left")).astype(float)
    assert np.abs(left[:, ::-1] - right).mean() < 1.0
    assert np.abs(left - right).mean() > 4.0
