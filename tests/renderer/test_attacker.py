"""Somebody else plants modules, code, links and names, and knocks at ports: nothing of it is run or believed."""

import hashlib
import http.client
import logging
import os
import pickle
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from test_units import MODULE, RUN

from renderer import cli
from renderer.errors import UsageError
from renderer.plain_text import line, plain
from renderer.scene import tuned_kernels
from renderer.viewer.live_picture import LivePicture
from renderer.viewer.server import ViewerServer
from scenes.files.written_file import WriteError

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
from tracecore.compilation.unit_calls import start
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
    (temporary := planted.parent / "temporary").mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT)]),
        "TRACECORE_CACHE": str(planted.parent / "cache"),
        "TMPDIR": str(temporary),
    }
    done = subprocess.run(
        [sys.executable, str(script)], cwd=planted, env=environment, capture_output=True, text=True, timeout=250
    )
    mark = planted.parent / "mark"
    assert not mark.exists(), f"run: {mark.read_text()}"
    assert done.returncode == 0, done.stderr[-2000:]
    # Dask's processes look for modules there first, whosever it is.
    assert not (temporary / "dask-scratch-space").exists()


# A folder in which others of a group may write

NOBODY = 65534

users_only = pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows keeps users' folders apart by itself")


def by_somebody_else(folder: Path, act: Callable[[], None]) -> None:
    """Does something in a folder, as another user of its group where these tests may be one; else as this one."""
    inside = os.open(folder, os.O_RDONLY)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.fchdir(inside)
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            act()
            status = 0
        finally:
            os._exit(status)
    os.close(inside)
    assert os.waitpid(child, 0)[1] == 0


class Bomb:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._text = f"open({str(mark)!r}, 'w').close()"

    def __reduce__(self) -> Any:
        return exec, (self._text,)


#: Begins with what looks at the folder of code, and waits before it reads any.
WAITING_RUN = "import called; print('ready', flush=True); input()" + RUN


@users_only
@pytest.mark.parametrize("is_swapped_late", [False, True])
def test_code_planted_in_a_folder_of_a_group_is_not_run(is_swapped_late: bool, tmp_path: Path) -> None:
    """It has the names of the right files, and their checksums."""
    group, mark = tmp_path / "group", tmp_path / "mark"
    group.mkdir()
    (tmp_path / "called.py").write_text(MODULE)
    environment = {
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "TRACECORE_CACHE": str(group / "cache"),
        "TRACECORE_COMPILE_PROCESSES": "1",
        "TMPDIR": str(tmp_path),
    }
    subprocess.run([sys.executable, "-c", RUN], env=environment, check=True, capture_output=True, timeout=250)
    names = [path.relative_to(group) for path in (group / "cache").rglob("*.nbc")]
    assert names
    bomb = pickle.dumps(Bomb(mark))
    if os.getuid() == 0:
        os.chown(group, -1, NOBODY)
    if not is_swapped_late:
        group.chmod(0o2775)

    def plant() -> None:
        os.rename("cache", "away")
        for name in names:
            name.parent.mkdir(parents=True, exist_ok=True)
            name.write_bytes(bomb + hashlib.sha256(bomb).digest())

    command = [sys.executable, "-c", WAITING_RUN]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        group.chmod(0o2775)
        by_somebody_else(group, plant)
        told, error = process.communicate("go\n", timeout=250)
    assert not mark.exists()
    assert '"result": 7.0' in told, error


@users_only
def test_a_link_in_place_of_what_was_tuned_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    precious, cache = tmp_path / "precious", tmp_path / "cache"
    precious.write_text("mine")
    cache.mkdir()
    monkeypatch.setattr(tuned_kernels, "cache_root", lambda: cache)
    tuned_kernels.tuned_path().symlink_to(precious)
    gpu = tuned_kernels.TunedGpu(name="Fake", architecture="sm_90")
    tuned_kernels.remember(gpu, [])
    assert precious.read_text() == "mine"
    assert not tuned_kernels.tuned_path().is_symlink()
    cache.chmod(0o777)
    with pytest.raises(WriteError, match="others may write to"):
        tuned_kernels.remember(gpu, [])


