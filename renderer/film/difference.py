"""How far a picture is from another one, in figures and as a picture."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from renderer.film.tone_mapping import luminance

Floats = npt.NDArray[np.float32]
Pixels = npt.NDArray[np.uint8]

#: What is added to the square of the reference, so that black pixels do not count endlessly (Rousselle, Knaus, Zwicker:
#: Adaptive Sampling and Reconstruction Using Greedy Error Minimization, 2011).
RELATIVE_FLOOR = 0.01

#: The largest byte of a pixel.
PEAK = 255.0

#: In a picture of the difference this percentile of it has full colour.
FULL_COLOR = 99.0


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Holds figures of how far a picture is from a reference.

    rel_mse: mean of squared errors by the squares of the reference and RELATIVE_FLOOR, over pixels and channels.
    mse: mean of squared errors.
    mean: mean of the picture less that of the reference, which is 0 where it is only noisy.
    largest: greatest error of a channel.
    psnr: peak signal-to-noise ratio of what a screen shows, decibels; infinite where that is the same.
    """

    rel_mse: float
    mse: float
    mean: float
    largest: float
    psnr: float


def difference(picture: Floats, reference: Floats, shown: tuple[Pixels, Pixels]) -> Difference:
    """Returns how far a picture is from a reference.

    picture, reference: (height, width, 3) float32, finite.
    shown: (height, width, 3) uint8, both as a screen shows them.
    """
    errors = picture.astype(np.float64) - reference
    squares = np.square(errors)
    shown_mse = float(np.mean(np.square(shown[0].astype(np.float64) - shown[1])))
    return Difference(
        rel_mse=float(np.mean(squares / (np.square(reference.astype(np.float64)) + RELATIVE_FLOOR))),
        mse=float(np.mean(squares)),
        mean=float(np.mean(errors)),
        largest=float(np.max(np.abs(errors))),
        psnr=float("inf") if shown_mse == 0.0 else 10.0 * float(np.log10(PEAK**2 / shown_mse)),
    )


def difference_picture(picture: Floats, reference: Floats) -> tuple[Pixels, float]:
    """Returns a picture of where luminance differs: red where it is greater than in the reference, blue where it is
    less, black where it is the same; and the difference that has full colour.

    picture, reference: (height, width, 3) float32, finite.
    """
    errors = luminance(picture) - luminance(reference)
    full = float(np.percentile(np.abs(errors), FULL_COLOR)) or float(np.max(np.abs(errors))) or 1.0
    shares = np.clip(errors / full, -1.0, 1.0)
    strength = np.sqrt(np.abs(shares))
    colors = np.stack(
        [np.where(shares > 0, strength, 0.0), 0.25 * strength, np.where(shares < 0, strength, 0.0)], axis=2
    )
    return np.round(PEAK * colors).astype(np.uint8), full
