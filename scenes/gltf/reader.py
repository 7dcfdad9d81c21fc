"""This module makes a document of a glTF file: its meshes where its nodes have them, materials, cameras, lights and
animations."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from scenes.document import Document, KeyedTriangles, Origin, Part, Shape, rest_of, triangle_count
from scenes.errors import SceneFileError
from scenes.files.source_file import MAX_PARTS, MAX_TRIANGLES
from scenes.gltf.accessors import Accessors
from scenes.gltf.animation import Animations, read_animations
from scenes.gltf.container import GltfFile
from scenes.gltf.deformation import Bending, Skin, skin_of, weights_of
from scenes.gltf.extensions import INSTANCING
from scenes.gltf.nodes import GltfNodes, PlacedNode, inside, track_name
from scenes.gltf.primitive_materials import GltfDressing
from scenes.gltf.primitives import Primitive
from scenes.gltf.values import Item
from scenes.gltf.views import add_camera, camera_track, light_of
from scenes.meshes.geometry import mirrors, rewound
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import IDENTITY, WORLD, Transform, composed

#: The most keys of a camera that moves.
MAX_CAMERA_KEYS = 100_000


def read_document(path: Path, document: Document, is_still: bool) -> None:
    """Reads a glTF or GLB file into a document that is empty.

    is_still: animations are left out, and noted.

    Raises SceneFileError where it cannot be read.
    """
    try:
        GltfReader(GltfFile(path, document.notes), document, is_still).read()
    except MemoryError as error:
        raise SceneFileError(path, None, "needs more memory than there is") from error


#: Attributes that say where the instances of a node are.
PLACING = ("TRANSLATION", "ROTATION", "SCALE")


@dataclass(eq=False)
class GltfReader:
    """Reads one file into a document. Meshes that several nodes use are made once."""

    file: GltfFile
    document: Document
    is_still: bool
    meshes: dict[tuple[int, int, bool], Mesh] = field(default_factory=dict)
    triangles: int = 0
    vertices: int = 0

    @cached_property
    def accessors(self) -> Accessors:
        """Reads the arrays of the file."""
        return Accessors(self.file)

    @cached_property
    def animations(self) -> Animations:
        """Holds what moves in the document."""
        if not self.is_still:
            return read_animations(self.accessors)
        if self.file.rows("animations"):
            self.file.note("animations are not played inside another scene")
        return Animations()

    @cached_property
    def nodes(self) -> GltfNodes:
        """Knows the nodes of the file."""
        return GltfNodes(self.file, self.animations.tracks)

    @cached_property
    def dressing(self) -> GltfDressing:
        """Gives meshes their materials."""
        return GltfDressing(self.file, self.document)

    def read(self) -> None:
        self.document.animation = self.animations.span
        self.document.tracks = {track_name(index): track for index, track in self.animations.tracks.items()}
        nodes = list(self.nodes.placed())
        if sum(instance_count(node.item, self.accessors) for node in nodes) > MAX_PARTS:
            raise SceneFileError(self.file.path, None, f"over {MAX_PARTS} meshes")
        for node in nodes:
            self.add_meshes(node)
            self.add_view(node)

    def add_view(self, node: PlacedNode) -> None:
        """Adds the camera and the light of a node."""
        light = light_of(self.file, node)
        if light is not None:
            self.document.lights.append(replace(light, group=node.item.text("name")))
        camera = add_camera(self.file, self.document, node)
        if camera is not None and node.outer is not WORLD:
            span = self.document.animation
            times = [span.time_of(frame) for frame in range(min(span.frames, MAX_CAMERA_KEYS))]
            self.document.tracks[camera] = camera_track(node, camera, self.nodes, times)

    def add_meshes(self, node: PlacedNode) -> None:
        """Adds the triangles of the mesh of a node, in all of its places."""
        number = node.item.index("mesh", self.file.rows("meshes"), "meshes")
        if number is None:
            return
        places = instance_matrices(node.item, self.accessors)
        for index, item in enumerate(self.file.rows("meshes")[number].children("primitives")):
            primitive = Primitive(item, self.accessors)
            if primitive.mode not in ("triangles", "strips", "fans"):
                self.file.note(f"{primitive.mode} are left out: surfaces alone are seen")
                continue
            skin = skin_of(node.item, primitive, self.nodes)
            if skin is not None:
                mesh = self.mesh((number, index, bool(mirrors(skin.matrices_at(0.0)[0]))), primitive)
                self.add_part(self.bent(node, number, primitive, mesh, skin), WORLD)
                continue
            for mirrored, matrix in zip(mirrors(node.matrix @ places), node.fixed @ places, strict=True):
                mesh = self.mesh((number, index, bool(mirrored)), primitive)
                self.add_part(self.bent(node, number, primitive, mesh, None), inside(node.outer, matrix))

    def add_part(self, shape: Shape, transform: Transform) -> None:
        """Adds a shape in a place, if it has triangles. Raises where there are too many."""
        if triangle_count(shape) == 0:
            return
        self.triangles += triangle_count(shape)
        self.vertices += len(rest_of(shape).vertices) if not isinstance(shape, KeyedTriangles) else 0
        if self.triangles > MAX_TRIANGLES or len(self.document.parts) >= MAX_PARTS:
            raise SceneFileError(self.file.path, None, f"over {MAX_TRIANGLES} triangles or {MAX_PARTS} meshes")
        if self.vertices > 3 * MAX_TRIANGLES:
            raise SceneFileError(self.file.path, None, f"over {3 * MAX_TRIANGLES} vertices")
        self.document.parts.append(Part(shape, transform, Origin(self.file.path)))

    def mesh(self, key: tuple[int, int, bool], primitive: Primitive) -> Mesh:
        """Returns the mesh of a primitive, always the same one.

        key: index of the mesh, index of the primitive, and whether its place mirrors it, so that its other winding is
            in front.
        """
        if key not in self.meshes:
            number, index, mirrored = key
            plain = self.mesh((number, index, False), primitive) if mirrored else self.dressing.mesh(primitive)
            self.meshes[key] = rewound(plain) if mirrored else plain
        return self.meshes[key]

    def bent(self, node: PlacedNode, number: int, primitive: Primitive, mesh: Mesh, skin: Skin | None) -> Shape:
        """Returns the mesh of a primitive as morph targets and a skin bend it; itself where nothing does."""
        targets = primitive.targets()
        if not targets and skin is None:
            return mesh
        weights = self.animations.weights.get(node.index)
        still = weights_of(node.item, self.file.rows("meshes")[number], len(targets))
        if weights is not None and weights.values.shape[1] != len(targets):
            width = weights.values.shape[1]
            raise primitive.item.place.error(f"expected {width} morph targets, as many as the weights that move them")
        bending = Bending(mesh, targets, still if weights is None else weights, skin)
        return bending if bending.is_moving else bending.mesh_at(0.0)


def instance_count(item: Item, accessors: Accessors) -> int:
    """Returns how many instances of its own a node has, 1 where it has none."""
    instancing = item.extension(INSTANCING)
    if instancing is None:
        return 1
    attributes = instancing.child("attributes")
    found = [attributes.index(name, accessors.rows, "accessors") for name in PLACING]
    counts = {accessors.count(index) for index in found if index is not None}
    if len(counts) != 1:
        raise attributes.place.error("expected TRANSLATION, ROTATION or SCALE, as many of each")
    return counts.pop()


def instance_matrices(item: Item, accessors: Accessors) -> Doubles:
    """Returns the places of the instances of a node, (n, 4, 4) inside it; a single one where it has none of its own."""
    instancing, count = item.extension(INSTANCING), instance_count(item, accessors)
    if instancing is None:
        return IDENTITY[None]
    attributes = instancing.child("attributes")
    found = {name: attributes.index(name, accessors.rows, "accessors") for name in PLACING}
    for name in attributes.values.keys() - found.keys():
        accessors.file.note(f"the attribute {name} of instances is not read")
    moves = array_or(found["TRANSLATION"], accessors, (0.0, 0.0, 0.0), count)
    turns = array_or(found["ROTATION"], accessors, (0.0, 0.0, 0.0, 1.0), count)[:, [3, 0, 1, 2]]
    scales = array_or(found["SCALE"], accessors, (1.0, 1.0, 1.0), count)
    lengths = np.linalg.norm(turns, axis=1, keepdims=True)
    turns = turns / np.where(lengths > 0.0, lengths, 1.0)
    return composed(scales, turns, moves)


def array_or(index: int | None, accessors: Accessors, default: tuple[float, ...], count: int) -> Doubles:
    """Returns the rows of an accessor, or so many of a default."""
    if index is None:
        return np.tile(np.array(default), (count, 1))
    return accessors.floats(index, f"VEC{len(default)}")
