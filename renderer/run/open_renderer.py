"""A renderer that stays open: the scene, its tree, the tracer and the packed scene are there for the next picture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from renderer.errors import UsageError
from renderer.run.picture.make_picture import picture_by_pass
from renderer.run.render_call import (
    AnyScene,
    changed,
    check_without_files,
    opened,
    option,
    picture_of,
    plan_picture,
)
from renderer.scene.packed_scene import leave_packed, pack_ahead
from renderer.scene.render_context import SceneView
from scenes.document import Scene
from scenes.model import Snapshot
from tracecore.dispatch.closing import Closing

if TYPE_CHECKING:
    from renderer.film.picture import Picture
    from renderer.run.plan import Plan
    from renderer.scene.render_context import RenderContext
    from renderer.settings.picture import Settings

#: Settings that decide what is read, and what it is traced and built by: they stay as they were when the renderer was
#: opened.
OF_SCENE = ("frame", "time", "define", "allow_outside", "strict", "up_axis", "mirrors", "ambient")
OF_TRACER = ("device", "kernel", "dispatch", "shading", "threads", "builder", "verify", "fallback", "memory")

#: Settings that open tracers of their own.
REFUSED = ("shutter", "gpus", "cluster")


class Renderer(Closing):
    """Keeps a scene open and makes pictures of it, through other cameras, by other drivers and with other materials.

    scene, settings, changes: as `renderer.render` takes them. Pictures have these settings unless they ask for others.

    It has a tracer, and with it memory and threads of the CPU or the GPU, until it is closed; leave a `with` block, or
    call `close`. It is for one thread at a time.

    Raises as `renderer.render`, and `UsageError` for `shutter`, `gpus` and `cluster`.
    """

    def __init__(self, scene: AnyScene, settings: Settings | None = None, **changes: Any) -> None:
        self._settings = changed(settings, changes)
        for name in REFUSED:
            if getattr(self._settings, name) is not None:
                raise UsageError(f"{option(name)} is for one picture alone; leave it out, or call render")
        plan = plan_picture(scene, self._settings)
        self._scene = plan.scene
        with ExitStack() as stack:
            self._context = stack.enter_context(opened(plan))
            self._packed = pack_ahead(self.snapshot, None)
            self._stack = stack.pop_all()

    @property
    def snapshot(self) -> Snapshot:
        """Returns the scene at its moment; `dataclasses.replace` makes others of it, for `render`."""
        return self._context.snapshot

    def render(self, scene: Snapshot | None = None, **changes: Any) -> Picture:
        """Makes a picture, with the bits that `renderer.render` gives it.

        scene: the same with other materials, lights or another camera, over the same triangles; None for that which was
        opened.
        changes: fields of `Settings` by name, of this picture alone.

        Raises as `renderer.render`, and `UsageError` for settings that are decided when a scene is opened.
        """
        with self._pictured(scene, changes) as (context, plan):
            return picture_of(context, plan)

    def render_passes(self, scene: Snapshot | None = None, **changes: Any) -> Iterator[Picture]:
        """Makes a picture, and yields it after each pass, as `renderer.render_passes`. Arguments: as of `render`."""
        with self._pictured(scene, changes) as (context, plan):
            check_without_files(plan.settings)
            yield from picture_by_pass(context, plan)

    def close(self) -> None:
        """Closes the tracer. No picture can be made afterwards."""
        self._stack.close()

    @contextmanager
    def _pictured(self, scene: Snapshot | None, changes: dict[str, Any]) -> Iterator[tuple[RenderContext, Plan]]:
        """Yields the scene as a picture has it, packed, and the picture's plan."""
        settings = changed(self._settings, changes)
        for name in (*OF_SCENE, *OF_TRACER, *REFUSED):
            if getattr(settings, name) != getattr(self._settings, name):
                raise UsageError(f"{option(name)} is decided when a scene is opened; open it again")
        if scene is not None:
            self._check(scene)
        plan = plan_picture(self._scene, replace(settings, define=None))  # which the scene has
        view = SceneView.chosen(plan.settings)
        if scene is None and isinstance(plan.scene, Scene):
            camera = view.without_triangles(plan.scene).camera
        else:
            camera = view.seen(scene or plan.scene).camera  # type: ignore[arg-type]
        seen = replace(scene or self.snapshot, camera=camera)
        if scene is None:
            leave_packed(seen, self._packed)
        yield replace(self._context, snapshot=seen, load_seconds=0.0, build_seconds=0.0), plan

    def _check(self, scene: Snapshot) -> None:
        """Raises `UsageError` where the tracer would not see a scene as it is."""
        own = self.snapshot
        if scene.positions is not own.positions:
            raise UsageError("other triangles need a tree of their own; open another renderer for them")
        has_holes = any(one.is_cut_out for one in (*own.materials, *scene.materials))
        cutouts = [[one.cutout for one in each.materials] for each in (own, scene)]
        if has_holes and not (
            cutouts[0] == cutouts[1]
            and scene.material_ids is own.material_ids
            and scene.uvs is own.uvs
            and scene.textures is own.textures
        ):
            raise UsageError("other cut-outs need a tracer of their own; open another renderer for them")
