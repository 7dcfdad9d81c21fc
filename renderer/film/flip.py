"""How large the difference of two pictures looks to somebody who changes from one to the other and back.

Andersson, Nilsson, Akenine-Möller, Oskarsson, Åström, Fairchild: FLIP: A Difference Evaluator for Alternating Images,
2020. Colours are blurred as eyes do, and compared; edges and points that are in one picture alone make it worse.
"""

import numpy as np
import numpy.typing as npt

from scenes.colors.srgb import decoded

Doubles = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.uint8]

#: Pixels of a degree of the field of view: a screen of 3840 pixels that is as wide as it is far away.
PIXELS_PER_DEGREE = 3840.0 * np.pi / 180.0

#: Gaussians of the sensitivity to contrast of Y, Cx and Cz, each with a weight and a width, as the paper has them.
SENSITIVITY = (((1.0, 0.0047),), ((1.0, 0.0053),), ((34.1, 0.04), (13.5, 0.025)))
WIDEST = 0.04

#: Exponents of differences of colours and of features; width of features in degrees.
COLOR_EXPONENT, FEATURE_EXPONENT, FEATURE_WIDTH = 0.7, 0.5, 0.082

#: Differences of colours up to this share of the largest one take this share of the range.
SHARE_OF_LARGEST, SHARE_OF_RANGE = 0.4, 0.95

#: Rows that are filtered at a time, while they are in the processor's cache.
ROWS = 16

#: Linear sRGB to XYZ, by the numbers of the paper's program; the sums of rows are white.
XYZ = np.array([[10135552, 8788810, 4435075], [5226144, 17577620, 1774030], [475104, 8788810 / 3, 70074185 / 3]])
XYZ = XYZ / 24577794.0
WHITE = XYZ.sum(axis=1)


def flip(picture: Pixels, reference: Pixels) -> Doubles:
    """Returns the difference of each pixel, (height, width), from 0 for none to 1.

    picture, reference: (height, width, 3) uint8, as a screen shows them.
    """
    both = [opponent(decoded(pixels, np.float64)) for pixels in (picture, reference)]
    color = color_difference(*(perceived(one) for one in both))
    feature = feature_difference(*((one[..., 0] + 16.0) / 116.0 for one in both))
    return np.power(color, 1.0 - feature)


def opponent(linear: Doubles) -> Doubles:
    """Returns Y, Cx and Cz of linear sRGB, both (..., 3)."""
    x, y, z = np.moveaxis(linear @ (XYZ / WHITE[:, None]).T, -1, 0)
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1)


def perceived(colors: Doubles) -> Doubles:
    """Returns Hunt-adjusted L*a*b* of Y, Cx and Cz, (height, width, 3), as eyes blur them."""
    radius = int(np.ceil(3.0 * np.sqrt(WIDEST / (2.0 * np.pi**2)) * PIXELS_PER_DEGREE))
    degrees = np.arange(-radius, radius + 1) / PIXELS_PER_DEGREE
    blurred = []
    for channel, gaussians in enumerate(SENSITIVITY):
        kernels = [np.exp(-(np.pi**2) * degrees**2 / width) for _, width in gaussians]
        weights = [weight * np.sqrt(np.pi / width) for weight, width in gaussians]
        parts = [filtered(colors[..., channel], kernel, kernel) for kernel in kernels]
        total = np.dot(weights, [kernel.sum() ** 2 for kernel in kernels])
        blurred.append(np.tensordot(weights, parts, axes=1) / total)
    y = (blurred[0] + 16.0) / 116.0
    xyz = np.stack([y + blurred[1] / 500.0, y, y - blurred[2] / 200.0], axis=-1) * WHITE
    return hunt_lab(np.clip(xyz @ np.linalg.inv(XYZ).T, 0.0, 1.0))


def hunt_lab(linear: Doubles) -> Doubles:
    """Returns L*a*b* of linear sRGB, both (..., 3), with a* and b* times L* / 100: colours fade in the dark."""
    ratio, delta = linear @ (XYZ / WHITE[:, None]).T, 6.0 / 29.0
    x, y, z = np.moveaxis(np.where(ratio > delta**3, np.cbrt(ratio), ratio / (3.0 * delta**2) + 4.0 / 29.0), -1, 0)
    lightness = 116.0 * y - 16.0
    return np.stack([lightness, 5.0 * lightness * (x - y), 2.0 * lightness * (y - z)], axis=-1)


def hyab(one: Doubles, other: Doubles) -> Doubles:
    """Returns distances of colours, (...): of lightness, and in the plane of the others."""
    difference = one - other
    return np.asarray(np.abs(difference[..., 0]) + np.hypot(difference[..., 1], difference[..., 2]))


def color_difference(one: Doubles, other: Doubles) -> Doubles:
    """Returns differences of adjusted L*a*b* from 0 to 1, which is that of green and blue."""
    green, blue = hunt_lab(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    largest = hyab(green, blue) ** COLOR_EXPONENT
    difference, knee = hyab(one, other) ** COLOR_EXPONENT, SHARE_OF_LARGEST * largest
    above = SHARE_OF_RANGE + (difference - knee) / (largest - knee) * (1.0 - SHARE_OF_RANGE)
    return np.clip(np.where(difference < knee, SHARE_OF_RANGE / knee * difference, above), 0.0, 1.0)


def feature_difference(one: Doubles, other: Doubles) -> Doubles:
    """Returns how far edges or points of two pictures differ, from 0 to 1. one, other: (height, width), from 0 to 1."""
    deviation = 0.5 * FEATURE_WIDTH * PIXELS_PER_DEGREE
    radius = int(np.ceil(3.0 * deviation))
    places, found = np.arange(-radius, radius + 1.0), []
    gaussian = np.exp(-(places**2) / (2.0 * deviation**2))
    smooth = gaussian / gaussian.sum()
    for kernel in (-places * gaussian, (places**2 / deviation**2 - 1.0) * gaussian):
        lobes = np.where(kernel > 0.0, kernel / kernel[kernel > 0.0].sum(), kernel / -kernel[kernel < 0.0].sum())
        sizes = [np.hypot(filtered(image, lobes, smooth), filtered(image, smooth, lobes)) for image in (one, other)]
        found.append(np.abs(sizes[0] - sizes[1]))
    return np.clip(np.maximum(*found) / np.sqrt(2.0), 0.0, 1.0) ** FEATURE_EXPONENT


def filtered(image: Doubles, across: Doubles, along: Doubles) -> Doubles:
    """Returns an image, (height, width), filtered along rows, then columns, turned each time; its rim goes on."""
    for kernel in (across, along):
        radius = len(kernel) // 2
        wide = np.pad(np.ascontiguousarray(image.T), [(radius, radius), (0, 0)], mode="edge")
        image = np.zeros(image.T.shape)
        for first in range(0, len(image), ROWS):
            rows = image[first : first + ROWS]
            for k, weight in enumerate(kernel):
                rows += weight * wide[first + k : first + k + len(rows)]
    return image
