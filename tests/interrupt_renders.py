"""Ends renders by signals at random moments, has them go on, and compares with what was never interrupted.

    python tests/interrupt_renders.py [--times 20] [--seed 0]

Each render is a process of its own. After the signal every file that is there has to be whole, the status has to be
that of the signal, or 0 where the render was done, and nothing may be printed that looks like a fault of the program.
Then the same command with --resume and another number of threads has to make the same picture, bit for bit. What is
printed is in docs/lab/reliability.md. It takes minutes, and is no part of the checks.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from heard_signals import hear_signals
from PIL import Image

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
DRIVERS = ("photon", "sppm", "path", "path+caustics", "photons-only")
#: About what the passes of a render take, and all of it.
SECONDS_OF_PASSES, SECONDS_OF_ALL = 1.0, 2.4

ROOT = Path(__file__).resolve().parents[1]


def command(driver: str, threads: int, *more: str) -> list[str]:
    """Returns the command line of a render."""
    size = ["--device", "cpu", "--size", "32x24", "--passes", "200", "--driver", driver, "--threads", str(threads)]
    return [sys.executable, "-m", "renderer", "render", "cornell", *size, "-o", "a.png", "--checkpoint", "0", *more]


def start(words: list[str], folder: Path) -> subprocess.Popen[str]:
    """Starts a program that gets signals as one at a terminal does."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def digest(folder: Path) -> str:
    """Returns the digest of a picture and its linear data."""
    return hashlib.sha256((folder / "a.png").read_bytes() + (folder / "a.npy").read_bytes()).hexdigest()


def check_whole(folder: Path) -> None:
    """Raises the error of the first file that is not whole; what was being written has a name of its own."""
    for path in folder.iterdir():
        if path.name.startswith(".part-"):
            continue
        match path.suffix:
            case ".png":
                with Image.open(path) as image:
                    image.load()
            case ".npy":
                np.load(path)
            case ".json":
                json.loads(path.read_text())


def interrupted(driver: str, name: str, share: float, folder: Path, has_begun: bool) -> tuple[float, bool]:
    """Ends a render by a signal; returns the seconds that this took and whether the render was done.

    share: of the render, after which the signal comes.
    has_begun: whether these are only counted from the first checkpoint on.
    """
    number = getattr(signal, name)
    process = start(command(driver, 2), folder)
    while has_begun and process.poll() is None and not (folder / "a.png.checkpoint").exists():
        time.sleep(0.002)
    time.sleep(share * (SECONDS_OF_PASSES if has_begun else SECONDS_OF_ALL))
    process.send_signal(number)
    begin = time.perf_counter()
    _, error = process.communicate(timeout=120)
    took = time.perf_counter() - begin
    expected = {-number} if name == "SIGKILL" else {-number, 128 + number}
    assert process.returncode in {0, *expected}, (process.returncode, error)
    assert "Traceback" not in error, error
    assert "Exception ignored" not in error, error
    check_whole(folder)
    return took, process.returncode == 0


def main() -> None:
    """Prints a row for each signal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    hear_signals()
    drawn = random.Random(arguments.seed)
    whole = {}
    for driver in DRIVERS:  # which may have to compile
        with tempfile.TemporaryDirectory() as folder:
            start(command(driver, 2), Path(folder)).communicate()
            whole[driver] = digest(Path(folder))
    print(f"{'signal':8} {'renders':>7} {'done':>5} {'resumed':>8} {'same bits':>10} {'longest end, s':>15}")
    for name in SIGNALS:
        ends, done, resumed, same = [], 0, 0, 0
        for index in range(arguments.times):
            driver = DRIVERS[index % len(DRIVERS)]
            with tempfile.TemporaryDirectory() as folder:
                end, is_done = interrupted(driver, name, drawn.random(), Path(folder), index % 2 == 1)
                ends.append(end)
                done += is_done
                resumed += (Path(folder) / "a.png.checkpoint").is_file()
                _, error = start(command(driver, 1, "--resume"), Path(folder)).communicate()
                assert (Path(folder) / "a.png").is_file(), error
                same += digest(Path(folder)) == whole[driver]
        print(f"{name:8} {len(ends):7} {done:5} {resumed:8} {same:10} {max(ends):15.2f}", flush=True)
        assert same == len(ends)
        assert done < len(ends), f"no render has heard {name}"


if __name__ == "__main__":
    main()
