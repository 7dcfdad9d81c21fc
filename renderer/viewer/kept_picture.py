"""A picture that is in a file already, as the viewer shows it."""

from functools import partial

from renderer.film.picture_file import PictureFile
from renderer.film.tone_mapping import ToneMapping
from renderer.viewer.live_picture import Floats, Shown, mapping_facts


def shown_file(picture: PictureFile, name: str, reference: Floats | None = None) -> Shown:
    """Returns what the viewer shows of a file.

    name: of the file.
    reference: light that it is compared with, of the same shape, or None.
    """
    mapping = mapping_of(picture)
    layers = picture.layers | ({} if reference is None else {"reference": reference})
    return Shown(
        facts={
            "status": "finished",
            "is_file": True,
            "scene": name,
            "size": [picture.image.shape[1], picture.image.shape[0]],
            "layers": list(layers),
            "mapping": mapping_facts(mapping),
        },
        layers={name: partial(_same, layer) for name, layer in layers.items()},
    )


def mapping_of(picture: PictureFile) -> ToneMapping:
    """Returns how the picture of a file is shown: light by the photographic curve, and what is for screens as it is."""
    return ToneMapping(curve="reinhard" if picture.is_linear else "linear")


def _same(layer: Floats) -> Floats:
    return layer
