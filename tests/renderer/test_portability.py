"""The program does without what only some systems have."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from data_files import data_text

import renderer
from scenes.files import source_file, written_file

ROOT = Path(renderer.__file__).parents[1]

#: Takes away what Windows does not have, imports all modules, and calls what asks the system.
WITHOUT = """
import json, os, pkgutil, signal, sys
from importlib import import_module
from pathlib import Path
taken = ("fcntl", "grp", "pwd", "resource", "termios")
sys.modules.update(dict.fromkeys(taken))
sys.modules["pyluxcore"] = None  # replaces malloc, and runs in a process of its own
for name in ("O_NONBLOCK", "fork", "geteuid", "getuid", "sched_getaffinity", "set_blocking", "sysconf"):
    delattr(os, name)
for name in ("SIGHUP", "pthread_sigmask"):
    delattr(signal, name)
failed = {}
for package in ("renderer", "scenes", "shaders", "tracecore"):
    for one in pkgutil.walk_packages(import_module(package).__path__, package + "."):
        if one.name.endswith("__main__"):
            continue
        try:
            import_module(one.name)
        except ModuleNotFoundError as error:  # an extra may be missing
            if error.name in taken:
                failed[one.name] = repr(error)
        except Exception as error:
            failed[one.name] = repr(error)
from renderer.interrupts import interruptible
from renderer.photons.store import new_words
from scenes.files import memory
from scenes.files import source_file
from scenes.files import written_file
from tracecore import threads
from tracecore.compilation import cached, private_folder
from tracecore.compilation.private_folder import PrivateFolder
from tracecore.workers.pool import signals_held
folder = Path(sys.argv[1])
with interruptible(), signals_held(), cached.only_process(PrivateFolder(folder), "lock"):
    (folder / "written").write_bytes(b"seen")
    os.close(written_file.opened(folder / "written"))
own = PrivateFolder(folder / "own" / "code")
own.write_checked("code", b"machine")
own.touch("code")
told = {
    "failed": failed,
    "read": source_file.read_bytes(folder / "written", 9).decode(),
    "limit": memory.free_of_process(),
    "own": memory.own_bytes(),
    "cores": threads.usable_cores() > 0,
    "private": [own.read_checked("code").decode(), own.names(), own.has("none")],
    "root": private_folder._temporary_root().name,
    "words": len(new_words(4096)),
}
memory.ALL_MEMORY = folder / "none"
told["free"] = memory.free_of_all()
print(json.dumps(told))
"""


def test_all_modules_do_without_what_windows_has_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "failed": {},
        "read": "seen",
        "limit": None,
        "own": 0,
        "cores": True,
        "private": ["machine", ["code"], False],
        "root": "tracecore-cache-user",
        "words": 4096,
        "free": None,
    }


#: Plays the functions of Windows that tell the time and give way, and compiles for it.
AS_ON_WINDOWS = data_text("programs/as_on_windows.py")


def test_the_clock_of_windows() -> None:
    """Of a machine that has run for 28 years, whose nanoseconds are exact though their product would overflow."""
    done = subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS], cwd=ROOT, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {"told": 912_345_678_901_234_500, "ways": 1}


def test_files_are_opened_as_bytes_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Windows changes ends of lines, and ends a file at the byte 26, of descriptors that are opened without it."""
    asked: list[int] = []
    binary = 1 << 20
    real_open = os.open

    def opened(path: Path, flags: int) -> int:
        asked.append(flags)
        return real_open(path, flags & ~binary)

    monkeypatch.setattr(os, "O_BINARY", binary, raising=False)
    monkeypatch.setattr(os, "open", opened)
    (tmp_path / "a").write_bytes(b"seen")
    assert source_file.read_bytes(tmp_path / "a", 9) == b"seen"
    os.close(written_file.opened(tmp_path / "a"))
    assert [flags & binary for flags in asked] == [binary] * 2
