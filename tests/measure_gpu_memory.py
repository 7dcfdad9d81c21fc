"""Prints what scenes take of a GPU's memory by each kernel: what is said before any is taken, and what is measured.

    python tests/measure_gpu_memory.py [SCENE...]

Measured is how much less is free once a tracer is open and has traced a batch, beside what it packed; the rest are
batches and what CUDA takes for itself, the stacks of kernels among it. At the end the memory that was given back is
compared with what was free at first: what is kept for the next use has to count as free.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1])]

import scenes  # noqa: E402
from renderer.run.memory import GPU_TRIANGLE_BYTES  # noqa: E402
from tracecore.cuda.device import gpu_memory, gpu_name  # noqa: E402
from tracecore.rays import make_rays  # noqa: E402
from tracecore.tracers.gpu import GpuTracer  # noqa: E402

KERNELS = ("while-while", "bvh4", "compressed-bvh8", "grouped-8", "warp-bvh4")


def main() -> None:
    """Measures, and prints a row for each scene and kernel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=["kitchen", "stress:1M", "stress:10M"], metavar="SCENE")
    print(f"{gpu_name()}, in MB", "scene kernel estimate packed measured", sep="\n")
    first = gpu_memory()[0]
    for name in parser.parse_args().scenes:
        positions = scenes.load(name).at_frame(0).positions
        for kernel in KERNELS:
            before = gpu_memory()[0]
            with GpuTracer(positions, kernel) as tracer:
                queue = tracer.open_queue()
                queue.submit(make_rays(np.zeros((4096, 3)), np.ones((4096, 3)), 0.0))
                queue.drain()
                taken, packed = before - gpu_memory()[0], tracer.bvh.bytes
            said = GPU_TRIANGLE_BYTES * len(positions)
            print(name, kernel, *(f"{size / 1e6:.1f}" for size in (said, packed, taken)), flush=True)
    print(f"kept at the end: {(first - gpu_memory()[0]) / 1e6:.1f}")


if __name__ == "__main__":
    main()
