"""Somebody else plants modules, machine code, links and names, and knocks at ports: nothing of it is run or believed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGES = ("renderer", "tracecore", "shaders", "scenes")

# Modules in the current folder

#: Modules that processes of this program import, or their interpreter does by itself.
PLANTED = (
    *(f"{package}/__init__.py" for package in (*PACKAGES, "distributed", "dask", "numpy", "numba", "multiprocessing")),
    *("renderer/fleet/member.py", "renderer/bench/peer_process.py", "distributed/cli/dask_worker.py"),
    *("sitecustomize.py", "usercustomize.py", "pickle.py", "socket.py", "logging.py", "encodings.py", "runpy.py"),
)

#: Headers of the emulator's, by whose names g++ looks in the current folder first where its source has no folder.
PLANTED_HEADERS = ("grid.hpp", "cuda.hpp", "entry.hpp")

MEMBER = """
from contextlib import closing
from fleet_toys import Squares, Trouble
from renderer.fleet.fleet import Items, Opening
FLEET
    fleet.open(Opening(Squares, Trouble()))
    assert len(list(fleet.results(Items(range(3))))) == 3
"""

#: What starts a process, by the kind of it.
STARTS = {
    "member": MEMBER.replace(
        "FLEET",
        "from renderer.fleet.processes import HostFleet\nfrom renderer.fleet.seats import Seat\n"
        "with closing(HostFleet([Seat(0, 'cpu', 1)])) as fleet:",
    ),
    "worker": MEMBER.replace(
        "FLEET",
        "from renderer.fleet.cluster import ClusterFleet\nwith closing(ClusterFleet('local:1', 'cpu', 1)) as fleet:",
    ),
    "compiler": """
from tracecore.compilation.side_by_side import start
assert start("import numpy, renderer", b"").wait() == 0
""",
    "peer": """
import pathlib
from renderer.bench.peer_process import PeerOrder, in_process
rest = {"camera": None, "max_bounces": 1, "repeats": 1, "threads": 1}
order = PeerOrder(path=pathlib.Path("SCENE"), size=(2, 2), samples=(1,), **rest)
assert len(in_process("played_peer", "plays", order)) == 1
""",
    "g++": """
from tracecore.emulator.library import compile_library, emulator_unavailable_reason
from tracecore.kernels.strategies import find_strategy
assert emulator_unavailable_reason() is not None or compile_library(find_strategy("while-while"), 32)
""",
}


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder whose files leave a mark in `mark` if they are run or compiled."""
    folder, mark = tmp_path / "planted", tmp_path / "mark"
    for name in PLANTED:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"with open({str(mark)!r}, 'a') as file:\n    file.write({name + ' '!r})\nraise SystemExit(3)\n"
        )
    for name in PLANTED_HEADERS:
        (folder / name).write_text(f"#error {name} was planted\n")
    return folder


@pytest.mark.parametrize("kind", STARTS)
def test_no_process_runs_what_lies_in_the_current_folder(kind: str, planted: Path) -> None:
    if kind == "worker":
        pytest.importorskip("distributed", reason="Dask is not installed; pip install 'tracecore[cluster]'")
    scene, script = planted.parent / "scene.xml", planted.parent / "bin" / "program.py"
    scene.touch()
    script.parent.mkdir()
    script.write_text(STARTS[kind].replace("SCENE", str(scene)))  # Python looks where it lies, as with an installed one
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT)]),
        "TRACECORE_CACHE": str(planted.parent / "cache"),
    }
    done = subprocess.run(
        [sys.executable, str(script)], cwd=planted, env=environment, capture_output=True, text=True, timeout=250
    )
    mark = planted.parent / "mark"
    assert not mark.exists(), f"run: {mark.read_text()}"
    assert done.returncode == 0, done.stderr[-2000:]


def test_processes_are_started_in_three_places_alone() -> None:
    """Whoever starts one more adds it to those above."""
    starting = re.compile(
        r"subprocess\.(Popen|run|call|check_\w+)\(|multiprocessing|ProcessPool|os\.(system|popen|exec\w+|spawn\w+)\("
        r"|posix_spawn|os\.fork|create_subprocess"
    )
    found = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if starting.search(path.read_text(encoding="utf-8"))
    }
    assert found == {
        "tracecore/child_process.py",
        "tracecore/emulator/library.py",  # g++
        "tracecore/analysis/machine_code.py",  # nvdisasm, by the whole path of it
    }
