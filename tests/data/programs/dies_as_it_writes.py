import os
import signal
import sys
from pathlib import Path

from renderer.atomic_file import temporary_beside
from scenes.export import place_of

path = Path(sys.argv[1])
with temporary_beside(path) as file, place_of(path) as folder:
    Path(folder, "a").write_text("half")
    print("begun", flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
