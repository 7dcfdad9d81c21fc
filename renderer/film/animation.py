"""One file of all frames of a film, in the formats that Pillow and PyAV write."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import ExifTags, Image

from renderer.atomic_file import atomic_file
from renderer.film.image_file import png_texts
from renderer.film.video import VIDEOS, write_video
from renderer.version import SOFTWARE
from scenes.files.marks import WRITTEN_BY
from tracecore.threads import usable_cores


def _exif() -> Image.Exif:
    """Returns what names the software in pictures that have no other place for it."""
    exif = Image.Exif()
    exif[ExifTags.Base.Software] = WRITTEN_BY
    return exif


#: The formats, by suffix: how Pillow calls each or PyAV its encoder, and how it is to write.
ANIMATED: dict[str, tuple[str, dict[str, Any]]] = {
    ".gif": ("GIF", {"loop": 0, "disposal": 1, "comment": WRITTEN_BY.encode()}),
    ".webp": ("WEBP", {"loop": 0, "quality": 90, "method": 4, "exif": _exif()}),
    ".apng": ("PNG", {"loop": 0, "pnginfo": png_texts({"Software": SOFTWARE})}),
    **VIDEOS,
}


def animation_of(path: Path, frames_per_second: float) -> Animation | None:
    """Returns the file of all frames that a name asks for, or None where it asks for frames alone."""
    suffix = path.suffix.lower()
    if suffix not in ANIMATED:
        return None
    return (GifAnimation if suffix == ".gif" else Animation)(path, frames_per_second)


class Animation:
    """One file of frames, which are added as they are finished; a few at a time are in memory when it is written."""

    def __init__(self, path: Path, frames_per_second: float) -> None:
        self.path, self.frames_per_second = path, frames_per_second
        self._stills: list[Path] = []

    def add(self, still: Path) -> None:
        """Adds the next frame, a .png file."""
        self._stills.append(still)

    def write(self) -> None:
        """Writes all frames, of which there is one at least."""
        suffix = self.path.suffix.lower()
        if suffix in VIDEOS:
            with atomic_file(self.path) as file:
                write_video(file, suffix, _Pictures(self._stills), self.frames_per_second)
        else:
            self._save(_read(self._stills[0]), _Pictures(self._stills[1:]))  # Pillow looks at those twice

    def _save(self, first: Image.Image, others: Any) -> None:
        name, options = ANIMATED[self.path.suffix.lower()]
        options = options | {"append_images": others, "duration": round(1000.0 / self.frames_per_second)}
        with atomic_file(self.path) as file:
            first.save(file, name, save_all=True, **options)


class GifAnimation(Animation):
    """A GIF: each frame gets the 256 colours that suit it as soon as it is added, which takes most of the time."""

    def __init__(self, path: Path, frames_per_second: float) -> None:
        super().__init__(path, frames_per_second)
        self._threads = ThreadPoolExecutor(usable_cores(), "palettes")
        self._pictures = deque[Any]()

    def add(self, still: Path) -> None:
        """Adds the next frame, a .png file."""
        self._pictures.append(self._threads.submit(_read_with_palette, still))

    def write(self) -> None:
        """Writes all frames, of which there is one at least."""
        pictures = (self._pictures.popleft().result() for _ in range(len(self._pictures)))
        self._save(next(pictures), pictures)


def _read(still: Path) -> Image.Image:
    """Returns the picture of a file."""
    with Image.open(still) as image:
        return image.convert("RGB")


def _read_with_palette(still: Path) -> Image.Image:
    """Returns the picture of a file in the 256 colours that suit it."""
    return _read(still).convert("P", palette=Image.Palette.ADAPTIVE)


@dataclass(frozen=True)
class _Pictures:
    """Reads pictures when they are needed, as often as they are; as many at once as there are cores."""

    stills: Sequence[Path]

    def __iter__(self) -> Iterator[Image.Image]:
        ahead = usable_cores()
        with ThreadPoolExecutor(ahead) as threads:
            reading = deque(threads.submit(_read, still) for still in self.stills[:ahead])
            for k in range(len(self.stills)):
                reading.extend(threads.submit(_read, still) for still in self.stills[k + ahead : k + ahead + 1])
                yield reading.popleft().result()
