"""This module holds what the commands' arguments have in common: types that check bounds, groups of options, and the
settings files by which a long command line becomes a file that a later one begins with.

Nothing here imports a compiler, NumPy or scenes, but for their kinds of values, so that help and errors come at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from renderer.errors import UsageError
from renderer.settings.measurement import Measurement
from renderer.settings.picture import TRACING, UNSHARED, Settings
from renderer.settings.setting import (
    FRAME_KINDS,
    Definitions,
    FlagOrNames,
    Setting,
    read_part_of,
    read_path_name,
    settings_of,
)
from scenes.keys.values import Choice, Flag, Kind, Number, Whole

S = TypeVar("S")


def argument_type(kind: Kind) -> Callable[[str], Any]:
    """Return the type that argparse reads a value of a kind with."""

    def parse(text: str) -> Any:
        try:
            return kind.read(kind.parse(text))
        except ValueError:
            raise argparse.ArgumentTypeError(f"expected {kind.expected_word}, got '{text}'") from None

    return parse


def whole(least: int, most: int) -> Callable[[str], int]:
    """Returns the type of a whole number in least..most."""
    return argument_type(Whole(least, most))


def add_count(container: argparse._ActionsContainer, flag: str, most: int, default: int, about: str) -> None:
    """Adds an option that is a whole number from 1 to `most`."""
    about += " (default: %(default)s)"
    container.add_argument(flag, type=whole(1, most), default=default, metavar="N", help=about)


def number(least: float, most: float) -> Callable[[str], float]:
    """Returns the type of a number in least..most."""
    return argument_type(Number(least, most))


def positive(text: str) -> float:
    """Reads a length, a positive number of world units, from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a positive number, got '{text}'")
    return value


def add_frames(parser: argparse._ActionsContainer, *, is_required: bool = False) -> None:
    parser.add_argument(
        "--frames",
        type=argument_type(FRAME_KINDS["frames"]),
        required=is_required,
        metavar="A:B[:STEP]",
        help="frames from A to B, both included, as numbered files",
    )


def told(read: Callable[[str], S]) -> Callable[[str], S]:
    """Return the type that argparse reads a value with by a function whose `ValueError` says what is wrong."""

    def parse(text: str) -> S:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{error}, got '{text}'") from None

    return parse


#: Reads K/N, which of how many parts, and SEED,PASS,PIXEL.
part_of, path_name = told(read_part_of), told(read_path_name)


def add_part(container: argparse._ActionsContainer) -> None:
    """Adds --part, which of how many parts is made."""
    container.add_argument(
        "--part",
        type=part_of,
        metavar="K/N",
        help="make the K-th of N parts alone: of a picture's passes a .film, of the photons of --emit a .photons; "
        "'tracecore merge' makes the whole of all parts",
    )


def add_settings(container: argparse._ActionsContainer, owner: type, *names: str, **defaults: Any) -> None:
    """Add options for settings of a dataclass.

    names: which settings get an option.
    defaults: by name, what holds in this command instead of the default of the setting.
    """
    for name in names:
        one = settings_of(owner)[name]
        add_setting(container, replace(one, default=defaults[name], fallback="") if name in defaults else one)


def add_setting(container: argparse._ActionsContainer, one: Setting) -> None:
    """Add the option of one setting, whose help is the same in every command but for the default."""
    flags = sorted((one.option, *one.aliases), key=lambda flag: flag.startswith("--"))  # short ones first
    if isinstance(one.kind, Flag):
        container.add_argument(*flags, action="store_true", help=one.about)
        return
    shown = "x".join(map(str, one.default)) if isinstance(one.default, tuple) else one.default
    default = "" if shown is None and not one.fallback else f" (default: {one.fallback or shown})"
    taken: dict[str, Any] = {"type": argument_type(one.kind), "metavar": one.metavar or one.kind.metavar}
    if isinstance(one.kind, Choice):
        taken = {"choices": one.kind.words}
    elif isinstance(one.kind, FlagOrNames):
        taken |= {"nargs": "?", "const": True}
        default = f": {', '.join(one.kind.names)}"
    elif isinstance(one.kind, Definitions):
        taken["action"] = "append"
    container.add_argument(*flags, default=one.default, help=one.about + default, **taken)


def chosen_settings(owner: type[S], arguments: argparse.Namespace) -> S:
    """Return a dataclass of settings, with what the arguments have of them."""
    given = vars(arguments)
    return owner(**{name: given[name] for name in settings_of(owner) if name in given})


