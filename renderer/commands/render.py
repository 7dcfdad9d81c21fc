"""The command `tracecore render` makes a picture of a scene, and its statistics, by the call that
`renderer.render` is.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from renderer.commands.arguments import (
    add_frames,
    add_part,
    add_replacing,
    add_scene,
    add_setting,
    add_settings_files,
    argument_type,
    chosen_settings,
    path_name,
    save_settings,
    settings_in_file,
)
from renderer.commands.parser import Parser, in_two_levels
from renderer.errors import UsageError
from renderer.interrupts import nothing_saved
from renderer.settings.picture import DEFAULT_DRIVER, DEFAULT_PASSES, TRACING, Settings
from renderer.settings.setting import FRAME_KINDS, FRAME_SEEDS, settings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from renderer.film.picture import Picture
    from renderer.run.plan import Plan
    from renderer.run.sequence.sequence_order import Seeds, SequenceOrder
    from renderer.run.statistics import Statistics

#: Options that have to do with sequences alone, and those that have to do with one picture alone.
FOR_FRAMES = ("frame_seeds", "fps", "film_noise")
NOT_FOR_FRAMES = ("frame", "time", "save_photons", "load_photons", "checkpoint", "debug_path", "part")

#: What stands for standard output, and options that keep something beside the picture.
STANDARD_OUTPUT = Path("-")
NOT_TO_OUTPUT = ("frames", "part", "checkpoint", "resume", "preview", "debug_path")

DEFAULT_SEEDS: Seeds = "same"
DEFAULT_FPS = 25.0

DRY_RUN = "check everything, say how much memory the picture will take, and make none"

#: Options that most people use.
USUAL = (
    "output size passes time_limit target_noise driver device camera frame frames exposure denoise resume settings "
    "quiet help"
)

#: What no default name has.
NO_WORD = re.compile(r"[^\w.-]+")

NOTES = f"""\
A driver that cannot see the caustics of a scene says so.

what is written:
  FILE.png   the picture, tone mapped: radiance times 2^exposure, then luminance L becomes L (1 + L/16) / (1 + L)
             (Reinhard et al. 2002; --tone-map linear leaves it), then sRGB. Its text has the scene and all settings.
             -o - writes it to standard output, and nothing beside it; what is told goes to stderr.
             --exposure auto makes the mean of log L 0.18, and has 4 or the 99th percentile of L, as 'white', for the
             root of 16. All frames of --frames have one exposure and one white, by a few frames of the whole animation.
  FILE.npy   linear radiance, (height, width, 3) float32; -o FILE.exr writes that alone, as OpenEXR
             With --layers an .exr has all of these: R, G, B; direct, indirect and caustic light, which add up to them;
             albedo, normal, Z (distance) of what camera rays hit first; noise (standard error); density (photons found
             per square metre and pass). At the first surface that spreads it, light comes straight from a light
             (direct), by mirrors and glass alone (caustic), or otherwise (indirect).
             With --layers depth,position these alone, and other ones: variance (square of noise); of the middle of each
             pixel position (X, Y, Z), uv (U, V), and the numbers of material and triangle, -1 where nothing is.
             With --layers lights light.NAME of each lamp or group of lamps, which add up to R, G, B.
             With --denoise a .png shows the picture without noise, and an .exr has a layer 'denoised' of it; R, G, B
             and .npy stay as they are.
  FILE.png.json  statistics, see below; those of FILE.exr are FILE.exr.json, and so on

What this program wrote is replaced, whatever scene and settings it is of. What is there of others is replaced with
--force alone, and a file that the scene is read from never. With --no-clobber nothing is replaced.

Ctrl-C, SIGTERM and SIGHUP (a closed terminal) end early, and save the passes that are finished, also in
FILE.png.checkpoint. A render of more than two minutes, or one with --checkpoint, keeps that from time to time, and the
one before as FILE.png.checkpoint.before, until the picture is finished. After an interrupt, or where the machine has
failed, the same command with --resume goes on from there, on whatever device and threads, and makes the same picture
bit for bit. If the newest is damaged or missing it goes on from the one before. A checkpoint of another scene, other
settings or another version of the program is refused; without --resume the picture begins anew.

With --frames each frame goes to a file of its own, FILE-0000.png and its .png.json and so on (or .exr, as FILE is
named); FILE.mp4, .webm (extra film), .gif, .webp or .apng is made of them in the end, and FILE.mp4.json has the
statistics of all, a list for each key, and what took the time. After Ctrl-C the same command with --resume makes what
is missing, with the same bits. By the key 'request' of a frame's own .json it knows that all is as it was that decides
the picture: the scene, the options and the program.

