import gc
import json
import sys

from numba.core import event

with event.install_recorder("numba:compile") as compiled:
    from renderer import cli

    status = cli.main(
        [
            "render",
            "cornell",
            "--driver",
            "path",
            "--size",
            "8x8",
            "--passes",
            "1",
            "--device",
            "cpu",
            "--quiet",
            "-o",
            sys.argv[1],
        ]
    )
from tracecore.compilation.merging import Merged, MergedFunction

gc.unfreeze()  # what is left out of collections is not listed
loaded = [one.py_func.__name__ for one in gc.get_objects() if isinstance(one, MergedFunction) and one.overloads]
known = [one.py_func.__name__ for one in gc.get_objects() if isinstance(one, Merged) and "whole" in vars(one)]
print(
    json.dumps(
        {
            "status": status,
            "compiled": len(compiled.buffer),
            "loaded": loaded,
            "known": known,
            "modules": sorted(sys.modules),
        }
    )
)