#: What SCENE may be.
SCENE_HELP = "a file, or a shipped scene; 'tracecore scene list' tells which there are, and what files may end in"


def add_scene(parser: argparse.ArgumentParser, *, default: str | None = None) -> None:
    """Adds SCENE and the moment in it, and --plugin, which may bring what reads it. SCENE can be left out where it has
    a default.
    """
    if default is None:
        parser.add_argument("scene", metavar="SCENE", help=SCENE_HELP)
    else:
        given = f"{SCENE_HELP} (default: {default})"
        parser.add_argument("scene", metavar="SCENE", nargs="?", default=default, help=given)
    add_settings(parser, Settings, "define")
    _add_moment(parser)


def add_scenes(parser: argparse.ArgumentParser, *, count: str = "+") -> None:
    """Adds SCENE, of which there may be several, all at the same moment, and --plugin. count: * if none may be."""
    parser.add_argument("scenes", metavar="SCENE", nargs=count, help=SCENE_HELP)
    _add_moment(parser)


def _add_moment(parser: argparse.ArgumentParser) -> None:
    add_settings(parser, Settings, "allow_outside", "strict", "camera")
    add_settings(parser.add_mutually_exclusive_group(), Settings, "frame", "time")
    add_plugin(parser)


def add_plugin(parser: argparse.ArgumentParser) -> None:
    """Adds --plugin, which `renderer.cli` follows before the command runs."""
    parser.add_argument(
        "--plugin",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.py",
        help="Python file that registers shaders, drivers, kernels or readers of scene files; may be given again",
    )


def add_replacing(container: argparse._ActionsContainer) -> None:
    """Adds --force and --no-clobber, which `renderer.atomic_file.check_replaceable` follows."""
    ways = container.add_mutually_exclusive_group()
    ways.add_argument(
        "--force",
        dest="replace",
        action="store_const",
        const="any",
        default="own",
        help="replace whatever files are there (default: those that tracecore wrote)",
    )
    ways.add_argument(
        "--no-clobber", dest="replace", action="store_const", const="none", help="replace no file that is there"
    )


def add_plain(parser: argparse.ArgumentParser) -> None:
    """Adds --plain, which `renderer.scene.render_context.SceneView` follows."""
    parser.add_argument(
        "--plain",
        action="store_true",
        help="take all surfaces for diffuse and light them by one square below the ceiling, as benchmarks do",
    )


def add_plot(container: argparse._ActionsContainer) -> None:
    """Adds --plot, the file of a plot of all figures."""
    container.add_argument("--plot", type=Path, metavar="FILE", help="draw them, .png or .svg (extra plot)")


def add_figures(container: argparse._ActionsContainer, *, repeat: int | None = None, is_drawn: bool = False) -> None:
    """Adds the options of a benchmark's figures: --repeat where there is a default of it, --json with --force and
    --no-clobber, and --plot if they are drawn.
    """
    if repeat is not None:
        add_settings(container, Measurement, "repeat", repeat=repeat)
    add_settings(container, Measurement, "json")
    add_replacing(container)
    if is_drawn:
        add_plot(container)


def add_page(container: argparse._ActionsContainer) -> None:
    """Adds --html, the file of a page."""
    container.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page with all of it and the machine (extra plot)"
    )


def add_reference_maker(container: argparse._ActionsContainer, *, driver: str, seconds: float) -> None:
    """Adds the options of what makes references, with defaults that differ among commands."""
    container.add_argument(
        "--reference-driver", default=driver, metavar="NAME", help="that makes it (default: %(default)s)"
    )
    container.add_argument(
        "--reference-seconds",
        type=argument_type(Number(1e-3, 1e9)),
        default=seconds,
        metavar="S",
        help="for so long (default: %(default)s)",
    )


def add_tracing(parser: argparse.ArgumentParser, *, is_shared: bool = False) -> None:
    """Adds the options of how rays are traced. None of them changes the picture but the seed.

    is_shared: whether several processes can share the work out.
    """
    group = parser.add_argument_group(TRACING)
    if is_shared:
        add_settings(group, Settings, *UNSHARED)
    names = ("device", "kernel", "dispatch", "threads", "builder", "batch_rays", "verify", "fallback", "seed")
    add_settings(group, Settings, *names)


