"""The cache of machine code: a folder that nobody else can write to, and files that may be damaged."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from test_units import RUN, Place

from tracecore.compilation import private_folder as cache
from tracecore.compilation.private_folder import PrivateFolder, UnsafeFolderError, cache_folder

users_only = pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows keeps users' folders apart by itself")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder that nobody else can write to, in one that others can read."""
    tmp_path.chmod(0o755)
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    return folder


def is_private(folder: Path) -> bool:
    try:
        PrivateFolder(folder).close()
    except UnsafeFolderError:
        return False
    return True


@users_only
@pytest.mark.parametrize(
    ("mode", "parent", "right"),
    [(0o700, 0o755, True), (0o755, 0o755, True), (0o770, 0o755, False), (0o707, 0o755, False), (0o700, 0o777, False)]
    + [(0o700, 0o775, False), (0o700, 0o2775, False), (0o700, 0o1777, True), (0o1777, 0o755, False)],
)
def test_a_folder_is_private_where_others_can_neither_write_nor_replace_it(own, mode, parent, right):
    own.chmod(mode)
    own.parent.chmod(parent)
    assert is_private(own) == right
    own.parent.chmod(0o755)
    (own / "below").mkdir(mode=0o700)
    own.chmod(parent)
    assert is_private(own / "below") == right or mode != 0o700


@users_only
def test_folders_are_made_for_nobody_else(own: Path) -> None:
    before = os.umask(0)
    try:
        with PrivateFolder(own / "a" / "b") as folder:
            folder.write_checked("code", b"")
    finally:
        os.umask(before)
    assert [stat.S_IMODE((own / name).stat().st_mode) for name in ("a", "a/b", "a/b/code")] == [0o700, 0o700, 0o600]


@users_only
def test_a_folder_put_in_its_place_is_not_looked_into(own: Path) -> None:
    """Whatever is at the path by then."""
    with PrivateFolder(own / "code") as folder:
        folder.write_checked("right", b"right")
        (own / "code").rename(own / "away")
        (own / "code").mkdir()
        (own / "code" / "planted").write_bytes((own / "away" / "right").read_bytes())
        assert folder.names() == ["right"]
        assert folder.read_checked("right") == b"right"
        assert not folder.has("planted")
        folder.write_checked("more", b"more")
        assert sorted(path.name for path in (own / "away").iterdir()) == ["more", "right"]


@users_only
def test_links_and_files_that_others_write_to_are_not_read(own: Path) -> None:
    with PrivateFolder(own / "code") as folder:
        folder.write_checked("code", b"right")
        (own / "code" / "link").symlink_to(own / "code" / "code")
        with pytest.raises(OSError, match="symbolic link"):
            folder.read_checked("link")
        foreign = own / "foreign"
        foreign.write_bytes(b"precious")
        (own / "code" / "out").symlink_to(foreign)
        folder.write_checked("out", b"code")
        assert folder.read_checked("out") == b"code"
        assert foreign.read_bytes() == b"precious"
        (own / "code" / "code").chmod(0o660)
        with pytest.raises(PermissionError, match="no file of yours alone"):
            folder.read_checked("code")
        assert os.listdir(f"/proc/self/fd/{folder._number}") == folder.names()


@users_only
def test_no_code_is_loaded_from_where_others_write(own, monkeypatch, caplog):
    """First the folder asked for, then the one for temporary files, then one that nobody knows of."""
    caplog.set_level("INFO", "tracecore")
    places = own / "asked", own / "temporary"
    monkeypatch.setattr(cache, "cache_root", lambda: places[0])
    monkeypatch.setattr(cache, "_temporary_root", lambda: places[1])
    for expected in places:
        folder = cache_folder.__wrapped__("tracecore")
        assert folder.path.parent == expected
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        folder.path.chmod(0o777)
    last = cache_folder.__wrapped__("tracecore")
    assert last.path.parent not in places
    assert is_private(last.path)
    assert [record.message.partition(" (")[0] for record in caplog.records] == [
        f"note: others may write to {place / last_name}" for place in places for last_name in [folder.path.name]
    ]


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def take_away(path: Path) -> None:
    path.unlink()


def replace_by_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_suffix(".else")))


