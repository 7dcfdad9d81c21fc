"""A run loads what it needs and compiles nothing twice."""

import json
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from renderer.run import first_run
from renderer.run.first_run import EYE_PATHS
from tracecore.compilation import side_by_side
from tracecore.compilation.cached import only_process

#: Renders by paths, and tells what was imported, compiled and loaded for it.
RUN = """
import gc, json, sys
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    from renderer import cli
    status = cli.main(["render", "cornell", "--driver", "path", "--size", "8x8", "--passes", "1", "--device", "cpu",
                       "--quiet", "-o", sys.argv[1]])
from tracecore.compilation.merging import Merged, Whole
loaded = [one.py_func.__name__ for one in gc.get_objects() if isinstance(one, Whole) and one.overloads]
known = [one.py_func.__name__ for one in gc.get_objects() if isinstance(one, Merged) and "whole" in vars(one)]
print(json.dumps({"status": status, "compiled": len(compiled.buffer), "loaded": loaded, "known": known,
                  "modules": sorted(sys.modules)}))
"""

#: What a picture of a scene made by code does not need. Numba wants `npyimpl` when it compiles.
USELESS = {
    "numba.np.npyimpl",
    "tqdm",
    "asyncio",
    "trimesh",
    "PIL",
    "matplotlib",
    "OpenEXR",
    "scenes.aff",
    "scenes.mitsuba",
    "scenes.toml_scene",
    "scenes.mesh_file",
    "scenes.shipped.kitchen",
    "scenes.shipped.museum",
    "renderer.bench.kernel_benchmark",
}


def run(tmp_path: Path) -> dict[str, Any]:
    command = [sys.executable, "-c", RUN, str(tmp_path / "picture.npy")]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout.splitlines()[-1])
    assert told["status"] == 0
    return told


def test_a_second_run_compiles_nothing_and_loads_its_own_loop_alone(tmp_path: Path) -> None:
    run(tmp_path)  # which may have to compile
    told = run(tmp_path)
    assert told["compiled"] == 0
    assert told["known"] == []  # no function that is merged with others was made known to Numba
    assert "run_eye_paths" in told["loaded"]
    assert not {"run_photons", "run_occlusion", "run_irradiance", "run_features"} & set(told["loaded"])
    assert not USELESS & set(told["modules"])


@pytest.mark.parametrize(
    ("done", "cores", "count"),
    [((), 2, 1), (("render-photon",), 2, 0), ((EYE_PATHS,), 2, 0), (("other",), 2, 1), ((), 1, 0)],
)
def test_a_first_run_of_a_photon_driver_has_another_process_help(
    done: tuple[str, ...], cores: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    def note(programs: list[Any]) -> AbstractContextManager[None]:
        started.extend(programs)
        return nullcontext()

    monkeypatch.setattr(first_run, "_marker", lambda work: tmp_path / f"{work}.done")
    monkeypatch.setattr(side_by_side, "processes", lambda: cores)
    monkeypatch.setattr(side_by_side, "beside", note)
    for work in done:
        first_run.note(work)
    with first_run.helped("render-photon"):
        assert started == [(first_run.HELPER, b"")] * count


def test_the_helper_does_what_it_is_for() -> None:
    """It is a program in a text, which no other check reads."""
    names = {"__name__": "helper"}
    asked: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("renderer.run.rendering.render", lambda *args, **settings: asked.append((args, settings)))
        exec(first_run.HELPER, names)
    ((scene,), settings) = asked[0]
    assert (scene, settings["driver"], EYE_PATHS) == ("cornell", "path", "render-path")


def test_one_at_a_time_is_in_the_block(tmp_path: Path) -> None:
    inside: list[int] = []

    def enter() -> None:
        for _ in range(5):
            with only_process(tmp_path / "folder" / "function.lock"):
                inside.append(1)
                time.sleep(0.002)
                together.append(len(inside))
                inside.pop()

    together: list[int] = []
    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [1] * 20