def add_rays(
    parser: argparse.ArgumentParser, *, pixels: tuple[int, int] = (512, 384), samples: int = 8, order: str = "rows"
) -> argparse._ActionsContainer:
    """Adds the options of which rays of a scene are compared on, with the defaults that differ among commands.

    They become a `renderer.bench.ray_generators.RayPlan`. Returns their group.
    """
    rays = parser.add_argument_group("rays")
    add_settings(rays, Settings, "size", "seed", size=pixels, seed=0)
    add_count(rays, "--samples", 1024, samples, "camera rays of a pixel")
    rays.add_argument("--order", choices=("rows", "morton"), default=order, help="of pixels (default: %(default)s)")
    add_count(rays, "--ao-rays", 1024, 32, "of a pixel, as many as diffuse ones")
    rays.add_argument(
        "--ao-radius", type=positive, metavar="R", help="how far they go (default: a fifth of the scene's diagonal)"
    )
    add_count(rays, "--photon-rays", 1 << 26, 1 << 20, "of the photons' stream")
    return rays


def add_views(rays: argparse._ActionsContainer) -> None:
    """Adds --views, which stands beside the --camera of `add_scene`, see `check_views`."""
    rays.add_argument(
        "--views",
        type=views,
        metavar="LIST",
        help="view points: names of the scene's cameras, 'all' for all of them, and a number of places inside the "
        "scene to be found by code; separated by commas, such as all,5 (default: the camera)",
    )


def views(text: str) -> tuple[tuple[str, ...], int]:
    """Reads view points from the command line: names of cameras, and how many more."""
    parts = [part.strip() for part in text.split(",")]
    numbers = [part for part in parts if part.isdecimal()]
    if not all(parts) or len(numbers) > 1:
        raise argparse.ArgumentTypeError(f"expected names of cameras and at most one number, got '{text}'")
    cameras = tuple(part for part in parts if part not in numbers)
    return cameras, whole(1, 1000)(numbers[0]) if numbers else 0


def check_views(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` if a camera is chosen in two ways."""
    if arguments.views and arguments.camera:
        raise UsageError("--camera and --views cannot both be given; name the camera among the views")


def names(given: str | None, known: Sequence[str], what: str) -> list[str]:
    """Returns names with commas between them, each only once; all that there are if none is given.

    Raises `UsageError` for one that is not known.
    """
    if given is None:
        return list(known)
    chosen = list(dict.fromkeys(given.split(",")))
    for name in chosen:
        if name not in known:
            raise UsageError(f"unknown {what} '{name}'; there are {', '.join(known)}")
    return chosen


def add_settings_files(container: argparse._ActionsContainer) -> None:
    """Adds both options."""
    container.add_argument(
        "--settings",
        type=Path,
        metavar="FILE.toml",
        help="take what is not said here from a file, of which each key is an option, such as time_limit = 60",
    )
    container.add_argument(
        "--save-settings", type=Path, metavar="FILE.toml", help="write what is asked for to a file for --settings"
    )


def settings_in_file(words: Sequence[str]) -> dict[str, Any]:
    """Returns the values of the settings file that a command line names, by their keys; nothing where it names none.

    Raises `scenes.SceneError` for a file that cannot be read.
    """
    if not any(word.startswith("--settings") for word in words):
        return {}
    from renderer.settings.settings_file import read_settings

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--settings", type=Path)
    try:
        path = parser.parse_known_args(words)[0].settings
    except argparse.ArgumentError:  # the command's own parser says what is wrong
        return {}
    return {} if path is None else read_settings(path)


def asked_for(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns what the options ask for that is not so anyway, by the keys of a settings file."""
    settings = chosen_settings(Settings, arguments)
    values = {name: getattr(settings, name) for name in settings_of(Settings)}
    asked = {name: value for name, value in values.items() if value != settings_of(Settings)[name].default}
    others = {name: getattr(arguments, name) for name in ("plugin", *FRAME_KINDS)}
    return {"scene": arguments.scene} | {name: value for name, value in others.items() if value} | asked


def save_settings(arguments: argparse.Namespace) -> None:
    """Writes what the options ask for to the file of --save-settings, if there is to be one."""
    path: Path | None = arguments.save_settings
    if path is None:
        return
    from renderer.atomic_file import write_whole
    from renderer.film.image_file import check_folder, make_default_folder
    from renderer.settings.settings_file import settings_text

    check_folder(path, arguments.replace)
    make_default_folder([path])
    write_whole(path, settings_text(asked_for(arguments)).encode())
