"""This module chooses the exposure of a picture by what is in it, as a camera's meter does.

The mean of the logarithm of luminance becomes middle grey, 0.18 (Reinhard, Stark, Shirley, Ferwerda: Photographic Tone
Reproduction for Digital Images, 2002, equations 1 and 2), over the pixels that are neither black nor among the darkest
or brightest twentieth. It is less where more than a hundredth of the picture would be burnt out: four times as bright as white
paper in the light that the picture is exposed for, which is `ToneMapping.white`. It is told in tenths of a stop, and linear pictures do not depend on it.
"""

import math

import numpy as np

from renderer.film.tone_mapping import Linear, ToneMapping, luminance

#: Luminance that the middle of a picture gets.
MIDDLE_GREY = 0.18
#: Shares of the pixels, the darkest and the brightest, that do not count for the middle.
TAILS = (5.0, 95.0)
#: Percentile of luminance that is burnt out at most.
BRIGHT = 99.0
#: Stops that it reaches to, both ways.
MOST_STOPS = 20.0


def automatic_exposure(radiance: Linear) -> float:
    """Returns the stops that suit a picture, (height, width, 3) linear radiance; 0 for one that is all black."""
    light = luminance(radiance)
    light = light[light > 0.0]
    if not len(light):
        return 0.0
    low, bright, high = np.percentile(light, (TAILS[0], BRIGHT, TAILS[1]))
    middle = math.exp(float(np.mean(np.log(np.clip(light, low, high)))))
    stops = min(math.log2(MIDDLE_GREY / middle), math.log2(ToneMapping.white / float(bright)))
    return round(max(-MOST_STOPS, min(MOST_STOPS, stops)), 1)
