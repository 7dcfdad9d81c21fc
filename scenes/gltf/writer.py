"""This module writes GLB files through trimesh: the triangles of a scene at one time, a mesh for each material, its
cameras and lights."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from scenes.document import Scene
from scenes.export.still import Group, distinct, groups, still_losses
from scenes.files.marks import WRITTEN_BY
from scenes.gltf.written_header import described, lens_losses, light_losses, material_losses, with_view
from scenes.model import Snapshot


def write_glb(scene: Scene, path: Path, time: float) -> tuple[str, ...]:
    """Writes the file; returns what it cannot say."""
    snapshot = scene.at(time)
    of_materials = groups(snapshot)
    path.write_bytes(glb_bytes(snapshot, of_materials))
    lost = [line for group in of_materials for line in material_losses(group.material)]
    lost += light_losses(snapshot)
    lost += lens_losses(snapshot)
    return (*still_losses(scene, snapshot), "resolutions of cameras left out, but for their aspect ratios", *lost)


def glb_bytes(snapshot: Snapshot, of_materials: list[Group]) -> bytes:
    """Returns the bytes of the file, its meshes in the order of the groups."""
    import trimesh  # only those who write meshes wait for it

    model: Any = trimesh.Scene()
    for group in of_materials:
        model.add_geometry(trimesh_of(group), node_name=group.name, geom_name=group.name)
    surfaces = {group.name: group.material for group in of_materials}

    def completed(tree: dict[str, Any]) -> None:
        """Adds what trimesh rounds or leaves out."""
        tree["materials"] = [{**made, **described(made, surfaces[made["name"]])} for made in tree["materials"]]
        with_view(tree, snapshot)
        tree["asset"]["generator"] = WRITTEN_BY

    data: bytes = model.export(file_type="glb", unitize_normals=False, tree_postprocessor=completed)
    return data


def trimesh_of(group: Group) -> Any:
    """Returns the triangles of one material as a mesh, in which corners of the same position, normal and texture
    coordinates are one vertex."""
    import trimesh

    snapshot, uvs = group.snapshot, group.uvs
    columns = [snapshot.positions[group.triangles], snapshot.normals[group.triangles]]
    if uvs is not None:
        columns.append(uvs)
    vertices, corners = distinct(np.concatenate(columns, axis=-1).reshape(-1, 6 if uvs is None else 8))
    upward = None if uvs is None else np.stack([vertices[:, 6], 1.0 - vertices[:, 7].astype(np.float64)], axis=-1)
    texture = group.material.texture
    picture = Image.fromarray(snapshot.textures[texture].pixels) if texture >= 0 else None
    parts: Any = trimesh.visual
    return trimesh.Trimesh(
        vertices=vertices[:, :3],
        faces=corners.reshape(-1, 3),
        vertex_normals=vertices[:, 3:6],
        visual=parts.TextureVisuals(
            uv=upward, material=parts.material.PBRMaterial(name=group.name, baseColorTexture=picture)
        ),
        process=False,
    )
