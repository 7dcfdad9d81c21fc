"""Commands with --verify keep the first ray that a kernel traced wrongly, and say how to trace it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

SUFFIX = ".wrong-ray.npz"


@contextmanager
def wrong_ray_kept(arguments: argparse.Namespace, output: Path) -> Iterator[None]:
    """Keeps the first wrong ray of a kernel that turns out to be wrong within the block.

    arguments: of the command.
    output: a file of the command, beside which the ray is kept.
    """
    from renderer.errors import WrongPictureError

    try:
        yield
    except WrongPictureError as error:
        from renderer.bench.ray_file import write_wrong_ray
        from renderer.film.image_file import make_default_folder

        path = output.with_suffix(SUFFIX)
        make_default_folder([path])
        write_wrong_ray(path, error)
        words = ["tracecore", "bench", arguments.scene, *_moment(error.snapshot.time)]
        words += [word for plugin in arguments.plugin for word in ("--plugin", str(plugin))]
        words += ["--device", arguments.device, "--kernels", error.wrong.kernel, "--replay", str(path)]
        remedy = f"; its rays are kept, and traced again by: {shlex.join(words)}"
        raise WrongPictureError(error.wrong, error.snapshot, remedy) from error


def _moment(time: float) -> list[str]:
    return ["--time", repr(time)] if time != 0.0 else []
