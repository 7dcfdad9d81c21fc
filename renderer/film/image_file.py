"""Pictures on disk: `.png` for screens with text about how it was made, `.npy` and `.exr` for linear radiance."""

import io
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.atomic_file import Replace, atomic_file, check_replaceable, temporary_beside
from renderer.errors import UsageError
from scenes.files import marks
from scenes.files.written_file import WriteError, target_of

if TYPE_CHECKING:
    from PIL.PngImagePlugin import PngInfo

#: What `-o` may end in.
PICTURE_SUFFIXES = (".png", ".exr", ".npy")

#: Where results go by default: the one folder that is made where it is missing.
DEFAULT_FOLDER = Path("output")


class Window(NamedTuple):
    """Says which part of a picture there is: its left column, its upper row, and the size of the whole, pixels."""

    left: int
    upper: int
    width: int
    height: int


class FilmTime(NamedTuple):
    """Says which frame of a film a picture is: its number, from 0, and how many there are in a second."""

    frame: int
    frames_per_second: float


class ExrForm(NamedTuple):
    """Says how a picture lies in an .exr.

    window: which part of a picture it is, which becomes the file's data window; None for all of it.
    film_time: of a frame, which becomes its `framesPerSecond` and `timeCode`; None for no frame.
    is_multi: whether each layer is a part of the file, so that whoever wants one reads no other; mattes of one kind are
        one part.
    """

    window: Window | None = None
    film_time: FilmTime | None = None
    is_multi: bool = False


#: How a picture lies where nobody asks for anything else, and how the names of layers of mattes begin.
PLAIN_FORM, MATTES = ExrForm(), "Crypto"

#: Greatest denominator of frames per second: 24000/1001 and the like are among them.
MOST_PARTS = 1001

#: Frames in a second at most of which there are time codes, which count them as a whole number, and how far off that
#: may be: 30000/1001 are counted as 30. Flags and user groups of time codes.
MOST_CODED, MOST_DRIFT, NO_FLAGS, NO_USER_GROUPS = 30, 0.05, (0,) * 6, (0,) * 8


def check_writable(path: Path, replace: Replace = "any") -> None:
    """Raise `UsageError` now if a picture could not be written to `path` later. The default folder may be missing."""
    if path.suffix.lower() not in PICTURE_SUFFIXES:
        raise UsageError(f"cannot write '{path}': the name must end in one of {', '.join(PICTURE_SUFFIXES)}")
    if path.suffix.lower() == ".exr":
        check_exr(path)
    check_folder(path, replace)


def check_folder(path: Path, replace: Replace = "any") -> None:
    """Raise `UsageError` if no file can be put at `path`: no such folder, a folder or another file in its place, or not
    allowed.
    """
    if path.parent == DEFAULT_FOLDER and not os.path.lexists(DEFAULT_FOLDER):
        return
    if path.is_dir():
        raise UsageError(f"cannot write '{path}': it is a folder; give the name of a file")
    try:
        target = target_of(path)
    except NotADirectoryError:
        target = path
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error
    if path.exists() and not os.access(path, os.W_OK):
        raise UsageError(f"cannot write '{path}': it is protected against writing; choose another name")
    if target is not None:
        folder = target.parent if path.is_symlink() else path.parent
        if not folder.is_dir():
            remedy = "it is a file" if folder.exists() else "make it first"
            raise UsageError(f"cannot write '{path}': there is no folder '{folder}'; {remedy}")
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise UsageError(f"cannot write to the folder '{folder}': {error.strerror}") from error
    check_replaceable([path], replace)


def make_default_folder(paths: Iterable[Path | None]) -> None:
    """Make the default folder if one of the paths is in it and it is missing. Raises `UsageError` if that fails."""
    if all(path is None or path.parent != DEFAULT_FOLDER for path in paths):
        return
    try:
        DEFAULT_FOLDER.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make the folder '{DEFAULT_FOLDER}': {error.strerror}; name files in another folder"
        ) from error


def check_photon_path(path: Path, replace: Replace = "any", suffix: str = ".npz") -> None:
    """Raise `UsageError` now if photons could not be kept at `path` later. The suffix keeps them off other files."""
    if path.suffix.lower() != suffix:
        raise UsageError(f"cannot keep photons in '{path}': the name must end in {suffix}")
    check_folder(path, replace)


def check_exr(path: Path) -> None:
    """Raise `UsageError` where OpenEXR is not installed. path: that is to be written or read."""
    try:
        import OpenEXR  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"'{path}' needs OpenEXR, which is not installed; install it with: pip install OpenEXR"
        ) from error


def write_png(path: Path, pixels: npt.NDArray[np.uint8], texts: Mapping[str, str]) -> None:
    """Write (height, width, 3) uint8 sRGB; `texts` are kept in the file as its text chunks."""
    with atomic_file(path) as file:
        file.write(png_content(pixels, texts))


def png_content(pixels: npt.NDArray[np.uint8], texts: Mapping[str, str]) -> bytes:
    """Return the bytes of a .png file of (height, width, 3) uint8 sRGB; `texts` are its text chunks."""
    from PIL import Image

    content = io.BytesIO()  # what is rendered repeats itself in runs at most, for which nothing else is looked
    Image.fromarray(pixels).save(content, "PNG", pnginfo=png_texts(texts), compress_type=zlib.Z_RLE)
    return content.getvalue()


