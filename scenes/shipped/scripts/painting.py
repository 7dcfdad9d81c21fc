"""This module makes textures that are painted by code."""

import numpy as np

from scenes.model import Doubles, Texture


def painted(name: str, colors: Doubles) -> Texture:
    """Returns a texture of sRGB encoded colours (height, width, 3), which are clipped to 0..1."""
    return Texture(name=name, pixels=np.rint(255.0 * np.clip(colors, 0.0, 1.0)).astype(np.uint8))