@users_only
def test_pictures_go_through_no_link_to_what_is_no_picture_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for name in ("a.png", "a.npy", "a.png.json"):
        (tmp_path / name).symlink_to(precious)
        words = ["render", "cornell", "--size", "8x6", "--passes", "1", "--driver", "ao", "--device", "cpu"]
        assert cli.main([*words, "-o", str(tmp_path / "a.png")]) == 2
        assert "is there already" in capsys.readouterr().err
        assert precious.read_text() == "mine"
        (tmp_path / name).unlink()


# Ports


@pytest.fixture(scope="module")
def fleet() -> Iterator[Any]:
    """A cluster of this host's own, with its worker started."""
    pytest.importorskip("distributed", reason="Dask is not installed; pip install 'tracecore[cluster]'")
    from renderer.fleet.cluster import ClusterFleet

    with closing(ClusterFleet("local:1", "cpu", 1)) as made:
        made._client.wait_for_workers(1, timeout=60)
        yield made


def test_no_other_process_gets_into_a_local_cluster(fleet: Any) -> None:
    """Neither without a certificate nor with one of its own, to the scheduler or to a worker."""
    from distributed import Client, Security

    (worker,) = fleet._client.scheduler_info(n_workers=-1)["workers"]
    for address in (fleet._client.scheduler.address, worker):
        place = address.partition("://")[2]
        for protocol, security in (("tcp", None), ("tls", Security.temporary())):
            with pytest.raises((OSError, TimeoutError)):
                Client(f"{protocol}://{place}", security=security, timeout=2)


def test_pages_of_a_local_cluster_tell_nobody_anything(fleet: Any) -> None:
    info = fleet._client.scheduler_info(n_workers=-1)
    (worker,) = info["workers"].values()
    for port in (info["services"]["dashboard"], worker["services"]["dashboard"]):
        for page in ("/", "/info/main/workers.html", "/json/counts.json", "/metrics", "/status"):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", page)
            assert connection.getresponse().status == 404
            connection.close()


@users_only
def test_nobody_else_reads_the_certificate(fleet: Any, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can be another user")
    (number,) = fleet._client.run(os.getpid).values()

    def look() -> None:
        with pytest.raises(PermissionError):
            Path(f"/proc/{number}/environ").read_bytes()

    by_somebody_else(tmp_path, look)
    (scratch,) = fleet._client.run(lambda: sys.path[0]).values()
    assert Path(scratch).parents[1].stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("address", "is_refused", "note"),
    [
        ("tcp://10.0.0.1:8786", True, "whoever reaches"),
        ("10.0.0.1:8786", True, "whoever reaches"),
        ("tcp://[2001:db8::1]:8786", True, "whoever reaches"),
        ("ws://host:80", True, "whoever reaches"),
        ("tcp://localhost.example:8786", True, "whoever reaches"),
        ("tcp://127.0.0.1:8786", False, "other users of this host"),
        ("localhost:8786", False, "other users of this host"),
        ("tcp://[::1]:8786", False, "other users of this host"),
        (f"tcp://{socket.gethostname().upper()}:8786", False, "whoever reaches"),
        ("tls://10.0.0.1:8786", False, ""),
        ("local:2", False, ""),
    ],
)
def test_a_cluster_without_certificates_is_refused_elsewhere_than_here(
    address: str, is_refused: bool, note: str, caplog: pytest.LogCaptureFixture
) -> None:
    from renderer.fleet.cluster_access import check_address

    caplog.set_level(logging.INFO, "renderer")
    if is_refused:
        with pytest.raises(UsageError, match=r"has no TLS: .*--insecure-cluster"):
            check_address(address, is_insecure=False)
    check_address(address, is_insecure=is_refused)
    assert [note] == [note in one.message and note for one in caplog.records] or not (note or caplog.records)


