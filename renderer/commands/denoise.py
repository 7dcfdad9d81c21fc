"""The command `tracecore denoise` takes the noise out of a picture that is in a file."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.commands.arguments import add_replacing, add_setting
from renderer.settings.picture import Settings
from renderer.settings.setting import settings_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from renderer.film.picture_file import Floats

#: What says how a .png shows the picture, and what holds where nothing is said.
HOW_SHOWN = {"exposure": "0", "tone_map": "reinhard; linear for what was read from a .png"}

EXAMPLES = """\
It is what 'tracecore render --denoise' does: Intel Open Image Denoise. An .exr that was made with --layers has the
colours and normals of surfaces, whose edges it then keeps. OUT.exr keeps all layers beside the clean picture.

examples:
  tracecore denoise cornell.exr -o clean.png
  tracecore denoise cornell.npy -o clean.npy
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes: a picture, and how the clean one is written."""
    parser.epilog = EXAMPLES
    parser.add_argument("picture", type=Path, metavar="FILE", help="a picture, .exr, .npy or .png")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", required=True, help="picture to write, .png, .exr or .npy"
    )
    add_replacing(parser)
    for one in settings_of(Settings).values():
        if one.name in HOW_SHOWN:
            add_setting(parser, replace(one, fallback=HOW_SHOWN[one.name]))


def run(arguments: argparse.Namespace) -> int:
    """Denoises; returns the exit status."""
    from renderer.film.denoising import check_denoiser, denoised
    from renderer.film.picture_file import check_output, finite, read_picture, write_picture

    check_output(arguments.output, [arguments.picture], arguments.replace)
    check_denoiser()
    file = read_picture(arguments.picture)
    clean = denoised(finite(file.image, arguments.picture), file.layers)
    layers = {**file.layers, next(iter(file.layers)): clean}
    write_picture(arguments.output, layers, shown(clean, file.is_linear, arguments))
    return 0


def shown(image: Floats, is_linear: bool, arguments: argparse.Namespace) -> npt.NDArray[np.uint8]:
    """Returns what a screen shows of a picture. is_linear: whether it is light, and not what a screen showed."""
    from renderer.film.tone_mapping import ToneMapping, metered

    curve = arguments.tone_map or ("reinhard" if is_linear else "linear")
    if arguments.exposure == "auto":
        return metered(image, curve)(image)
    return ToneMapping(exposure=arguments.exposure or 0.0, curve=curve)(image)
