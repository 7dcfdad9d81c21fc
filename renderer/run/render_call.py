"""This module has the call that makes a picture, `render`, and that which yields it after each pass, `render_passes`.

They are what users of Python call (docs/python.md); the command line calls the same parts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import fields, replace
from typing import Any

from renderer.errors import UsageError
from renderer.film.picture import Picture
from renderer.interrupts import NOTHING_SAVED, nothing_saved
from renderer.run import first_run
from renderer.run.members.open_fleet import members_ahead
from renderer.run.memory import check_fits
from renderer.run.picture.make_picture import make_picture, picture_by_pass
from renderer.run.plan import Plan
from renderer.run.resolve import AnyScene, plan_picture
from renderer.scene.render_context import RenderContext, context_of
from renderer.settings.picture import Settings
from scenes.keys.place import did_you_mean
from tracecore.compilation.cached import begin_to_load


def render(scene: AnyScene, settings: Settings | None = None, **changes: Any) -> Picture:
    """Makes a picture of a scene.

    scene: name of a shipped scene such as "cornell" or "museum:50k", path of a scene file, or a `Scene` or `Snapshot`
    of the package `scenes`.
    settings: what is chosen; None for the defaults.
    changes: fields of `Settings` by name, which win over `settings`, such as driver="path", passes=16, size=(400, 300).

    Ctrl-C ends it early: then the picture has the passes that were finished (`Picture.is_finished`), and if there are
    none `KeyboardInterrupt` is raised. Raises `UsageError` for what cannot be done, `TypeError` for a keyword that is
    no setting, `scenes.SceneError` for a scene that cannot be read.
    """
    chosen = changed(settings, changes)
    with members_ahead(chosen):
        return render_plan(plan_picture(scene, chosen))


def render_passes(scene: AnyScene, settings: Settings | None = None, **changes: Any) -> Iterator[Picture]:
    """Makes a picture, and yields it after each pass as it converges; leave the loop when it is good enough.

    scene, settings, changes: as `render` takes them.

    What cannot be done is raised before the first pass. Nothing is written: `output`, `save_photons`
    and `timeline` are refused, `Picture.save` writes what is wanted.
    """
    plan = plan_picture(scene, changed(settings, changes))
    for name in ("output", "save_photons", "timeline"):
        if getattr(plan.settings, name) is not None:
            raise UsageError(f"{name} is for render alone; with render_passes save a picture by its method save")
    return _pictures(plan)


def _pictures(plan: Plan) -> Iterator[Picture]:
    with ExitStack() as stack:
        context, plan = _begun(plan, stack)
        yield from picture_by_pass(context, plan)


def changed(settings: Settings | None, changes: dict[str, Any]) -> Settings:
    """Return settings with changes. Raises `TypeError` for one that is no setting, with those there are."""
    known = [field.name for field in fields(Settings)]
    for name in changes:
        if name not in known:
            listed = f"settings are {', '.join(known)}{did_you_mean(name, known)}"
            raise TypeError(f"unexpected keyword argument '{name}'; {listed}")
    return replace(settings or Settings(), **changes)


def render_plan(plan: Plan) -> Picture:
    """Makes a picture, and its files if there are to be some.

    Raises `KeyboardInterrupt` where Ctrl-C came before the first pass was finished.
    """
    with ExitStack() as stack:
        with nothing_saved():
            context, plan = _begun(plan, stack)
        picture = make_picture(context, plan, plan.settings.output)
    if picture is None:
        raise KeyboardInterrupt(NOTHING_SAVED)
    return picture


def _begun(plan: Plan, stack: ExitStack) -> tuple[RenderContext, Plan]:
    """Returns the scene with an open tracer, and the plan with the members of a fleet where these share the work out;
    the stack closes both.
    """
    if plan.settings.is_shared:
        from renderer.run.members.fleet_driver import with_members

        plan = stack.enter_context(with_members(plan))
    return stack.enter_context(opened(plan)), plan


@contextmanager
def opened(plan: Plan) -> Iterator[RenderContext]:
    """Yields the scene at its moment with an open tracer, which is closed at the end of the block."""
    start = time.perf_counter()
    if not plan.settings.is_shared:
        begin_to_load(plan.driver.code)
    snapshot = plan.snapshot()
    check_fits(plan.estimate(snapshot))
    helped = first_run.helped() if plan.driver.traces_photons else nullcontext()
    with first_run.shown(quiet=plan.settings.quiet), helped:
        plan.note_unseen_light(snapshot)
        load_seconds = plan.load_seconds + time.perf_counter() - start
        with context_of(snapshot, plan.choice, load_seconds=load_seconds) as context:
            yield context
