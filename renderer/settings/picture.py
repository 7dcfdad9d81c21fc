"""This module has the settings of a picture: what is asked for, the keywords of `renderer.render` and the options of
`tracecore render`; and what is resolved of it for the loops over rays and photons, which take it by its names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from renderer.errors import UsageError
from renderer.settings.setting import (
    MAX_FRAME,
    Bytes,
    Checked,
    ClusterAddress,
    Definitions,
    DeviceName,
    File,
    FlagOrNames,
    OrWord,
    Rectangle,
    White,
    proposed,
    setting,
    settings_of,
    taken,
)
from scenes.keys.values import PROPOSALS, Choice, Flag, Number, Text, Vector, Whole

MIN_BATCH, MAX_BATCH = 256, 65536

DEFAULT_DRIVER, DEFAULT_FILTER, DEFAULT_PASSES, DEFAULT_MOTION_SAMPLES = "photon", "box", 64, 16
#: What stands for a driver that is chosen by the light of the scene.
AUTO_DRIVER = "auto"
#: A draft has so many passes, and so many times fewer columns and rows.
DRAFT_PASSES, DRAFT_SHARE = 4, 4
DEFAULT_UPDATE: Literal["auto"] = "auto"
DEFAULT_PREVIEW = 5.0  # at least so many seconds between two unfinished pictures

#: As `pixel_filters.FILTERS` and `task.SAMPLERS` have them, which need the compiler.
FILTER_NAMES = ("box", "tent", "gaussian", "blackman-harris")
SAMPLER_NAMES = ("sobol", "random")

#: Layers of the light, of what the eye meets first, and of errors, which are all without names; by name alone also
#: those of the middles of pixels (`renderer.scene.first_hits`), and what covers these (`camera_paths.coverage`).
LIGHT_LAYERS = ("direct", "indirect", "caustic", "density")
FEATURE_LAYERS = ("albedo", "normal", "depth")
USUAL_LAYERS = (*LIGHT_LAYERS, *FEATURE_LAYERS, "noise")
FIRST_HIT_LAYERS, COVERAGE_LAYER = ("position", "uv", "material", "object", "triangle"), "cryptomatte"
GROUPS_LAYER = "lights"  # stands for a layer of each light group (`renderer.scene.light_groups`)
LAYER_NAMES = (*USUAL_LAYERS, "variance", "samples", *FIRST_HIT_LAYERS, COVERAGE_LAYER, GROUPS_LAYER)

_OF_DASK = "what Dask's configuration says"
#: Settings that say how a cluster is reached, and all that say who shares the work out, as they are where nobody does.
OF_CLUSTER = ("insecure_cluster", "tls_ca", "tls_cert", "tls_key")
UNSHARED: dict[str, Any] = dict.fromkeys(("gpus", "cluster", *OF_CLUSTER)) | {"insecure_cluster": False}

#: Headings of the help.
_FILES, _PICTURE, _CAMERA, _LIGHT = "files", "picture", "camera", "light transport"
TRACING = "tracing (none of it changes the picture, but for the seed)"


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """Holds what is chosen of a picture. `renderer.settings.setting.settings_of` yields unit, bounds and effect of each
    field.

    None leaves a setting to what the scene proposes, and if it proposes nothing to the default that the field names.
    Raises `UsageError` for a value out of bounds, and `TypeError` for a keyword that is no setting.
    """

    camera: str | None = setting(
        Text("a name"), "name of the camera to look through", fallback="the scene's first", group="scene"
    )
    frame: int = setting(Whole(0, MAX_FRAME), "frame of the animation, counted from 0", default=0, group="scene")
    time: float | None = setting(
        Number(-1e9, 1e9),
        "time of the animation, in its unit, instead of a frame",
        metavar="T",
        fallback="that of the frame",
        group="scene",
    )
    define: dict[str, str] | None = setting(
        Definitions(),
        "set a parameter, $NAME, of a Mitsuba file; may be repeated",
        fallback="the file's",
        group="scene",
        aliases=("-D",),
    )
    allow_outside: bool = setting(
        Flag(), "also read files outside of the scene's folder that the scene names", default=False, group="scene"
    )
    strict: bool = setting(
        Flag(),
        "whatever the picture lacks, such as a missing file or a medium left out, is an error instead of a note",
        default=False,
        group="scene",
    )
    driver: str | None = proposed("driver", fallback=f"what the scene says, or {DEFAULT_DRIVER}")

    output: Path | None = setting(
        File(), "file of the picture: .png, .exr or .npy", fallback="none is written", group=_FILES, aliases=("-o",)
    )
    preview: float | None = setting(
        Number(0, 1e9),
        "write the unfinished picture at this interval, seconds",
        metavar="S",
        fallback=f"{DEFAULT_PREVIEW:g}",
        group=_FILES,
    )
    checkpoint: float | None = setting(
        Number(0, 1e9),
        "save what --resume needs in OUTPUT.checkpoint this often, seconds, and on interrupts, until it is finished",
        metavar="S",
        fallback="60, from two minutes on",
        group=_FILES,
    )
    resume: bool = setting(
        Flag(),
        "continue from a checkpoint, or keep the finished frames of a sequence, if nothing that decides the picture "
        "has changed; the result has the same bits on any device and with any number of threads",
        default=False,
        group=_FILES,
    )
    save_photons: Path | None = setting(
        File(), "save the photons in FILE.npz; render does with the driver photons-only", group=_FILES
    )
    load_photons: Path | None = setting(
        File(), "look up the photons of a run, FILE.photons, and trace none, with the driver photons-only", group=_FILES
    )
    timeline: Path | None = setting(
        File(), "write a trace of all threads to FILE.json, for chrome://tracing or Perfetto", group=_FILES
    )
    quiet: bool = setting(Flag(), "print only errors", default=False, group=_FILES)
    progress: str = setting(
        Choice(("bar", "json")),
        "how far it is, on stderr: a bar on a terminal, or a line of JSON after each pass for programs",
        default="bar",
        group=_FILES,
    )

    size: tuple[int, int] | None = proposed("size", fallback="what the scene says", group=_PICTURE)
    draft: bool = setting(
        Flag(),
        "quick look: a quarter of the width and height, and 4 passes unless --passes is given",
        default=False,
        group=_PICTURE,
    )
    crop: tuple[int, int, int, int] | None = setting(
        Rectangle(),
        "render only this rectangle, from column X and row Y on; it has the same bits as in the whole picture",
        fallback="the whole picture",
        group=_PICTURE,
    )
    passes: int | None = proposed(
        "passes",
        fallback=f"{DEFAULT_PASSES}, or without end where a time limit or a target noise ends it",
        group=_PICTURE,
        aliases=("--spp",),
    )
    time_limit: float | None = setting(
        Number(1e-3, 1e9),
        "start no further pass after this many seconds",
        metavar="S",
        fallback="no limit",
        group=_PICTURE,
    )
    target_noise: float | None = setting(
        Number(1e-6, 10),
        "stop when the relative error of the pixels is below this, such as 0.02; it is estimated from two halves of "
        "the passes and the blur of the photon search",
        metavar="E",
        fallback="no target",
        group=_PICTURE,
    )
    adaptive: bool = setting(
        Flag(), "sample what is noisy until no part is noisier than --target-noise", default=False, group=_PICTURE
    )
    layers: bool | tuple[str, ...] = setting(
        FlagOrNames(LAYER_NAMES),
        "also keep direct, indirect and caustic light, albedo, normals and more, or only the layers that are named; "
        "lights is a layer for each light group; needs an .exr file",
        default=False,
        group=_PICTURE,
    )
    exr: str = setting(
        Choice(("single", "multi")), "an .exr has one part, or one for each layer", default="single", group=_PICTURE
    )
    denoise: bool = setting(
        Flag(), "denoise the picture by Open Image Denoise (extra denoise)", default=False, group=_PICTURE
    )
    clamp: float | None = setting(
        Number(1e-9, 1e9),
        "scale down samples that are brighter than this luminance: removes fireflies, and some of the light",
        metavar="L",
        fallback="no limit",
        group=_PICTURE,
    )
    exposure: float | Literal["auto"] | None = setting(
        OrWord(PROPOSALS["exposure"].kind, "auto"),
        f"{PROPOSALS['exposure'].about}; auto measures the picture, or a few frames of a film; linear files are "
        "not changed",
        metavar="EV",
        fallback="what the scene says, or auto; 0 of scenes made by code and drivers that show no light",
        group=_PICTURE,
    )
    tone_map: str | None = proposed("tone_map", fallback="what suits the driver", group=_PICTURE)
    white_point: float | tuple[float, float] | None = setting(
        White(),
        "colour that is shown as white: its chromaticity x and y, or the temperature of a black body, such as 2856 "
        "for a light bulb; linear files are not changed",
        fallback="sRGB's, 0.3127,0.3290",
        group=_PICTURE,
    )

    eye: tuple[float, float, float] | None = setting(
        Vector(3, -1e9, 1e9), "position of the camera, world units", fallback="the camera's", group=_CAMERA
    )
    look_at: tuple[float, float, float] | None = setting(
        Vector(3, -1e9, 1e9),
        "point that the camera looks at, world units",
        fallback="where the camera looks",
        group=_CAMERA,
    )
    up: tuple[float, float, float] | None = setting(
        Vector(3, -1e9, 1e9),
        "direction that is up in the picture, of any length",
        fallback="the camera's",
        group=_CAMERA,
    )
    fov: float | None = setting(
        Number(0.01, 179),
        "vertical field of view of a perspective camera",
        metavar="DEGREES",
        fallback="the camera's",
        group=_CAMERA,
    )
    up_axis: Literal["y", "z"] | None = setting(
        Choice(("y", "z")),
        "axis that points up in a file without a camera",
        fallback="what the format says, or what the triangles stand on",
        group=_CAMERA,
    )
    aperture: float | None = setting(
        Number(0, 1e9),
        "radius of the lens, world units, which blurs what is out of focus; 0 is a pinhole",
        metavar="R",
        fallback="the scene's",
        group=_CAMERA,
    )
    focus: float | None = setting(
        Number(1e-9, 1e9),
        "distance of the plane in focus, along the view, world units",
        metavar="D",
        fallback="the scene's",
        group=_CAMERA,
    )
    shutter: float | None = setting(
        Number(1e-9, 1e9),
        "motion blur: how long the shutter is open from the time of the frame on, in the animation's unit",
        metavar="S",
        fallback="one moment is seen",
        group=_CAMERA,
    )
    motion_samples: int | None = setting(
        Whole(1, 65536),
        "times of motion blur: the first N passes have one each, the next N times have two passes each, then four, "
        "and so on",
        fallback=f"{DEFAULT_MOTION_SAMPLES}",
        group=_CAMERA,
    )
    filter: str | None = setting(
        Choice(FILTER_NAMES), "pixel reconstruction filter", fallback=DEFAULT_FILTER, group=_CAMERA
    )
    sampler: str | None = setting(
        Choice(SAMPLER_NAMES),
        "sample sequence up to the first surface: Sobol points, or independent random numbers as elsewhere",
        fallback="sobol",
        group=_CAMERA,
    )
    update: Literal["auto", "refit", "rebuild"] | None = setting(
        Choice(("auto", "refit", "rebuild")),
        "tree of an animation from frame to frame: refit it, rebuild it, or the faster of both; same picture",
        fallback=DEFAULT_UPDATE,
        group=_CAMERA,
    )

    photons: int | None = proposed("photons", fallback="two for each pixel", group=_LIGHT)
    radius: float | None = setting(
        PROPOSALS["radius"].kind,
        f"{PROPOSALS['radius'].about}, world units",
        metavar="R",
        fallback="two pixels, or where photons are few what two of them need",
        group=_LIGHT,
    )
    guide_share: float | None = setting(
        Number(0, 0.9),
        "share of the photons of photon and sppm that is aimed at mirrors and glass: less noise in caustics, more "
        "elsewhere, and more time per photon",
        metavar="SHARE",
        fallback="0",
        group=_LIGHT,
    )
    mirrors: Literal["auto", "literal", "none"] | None = setting(
        Choice(("auto", "literal", "none")),
        "how much of the specular reflection of NFF and AFF surfaces is a mirror image and not only a highlight: auto "
        "as in published pictures, literal all of it, none nothing",
        fallback="auto",
        group=_LIGHT,
    )
    ambient: Literal["auto", "literal", "none"] | None = setting(
        Choice(("auto", "literal", "none")),
        "whether surfaces of AFF show their ambient term, as in published pictures; it stands for indirect light, "
        "which is computed here, so that auto leaves it out as none does",
        fallback="auto",
        group=_LIGHT,
    )
    max_bounces: int | None = proposed("max_bounces", fallback="16", group=_LIGHT)

    device: str = setting(
        DeviceName(),
        "device that traces rays: auto, gpu, cpu or emulator; auto takes a GPU if there is one, gpu:1 is the second of "
        "several; emulator runs the GPU's kernels on the CPU, slowly",
        default="auto",
        group=TRACING,
    )
    kernel: str | None = setting(
        Text("a name"),
        "traversal kernel, one of those that 'tracecore doctor' lists for the device; auto takes the one that was "
        "measured to be fastest for the rays of the driver",
        fallback="auto",
        group=TRACING,
    )
    dispatch: str | None = setting(
        Choice(("resident", "streamed")),
        "how batches reach a GPU: a resident kernel takes them from a ring, or each is streamed to a launch of its own",
        fallback="resident",
        group=TRACING,
    )
    gpus: int | Literal["all"] | None = setting(
        OrWord(Whole(1, 64), "all"),
        "number of GPUs of this host that share the work, one process each; the picture has the same bits",
        metavar="N|all",
        fallback="one",
        group=TRACING,
    )
    cluster: str | None = setting(
        ClusterAddress(),
        "share the work with N processes on this host, local:N, or with the workers of a Dask cluster (extra cluster), "
        "by the address of its scheduler, such as tcp://10.0.0.1:8786",
        fallback="no cluster",
        group=TRACING,
    )
    insecure_cluster: bool = setting(
        Flag(),
        "accept a scheduler on another machine without TLS: whoever reaches it can run code here and there",
        default=False,
        group=TRACING,
    )
    tls_ca: Path | None = setting(
        File(),
        "certificate of the authority that has signed those of a tls:// cluster, PEM",
        fallback=_OF_DASK,
        group=TRACING,
    )
    tls_cert: Path | None = setting(
        File(), "certificate that is shown to a tls:// cluster, PEM", fallback=_OF_DASK, group=TRACING
    )
    tls_key: Path | None = setting(File(), "key of this certificate, PEM", fallback=_OF_DASK, group=TRACING)
    threads: int | None = setting(Whole(1, 1024), "number of CPU threads", fallback="all cores", group=TRACING)
    batch_rays: int = setting(
        Whole(MIN_BATCH, MAX_BATCH, is_power_of_two=True),
        f"rays per batch, a power of two from {MIN_BATCH} to {MAX_BATCH}",
        default=4096,
        group=TRACING,
    )
    shading: str | None = setting(
        Choice(("cpu", "gpu", "auto")),
        "where hits are shaded: cpu, by threads that stream batches to the tracer; gpu, where paths and photons stay, "
        "wave after wave; auto: there if it can be; the same bits",
        fallback="auto for pictures, cpu for photons and for passes of other processes",
        group=TRACING,
    )
    builder: str | None = setting(
        Text("a name"),
        "builder of the tree: reinserted (binned, then optimised by reinsertion, fastest to trace), ploc (merges "
        "neighbours; built on a GPU in the least time), binned (splits by the surface area heuristic), or one of a "
        "plugin",
        fallback="reinserted, or ploc where a GPU gains by it",
        group=TRACING,
    )
    verify: float | None = setting(
        Number(1e-6, 1),
        "trace this fraction of the batches again on the CPU, and stop with an error where a hit has other bits",
        metavar="FRACTION",
        fallback="none is",
        group=TRACING,
    )
    fallback: Literal["cpu"] | None = setting(
        Choice(("cpu",)),
        "if a device fails or cannot be used, continue on this one, with the same bits and a note",
        fallback="a failure is an error",
        group=TRACING,
    )
    memory: int | None = setting(
        Bytes(),
        "most memory that all processes of this host may take together, such as 4GB: fewer passes run at once, and "
        "what needs more is refused",
        fallback="what is free",
        group=TRACING,
    )
    seed: int | None = proposed("seed", fallback="0", group=TRACING)

    def __post_init__(self) -> None:
        """Raise `UsageError` for a value out of bounds and for settings that contradict each other."""
        super().__post_init__()
        if self.time is not None and self.frame != 0:
            raise UsageError("frame and time cannot both be given; leave one out")
        for name in OF_CLUSTER:
            if getattr(self, name) and self.cluster is None:
                raise UsageError(f"{name} says how a cluster is reached, and there is none; leave it out")
        if self.is_shared:
            self._check_shared()

    @property
    def is_shared(self) -> bool:
        """Returns whether several processes share the work out."""
        return self.gpus is not None or self.cluster is not None

    def _check_shared(self) -> None:
        """Raise `UsageError` for settings that are for one process alone."""
        given = "gpus" if self.cluster is None else "cluster"
        if self.gpus is not None and self.cluster is not None:
            raise UsageError("gpus and cluster cannot both be given; leave one out")
        if self.gpus is not None and self.device not in ("auto", "gpu"):
            raise UsageError(f"gpus takes GPUs, and device is {self.device}; leave one out")
        for name in ("fallback", "save_photons", "load_photons", "timeline"):
            if getattr(self, name) is not None:
                raise UsageError(f"{name} is for one process, and {given} shares the work out; leave one out")


#: Settings that not every driver takes: those of the light transport. A driver says which it does.
DRIVER_SETTINGS = tuple(name for name, one in settings_of(Settings).items() if one.group == _LIGHT)


@dataclass(frozen=True, kw_only=True)
class RenderSettings:
    """Holds settings for whoever makes passes. A field named as a setting is has its value, or a default of its own.

    width, height: pixels.
    seed: 0..2^64-1.
    photons: emitted per pass, or None for as many as suit the picture.
    radius: first gather radius in world units, or None for what suits the picture.
    max_bounces: longest path, in surface interactions.
    threads, batch_rays: CPU threads that shade, None for all cores, and rays in a batch, a power of two.
    shading: where hits are shaded: "cpu", "gpu", or "auto": there where it can be.
    pixel_filter, sampler: names of `FILTER_NAMES` and `SAMPLER_NAMES`.
    layers, light_groups: a name of `renderer.film.layers.LAYER_COLUMNS`, and how many light groups there are.
    projection: whether photons are sent where they matter.
    guide_share: share of the photons of `photon` and `sppm` that go to mirrors and glass, below 1.
    is_logged: whether it is noted what each thread does when.
    crop: left column, upper row, width and height of the part of the picture that is made, or None for all of it.
    adds_up, adaptive: whether passes may come added up, several as one, and whether they may leave pixels out.
    """

    width: int
    height: int
    seed: int = 0
    photons: int | None = None
    radius: float | None = None
    max_bounces: int = 16
    threads: int | None = None
    batch_rays: int = 4096
    shading: str = "cpu"
    pixel_filter: str = "box"
    sampler: str = "sobol"
    layers: str = "beauty"
    light_groups: int = 0
    projection: bool = True
    guide_share: float = 0.0
    is_logged: bool = False
    crop: tuple[int, int, int, int] | None = None
    adds_up: bool = False
    adaptive: bool = False

    @property
    def film_size(self) -> tuple[int, int]:
        """Returns width and height of what is made of the picture, pixels."""
        return (self.width, self.height) if self.crop is None else self.crop[2:]


def resolved(settings: Any, **own: Any) -> RenderSettings:
    """Returns what is resolved of settings.

    settings: `Settings`, or whatever has some of them by their names.
    own: fields that are no setting, or not as it is given, by their names.
    """
    return RenderSettings(**own, **taken(RenderSettings, settings, *own))
