"""Trees that are kept on disk: the same tree as built, whatever has become of the file, and never more than a limit."""

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_builder import soup
from test_reinsertion import same

import tracecore
from tracecore.bvh import tree_cache
from tracecore.bvh.builders import build_by
from tracecore.bvh.refit import refit
from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.compilation import private_folder
from tracecore.compilation.private_folder import PrivateFolder
from tracecore.errors import VariableError
from tracecore.rays import Floats

TRIANGLES = soup(200)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of trees, in which trees of few triangles are kept too."""
    monkeypatch.setenv("TRACECORE_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("TRACECORE_TREE_BYTES", "1e6")
    monkeypatch.setattr(tree_cache, "LEAST_TRIANGLES", 1)
    return tmp_path / "own" / "trees"


def tree_of(triangles: Floats = TRIANGLES) -> BinaryTree:
    return build_by(None, triangles, max_leaf=1)


def write(path: Path, tree: BinaryTree) -> None:
    with PrivateFolder(path.parent) as folder:
        tree_cache._write(folder, path.stem, tree)


def kept_files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)


def test_a_tree_that_was_built_is_read(folder: Path) -> None:
    built, read = tree_of(), tree_of(TRIANGLES.copy())
    assert [built.is_cached, read.is_cached] == [False, True]
    assert same(built, read)
    assert (read.build_seconds, read.triangle_block) == (built.build_seconds, 1)
    assert built.seconds == built.build_seconds > 0.0
    assert read.seconds == read.read_seconds != read.build_seconds
    assert len(kept_files(folder)) == 1
    assert not refit(read, TRIANGLES).is_cached


def test_whatever_decides_the_tree_decides_its_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = TRIANGLES.copy()
    other.view(np.uint32)[-1, -1, -1] ^= 1
    trees = [tree_of(), tree_of(other), tree_of(TRIANGLES[:-1]), build_by("binned", TRIANGLES, max_leaf=1)]
    trees += [build_by(None, TRIANGLES, max_leaf=2), build_by(None, TRIANGLES, max_leaf=2, triangle_block=2)]
    monkeypatch.setattr(tree_cache, "source_hash", lambda _: "other sources")
    trees.append(tree_of())
    assert not any(tree.is_cached for tree in trees)
    assert len(kept_files(folder)) == len(trees)
    assert trees[5].triangle_block == build_by(None, TRIANGLES, max_leaf=2, triangle_block=2).triangle_block == 2


def test_a_limit_of_nothing_turns_it_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree_of()
    monkeypatch.setenv("TRACECORE_TREE_BYTES", "0")
    assert not tree_of().is_cached
    assert not tree_of(TRIANGLES[:9]).is_cached
    assert len(kept_files(folder)) == 1


@pytest.mark.parametrize("text", ["-1", "many", "nan", "inf", "4GB"])
def test_a_limit_that_is_no_number_of_bytes_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACECORE_TREE_BYTES", text)
    with pytest.raises(VariableError, match=f"TRACECORE_TREE_BYTES must be a number of bytes.*got {text!r}"):
        tracecore.open_tracer(TRIANGLES, device="cpu")


def test_the_least_recently_used_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = soup(200, seed=2), soup(200, seed=3), soup(200, seed=4)
    for age, triangles in enumerate((first, second)):
        tree_of(triangles)
        os.utime(kept_files(folder)[-1], (1000 + age, 1000 + age))
    assert tree_of(first).is_cached
    size = kept_files(folder)[0].stat().st_size
    monkeypatch.setenv("TRACECORE_TREE_BYTES", str(2 * size))
    tree_of(third)
    assert sum(path.stat().st_size for path in kept_files(folder)) == 2 * size
    assert [tree_of(triangles).is_cached for triangles in (first, third, second)] == [True, True, False]
    monkeypatch.setenv("TRACECORE_TREE_BYTES", str(size - 1))
    tree_of(soup(200, seed=5))
    assert not kept_files(folder)


def test_what_nobody_will_finish_goes(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o700)
    left, under_way = folder / ".part-left", folder / ".part-under-way"
    left.touch()
    under_way.touch()
    os.utime(left, (1000, 1000))
    tree_of()
    assert [left.exists(), under_way.exists()] == [False, True]


def change(at: float) -> Callable[[Path], None]:
    """Changes a bit at a share of the length."""

    def changed(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(at * (len(data) - 1))] ^= 1
        path.write_bytes(bytes(data))

    return changed


def cut_by(size: int) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(path.read_bytes()[:-size])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"1")


def count_more(path: Path) -> None:
    """Says that there are 2^60 nodes."""
    header = np.fromfile(path, tree_cache.HEADER, 1)
    header["nodes"] = 1 << 60
    path.write_bytes(header.tobytes() + path.read_bytes()[header.nbytes :])


def be_of_others(path: Path) -> None:
    other = tree_cache._key(TRIANGLES[::-1], "x") + tree_cache.SUFFIX
    write(path.with_name(other), build_by("binned", TRIANGLES[::-1], max_leaf=1))
    path.with_name(other).replace(path)


@pytest.mark.parametrize(
    "damage",
    [empty, lengthen, count_more, be_of_others]
    + [cut_by(size) for size in (1, 4 * len(TRIANGLES), 20_000)]
    + [change(share) for share in (0.0, 0.001, 0.002, 0.003, 0.004, 0.3, 0.5, 0.7, 0.9, 1.0)],
)
def test_a_damaged_file_is_built_anew_with_a_note(damage, folder, caplog):
    built = tree_of()
    (path,) = kept_files(folder)
    damage(path)
    with caplog.at_level(logging.INFO):
        again, then = tree_of(), tree_of()
    assert [again.is_cached, then.is_cached] == [False, True]
    assert same(built, again)
    assert same(built, then)
    (record,) = caplog.records
    assert record.getMessage().startswith(f"note: the tree in {path} cannot be used and is built anew: ")


def in_place(array: np.ndarray, index: int, value: int) -> np.ndarray:
    changed = array.copy()
    changed[index] = value
    return changed


def by_place(tree: BinaryTree) -> np.ndarray:
    """The leaves in the order of their triangles."""
    leaves = np.flatnonzero(tree.is_leaf)
    return leaves[np.argsort(tree.first[leaves])]


def chain(tree: BinaryTree) -> BinaryTree:
    """A tree one level too deep, of a triangle in each leaf."""
    levels = MAX_DEPTH + 1
    child = np.zeros(2 * levels + 1, np.int32)
    child[0 : 2 * levels : 2] = np.arange(1, 2 * levels, 2)
    is_leaf = child == 0
    first = np.where(is_leaf, np.cumsum(is_leaf) - 1, 0).astype(np.int32)
    box = np.zeros((len(child), 3), np.float32)
    order = np.arange(levels + 1, dtype=np.uint32)
    return replace(tree, lower=box, upper=box, child=child, first=first, count=is_leaf.astype(np.int32), order=order)


def parent_last(tree: BinaryTree) -> BinaryTree:
    """The same tree, in which one pair of leaves has changed places with the pair that their parent is of."""
    parent = next(node for node in np.flatnonzero(tree.child)[1:] if tree.is_leaf[tree.child[node] :][:2].all())
    pair, leaves = parent - 1 + parent % 2, tree.child[parent]
    number = np.arange(len(tree.child))
    number[[leaves, leaves + 1, pair, pair + 1]] = number[[pair, pair + 1, leaves, leaves + 1]]
    columns = {name: getattr(tree, name)[number] for name in tree_cache.NODE_ARRAYS}
    columns["child"] = np.where(columns["child"] > 0, number[columns["child"]], 0).astype(np.int32)
    return replace(tree, **columns)


def with_leaves(tree: BinaryTree, *changes: tuple[int, int, int]) -> BinaryTree:
    """A tree of which some leaves, by their places, begin earlier or later, and have more triangles or fewer."""
    first, count = tree.first.copy(), tree.count.copy()
    for place, later, more in changes:
        first[by_place(tree)[place]] += later
        count[by_place(tree)[place]] += more
    return replace(tree, first=first, count=count)


def with_inner_counts(tree: BinaryTree) -> BinaryTree:
    count = tree.count.copy()
    count[np.flatnonzero(tree.child)[:2]] = 1, -1
    return replace(tree, count=count)


#: Files whose checksum is right and that hold what no builder makes, each wrong in one thing.
WRONG: dict[str, Callable[[BinaryTree], BinaryTree]] = {
    "a loop": lambda tree: replace(tree, child=in_place(tree.child, np.flatnonzero(tree.child)[-1], 1)),
    "a child before its parent": parent_last,
    "a child beyond the end": lambda tree: replace(
        tree, child=in_place(tree.child, np.flatnonzero(tree.child)[-1], len(tree.child) - 1)
    ),
    "a child below 0": lambda tree: replace(tree, child=in_place(tree.child, 0, -5)),
    "a triangle beyond the end": lambda tree: replace(tree, order=in_place(tree.order, 7, len(tree.order))),
    "leaves one later": lambda tree: replace(tree, first=tree.first + np.int32(1)),
    "leaves one earlier": lambda tree: replace(tree, first=tree.first - np.int32(1)),
    "leaves in no order": lambda tree: with_leaves(tree, (3, 2, 0), (5, -2, 0)),
    "a leaf beyond the end": lambda tree: with_leaves(tree, (-1, 0, 1)),
    "a leaf of less than nothing": lambda tree: with_leaves(tree, (3, 0, -2), (4, -2, 2)),
    "triangles in an inner node": with_inner_counts,
    "a tree too deep": chain,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_of_no_tree_is_not_used(name: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    triangles = soup(MAX_DEPTH + 2)
    built = tree_of(triangles)
    wrong = WRONG[name](built)
    assert len(wrong.order) == len(triangles)
    write(kept_files(folder)[0], wrong)
    again = tree_of(triangles)
    assert not again.is_cached
    assert same(again, built)
    assert "it holds no tree" in caplog.text


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows keeps users' folders apart by itself")
def test_no_tree_is_read_from_where_others_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_folder, "_temporary_root", lambda: folder.parent)
    tree_of()
    assert tree_of().is_cached
    folder.chmod(0o777)
    assert not tree_of().is_cached


def test_without_a_folder_trees_are_built(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.parent.write_text("a file")
    monkeypatch.setattr(private_folder, "_temporary_root", lambda: folder.parent)
    assert [tree_of().is_cached for _ in range(2)] == [False, False]


def test_a_full_disk_is_no_error(folder: Path) -> None:
    resource = pytest.importorskip("resource")
    folder.mkdir(parents=True, mode=0o700)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        built, again = tree_of(), tree_of()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert same(built, again)
    assert not again.is_cached
    assert not kept_files(folder)


def test_a_disk_on_which_nothing_stays_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    assert not tree_of().is_cached
    assert not kept_files(folder)


def test_many_at_once_do_not_clash(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for one tree of three: files appear, are read and go while others do the same."""
    clouds = [soup(200, seed=seed) for seed in range(3)]
    built = [tree_of(triangles) for triangles in clouds]
    for path in kept_files(folder):
        size = path.stat().st_size
        path.unlink()
    monkeypatch.setenv("TRACECORE_TREE_BYTES", str(size))
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(lambda i: tree_of(clouds[i % 3]), range(120)))
    assert all(same(tree, built[i % 3]) for i, tree in enumerate(trees))
    assert any(tree.is_cached for tree in trees)
    left = [path.suffix for path in kept_files(folder)]  # two that make room at a time may take each other's file away
    assert left in ([], [tree_cache.SUFFIX])
