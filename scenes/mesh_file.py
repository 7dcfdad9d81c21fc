"""OBJ, PLY, STL, GLB and glTF files, through trimesh (Dawson-Haggerty et al.: trimesh, 2019).

Triangles stay as many as the file has, those without area too. Normals are the file's, or else the geometric ones.
Surfaces are diffuse, with colour, texture and emission of the file's materials. Reflectances above 1 become 1, so that
no surface gives back more light than it gets; emission may exceed it. A surface without a material, or whose MTL
file or material in it is missing, is of one plain grey; one whose picture is missing has its colour alone. Colours of
vertices and faces are ignored. Cameras and lights of a file are not read: the scene is seen from a three-quarter view
and lit from beside the camera. Text is UTF-8 or else Latin-1.
"""

import io
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from scenes.default_view import SKY, default_camera, default_light
from scenes.document import Document, Origin, Part, PointSource
from scenes.errors import SceneFileError
from scenes.geometry import MAX_COORDINATE, corner_arrays
from scenes.mesh_claims import END_HEADER, check_gltf, check_ply, check_stl, is_stl_text, obj_triangles
from scenes.model import Color, Doubles, Material, Mesh, Scene, Texture
from scenes.source_file import as_utf8, read_bytes
from scenes.stage import DEFAULT_CAMERA, scene_of
from scenes.texture_file import image_texture

MAX_FILE_BYTES = 1 << 30
MAX_TRIANGLES = 20_000_000
MAX_PIXELS = 1 << 26
MAX_QUOTE = 40
#: Radiance reaches so far, so that float32 can square it.
MAX_EMISSION = 1e9
PICTURE_FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TGA", "WEBP")
#: Given to trimesh's log, which without a handler shows tracebacks of what it can do without.
QUIET = logging.NullHandler()
PLAIN = Material(name="plain", diffuse=(0.6, 0.6, 0.6))


@dataclass(eq=False)
class MeshModel:
    """The meshes of a file in world space, with what they refer to."""

    meshes: list[Mesh]
    materials: list[Material]
    textures: list[Texture]


def read_mesh_file(path: Path) -> Scene:
    """The scene of a mesh file. Raises SceneFileError when it cannot be read, holds no triangles or no sound ones."""
    model = read_model(path)
    positions = np.concatenate([mesh.vertices[mesh.triangles] for mesh in model.meshes]).astype(np.float32)
    camera = default_camera(positions)
    light = default_light(positions, camera)
    document = Document(
        parts=[Part(mesh, origin=Origin(path)) for mesh in model.meshes],
        lights=[PointSource(np.array(light.position), light.intensity)],
        materials=model.materials,
        textures=model.textures,
        cameras={DEFAULT_CAMERA: camera},
        background=SKY,
    )
    return scene_of(path.stem, document, str(path))


def read_model(path: Path) -> MeshModel:
    """The meshes of a file."""
    data = read_bytes(path, MAX_FILE_BYTES)
    expected = check_claims(path, data)
    model = MeshModel([], [], [])
    total = 0
    try:
        with np.errstate(all="ignore"):  # what overflows is not finite, and found later
            for matrix, geometry in placed_geometry(load_scene(path, data)):
                total += len(geometry.faces)
                if total > MAX_TRIANGLES:
                    raise SceneFileError(path, None, f"over {MAX_TRIANGLES} triangles")
                add_geometry(path, model, geometry, matrix)
    except SceneFileError:
        raise
    except MemoryError as error:
        raise SceneFileError(path, None, "needs more memory than there is") from error
    except Exception as error:  # loaders raise all kinds on bad files, in words about themselves
        raise SceneFileError(path, None, f"is not a readable {path.suffix[1:].upper()} file") from error
    if total == 0:
        raise SceneFileError(path, None, "there are no triangles")
    if expected is not None and total != expected:
        raise SceneFileError(path, None, f"of {expected} triangles only {total} could be read")
    return model


def check_claims(path: Path, data: bytes) -> int | None:
    """Checks what a file says of itself; how many triangles it has where that is known."""
    suffix = path.suffix.lower()
    if suffix == ".obj":
        return obj_triangles(path, data)
    if suffix == ".ply":
        check_ply(path, data)
    elif suffix == ".stl":
        check_stl(path, data)
    elif suffix in (".glb", ".gltf"):
        check_gltf(path, data)
    return None


