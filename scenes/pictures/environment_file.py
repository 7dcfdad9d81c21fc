"""This module reads images of light from all around: OpenEXR, Radiance, PFM and NumPy files of linear radiance, PNG and
JPEG encoded as sRGB. It writes OpenEXR files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scenes.colors.srgb import decoded
from scenes.errors import SceneError, SceneFileError
from scenes.files.marks import WRITTEN_BY
from scenes.files.source_file import check_file, count_pixels, reason
from scenes.files.written_file import WriteError
from scenes.model import Color, Floats
from scenes.pictures.pfm import read_floats
from scenes.pictures.rgbe import read_rgbe

#: The most texels of an image: 8192 by 4096.
MAX_TEXELS = 1 << 25
MAX_FILE_BYTES = 1 << 30
#: The most channels of an OpenEXR file.
MAX_CHANNELS = 8
#: Radiance reaches so far, so that float32 can square it.
MAX_RADIANCE = 1e9
#: Names of the channels that OpenEXR files have together or one by one; luminance alone is grey.
TOGETHER, APART, GREY = ("RGB", "RGBA"), ("R", "G", "B"), "Y"


def read_environment(path: Path, scale: Color = (1.0, 1.0, 1.0)) -> Floats:
    """Reads the radiance of an image, (height, width, 3) float32, W/(m^2 sr), top row first.

    scale: a factor for each channel of the file's numbers.

    Raises SceneFileError where it cannot be read, has too many texels, or says what no radiance can be.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SceneFileError(path, None, f"expected an environment in a file that ends in {', '.join(READERS)}")
    check_file(path, MAX_FILE_BYTES)
    texels = reader(path)
    with np.errstate(all="ignore"):  # what overflows is not finite, and found
        radiance: Floats = texels * np.array(scale, np.float32)
    check_radiance(path, radiance)
    return radiance


def check_shape(path: Path, shape: tuple[int, ...]) -> None:
    """Raises SceneFileError unless an array of this shape is an image in colour, and not too large."""
    if len(shape) != 3 or shape[2] != 3 or 0 in shape:
        raise SceneFileError(path, None, f"expected an array of shape (height, width, 3), got {shape}")
    if shape[0] * shape[1] > MAX_TEXELS:
        raise SceneFileError(path, None, f"the image has {shape[1]}x{shape[0]} texels, at most {MAX_TEXELS} are read")


def check_radiance(path: Path, radiance: Floats) -> None:
    """Raises SceneFileError for negative, infinite and undefined radiance."""
    bad = ~((radiance >= 0.0) & (radiance <= MAX_RADIANCE))
    if bad.any():
        row, column, channel = np.argwhere(bad)[0]
        value = radiance[row, column, channel]
        place = f"row {row}, column {column}"
        raise SceneFileError(path, None, f"expected radiance from 0 to {MAX_RADIANCE:g}, got {value:g} in {place}")


def read_npy(path: Path) -> Floats:
    """Reads the floating point numbers of an array (height, width, 3)."""
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # arrays of other kinds, short files
        raise SceneFileError(path, None, f"is not a readable .npy file: {reason(error)}") from error
    if array.dtype.kind != "f":
        raise SceneFileError(path, None, f"expected floating point numbers, got {array.dtype}")
    check_shape(path, array.shape)
    count_pixels(path, array.shape[0] * array.shape[1], array.nbytes)
    with np.errstate(all="ignore"):
        return np.array(array, np.float32)


def read_exr(path: Path) -> Floats:
    """Reads the colours of an OpenEXR file, those of its first part."""
    try:
        import OpenEXR
    except ImportError as error:
        remedy = "OpenEXR is not installed; install it with: pip install OpenEXR"
        raise SceneFileError(path, None, f"cannot be read: {remedy}") from error
    try:
        with OpenEXR.File(str(path), header_only=True) as file:
            check_header(path, [part.header for part in file.parts])
        with OpenEXR.File(str(path)) as file:
            return colors({name: channel.pixels for name, channel in file.channels().items()})
    except SceneFileError:
        raise
    except Exception as error:  # OpenEXR raises many kinds on bad files
        raise SceneFileError(path, None, f"is not a readable .exr file: {reason(error)}") from error


def check_header(path: Path, headers: list[dict[str, Any]]) -> None:
    """Raises SceneFileError unless there are few channels in all and no part is too large: all would be decoded."""
    channels = sum(len(header["channels"]) for header in headers)
    if channels > MAX_CHANNELS:
        raise SceneFileError(path, None, f"expected at most {MAX_CHANNELS} channels, got {channels}")
    pixels = 0
    for header in headers:
        lower, upper = header["dataWindow"]
        width, height = (max(int(last) - int(first) + 1, 0) for first, last in zip(lower, upper, strict=True))
        check_shape(path, (height, width, 3))
        pixels += width * height
    count_pixels(path, pixels, path.stat().st_size)


def colors(channels: dict[str, npt.NDArray[Any]]) -> Floats:
    """Returns the colours, (height, width, 3), that the channels of a file hold. Raises ValueError where there are
    none."""
    for name in TOGETHER:
        if name in channels:
            return np.array(channels[name][..., :3], np.float32)
    if all(name in channels for name in APART):
        return np.stack([channels[name] for name in APART], axis=-1).astype(np.float32)
    if GREY in channels:
        return np.repeat(channels[GREY][..., None].astype(np.float32), 3, axis=-1)
    raise ValueError(f"it has no colours, but channels {', '.join(channels)[:80]}")


def write_exr(path: Path, radiance: Floats) -> None:
    """Writes radiance, (height, width, 3) float32, as the colours of an OpenEXR file. Raises SceneError where OpenEXR
    is not installed."""
    try:
        import OpenEXR
    except ImportError as error:
        remedy = "OpenEXR is not installed; install it with: pip install OpenEXR"
        raise SceneError(f"{path.name} cannot be written: {remedy}") from error
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage, "comments": WRITTEN_BY}
    with OpenEXR.File(header, {"RGB": np.ascontiguousarray(radiance)}) as file:
        try:
            file.write(str(path))
        except RuntimeError as error:  # of OpenEXR, whatever is wrong with the disk
            raise WriteError(path, error) from error


def read_picture(path: Path) -> Floats:
    """Reads a picture of bytes, whose white stands for radiance 1."""
    from scenes.pictures.texture_file import read_texture  # not for radiance

    pixels = read_texture(path, ("PNG", "JPEG")).pixels
    check_shape(path, pixels.shape)
    return decoded(pixels, np.float32)


def read_hdr(path: Path) -> Floats:
    """Reads a picture of Radiance."""
    return read_rgbe(path, MAX_TEXELS)


def read_pfm(path: Path) -> Floats:
    """Reads a portable float map."""
    return read_floats(path, MAX_TEXELS)


#: Readers of files, by suffix.
READERS: dict[str, Callable[[Path], Floats]] = {
    ".exr": read_exr,
    ".hdr": read_hdr,
    ".npy": read_npy,
    ".pfm": read_pfm,
    ".rgbe": read_hdr,
    ".png": read_picture,
    ".jpg": read_picture,
    ".jpeg": read_picture,
}
