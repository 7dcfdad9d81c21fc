"""This module reads the triangles of a glTF primitive and what its vertices have, from accessors or by Draco."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from scenes.gltf.accessors import Accessors, Wholes
from scenes.gltf.extensions import DRACO
from scenes.gltf.values import Item
from scenes.meshes.geometry import bad_numbers
from scenes.meshes.mesh_validation import without_nan
from scenes.model import Doubles, Indices

#: What the numbers of `mode` stand for.
MODES = ("points", "lines", "line loops", "line strips", "triangles", "strips", "fans")
TRIANGLES, STRIP = 4, 5
#: Vertices that the morph targets of a primitive move, each counted for each target.
MAX_MOVES = 1 << 28
#: Attributes that are read; sets of the same kind are counted from 0.
READ_ATTRIBUTES = ("POSITION", "NORMAL", "TEXCOORD", "COLOR_0", "JOINTS", "WEIGHTS")


@dataclass(eq=False)
class Primitive:
    """Reads one primitive of a mesh. decoded: arrays that stand for those of accessors, by the names of attributes."""

    item: Item
    accessors: Accessors
    decoded: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def positions(self) -> Doubles:
        """Returns the positions, (n, 3). Raises where they are missing, or too far out for float32."""
        self.decode()
        positions = self.floats("POSITION", "VEC3")
        if positions is None:
            raise self.item.child("attributes").error("POSITION", "positions")
        check_numbers(self.item, "position", positions)
        return positions

    @property
    def mode(self) -> str:
        """Returns what the primitive consists of."""
        mode = self.item.whole("mode", TRIANGLES)
        if mode >= len(MODES):
            raise self.item.error("mode", f"a number from 0 to {len(MODES) - 1}")
        return MODES[mode]

    @cached_property
    def triangles(self) -> Indices:
        """Returns the triangles, (n, 3) int32, of a list, a strip or a fan."""
        count = len(self.positions)
        mode = self.item.whole("mode", TRIANGLES)
        runs = [self.indices(count)] if mode == TRIANGLES or "faces" in self.decoded else self.runs(count)
        for indices in runs:
            if mode == TRIANGLES and len(indices) % 3:
                raise self.item.place.error(f"expected three corners of each triangle, got {len(indices)} in all")
            if len(indices) and indices.max() >= count:
                reach = f"{indices.min()} to {indices.max()}"
                raise self.item.place.error(f"indices reach from {reach}, but there are {count} vertices")
        if mode != TRIANGLES and "faces" not in self.decoded:
            runs = [strip(indices) if mode == STRIP else fan(indices) for indices in runs]
        return np.concatenate([indices.reshape(-1, 3) for indices in runs]).astype(np.int32)

    def runs(self, count: int) -> list[Wholes]:
        """Returns the indices of each strip or fan. count: of the vertices."""
        indices = self.indices(count)
        index = self.item.index("indices", self.accessors.rows, "accessors")
        if index is None:
            return [indices]
        ends = np.flatnonzero(indices == self.accessors.restart(index))
        first, *others = np.split(indices, ends)
        return [first, *(run[1:] for run in others)]

    def indices(self, count: int) -> Wholes:
        """Returns the indices in their order, (n,). count: of the vertices."""
        if "faces" in self.decoded:
            return np.asarray(self.decoded["faces"], np.int64).ravel()
        index = self.item.index("indices", self.accessors.rows, "accessors")
        return np.arange(count) if index is None else self.accessors.wholes(index, "SCALAR")[:, 0]

    @cached_property
    def normals(self) -> Doubles | None:
        """Returns the normals, (n, 3), or None."""
        return self.sound("NORMAL", "VEC3", "normal")

    @cached_property
    def colors(self) -> Doubles | None:
        """Returns the linear colours of the vertices, (n, 3) or with their alpha (n, 4), or None."""
        colors = self.floats("COLOR_0", "VEC3", "VEC4")
        return None if colors is None else np.clip(colors, 0.0, 1.0)

    def texture_coordinates(self, number: int) -> Doubles | None:
        """Returns a set of texture coordinates, (n, 2) with v downward, or None."""
        uvs = self.sound(f"TEXCOORD_{number}", "VEC2", "texture coordinate")
        if uvs is not None:
            check_numbers(self.item, "texture coordinate", uvs)
        return uvs

    def sound(self, name: str, kind: str, called: str) -> Doubles | None:
        """Returns an attribute as `floats` does, with zeros for those that are NaN, which is noted."""
        values = self.floats(name, kind, has_nan=True)
        file = self.accessors.file
        return None if values is None else without_nan(values, called, file.path, file.notes)

    def floats(self, name: str, *types: str, has_nan: bool = False) -> Doubles | None:
        """Returns an attribute as numbers, (n, width), or None. Raises unless there is one for each position."""
        if name in self.decoded:
            return np.asarray(self.decoded[name], np.float64)
        index = self.item.child("attributes").index(name, self.accessors.rows, "accessors")
        return None if index is None else self.checked(name, self.accessors.floats(index, *types, has_nan=has_nan))

    def wholes(self, name: str, *types: str) -> Wholes | None:
        """Returns an attribute as whole numbers, (n, width), or None."""
        if name in self.decoded:
            return np.asarray(self.decoded[name], np.int64)
        index = self.item.child("attributes").index(name, self.accessors.rows, "accessors")
        return None if index is None else self.checked(name, self.accessors.wholes(index, *types))

    def checked(self, name: str, values: Any) -> Any:
        """Returns an attribute that has as many items as there are positions."""
        if name != "POSITION" and len(values) != len(self.positions):
            message = f"expected {len(self.positions)} items, as many as positions, got {len(values)}"
            raise self.item.child("attributes").place.inside(name).error(message)
        return values

    def influences(self) -> tuple[Wholes, Doubles] | None:
        """Returns the joints that move each vertex, (n, k), and their weights, (n, k) with a sum of 1; None without."""
        joints: list[Wholes] = []
        weights: list[Doubles] = []
        while True:
            number = len(joints)
            own, shares = self.wholes(f"JOINTS_{number}", "VEC4"), self.floats(f"WEIGHTS_{number}", "VEC4")
            if own is None or shares is None:
                break
            joints.append(own)
            weights.append(np.maximum(shares, 0.0))
        if not joints:
            return None
        share = np.concatenate(weights, axis=1)
        total = share.sum(axis=1, keepdims=True)
        share[total[:, 0] == 0.0, 0] = 1.0
        return np.concatenate(joints, axis=1), share / np.where(total > 0.0, total, 1.0)

    def targets(self) -> list[tuple[Doubles, Doubles | None]]:
        """Returns of each morph target what it adds to positions and to normals, (n, 3) each."""
        found, items = [], self.item.children("targets")
        if len(items) * len(self.positions) > MAX_MOVES:
            raise self.item.place.inside("targets").error(f"its targets move over {MAX_MOVES} vertices")
        for item in items:
            target = Primitive(Item(item.place, {"attributes": item.values}), self.accessors)
            moves = target.floats_or_none("POSITION", len(self.positions))
            turns = target.floats_or_none("NORMAL", len(self.positions))
            found.append((np.broadcast_to(0.0, self.positions.shape) if moves is None else moves, turns))
        return found

    def floats_or_none(self, name: str, count: int) -> Doubles | None:
        """Returns what a morph target says of an attribute, (count, 3), or None."""
        index = self.item.child("attributes").index(name, self.accessors.rows, "accessors")
        if index is None:
            return None
        values = self.accessors.floats(index, "VEC3")
        if len(values) != count:
            raise self.item.place.inside(name).error(f"expected {count} items, as many as positions, got {len(values)}")
        return values

    def decode(self) -> None:
        """Decodes what Draco has compressed, if anything is."""
        packed = self.item.extension(DRACO)
        if packed is None or self.decoded:
            return
        file = self.accessors.file
        required = DRACO in file.root.list_of("extensionsRequired")
        view = packed.index("bufferView", file.rows("bufferViews"), "buffer views")
        if view is None:
            raise packed.error("bufferView", "a buffer view")
        try:
            import DracoPy
        except ImportError as error:
            if not required and self.has_plain_arrays():
                return
            message = "is compressed by Draco, which needs DracoPy: pip install 'tracecore[draco]'"
            raise self.item.place.error(message) from error
        try:
            mesh = DracoPy.decode(bytes(file.view(view)))
            faces = np.asarray(mesh.faces)
        except Exception as error:  # the library raises all kinds on bad data
            raise packed.place.error("expected a mesh that Draco can decode") from error
        self.decoded = {"faces": faces} | self.draco_attributes(packed, mesh)

    def has_plain_arrays(self) -> bool:
        """Returns whether the positions stand in the file beside the compressed ones."""
        index = self.item.child("attributes").index("POSITION", self.accessors.rows, "accessors")
        return index is not None and self.accessors.rows[index].has("bufferView")

    def draco_attributes(self, packed: Item, mesh: Any) -> dict[str, Any]:
        """Returns the arrays of a decoded mesh by the names of attributes; whole numbers that are normalised are
        shares of their largest."""
        found: dict[str, Any] = {}
        for name in packed.child("attributes").values:
            made = mesh.get_attribute_by_unique_id(packed.child("attributes").whole(name))
            if made is None:
                raise packed.place.error(f"expected the attribute {name}, which Draco did not find")
            values = np.asarray(made["data"]).reshape(-1, made["num_components"])
            index = self.item.child("attributes").index(name, self.accessors.rows, "accessors")
            normalized = index is not None and self.accessors.rows[index].flag("normalized")
            if normalized and values.dtype.kind in "iu":
                values = np.maximum(values / np.iinfo(values.dtype).max, -1.0)
            found[name] = values
        if len({len(values) for values in found.values()}) > 1:
            raise packed.place.error("expected as many items of each attribute")
        return found

    def note_attributes(self) -> None:
        """Notes attributes that are not read."""
        for name in self.item.child("attributes").values:
            if name == "TANGENT":
                self.accessors.file.note("TANGENT is not read: tangents are those of the texture coordinates")
            elif not name.startswith(READ_ATTRIBUTES):
                self.accessors.file.note(f"the attribute {name} is not read")


def strip(indices: Wholes) -> Wholes:
    """Returns the triangles (n, 3) of a strip, all with the winding of the first."""
    first = np.arange(max(len(indices) - 2, 0))
    odd = first % 2
    return indices[np.stack([first, first + 1 + odd, first + 2 - odd], axis=1)]


def fan(indices: Wholes) -> Wholes:
    """Returns the triangles (n, 3) of a fan about its first vertex, which is their last corner."""
    first = np.arange(max(len(indices) - 2, 0))
    return indices[np.stack([first + 1, first + 2, np.zeros_like(first)], axis=1)]


def check_numbers(item: Item, kind: str, values: Doubles) -> None:
    """Raises unless all numbers are of a size that float32 can square."""
    if wrong := bad_numbers(kind, values):
        raise item.place.error(wrong)
