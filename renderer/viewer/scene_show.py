"""A scene show renders a scene again and again, as the page asks, and shows each pass.

The scene is read once, and its tracer stays open as long as requests leave triangles and device as they are, so that a
camera that is moved waits for passes alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import scenes
from renderer.drivers import DRIVERS
from renderer.errors import RenderError
from renderer.film.picture import Picture
from renderer.run import statistics
from renderer.run.memory import check_fits
from renderer.run.motion import stands_still
from renderer.run.picture.make_picture import expose, new_film
from renderer.run.picture.pass_source import PassSource
from renderer.run.picture.picture_record import PictureRecord
from renderer.run.plan import Plan
from renderer.run.render_call import opened, plan_picture
from renderer.scene.render_context import RenderContext, TracerChoice
from renderer.settings.picture import COVERAGE_LAYER, DRAFT_SHARE
from renderer.viewer.live_picture import Floats, LivePicture, PictureRequest, Shown, mapping_facts
from renderer.viewer.page_requests import command_line, words_of
from scenes.errors import SceneError
from scenes.model import Camera, Snapshot
from shaders.errors import ShaderError
from tracecore.errors import TraceError
from tracecore.kernels.strategies import strategy_names
from tracecore.rays import make_rays
from tracecore.workers.pool import Stopped

#: At least so many seconds are between two passes that are shown, but for the last.
SHOW_SECONDS = 0.15

#: While the camera is being moved, a draft has so many passes.
MOVING_PASSES = 1

#: What is said of a picture that waits.
PAUSED = "paused"

#: What a request may lead to that is no fault of the program.
FORESEEN = (RenderError, SceneError, ShaderError, TraceError, OSError, MemoryError)


class SceneShow:
    """Renders a scene as the page asks.

    scene: name of a shipped scene, or path of a file.
    live: where passes are shown, and requests come from.
    at_end: called whenever a picture has all of its passes.
    reference: light that pictures of its size are compared with, (height, width, 3) float32, or None.
    """

    def __init__(
        self,
        scene: str,
        live: LivePicture,
        at_end: Callable[[Picture], None] = lambda picture: None,
        reference: Floats | None = None,
    ) -> None:
        self.name, self.live, self.at_end, self.reference = scene, live, at_end, reference
        self.picture: Picture | None = None
        self.settings = live.settings
        self._scene: scenes.Scene | None = None
        self._opened = ExitStack()
        self._context: RenderContext | None = None
        self._choice: TracerChoice | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """Returns the files that the scene was read from, its own alone before it is."""
        return (Path(self.name),) if self._scene is None else self._scene.files

    def run(self, request: PictureRequest) -> None:
        """Renders request after request, until it is interrupted. Raises what the first of them cannot have."""
        with self._opened:
            while True:
                try:
                    self.render(request)
                except FORESEEN as error:
                    if self.picture is None:
                        raise
                    self._refuse(request, error)
                request = self.live.next_request()

    def render(self, request: PictureRequest) -> None:
        """Renders a picture, and shows it pass by pass until it has all, or there is another request."""
        if self._scene is None or request.is_new_scene:
            self._scene = scenes.load(
                self.name,
                parameters=request.settings.define,
                allow_outside=request.settings.allow_outside,
                strict=request.settings.strict,
            )
        plan = plan_picture(self._scene, replace(request.settings, define=None))
        context, start = self._context_of(plan), time.perf_counter()
        plan = draft_of(plan, context.snapshot) if request.is_draft else plan
        settings = plan.driver_settings(context.snapshot)
        with closing(PassSource(context, plan, settings, is_contained=True)) as source:
            record = PictureRecord(source, start)
            facts = {"of_passes": plan.settings.passes, "is_draft": request.is_draft, **self._facts(request, context)}
            with self.live.stoppable(lambda: source.driver.give_up()):
                self._expose(source, record, facts)
            if source.containment.faults:
                self._context = None  # its tracer has failed
        self.settings = request.settings

    def _expose(self, source: PassSource, record: PictureRecord, facts: Mapping[str, Any]) -> None:
        plan, settings, shown_at = source.plan, source.driver.settings, -math.inf
        film = new_film(settings, plan.settings.clamp)

        def show(*, is_finished: bool, **more: str) -> None:
            self.picture = replace(record.picture(film), is_finished=is_finished)
            self.live.show(shown(self.picture, {**facts, **more}, self.reference))

        try:
            for is_last in expose(source, film, plan.limits):
                if self.live.has_request:
                    return
                if is_last or time.perf_counter() - shown_at >= SHOW_SECONDS:
                    show(is_finished=is_last)
                    shown_at = time.perf_counter()
                if self.live.is_paused and not is_last:
                    show(is_finished=False, status=PAUSED)
                    self.live.wait_for_more()
        except Stopped:
            return
        if self.picture is not None and not facts["is_draft"]:
            self.at_end(self.picture)

    def _context_of(self, plan: Plan) -> RenderContext:
        """Returns the plan's snapshot with an open tracer: the one that is open already where it will do."""
        choice, snapshot = plan.choice, plan.snapshot()
        if self._context is None or choice != self._choice or not stands_still(self._context.snapshot, snapshot):
            self._opened.close()
            self._context = None
            self._context = self._opened.enter_context(opened(plan))
            self._choice = choice
        else:
            check_fits(plan.estimate(snapshot))
            self._context = replace(self._context, snapshot=snapshot)
        return self._context

    def _facts(self, request: PictureRequest, context: RenderContext) -> dict[str, Any]:
        """Returns what the page says of a picture whatever its passes."""
        snapshot = context.snapshot
        kernels = [context.tracer.name] if context.tracer.device == "cpu" else strategy_names()
        return {
            "scene": self.name,
            "words": words_of(request.settings),
            "choices": {"driver": list(DRIVERS), "kernel": list(kernels), "camera": list(camera_names(snapshot))},
            "command": command_line(self.name, request.settings),
            "has_layers": bool(request.settings.layers),
            "frames": 1 if self._scene is None else self._scene.animation.frames,
            "camera": camera_facts(snapshot.camera, distance_ahead(context)),
            "whole": list(snapshot.camera.resolution) if request.settings.size is None else list(request.settings.size),
        }

    def _refuse(self, request: PictureRequest, error: BaseException) -> None:
        """Tells the page why a request cannot be had, and goes back to the settings before."""
        self.live.settings = self.settings or request.settings
        _, before = self.live.shown
        error_text = " ".join(str(error).split()) or type(error).__name__
        facts = {**before.facts, "status": "refused", "error": error_text}
        self.live.show(replace(before, facts=facts))


