"""Textures: packing, repetition and filtering."""

import numpy as np
import pytest

from shaders.textures import lookup, pack_textures


def image(rows):
    """A grey image of so many hundredths of linear light: (height, width, 3) float32."""
    return np.repeat(np.array(rows, np.float32)[:, :, None] / np.float32(100.0), 3, axis=2)


def grey(textures, u, v, texture=0):
    """The colour at a point of a grey image."""
    color = lookup(textures, texture, float(u), float(v))
    assert color[0] == color[1] == color[2]
    return color[0]


def light(hundredths):
    return hundredths / 100.0


def test_the_middle_of_a_texel_is_the_texel_and_v_runs_down():
    rows = [[10, 20, 30, 40], [50, 60, 70, 80]]
    textures = pack_textures([image(rows)])
    for y, row in enumerate(rows):
        for x, byte in enumerate(row):
            assert grey(textures, (x + 0.5) / 4.0, (y + 0.5) / 2.0) == pytest.approx(light(byte))


@pytest.mark.parametrize(
    ("u", "v", "shares"),
    [
        (0.5, 0.5, (0.25, 0.25, 0.25, 0.25)),
        (0.5, 0.25, (0.5, 0.5, 0.0, 0.0)),
        (0.25, 0.5, (0.5, 0.0, 0.5, 0.0)),
        (0.375, 0.625, (0.1875, 0.0625, 0.5625, 0.1875)),
        (0.0, 0.25, (0.5, 0.5, 0.0, 0.0)),
        (0.125, 0.25, (0.75, 0.25, 0.0, 0.0)),
        (0.25, 0.9375, (0.375, 0.0, 0.625, 0.0)),
    ],
)
def test_between_texels_the_four_nearest_are_blended(u, v, shares):
    """shares: of the texels of two rows of two; across the border, of those on the other side."""
    corners = (10, 80, 150, 250)
    textures = pack_textures([image([corners[:2], corners[2:]])])
    expected = sum(share * light(byte) for share, byte in zip(shares, corners, strict=True))
    assert grey(textures, u, v) == pytest.approx(expected)


@pytest.mark.parametrize("shift", [(1, 0), (0, 1), (-1, 0), (0, -1), (-3, 7), (1000, -1000)])
def test_the_image_repeats(shift):
    textures = pack_textures([image(np.random.default_rng(6).integers(0, 256, (3, 5)))])
    for u, v in ((0.0, 0.0), (0.01, 0.99), (0.3, 0.6), (0.999, 0.02)):
        assert grey(textures, u + shift[0], v + shift[1]) == pytest.approx(grey(textures, u, v), abs=1e-9)


def test_a_hair_below_zero_is_the_far_edge():
    """Where u - floor(u) rounds to 1."""
    textures = pack_textures([image([[10, 250]])])
    assert grey(textures, -1e-20, 0.5) == pytest.approx(0.5 * (light(10) + light(250)))


def test_textures_of_several_sizes_share_one_pack():
    images = [image([[10, 20, 30]]), image([[40], [50]]), image([[60]])]
    textures = pack_textures(images)
    assert grey(textures, 2.5 / 3.0, 0.5, texture=0) == pytest.approx(light(30))
    assert grey(textures, 0.5, 0.25, texture=1) == pytest.approx(light(40))
    assert grey(textures, 0.5, 0.75, texture=1) == pytest.approx(light(50))
    assert grey(textures, 0.9, 0.1, texture=2) == pytest.approx(light(60))
