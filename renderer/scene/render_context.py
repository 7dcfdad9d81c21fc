"""A render context is a scene at one moment and a tracer that holds its triangles: all that a driver needs."""

from __future__ import annotations

import argparse
import logging
import operator
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Self

import numpy as np
import numpy.typing as npt

import tracecore
from renderer.atomic_file import check_outputs
from renderer.errors import UsageError, WrongPictureError
from renderer.settings.picture import Settings
from renderer.settings.setting import Definitions, taken
from scenes import loading
from scenes.document import Scene
from scenes.model import Camera, Material, Snapshot, Texture
from scenes.views.viewing import AS_THE_FILE_SAYS, Viewing
from tracecore import Cutouts, device_and_index
from tracecore.bvh.tree import BinaryTree
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import CutoutError, DeviceError, KernelError, TraceError, WrongHitError
from tracecore.kernels.choice import AUTO, DEFAULT_KERNEL, KernelChoice, RayClass, RayWay, choose_kernel
from tracecore.layout.ahead import pack_ahead
from tracecore.rays import Floats

log = logging.getLogger(__name__)

#: Arguments of commands that name files to be written, and such that name files to be read.
WRITTEN = ("output", "json", "plot", "html", "heatmap", "markdown", "record", "dump", "save_photons", "timeline")
READ = ("replay", "load_photons", "tls_ca", "tls_cert", "tls_key")

#: The choice of a device that has one kernel.
ONLY_ONE = KernelChoice(None, "the only one of the device")

#: The least byte of alpha or of brightness where a surface is there: one half of 255, rounded up.
THERE = 128

#: Weights of red, green and blue in thousandths: ITU-R BT.709.
BRIGHTNESS = np.array([213, 715, 72])


