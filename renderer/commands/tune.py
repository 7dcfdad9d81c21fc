"""The command `tracecore tune` measures kernels on the GPU at hand and keeps the rates, by which runs choose one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from renderer.commands.arguments import add_count, add_rays, add_scene, add_settings, names
from renderer.errors import UsageError
from renderer.settings.measurement import Measurement
from renderer.settings.picture import Settings

if TYPE_CHECKING:
    from renderer.bench.tuning import TuningPlan
    from renderer.scene.tuned_kernels import TunedGpu
    from tracecore import Device

#: The scene, where none is named: of the shipped ones the most like those that people render.
DEFAULT_SCENE = "kitchen"

EXAMPLES = """\
Kernels take turns on rays of three classes: coherent (from the camera), incoherent (diffuse bounces and photons) and
occlusion (short rays that ask whether anything is hit). 'In the ring' they come in batches, as in all pictures and
photon runs, with nothing done with the hits; 'alone' is one launch over an array, by the device's clock. A star marks
what is chosen: of those that are within a twentieth of the fastest, while-while or else the first.

The hits of each round are compared with the CPU's, bit for bit. A kernel that has others is struck out: it is measured
no more and kept nowhere, and the exit status is 1.

The rates are kept in the cache folder, for this GPU and this version of the program. From then on, pictures and photon
runs whose --kernel is auto, which is the default, choose by them and by what most rays of the driver are like.

examples:
  tracecore tune
  tracecore tune kitchen.aff --kernels while-while,bvh4,replacing-compressed-bvh8 --repeat 9
  tracecore tune --dry-run
  tracecore tune --forget
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_scene(parser, default=DEFAULT_SCENE)
    add_settings(parser, Settings, "device", "threads")
    parser.add_argument("--kernels", metavar="NAMES", help="separated by commas (default: those that lead anywhere)")
    add_settings(parser, Measurement, "repeat", repeat=5)
    add_count(parser, "--ring-rays", 1 << 32, 1 << 26, "rays of a round in the ring")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="tell what would be measured, and measure nothing")
    what.add_argument(
        "--forget", action="store_true", help="forget what was measured, of all GPUs, and measure nothing"
    )
    add_rays(parser, pixels=(1024, 768), samples=2)


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints the table and remembers; returns the exit status, 1 where the hits of a kernel are wrong."""
    from renderer.bench.kernel_benchmark import device_of
    from renderer.scene.tuned_kernels import forget, tuned_path

    if arguments.forget:
        print(f"{tuned_path()}: {'forgotten' if forget() else 'there was nothing to forget'}")
        return 0
    device = device_of(arguments.device)
    if device not in ("gpu", "emulator"):
        raise UsageError(f"the {device} has one kernel: there is nothing to choose, and nothing to tune without a GPU")
    plan = _plan(arguments, device)
    if arguments.dry_run:
        print(f"{plan.described()}\n{_keeping(device)}")
        return 0
    return _measure(plan)


def _plan(arguments: argparse.Namespace, device: Device) -> TuningPlan:
    """Returns what is to be measured. Raises `UsageError` for a kernel that there is not, before the scene is read."""
    from renderer.bench.kernel_benchmark import kernel_names
    from renderer.bench.ray_generators import RayPlan
    from renderer.bench.tuning import TuningPlan
    from renderer.bench.view_points import ViewPoint
    from renderer.scene.render_context import scene_seen
    from tracecore.kernels.choice import CANDIDATES

    kernels = names(arguments.kernels or ",".join(CANDIDATES), kernel_names(device), f"kernel for device '{device}'")
    snapshot = scene_seen(arguments)
    return TuningPlan(
        snapshot=snapshot,
        views=[ViewPoint(name="camera", camera=snapshot.camera)],
        rays=RayPlan.chosen(arguments, snapshot.positions),
        device=device,
        kernels=kernels,
        repeats=arguments.repeat,
        ring_rays=arguments.ring_rays,
        threads=arguments.threads,
    )


def _keeping(device: Device) -> str:
    """Returns in words where rates are kept."""
    from renderer.scene.tuned_kernels import tuned_path

    if device == "emulator":
        return "nothing is kept: the emulator's rates tell of no GPU"
    return f"kept in {tuned_path()}, for {_gpu().key}: --kernel auto chooses by it"


def _gpu() -> TunedGpu:
    from renderer.scene.tuned_kernels import TunedGpu
    from tracecore.cuda.device import device_architecture, gpu_name

    return TunedGpu(gpu_name(), device_architecture())


def _measure(plan: TuningPlan) -> int:
    """Measures, prints, and remembers what is of a GPU; returns the exit status."""
    from renderer.bench.tuning import table, tune
    from renderer.scene.tuned_kernels import remember

    found = tune(plan)
    print(f"{plan.snapshot.name}, {len(plan.snapshot.positions)} triangles, median of {plan.repeats}; * is chosen")
    print(table(found))
    if plan.device == "gpu":
        gpu, source = _gpu(), f"tracecore tune, {plan.snapshot.name}, medians of {plan.repeats}"
        remember(gpu, [one.facts(gpu.architecture, source) for one in found if one.rates])
    any_is_right = any(one.rates for one in found)
    print(_keeping(plan.device) if any_is_right else "nothing is kept: no kernel has the right hits")
    return 1 if any(one.wrong for one in found) else 0
