"""A picture that has been made: its light, how it is shown, what is known of it, and files of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.atomic_file import write_whole
from renderer.film import image_file
from renderer.film.film import Film
from renderer.film.tone_mapping import ToneMapping
from renderer.settings.picture import COVERAGE_LAYER


class PngPicture(NamedTuple):
    """Is a picture as its .png file has it, which takes much less memory than its light. content: of the file."""

    content: bytes

    def write(self, path: Path) -> None:
        """Writes the file."""
        write_whole(path, self.content)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Picture:
    """A picture as it is after some passes; it does not change when more are made. NumPy takes it for its `image`.

    film: the passes.
    texts: what is kept in a file: scene, driver and all settings that decide the pixels.
    figures: its statistics, but for what has to be measured on the film.
    mapping: from light to what a screen shows.
    layer_names: of what was asked for beside the picture.
    first_hits: layers of the middles of pixels, and what covers these, by name.
    material_names: of all materials, where mattes of them are kept.
    group_names: of the light groups, where these are told apart.
    is_denoised: whether it is shown without noise.
    is_finished: whether it has all passes that were asked for.
    window: which part of a picture it is, or None for all of it.
    film_time: which frame of a film it is, where its file is to say so.
    is_multi_part: whether an .exr of it has a part for each layer.
    """

    film: Film
    texts: dict[str, str]
    figures: dict[str, Any]
    mapping: ToneMapping
    layer_names: tuple[str, ...] = ()
    first_hits: Mapping[str, npt.NDArray[np.float32]] = field(default_factory=dict)
    material_names: tuple[str, ...] = ()
    group_names: tuple[str, ...] = ()
    is_denoised: bool = False
    is_finished: bool = True
    window: image_file.Window | None = None
    film_time: image_file.FilmTime | None = None
    is_multi_part: bool = False

    def __repr__(self) -> str:
        """Return what it is, in a line."""
        height, width = self.image.shape[:2]
        passes = f"{self.passes} pass{'' if self.passes == 1 else 'es'}{'' if self.is_finished else ', unfinished'}"
        seconds = f"{self.figures['seconds.total']:.1f} s"
        return f"<Picture of {self.texts['scene']}: {width}x{height}, {self.texts['driver']}, {passes}, {seconds}>"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return `image` to NumPy. dtype, copy: as `numpy.asarray` has them."""
        return np.array(self.image, dtype=dtype, copy=copy)

    @cached_property
    def statistics(self) -> dict[str, Any]:
        """As `tracecore photons --help` explains them; noise and bias are measured when somebody asks first."""
        of_film = {"noise": self.film.relative_noise, "bias": self.film.relative_bias}
        return self.figures | of_film | {"samples.mean": float(self.film.samples.mean())}

    @property
    def passes(self) -> int:
        """The number of passes that the picture is the mean of."""
        return self.film.passes

    @property
    def image(self) -> npt.NDArray[np.float32]:
        """The picture: (height, width, 3) float32, linear radiance in sRGB primaries, first row at the top."""
        return self.film.linear

    @property
    def layers(self) -> dict[str, npt.NDArray[np.float32]]:
        """What stands beside the picture, by name; empty unless `layers` or `denoise` was asked for.

        albedo, normal, direct, indirect, caustic: (height, width, 3) float32. depth (world units), noise (standard
        error of `image`), density (photons found per square metre and pass): (height, width) float32. denoised: as
        `image`, where `denoise` was asked for. By name alone: variance (square of noise), samples (of each pixel), what
        `first_hits` of `renderer.scene` tells of the middles of pixels, cryptomatte, which `coverage` of
        `renderer.camera_paths` tells, and for lights `light.NAME` of each light group, as `image`: together they are
        the image.
        """
        found = dict(self.film.layers)
        if self.layer_names:
            noise = self.film.noise
            known = {
                **found,
                "noise": noise,
                "variance": np.square(noise),
                "samples": self.film.samples.astype(np.float32),
            }
            known |= self.first_hits
            found = {name: layer for name, layer in known.items() if name in self.layer_names} | self._light_groups
        if self.is_denoised:
            found["denoised"] = self._denoised
        return found

    @property
    def _light_groups(self) -> dict[str, npt.NDArray[np.float32]]:
        if not self.group_names:
            return {}
        groups = np.moveaxis(self.film.light_groups, 2, 0)
        return {f"light.{name}": group for name, group in zip(self.group_names, groups, strict=True)}

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The picture as a screen shows it: (height, width, 3) uint8, sRGB encoded, by exposure and tone curve."""
        return self.mapping(self._denoised if self.is_denoised else self.image)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file.

        path: its name ends in .png (as a screen shows it, settings inside), .exr (linear, with layers if asked for) or
        .npy (`image` alone).

        Raises `UsageError` where the file cannot be written.
        """
        image_file.check_writable(Path(path))
        self.write(Path(path))

    def write(self, path: Path) -> None:
        """Write the picture to a file whose path has been checked."""
        match path.suffix.lower():
            case ".exr":
                layers, texts = self._exr_layers(), self.texts
                if COVERAGE_LAYER in layers:
                    from renderer.film.cryptomatte import Mattes

                    mattes = Mattes(layers.pop(COVERAGE_LAYER), self.material_names)
                    layers, texts = layers | mattes.layers(), texts | mattes.header()
                form = image_file.ExrForm(self.window, self.film_time, self.is_multi_part)
                image_file.write_exr(path, layers, texts, form)
            case ".npy":
                image_file.write_array(path, self.image)
            case _:
                image_file.write_png(path, self.pixels, self.texts)

    @property
    def png(self) -> bytes:
        """The content of a .png file: the picture as a screen shows it, settings inside."""
        return image_file.png_content(self.pixels, self.texts)

    def _repr_png_(self) -> bytes:
        """Return the content of a .png file, by which notebooks show the picture."""
        return self.png

    def _exr_layers(self) -> dict[str, npt.NDArray[np.float32]]:
        """Return what an .exr holds: features that only denoising needed are left out."""
        shown = self.layers if self.layer_names else {}
        denoised = {"denoised": self._denoised} if self.is_denoised else {}
        return {"beauty": self.image} | shown | denoised

    @cached_property
    def _denoised(self) -> npt.NDArray[np.float32]:
        from renderer.film.denoising import denoised

        return denoised(self.film.linear, self.film.layers)
