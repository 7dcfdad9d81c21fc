"""`tracecore render`: a picture of a scene, and its statistics."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from renderer.commands import first_run
from renderer.commands.arguments import MAX_PIXELS, add_max_bounces, add_scene, add_tracing, frames, real, size, whole
from renderer.run import statistics

if TYPE_CHECKING:
    from renderer.drivers import EyeDriver
    from renderer.drivers.driver import RenderSettings
    from renderer.run.motion import Motion
    from renderer.run.picture import Made, PictureOrder
    from renderer.run.sequence import Seeds
    from renderer.run.statistics import Statistics
    from renderer.scene.tree_updates import Update
    from scenes.model import Snapshot
    from scenes.scene import Scene

D = TypeVar("D")

SUMMARY = "make a picture of a scene, and its statistics"
DEFAULT_PASSES = 64

#: Options that a driver has no use for; of any other driver all are taken.
NOT_FOR = {
    "path": ("photons", "radius", "aim"),
    "whitted": ("photons", "radius", "aim"),
    "ao": ("photons", "radius", "aim", "max_bounces"),
    "gather": ("aim",),
    "path+caustics": ("aim",),
    "photons-only": ("aim",),
}

#: Options that have to do with sequences alone, and those that have to do with one picture alone.
FOR_FRAMES = ("frame_seeds", "fps", "resume")
NOT_FOR_FRAMES = ("time", "save_photons")

DEFAULT_DRIVER = "photon"
DEFAULT_UPDATE: Update = "auto"
DEFAULT_SEEDS: Seeds = "same"
DEFAULT_FPS = 25.0

DEFAULT_MOTION_SAMPLES = 16
DEFAULT_FILTER = "box"

#: As `pixel_filters.FILTERS` and `eye_samples.SAMPLERS` have them, which would have to be compiled.
FILTER_NAMES = ("box", "tent", "gaussian", "blackman-harris")
SAMPLER_NAMES = ("sobol", "random")

#: Drivers whose pictures hold shares rather than light: shown as they are.
SHOWN_LINEAR = ("ao",)

EXAMPLES = f"""\
drivers:
  photon         progressive photon mapping: all light, caustics too
  sppm           the same, with a radius for each pixel that shrinks where photons come
  path           path tracing: slow, and right; the judge of the others; blind to caustics of lamps without size
  path+caustics  path tracing, and photons for what mirrors and glass bring to other surfaces
  gather         final gather: photons light what the eye's surfaces see; smoother than photon, slower
  whitted        direct light, mirrors and glass alone
  ao             ambient occlusion, to look at shapes
  photons-only   one photon map, shown as it is

A driver that cannot see the caustics of a scene says so.

what is written:
  FILE.png   the picture, tone mapped: radiance times 2^exposure, then luminance L becomes L (1 + L/16) / (1 + L)
             (Reinhard et al. 2002; --tone-map linear leaves it), then sRGB. Its text has the scene and all settings.
  FILE.npy   linear radiance, (height, width, 3) float32; -o FILE.exr writes that alone, as OpenEXR
             With --layers an .exr has all of these: R, G, B; direct, indirect and caustic light, which add up to them;
             albedo, normal, Z (distance) of what the eye meets first; noise (standard error); density (photons found
             per square metre and pass). At the first surface that spreads it, light comes straight from a light
             (direct), by mirrors and glass alone (caustic), or otherwise (indirect).
             With --denoise a .png shows the picture without noise, and an .exr has a layer 'denoised' of it; R, G, B
             and .npy stay as they are.
  FILE.json  statistics, see below

With --frames each frame goes to a file of its own, FILE-0000.png and its .json and so on (or .exr, as FILE is named);
FILE.gif, .webp or .apng is made of them in the end, and FILE.json has the statistics of all, a list for each key. After
Ctrl-C the same command with --resume makes what is missing, with the same bits. By the key 'request' of a frame's own
.json it knows that all is as it was that decides the picture: the scene, the options and the program.

A picture is the mean of passes, each with one sample per pixel: more passes, less noise. Without --passes there are
{DEFAULT_PASSES}, or with --time-limit or --target-noise as many as it takes. Ctrl-C ends early and saves the passes
that are finished. How much two halves of the passes differ tells the noise, better the more pixels there are.
--target-noise counts with it the blur of the photon search, by how much less a smaller disc would blur: as much as at
edges, so that smooth light is better than said. Nothing tells of detail that is finer than the discs, of the blur of
the far map of 'gather', of the noise in the one map of 'photons-only', and of light that a driver cannot see.