@dataclass(frozen=True, kw_only=True)
class SceneView:
    """Says which moment of a scene is seen, and through which camera.

    frame: 0-based, for a scene that is not given a time.
    time: of the animation, or None.
    camera: its name, or None for the first.
    aperture: radius of the lens in world units, or None for what the scene says.
    focus: distance that is in focus in world units, or None for what the scene says.
    viewing: where the camera stands and looks, where that is not left to the scene.
    mirrors: "literal" or "none" where surfaces of NFF reflect otherwise than the scene says, else None or "auto".
    ambient: "literal" where surfaces show their ambient term, else None, "none" or "auto".
    is_plain: whether the scene is made plain by `scenes.playing.plain`.
    define: values of the parameters of a scene file, by name, or None.
    allow_outside: whether files that the scene names may be outside of its folder.
    strict: whether files that cannot be used are errors.
    """

    frame: int = 0
    time: float | None = None
    camera: str | None = None
    aperture: float | None = None
    focus: float | None = None
    viewing: Viewing = AS_THE_FILE_SAYS
    mirrors: str | None = None
    ambient: str | None = None
    is_plain: bool = False
    define: Mapping[str, str] | None = None
    allow_outside: bool = False
    strict: bool = False

    @classmethod
    def chosen(cls, arguments: argparse.Namespace | Settings) -> Self:
        """Returns the view that --frame or --time, --camera, and all else that a command has of a camera choose."""
        define = getattr(arguments, "define", None)
        return cls(
            **taken(cls, arguments, "define"),
            viewing=viewing_of(arguments),
            is_plain=getattr(arguments, "plain", False),
            define=Definitions().read(define) if define else {},
        )

    def load(self, scene: str) -> Snapshot:
        """Returns a scene, a file or the name of a shipped one, at this moment."""
        return self.of(
            loading.load(scene, parameters=self.define, allow_outside=self.allow_outside, strict=self.strict)
        )

    def of(self, scene: Scene) -> Snapshot:
        """Returns the scene at this moment."""
        return self.seen(scene.at_frame(self.frame) if self.time is None else scene.at(self.time))

    def without_triangles(self, scene: Scene) -> Snapshot:
        """Returns what `of` does, without the triangles, which need not be made for it."""
        return self.seen(scene.view(scene.time_of(self.frame) if self.time is None else self.time))

    def seen(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot through this camera and lens, made plain if it is to be; its time stays."""
        seen = snapshot if self.camera is None else snapshot.seen_by(self.camera)
        seen = replace(seen, camera=self._with_lens(self.viewing.seen(seen.camera)))
        if self.mirrors in MIRROR_SHARES:
            seen = with_mirrors(seen, MIRROR_SHARES[self.mirrors])
        seen = with_ambient(seen) if self.ambient == "literal" else seen
        if not self.is_plain:
            return seen
        from scenes.playing.plain import plain

        return plain(seen)

    def _with_lens(self, camera: Camera) -> Camera:
        """Returns the camera with this lens. Raises `UsageError` where it would not be known how sharp things are."""
        aperture = camera.aperture if self.aperture is None else self.aperture
        focus = camera.focus if self.focus is None else self.focus
        if aperture > 0.0 and focus <= 0.0:
            raise UsageError("--aperture needs --focus: the scene's camera does not say at what distance it is sharp")
        if self.focus is not None and aperture <= 0.0:
            raise UsageError("--focus does nothing without --aperture: the scene's camera is a pinhole; leave it out")
        return replace(camera, aperture=aperture, focus=focus)


#: Share of the specular reflection of surfaces as NFF has them that is a mirror, by the setting `mirrors`.
MIRROR_SHARES = {"literal": 1.0, "none": 0.0}


def viewing_of(arguments: argparse.Namespace | Settings) -> Viewing:
    """Returns what --camera, --eye, --look-at, --up, --fov, --up-axis and --size choose, where a command has them."""
    target, fov = getattr(arguments, "look_at", None), getattr(arguments, "fov", None)
    return Viewing(**taken(Viewing, arguments, "target", "vertical_fov"), target=target, vertical_fov=fov)


def with_mirrors(snapshot: Snapshot, share: float) -> Snapshot:
    """Returns a snapshot whose surfaces of NFF mirror a share of what they reflect."""
    materials = tuple(
        replace(material, mirror_share=share) if material.kind == "nff" else material for material in snapshot.materials
    )
    return replace(snapshot, materials=materials)


def with_ambient(snapshot: Snapshot) -> Snapshot:
    """Returns a snapshot whose surfaces show their ambient term to the eye; it lights nothing."""

    def shown(material: Material) -> Material:
        red, green, blue = map(operator.add, material.backdrop, material.ambient)
        return replace(material, backdrop=(red, green, blue))

    return replace(snapshot, materials=tuple(map(shown, snapshot.materials)))


@dataclass(frozen=True, kw_only=True)
class TracerChoice:
    """Says which tracer is opened.

    device: as `open_tracer` takes it.
    kernel: by name; "auto" or None for what is fastest for the rays, as far as that was measured.
    ray_class, way: what most of the rays are like, None for rays of all kinds, and how they reach the kernel.
    dispatch: by name, or None for the device's default.
    threads: None for all cores.
    builder: of the tree, by name, or None for the default.
    rays: about how many will be traced, None where nobody knows.
    verify: share of the batches that are compared with the CPU's hits, or None.
    fallback: "cpu" where the CPU traces if a device fails, or None.
    """

    device: str = "auto"
    kernel: str | None = None
    ray_class: RayClass | None = None
    way: RayWay = RayWay.RING
    dispatch: str | None = None
    threads: int | None = None
    builder: str | None = None
    rays: int | None = None
    verify: float | None = None
    fallback: str | None = None

    @classmethod
    def chosen(cls, arguments: argparse.Namespace | Settings, ray_class: RayClass | None) -> Self:
        """Returns the choice that --device, --kernel, --dispatch, --threads, --builder, --verify and --fallback
        make.

        ray_class: what most rays are like that are to be traced, None for rays of all kinds.
        """
        way = RayWay.RING if getattr(arguments, "shading", "cpu") == "cpu" else RayWay.WAVES
        return cls(ray_class=ray_class, way=way, **taken(cls, arguments, "ray_class", "way", "rays"))

    @property
    def on_cpu(self) -> Self:
        """Returns the choice of what traces where this one fails, and of a process that only builds the tree."""
        return type(self)(device="cpu", threads=self.threads, builder=self.builder)

    def pack_ahead(self, tree: BinaryTree, triangles: Floats) -> None:
        """Packs a tree for the tracer that is opened with it next, as that would do it. triangles: (t, 3, 3) float32,
        those that the tree is over.
        """
        from tracecore.kernels.strategies import find_strategy, strategy_names
        from tracecore.tracers.cpu import pack_wide

        name = chosen_kernel(self).name
        if self.device != "brute":
            pack_ahead(find_strategy(name).layout.pack if name in strategy_names() else pack_wide, tree, triangles)


@dataclass(frozen=True, kw_only=True)
class RenderContext:
    """Holds a scene and an open tracer, and the wall time to read the one and to build the other.

    kernel_choice: in words, why the tracer has the kernel that it has.
    is_refitted: whether the tree is that of the frame before, made to fit.
    faults: 1 where another device was chosen, which could not be used, else 0.
    """

    snapshot: Snapshot
    tracer: Tracer
    load_seconds: float
    build_seconds: float
    kernel_choice: str
    is_refitted: bool = False
    faults: int = 0


def check_scene(scene: str) -> None:
    """Raises the error of `scenes.load` now if there is no such scene; one that is there is not read."""
    shipped = any(row.name == scene.partition(":")[0] for row in loading.shipped_scenes())
    path = Path(scene)
    if not shipped and not (path.is_file() and path.suffix.lower() in loading.READERS):
        loading.load(scene)


def load_for(arguments: argparse.Namespace, name: str | None = None) -> Scene:
    """Loads the scene of a command, a file or the name of a shipped one.

    arguments: of the command.
    name: of the scene, if there are several.

    Raises `UsageError` where a file that the command is to write is one that is read, or is to be written twice.
    """
    given = vars(arguments)
    scene = loading.load(
        arguments.scene if name is None else name,
        viewing_of(arguments),
        Definitions().read(given.get("define") or {}),
        allow_outside=given.get("allow_outside", False),
        strict=given.get("strict", False),
    )
    written, read = [given.get(one) for one in WRITTEN], [given.get(one) for one in READ]
    if reference := given.get("reference"):
        (read if reference.is_file() else written).append(reference)
    check_outputs(written, [*scene.files, *given.get("plugin", ()), *filter(None, read)])
    return scene


def scene_seen(arguments: argparse.Namespace) -> Snapshot:
    """Returns the scene of a command at the moment and through the camera that are chosen. Raises as `load_for`."""
    scene = load_for(arguments)
    return SceneView.chosen(arguments).of(scene)


@contextmanager
def open_context(
    scene: str, scene_view: SceneView, choice: TracerChoice, load: Callable[[str], Scene] | None = None
) -> Iterator[RenderContext]:
    """Loads a scene (a file, or the name of a shipped one) and opens a tracer for it, which is closed at the end."""
    start = time.perf_counter()
    snapshot = scene_view.load(scene) if load is None else scene_view.of(load(scene))
    with context_of(snapshot, choice, load_seconds=time.perf_counter() - start) as context:
        yield context


@contextmanager
def context_of(
    snapshot: Snapshot, choice: TracerChoice, *, load_seconds: float, tree: BinaryTree | None = None
) -> Iterator[RenderContext]:
    """Opens a tracer for a snapshot, which is closed at the end.

    load_seconds: wall time that it took to read the scene.
    tree: refitted to the snapshot, or None to build one.
    """
    start = time.perf_counter()
    kernel = chosen_kernel(choice)
    tree = None if tree is None else _fitting(tree, kernel.name)
    tracer, faults = _open_any_tracer(snapshot, replace(choice, kernel=kernel.name), tree)
    if faults:
        choice, tree, kernel = choice.on_cpu, None, ONLY_ONE
    with _closed_in_the_end(tracer):
        if choice.dispatch not in (None, tracer.dispatch):
            raise UsageError(
                f"--dispatch {choice.dispatch} is not for the {tracer.device}, which has {tracer.dispatch}"
            )
        if choice.verify is not None and tracer.device == "cpu":
            raise UsageError("--verify compares with the CPU, and the CPU traces here; leave it out")
        context = RenderContext(
            snapshot=snapshot,
            tracer=tracer,
            load_seconds=load_seconds,
            build_seconds=time.perf_counter() - start,
            kernel_choice=kernel.reason,
            is_refitted=tree is not None,
            faults=faults,
        )
        try:
            yield context
        except WrongHitError as error:
            raise WrongPictureError(error, snapshot) from error


@contextmanager
def _closed_in_the_end(tracer: Tracer) -> Iterator[None]:
    """Closes a tracer. A device that fails only then is worth a note and no more: all that was asked has come back."""
    try:
        yield
    except BaseException:
        with suppress(TraceError):
            tracer.close()
        raise
    try:
        tracer.close()
    except TraceError as error:
        log.warning("note: the %s failed when all was traced: %s", tracer.device, error)


def _open_any_tracer(snapshot: Snapshot, choice: TracerChoice, tree: BinaryTree | None) -> tuple[Tracer, int]:
    """Opens the tracer that is chosen, or what to fall back to where its device cannot be used.

    Returns it, and how many devices could not be used.
    """
    try:
        return _open_tracer(snapshot, choice, tree), 0
    except DeviceError as error:
        if choice.fallback is None:
            raise
        log.warning("note: the device chosen cannot be used: %s; the CPU traces instead", error)
        return _open_tracer(snapshot, choice.on_cpu, None), 1


def _open_tracer(snapshot: Snapshot, choice: TracerChoice, tree: BinaryTree | None) -> Tracer:
    try:
        return tracecore.open_tracer(
            snapshot.positions,
            device=choice.device,
            kernel=choice.kernel,
            threads=choice.threads,
            dispatch=choice.dispatch,
            tree=tree,
            builder=choice.builder,
            rays=choice.rays,
            cutouts=cutouts_of(snapshot),
            verify=choice.verify or 0.0,
        )
    except (KernelError, CutoutError) as error:
        raise UsageError(str(error)) from error


def _fitting(tree: BinaryTree, kernel: str | None) -> BinaryTree | None:
    """Returns a tree, or None where its leaves are too large for the kernel's layout: what shares work out hands over
    the CPU's tree, which some kernels have no room for.
    """
    if kernel is None:
        return tree
    from tracecore.kernels.strategies import find_strategy, strategy_names

    return tree if kernel not in strategy_names() or find_strategy(kernel).takes(tree) else None


def chosen_kernel(choice: TracerChoice) -> KernelChoice:
    """Returns the kernel that rays are traced by.

    Raises `DeviceError` where there is no such device; one that cannot be used is told when a tracer is opened.
    """
    name, index = device_and_index(choice.device)
    if choice.kernel is not None and choice.kernel != AUTO:
        return KernelChoice(choice.kernel, "named")
    if name == "emulator":
        return KernelChoice(DEFAULT_KERNEL, f"{AUTO}: the default, as the emulator's rates tell of no GPU")
    if name in ("auto", "gpu") and has_gpu(index):
        return kernel_of_gpu(index, choice.ray_class, choice.way)
    return ONLY_ONE


def has_gpu(index: int | None) -> bool:
    """Returns whether a GPU can be used. index: of the GPU, None for the current one."""
    from tracecore.cuda.device import gpu_unavailable_reason

    return (gpu_unavailable_reason() if index is None else gpu_unavailable_reason(index)) is None


@contextmanager
def gpu_found_meanwhile(device: str) -> Iterator[None]:
    """Looks whether there is a GPU for a device that may be one, which takes half a second where there is one, while
    the block does something else."""
    if not device.startswith(("auto", "gpu")):
        yield
        return

    def look() -> None:
        with suppress(Exception):  # told where the device is chosen
            has_gpu(device_and_index(device)[1])

    thread = Thread(target=look, name="gpu", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def kernel_of_gpu(index: int | None, ray_class: RayClass | None, way: RayWay = RayWay.RING) -> KernelChoice:
    """Returns the kernel that is chosen for rays on a GPU that can be used.

    index: of the GPU, None for the current one.
    ray_class: what most rays are like, None for rays of all kinds.
    way: how they reach the kernel.
    """
    from renderer.scene.tuned_kernels import TunedGpu, tuned_for
    from tracecore.cuda.device import device_architecture, gpu_name

    gpu = TunedGpu(gpu_name(index), device_architecture(index))
    return choose_kernel(gpu.architecture, ray_class, way, tuned_for(gpu))


def cutouts_of(snapshot: Snapshot) -> Cutouts | None:
    """Returns the cut-outs of a snapshot's triangles; None if all are solid."""
    if not any(material.is_cut_out for material in snapshot.materials) or not (cut_out := snapshot.cut_out).any():
        return None
    pictures = np.array([material.cutout for material in snapshot.materials])[snapshot.material_ids]
    used, masks = np.unique(pictures[cut_out], return_inverse=True)
    mask_ids = np.full(len(pictures), -1, np.int64)
    mask_ids[cut_out] = masks
    return Cutouts(masks=[mask_of(snapshot.textures[picture]) for picture in used], mask_ids=mask_ids, uvs=snapshot.uvs)


def mask_of(texture: Texture) -> npt.NDArray[np.bool_]:
    """Returns where a surface with this picture is there, (height, width) bool.

    Brightness is that of the bytes as they are, since such pictures hold shares and no colours.
    """
    if texture.alpha is not None:
        return texture.alpha >= THERE
    mask: npt.NDArray[np.bool_] = texture.pixels @ BRIGHTNESS >= THERE * BRIGHTNESS.sum()
    return mask
