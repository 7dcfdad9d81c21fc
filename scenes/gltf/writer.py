"""This module writes GLB files through trimesh: the triangles of a scene at one time, a mesh for each material, its
cameras and lights.

Khronos Group: glTF 2.0 Specification (2021), with its extensions for glass, strong emission and lights. Surfaces are
metals, diffuse under a clear coat, or something between; glass absorbs nothing. The roughness, which glTF squares, is
that of microfacets whose highlight is as wide as Phong's (Walter, Marschner, Li, Torrance: Microfacet Models for
Refraction through Rough Surfaces, 2007; Fisher, Woo: R.E versus N.H Specular Highlights, 1994).
"""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
from PIL import Image

from scenes.document import Scene
from scenes.export.still import Group, distinct, groups, still_losses
from scenes.files.marks import WRITTEN_BY
from scenes.gltf.extensions import LIGHTS
from scenes.lights import DistantLight, PointLight, SpotLight
from scenes.materials.microfacets import BLACK, COATED, DULL, WHITE, coat_weight, metal_color, metalness
from scenes.model import Camera, Color, Light, Material, Snapshot

GLASS, INDEX, STRENGTH = "KHR_materials_transmission", "KHR_materials_ior", "KHR_materials_emissive_strength"
SPECULAR, COAT_OVER, SHEEN = "KHR_materials_specular", "KHR_materials_clearcoat", "KHR_materials_sheen"
#: What glTF calls the kinds of lights that it has.
TYPES = {"point": "point", "spot": "spot", "distant": "directional"}
#: Specular reflectance of every surface that is no metal.
COAT = 0.04
#: Cones of glTF fade over some angle, radians, and are at most half a turn wide.
LEAST_ANGLE = 1e-6
#: The nearest distance of a camera: glTF has no cameras that see from their eye on.
SMALLEST_NEAR = 1e-4
#: How far orthographic cameras see in glTF, from where they begin to see; here they have no such end.
FAR = 1e9


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


def described(made: dict[str, Any], material: Material) -> dict[str, Any]:
    """Returns a material of a header in full. made: what there is, perhaps with a texture."""
    base, metal = base_and_metal(material)
    return {
        "pbrMetallicRoughness": {
            **made.get("pbrMetallicRoughness", {}),
            "baseColorFactor": [*base, 1.0],
            "metallicFactor": metal,
            "roughnessFactor": roughness(material),
        },
        "emissiveFactor": [channel / strength(material) for channel in material.emission],
        "doubleSided": True,
        "extensions": dict(extensions(material)),
    }


