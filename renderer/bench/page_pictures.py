"""Pictures are made small enough for a page that carries them inside."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace

from PIL import Image

from renderer.bench.page import Figure
from renderer.bench.report import Pictures

#: By how much pictures are shrunk, one after the other until they fit.
SHRINKS = (1, 2, 4, 8)

#: From 0 to 100, of the compression.
QUALITY = 60


def compact_svg(content: bytes) -> bytes:
    """Returns a drawing in fewer bytes: without indentation, and with two digits behind the point."""
    return re.sub(rb"(\.\d\d)\d+", rb"\1", re.sub(rb"\n\s+", b"\n", content))


def fitted(pictures: Pictures, most: int) -> Pictures:
    """Returns the pictures compressed, and shrunk as far as it takes.

    pictures: all of a page; plots stay as they are.
    most: bytes of views and heat maps together; they may have more where the last of `SHRINKS` does not suffice.
    """
    for shrink in SHRINKS:
        views, heats = (_compressed(figures, shrink) for figures in (pictures.views, pictures.heat_maps))
        if sum(len(figure.content) for figure in (*views, *heats)) <= most:
            break
    return replace(pictures, views=views, heat_maps=heats)


def _compressed(figures: Sequence[Figure], shrink: int) -> list[Figure]:
    return [replace(figure, content=_webp(figure.content, shrink), media_type="image/webp") for figure in figures]


def _webp(content: bytes, shrink: int) -> bytes:
    file = io.BytesIO()
    with Image.open(io.BytesIO(content)) as image:
        image.convert("RGB").reduce(shrink).save(file, "WEBP", quality=QUALITY)
    return file.getvalue()