A sample, one of a pixel and pass, whose radiance is no number counts as black; the statistics tell how many there were,
and a note names the first. The same command with --debug-path SEED,PASS,PIXEL traces that path alone, with the bits
that it has in the picture, and prints what it meets, how it goes on, and the light that it brings.

A picture is the mean of passes, each with one sample per pixel: more passes, less noise. Without --passes there are
{DEFAULT_PASSES}, or with --time-limit or --target-noise as many as it takes. The noise is estimated by how much two
halves of the passes differ, better the more pixels there are. --target-noise counts with it the blur of the photon
search, estimated by how much less a smaller disc would blur. The estimate is right at edges and too large where light
varies smoothly. It does not contain detail that is finer than the discs, the blur of the far map of 'gather', the noise
in the one map of 'photons-only', and light that a driver cannot see.
"""

EXAMPLES = """\
examples:
  tracecore render cornell
  tracecore render cornell --driver path --passes 64 -o output/judge.png
  tracecore render kitchen.aff --size 400x300 --photons 300000 --time-limit 120 --exposure 0.5
  tracecore render cornell --driver photons-only --photons 1000000 --save-photons output/photons.npz
  tracecore render kitchen --camera table --aperture 0.03 --focus 1.2
  tracecore render kitchen --frame 100 --camera car --shutter 0.2
  tracecore render cornell --size 64x48 --debug-path 0,3,20:30
  tracecore render museum --frames 0:199:4 --size 400x300 --passes 8 -o output/museum.gif
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes: the settings of a picture, and those of frames."""
    if isinstance(parser, Parser):
        parser.make_epilog, parser.defaults_of = make_epilog, settings_in_file
    in_two_levels(parser, USUAL, EXAMPLES)
    add_scene(parser)
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for one in settings_of(Settings).values():
        if one.group == "scene":
            continue
        if one.name == "output":
            about = f"{one.about}; of frames .mp4, .webm, .gif, .webp or .apng"
            one = replace(one, about=about, fallback="output/SCENE-DRIVER.png, with --camera and --frame in it")
        if one.group not in groups:
            groups[one.group] = parser.add_argument_group(one.group)
        add_setting(groups[one.group], one)
        if one.name == "output":
            add_replacing(groups[one.group])
            add_settings_files(groups[one.group])
    groups[TRACING].add_argument("--dry-run", action="store_true", help=DRY_RUN)
    add_part(groups[TRACING])
    _add_frames(parser.add_argument_group("frames"))
    parser.add_argument_group("looking closer").add_argument(
        "--debug-path",
        type=path_name,
        metavar="SEED,PASS,PIXEL",
        help="print what one path of the picture meets, step by step, and write no file; PIXEL is X:Y from the top "
        "left, or a number, row by row",
    )


def make_epilog() -> str:
    """Return the end of the help: the drivers, each as its class describes itself, examples, and what is written."""
    from renderer.drivers import DRIVERS
    from renderer.run import statistics

    drivers = "\n".join(f"  {name:<13}  {driver.summary}" for name, driver in DRIVERS.items())
    keys = statistics.explain(statistics.OF_PHOTON_RUNS)
    of_films = "\n".join(statistics.key_lines(statistics.OF_FILMS))
    keys += f"\n\nkeys of all frames together, in the statistics of a film:\n{of_films}"
    return f"drivers:\n{drivers}\n\n{NOTES}\n{EXAMPLES}\nkeys of the statistics:\n{keys}\n"


def _add_frames(group: argparse._ArgumentGroup) -> None:
    add_frames(group)
    group.add_argument(
        "--frame-seeds",
        choices=FRAME_SEEDS,
        help="the same random numbers in all frames, so that noise stands still, or each frame's own (default: "
        f"{DEFAULT_SEEDS})",
    )
    group.add_argument(
        "--fps",
        type=argument_type(FRAME_KINDS["fps"]),
        metavar="N",
        help=f"frames per second (default: {DEFAULT_FPS:g})",
    )
    group.add_argument(
        "--film-noise",
        type=argument_type(FRAME_KINDS["film_noise"]),
        metavar="E",
        help="what --target-noise is for a picture, for each frame: it has as many passes as that takes",
    )


def run(arguments: argparse.Namespace) -> int:
    """Renders; returns the exit status."""
    settings = chosen_settings(Settings, arguments)
    check_frames(arguments)
    is_piped = arguments.output == STANDARD_OUTPUT
    if is_piped:
        _check_piped(arguments)
    if arguments.film_noise is not None:
        settings = replace(settings, target_noise=arguments.film_noise)
    if arguments.debug_path is not None:
        _tell_path(arguments, settings)
        return 0
    make = _make_picture if arguments.frames is None else _make_frames
    if arguments.part is not None:
        make = _make_part
    if is_piped:
        make = _make_piped
    with ExitStack() as stack:
        if settings.verify is not None:
            from renderer.commands.wrong_rays import wrong_ray_kept

            stack.enter_context(wrong_ray_kept(arguments, output_of(arguments, settings.driver)))
        if (settings.is_shared or arguments.frames is not None) and not arguments.dry_run:
            from renderer.run.members.small_frames import begun_ahead

            stack.enter_context(begun_ahead(settings, arguments.frames))
        is_finished = make(arguments, settings)
    return 0 if is_finished else 130


def _make_picture(arguments: argparse.Namespace, settings: Settings, pipe: BinaryIO | None = None) -> bool:
    """Makes one picture; returns whether it is finished. pipe: where it goes instead of a file."""
    from tracecore.collector import modules_kept

    with nothing_saved():
        with modules_kept():
            from renderer.film.image_file import check_writable
            from renderer.run.picture.picture_files import asked, written_files
            from renderer.run.render_call import check_output, plan_picture, render_plan
        path = STANDARD_OUTPUT if pipe else output_of(arguments, settings.driver)
        if pipe:
            check_output(settings, path)
        plan = plan_picture(arguments.scene, replace(settings, output=None if pipe else path))
    path = path if pipe else output_of(arguments, plan.settings.driver)
    wanted = asked(arguments.scene, settings, path.parent)
    if not pipe:
        plan = replace(plan, settings=replace(plan.settings, output=path))
        check_writable(path)
    plan = replace(plan, asked=wanted, pipe=pipe)
    _check_outputs(arguments, plan, written_files(plan.settings))
    if arguments.dry_run:
        return _tell_memory(plan)
    with _checkpoint_told(path):
        picture = render_plan(plan)
    _report(picture, Path("standard output") if pipe else path, quiet=settings.quiet)
    return picture.is_finished


def _check_piped(arguments: argparse.Namespace) -> None:
    """Raises `UsageError` for an option that does not go with a picture to standard output."""
    for name in NOT_TO_OUTPUT:
        if getattr(arguments, name, None):
            raise UsageError(f"-o - writes one picture and nothing beside it: leave out --{name.replace('_', '-')}")


def _make_piped(arguments: argparse.Namespace, settings: Settings) -> bool:
    """Makes one picture, which goes to standard output as a PNG; what is told goes to stderr. Returns whether it is
    finished."""
    pipe = sys.stdout.buffer
    with redirect_stdout(sys.stderr):
        return _make_picture(arguments, settings, pipe)


def _make_part(arguments: argparse.Namespace, settings: Settings) -> bool:
    """Makes a part of the passes of a picture; returns whether it is finished."""
    from renderer.film.image_file import check_folder
    from renderer.run.picture.part_file import SUFFIX
    from renderer.run.render_call import plan_picture, render_plan
    from renderer.run.resuming.checkpoints import checkpoint_path

    path: Path | None = arguments.output
    if path is not None and path.suffix.lower() != SUFFIX:
        raise UsageError(f"cannot write a part to '{path}': the name must end in {SUFFIX}")
    plan = plan_picture(arguments.scene, replace(settings, output=None, checkpoint=None, resume=False))
    plan = plan.with_part(arguments.part)
    if path is None:
        whole = output_of(arguments, plan.settings.driver)
        path = whole.with_name(f"{whole.stem}-part-{arguments.part.number}{SUFFIX}")
    check_folder(path)
    written = replace(plan.settings, output=path, checkpoint=settings.checkpoint, resume=settings.resume)
    plan = replace(plan, settings=written)
    _check_outputs(arguments, plan, [path, checkpoint_path(path), settings.save_photons, settings.timeline])
    if arguments.dry_run:
        return _tell_memory(plan)
    with _checkpoint_told(path):
        picture = render_plan(plan)
    _report(picture, path, quiet=settings.quiet)
    return picture.is_finished


@contextmanager
def _checkpoint_told(path: Path) -> Iterator[None]:
    """Says, where a device fails for good within the block, that the passes so far are kept, if they are."""
    from renderer.errors import FleetError
    from renderer.run.resuming.checkpoints import checkpoint_path
    from tracecore.errors import DeviceError, KernelError

    try:
        yield
    except (DeviceError, KernelError, FleetError) as error:
        kept = checkpoint_path(path)
        if not kept.is_file():
            raise
        raise type(error)(f"{error}; finished passes are kept in '{kept}', with which --resume goes on") from error


def _tell_path(arguments: argparse.Namespace, settings: Settings) -> None:
    """Prints one path of the picture, step by step."""
    from renderer.run.picture.path_report import trace_path
    from renderer.run.render_call import opened, plan_picture

    name = arguments.debug_path
    unused: dict[str, Any] = {"output": None, "save_photons": None, "timeline": None, "checkpoint": None}
    unused |= {"resume": False, "denoise": False}
    plan = plan_picture(arguments.scene, replace(settings, seed=name.seed, **unused))
    with opened(plan) as context:
        trace = trace_path(context, plan, name)
    print("\n".join(trace.lines))


def _tell_memory(plan: Plan, *, is_frame: bool = False) -> bool:
    """Prints how much memory a picture or a frame will take, of a GPU too, and how much there is; returns True."""
    from renderer.run.memory import gpu_bytes, told, told_of_gpu

    snapshot = plan.snapshot()
    print(told(plan.estimate(snapshot, is_frame=is_frame)))
    settings, builder = plan.settings_of_each(snapshot), plan.settings.builder
    of_gpu = gpu_bytes(snapshot, settings, builder, plan.driver, is_frame=is_frame)
    told_there = told_of_gpu(of_gpu, plan.settings.device)
    if told_there is not None:
        print(told_there)
    return True


def output_of(arguments: argparse.Namespace, driver: str | None) -> Path:
    """Return where the picture goes, or the frames."""
    from renderer.film.image_file import DEFAULT_FOLDER

    path: Path | None = arguments.output
    if path == STANDARD_OUTPUT:  # what is kept in an emergency has a name of its own
        path = None
    words = [Path(arguments.scene.replace(":", "-")).stem, driver or DEFAULT_DRIVER]
    words += [arguments.camera] if arguments.camera else []
    words += [f"frame-{arguments.frame}"] if arguments.frame and arguments.frames is None else []
    words += ["draft"] if arguments.draft else []
    words += [f"time-{arguments.time:g}"] if arguments.time is not None else []
    return DEFAULT_FOLDER / f"{NO_WORD.sub('_', '-'.join(words))}.png" if path is None else path


def _check_outputs(arguments: argparse.Namespace, plan: Plan, outputs: Sequence[Path | None]) -> None:
    """Raises `UsageError` where a file that is to be written is one that the scene or the command reads, or is there
    and may not be replaced. Then all is known to be possible, and what is asked for goes to --save-settings."""
    from renderer.atomic_file import check_outputs, check_replaceable
    from scenes.document import Scene

    files = plan.scene.files if isinstance(plan.scene, Scene) else ()
    read = [*files, *arguments.plugin, *filter(None, [arguments.settings, arguments.load_photons])]
    written = [*outputs, arguments.save_settings]
    check_outputs(written, read)
    check_replaceable(written, arguments.replace)
    save_settings(arguments)


def _report(picture: Picture, path: Path, *, quiet: bool) -> None:
    from renderer.run.resuming.checkpoints import checkpoint_path

    passes = f"{picture.passes} pass" if picture.passes == 1 else f"{picture.passes} passes"
    if not picture.is_finished:
        more = "; the same command with --resume goes on" if checkpoint_path(path).exists() else ""
        print(f"tracecore: interrupted: {passes} saved in {path}{more}", file=sys.stderr)
    elif not quiet:
        figures = picture.statistics
        noise = f", noise {figures['noise']:.1%}" if picture.passes > 1 else ""
        noise += f", bias {figures['bias']:.1%}" if figures["bias"] > 0.0 else ""
        print(
            f"{path}: {picture.film.width}x{picture.film.height}, {passes}{noise}, {figures['seconds.total']:.1f} s, "
            f"{figures['rays_per_second'] / 1e6:.2f} Mrays/s, limited by {figures['limited_by']}"
        )


def _make_frames(arguments: argparse.Namespace, settings: Settings) -> bool:
    """Makes a sequence; returns whether it is finished."""
    from renderer.film.image_file import FilmTime, check_folder, make_default_folder
    from renderer.film.video import check_video_size
    from renderer.run.members.frame_member import frames_by
    from renderer.run.members.open_fleet import open_fleet
    from renderer.run.members.small_frames import shared_out
    from renderer.run.memory import check_fits
    from renderer.run.picture.picture_files import asked
    from renderer.run.render_call import check_output, plan_picture
    from renderer.run.sequence.exposure_pilot import with_exposure
    from renderer.run.sequence.make_sequence import make_sequence
    from renderer.run.sequence.sequence_order import check_sequence_path
    from renderer.run.timeline import FilmClock
    from tracecore.freed_memory import keep_freed_memory

    keep_freed_memory()  # frame after frame needs arrays of the same sizes
    clock = FilmClock(arguments.started)
    path = output_of(arguments, settings.driver)
    check_sequence_path(path)
    check_output(settings, path)
    if settings.timeline is not None:
        check_folder(settings.timeline)
    plan = plan_picture(arguments.scene, replace(settings, output=None, timeline=None), is_sequence=True)
    path = output_of(arguments, plan.settings.driver)
    wanted = asked(arguments.scene, settings, path.parent, frame_seeds=arguments.frame_seeds or DEFAULT_SEEDS)
    is_shown = path.suffix.lower() != ".exr"
    film_time = None if is_shown else FilmTime(0, arguments.fps or DEFAULT_FPS)
    plan = replace(plan, asked=wanted, film_time=film_time)
    first = plan.snapshot(frame=arguments.frames[0])
    check_video_size(path, plan.driver_settings(first).film_size)
    plan = plan if settings.timeline else shared_out(plan, first, len(arguments.frames))
    if arguments.dry_run:
        return _tell_memory(plan, is_frame=True)
    make_default_folder([path, settings.timeline])
    order = replace(sequence_of(arguments, plan, path), clock=clock, timeline_path=settings.timeline)
    _check_outputs(arguments, plan, [*order.own_files, *order.frame_files_there()])
    check_fits(plan.estimate(first, is_frame=True))
    plan.note_unseen_light(first)
    report = FrameReport(path, arguments.frames, quiet=settings.quiet)
    with open_fleet(plan.settings) as fleet:
        order = order if fleet is None else replace(order, elsewhere=frames_by(order, fleet))
        clock.begin("pilot")
        with nothing_saved():
            plan = with_exposure(plan, is_shown=is_shown)
        clock.begin("start")
        is_finished = make_sequence(replace(order, picture=plan), report)
    report.end(is_finished)
    return is_finished


def sequence_of(arguments: argparse.Namespace, plan: Plan, path: Path) -> SequenceOrder:
    """Return how the frames are made."""
    from renderer.run.sequence.sequence_order import SequenceOrder

    return SequenceOrder(
        path=path,
        frames=arguments.frames,
        picture=plan,
        seeds=arguments.frame_seeds or DEFAULT_SEEDS,
        resume=arguments.resume,
        frames_per_second=arguments.fps or DEFAULT_FPS,
    )


def check_frames(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for an option that would do nothing with --frames, or without them."""
    for name in FOR_FRAMES if arguments.frames is None else NOT_FOR_FRAMES:
        if getattr(arguments, name) not in (None, False):
            without = "without" if arguments.frames is None else "with"
            raise UsageError(f"--{name.replace('_', '-')} does nothing {without} --frames; leave it out")
    if arguments.film_noise is not None and arguments.target_noise is not None:
        raise UsageError("--film-noise is --target-noise for each frame; leave one out")


