"""This module chooses how a picture is shown by what is in it, as a camera's meter does.

Exposure: the mean of the logarithm of luminance becomes middle grey, 0.18 (Reinhard, Stark, Shirley, Ferwerda:
Photographic Tone Reproduction for Digital Images, 2002, equations 1 and 2). What is darker or brighter than all but a
twentieth of the pixels counts as that twentieth does, and black pixels do not count. It is told in tenths of a stop.

White: what the photographic curve shows as white is where it is without a meter, or as bright as all but a hundredth of
the pixels, so that a ceiling close above a lamp keeps its shades; up to `MOST_WHITE`. The straight curve has no such
choice: with it a picture is darker until no more than three in a hundred are burnt out.

Linear pictures do not depend on any of it.
"""

import math

import numpy as np
import numpy.typing as npt

from renderer.film.tone_mapping import ToneMapping, luminance

#: Luminance that the middle of a picture gets.
MIDDLE_GREY = 0.18
#: Percentiles: the darkest and the brightest that count as they are; up to where the photographic curve shows shades,
#: and the straight one.
DARKEST, BRIGHTEST, SHADED, UNBURNT = 5.0, 95.0, 99.0, 97.0
#: Stops that it reaches to, both ways; luminance, after exposure, that is white at most.
MOST_STOPS = 20.0
MOST_WHITE = 32.0


def metered(radiance: npt.ArrayLike, curve: str) -> ToneMapping:
    """Returns how to show a picture, (height, width, 3) linear radiance, by a curve; one that is black, as it is."""
    light = luminance(radiance)
    light = light[light > 0.0]
    if not len(light):
        return ToneMapping(curve=curve)
    low, high, shaded, unburnt = np.percentile(light, (DARKEST, BRIGHTEST, SHADED, UNBURNT)).tolist()
    stops = math.log2(MIDDLE_GREY / math.exp(float(np.mean(np.log(np.clip(light, low, high))))))
    if curve == "linear":
        stops = min(stops, -math.log2(unburnt))
    stops = round(max(-MOST_STOPS, min(MOST_STOPS, stops)), 1)
    white = min(max(ToneMapping.white, float(f"{shaded * 2.0**stops:.2g}")), MOST_WHITE)
    return ToneMapping(exposure=stops, curve=curve, white=white)
