"""Keeps trees on disk, so that triangles of which there was a tree before need none to be built.

A tree is found by a checksum of the triangles, of how it is built, and of the sources that build it. What is read is
checked: a file that is damaged, cut off or of something else is as if it were not there. The folder is private
(`tracecore.compilation.private_folder`). Files appear there whole, by a new name, so that processes need no locks.
"""

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.bvh.wide import leaf_ranges
from tracecore.compilation.private_folder import UNFINISHED, PrivateFolder, private_folder, source_hash
from tracecore.environment import number
from tracecore.rays import Floats

log = logging.getLogger(__name__)

#: Fewer triangles are not kept: what a start saves is then the time to load the code that builds, a tenth of a second.
LEAST_TRIANGLES = 10_000

#: Bytes of all trees on disk at most, unless `TRACECORE_TREE_BYTES` says otherwise.
MOST_BYTES = 4_000_000_000

#: Names of trees end so. What is still written and older than an hour will not be finished.
SUFFIX, HOUR_SECONDS = ".tree", 3600.0

DIGEST_BYTES = 32

#: digest: SHA-256 of all that follows. key: of the triangles and of how the tree is built. The arrays come after it.
HEADER = np.dtype(
    [
        ("digest", "u1", DIGEST_BYTES),
        ("key", "u1", DIGEST_BYTES),
        ("nodes", "<i8"),
        ("triangles", "<i8"),
        ("triangle_block", "<i8"),
        ("build_seconds", "<f8"),
    ]
)

#: Arrays of a `BinaryTree` with an element for each node, and the one with an element for each triangle.
NODE_ARRAYS = {
    "lower": np.dtype(("<f4", (3,))),
    "upper": np.dtype(("<f4", (3,))),
    "child": np.dtype("<i4"),
    "first": np.dtype("<i4"),
    "count": np.dtype("<i4"),
}
ORDER = np.dtype("<u4")


class _DamagedError(ValueError):
    """Says what is wrong with a file."""


def kept(triangles: Floats, settings: str, build: Callable[[], BinaryTree]) -> BinaryTree:
    """Returns the tree that was kept of triangles, or else builds it and keeps it for the next time.

    triangles: (t, 3, 3) float32.
    settings: all that decides the tree but for the triangles and the sources, in words.
    build: builds it.
    All trees on disk take no more bytes than `TRACECORE_TREE_BYTES` says; with 0 none are kept or read. Raises
    `VariableError` where that is not a number of bytes.
    """
    start = time.perf_counter()
    limit = int(number("TRACECORE_TREE_BYTES", MOST_BYTES))
    folder = private_folder("trees") if limit > 0 and len(triangles) >= LEAST_TRIANGLES else None
    if folder is None:
        return build()
    with folder:
        key = _key(triangles, settings)
        if tree := _read(folder, key, len(triangles)):
            return replace(tree, read_seconds=time.perf_counter() - start)
        tree = build()
        with suppress(OSError):  # a full disk: the next run builds again
            _write(folder, key, tree)
            _make_room(folder, limit)
    return tree


