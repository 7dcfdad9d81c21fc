"""Has a GPU fail under renders at random batches, and looks at how they end: for a machine with an NVIDIA GPU.

    python tests/inject_gpu_faults.py [--runs 100] [--beside 8] [--seed 0] [--log FILE]

Each render is a process of its own, since CUDA gives a process nothing more after an illegal address; some run beside
each other. A kernel fails on purpose at rays that it strikes by their bits (`tests/tracecore/faulty.cu`), which are
others for each seed of a picture. In turn:

    address      illegal address, --fallback cpu       the bits of the CPU's picture, one note for each step
    endless      a ray that never ends, --fallback cpu the same
    resumed      illegal address, no fallback          status 1, one line, and --resume on the CPU has the bits
    garbage      a triangle that is not there          status 1, the kernel is named, its ray is kept
    wrong        a distance off by one bit, all looked at by --verify   the same
    killed       endless, and a hard kill              nothing but that; the next render is sound

A render in which no ray was struck has to have the bits. One line at the end sums up; the status is 1 unless all ended
as they should, and nearly all met a fault.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "tracecore"))

#: About one of so many rays is struck; a picture has some 50,000, so that one in 500 meets no fault.
PERIOD = 8_000

#: Share of the renders that may have met no fault.
MOST_SOUND = 0.05

#: Seconds that a render may take, and that a batch may: less where a ray never ends.
LIMIT, USUAL_PATIENCE, PATIENCE = 90.0, 30.0, 4.0

#: Pictures differ by their seeds: so many, of each of which the CPU makes one.
SEEDS = 6

CASES = {
    "address": ("illegal-address", ("--fallback", "cpu")),
    "endless": ("endless", ("--fallback", "cpu")),
    "resumed": ("illegal-address", ("--checkpoint", "0")),
    "garbage": ("missing-triangle", ("--verify", "0.001")),
    "wrong": ("wrong-hit", ("--verify", "1")),
    "killed": ("endless", ()),
}

if __name__ != "__main__":  # as a plugin of the renders
    from faulty_kernel import FAULTS, registered

    for fault in FAULTS:
        registered(fault, PERIOD)


def render(folder: Path, seed: int, *more: str) -> "subprocess.Popen[str]":
    """Starts a render of a tiny picture."""
    patience = PATIENCE if "faulty-endless" in more else USUAL_PATIENCE
    words = ["render", "cornell", "--driver", "path", "--size", "48x36", "--passes", "6", "--threads", "2"]
    words += ["--seed", str(seed), "--plugin", __file__, "-o", "a.npy", "--force", *more]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TRACECORE_GPU_TIMEOUT": str(patience)}
    return subprocess.Popen(
        [sys.executable, "-m", "renderer", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def ended(process: "subprocess.Popen[str]", seconds: float = LIMIT) -> tuple[int, str]:
    """Returns the status of a render and what it said; it is killed where it takes too long."""
    try:
        _, text = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        _, text = process.communicate()
        return -9, text
    return process.returncode, text


def picture(folder: Path) -> bytes:
    """Returns the linear data of a render, none where there are none."""
    path = folder / "a.npy"
    return path.read_bytes() if path.exists() else b""


class Run(NamedTuple):
    """Is one render in which a kernel fails: the case, its number among those of the case, its seed, its device."""

    case: str
    number: int
    seed: int
    device: str


def check(run: Run, right: bytes) -> str:
    """Makes a render. Returns how it ended: "contained", "sound" where no ray was struck, or what is wrong with it.

    right: its linear data.
    """
    fault, options = CASES[run.case]
    words = ["--device", run.device, "--kernel", f"faulty-{fault}", *options]
    if run.device == "gpu":
        words += ["--dispatch", ("resident", "streamed")[run.number % 2]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process = render(folder, run.seed, *words)
        if run.case == "killed":
            time.sleep(random.uniform(1.0, 2.0 * PATIENCE))
            process.kill()
            ended(process)
            return "contained"
        status, text = ended(process)
        lines = text.splitlines()
        if "Traceback" in text or status not in (0, 1):
            return f"status {status}: {text!r}"
        if status == 0:
            return end_of_a_picture(picture(folder) == right, lines)
        return end_of_an_error(run, folder, [line for line in lines if "error: " in line], right)


def end_of_a_picture(is_right: bool, lines: list[str]) -> str:
    """Returns how a render ended that made a picture. is_right: whether it has the right bits. lines: what it said."""
    if not is_right:
        return f"status 0, other bits: {lines}"
    return "contained" if any("note: the gpu failed: " in line for line in lines) else "sound"


def end_of_an_error(run: Run, folder: Path, errors: list[str], right: bytes) -> str:
    """Returns how a render ended with an error. folder: of its files. errors: what it said of them."""
    if len(errors) != 1:
        return f"status 1: {errors}"
    if run.case in ("garbage", "wrong"):
        is_named = f"kernel 'faulty-{CASES[run.case][0]}' is wrong" in errors[0]
        return "contained" if is_named and (folder / "a.wrong-ray.npz").exists() else errors[0]
    if run.case != "resumed" or "--fallback cpu" not in errors[0]:
        return errors[0]
    status, text = ended(render(folder, run.seed, "--device", "cpu", "--resume"))
    return "contained" if status == 0 and picture(folder) == right else f"resumed, status {status}: {text[-300:]!r}"


def pictures_of_the_cpu(seeds: list[int], beside: int) -> dict[int, bytes]:
    """Returns the linear data of a picture of each seed; the first one compiles."""

    def made(seed: int) -> bytes:
        with tempfile.TemporaryDirectory() as name:
            status, text = ended(render(Path(name), seed, "--device", "cpu"), 600.0)
            assert status == 0, text
            return picture(Path(name))

    first = made(seeds[0])
    with ThreadPoolExecutor(beside) as threads:
        return dict(zip(seeds, [first, *threads.map(made, seeds[1:])], strict=True))


def main() -> int:
    """Runs all; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--beside", type=int, default=8, help="renders beside each other (default: 8)")
    parser.add_argument("--cases", default=",".join(CASES), help="separated by commas (default: all)")
    parser.add_argument("--device", default="gpu", help="emulator can have the cases garbage and wrong alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="write how each ended to FILE")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    start = time.perf_counter()
    seeds = [random.randrange(1 << 32) for _ in range(SEEDS)]
    right = pictures_of_the_cpu(seeds, arguments.beside)
    ready = time.perf_counter()
    names = arguments.cases.split(",")
    runs = [
        Run(names[i % len(names)], i // len(names), random.choice(seeds), arguments.device)
        for i in range(arguments.runs)
    ]
    with ThreadPoolExecutor(arguments.beside) as threads:
        ends = list(threads.map(lambda run: check(run, right[run.seed]), runs))
    rows = [f"{run.case} {run.number}, seed {run.seed}: {end}" for run, end in zip(runs, ends, strict=True)]
    if arguments.log is not None:
        arguments.log.write_text("\n".join(rows) + "\n")
    bad = [row for row, end in zip(rows, ends, strict=True) if end not in ("contained", "sound")]
    counts = Counter(run.case for run, end in zip(runs, ends, strict=True) if end == "contained")
    print("".join(f"{row}\n" for row in bad), end="")
    print(
        f"{len(ends) - len(bad)} of {len(ends)} renders ended as they should; {ends.count('sound')} met no fault; "
        f"contained: {', '.join(f'{case} {counts[case]}' for case in names)}; {ready - start:.0f} s for the CPU's "
        f"pictures, {time.perf_counter() - ready:.0f} s for these"
    )
    return 1 if bad or ends.count("sound") > MOST_SOUND * len(ends) else 0


if __name__ == "__main__":
    sys.exit(main())
