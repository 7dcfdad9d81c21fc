"""Fixtures that every package's tests share."""

import gc
import os
import re
import tempfile
from contextlib import nullcontext
from pathlib import Path

import pytest
from heard_signals import hear_signals
from numba.core import errors

from tracecore.cuda.device import gpu_unavailable_reason
from tracecore.emulator.library import emulator_unavailable_reason

# Where colorama is installed, Numba has it put back the stderr of before when it has written a message of an error,
# even one that it gets over: a thread that compiles as tests go by leaves a test without the stream that it reads.
errors.ColorShell = nullcontext

#: Files whose tests take longest. They begin first, so that no worker is left alone with one at the end, and by turns
#: those that compile kernels and those that compile loops, so that no worker waits for what another one compiles.
LONGEST = (
    "renderer/test_lanes.py",
    "tracecore/test_kernels.py",
    "renderer/test_known_answers.py",
    "tracecore/test_margins.py",
    "renderer/test_contributing.py",
    "renderer/test_shared_pictures.py",
    "renderer/test_vcm.py",
    "renderer/test_check.py",
    "renderer/test_mitsuba_pictures.py",
    "renderer/test_bench_commands.py",
    "tracecore/test_device_ploc.py",
    "tracecore/test_cpu.py",
    "tracecore/test_ring.py",
    "shaders/test_more_bsdfs.py",
    "tracecore/test_update.py",
    "tracecore/test_steps.py",
    "renderer/test_light_transport.py",
    "tracecore/test_nvrtc.py",
    "renderer/test_adaptive.py",
    "tracecore/test_surroundings.py",
    "renderer/test_aimed_surfaces.py",
    "tracecore/test_builder.py",
    "renderer/test_maps.py",
    "tracecore/test_emulator.py",
    "renderer/test_checkpoint.py",
    "renderer/test_fleet.py",
    "renderer/test_cluster.py",
    "tracecore/test_wide_kernels.py",
    "renderer/test_material_files.py",
    "renderer/test_hostile_commands.py",
    "renderer/test_fog.py",
    "renderer/test_attacker.py",
    "renderer/test_custom_shaders.py",
    "renderer/test_volume.py",
    "renderer/test_cli.py",
    "shaders/test_bsdfs.py",
    "renderer/test_drivers.py",
    "renderer/test_map_loops.py",
    "renderer/test_bench.py",
    "renderer/test_bench_report.py",
    "tracecore/test_warp_kernels.py",
    "renderer/test_worker_pool.py",
    "renderer/test_light_kinds.py",
)

#: Tests build their trees, also where somebody has kept them.
os.environ["TRACECORE_TREE_BYTES"] = "0"

SHARED = Path(__file__).resolve().parents[2] / "shared" / "scenes"

#: Tests that take longest, each by the beginning of its name: a run of all files leaves them out, unless it is to be
#: thorough.
THOROUGH = Path(__file__).with_name("thorough.txt")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option of a run that leaves nothing out."""
    parser.addoption("--thorough", action="store_true", help="run those tests too that tests/thorough.txt names")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts the tests of the longest files first; the rest keep their order. Where there is no GPU, a test that needs
    one is skipped with its first parameters alone."""
    folder = Path(__file__).parent
    rank = {folder / name: i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(LONGEST)))
    others = repeated(items) if gpu_unavailable_reason() is not None else set()
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        long = taking_long(items)
        others |= set() if config.option.thorough else long
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=list(others))


def taking_long(items: list[pytest.Item]) -> set[pytest.Item]:
    """Returns the tests that `THOROUGH` names. Raises `pytest.UsageError` where it names one that there is not, but for
    files that are skipped as a whole."""
    found: set[pytest.Item] = set()
    files = {item.path for item in items}
    for line in THOROUGH.read_text(encoding="utf-8").splitlines():
        named = {item for item in items if item.nodeid.startswith(f"tests/{line}")}
        file = THOROUGH.parent / line.partition("::")[0]
        if not named and (file in files or not file.is_file()):
            raise pytest.UsageError(f"{THOROUGH}: there is no test {line}")
        found |= named
    return found


def repeated(items: list[pytest.Item]) -> set[pytest.Item]:
    """Returns the tests that need a GPU, but for the first of each function."""
    first: dict[str, pytest.Item] = {}
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    return {item for item in on_gpu if first.setdefault(item.nodeid.partition("[")[0], item) is not item}


def pytest_collection_finish() -> None:
    """Has the collector of garbage leave out what is there before the first test: thousands of tests and all modules,
    which stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def collects_often() -> None:
    """Has the collector of garbage leave out what tests before those of a module have made that stays, such as what
    compilers know: to look at it again took most of the time of tests that measure memory."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _signals_are_heard() -> None:
    hear_signals()


@pytest.fixture(scope="session", autouse=True)
def _folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all current folders, in which fixtures are that are made before a test begins."""
    folder = tmp_path_factory.mktemp("current")
    os.chdir(folder)
    return folder


@pytest.fixture(autouse=True)
def _own_folder(_folders: Path) -> None:
    """Has a test and its child processes begin in a folder of their own: none sees what a user has in another one."""
    os.chdir(tempfile.mkdtemp(dir=_folders))


@pytest.fixture(autouse=True)
def _frames_are_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has one process make the frames of a film, however many cores there are."""
    from renderer.run.members import small_frames

    monkeypatch.setattr(small_frames, "usable_cores", lambda: 1)


@pytest.fixture
def tmp_path(_folders: Path, request: pytest.FixtureRequest) -> Path:
    """A new folder, named after the test. (To number the next one, pytest would look at those of all tests before: the
    more there are, the longer that takes.)"""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return Path(tempfile.mkdtemp(prefix=name, dir=_folders))


@pytest.fixture(scope="session")
def emulator() -> None:
    """Skips what needs the emulator where it cannot be had."""
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def gpu() -> None:
    """Skips what needs a GPU where there is none."""
    if reason := gpu_unavailable_reason():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_scenes() -> Path:
    """The folder of public scenes that the project does not ship (BART kitchen, Sibenik, bunny)."""
    folder = Path(os.environ.get("TRACECORE_SCENES", SHARED))
    if not folder.is_dir():
        pytest.skip(f"no folder of public scenes at {folder} (set TRACECORE_SCENES)")
    return folder


@pytest.fixture(scope="session")
def kitchen_file(shared_scenes: Path) -> Path:
    """The BART kitchen's main file."""
    path = shared_scenes / "bart-kitchen" / "aff" / "kitchen.aff"
    if not path.is_file():
        pytest.skip(f"the BART kitchen is not at {path}")
    return path