class FrameReport:
    """Reports the progress of a sequence, with a row for each frame that is done.

    path: where the sequence is written.
    frames: their numbers.
    """

    def __init__(self, path: Path, frames: range, *, quiet: bool) -> None:
        self.path, self.frames, self.quiet = path, frames, quiet
        self.done = 0

    def __call__(self, frame: int, figures: Statistics, is_kept: bool) -> None:
        """Prints the row of a frame. is_kept: it was there already."""
        if not self.quiet:
            print(FRAME_HEAD if self.done == 0 else "", end="")
            print(frame_row(frame, figures, is_kept), flush=True)
        self.done += 1

    def end(self, is_finished: bool) -> None:
        """Prints how the sequence ended."""
        if not is_finished:
            print(
                f"tracecore: interrupted: {self.done} of {len(self.frames)} frames are finished; go on with --resume",
                file=sys.stderr,
            )
        elif not self.quiet:
            print(f"{self.path}: frames {self.frames[0]} to {self.frames[-1]}, {len(self.frames)} in all")


#: Above the rows of a sequence.
FRAME_HEAD = "  frame  triangles  tree       tree ms    SAH cost   trace s   total s\n"


def frame_row(frame: int, figures: Statistics, is_kept: bool) -> str:
    """Returns the row that is printed when a frame is done. is_kept: it was there already."""
    update = "(kept)" if is_kept else figures["bvh.update"]
    return (
        f"{frame:7} {figures['triangles']:10} {update:>9} {1e3 * figures['bvh.update_seconds']:9.1f} "
        f"{figures['bvh.sah_cost']:11.2f} {figures['seconds.trace']:9.2f} {figures['seconds.total']:9.2f}"
    )