def png_texts(texts: Mapping[str, str]) -> "PngInfo":
    """Return what Pillow is given to write a .png of sRGB with these texts."""
    from PIL import PngImagePlugin

    info = PngImagePlugin.PngInfo()
    info.add(b"sRGB", b"\0")  # rendering intent: perceptual
    for keyword, text in texts.items():
        info.add_text(keyword, encodable(text))
    return info


def encodable(text: str) -> str:
    """Return a text with question marks for what has no place in UTF-8: bytes of file names that are none."""
    return text.encode("utf-8", "replace").decode("utf-8")


def read_texts(path: Path) -> dict[str, str]:
    """Returns the text chunks of a PNG file."""
    from PIL import Image

    with Image.open(path) as image:
        image.load()
        return {str(key): str(value) for key, value in image.info.items() if isinstance(value, str)}


def write_array(path: Path, array: npt.NDArray[np.generic]) -> None:
    """Write any array as a `.npy` file, whatever the name of the file ends in."""
    with atomic_file(path) as file:
        marks.write_array(file, array)


def write_exr(
    path: Path,
    layers: Mapping[str, npt.NDArray[np.float32]],
    texts: Mapping[str, str],
    form: ExrForm = PLAIN_FORM,
) -> None:
    """Write layers of a picture as OpenEXR; `texts` become header attributes.

    layers: by name, (height, width, n) or (height, width) float32. `beauty` becomes the channels R, G, B and `depth` Z,
    as other programs expect; a layer `a` of three a.R, a.G, a.B, or a.X, a.Y, a.Z if it is
    normals or positions, of two a.U, a.V, of one a.Y, and of four also a.A.
    """
    import OpenEXR

    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    if form.window is not None:
        header |= _windows(form.window, layers["beauty"].shape)
    if form.film_time is not None:
        header |= _film_attributes(form.film_time)
    parts: dict[str, dict[str, npt.NDArray[np.float32]]] = {}
    for layer, values in layers.items():
        name = layer.rstrip("0123456789") if layer.startswith(MATTES) else layer
        parts.setdefault(name if form.is_multi else "beauty", {}).update(_channels(layer, values))
    attributes = {keyword: encodable(text) for keyword, text in texts.items()}
    own = [attributes, *(_attributes_of_mattes(attributes) if name.startswith(MATTES) else {} for name in [*parts][1:])]
    if form.is_multi:
        made = zip(parts.items(), own, strict=True)
        whole = OpenEXR.File([OpenEXR.Part(header | more, channels, name) for (name, channels), more in made])
    else:
        whole = OpenEXR.File(header | attributes, parts["beauty"])
    with temporary_beside(path) as temporary, whole as file:
        try:
            file.write(str(temporary))
        except RuntimeError as error:  # of OpenEXR, whatever is wrong with the disk
            raise WriteError(path, OSError(str(error).replace(str(temporary), path.name))) from error


def _attributes_of_mattes(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return those attributes of a header by which other programs find mattes."""
    return {keyword: text for keyword, text in attributes.items() if keyword.startswith("cryptomatte/")}


def _windows(window: Window, shape: tuple[int, ...]) -> dict[str, tuple[npt.NDArray[np.int32], ...]]:
    """Return the header's windows, first and last column and row. shape: of the layers, rows and columns first."""

    def corners(left: int, upper: int, width: int, height: int) -> tuple[npt.NDArray[np.int32], ...]:
        return np.array([left, upper], np.int32), np.array([left + width - 1, upper + height - 1], np.int32)

    return {
        "dataWindow": corners(window.left, window.upper, shape[1], shape[0]),
        "displayWindow": corners(0, 0, window.width, window.height),
    }


def _film_attributes(film_time: FilmTime) -> dict[str, Any]:
    """Return the header's rate and SMPTE time code (ST 12-1) of a frame; the code starts anew after a day."""
    import OpenEXR

    rate = rate_of(film_time.frames_per_second)
    counted_rate = round(rate)
    if not 1 <= counted_rate <= MOST_CODED or abs(rate - counted_rate) > MOST_DRIFT:
        return {"framesPerSecond": rate}
    second, frame = divmod(film_time.frame, counted_rate)
    counted = (second // 3600 % 24, second // 60 % 60, second % 60, frame)
    return {"framesPerSecond": rate, "timeCode": OpenEXR.TimeCode(*counted, *NO_FLAGS, *NO_USER_GROUPS)}


def rate_of(frames_per_second: float) -> Fraction:
    """Return frames per second as a fraction, as files of films have it."""
    return Fraction(frames_per_second).limit_denominator(MOST_PARTS)


def _channels(layer: str, values: npt.NDArray[np.float32]) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    """Yield names and planes of a layer's channels."""
    if layer == "beauty":
        yield "RGB", np.ascontiguousarray(values)
    elif layer == "depth":
        yield "Z", np.ascontiguousarray(values)
    elif values.ndim == 2:
        yield f"{layer}.Y", np.ascontiguousarray(values)
    else:
        names = "UV" if values.shape[2] == 2 else "XYZ" if layer in ("normal", "position") else "RGBA"
        for channel, name in enumerate(names[: values.shape[2]]):
            yield f"{layer}.{name}", np.ascontiguousarray(values[..., channel])
