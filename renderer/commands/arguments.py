"""What the commands' arguments have in common: types that check bounds, and groups of options.

Nothing here imports a compiler, NumPy or the scenes, so that help and errors come at once.
"""

import argparse
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from renderer.errors import UsageError

MAX_SIDE = 16384
MAX_FRAME = 10**9
MAX_PIXELS = 1 << 26
MIN_BATCH, MAX_BATCH = 256, 65536

#: What begins with a minus and is a value all the same. Python 3.11 would take -1e3 for an option.
NEGATIVE_NUMBER = re.compile(r"-(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$", re.IGNORECASE)


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors take one line, and that wants options in full."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self._negative_number_matcher = NEGATIVE_NUMBER

    def error(self, message: str) -> NoReturn:
        """Print one line on stderr and exit with status 2."""
        self.exit(2, f"tracecore: error: {message} (see: {self.prog} --help)\n")


def whole(least: int, most: int) -> Callable[[str], int]:
    """Type of a whole number in least..most."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least} to {most}, got '{text}'")
        return value

    return parse


def real(least: float, most: float) -> Callable[[str], float]:
    """Type of a number in least..most."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"expected a number from {least:g} to {most:g}, got '{text}'")
        return value

    return parse


def positive(text: str) -> float:
    """Type of a length."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a positive number, got '{text}'")
    return value


def size(text: str) -> tuple[int, int]:
    """WxH -> (width, height) in pixels."""
    try:
        width, height = (int(side) for side in text.lower().split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected WIDTHxHEIGHT such as 800x600, got '{text}'") from None
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise argparse.ArgumentTypeError(f"expected sides from 1 to {MAX_SIDE} pixels, got '{text}'")
    if width * height > MAX_PIXELS:
        raise argparse.ArgumentTypeError(f"expected at most {MAX_PIXELS} pixels in all, got {width * height}")
    return width, height


def frames(text: str) -> range:
    """A:B or A:B:STEP -> the frames from A to B, both included."""
    try:
        first, last, *step = (int(part) for part in text.split(":"))
        found = range(first, last + 1, *step)
    except (ValueError, TypeError):
        raise argparse.ArgumentTypeError(f"expected FIRST:LAST or FIRST:LAST:STEP, got '{text}'") from None
    if not (found and found[0] >= 0 and last <= MAX_FRAME and found.step > 0):
        raise argparse.ArgumentTypeError(
            f"expected frames that count up from at least 0 to at most {MAX_FRAME}, got '{text}'"
        )
    return found


def device_name(text: str) -> str:
    """Returns the name of a device, unchanged: auto, gpu, cpu, emulator, or a GPU of this index as in gpu:1."""
    if not re.fullmatch(r"auto|gpu(:[0-9]{1,4})?|cpu|emulator", text):
        raise argparse.ArgumentTypeError(f"expected auto, gpu, gpu:INDEX such as gpu:1, cpu or emulator, got '{text}'")
    return text


def batch_rays(text: str) -> int:
    """A power of two in MIN_BATCH..MAX_BATCH."""
    value = whole(MIN_BATCH, MAX_BATCH)(text)
    if value & (value - 1):
        raise argparse.ArgumentTypeError(f"expected a power of two from {MIN_BATCH} to {MAX_BATCH}, got '{text}'")
    return value


def add_scene(parser: argparse.ArgumentParser) -> None:
    """SCENE and the moment in it."""
    parser.add_argument(
        "scene",
        metavar="SCENE",
        help="a file (.aff .nff .toml .xml .obj .ply .stl .glb .gltf) or a shipped scene (tracecore scene list)",
    )
    parser.add_argument(
        "--camera", metavar="NAME", help="look through the camera of this name (default: the scene's first)"
    )
    moment = parser.add_mutually_exclusive_group()
    moment.add_argument(
        "--frame", type=whole(0, MAX_FRAME), default=0, metavar="N", help="frame of the animation, from 0 (default: 0)"
    )
    moment.add_argument("--time", type=real(-1e9, 1e9), metavar="T", help="or a time, in the unit of the animation")


def add_tracing(parser: argparse.ArgumentParser) -> None:
    """How rays are traced. None of it changes the picture but the seed."""
    tracing = parser.add_argument_group("tracing (none of it changes the picture, but for the seed)")
    tracing.add_argument(
        "--device",
        type=device_name,
        default="auto",
        metavar="NAME",
        help="what traces rays: auto, gpu, cpu or emulator; auto takes the GPU if there is one, gpu:1 the second of "
        "several; emulator runs the GPU's kernels on the CPU, slowly (default: auto)",
    )
    tracing.add_argument(
        "--kernel",
        metavar="NAME",
        help="traversal kernel, by a name that 'tracecore doctor' lists for the device (default: its best)",
    )
    tracing.add_argument(
        "--dispatch",
        choices=("resident", "streamed"),
        help="how batches reach a GPU: read by a kernel that stays, or by launches of it (default: resident)",
    )
    tracing.add_argument("--threads", type=whole(1, 1024), metavar="N", help="CPU threads (default: all cores)")
    tracing.add_argument(
        "--batch-rays",
        type=batch_rays,
        default=4096,
        metavar="N",
        help=f"rays handed over at a time, a power of two from {MIN_BATCH} to {MAX_BATCH} (default: %(default)s)",
    )
    tracing.add_argument("--seed", type=whole(0, 2**64 - 1), metavar="N", help="of all random numbers (default: 0)")


def add_max_bounces(parser: argparse._ActionsContainer) -> None:
    """--max-bounces, which every light transport has."""
    parser.add_argument(
        "--max-bounces",
        type=whole(1, 1024),
        metavar="N",
        help="longest path, in interactions with surfaces (default: 16)",
    )


def add_rays(
    parser: argparse.ArgumentParser, *, pixels: tuple[int, int] = (512, 384), samples: int = 8, order: str = "rows"
) -> argparse._ActionsContainer:
    """Which rays of a scene are compared on, see `renderer.bench.ray_generators.RayPlan`, and the defaults that differ among
    commands. Returns their group."""
    rays = parser.add_argument_group("rays")
    width, height = pixels
    rays.add_argument("--size", type=size, default=pixels, metavar="WxH", help=f"pixels (default: {width}x{height})")
    rays.add_argument(
        "--samples",
        type=whole(1, 1024),
        default=samples,
        metavar="N",
        help="camera rays of a pixel (default: %(default)s)",
    )
    rays.add_argument("--order", choices=("rows", "morton"), default=order, help="of pixels (default: %(default)s)")
    rays.add_argument(
        "--ao-rays",
        type=whole(1, 1024),
        default=32,
        metavar="N",
        help="of a pixel, as many as diffuse ones (default: 32)",
    )
    rays.add_argument(
        "--ao-radius", type=positive, metavar="R", help="how far they go (default: a fifth of the scene's diagonal)"
    )
    rays.add_argument(
        "--photon-rays",
        type=whole(1, 1 << 26),
        default=1 << 20,
        metavar="N",
        help="of the photons' stream (default: %(default)s)",
    )
    rays.add_argument("--seed", type=whole(0, 2**64 - 1), default=0, metavar="N", help="of all random numbers")
    return rays


def add_views(rays: argparse._ActionsContainer) -> None:
    """--views, beside the --camera of `add_scene`, see `check_views`."""
    rays.add_argument(
        "--views",
        type=views,
        metavar="LIST",
        help="view points: names of the scene's cameras, 'all' for all of them, and a number of places inside the "
        "scene to be found by code; separated by commas, such as all,5 (default: the camera)",
    )


def views(text: str) -> tuple[tuple[str, ...], int]:
    """Type of view points: names of cameras, and how many more."""
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
    """Names with commas between them, each only once; all that there are if none is given. Raises `UsageError` for one
    that is not known."""
    if given is None:
        return list(known)
    chosen = list(dict.fromkeys(given.split(",")))
    for name in chosen:
        if name not in known:
            raise UsageError(f"unknown {what} '{name}'; there are {', '.join(known)}")
    return chosen
