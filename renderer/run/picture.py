"""One picture: a driver that runs to its limits, and the files that are left of it."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from renderer import __version__
from renderer.atomic_file import temporary_beside
from renderer.film import image_file
from renderer.film.film import Film
from renderer.film.layers import COLUMNS
from renderer.film.tone_mapping import ToneMapping
from renderer.interrupts import held_back
from renderer.run import statistics
from renderer.run.session import Limits, render
from tracecore.dispatch.tracer import Limits as TracerLimits

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from renderer.drivers.driver import Driver, RenderSettings
    from renderer.run.motion import Motion, MotionDriver
    from renderer.run.statistics import Statistics
    from renderer.scene.render_context import Stage
    from scenes.model import Snapshot
    from tracecore.dispatch.tracer import Tracer


#: Between two unfinished pictures, unless something else is asked for.
PREVIEW_SECONDS = 5.0


class PhotonKeeper(Protocol):
    """A driver whose photon map can be kept."""

    def save_photons(self, path: Path) -> None:
        """Write the photons, as `renderer.photons.photon_map.save_photons` does."""


@dataclass(frozen=True, kw_only=True)
class PictureOrder:
    """What is to be made, whatever the scene.

    kind: of driver. settings: for a snapshot. limits: when to stop. exposure: in stops. curve: for the brights.
    photon_path: where the photon map is kept, of a driver that has one. preview: at least so many seconds between two
    unfinished pictures. denoise: show a .png without noise, and have a layer of it. motion: of the scene while the
    shutter is open, or None for a moment of it.
    """

    kind: Callable[[Snapshot, Tracer, RenderSettings], Driver]
    settings: Callable[[Snapshot], RenderSettings]
    limits: Limits
    exposure: float = 0.0
    curve: str = "reinhard"
    photon_path: Path | None = None
    preview: float = PREVIEW_SECONDS
    denoise: bool = False
    motion: Motion | None = None
    quiet: bool = False


@dataclass(frozen=True, kw_only=True)
class Made:
    """A picture that has been made. finished: to its limits. passes: that are saved, 0 if there is no picture.

    trace_seconds: wall time in which the CPU threads traced or waited for hits.
    """

    finished: bool
    passes: int
    statistics: Statistics
    trace_seconds: float


def make_picture(stage: Stage, order: PictureOrder, path: Path, *, keep_linear: bool = True) -> Made:
    """Make a picture, and write its files. keep_linear: linear radiance beside a .png too."""
    start = time.perf_counter()
    settings = order.settings(stage.snapshot)
    with closing(driver_of(stage, order, settings)) as driver, held_back():
        record = PictureRecord(stage, driver, order, start)
        files = PictureFiles(path, record, keep_linear=keep_linear)
        film = Film(settings.width, settings.height, COLUMNS[settings.layers])
        finished = render(driver, film, order.limits, files, quiet=order.quiet)
        if film.passes and order.photon_path is not None:
            save_photons(order.photon_path, cast("PhotonKeeper", driver))
        return Made(
            finished=finished,
            passes=film.passes,
            statistics=files.statistics,
            trace_seconds=driver.work.trace_seconds,
        )


def driver_of(stage: Stage, order: PictureOrder, settings: RenderSettings) -> Driver:
    """What makes the picture."""
    if order.motion is None:
        return order.kind(stage.snapshot, stage.tracer, settings)
    from renderer.run.motion import MotionDriver

    return MotionDriver(order.kind, stage, settings, order.motion)


class PictureRecord:
    """What is known of how a picture is being made. start: `time.perf_counter()` when rendering began."""

    def __init__(self, stage: Stage, driver: Driver, order: PictureOrder, start: float) -> None:
        self._stage, self._driver, self._start = stage, driver, start
        self.order = order

    @property
    def has_layers(self) -> bool:
        """Whether all layers are asked for."""
        return self._driver.settings.layers == "all"

    def texts(self, passes: int) -> dict[str, str]:
        """What is kept in the picture itself: all that decides its pixels, so that the file is the same whatever
        traced it."""
        settings: dict[str, Any] = dataclasses.asdict(self._driver.settings) | {
            "passes": passes,
            "exposure": self.order.exposure,
            "tone_map": self.order.curve,
            "time": self._stage.snapshot.time,
        }
        camera = self._stage.snapshot.camera
        if camera.aperture > 0.0:
            settings |= {"aperture": camera.aperture, "focus": camera.focus}
        if self.order.motion is not None:
            settings |= {"shutter": self.order.motion.shutter, "motion_samples": self.order.motion.samples}
        if self.order.denoise:
            settings |= {"denoise": True}
        for name in ("threads", "batch_rays", "layers"):
            del settings[name]
        return {
            "Software": f"tracecore {__version__}",
            "scene": self._stage.snapshot.name,
            "driver": self._driver.name,
            "settings": json.dumps(settings),
            "version": __version__,
        }

    def statistics(self, film: Film) -> Statistics:
        """The statistics so far."""
        driver = self._driver
        traced = self._stage.tracer.statistics() if self.order.motion is None else cast("MotionDriver", driver).traced
        measured = statistics.Measured(
            work=driver.work,
            seconds=time.perf_counter() - self._start,
            rays=driver.work.rays.total,
            busy_seconds=traced.busy_seconds,
            limits=TracerLimits(kernel_rays_per_second=traced.kernel_rays_per_second, bus_bytes_per_second=None),
            passes=film.passes,
            noise=film.relative_noise,
            bias=film.relative_bias,
        )
        told = statistics.collect(self._stage, driver.name, driver.settings, measured)
        return told | {"coprocessor.batches": traced.batches}


class PictureFiles:
    """The files of a picture: `path`, beside it .json, and for a .png also .npy if linear radiance is kept."""

    def __init__(self, path: Path, record: PictureRecord, *, keep_linear: bool = True) -> None:
        self.path, self.record, self.keep_linear = path, record, keep_linear
        self.interval = record.order.preview
        self.statistics: Statistics = {}

    def save_picture(self, film: Film) -> None:
        """Write the picture alone."""
        texts = self.record.texts(film.passes)
        match self.path.suffix.lower():
            case ".exr":
                image_file.write_exr(self.path, self._layers(film), texts)
            case ".npy":
                image_file.write_array(self.path, film.linear)
            case _:
                mapping = ToneMapping(exposure=self.record.order.exposure, curve=self.record.order.curve)
                shown = self._denoised(film) if self.record.order.denoise else film.linear
                image_file.write_png(self.path, mapping(shown), texts)

    def save_all(self, film: Film) -> None:
        """Write the picture, the linear data and the statistics."""
        self.statistics = self.record.statistics(film)
        self.save_picture(film)
        if self.path.suffix.lower() == ".png" and self.keep_linear:
            image_file.write_array(self.path.with_suffix(".npy"), film.linear)
        statistics.write(self.path.with_suffix(".json"), self.statistics)

    def _layers(self, film: Film) -> dict[str, npt.NDArray[np.float32]]:
        """What an .exr holds."""
        layers = {"beauty": film.linear}
        if self.record.has_layers:
            layers |= film.layers | {"noise": film.noise}
        if self.record.order.denoise:
            layers["denoised"] = self._denoised(film)
        return layers

    def _denoised(self, film: Film) -> npt.NDArray[np.float32]:
        from renderer.film.denoising import denoised

        return denoised(film.linear, film.layers)


def save_photons(path: Path, driver: PhotonKeeper) -> None:
    """Keep a driver's photons in a file."""
    with temporary_beside(path) as temporary:
        driver.save_photons(temporary)