examples:
  tracecore render cornell
  tracecore render cornell --driver path --passes 64 -o output/judge.png
  tracecore render kitchen.aff --size 400x300 --photons 300000 --time-limit 120 --exposure 0.5
  tracecore render cornell --driver photons-only --photons 1000000 --save-photons output/photons.npz
  tracecore render kitchen --camera table --aperture 0.03 --focus 1.2
  tracecore render kitchen --frame 100 --camera car --shutter 0.2
  tracecore render museum --frames 0:199:4 --size 400x300 --passes 8 -o output/museum.gif

keys of the statistics:
{statistics.explain(statistics.OF_PHOTON_RUNS)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.epilog = EXAMPLES
    add_scene(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="picture to write, .png, .exr or .npy, and of frames .gif, .webp or .apng (default: "
        "output/SCENE-DRIVER.png)",
    )
    parser.add_argument(
        "--driver",
        metavar="NAME",
        help=f"how to make it, see below (default: what the scene says, or {DEFAULT_DRIVER})",
    )
    _add_picture(parser.add_argument_group("picture"))
    _add_camera(parser.add_argument_group("camera"))
    _add_light(parser.add_argument_group("light transport"))
    _add_frames(parser.add_argument_group("frames"))
    add_tracing(parser)
    parser.add_argument("--quiet", action="store_true", help="print errors alone")


def _add_picture(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--size", type=size, metavar="WxH", help="pixels, such as 400x300 (default: what the scene says)"
    )
    group.add_argument(
        "--passes",
        "--spp",
        type=whole(1, 10**6),
        metavar="N",
        help=f"passes, samples per pixel (default: {DEFAULT_PASSES})",
    )
    group.add_argument("--time-limit", type=real(1e-3, 1e9), metavar="S", help="begin no pass after so many seconds")
    group.add_argument(
        "--target-noise",
        type=real(1e-6, 10),
        metavar="E",
        help="stop when pixels are right to this share of their brightness, such as 0.02, by how much two halves of "
        "the passes differ and by the blur of the photon search",
    )
    group.add_argument(
        "--preview",
        type=real(0, 1e9),
        metavar="S",
        help="write the unfinished picture every so many seconds (default: 5)",
    )
    group.add_argument(
        "--layers", action="store_true", help="write light by its ways, albedo, normals and more to an .exr, see below"
    )
    group.add_argument(
        "--denoise", action="store_true", help="show the picture without noise (Open Image Denoise, extra denoise)"
    )
    group.add_argument("--exposure", type=real(-64, 64), metavar="EV", help="stops, +1 is twice as bright (default: 0)")
    group.add_argument(
        "--tone-map",
        choices=("reinhard", "linear"),
        help="curve for the brights (default: reinhard; linear for the driver ao)",
    )


def _add_camera(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--aperture",
        type=real(0, 1e9),
        metavar="R",
        help="radius of the lens, world units: what is not in focus is blurred; 0 for a pinhole (default: the scene's)",
    )
    group.add_argument(
        "--focus",
        type=real(1e-9, 1e9),
        metavar="D",
        help="distance along the view of what is sharp, world units (default: the scene's)",
    )
    group.add_argument(
        "--shutter",
        type=real(1e-9, 1e9),
        metavar="S",
        help="motion blur: the shutter is open so long, in the unit of the animation's time, from the frame's time on",
    )
    group.add_argument(
        "--motion-samples",
        type=whole(1, 65536),
        metavar="N",
        help="the first N passes have a time each, then come N times with two passes each, N with four, and so on "
        f"(default: {DEFAULT_MOTION_SAMPLES})",
    )
    group.add_argument(
        "--filter", choices=FILTER_NAMES, help=f"what of the picture a pixel is the mean of (default: {DEFAULT_FILTER})"
    )
    group.add_argument(
        "--sampler",
        choices=SAMPLER_NAMES,
        help="numbers up to the first surface: Sobol's points, or random as all others (default: sobol)",
    )


def _add_light(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--photons",
        type=whole(1, 2 * 10**9),
        metavar="N",
        help="photons sent out in each pass (default: two for each pixel)",
    )
    group.add_argument(
        "--radius",
        type=real(1e-12, 1e12),
        metavar="R",
        help="first radius of the photon search, world units (default: two pixels)",
    )
    group.add_argument(
        "--aim",
        type=real(0, 0.9),
        metavar="SHARE",
        help="of the photons of photon and sppm, sent to mirrors and glass: less noise in caustics, more elsewhere, "
        "and more time for each photon (default: 0)",
    )
    add_max_bounces(group)
    group.add_argument("--save-photons", type=Path, metavar="FILE", help="keep the photon map (driver photons-only)")


def _add_frames(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--frames", type=frames, metavar="A:B[:STEP]", help="frames from A to B, both included, as numbered files"
    )
    group.add_argument(
        "--update",
        choices=("auto", "refit", "rebuild"),
        help="from frame to frame: fit the tree to where triangles are now, build a new one, or what takes less time "
        f"(default: {DEFAULT_UPDATE}); the picture is the same",
    )
    group.add_argument(
        "--frame-seeds",
        choices=("same", "own"),
        help="the same random numbers in all frames, so that noise stands still, or each frame's own (default: "
        f"{DEFAULT_SEEDS})",
    )
    group.add_argument("--fps", type=real(0.1, 1000), metavar="N", help=f"frames per second (default: {DEFAULT_FPS:g})")
    group.add_argument("--resume", action="store_true", help="keep frames that are finished and as asked for")


def run(arguments: argparse.Namespace) -> int:
    """Render; returns the exit status."""
    import scenes
    from renderer.drivers import DRIVERS
    from renderer.film.image_file import make_default_folder
    from renderer.scene.render_context import check_scene

    given = DEFAULT_DRIVER if arguments.driver is None else arguments.driver
    choose_driver(given, DRIVERS)
    check_options(arguments, given, choose_output(arguments, given))
    check_scene(arguments.scene)
    start = time.perf_counter()
    scene = scenes.load(arguments.scene)
    load_seconds = time.perf_counter() - start
    chosen = with_proposals(arguments, scene.document.settings)
    kind = choose_driver(chosen.driver, DRIVERS)
    path = choose_output(chosen, chosen.driver)
    check_photon_file(chosen, kind)
    make_default_folder((path, chosen.save_photons))
    work = f"render-{chosen.driver}"
    first_run.announce(work, quiet=chosen.quiet)
    if chosen.frames is not None:
        made_all, made_any = _make_sequence(scene, chosen, kind, path)
    else:
        made_all, made_any = _make_picture(scene, chosen, order_of(scene, chosen, kind), path, load_seconds)
    if made_any:
        first_run.note(work)
    return 0 if made_all else 130


def _make_picture(
    scene: Scene, chosen: argparse.Namespace, order: PictureOrder, path: Path, load_seconds: float
) -> tuple[bool, bool]:
    """Whether it is finished, and whether there is anything of it."""
    from renderer.run.picture import make_picture
    from renderer.scene.render_context import Moment, TracerChoice, stage_of

    start = time.perf_counter()
    snapshot = Moment.chosen(chosen).of(scene)
    load_seconds += time.perf_counter() - start
    _note_blindness(chosen, snapshot)
    with stage_of(snapshot, TracerChoice.chosen(chosen), load_seconds=load_seconds) as stage:
        made = make_picture(stage, order, path)
    _report(made, path, order.settings(snapshot), quiet=chosen.quiet)
    return made.finished, made.passes > 0


def _make_sequence(scene: Scene, chosen: argparse.Namespace, kind: type[EyeDriver], path: Path) -> tuple[bool, bool]:
    """Whether it is finished, and whether a frame of it is."""
    from renderer.run.sequence import SequenceOrder, make_sequence
    from renderer.scene.render_context import Moment, TracerChoice, stage_of
    from renderer.scene.tree_updates import TreeUpdates

    choice, moment = TracerChoice.chosen(chosen), Moment.chosen(chosen)
    _note_blindness(chosen, replace(moment, frame=chosen.frames[0]).of(scene))
    order = SequenceOrder(
        path=path,
        frames=chosen.frames,
        picture=order_of(scene, chosen, kind),
        place=lambda frame: replace(moment, frame=frame).of(scene),
        stage=lambda snapshot, seconds, tree: stage_of(snapshot, choice, load_seconds=seconds, tree=tree),
        updates=TreeUpdates(chosen.update or DEFAULT_UPDATE),
        seeds=chosen.frame_seeds or DEFAULT_SEEDS,
        resume=chosen.resume,
        frames_per_second=chosen.fps or DEFAULT_FPS,
    )
    done = 0

    def report(frame: int, told: Statistics, is_kept: bool) -> None:
        nonlocal done
        if not chosen.quiet:
            print(FRAME_HEAD if done == 0 else "", end="")
            print(frame_row(frame, told, is_kept), flush=True)
        done += 1

    finished = make_sequence(order, report)
    if not finished:
        print(
            f"tracecore: interrupted: {done} of {len(order.frames)} frames are finished; go on with --resume",
            file=sys.stderr,
        )
    elif not chosen.quiet:
        print(f"{path}: frames {order.frames[0]} to {order.frames[-1]}, {len(order.frames)} in all")
    return finished, done > 0


def _note_blindness(chosen: argparse.Namespace, snapshot: Snapshot) -> None:
    """Say on stderr what the driver cannot see of a scene."""
    from renderer.drivers import DRIVERS
    from renderer.drivers.blindness import blindness_note

    kind = choose_driver(chosen.driver, DRIVERS)
    note = None if chosen.quiet else blindness_note(kind, snapshot, DRIVERS)
    if note is not None:
        print(f"tracecore: note: {note}", file=sys.stderr)


#: Above the rows of a sequence.
FRAME_HEAD = "  frame  triangles  tree       tree ms    SAH cost   trace s   total s\n"


def frame_row(frame: int, told: Statistics, is_kept: bool) -> str:
    """What is told of a frame when it is done. is_kept: it was there already."""
    update = "(kept)" if is_kept else told["bvh.update"]
    return (
        f"{frame:7} {told['triangles']:10} {update:>9} {1e3 * told['bvh.update_seconds']:9.1f} "
        f"{told['bvh.sah_cost']:11.2f} {told['seconds.trace']:9.2f} {told['seconds.total']:9.2f}"
    )


def with_proposals(arguments: argparse.Namespace, proposed: Mapping[str, object]) -> argparse.Namespace:
    """The arguments, with what a scene proposes where nothing is said, and the driver filled in.

    What the driver has no use for is left out.
    """
    chosen = argparse.Namespace(**vars(arguments))
    chosen.driver = arguments.driver or proposed.get("driver") or DEFAULT_DRIVER
    for name, value in proposed.items():
        if getattr(chosen, name) is None and name not in NOT_FOR.get(chosen.driver, ()):
            setattr(chosen, name, value)
    return chosen


def motion_of(scene: Scene, chosen: argparse.Namespace) -> Motion | None:
    """How the scene moves while the shutter is open, if it is to be seen."""
    if chosen.shutter is None:
        return None
    from renderer.run.motion import Motion
    from renderer.scene.render_context import Moment, TracerChoice, stage_of

    choice, moment = TracerChoice.chosen(chosen), Moment.chosen(chosen)
    return Motion(
        shutter=chosen.shutter,
        samples=chosen.motion_samples or DEFAULT_MOTION_SAMPLES,
        place=lambda time: replace(moment, time=time).of(scene),
        stage=lambda snapshot, seconds, tree: stage_of(snapshot, choice, load_seconds=seconds, tree=tree),
        update=chosen.update or DEFAULT_UPDATE,
    )


def order_of(scene: Scene, chosen: argparse.Namespace, kind: type[EyeDriver]) -> PictureOrder:
    """What is asked for, of whatever snapshot."""
    from renderer.run.picture import PREVIEW_SECONDS, PictureOrder
    from renderer.run.session import Limits

    return PictureOrder(
        kind=kind,
        settings=lambda snapshot: choose_settings(chosen, snapshot),
        limits=Limits(passes=choose_passes(chosen), seconds=chosen.time_limit, noise=chosen.target_noise),
        exposure=chosen.exposure or 0.0,
        curve=chosen.tone_map or ("linear" if chosen.driver in SHOWN_LINEAR else "reinhard"),
        photon_path=chosen.save_photons,
        preview=PREVIEW_SECONDS if chosen.preview is None else chosen.preview,
        denoise=chosen.denoise,
        motion=motion_of(scene, chosen),
        quiet=chosen.quiet,
    )


def choose_driver(name: str, drivers: Mapping[str, type[D]]) -> type[D]:
    """The driver of that name."""
    from renderer.errors import UsageError

    if name not in drivers:
        raise UsageError(f"unknown driver '{name}'; registered: {', '.join(drivers)}")
    return drivers[name]


def choose_output(arguments: argparse.Namespace, driver: str) -> Path:
    """Where the picture goes, or the frames, checked."""
    from renderer.film.image_file import DEFAULT_FOLDER, check_writable

    path: Path | None = arguments.output
    if path is None:
        stem = Path(arguments.scene.replace(":", "-")).stem
        path = DEFAULT_FOLDER / f"{stem}-{driver}.png"
    if arguments.frames is None:
        check_writable(path)
    else:
        from renderer.run.sequence import check_sequence_path

        check_sequence_path(path)
    return path


def check_options(arguments: argparse.Namespace, driver: str, path: Path) -> None:
    """Raise `UsageError` for an option that would do nothing: to this driver, to a file of this kind, or without
    --frames."""
    from renderer.errors import UsageError

    for name in NOT_FOR.get(driver, ()):
        if getattr(arguments, name) is not None:
            raise UsageError(f"{_option(name)} does nothing for the driver {driver}; leave it out")
    for name in ("exposure", "tone_map"):
        if getattr(arguments, name) is not None and path.suffix.lower() in (".exr", ".npy"):
            raise UsageError(f"{_option(name)} is for .png alone; '{path}' holds linear radiance; leave it out")
    for name in FOR_FRAMES if arguments.frames is None else NOT_FOR_FRAMES:
        if getattr(arguments, name) not in (None, False):
            without = "without" if arguments.frames is None else "with"
            raise UsageError(f"{_option(name)} does nothing {without} --frames; leave it out")
    check_motion(arguments)
    check_layers(arguments, path)


def check_layers(arguments: argparse.Namespace, path: Path) -> None:
    """Raise `UsageError` where --layers or --denoise would do nothing, or could not be followed."""
    from renderer.errors import UsageError

    suffix = path.suffix.lower()
    if arguments.layers and suffix != ".exr":
        raise UsageError(f"--layers needs a file that can hold them; name an .exr instead of '{path}' with -o")
    if arguments.denoise and suffix == ".npy":
        raise UsageError(f"--denoise is for .png and .exr; '{path}' holds the picture as it is; leave it out")
    if arguments.denoise:
        from renderer.film.denoising import check_denoiser

        check_denoiser()


def layers_for(arguments: argparse.Namespace) -> str:
    """The least of `layers.COLUMNS` that has what is asked for."""
    if arguments.layers:
        return "all"
    if arguments.denoise:
        return "features"
    return "beauty" if arguments.target_noise is None else "bias"


def check_motion(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for what would do nothing with --shutter, or without it."""
    from renderer.errors import UsageError

    if arguments.shutter is None:
        if arguments.motion_samples is not None:
            raise UsageError("--motion-samples does nothing without --shutter; leave it out")
        if arguments.frames is None and arguments.update is not None:
            raise UsageError("--update does nothing without --frames or --shutter; leave it out")
    elif arguments.save_photons is not None:
        raise UsageError("--save-photons keeps one photon map, and with --shutter each time has its own; leave it out")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def check_photon_file(arguments: argparse.Namespace, kind: type[object]) -> None:
    """Raise `UsageError` if --save-photons cannot be followed."""
    from renderer.errors import UsageError
    from renderer.film.image_file import check_photon_path

    if arguments.save_photons is None:
        return
    if not hasattr(kind, "save_photons"):
        raise UsageError(f"driver {arguments.driver} keeps no photons; use --driver photons-only with --save-photons")
    check_photon_path(arguments.save_photons)


def choose_passes(arguments: argparse.Namespace) -> int | None:
    """As many as asked for; without a word and without another limit the default."""
    passes: int | None = arguments.passes
    has_limit = arguments.time_limit is not None or arguments.target_noise is not None
    return DEFAULT_PASSES if passes is None and not has_limit else passes


def choose_settings(arguments: argparse.Namespace, snapshot: Snapshot) -> RenderSettings:
    """The settings of the drivers; the scene proposes the size."""
    from renderer.drivers.driver import RenderSettings
    from renderer.errors import UsageError

    width, height = arguments.size or snapshot.camera.resolution
    if not (width >= 1 and height >= 1 and width * height <= MAX_PIXELS):
        raise UsageError(f"the scene proposes {width}x{height} pixels, which is out of bounds; choose with --size")
    names = ("seed", "photons", "radius", "max_bounces", "threads", "batch_rays", "sampler", "aim")
    chosen = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    chosen["pixel_filter"] = arguments.filter or DEFAULT_FILTER
    chosen["layers"] = layers_for(arguments)
    return RenderSettings(width=width, height=height, **chosen)


def _report(made: Made, path: Path, settings: RenderSettings, *, quiet: bool) -> None:
    passes = f"{made.passes} pass" if made.passes == 1 else f"{made.passes} passes"
    if not made.finished:
        saved = f"{passes} saved in {path}" if made.passes else "before the first pass was finished"
        print(f"tracecore: interrupted: {saved}", file=sys.stderr)
    elif not quiet:
        told = made.statistics
        noise = f", noise {told['noise']:.1%}" if made.passes > 1 else ""
        noise += f", bias {told['bias']:.1%}" if told["bias"] > 0.0 else ""
        print(
            f"{path}: {settings.width}x{settings.height}, {passes}{noise}, {told['seconds.total']:.1f} s, "
            f"{told['rays_per_second'] / 1e6:.2f} Mrays/s, limited by {told['limited_by']}"
        )
