"""The program does without what only some systems have."""

import json
import subprocess
import sys
from pathlib import Path

import renderer

ROOT = Path(renderer.__file__).parents[1]

#: Takes away what Windows does not have, imports all modules, and calls what asks the system.
WITHOUT = """
import json, os, pkgutil, signal, sys
from importlib import import_module
from pathlib import Path
taken = ("fcntl", "grp", "pwd", "resource", "termios")
sys.modules.update(dict.fromkeys(taken))
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
from scenes import memory, source_file, written_file
from tracecore import cores
from tracecore.compilation import cache_folder, cached
from tracecore.workers.pool import signals_held
folder = Path(sys.argv[1])
with interruptible(), signals_held(), cached.only_process(folder / "lock"):
    (folder / "written").write_bytes(b"seen")
    os.close(written_file.opened(folder / "written"))
told = {
    "failed": failed,
    "read": source_file.read_bytes(folder / "written", 9).decode(),
    "limit": memory.free_of_process(),
    "own": memory.own_bytes(),
    "cores": cores.usable_cores() > 0,
    "private": cache_folder.is_private(folder),
    "root": cache_folder._temporary_root().name,
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
        "private": True,
        "root": "tracecore-cache-user",
        "words": 4096,
        "free": None,
    }
