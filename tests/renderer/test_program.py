"""The command line as a program: how it begins and ends, whoever reads what it prints."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from renderer import __main__, cli
from renderer.run.render_call import plan_picture
from renderer.settings.picture import Settings
from tracecore.threads import THREADS_PER_CORE, bounded_threads, usable_cores


@pytest.fixture(autouse=True)
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Puts handlers back as they were. What has hung in other tests of this process is not heeded."""
    monkeypatch.setitem(sys.modules, "tracecore.cuda.device", None)
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("before", "within"), [(signal.default_int_handler, signal.SIG_DFL), (signal.SIG_IGN, signal.SIG_IGN)]
)
def test_before_anything_is_to_be_saved_ctrl_c_ends_the_process_itself(before, within, monkeypatch):
    """A traceback is what Python's own handler would leave."""
    signal.signal(signal.SIGINT, before)
    found = []
    monkeypatch.setattr(cli, "main", lambda started: found.append(signal.getsignal(signal.SIGINT)) or 0)
    assert __main__.main() == 0
    assert found == [within]


@pytest.mark.parametrize(("has_hung", "ends"), [(True, [1]), (False, [])])
def test_where_a_kernel_hangs_the_process_ends_at_once(has_hung, ends, monkeypatch):
    """The interpreter would wait for the kernel in its end."""
    found: list[int] = []
    monkeypatch.setattr(cli, "main", lambda started: 1)
    monkeypatch.setattr(os, "_exit", found.append)
    monkeypatch.setitem(sys.modules, "tracecore.cuda.device", SimpleNamespace(has_anything_hung=lambda: has_hung))
    assert __main__.main() == 1
    assert found == ends


@pytest.mark.parametrize("is_buffered", [True, False])
def test_where_nobody_reads_it_ends_without_a_word(is_buffered: bool) -> None:
    read, write = os.pipe()
    os.close(read)
    flags = [] if is_buffered else ["-u"]
    words = [sys.executable, *flags, "-m", "renderer", "scene", "list"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment["PYTHONPATH"] = str(Path(cli.__file__).parents[1])
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, env=environment, timeout=300)
    os.close(write)
    assert (done.returncode, done.stderr) == (__main__.EXIT_UNREAD, b"")


@pytest.mark.parametrize("names", [("stdout",), ("stderr",), ("stdout", "stderr")])
def test_what_goes_to_a_closed_stream_goes_nowhere(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def tell(started: float) -> int:
        print("words", file=sys.stdout, flush=True)
        print("words", file=sys.stderr, flush=True)
        return int(sys.stdout.isatty() or sys.stderr.isatty())

    monkeypatch.setattr(cli, "main", tell)
    for name in names:
        monkeypatch.setattr(sys, name, None)
    assert __main__.main() == 0
    assert all(getattr(sys, name).name == os.devnull for name in names)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_the_status_is_that_of_the_signal(number: signal.Signals, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr("scenes.loading.load", lambda name, **_: os.kill(os.getpid(), number))
    assert cli.main(["scene", "info", "cornell"]) == status


def test_an_interrupt_amid_exec_is_handled_like_any_other(tmp_path: Path) -> None:
    """As where a dataclass is made, whose methods are texts: Python would end itself by SIGINT in the end."""
    plugin = tmp_path / "interrupted.py"
    plugin.write_text("exec('raise KeyboardInterrupt')\n")
    command = [sys.executable, "-m", "renderer", "render", "cornell", "--plugin", str(plugin)]
    environment = os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[1])}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "tracecore: interrupted\n")


def test_a_closed_terminal_that_cannot_be_told_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def close(name: str, **_) -> None:
        try:
            os.kill(os.getpid(), signal.SIGHUP)
        finally:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("scenes.loading.load", close)
    assert cli.main(["scene", "info", "cornell"]) == 129


def test_threads_are_bounded_and_a_note_says_so(caplog: pytest.LogCaptureFixture) -> None:
    most = THREADS_PER_CORE * usable_cores()
    assert [bounded_threads(threads) for threads in (None, 1, most)] == [None, 1, most]
    assert caplog.messages == []
    assert bounded_threads(most + 1) == most
    assert f"{most + 1} threads are too many" in caplog.messages[0]
    assert plan_picture("cornell", Settings(threads=1024, device="cpu")).settings.threads == min(most, 1024)
