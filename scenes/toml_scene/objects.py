"""This module makes the objects of a scene file: what each is, and where it stands."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from scenes.document import Document, Origin, part_of, triangle_count
from scenes.files.source_file import MAX_PARTS
from scenes.keys.place import Place, quoted
from scenes.model import Doubles
from scenes.motion.transforms import IDENTITY, Transform
from scenes.toml_scene.mesh_files import MeshFiles, ObjectPart
from scenes.toml_scene.placing import AxisFrame, GroupTree, matrix_of
from scenes.toml_scene.shapes import BUILDERS

#: Places of an object, at most.
MAX_PLACES = 1_000_000


class Objects:
    """Turns objects into parts of a document."""

    def __init__(self, document: Document, hierarchy: GroupTree, frame: AxisFrame, place: Place) -> None:
        """Starts without objects.

        document: with all materials of the scene file.
        place: of the list of objects.
        """
        self.document, self.hierarchy, self.place = document, hierarchy, place
        self.materials = {material.name: index for index, material in enumerate(document.materials)}
        self.names: dict[str, int] = {}
        self.files = MeshFiles(document, frame)
        self._pieces: dict[int, list[ObjectPart]] = {}

    def add_all(self, objects: list[dict[str, Any]]) -> None:
        """Takes in the objects of a file."""
        for index, values in enumerate(objects):
            name = values["name"]
            if name in self.names:
                message = f"object[{self.names[name]}] has the name {name!r} already"
                raise self.place.item(index).inside("name").error(message)
            if name is not None:
                self.names[name] = index
        for index in range(len(objects)):
            self.add(self.pieces_of(objects, index), objects[index], self.place.item(index))

    def add(self, pieces: list[ObjectPart], values: dict[str, Any], place: Place) -> None:
        """Takes in the parts of one object, in all of its places."""
        shifts = shifts_of(values, place)
        count = 1 if shifts is None else len(shifts)
        if len(self.document.parts) + len(pieces) * count > MAX_PARTS:
            raise place.error(f"over {MAX_PARTS} meshes in their places")
        origin = Origin(place.path)
        for transform in self.transforms_of(values, shifts, place):
            for piece in pieces:
                inside = transform if piece.matrix is None else transform.inner(matrix=piece.matrix)
                self.document.parts.append(part_of(piece.shape, inside, origin, piece.material))

    def transforms_of(self, values: dict[str, Any], shifts: Doubles | None, place: Place) -> Iterator[Transform]:
        """Yields the transform of an object in each of its places: its fixed map, and inside of that its track."""
        outer = self.hierarchy.transform(values["parent"], place)
        matrix, track = matrix_of(values, place), values["track"]
        matrices: list[Doubles | None] | Doubles = [matrix]
        if shifts is not None:
            matrices = np.tile(IDENTITY, (len(shifts), 1, 1))
            matrices[:, :3, 3] = shifts
            matrices = matrices if matrix is None else matrices @ matrix
        for own in matrices:
            transform = outer if own is None else outer.inner(matrix=own)
            yield transform if track is None else transform.inner(track=track)

    def pieces_of(self, objects: list[dict[str, Any]], index: int) -> list[ObjectPart]:
        """Makes the pieces of an object."""
        if index not in self._pieces:
            values, place = objects[index], self.place.item(index)
            material = self.material(values["material"], place.inside("material"))
            if "instance_of" in values:
                pieces = self.instance(objects, values["instance_of"], place.inside("instance_of"))
                if material is not None:
                    pieces = [replace(piece, material=material) for piece in pieces]
            elif "file" in values:
                pieces = self.files.pieces(values, material, place)
            else:
                pieces = [self.shape(values, place)]
            self._pieces[index] = pieces
        return self._pieces[index]

    def instance(self, objects: list[dict[str, Any]], name: str, place: Place) -> list[ObjectPart]:
        """Returns the pieces of the object that another is an instance of."""
        if name not in self.names:
            raise place.unknown("object", name, self.names)
        if "instance_of" in objects[self.names[name]]:
            raise place.error(f"{quoted(name)} is an instance itself; name the object that it is one of")
        return self.pieces_of(objects, self.names[name])

    def material(self, name: str | None, place: Place) -> int | None:
        """Returns the index of a material, or None where there is no name."""
        if name is None:
            return None
        if name not in self.materials:
            raise place.unknown("material", name, self.materials)
        return self.materials[name]

    def shape(self, values: dict[str, Any], place: Place) -> ObjectPart:
        """Makes the triangles of a shape."""
        material = self.materials[values["material"]]
        if values["shape"] == "keyed":
            from scenes.toml_scene.keyed import keyed_of  # not where nothing moves

            return ObjectPart(keyed_of(values, material, self.files, place))
        with np.errstate(all="ignore"):  # what overflows is not finite, and found when it is placed
            made = BUILDERS[values["shape"]](values, material, place)
        self.files.count(triangle_count(part_of(made).shape), place)
        return ObjectPart(made)


def shifts_of(values: dict[str, Any], place: Place) -> Doubles | None:
    """Returns the shifts (n, 3) to the places of an object, or None if it has one place."""
    at, grid = values["at"], values["grid"]
    if at is not None and grid is not None:
        raise place.inside("grid").error("expected no grid beside at")
    if at is not None:
        return np.array(at, np.float64).reshape(-1, 3)
    if grid is None:
        return None
    counts, steps = grid["counts"], np.array(grid["steps"])
    if counts[0] * counts[1] * counts[2] > MAX_PLACES:
        raise place.inside("grid").inside("counts").error(f"expected at most {MAX_PLACES} places in all")
    return np.indices(counts).reshape(3, -1).T * steps
