"""This module reads the arrays of a glTF file, checked against what its buffers hold before any memory is taken."""

from typing import Any

import numpy as np
import numpy.typing as npt

from scenes.gltf.container import GltfFile
from scenes.gltf.values import Item
from scenes.model import Doubles

Array = npt.NDArray[Any]
Wholes = npt.NDArray[np.int64]

#: Types of components by their numbers.
COMPONENTS: dict[int, np.dtype[Any]] = {
    5120: np.dtype("<i1"),
    5121: np.dtype("<u1"),
    5122: np.dtype("<i2"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
    5130: np.dtype("<f8"),
}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
#: Bytes of arrays that a file may declare without storing them.
MAX_UNBACKED_BYTES = 1 << 26
#: How often the arrays of a file may use its bytes.
MAX_REUSE = 4


class Accessors:
    """Reads the accessors of a file, each once."""

    def __init__(self, file: GltfFile) -> None:
        self.file = file
        self.rows = file.rows("accessors")
        self._arrays: dict[int, Array] = {}
        self._floats: dict[int, Doubles] = {}
        stored = sum(item.whole("byteLength") for item in file.rows("buffers"))
        self._budget = MAX_REUSE * min(stored, 1 << 32) + MAX_UNBACKED_BYTES

    def floats(self, index: int, *types: str, has_nan: bool = False) -> Doubles:
        """Returns numbers, (count, n) float64; whole numbers that are normalised are shares of their largest.

        has_nan: some may be NaN; else that is an error.
        """
        array = self.array(index, types)
        if index not in self._floats:
            self._floats[index] = self._as_floats(array, self.rows[index])
        values = self._floats[index]
        if not (np.isfinite(values) | (np.isnan(values) if has_nan else False)).all():
            raise self.rows[index].place.error("holds numbers that are not finite")
        return values

    def _as_floats(self, array: Array, item: Item) -> Doubles:
        """Returns the numbers that the components of an accessor stand for."""
        values: Doubles = array.astype(np.float64)
        if array.dtype.kind != "f":
            return np.maximum(values / np.iinfo(array.dtype).max, -1.0) if item.flag("normalized") else values
        return values

    def wholes(self, index: int, *types: str) -> Wholes:
        """Returns whole numbers, (count, n) int64."""
        array = self.array(index, types)
        if array.dtype.kind == "f":
            raise self.rows[index].error("componentType", "a type of whole numbers")
        return array.astype(np.int64)

    def restart(self, index: int) -> int:
        """Returns the index of an accessor that stands for no vertex: where a strip or fan ends, and another begins."""
        return int(np.iinfo(self.array(index, ("SCALAR",)).dtype).max)

    def count(self, index: int) -> int:
        """Returns how many items an accessor has."""
        return self.rows[index].whole("count")

    def array(self, index: int, types: tuple[str, ...]) -> Array:
        """Returns the components of an accessor, (count, n), as they are stored."""
        item = self.rows[index]
        if item.text("type") not in types:
            raise item.error("type", " or ".join(types))
        if index not in self._arrays:
            self._arrays[index] = self._read(item)
        return self._arrays[index]

    def _read(self, item: Item) -> Array:
        """Reads an accessor, with the items that it replaces if it is sparse."""
        kind, width, count = self._dtype(item), WIDTHS[item.text("type")], item.whole("count")
        self._budget -= count * width * kind.itemsize
        if self._budget < 0:
            raise item.place.error(f"claims {count} items: the arrays are far more than the file gives")
        array = self._strided(item, kind, width, count)
        if item.has("sparse"):
            sparse = item.child("sparse")
            number = sparse.whole("count")
            if number > count:
                raise sparse.error("count", f"at most {count}")
            at, values = sparse.child("indices"), sparse.child("values")
            rows = self._strided(at, self._dtype(at), 1, number)[:, 0].astype(np.int64)
            if number and (self._dtype(at).kind == "f" or rows.max() >= count or rows.min() < 0):
                raise at.place.error(f"expected indices of {count} items")
            array = array.copy()
            array[rows] = self._strided(values, kind, width, number)
        return array

    def _dtype(self, item: Item) -> np.dtype[Any]:
        """Returns the type of the components of an accessor."""
        number = item.whole("componentType")
        if number not in COMPONENTS:
            raise item.error("componentType", f"one of {', '.join(map(str, COMPONENTS))}")
        return COMPONENTS[number]

    def _strided(self, item: Item, kind: np.dtype[Any], width: int, count: int) -> Array:
        """Returns a copy of the items of a buffer view, or zeros where there is none."""
        index = item.index("bufferView", self.file.rows("bufferViews"), "buffer views")
        if index is None:
            if count * width * kind.itemsize > MAX_UNBACKED_BYTES:
                raise item.place.error(f"claims {count} items that are not stored: far more than the file gives")
            return np.zeros((count, width), kind)
        view, start = self.file.view(index), item.whole("byteOffset", 0)
        size = width * kind.itemsize
        described = self.file.rows("bufferViews")[index]
        stride = described.whole("byteStride", size)
        if stride < size:
            raise described.error("byteStride", f"at least the {size} bytes of an item")
        if count and start + (count - 1) * stride + size > len(view):
            raise item.place.error(f"claims {count} items, more than its buffer view holds")
        if count == 0:
            return np.zeros((0, width), kind)
        return np.ndarray((count, width), kind, view, start, (stride, kind.itemsize)).copy()
