"""`tracecore bench`: kernels side by side on the same rays of a scene."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.arguments import add_rays, add_scene, names, whole
from renderer.errors import UsageError

if TYPE_CHECKING:
    from renderer.kernel_benchmark import Comparison

SUMMARY = "compare traversal kernels: all of them on the same rays of a scene"

EXAMPLES = """\
kinds of rays:
  primary          some for each pixel
  ao               ambient occlusion: short rays from what a pixel shows
  shadow           from there to the lights
  bounce1..bounce8 diffuse reflections, one after another
  photon           those of the photon driver, in its order; photon-shuffled: in none

ao and shadow rays ask whether anything is hit, all others what is hit first. A rate is the median of all rounds, in
millions of rays per second; in brackets its range. On a GPU the kernel alone is timed, by the device's clock.

examples:
  tracecore bench cornell
  tracecore bench kitchen.aff --rays primary,ao,bounce1,photon --baseline while-while --json output/bench.json
  tracecore bench cornell --device emulator --kernels while-while,bvh4 --size 16x12
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    add_scene(parser)
    parser.add_argument(
        "--device",
        choices=("auto", "gpu", "cpu", "emulator"),
        default="auto",
        help="what traces; emulator runs the GPU's kernels on the CPU, slowly (default: a GPU if there is one)",
    )
    parser.add_argument("--kernels", metavar="NAMES", help="separated by commas (default: all of the device)")
    parser.add_argument(
        "--rays",
        metavar="KINDS",
        default="primary,ao,shadow,bounce1,bounce4,photon",
        help="separated by commas (default: %(default)s)",
    )
    parser.add_argument("--baseline", metavar="NAME", help="kernel to compare with (default: the first)")
    parser.add_argument("--repeat", type=whole(1, 1000), default=5, metavar="N", help="rounds (default: %(default)s)")
    parser.add_argument("--threads", type=whole(1, 1024), metavar="N", help="CPU threads (default: all cores)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    add_rays(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and write what is asked for."""
    from renderer.atomic_file import atomic_file
    from renderer.image_file import check_folder, make_default_folder

    if arguments.json:
        check_folder(arguments.json)
        make_default_folder([arguments.json])
    found = _compared(arguments)
    print(table(found))
    if arguments.json:
        with atomic_file(arguments.json) as file:
            file.write((json.dumps(found.as_dict(), indent=1) + "\n").encode())
    return 0


def _compared(arguments: argparse.Namespace) -> Comparison:
    """All kernels asked for. Raises UsageError for a name that there is not, before anything is read."""
    from renderer.kernel_benchmark import Comparison, compare, device_of, kernel_names, over_baseline
    from renderer.ray_kinds import KINDS, RayPlan
    from renderer.stage import Moment, check_scene

    device = device_of(arguments.device)
    kernels = names(arguments.kernels, kernel_names(device), f"kernel for device '{device}'")
    kinds = names(arguments.rays, list(KINDS), "kind of rays")
    baseline = arguments.baseline or kernels[0]
    if baseline not in kernels:
        raise UsageError(f"--baseline {baseline} is not among the kernels compared: {', '.join(kernels)}")
    check_scene(arguments.scene)
    import scenes

    snapshot = Moment.chosen(arguments).of(scenes.load(arguments.scene))
    plan = RayPlan.chosen(arguments, snapshot.positions)
    facts, measurements = [], []
    for of_kernel, measured in compare(
        snapshot, device, kernels, kinds, plan, repeats=arguments.repeat, threads=arguments.threads
    ):
        facts.append(of_kernel)
        measurements += measured
        print(f"{of_kernel.kernel} done", file=sys.stderr, flush=True)
    return Comparison(
        device=device,
        baseline=baseline,
        kernels=tuple(facts),
        measurements=tuple(over_baseline(measurements, baseline)),
    )


def table(found: Comparison) -> str:
    """A row for each kernel, a column for each kind of rays."""
    kinds = list(dict.fromkeys(one.kind for one in found.measurements))
    rows = [["kernel", *kinds, "nodes", "registers", "occupancy"]]
    counts = {one.kind: one.rays for one in found.measurements}
    rows.append(["rays", *(str(counts[kind]) for kind in kinds), "", "", ""])
    for facts in found.kernels:
        own = {one.kind: one for one in found.measurements if one.kernel == facts.kernel}
        cells = [
            f"{own[kind].rate:.4g} ({own[kind].least:.4g}-{own[kind].most:.4g}) {own[kind].relative:.2f}x"
            for kind in kinds
        ]
        registers = "/".join(map(str, facts.registers)) or "-"
        occupancy = "/".join(f"{share:.0%}" for share in facts.occupancy) or "-"
        rows.append([facts.kernel, *cells, str(facts.nodes), registers, occupancy])
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
