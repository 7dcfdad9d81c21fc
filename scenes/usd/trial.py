"""This module has layers read by a process of its own, as bytes that are no USD may end the process that reads them, or
have it take all memory.

    python -m scenes.usd.trial MEGABYTES SECONDS LAYER ...

reads all values of layers, and returns 0 where that works within a limit of memory and of processor time.
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from scenes.errors import SceneFileError

#: Megabytes and seconds for each trial, and more of both for each megabyte of its files.
FREE_MEGABYTES, MEGABYTES_EACH = 2000, 40
FREE_SECONDS, SECONDS_EACH = 20, 1
#: The most bytes of the names of the layers of a trial, which are arguments of a command.
MAX_NAMES = 100_000
ROOT = Path(__file__).parents[2]


def check_by_trial(path: Path, names: Sequence[str], size: int) -> None:
    """Raises SceneFileError where layers end the process that reads them, or take too much.

    path: of the scene.
    names: of the layers, as usd-core opens them.
    size: bytes of their files.
    """
    if sum(map(len, names)) > MAX_NAMES and len(names) > 1:
        middle = len(names) // 2
        check_by_trial(path, names[:middle], size)
        return check_by_trial(path, names[middle:], size)
    megabytes = int(FREE_MEGABYTES + MEGABYTES_EACH * size / 1e6)
    seconds = int(FREE_SECONDS + SECONDS_EACH * size / 1e6)
    command = [sys.executable, "-m", __name__, str(megabytes), str(seconds), *names]
    try:
        trial = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=2 * seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise SceneFileError(path, None, f"takes over {seconds} seconds to be read") from error
    if trial.returncode:
        last = Path(trial.stdout.decode(errors="replace").strip().rpartition("\n")[2]).name
        message = f"is no readable USD file: usd-core ended with status {trial.returncode} at {last}"
        raise SceneFileError(path, None, f"{message} (within {megabytes} MB and {seconds} s)")
    return None


def limit(megabytes: int, seconds: int) -> None:
    """Limits the memory and the processor time of this process, where the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000, megabytes * 1_000_000))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read_all(name: str) -> None:
    """Reads all values of a layer."""
    from pxr import Sdf, Tf

    paths: list[Sdf.Path] = []
    with suppress(Tf.ErrorException):  # what is only wrong is told by whoever reads it
        layer = Sdf.Layer.FindOrOpen(name)
        layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
    for path in paths:
        with suppress(Tf.ErrorException):
            spec = layer.GetObjectAtPath(path)
            for key in spec.ListInfoKeys() if spec else ():
                spec.GetInfo(key)
            for time in layer.ListTimeSamplesForPath(path):
                layer.QueryTimeSample(path, time)


if __name__ == "__main__":
    limit(int(sys.argv[1]), int(sys.argv[2]))
    for layer_name in sys.argv[3:]:
        print(layer_name, flush=True)
        read_all(layer_name)
