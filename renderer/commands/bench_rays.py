"""The command `tracecore bench rays` keeps rays with their hits in a folder, and times kernels on such a folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renderer.bench import figure_keys
from renderer.commands.arguments import add_figures, add_rays, add_scenes, add_settings, names
from renderer.commands.bench import DEFAULT_RAYS
from renderer.errors import UsageError
from renderer.settings.picture import Settings

if TYPE_CHECKING:
    from renderer.bench.ray_set_benchmark import Tracing

EXAMPLES = f"""\
--write keeps, of each scene, its triangles, the rays of each kind, and what the CPU hits with them (t, u, v and the
triangle), as .npy files with a manifest.json that has the SHA-256 of each: any tracer can trace them
(docs/recorded-rays.md describes the format).

--read traces them. A kernel's hits are compared with the reference, bit for bit, before it is timed; one that has
others is struck out and not timed, and the exit status is 1. --json FILE has all rounds, for 'tracecore bench compare'.
Peers (--peers warp,optix,embree) are struck out as by 'tracecore bench'.

examples:
  tracecore bench rays cornell kitchen --write output/rays
  tracecore bench rays stress:1M --rays primary,bounce4 --size 1024x768 --samples 1 --write output/rays
  tracecore bench rays --read output/rays --kernels while-while,bvh4 --json output/before.json
  tracecore bench compare output/before.json output/after.json

{figure_keys.explain(figure_keys.RAYS)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_scenes(parser, count="*")
    folder = parser.add_mutually_exclusive_group(required=True)
    folder.add_argument("--write", type=Path, metavar="FOLDER", help="keep rays of these scenes in FOLDER")
    folder.add_argument("--read", type=Path, metavar="FOLDER", help="trace the rays of FOLDER")
    parser.add_argument(
        "--rays", metavar="KINDS", help=f"kinds of rays, separated by commas (default: {DEFAULT_RAYS}; with --read all)"
    )
    add_settings(parser, Settings, "define", "device", "threads")
    parser.add_argument("--kernels", metavar="NAMES", help="separated by commas (default: all of the device)")
    parser.add_argument(
        "--peers", metavar="NAMES", help="other tracers on the same rays: warp, optix, embree, separated by commas"
    )
    add_figures(parser, repeat=9)
    add_rays(parser)


def run(arguments: argparse.Namespace) -> int:
    """Writes or reads a folder; returns 1 where the hits of a kernel are wrong."""
    if arguments.write:
        return _write(arguments)
    return _read(arguments)


def _write(arguments: argparse.Namespace) -> int:
    """Writes the rays of the scenes, and prints what there is."""
    from renderer.bench import ray_folder, ray_generators
    from renderer.bench.figure_file import check_request
    from renderer.bench.files import plain_name
    from renderer.bench.ray_set_benchmark import record
    from renderer.bench.ray_sources import PlannedRays
    from renderer.film.image_file import make_default_folder
    from renderer.scene.render_context import SceneView, load_for

    kinds = names(arguments.rays or DEFAULT_RAYS, list(ray_generators.KINDS), "kind of rays")
    if not arguments.scenes:
        raise UsageError("--write needs a scene, or several")
    for option in ("json", "kernels", "peers"):
        if getattr(arguments, option):
            raise UsageError(f"--{option} does nothing with --write; trace the rays by --read afterwards")
    folders = [plain_name(Path(name).name) for name in arguments.scenes]
    if len(set(folders)) < len(folders):
        raise UsageError(f"two of these scenes would have the same folder: {', '.join(folders)}")
    make_default_folder([arguments.write])
    ray_folder.check_new(arguments.write, arguments.replace)
    check_request(arguments)
    entries = []
    for scene, name in zip(arguments.scenes, folders, strict=True):
        snapshot = SceneView.chosen(arguments).of(load_for(arguments, scene))
        source = PlannedRays.chosen(arguments, snapshot, kinds)
        entry = ray_folder.write_scene(arguments.write, name, record(snapshot, source, arguments.threads))
        entries.append(entry | {"scene": Path(scene).name})
        for one in entry["sets"]:
            print(f"{scene}: {one['kind']}, {one['count']} rays, {one['hits']} of them hit", flush=True)
    ray_folder.write_manifest(arguments.write, entries)
    print(f"written {arguments.write / ray_folder.MANIFEST}")
    return 0


def _read(arguments: argparse.Namespace) -> int:
    """Times what traces the rays of a folder, prints a table for each scene, and writes the result file after each."""
    from renderer.bench.figure_file import check_request, write_results
    from renderer.bench.ray_folder import RayFolder
    from renderer.bench.ray_set_benchmark import measured_scene, result_rows
    from renderer.bench.result_file import FORMAT
    from renderer.bench.table import struck_out, table

    if arguments.scenes:
        raise UsageError("--read takes the scenes of the folder; leave their names out")
    tracing = _tracing(arguments)
    check_request(arguments)
    folder = RayFolder(arguments.read)
    rows: list[dict[str, Any]] = []
    triangles, has_wrong = 0, False
    kinds = names(arguments.rays, folder.kinds, f"kind of rays of {arguments.read}")
    for scene in folder.scenes(kinds):
        found = measured_scene(scene, tracing)
        rows += result_rows(scene, found)
        triangles += len(scene.triangles)
        has_wrong |= found.has_wrong_kernels
        print(f"{scene.name}, {len(scene.triangles)} triangles, on the {tracing.device}\n{table(found)}\n", flush=True)
        print("".join(f"{text}\n" for text in struck_out(found)), end="", flush=True)
        scenes = ", ".join({row["scene"]: 0 for row in rows})
        figures = {"format": FORMAT, "device": tracing.device, "measurements": rows}
        write_results(arguments, scenes, triangles, figures)
    return 1 if has_wrong else 0


def _tracing(arguments: argparse.Namespace) -> Tracing:
    """Returns what traces, and how often. Raises `UsageError` for names that are not known."""
    from renderer.bench.kernel_benchmark import device_of, kernel_names
    from renderer.bench.ray_set_benchmark import Tracing
    from tracecore.peers import PEERS

    device = device_of(arguments.device)
    return Tracing(
        device=device,
        kernels=names(arguments.kernels, kernel_names(device), f"kernel for device '{device}'"),
        peers=names(arguments.peers, list(PEERS), "peer") if arguments.peers else [],
        repeats=arguments.repeat,
        threads=arguments.threads,
    )