def _key(triangles: Floats, settings: str) -> str:
    """Returns the name of a tree: SHA-256 of all that decides it, in hexadecimal digits."""
    digest = hashlib.sha256(source_hash("tracecore").encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    digest.update(f"\n{settings}\n{len(triangles)}\n".encode())
    digest.update(np.ascontiguousarray(triangles, "<f4").data)
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------------------------- the file


def _read(folder: PrivateFolder, key: str, triangles: int) -> BinaryTree | None:
    """Returns the tree of so many triangles in the file of a key, or None where there is none that can be used."""
    name = key + SUFFIX
    try:
        with folder.open(name) as file:
            tree = _checked(file, bytes.fromhex(key), triangles)
        folder.touch(name)  # the least recently used go first
    except FileNotFoundError:
        return None
    except (OSError, _DamagedError) as error:
        log.warning("note: the tree in %s cannot be used and is built anew: %s", folder.path / name, error)
        return None
    return tree


def _checked(file: BinaryIO, key: bytes, triangles: int) -> BinaryTree:
    """Returns the tree in a file. Raises `_DamagedError` where it is not the one of a key."""
    header = _records(file, HEADER, 1)
    nodes, node_bytes = int(header["nodes"][0]), sum(dtype.itemsize for dtype in NODE_ARRAYS.values())
    size = HEADER.itemsize + nodes * node_bytes + triangles * ORDER.itemsize
    if header["key"].tobytes() != key or header["triangles"][0] != triangles:
        raise _DamagedError("it is of other triangles")
    if os.fstat(file.fileno()).st_size != size:
        raise _DamagedError("it has been cut off, or goes on")
    arrays: dict[str, Any] = {name: _records(file, dtype, nodes) for name, dtype in NODE_ARRAYS.items()}
    tree = BinaryTree(
        **arrays,
        order=_records(file, ORDER, triangles),
        triangle_block=int(header["triangle_block"][0]),
        build_seconds=float(header["build_seconds"][0]),
    )
    if _digest(header, tree) != header["digest"].tobytes():
        raise _DamagedError("its checksum is wrong")
    if not _is_sound(tree):
        raise _DamagedError("it holds no tree")
    return tree


def _records(file: BinaryIO, dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
    """Reads so many records. Raises `_DamagedError` where there are fewer."""
    records: npt.NDArray[Any] = np.fromfile(file, dtype, count) if count > 0 else np.zeros(0, dtype)
    if len(records) < count:
        raise _DamagedError("it has been cut off")
    return records


def _is_sound(tree: BinaryTree) -> bool:
    """Returns whether every walk through a tree ends, and stays within its arrays."""
    inner, is_leaf = np.flatnonzero(tree.child), tree.is_leaf
    left = tree.child[inner]
    if not (left > inner).all() or not np.array_equal(np.sort(left), np.arange(1, len(tree.child), 2)):
        return False  # each node but the root has one parent, which comes before it
    if (tree.count[is_leaf] <= 0).any() or tree.count.sum(dtype=np.int64) != len(tree.order):
        return False
    if tree.count[inner].any() or (tree.order >= len(tree.order)).any():
        return False
    below = leaf_ranges(tree)
    is_whole = below.first[0] == 0 and np.array_equal(below.first[left] + below.count[left], below.first[left + 1])
    return bool(is_whole) and _depth(tree.child) <= MAX_DEPTH


def _depth(child: npt.NDArray[np.int32]) -> int:
    """Returns how many levels lie below the root. child: of nodes that each have one parent at most."""
    depth, left = 0, child[:1]
    while len(left := left[left > 0]) > 0:
        depth, left = depth + 1, np.concatenate([child[left], child[left + 1]])
    return depth


def _write(folder: PrivateFolder, key: str, tree: BinaryTree) -> None:
    """Writes a tree, in full or not at all."""
    header = np.zeros(1, HEADER)
    header["key"] = np.frombuffer(bytes.fromhex(key), np.uint8)
    header["nodes"], header["triangles"] = len(tree.child), len(tree.order)
    header["triangle_block"], header["build_seconds"] = tree.triangle_block, tree.build_seconds
    header["digest"] = np.frombuffer(_digest(header, tree), np.uint8)
    folder.write(key + SUFFIX, (header.tobytes(), *(array.data for array in _arrays(tree))))


def _digest(header: npt.NDArray[np.void], tree: BinaryTree) -> bytes:
    digest = hashlib.sha256(header.tobytes()[DIGEST_BYTES:])
    for array in _arrays(tree):
        digest.update(array.data)
    return digest.digest()


def _arrays(tree: BinaryTree) -> Iterator[npt.NDArray[Any]]:
    """Yields the arrays of a tree in the order of the file."""
    for name, dtype in NODE_ARRAYS.items():
        yield np.ascontiguousarray(getattr(tree, name), dtype.base)
    yield np.ascontiguousarray(tree.order, ORDER)


def _make_room(folder: PrivateFolder, limit: int) -> None:
    """Removes the least recently used trees, so that those that stay take at most so many bytes, and what nobody will
    finish. Other processes may do so at the same time.
    """
    found = []
    for name in folder.names():
        with suppress(OSError):
            told = folder.stat(name)
            if name.endswith(SUFFIX):
                found.append((told.st_mtime_ns, told.st_size, name))
            elif name.startswith(UNFINISHED) and time.time() - told.st_mtime > HOUR_SECONDS:
                folder.remove(name)
    total = 0
    for _, size, name in sorted(found, reverse=True):
        total += size
        if total > limit:
            with suppress(OSError):
                folder.remove(name)
