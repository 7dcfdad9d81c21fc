"""The command `tracecore merge` makes a picture, or the photons of a run, of its parts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from renderer.commands.arguments import add_replacing
from renderer.errors import UsageError

EXAMPLES = """\
Parts are what 'tracecore render SCENE --part K/N -o K.film' writes, each on whatever machine. They may be named in any
order, and the picture has the bits that one 'tracecore render' gives it. Passes that are missing or twice there, and
parts of another scene, of other settings or by another version of the program are refused.

Parts of a photon run, which 'tracecore photons SCENE --emit M --part K/N -o K.photons' writes, become OUT.npz, the
photons as the whole run saves them, or OUT.photons, a larger part.

OUT.png, OUT.exr and OUT.npy come with the files that a render writes beside them; the statistics have the counts and
the seconds of all parts together. OUT.film may have some of the parts alone, to be merged with others later.

examples:
  tracecore merge part-*.film -o picture.exr
  tracecore merge part-1.film part-2.film -o first-half.film
  tracecore merge part-*.photons -o photons.npz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes: parts, and what is made of them."""
    parser.epilog = EXAMPLES
    parser.add_argument(
        "parts", type=Path, nargs="+", metavar="FILE", help="parts of one picture, .film, or run, .photons"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        required=True,
        help="picture to write, .png, .exr or .npy, or .film; of photons .npz or .photons",
    )
    add_replacing(parser)
    parser.add_argument("--quiet", action="store_true", help="print errors alone")


def run(arguments: argparse.Namespace) -> int:
    """Merges; returns the exit status."""
    from renderer.run.photon_run.photon_parts import SUFFIX

    are_photons = arguments.output.suffix.lower() in (".npz", SUFFIX)
    done = (_merge_photons if are_photons else _merge_films)(arguments)
    if not arguments.quiet:
        print(f"{arguments.output}: {done}, of {len(arguments.parts)} parts")
    return 0


def _check(arguments: argparse.Namespace, outputs: Sequence[Path | None]) -> None:
    """Raises `UsageError` where files cannot be written or read. outputs: to be written."""
    from renderer.atomic_file import check_outputs, check_replaceable

    check_outputs(outputs, arguments.parts)
    check_replaceable(outputs, arguments.replace)
    for part in arguments.parts:
        if not part.is_file():
            raise UsageError(f"cannot read '{part}': there is no such file")


def _merge_photons(arguments: argparse.Namespace) -> str:
    """Merges parts of a photon run; returns, in words, what there is of it."""
    from renderer.film.image_file import check_folder
    from renderer.run.photon_run.photon_parts import SUFFIX, MergedPhotons

    path = arguments.output
    check_folder(path)
    _check(arguments, [path])
    merged = MergedPhotons(arguments.parts)
    (merged.write if path.suffix.lower() == SUFFIX else merged.save)(path)
    emitted = sum(one.end - one.first for one in merged.part.ranges)
    stored = sum(one.stored for one in merged.part.ranges)
    return f"{emitted} of {merged.part.emitted} photons, {stored} stored"


def _merge_films(arguments: argparse.Namespace) -> str:
    """Merges parts of a picture; returns, in words, what there is of it."""
    from renderer.film.image_file import check_folder, check_writable
    from renderer.run.picture.merging import MergedFilm
    from renderer.run.picture.part_file import SUFFIX
    from renderer.run.picture.picture_files import files_of, write_picture

    path, is_film = arguments.output, arguments.output.suffix.lower() == SUFFIX
    (check_folder if is_film else check_writable)(path)
    _check(arguments, [path] if is_film else files_of(path))
    merged = MergedFilm(arguments.parts)
    if is_film:
        merged.write(path)
    else:
        write_picture(merged.picture(), files_of(path))
    passes = sum(end - first for first, end in merged.part.ranges)
    return f"{passes} of {merged.part.passes} passes"
