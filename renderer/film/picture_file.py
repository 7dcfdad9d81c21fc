"""Pictures are read back from files, the layers of an .exr, the array of an .npy, .hdr or .pfm, the light of a .png,
and others are written of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from renderer.atomic_file import Replace, check_outputs
from renderer.errors import UsageError
from renderer.film.image_file import PICTURE_SUFFIXES, check_exr, check_writable, write_array, write_exr, write_png
from renderer.version import SOFTWARE
from scenes.colors.srgb import decoded
from scenes.keys.values import MAX_PIXELS

Floats = npt.NDArray[np.float32]

#: What the names of files that are read end in: of those that are written, and of two that others write.
READABLE = (*PICTURE_SUFFIXES, ".hdr", ".pfm")

#: An .exr has no more channels, and what is read of it is no more than so many numbers.
MOST_CHANNELS, MOST_NUMBERS = 256, 1 << 28


@dataclass(frozen=True, kw_only=True, eq=False)
class PictureFile:
    """Holds what a file has of a picture.

    layers: by name, (height, width, 3) or (height, width) float32, the picture first; light is linear.
    is_linear: whether it is light, and not what a screen shows of it.
    """

    layers: dict[str, Floats]
    is_linear: bool

    @property
    def image(self) -> Floats:
        """Returns the picture: (height, width, 3) float32."""
        image = next(iter(self.layers.values()))
        return image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)


def size_words(image: npt.NDArray[np.generic]) -> str:
    """Returns width and height of a picture, (height, width, ...), in words."""
    return f"{image.shape[1]}x{image.shape[0]}"


def read_picture(path: Path) -> PictureFile:
    """Returns the picture of a file whose name ends in one of `READABLE`.

    Raises `UsageError`, one line, for a file that is not there or holds something else.
    """
    readers = {
        ".exr": _read_exr,
        ".npy": _read_array,
        ".png": _read_png,
        ".hdr": _read_radiance,
        ".pfm": _read_radiance,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"cannot read '{path}': the name must end in one of {', '.join(READABLE)}")
    if not path.is_file():
        raise UsageError(f"cannot read '{path}': {'it is a folder' if path.is_dir() else 'there is no such file'}")
    if path.suffix.lower() == ".exr":
        check_exr(path)
    try:
        return reader(path)
    except UsageError:
        raise
    except Exception as error:  # what reads images raises many kinds on bad files
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError(f"cannot read '{path}' as a picture: {reason}") from error


def _read_array(path: Path) -> PictureFile:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] != 3) or array.dtype.kind not in "fiu":
        raise UsageError(f"cannot read '{path}': expected numbers (height, width, 3), got {array.dtype} {array.shape}")
    _check_size(path, array.shape)
    return PictureFile(layers={"picture": np.array(array, np.float32)}, is_linear=True)


def _read_radiance(path: Path) -> PictureFile:
    from scenes.pictures.environment_file import READERS

    return PictureFile(layers={"picture": READERS[path.suffix.lower()](path)}, is_linear=True)


def _read_png(path: Path) -> PictureFile:
    from PIL import Image

    with Image.open(path, formats=("PNG",)) as image:
        _check_size(path, (image.height, image.width))
        pixels = np.asarray(image.convert("RGB"))
    return PictureFile(layers={"picture": decoded(pixels, np.float32)}, is_linear=False)


def _read_exr(path: Path) -> PictureFile:
    import OpenEXR

    with OpenEXR.File(str(path), header_only=True) as file:
        (left, upper), (right, lower) = file.header()["dataWindow"]
        channels = sum(len(part.header["channels"]) for part in file.parts)
    shape = (int(lower) - int(upper) + 1, int(right) - int(left) + 1)
    _check_size(path, shape)
    if channels > MOST_CHANNELS or channels * shape[0] * shape[1] > MOST_NUMBERS:
        raise UsageError(f"cannot read '{path}': {channels} channels of {shape[1]}x{shape[0]} pixels are too many")
    found: dict[str, Floats] = {}
    with OpenEXR.File(str(path)) as file:
        for part in file.parts:  # channels that several parts have are those of the first one, or called by their part
            for name, channel in part.channels.items():
                own = name if name not in found else part.name() if name == "RGB" else f"{part.name()}.{name}"
                found[own] = np.array(channel.pixels, np.float32)
    layers = {name: plane for name, plane in _layers_of(found).items() if plane.shape[:2] == shape}
    if not layers:
        raise UsageError(f"cannot read '{path}': it has no channel of the size of its picture")
    first = "picture" if "picture" in layers else next(iter(layers))
    return PictureFile(layers={first: layers.pop(first), **layers}, is_linear=True)


def _layers_of(channels: dict[str, Floats]) -> dict[str, Floats]:
    """Returns layers of the channels of a file, named as `image_file.write_exr` names them: RGB, Z, a of a.R, a.G and
    a.B, which OpenEXR puts together itself, of a.X, a.Y and a.Z, or of a.Y alone.
    """
    layers: dict[str, Floats] = {}
    for name, plane in channels.items():
        layer, _, part = name.rpartition(".")
        if part in ("X", "Z") and f"{layer}.Y" in channels:
            continue
        if part == "Y" and {f"{layer}.X", f"{layer}.Z"} <= channels.keys():
            layers[layer] = np.stack([channels[f"{layer}.{axis}"] for axis in "XYZ"], axis=2)
        else:
            plain = {"RGB": "picture", "RGBA": "picture", "Z": "depth"}.get(name, name.removesuffix(".Y"))
            layers[plain] = plane[..., :3] if plane.ndim == 3 else plane
    return layers


def _check_size(path: Path, shape: tuple[int, ...]) -> None:
    """Raises `UsageError` for a picture that is too large, or has no pixels. shape: rows and columns first."""
    if min(shape[:2]) < 1 or shape[0] * shape[1] > MAX_PIXELS:
        raise UsageError(f"cannot read '{path}': expected 1 to {MAX_PIXELS} pixels, got {shape[1]}x{shape[0]}")


def finite(image: Floats, path: Path) -> Floats:
    """Returns an image. path: of its file. Raises `UsageError` where some of its numbers are infinite or none."""
    wrong = int(np.count_nonzero(~np.isfinite(image).all(axis=2)))
    if wrong:
        raise UsageError(f"'{path}' has {wrong} pixels that are no finite numbers; render it again")
    return image


def check_output(path: Path, inputs: Iterable[Path], replace: Replace) -> None:
    """Raises `UsageError` where a picture cannot be written, is one of those that are read, or may not be replaced."""
    check_outputs([path], inputs)
    check_writable(path, replace)


def write_picture(path: Path, layers: Mapping[str, Floats], pixels: npt.NDArray[np.uint8]) -> None:
    """Writes a picture, by the end of its file's name.

    layers: the picture first, as `PictureFile` has them; an .npy has the picture alone.
    pixels: (height, width, 3) uint8, what a .png shows.
    """
    (_, image), *others = layers.items()
    texts = {"Software": SOFTWARE}
    match path.suffix.lower():
        case ".exr":
            write_exr(path, {"beauty": image, **dict(others)}, texts)
        case ".npy":
            write_array(path, image)
        case _:
            write_png(path, pixels, texts)
