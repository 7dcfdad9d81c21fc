"""The command `tracecore compare` tells how far a picture is from another."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.commands.arguments import add_replacing, number
from renderer.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from renderer.film.picture_file import Floats, PictureFile

EXAMPLES = """\
what is printed, of radiance in all channels of all pixels (of a .png, of the light that it stands for):
  relMSE  mean of (A - B)^2 / (B^2 + 0.01)
  MSE     mean of (A - B)^2
  mean    mean of A - B, which noise alone does not move
  max     greatest |A - B|
  PSNR    of what a screen shows of both, by exposure 0 and the photographic curve, decibels
  FLIP    with --flip: how large the difference of that looks, 0 to 1, mean over the pixels, to somebody who changes
          from one to the other, at 67 pixels for each degree (Andersson and others 2020); seconds for a large picture

exit status: 0, or 1 where relMSE is above --tolerance

examples:
  tracecore compare output/a.npy output/b.npy
  tracecore compare a.png b.png --flip
  tracecore compare a.exr reference.exr -o difference.png --tolerance 1e-3
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes: two pictures, and what becomes of their difference."""
    parser.epilog = EXAMPLES
    parser.add_argument("picture", type=Path, metavar="A", help="a picture, .exr, .npy or .png")
    parser.add_argument("reference", type=Path, metavar="B", help="what it is compared with")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write the difference: .png with red where A is brighter and blue where it is darker, or .exr or .npy of "
        "A - B",
    )
    add_replacing(parser)
    parser.add_argument("--flip", action="store_true", help="print FLIP too, how large the difference looks")
    parser.add_argument(
        "--tolerance", type=number(0.0, 1e9), metavar="E", help="end with status 1 where relMSE is above this"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compares, and prints the figures; returns the exit status."""
    from renderer.film.difference import difference
    from renderer.film.picture_file import check_output, read_picture, size_words

    paths = (arguments.picture, arguments.reference)
    if arguments.output is not None:
        check_output(arguments.output, paths, arguments.replace)
    picture, reference = (with_pixels(read_picture(path), path) for path in paths)
    if picture[0].shape != reference[0].shape:
        sizes = " and ".join(size_words(image) for image, _ in (picture, reference))
        raise UsageError(f"expected pictures of the same size, got {sizes} pixels")
    found = difference(picture[0], reference[0], (picture[1], reference[1]))
    for name, value in (("relMSE", found.rel_mse), ("MSE", found.mse), ("mean", found.mean), ("max", found.largest)):
        print(f"{name:<7} {value:.6g}")
    print(f"PSNR    {found.psnr:.4g} dB")
    if arguments.flip:
        from renderer.film.flip import flip

        print(f"FLIP    {flip(picture[1], reference[1]).mean():.4g}")
    if arguments.output is not None:
        write_difference(arguments.output, picture[0], reference[0])
    return 1 if arguments.tolerance is not None and found.rel_mse > arguments.tolerance else 0


def with_pixels(file: PictureFile, path: Path) -> tuple[Floats, npt.NDArray[np.uint8]]:
    """Returns the image of a file, and what a screen shows of it."""
    from renderer.film.picture_file import finite
    from renderer.film.tone_mapping import ToneMapping

    image = finite(file.image, path)
    return image, ToneMapping(curve="reinhard" if file.is_linear else "linear")(image)


def write_difference(path: Path, picture: Floats, reference: Floats) -> None:
    """Writes the difference of two pictures, and prints what has full colour in a .png."""
    from renderer.film.difference import difference_picture
    from renderer.film.picture_file import write_picture

    pixels, full = difference_picture(picture, reference)
    write_picture(path, {"picture": picture - reference}, pixels)
    told = f", full colour where luminance differs by {full:.3g}" if path.suffix.lower() == ".png" else ""
    print(f"written {path}{told}")
