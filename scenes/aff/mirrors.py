"""This module says how much of the `specular` of an AFF or NFF surface is a mirror image.

The files mean two things by one colour: how bright Phong's highlight is, and how bright the mirror image. Taken by the
letter, nearly all walls of BART's scenes are mirrors; by the exponent alone, so is no metal ball. Published pictures
show clear reflections in what is more specular than diffuse, in glazed and painted things, and in polished floors,
and none in ceilings and walls of plaster, brick or wood. So a surface is the more of a mirror,

* the larger its specular share k = specular / (specular + diffuse) is, by the brightest channels, and
* the larger its exponent s is: k counts 1 + log2(1 + s / 32) times, 1.1 for s = 3, 2 for s = 32, 4 for s = 255;
* with a texture, which is a photograph of something rough unless it is polished, only where s is beyond 32, and wholly
  from 128 on.

Smoothly from 0.25 to 0.65 of that it becomes a mirror. A tenth of the reflection stays a highlight, since lamps have no
size and would not be seen in a mirror; less where s is beyond 900. Of glass all is a mirror: it has no other surface.
"""

import math

from scenes.model import Material

#: Exponents: that at which the share counts twice; from where to where textured surfaces become as good as others.
DOUBLING_EXPONENT = 32.0
TEXTURED_FROM, TEXTURED_TO = 32.0, 128.0
#: From where to where the weighted share makes a mirror.
MIRROR_FROM, MIRROR_TO = 0.25, 0.65
#: The most that is a mirror of all but the sharpest, and the exponent at which half of those would be.
MOST = 0.9
HALF_EXPONENT = 100.0


def mirror_share(material: Material, *, is_textured: bool) -> float:
    """Returns which share of a material's specular reflection is a mirror image, 0 to 1.

    is_textured: whether a picture multiplies its diffuse reflection.
    """
    specular, diffuse, exponent = max(material.specular), max(material.diffuse), material.exponent
    if not specular > 0.0 or not exponent > 0.0:
        return 0.0
    weighted = specular / (specular + diffuse) * (1.0 + math.log2(1.0 + exponent / DOUBLING_EXPONENT))
    if is_textured:
        weighted *= smooth_step(TEXTURED_FROM, TEXTURED_TO, exponent)
    through = 1.0 if material.transmittance > 0.5 else 0.0
    most = max(MOST, exponent / (exponent + HALF_EXPONENT))
    return most * max(through, smooth_step(MIRROR_FROM, MIRROR_TO, weighted))


def smooth_step(start: float, end: float, value: float) -> float:
    """Returns 0 up to a start, 1 from an end on, and 3 t^2 - 2 t^3 between them."""
    t = min(max((value - start) / (end - start), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)