@pytest.mark.parametrize("damages", [(empty, cut, change, take_away), (replace_by_link,) * 4])
def test_damaged_code_is_made_anew(damages: Sequence[Callable[[Path], None]], tmp_path: Path) -> None:
    place = Place(tmp_path, processes=1)
    place.run(RUN)
    files = sorted(tmp_path.rglob("called.*.nbc"))
    for damage, path in zip(damages, files, strict=True):
        damage(path)
    again, then = (json.loads(place.run(RUN)) for _ in range(2))
    assert (again["result"], len(again["compiled"])) == (7.0, 4)
    assert then == {"result": 7.0, "compiled": []}


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


@users_only
def test_a_full_disk_keeps_no_code_and_ends_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path, processes=1)
    told = json.loads(place.run(FULL + RUN))
    assert (told["result"], len(told["compiled"])) == (7.0, 4)
    assert not list(tmp_path.rglob("*.nbc"))


#: Prints of each file how long machine code, what it was made of, and its source with types are.
KEPT = """
import json, pathlib, pickle, called
files = [pickle.loads(path.read_bytes())[1] for path in pathlib.Path("FOLDER").rglob("called.*.nbc")]
print(json.dumps([[*map(len, kept[0][2]), len(kept[6])] for kept in files]))
"""


@pytest.mark.parametrize(
    ("file", "content", "is_another"),
    [
        ("inner/loop.py", b"from numba import njit\n# another\n", True),
        ("inner/table.npy", b"another", True),
        ("inner/new.py", b"import numpy\n", True),
        ("inner/words.py", b"# another\n", False),
        ("inner/readme.md", b"numpy", False),
    ],
)
def test_code_is_kept_for_these_sources_and_tables(file: str, content: bytes, is_another: bool, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name, first in (("loop.py", b"from numba import njit\n"), ("words.py", b"# words\n"), ("table.npy", b"table")):
        (tmp_path / "inner" / name).write_bytes(first)
    before = cache.folder_hash.__wrapped__(tmp_path)
    assert cache.folder_hash.__wrapped__(tmp_path) == before
    (tmp_path / file).write_bytes(content)
    assert (cache.folder_hash.__wrapped__(tmp_path) != before) == is_another


def test_sources_that_have_moved_are_others(tmp_path: Path) -> None:
    source = tmp_path / "loop.py"
    source.write_bytes(b"import numpy\n")
    before = cache.folder_hash.__wrapped__(tmp_path)
    source.rename(tmp_path / "moved.py")
    assert cache.folder_hash.__wrapped__(tmp_path) != before


def test_machine_code_alone_is_kept(tmp_path: Path) -> None:
    """Beside it is what says which functions there are, and nothing that only callers would need that merge it."""
    place = Place(tmp_path, processes=1)
    place.run(RUN)
    kept = json.loads(place.run(KEPT.replace("FOLDER", str(tmp_path))))
    assert len(kept) == 4
    assert max(made_of for _, made_of, _ in kept) < min(code for code, _, _ in kept)
    assert {annotation for *_, annotation in kept} == {0}


WITHOUT_SCIPY = """
import sys
from tracecore.compilation.cached import compiled
compiled(lambda x: x + 1)(1)
print([name for name in sys.modules if name.startswith("scipy.")], "numba.np.arraymath" in sys.modules)
from scipy.linalg import cython_blas
"""


def test_no_code_has_scipy_imported_which_others_may_import_later(tmp_path: Path) -> None:
    """Numba looks for it where it is installed; here is one that says so."""
    there = tmp_path / "scipy"
    (there / "linalg").mkdir(parents=True)
    (there / "__init__.py").write_text('__version__ = "1.16.0"')
    for module in ("__init__.py", "cython_blas.py"):
        (there / "linalg" / module).touch()
    child = subprocess.run(
        [sys.executable, "-c", WITHOUT_SCIPY],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "TRACECORE_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (child.stdout, child.stderr) == ("[] True\n", "")


def test_all_that_machine_code_is_made_of_counts() -> None:
    """Sources of loops, of parts that are merged into these, and of constants that they name."""
    root, marks = Path(cache.__file__).parents[2], (b"@inlined", b"@compiled", b"@called", b"@unit", b"(NamedTuple)")
    for package in ("renderer", "shaders", "tracecore"):
        for path in (root / package).rglob("*.py"):
            source = path.read_bytes()
            if any(mark in source for mark in marks):
                assert any(word in source for word in cache.COMPILED_WORDS), path
