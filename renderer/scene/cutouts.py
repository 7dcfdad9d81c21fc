"""This module prepares what tracers need to know of the surfaces that have holes."""

import numpy as np
import numpy.typing as npt

from scenes.model import Snapshot, Texture
from tracecore import Cutouts

#: The least byte of alpha or of brightness where a surface is there: one half of 255, rounded up.
THERE = 128

#: Weights of red, green and blue in thousandths: ITU-R BT.709.
BRIGHTNESS = np.array([213, 715, 72])


def cutouts_of(snapshot: Snapshot) -> Cutouts | None:
    """Returns the cut-outs of a snapshot's triangles; None if all are solid."""
    cut_out = snapshot.cut_out
    if not cut_out.any():
        return None
    pictures = np.array([material.cutout for material in snapshot.materials])[snapshot.material_ids]
    used, masks = np.unique(pictures[cut_out], return_inverse=True)
    mask_ids = np.full(len(pictures), -1, np.int64)
    mask_ids[cut_out] = masks
    return Cutouts(masks=[mask_of(snapshot.textures[picture]) for picture in used], mask_ids=mask_ids, uvs=snapshot.uvs)


def mask_of(texture: Texture) -> npt.NDArray[np.bool_]:
    """Returns where a surface with this picture is there, (height, width) bool.

    Brightness is that of the bytes as they are, since such pictures hold shares and no colours.
    """
    if texture.alpha is not None:
        return texture.alpha >= THERE
    mask: npt.NDArray[np.bool_] = texture.pixels @ BRIGHTNESS >= THERE * BRIGHTNESS.sum()
    return mask
