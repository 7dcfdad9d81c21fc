"""This module bends meshes of a glTF file: by weights of morph targets, then by the joints of a skin.

Khronos Group: glTF 2.0 Specification (2021). What a skin moves stands where its joints have it, wherever its node is.
"""

from dataclasses import dataclass, replace

import numpy as np

from scenes.document import BentMesh
from scenes.gltf.accessors import Accessors, Wholes
from scenes.gltf.nodes import GltfNodes
from scenes.gltf.primitives import Primitive
from scenes.gltf.values import Item
from scenes.meshes.geometry import normal_matrices, unit
from scenes.model import Doubles, Mesh
from scenes.motion.tracks import VectorTrack

Target = tuple[Doubles, Doubles | None]


@dataclass(frozen=True, eq=False)
class Skin:
    """Holds joints, their inverse matrices (n, 4, 4) in the pose in which the mesh was made, and their influences.

    influences: indices of joints (nv, k), and their weights.
    """

    nodes: GltfNodes
    joints: list[int]
    inverses: Doubles
    influences: tuple[Wholes, Doubles]

    @property
    def is_moving(self) -> bool:
        """Returns whether a joint moves."""
        return any(self.nodes.is_moving(joint) for joint in self.joints)

    def matrices_at(self, time: float) -> Doubles:
        """Returns the map of each vertex at a time, (nv, 4, 4)."""
        known: dict[int, Doubles] = {}
        places = np.array([self.nodes.world_at(joint, time, known) for joint in self.joints])
        maps = places @ self.inverses
        joints, weights = self.influences
        return sum(
            (weights[:, k, None, None] * maps[joints[:, k]] for k in range(joints.shape[1])),
            start=np.zeros((len(joints), 4, 4)),
        )


@dataclass(frozen=True, eq=False)
class Bending(BentMesh):
    """Bends a mesh whose vertices are those of a primitive.

    targets: of positions and normals, that weights are multiplied with.
    weights: (k,), or a curve of them.
    """

    targets: list[Target]
    weights: Doubles | VectorTrack
    skin: Skin | None

    @property
    def is_moving(self) -> bool:
        """Returns whether time changes anything."""
        return isinstance(self.weights, VectorTrack) or (self.skin is not None and self.skin.is_moving)

    def mesh_at(self, time: float) -> Mesh:
        weights = self.weights.at(time) if isinstance(self.weights, VectorTrack) else self.weights
        vertices, normals = self.rest.vertices, self.rest.normals
        for weight, (moves, turns) in zip(weights, self.targets, strict=True):
            vertices = vertices + weight * moves
            if normals is not None and turns is not None:
                normals = normals + weight * turns
        if self.skin is not None:
            maps = self.skin.matrices_at(time)
            vertices = np.einsum("nij,nj->ni", maps[:, :3, :3], vertices) + maps[:, :3, 3]
            normals = None if normals is None else np.einsum("nij,nj->ni", normal_matrices(maps), normals)
        return replace(self.rest, vertices=vertices, normals=None if normals is None else unit(normals))


def skin_of(item: Item, primitive: Primitive, nodes: GltfNodes) -> Skin | None:
    """Returns the skin that moves a primitive of a node, or None. Raises where a vertex refers to no joint."""
    accessors: Accessors = primitive.accessors
    skins = accessors.file.rows("skins")
    number = item.index("skin", skins, "skins")
    influences = None if number is None else primitive.influences()
    if number is None or influences is None:
        return None
    joints = skins[number].indices("joints", nodes.rows, "nodes")
    if not joints or influences[0].max(initial=0) >= len(joints) or influences[0].min(initial=0) < 0:
        reach = f"joints up to {influences[0].max(initial=0)}, but the skin has {len(joints)}"
        raise primitive.item.place.error(f"refers to {reach}")
    inverses = np.tile(np.eye(4), (len(joints), 1, 1))
    index = skins[number].index("inverseBindMatrices", accessors.rows, "accessors")
    if index is not None:
        found = accessors.floats(index, "MAT4")
        if len(found) < len(joints):
            raise skins[number].error("inverseBindMatrices", f"{len(joints)} matrices")
        inverses = found[: len(joints)].reshape(-1, 4, 4).transpose(0, 2, 1)
    return Skin(nodes, joints, inverses, influences)


def weights_of(node: Item, mesh: Item, count: int) -> Doubles:
    """Returns the weights (count,) of the morph targets of a mesh in a node, while they do not move."""
    owner = node if node.has("weights") else mesh
    return owner.numbers("weights", count, [0.0] * count)
