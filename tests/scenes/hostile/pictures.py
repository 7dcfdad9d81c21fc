"""Hostile pictures: textures, and light from all around."""

import io
import struct
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from hostile.case import Case, files
from hostile.toml import SCENE

TEXTURE = 'texture = "a{}"\n'
SKY = '[environment]\nimage = "a{}"\n'


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, rows: bytes, bits: int = 8, color: int = 2) -> bytes:
    """Returns a PNG file whose rows are as they are given."""
    head = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def saved(kind: str, size: tuple[int, int] = (8, 8)) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.arange(3 * size[0] * size[1], dtype=np.uint8).reshape(*size, 3)).save(file, kind)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def texture(
    name: str, expected: str, suffix: str, data: bytes | Callable[[], bytes], *, is_large: bool = False
) -> Case:
    """Returns a case of a picture on a triangle."""

    def make(folder: Path) -> Path:
        (folder / f"a{suffix}").write_bytes(data if isinstance(data, bytes) else data())
        (folder / "a.toml").write_text(SCENE.replace("diffuse", f"{TEXTURE.format(suffix)}diffuse"))
        return folder / "a.toml"

    return Case(name, make, expected, is_large)


def sky(name: str, expected: str, suffix: str, data: bytes) -> Case:
    """Returns a case of light from all around."""
    return files(name, expected, "a.toml", {"a.toml": SCENE + SKY.format(suffix), f"a{suffix}": data})


def many_textures(count: int, folder: Path) -> Path:
    """Writes as many pictures of 64 million pixels each."""
    rows = bytes(1 + 8192) * 8192
    data = png(8192, 8192, rows, color=0)
    text = ""
    for k in range(count):
        (folder / f"{k}.png").write_bytes(data)
        text += f'[materials.m{k}]\ntexture = "{k}.png"\n'
    (folder / "a.toml").write_text(text + SCENE)
    return folder / "a.toml"


CASES = [
    texture(
        "a PNG of 16400 x 16400 in 260 kB",
        "it has 16400 x 16400 pixels",
        ".png",
        lambda: png(16400, 16400, bytes((1 + 16400) * 16400), color=0),
        is_large=True,
    ),
    texture("a PNG of 2^31 x 2^31", "pixels", ".png", png(2**31 - 1, 2**31 - 1, b"")),
    texture("a PNG of short rows", "rows", ".png", png(8, 8, bytes(20 * 8))),
    texture("a PNG that is cut off", "picture", ".png", saved("PNG", (64, 64))[:-60]),
    texture("a PNG of no bytes", "is empty", ".png", b""),
    texture("a PNG whose bytes are wrong", "picture", ".png", png(8, 8, bytes(200)).replace(b"IDAT", b"IDOT")),
    texture(
        "a PNG of a text of 400 MB",
        "picture",
        ".png",
        lambda: (
            png(8, 8, bytes(200))[:33]
            + chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(400 << 20), 9))
            + png(8, 8, bytes(200))[33:]
        ),
        is_large=True,
    ),
    texture("a JPEG that is cut off", "picture", ".jpg", saved("JPEG", (64, 64))[:300]),
    texture("a JPEG of zeros", "picture", ".jpg", bytes(1000)),
    texture("a PPM of 1e9 columns", "1000000000 x 1000000000 pixels", ".ppm", b"P6 1000000000 1000000000 255\n"),
    texture("a PPM that is cut off", "picture", ".ppm", b"P6 8 8 255\nabc"),
    texture("a PPM of NaN", "picture", ".ppm", b"P6 nan 8 255\nabc"),
    Case("twenty pictures of 67 million pixels", partial(many_textures, 20), "pixels", is_large=True),
    sky("a sky of 1e9 rows", "texels", ".hdr", b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 999999999 +X 999999999\n"),
    sky("a sky that is cut off", "ends early", ".hdr", b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 8 +X 8\nabc"),
    sky(
        "a sky of runs beyond its rows",
        "ends early",
        ".hdr",
        b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 8 +X 8\n\2\2\0\x08" + b"\xff" * 999,
    ),
    sky("a sky without a header's end", "empty line", ".hdr", b"#?" + b"a=b\n" * 100_000),
    sky("a sky of objects", "readable .npy", ".npy", npy(np.array([None] * 3))),
    sky(
        "a sky of 2^40 texels in 128 bytes",
        "readable .npy",
        ".npy",
        npy(np.zeros((2, 4, 3), np.float32)).replace(b"(2, 4, 3)", b"(999999999, 9, 3)"[:9]),
    ),
    sky("an EXR of nothing", ".exr", ".exr", b"v/1\1" + bytes(1000)),
]