def with_clean_text(path: Path, data: bytes) -> bytes:
    """The bytes of a mesh file with what is text in them as UTF-8."""
    suffix = path.suffix.lower()
    if suffix == ".obj" or (suffix == ".stl" and is_stl_text(data)):
        return as_utf8(data)
    if suffix == ".ply" and (header := END_HEADER.search(data)):
        return as_utf8(data[: header.end()]) + data[header.end() :]
    return data


class CleanTextResolver:
    """Finds the files that a mesh file refers to, for trimesh, which knows no text but UTF-8."""

    def __init__(self, path: Path, files: Any) -> None:
        self.path, self.files = path, files

    def get(self, name: str) -> bytes:
        """The bytes of a file in the folder of the mesh file; those of an MTL file as UTF-8."""
        try:
            data: bytes = self.files.get(name)
        except (OSError, ValueError) as error:
            raise SceneFileError(self.path, None, f"refers to {name!r}, which is not in its folder") from error
        return as_utf8(data) if name.strip().lower().endswith(".mtl") else data

    __getitem__ = get


def load_scene(path: Path, data: bytes) -> Any:
    """A trimesh scene or mesh."""
    import trimesh  # only those who read meshes wait for it

    logging.getLogger("trimesh").addHandler(QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # NumPy warns where text that should be numbers is not, and returns what it has.
        warnings.filterwarnings("error", message=".*could not be read to its end.*")
        resolver: Any = CleanTextResolver(path, trimesh.resolvers.FilePathResolver(str(path.resolve())))
        file = io.BytesIO(with_clean_text(path, data))
        return trimesh.load(file, file_type=path.suffix.lower()[1:], resolver=resolver, process=False)


def placed_geometry(loaded: Any) -> Iterator[tuple[Doubles, Any]]:
    """Each use of a triangle mesh with the (4, 4) matrix that places it."""
    if hasattr(loaded, "faces"):
        yield np.eye(4), loaded
    elif hasattr(loaded, "graph"):
        for node in loaded.graph.nodes_geometry:
            matrix, name = loaded.graph[node]
            if hasattr(loaded.geometry[name], "faces"):
                yield np.asarray(matrix, dtype=np.float64), loaded.geometry[name]


def add_geometry(path: Path, model: MeshModel, geometry: Any, matrix: Doubles) -> None:
    """Adds one trimesh mesh under a matrix."""
    vertices, triangles = np.asarray(geometry.vertices, dtype=np.float64), np.asarray(geometry.faces)
    if len(triangles) == 0:
        return
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        message = f"indices reach from {triangles.min()} to {triangles.max()}, but there are {len(vertices)} vertices"
        raise SceneFileError(path, None, message)
    check_numbers(path, "position", vertices @ matrix[:3, :3].T + matrix[:3, 3])
    triangles = triangles.astype(np.int32)
    # The cache holds normals that came with the file; asking for the property would compute them.
    normals = geometry.vertex_normals if "vertex_normals" in geometry._cache else None
    if normals is not None:
        normals = np.asarray(normals, dtype=np.float64)
        check_numbers(path, "normal", normals)
    uvs = texture_coordinates(path, geometry, len(vertices))
    mesh = Mesh(
        vertices=vertices,
        triangles=triangles,
        normals=normals,
        normal_triangles=None if normals is None else triangles,
        uvs=uvs,
        uv_triangles=None if uvs is None else triangles,
        material=add_material(path, model, geometry, uvs is not None),
    )
    model.meshes.append(in_world(mesh, matrix))


def in_world(mesh: Mesh, matrix: Doubles) -> Mesh:
    """A mesh whose normals and vertices share their indices, under a matrix."""
    positions, normals = corner_arrays(mesh, matrix)
    corners = np.arange(positions.size // 3, dtype=np.int32).reshape(-1, 3)
    return replace(
        mesh,
        vertices=positions.reshape(-1, 3),
        triangles=corners,
        normals=normals.reshape(-1, 3),
        normal_triangles=corners,
    )


def check_numbers(path: Path, kind: str, values: Doubles) -> None:
    """Raises unless all numbers are finite and of a size that float32 can square."""
    bad = ~(np.abs(values) <= MAX_COORDINATE).all(axis=1)
    if bad.any():
        index = int(np.argmax(bad))
        message = f"{kind} {index} is {values[index].tolist()}; expected finite numbers of at most {MAX_COORDINATE:g}"
        raise SceneFileError(path, None, message)


def texture_coordinates(path: Path, geometry: Any, count: int) -> Doubles | None:
    """(count, 2) float64 with v downward, or None. trimesh has v upward for all formats."""
    uvs = getattr(geometry.visual, "uv", None)
    if uvs is None or np.shape(uvs) != (count, 2):
        return None
    uvs = np.array(uvs, dtype=np.float64)
    check_numbers(path, "texture coordinate", uvs)
    uvs[:, 1] = 1.0 - uvs[:, 1]
    return uvs


def add_material(path: Path, model: MeshModel, geometry: Any, textured: bool) -> int:
    """Index of the material of a trimesh mesh, added with its texture if it is new."""
    source = getattr(geometry.visual, "material", None)
    material = PLAIN if source is None else material_of(path, source)
    image = picture_of(source) if textured else None
    if image is not None:
        material = replace(material, texture=add_texture(path, model, image, material.name))
    if material not in model.materials:
        model.materials.append(material)
    return model.materials.index(material)


def material_of(path: Path, source: Any) -> Material:
    """The diffuse colour, at most 1, and the emission of a trimesh material: of an MTL file, or of glTF."""
    values = getattr(source, "kwargs", {})
    red, green, blue = color(path, values.get("kd", getattr(source, "baseColorFactor", None)), PLAIN.diffuse)
    emission = color(path, values.get("ke", getattr(source, "emissiveFactor", None)), (0.0, 0.0, 0.0))
    if max(emission) > MAX_EMISSION:
        raise SceneFileError(path, None, f"expected an emission of at most {MAX_EMISSION:g}, got {max(emission):g}")
    return Material(
        name=str(getattr(source, "name", None) or PLAIN.name),
        diffuse=(min(red, 1.0), min(green, 1.0), min(blue, 1.0)),
        emission=emission,
    )


def color(path: Path, value: Any, default: Color) -> Color:
    """A colour of three or more numbers, or a grey of fewer, bytes over 255; the default if there is none."""
    if value is None:
        return default
    bytes_given = getattr(value, "dtype", None) == np.uint8
    try:
        channels = np.atleast_1d(np.array(value, dtype=np.float64)) / (255.0 if bytes_given else 1.0)
    except (ValueError, TypeError) as error:
        raise SceneFileError(path, None, f"expected the numbers of a colour, got {str(value)[:MAX_QUOTE]}") from error
    red, green, blue = (channels[:3] if len(channels) >= 3 else np.repeat(channels[:1], 3)).tolist()
    if not np.isfinite([red, green, blue]).all():
        raise SceneFileError(path, None, f"expected finite colours, got {red:g}, {green:g}, {blue:g}")
    if min(red, green, blue) < 0.0:
        raise SceneFileError(path, None, f"expected colours not below 0, got {red:g}, {green:g}, {blue:g}")
    return (red, green, blue)


def picture_of(source: Any) -> Image.Image | None:
    """The picture that colours a trimesh material. Of no format are those that trimesh makes up where none was read."""
    image = getattr(source, "image", None)
    image = getattr(source, "baseColorTexture", None) if image is None else image
    return image if isinstance(image, Image.Image) and image.format is not None else None


def add_texture(path: Path, model: MeshModel, image: Image.Image, material: str) -> int:
    """Index of a picture among the textures, added if it is new."""
    name = str(image.info.get("file_path") or f"{material} ({image.format})")
    if image.format not in PICTURE_FORMATS or image.width * image.height > MAX_PIXELS:
        size = f"{image.width} x {image.height} {image.format}"
        raise SceneFileError(path, None, f"texture {name!r} is {size}; expected {', '.join(PICTURE_FORMATS)}")
    texture = image_texture(name, image)
    for index, other in enumerate(model.textures):
        if other.name == name and np.array_equal(other.pixels, texture.pixels):
            return index
    model.textures.append(texture)
    return len(model.textures) - 1