def draft_of(plan: Plan, snapshot: Snapshot) -> Plan:
    """Returns the plan of a small picture of a single pass, which comes at once."""
    full = plan.driver_settings(snapshot)
    width, height = (max(1, side // DRAFT_SHARE) for side in (full.width, full.height))
    photons = None if full.photons is None else max(1, full.photons // DRAFT_SHARE**2)
    changes: dict[str, Any] = {"passes": MOVING_PASSES, "time_limit": None, "target_noise": None, "adaptive": False}
    changes |= {"denoise": False, "size": (width, height), "photons": photons, "crop": None, "draft": False}
    return replace(plan, settings=replace(plan.settings, **changes))


def shown(picture: Picture, facts: Mapping[str, Any], reference: Floats | None = None) -> Shown:
    """Returns a picture as the page shows it, with what it says of it.

    reference: as of `SceneShow`; a picture of another size has none.
    """
    layers = {"picture": lambda: picture.image}
    layers |= {name: partial(_layer, picture, name) for name in picture.layers if name != COVERAGE_LAYER}
    if reference is not None and reference.shape == picture.image.shape:
        layers["reference"] = lambda: reference
    files = picture_files(picture)
    mapping = picture.mapping
    return Shown(
        facts={
            "status": "finished" if picture.is_finished else "rendering",
            "passes": picture.passes,
            "size": [picture.film.width, picture.film.height],
            "layers": list(layers),
            "files": list(files),
            "mapping": mapping_facts(mapping),
            "statistics": statistics.plain(picture.statistics),
            **facts,
        },
        layers=layers,
        files=files,
    )


def picture_files(picture: Picture) -> dict[str, Callable[[], bytes]]:
    """Returns what makes the contents of files of a picture, by what their names end in."""
    suffixes = [".png", ".npy", *([".exr"] if find_spec("OpenEXR") else [])]
    return {suffix: partial(_content, picture, suffix) for suffix in suffixes}


def _content(picture: Picture, suffix: str) -> bytes:
    with TemporaryDirectory(prefix="tracecore-") as folder:
        path = Path(folder) / f"picture{suffix}"
        picture.write(path)
        return path.read_bytes()


def _layer(picture: Picture, name: str) -> Floats:
    return picture.layers[name]


def camera_names(snapshot: Snapshot) -> list[str]:
    """Returns the names of a snapshot's cameras, in their order."""
    return [str(name) for name in snapshot.cameras]


def camera_facts(camera: Camera, distance: float) -> dict[str, Any]:
    """Returns where a camera is, in plain numbers. distance: from it to what its middle looks at, world units."""
    return {
        "eye": list(map(float, camera.eye)),
        "forward": list(map(float, camera.forward)),
        "up": list(map(float, camera.up)),
        "fov": float(camera.vertical_fov),
        "is_parallel": camera.height is not None,
        "distance": distance,
    }


def distance_ahead(context: RenderContext) -> float:
    """Returns how far the surface is in the middle of the picture, or the middle of the scene where there is none."""
    camera, positions = context.snapshot.camera, context.snapshot.positions
    t = float(context.tracer.closest_hit(make_rays(camera.eye, camera.forward))[0, 0])
    if math.isfinite(t) and t > 0.0:
        return t
    lower, upper = positions.min(axis=(0, 1)), positions.max(axis=(0, 1))
    ahead = float(np.dot(0.5 * (lower + upper) - np.array(camera.eye), camera.forward))
    return max(ahead, 0.1 * float(np.linalg.norm(upper - lower)), 1e-6)
