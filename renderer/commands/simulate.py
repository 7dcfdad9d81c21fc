"""The command `tracecore simulate` says how well kernels would use a GPU whose memory takes no time."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.bench import figure_keys
from renderer.commands.arguments import add_count, add_figures, add_rays, add_scene, add_settings, names, number
from renderer.errors import UsageError
from renderer.settings.picture import Settings
from renderer.version import SOFTWARE

if TYPE_CHECKING:
    from renderer.bench.simulation import Simulated
    from tracecore.analysis.steps import StepSequences
    from tracecore.cuda.gpus import Gpu

WARP_WIDTHS = ("8", "16", "32", "64")

EXAMPLES = f"""\
The kernels run in the emulator, which logs what they do for each ray. These steps are then scheduled on warps, as in
Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009. No GPU is needed.

loops:
  own                    the one of the kernel
  while-while, if-if     of the paper; replacing-...: lanes that are done get new rays
  queues                 work queues: a warp does that for which more of its rays are ready

The hits are compared with the CPU's, bit for bit. A kernel that has others is struck out, with its first wrong ray, and
the exit status is 1.

A kernel whose rays take more lanes than a warp has is left out. The bound counts the instructions of the kernel as it
is compiled for the GPU, in whatever loop, and needs NVIDIA's run-time compiler.

examples:
  tracecore simulate cornell --kernels while-while,speculative-while-while,compressed-bvh8
  tracecore simulate kitchen.aff --kernels while-while --rays bounce1 --loops own,if-if,queues --width 8,16,32,64

{figure_keys.explain(figure_keys.SIMULATE)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_scene(parser)
    parser.add_argument("--kernels", metavar="NAMES", help="separated by commas (default: all)")
    parser.add_argument(
        "--rays",
        metavar="KINDS",
        default="primary,ao,bounce1,photon",
        help="kinds of rays, separated by commas (default: %(default)s)",
    )
    parser.add_argument("--gpu", metavar="NAME", default="h200", help="that bounds are for (default: %(default)s)")
    parser.add_argument(
        "--width",
        metavar="ELEMENTS",
        default="32",
        help=f"of a warp, from {', '.join(WARP_WIDTHS)} (default: %(default)s)",
    )
    parser.add_argument("--loops", metavar="NAMES", default="own", help="separated by commas (default: %(default)s)")
    parser.add_argument(
        "--move",
        type=number(0.0, 1e6),
        metavar="N",
        help="instructions by which lanes change rays against those of a queue (default: to write and read 15 words)",
    )
    add_settings(parser, Settings, "threads")
    add_figures(parser)
    parser.add_argument(
        "--dump",
        type=Path,
        metavar="FILE",
        help="keep the steps of all rays in FILE.npz: for each KERNEL/KIND the arrays kinds (0 node, 1 leaf, 2 "
        "triangle, 3 inside of its edges), useful (lanes with work) and starts (where each ray or packet begins)",
    )
    add_count(add_rays(parser), "--rays-at-most", 1 << 26, 8192, "of a kind: a sample, 64 side by side at a time")


def run(arguments: argparse.Namespace) -> int:
    """Simulates, prints, and writes what is asked for; returns 1 where the hits of a kernel are wrong."""
    from renderer.atomic_file import write_each, write_whole
    from renderer.bench.simulation import table

    steps: dict[str, StepSequences] | None = {} if arguments.dump else None
    gpu, found = _simulated(arguments, steps)
    print(table(found))
    writes: list[Callable[[], object]] = []
    if steps:
        writes.append(partial(_write_steps, arguments.dump, steps))
    if arguments.json:
        figures = {"software": SOFTWARE, "gpu": asdict(gpu), "simulations": [asdict(one) for one in found]}
        writes.append(partial(write_whole, arguments.json, (json.dumps(figures, indent=1) + "\n").encode()))
    write_each(*writes)
    return 1 if any(one.wrong for one in found) else 0


def _check_files(arguments: argparse.Namespace) -> None:
    """Raises `UsageError` now for files that could not be written later, and makes the default folder."""
    from renderer.film.image_file import check_folder, make_default_folder

    if arguments.dump and arguments.dump.suffix.lower() != ".npz":
        raise UsageError(f"cannot keep steps in '{arguments.dump}': the name must end in .npz")
    files = [path for path in (arguments.json, arguments.dump) if path]
    for path in files:
        check_folder(path, arguments.replace)
    make_default_folder(files)


def _write_steps(path: Path, steps: Mapping[str, StepSequences]) -> None:
    from renderer.atomic_file import atomic_file
    from scenes.files.marks import write_arrays

    arrays = {
        f"{name}/{array}": getattr(its, array) for name, its in steps.items() for array in ("kinds", "useful", "starts")
    }
    with atomic_file(path) as file:
        write_arrays(file, arrays, is_compressed=True)


def _simulated(arguments: argparse.Namespace, keep: dict[str, StepSequences] | None) -> tuple[Gpu, list[Simulated]]:
    """Simulates all that is asked for.

    keep: is given the steps of all rays, as by `simulations`.

    Raises `UsageError` for a name that there is not, before anything is read.
    """
    from renderer.bench.ray_generators import KINDS
    from renderer.bench.ray_sources import PlannedRays
    from renderer.bench.simulation import LOOPS, OWN, Costs, Machine, samples, simulations
    from renderer.scene.render_context import check_scene, scene_seen
    from tracecore.analysis.bound import MOVE_INSTRUCTIONS
    from tracecore.cuda.gpus import GPUS
    from tracecore.kernels.strategies import strategy_names

    kernels = names(arguments.kernels, strategy_names(), "kernel")
    kinds = names(arguments.rays, KINDS, "kind of rays")
    machine = Machine(
        gpu=GPUS[names(arguments.gpu, list(GPUS), "GPU")[0]],
        widths=[int(width) for width in names(arguments.width, WARP_WIDTHS, "width of a warp")],
        loops=names(arguments.loops, [OWN, *LOOPS], "loop"),
        move=MOVE_INSTRUCTIONS if arguments.move is None else arguments.move,
    )
    _check_files(arguments)
    check_scene(arguments.scene)
    snapshot = scene_seen(arguments)
    sets = samples(PlannedRays.chosen(arguments, snapshot, kinds), arguments.rays_at_most, arguments.threads)
    cost_of = Costs(machine.gpu.arch)
    found: list[Simulated] = []
    for kernel in kernels:
        found += simulations(snapshot, kernel, sets, machine, cost_of, keep)
        print(f"{kernel} done", file=sys.stderr, flush=True)
    if cost_of.missing:
        print(f"tracecore: no bounds: {cost_of.missing}", file=sys.stderr)
    return machine.gpu, found
