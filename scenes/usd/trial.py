"""This module has layers read by a process of its own, `trial_process`, as bytes that are no USD may end the process
that reads them, or have it take all memory."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from scenes.errors import SceneFileError
from scenes.usd.trial_process import EDITS
from tracecore.child_process import start_python

#: Megabytes and seconds for each trial, and more of both for each megabyte of its files.
FREE_MEGABYTES, MEGABYTES_EACH = 2000, 40
FREE_SECONDS, SECONDS_EACH = 20, 1
#: The most bytes of the names of the layers of a trial, which are arguments of a command.
MAX_NAMES = 100_000
#: What usd-core prints of bytes that say they go on beyond the end of their file.
TOO_FAR = b"posix_madvise"
#: What is said of values that edit arrays.
EDITED = "edits arrays (edit [...]), which is not read"
#: What that process runs.
PROCESS = Path(__file__).with_name("trial_process.py")


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
    words = [str(PROCESS), str(megabytes), str(seconds), *names]
    with start_python(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as trial:
        try:
            said, errors = trial.communicate(timeout=2 * seconds)
        except subprocess.TimeoutExpired as error:
            trial.kill()
            raise SceneFileError(path, None, f"takes over {seconds} seconds to be read") from error
    if trial.returncode == EDITS:
        raise SceneFileError(path, None, EDITED)
    if trial.returncode or TOO_FAR in errors:
        last = Path(said.decode(errors="replace").strip().rpartition("\n")[2]).name
        message = f"is no readable USD file: usd-core ended with status {trial.returncode} at {last}"
        raise SceneFileError(path, None, f"{message} (within {megabytes} MB and {seconds} s)")
    return None