def test_commands_refuse_a_cluster_without_certificates(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("render", "cornell"), ("photons", "cornell", "--store", "100")):
        assert cli.main([*words, "--cluster", "tcp://192.0.2.1:8786"]) == 2
        assert "tracecore: error: --cluster tcp://192.0.2.1:8786 has no TLS" in capsys.readouterr().err
    for words in (("--insecure-cluster",), ("--tls-ca", "ca.pem")):
        assert cli.main(["render", "cornell", *words]) == 2
        assert "says how a cluster is reached, and there is none" in capsys.readouterr().err
    for address, problem in (("tcp://127.0.0.1:9", "has none; take tls://"), ("tls://192.0.2.1:9", "no such file")):
        assert cli.main(["photons", "cornell", "--cluster", address, "--tls-key", "none.pem"]) == 2
        assert problem in capsys.readouterr().err


# Names

#: Clears the screen, sets the title, goes back, is read as an order by old terminals, and turns words around.
ORDERS = "\x1b[2J\x1b]0;title\x07\r\x08\x9b2J\u202egnp.\u2066\u200f"


def test_orders_to_a_terminal_are_printed_as_words() -> None:
    assert plain("Österreich 漢字 \t\n") == "Österreich 漢字 \t\n"
    assert plain(ORDERS) == (r"\x1b[2J\x1b]0;title\x07\r\x08\x9b2J\u202egnp.\u2066\u200f")
    assert plain("a\udcff") == r"a\udcff"
    assert line("a\nb\tc\x1b") == r"a\nb\tc\x1b"


def triangle_file(folder: Path) -> Path:
    """A scene whose file, material and texture have names that are orders."""
    path = folder / f"a{ORDERS.replace('/', '')}.obj"
    path.write_text(
        f"mtllib {ORDERS}.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl {ORDERS.replace(chr(13), '')}\nf 1 2 3\n",
        encoding="utf-8",
        newline="\n",
    )
    return path


def unseen(text: str) -> set[str]:
    return {one for one in text if not one.isprintable() and one not in "\n\t"}


def test_names_give_a_terminal_no_orders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In tables, notes, errors of files that are there and that are not, and wrong words of a command line."""
    path = str(triangle_file(tmp_path))
    cli.main(["scene", "info", path])
    cli.main(["scene", "info", f"{ORDERS}.obj"])
    cli.main(["scene", "export", path, "--to", str(tmp_path / f"b{ORDERS}.toml")])
    with pytest.raises(SystemExit):
        cli.main(["render", path, "--device", ORDERS])
    cli.main(["render", path, "--dry-run", "--camera", ORDERS])
    told = capsys.readouterr()
    assert "u202e" in told.out
    assert told.err.count("u202e") >= 4
    assert unseen(told.out + told.err) == set()


def test_a_note_takes_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with the end of a line in it cannot pass for one of the program's own."""
    note = "note: a\ntracecore: error: all is lost"
    monkeypatch.setattr(cli, "_run", lambda _: logging.getLogger("scenes").warning(note) or 0)
    cli.main(["scene", "list"])
    assert capsys.readouterr().err == "tracecore: note: a\\ntracecore: error: all is lost\n"


# The viewer


@pytest.fixture
def server() -> Iterator[ViewerServer]:
    made = ViewerServer(LivePicture())
    made.start()
    yield made
    made.close()


def status_of(server: ViewerServer, method: str, path: str, *headers: tuple[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_viewer_answers_its_own_page_alone(server: ViewerServer) -> None:
    own, token = ("Host", f"127.0.0.1:{server.server_port}"), server.token
    assert status_of(server, "GET", f"/{token}/", own) == 200
    for headers in (
        (),
        (("Host", "evil.example"),),
        (("Host", f"127.0.0.1.evil.example:{server.server_port}"),),
        (own, ("Origin", "null")),
        (own, ("Origin", f"https://127.0.0.1:{server.server_port}")),
        (own, ("Origin", f"http://127.0.0.1:{server.server_port}.evil.example")),
    ):
        assert status_of(server, "GET", f"/{token}/", *headers) == 403
    for path in (f"/{token.lower()}/", f"/%00{token}/", f"/x/../{token}/", f"/{token}%2f", f"?{token}/"):
        assert status_of(server, "GET", path, own) == 403
    for path in ("../../etc/passwd", "%2e%2e/page.html", "page.html", "picture/../events", "picture?layer=../../x"):
        assert status_of(server, "GET", f"/{token}/{path}", own) == 404
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT"):
        assert status_of(server, method, f"/{token}/", own) == 501


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
