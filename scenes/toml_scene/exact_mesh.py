"""This module keeps meshes to the last bit, in NumPy's .npz files: an array for each field, stored without compression.

Arrays are called NAME.FIELD, where NAME is that of a mesh; or FIELD alone in a file of one mesh.
"""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scenes.document import KeyedTriangles
from scenes.errors import SceneFileError
from scenes.files.marks import write_arrays
from scenes.files.source_file import check_file, reason
from scenes.keys.place import Place
from scenes.keys.tables import MAX_NUMBER
from scenes.model import Doubles, Indices, Mesh
from scenes.toml_scene.keys import EXACT

MAX_FILE_BYTES = 1 << 32
#: Values and indices of a mesh, and how many numbers a value has.
MESH_FIELDS = (("vertices", "triangles", 3), ("normals", "normal_triangles", 3), ("uvs", "uv_triangles", 2))
KEYED_FIELDS = ("times", "positions", "normals")
#: How far from 1 the length of a unit normal may be.
UNIT_TOLERANCE = 1e-6

Arrays = dict[str, npt.NDArray[Any]]


def write_meshes(path: Path, shapes: Sequence[Mesh | KeyedTriangles]) -> None:
    """Writes shapes without their materials, under their places in the list. Raises OSError where that fails."""
    arrays: Arrays = {}
    for index, shape in enumerate(shapes):
        fields = [name for row in MESH_FIELDS for name in row[:2]] if isinstance(shape, Mesh) else KEYED_FIELDS
        own = {name: getattr(shape, name) for name in fields if getattr(shape, name) is not None}
        arrays |= {f"{index}.{name}": smallest(array) for name, array in own.items()}
    with path.open("wb") as file:
        write_arrays(file, arrays)


def smallest(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns an array of indices with as few bytes as they need, and others as they are."""
    return array.astype(np.min_scalar_type(array.max(initial=0))) if array.dtype.kind == "i" else array


def read_meshes(path: Path) -> dict[str, Arrays]:
    """Reads the arrays of each mesh of a file, by name; arrays without a name are under "". Raises SceneFileError where
    the file cannot be read."""
    check_file(path, MAX_FILE_BYTES)
    meshes: dict[str, Arrays] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            check_entries(archive.infolist(), path.stat().st_size)
            for entry in archive.infolist():
                name, _, field = entry.filename.removesuffix(".npy").rpartition(".")
                meshes.setdefault(name, {})[field] = read_array(archive, entry)
    except MemoryError as error:
        raise SceneFileError(path, None, "needs more memory than there is") from error
    except Exception as error:  # archives raise many kinds
        raise SceneFileError(path, None, f"is not a readable {EXACT} file: {reason(error)}") from error
    return meshes


def check_entries(entries: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Raises ValueError unless the entries are plain and fit into a file of so many bytes, whatever they say."""
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{entry.filename} is compressed")
    if sum(entry.file_size for entry in entries) > size:
        raise ValueError("its arrays claim to be larger than the file")


def read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Reads an array of an archive. Raises ValueError, and whatever else archives raise."""
    with archive.open(entry) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{entry.filename} is not of version 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        return np.frombuffer(file.read(), dtype).reshape(shape, order="F" if fortran else "C")


def shape_of(arrays: Mapping[str, npt.NDArray[Any]], material: int, place: Place) -> Mesh | KeyedTriangles:
    """Makes a shape of its arrays, with a material. Raises SceneFileError for what is not as `write_meshes` writes
    it."""
    if "times" in arrays:
        return keyed_of(arrays, material, place)
    fields: Arrays = {}
    for values, triangles, width in MESH_FIELDS:
        if values == "vertices" or values in arrays or triangles in arrays:
            fields[values] = numbers(arrays, values, (-1, width), place)
            fields[triangles] = indices(arrays, triangles, len(fields[values]), place)
            if len(fields[triangles]) != len(fields["triangles"]):
                counts = f"{len(fields['triangles'])}, got {len(fields[triangles])}"
                raise place.inside(triangles).error(f"expected as many as there are triangles, {counts}")
    return Mesh(material=material, **fields)


def keyed_of(arrays: Mapping[str, npt.NDArray[Any]], material: int, place: Place) -> KeyedTriangles:
    """Makes keyed triangles of their arrays."""
    times = numbers(arrays, "times", (-1,), place)
    positions = numbers(arrays, "positions", (len(times), -1, 3, 3), place)
    normals = numbers(arrays, "normals", positions.shape, place)
    lengths = np.linalg.norm(normals, axis=-1)
    if ((np.abs(lengths - 1.0) > UNIT_TOLERANCE) & (lengths != 0.0)).any():
        raise place.inside("normals").error("expected normals of length 1 or 0")
    return KeyedTriangles(times, positions, normals, material)


def named(arrays: Mapping[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...], place: Place) -> npt.NDArray[Any]:
    """Returns an array that has to be there with a shape, in which -1 stands for any length."""
    if name not in arrays:
        raise place.error(f"expected an array {name!r}, got {', '.join(arrays)[:80] or 'none'}")
    got = arrays[name].shape
    if len(got) != len(shape) or any(want not in (-1, have) for want, have in zip(shape, got, strict=True)):
        sizes = ", ".join("n" if want < 0 else str(want) for want in shape)
        raise place.inside(name).error(f"expected an array of shape ({sizes}), got {got}")
    if got[0] == 0:
        raise place.inside(name).error("expected some rows, got none")
    return arrays[name]


def numbers(arrays: Mapping[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...], place: Place) -> Doubles:
    """Returns an array of numbers as float64."""
    array = named(arrays, name, shape, place)
    if array.dtype.kind != "f":
        raise place.inside(name).error(f"expected floating point numbers, got {array.dtype}")
    if not (np.abs(array) <= MAX_NUMBER).all():
        raise place.inside(name).error(f"expected finite numbers of at most {MAX_NUMBER:g} in size")
    return array.astype(np.float64)


def indices(arrays: Mapping[str, npt.NDArray[Any]], name: str, count: int, place: Place) -> Indices:
    """Returns an (n, 3) array of indices into so many values, as int32."""
    array = named(arrays, name, (-1, 3), place)
    if array.dtype.kind not in "iu":
        raise place.inside(name).error(f"expected whole numbers, got {array.dtype}")
    if array.min() < 0 or array.max() >= count:
        message = f"indices reach from {array.min()} to {array.max()}, but there are {count} values"
        raise place.inside(name).error(message)
    return array.astype(np.int32)