def extensions(material: Material) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the extensions that say of a material what core glTF cannot."""
    if is_clear(material):
        yield GLASS, {"transmissionFactor": 1.0}
    if is_clear(material) or material.kind in COATED:
        yield INDEX, {"ior": float(material.ior) if material.ior > 0.0 else 1.0}
    if material.kind in COATED and coat_weight(material) != WHITE:
        yield SPECULAR, {"specularColorFactor": list(coat_weight(material))}
    elif not (is_clear(material) or is_shiny(material) or material.kind in COATED):
        yield SPECULAR, {"specularFactor": 0.0}
    if "coat" in material.own:
        rough = material.own.get("coat_roughness", 0.0)
        yield COAT_OVER, {"clearcoatFactor": material.own["coat"], "clearcoatRoughnessFactor": rough}
    if material.kind == "sheen":
        fibres = list(cast("Color", material.own.get("sheen", WHITE)))
        yield SHEEN, {"sheenColorFactor": fibres, "sheenRoughnessFactor": float(material.roughness)}
    if strength(material) > 1.0:
        yield STRENGTH, {"emissiveStrength": strength(material)}


def strength(material: Material) -> float:
    """Returns what emission is divided by, so that it is at most 1."""
    return max(1.0, *material.emission)


def is_clear(material: Material) -> bool:
    """Returns whether light goes through."""
    return material.kind in ("dielectric", "nff") and material.transmittance > 0.0


def is_shiny(material: Material) -> bool:
    """Returns whether a surface has specular reflectance that counts."""
    return material.kind not in ("diffuse", *COATED, *DULL) and any(material.specular)


def base_and_metal(material: Material) -> tuple[Color, float]:
    """Returns the base colour, and the share of it that shines as a metal does."""
    if is_clear(material):
        through = min(float(material.transmittance), 1.0)
        return (through, through, through), 0.0
    diffuse = BLACK if material.kind in ("mirror", "metal", "anisotropic") else material.diffuse
    if material.kind in COATED:
        return diffuse, metalness(material)
    if not is_shiny(material):
        return diffuse, 0.0
    specular = metal_color(material)
    dull = dull_share(sum(diffuse), sum(specular))
    both = [d + s - COAT * dull for d, s in zip(diffuse, specular, strict=True)]
    red, green, blue = (min(1.0, max(0.0, float(channel))) for channel in both)
    return (red, green, blue), 1.0 - dull


def dull_share(diffuse: float, specular: float) -> float:
    """Returns the share that is no metal, from sums over three channels.

    With the base b and this share q, q b is diffuse and (1 - q) b + q COAT specular: a quadratic equation without b.
    """
    both = diffuse + specular
    root = math.sqrt(max(0.0, both**2 - 4.0 * 3.0 * COAT * diffuse))
    return min(1.0, 2.0 * diffuse / (both + root))


def roughness(material: Material) -> float:
    """Returns a roughness: 0 of mirrors and clear glass, 1 of what is diffuse."""
    if material.kind in ("metal", "anisotropic", "dielectric", *COATED):
        return float(material.roughness)
    if material.kind == "mirror" or is_clear(material):
        return 0.0
    return (2.0 / (4.0 * material.exponent + 2.0)) ** 0.25 if is_shiny(material) else 1.0


def material_losses(material: Material) -> Iterator[str]:
    """Yields a line for each thing of a material that is lost."""
    if any(material.absorption):
        yield f"material {material.name!r} no longer absorbs light inside"
    if any(material.scattering):
        yield f"material {material.name!r} no longer scatters light inside"
    if material.priority:
        yield f"material {material.name!r} no longer has a priority where solids overlap"
    if material.kind in ("oren_nayar", "measured"):
        yield f"material {material.name!r} is no longer of kind {material.kind!r} but diffuse"
    if material.kind == "anisotropic":
        yield f"material {material.name!r} spreads light alike in all directions"
    if material.kind == "plastic":
        yield f"material {material.name!r} has the colour of its base, which a coat makes deeper no longer"
    if material.kind in ("metal", "anisotropic") and any(material.eta):
        yield f"material {material.name!r} keeps of its index no more than what it reflects at normal incidence"
    if material.kind == "nff" and is_clear(material):
        yield f"material {material.name!r} is clear glass alone; its other reflectances are left out"
    elif material.kind == "nff" and any(material.diffuse) and any(material.specular):
        yield f"material {material.name!r} shines as metals and coats of glTF do, not by its own numbers"


def with_view(tree: dict[str, Any], snapshot: Snapshot) -> None:
    """Adds cameras, lights and the extensions in use to a header."""
    nodes = [*camera_nodes(snapshot), *light_nodes(snapshot)]
    roots = range(len(tree["nodes"]), len(tree["nodes"]) + len(nodes))
    tree["nodes"] = [*tree["nodes"], *nodes]
    tree["scenes"][0]["nodes"] = [*tree["scenes"][0]["nodes"], *roots]
    tree["cameras"] = [lens(name, camera) for name, camera in snapshot.cameras.items()]
    used = {name for material in tree["materials"] for name in material["extensions"]}
    if lights := punctual_lights(snapshot):
        tree["extensions"] = {LIGHTS: {"lights": [lamp(light) for light in lights]}}
        used.add(LIGHTS)
    if used:
        tree["extensionsUsed"] = sorted(used)


def camera_nodes(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    """Yields a node for each camera, which looks along its -z."""
    for number, (name, camera) in enumerate(snapshot.cameras.items()):
        matrix = np.eye(4)
        backward = -np.array(camera.forward)
        matrix[:3] = np.column_stack([np.cross(camera.up, backward), camera.up, backward, camera.eye])
        yield {"name": name, "camera": number, "matrix": matrix.T.ravel().tolist()}


def lens(name: str, camera: Camera) -> dict[str, Any]:
    """Describes what a camera sees."""
    width, height = camera.resolution
    if camera.height is not None:
        half = 0.5 * camera.height
        parallel = {"xmag": half * width / height, "ymag": half, "znear": camera.near, "zfar": camera.near + FAR}
        return {"name": name, "type": "orthographic", "orthographic": parallel}
    perspective = {
        "yfov": math.radians(camera.vertical_fov),
        "aspectRatio": width / height,
        "znear": max(camera.near, SMALLEST_NEAR),
    }
    return {"name": name, "type": "perspective", "perspective": perspective}


def lens_losses(snapshot: Snapshot) -> Iterator[str]:
    """Yields a line for each thing of the cameras that is lost."""
    for name, camera in snapshot.cameras.items():
        if camera.aperture > 0.0:
            yield f"camera {name!r} is a pinhole; its lens of radius {camera.aperture:g} is left out"


def punctual_lights(snapshot: Snapshot) -> list[Light]:
    """Returns the lights that glTF has words for."""
    return [light for light in snapshot.lights if light.kind in TYPES]


def light_nodes(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    """Yields a node for each light, which shines along its -z."""
    for number, light in enumerate(punctual_lights(snapshot)):
        node: dict[str, Any] = {"extensions": {LIGHTS: {"light": number}}}
        if isinstance(light, PointLight | SpotLight):
            node["translation"] = list(light.position)
        if isinstance(light, SpotLight | DistantLight):
            node["rotation"] = turn_to(light.direction)
        yield node


def turn_to(direction: tuple[float, float, float]) -> list[float]:
    """Returns the quaternion (x, y, z, w) that turns -z to a unit direction, by the shorter way."""
    x, y, z = direction
    if z > 1.0 - 1e-12:
        return [0.0, 1.0, 0.0, 0.0]
    turn = np.array([y, -x, 0.0, 1.0 - z])
    return (turn / np.linalg.norm(turn)).tolist()


def lamp(light: Light) -> dict[str, Any]:
    """Describes a light, with its colour at most 1."""
    intensity = max(*light.strength, 1e-30)
    color = [channel / intensity for channel in light.strength]
    made: dict[str, Any] = {"type": TYPES[light.kind], "intensity": intensity, "color": color}
    return made | {"spot": cone(light)} if isinstance(light, SpotLight) else made


def cone(light: SpotLight) -> dict[str, float]:
    """Returns the angles of a spot in radians."""
    outer = min(max(math.radians(light.outer_angle), 2.0 * LEAST_ANGLE), 0.5 * math.pi)
    return {"innerConeAngle": min(math.radians(light.inner_angle), outer - LEAST_ANGLE), "outerConeAngle": outer}


def light_losses(snapshot: Snapshot) -> Iterator[str]:
    """Yields a line for each thing of the lights that is lost."""
    for kind, count in Counter(light.kind for light in snapshot.lights if light.kind not in TYPES).items():
        yield f"{kind} lights left out: {count}"
    for light in snapshot.lights:
        if isinstance(light, DistantLight) and light.angular_radius > 0.0:
            yield f"a distant light has no disc any more, which was {light.angular_radius:g} degrees in radius"
        if isinstance(light, SpotLight):
            yield f"a spot fades from {light.inner_angle:g} to {light.outer_angle:g} degrees as those of glTF do"
