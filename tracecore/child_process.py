"""Starts Python as a process of its own, which looks for modules where this program's are, and never in the folder that
the user happens to be in: what lies there, such as a scene somebody else has packed, is not to be run.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: The folder of this program's packages.
PLACE = Path(__file__).resolve().parents[1]


def start_python(words: Sequence[str], environment: Mapping[str, str] | None = None, **how: Any) -> Any:
    """Starts Python; returns its `subprocess.Popen`. What it starts itself by `multiprocessing` is as careful.

    words: of its command line, such as "-m" and a module.
    environment: variables that it has beside those of this process.
    how: what else `subprocess.Popen` takes.
    """
    places = [str(PLACE), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    safe = {"PYTHONPATH": os.pathsep.join(places), "PYTHONSAFEPATH": "1"}
    return subprocess.Popen([sys.executable, "-P", *words], env={**os.environ, **(environment or {}), **safe}, **how)
