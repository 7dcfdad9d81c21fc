"""This module writes the whole animated document as AFF, with textures, and meshes that stand in several places, in
files beside it.

Numbers are written so that the same float64 is read. A material becomes the nearest that `fm` can say, a fixed
transform that is no scale, turn and shift becomes two that are. Lights of AFF do not fade with distance: their strength
is such that the reader, who knows at which distance it is meant, gives them the same intensity.
"""

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from scenes.aff.commands import CAMERA, SMALLEST_NEAR
from scenes.document import Document, KeyedTriangles, LightSource, Part, Scene, triangle_count
from scenes.export.keyed import with_keys
from scenes.export.pictures import evened, write_pictures
from scenes.export.still import map_losses
from scenes.export.text import words, write_lines
from scenes.lights import PointSource
from scenes.materials.microfacets import BLACK, by_phong, phong_losses
from scenes.model import Camera, Color, Doubles, Material, Mesh
from scenes.motion.tracks import Track
from scenes.motion.transforms import Transform, axis_and_degrees, compose, quaternion, quaternion_of
from scenes.playing.evaluator import SceneEvaluator
from scenes.views.viewing import look_at

#: All but a ten-thousandth of a surface of this shine is a mirror for programs that read NFF as this project does.
MIRROR_EXPONENT = 1e6
#: The point that a camera looks at is at one of these distances.
TARGET_DISTANCES = [2.0**power for power in range(24)]

#: A transform and the words that open one of its blocks.
Level = tuple[Transform, str]
#: Columns of a map this close to perpendicular are what rounding leaves of perpendicular ones.
PERPENDICULAR = 1e-12
#: A component of a unit axis this small is what rounding leaves of none.
NOTHING = 1e-9
#: Places after the point: those of numbers that people and programs write, and more than a float64 has.
PLACES = (6, 12, 20)


def write_aff(scene: Scene, path: Path, _time: float) -> tuple[str, ...]:
    """Writes the file and those beside it, whose names begin with its own; returns what AFF cannot say."""
    document, lost = with_keys(scene.document)
    AffWriter(document, path).write()
    return (*lost, *losses(document))


class AffWriter:
    """Writes one document; its textures are written as soon as it is made."""

    def __init__(self, document: Document, path: Path) -> None:
        self.document = document
        self.path = path
        self.stem = words([path.stem])[0]
        self.tracks = track_names(document)
        self.textures = write_pictures(path, document.textures, "PPM")
        self._keys: dict[tuple[int, int], bytes] = {}

    def write(self) -> None:
        """Writes the file of the scene, and those of the meshes that it includes."""
        for part in self.document.parts:
            shared = self.shared_file(part)
            if shared and isinstance(part.shape, Mesh) and not self.path.with_name(shared).exists():
                write_lines(self.path.with_name(shared), mesh_lines(part.shape, self.texture_of(part)))
        write_lines(self.path, self.lines())

    def lines(self) -> Iterator[str]:
        """Yields the lines of the scene's main file."""
        document = self.document
        span = document.animation
        yield f"a {numbers([span.start, span.end])} {span.frames}"
        yield f"b {numbers(document.background)}"
        yield f"am {numbers(document.ambient)}"
        for camera in list(document.cameras.values())[:1]:
            yield view_line(camera)
        for name, track in document.tracks.items():
            yield from track_lines(self.tracks[name], track)
        yield from self.nested([*self.placed_lights(), *self.placed_parts()])

    def nested(self, placed: Iterable[tuple[Transform, Iterable[str]]]) -> Iterator[str]:
        """Yields lines inside the blocks of the transforms that they stand under; neighbours share blocks."""
        chain: list[Level] = []
        for transform, lines in placed:
            wanted = self.chain(transform)
            shared = next((k for k, pair in enumerate(zip(chain, wanted, strict=False)) if pair[0] != pair[1]), None)
            shared = min(len(chain), len(wanted)) if shared is None else shared
            yield from "}" * (len(chain) - shared)
            yield from (opening for _, opening in wanted[shared:])
            yield from lines
            chain = wanted
        yield from "}" * len(chain)

    def chain(self, transform: Transform | None) -> list[Level]:
        """Returns the blocks of a transform, the outermost first."""
        found: list[Level] = []
        while transform is not None:
            found[:0] = [(transform, opening) for opening in self.openings(transform)]
            transform = transform.parent
        return found

    def openings(self, transform: Transform) -> list[str]:
        """Returns what opens the blocks of one transform. A name without keyframes moves nothing, as in the scene
        evaluator."""
        if transform.matrix is None or transform.track in self.document.tracks:
            return [f"x {self.tracks[transform.track]} {{"] if transform.track else []
        return [f"xs {numbers(level)} {{" for level in levels(transform.matrix)]

    def placed_lights(self) -> Iterator[tuple[Transform, list[str]]]:
        """Yields the lines of lights, each with the transform under which it stands."""
        for light, strength in zip(points(self.document), strengths(self.document), strict=True):
            command = f"la {self.tracks[light.track]}" if light.track else "l"
            yield light.transform, [f"{command} {numbers(light.position)} {numbers(strength)}"]

    def placed_parts(self) -> Iterator[tuple[Transform, Iterable[str]]]:
        """Yields the lines of parts, each with the transform under which it stands, and of a material where it
        changes."""
        current = ""
        for part in self.document.parts:
            if triangle_count(part.shape):
                own = self.document.materials[part.own_material]
                material = material_line(evened(own, self.document.textures))
                change = [] if material == current else [material]
                current = material
                yield part.transform, self.part_lines(part, change)

    def part_lines(self, part: Part, change: list[str]) -> Iterator[str]:
        """Yields the lines of a part, after those that change the material."""
        yield from change
        shared = self.shared_file(part)
        if shared:
            yield f"i 0 {shared}"
        elif isinstance(part.shape, Mesh):
            yield from mesh_lines(part.shape, self.texture_of(part))
        elif isinstance(part.shape, KeyedTriangles):
            yield from keyed_lines(part.shape)

    def texture_of(self, part: Part) -> str:
        """Returns the file of a part's texture, or ""."""
        texture = self.document.materials[part.own_material].texture
        return self.textures[texture] if texture >= 0 else ""

    def shared_file(self, part: Part) -> str:
        """Returns the file of a part's mesh, if others say the same, or ""."""
        return self.shared.get(self.key(part), "")

    @cached_property
    def shared(self) -> dict[bytes, str]:
        """Returns the names of files by the meshes that stand in several places."""
        uses = Counter(self.key(part) for part in self.document.parts)
        several = [key for key, count in uses.items() if key and count > 1]
        return {key: f"{self.stem}-mesh-{number}.aff" for number, key in enumerate(several, 1)}

    def key(self, part: Part) -> bytes:
        """Returns a hash that is the same for meshes of the same numbers and texture. It is empty for triangles with
        keys, which stay in place."""
        if not isinstance(part.shape, Mesh):
            return b""
        known = (id(part.shape), self.document.materials[part.own_material].texture)
        if known not in self._keys:
            self._keys[known] = digest(part.shape, self.texture_of(part))
        return self._keys[known]


def digest(mesh: Mesh, texture: str) -> bytes:
    """Returns a hash of what `mesh_lines` would write."""
    found = hashlib.blake2b(texture.encode())
    arrays = [mesh.vertices, mesh.triangles, mesh.normals, mesh.normal_triangles]
    for array in [*arrays, *((mesh.uvs, mesh.uv_triangles) if texture else ())]:
        found.update(b"none" if array is None else f"{array.shape} {array.dtype}".encode() + array.tobytes())
    return found.digest()


def numbers(values: Iterable[float]) -> str:
    """Returns the words from which the same float64 numbers are read."""
    return " ".join(repr(float(value)) for value in values)


def rows(values: Doubles) -> Iterator[str]:
    """Returns a line for each row of numbers."""
    return (" ".join(map(repr, row)) for row in values.tolist())


def track_names(document: Document) -> dict[str, str]:
    """Returns a word for the name of each track. That of the first camera is the reader's word for its one camera."""
    names = [*document.tracks, *(light.track for light in points(document))]
    transforms: list[Transform | None] = [part.transform for part in document.parts]
    for transform in [*transforms, *(light.transform for light in points(document))]:
        while transform is not None:
            names.append(transform.track)
            transform = transform.parent
    first = next(iter(document.cameras), CAMERA)
    others = [name for name in dict.fromkeys(names) if name not in ("", first)]
    return dict(zip([first, *others], words([CAMERA, *others]), strict=True))


def view_line(camera: Camera) -> str:
    """Returns the line of a camera, aimed at a point from which the reader finds its direction with the least
    rounding."""
    eye, forward, up = (np.array(vector) for vector in (camera.eye, camera.forward, camera.up))
    targets = [eye + distance * forward for distance in TARGET_DISTANCES]
    target = min(targets, key=lambda at: float(np.abs(np.subtract(look_at(eye, at, up), (forward, up))).max()))
    width, height = camera.resolution
    return (
        f"v from {numbers(eye)} at {numbers(target)} up {numbers(up)} angle {camera.vertical_fov!r} "
        f"hither {max(camera.near, SMALLEST_NEAR)!r} resolution {width} {height}"
    )


def track_lines(name: str, track: Track) -> Iterator[str]:
    """Yields the lines of the keyframes of one name."""
    yield f"k {name} {{"
    for block, keys in (("transl", track.transl), ("scale", track.scale), ("rot", track.rot)):
        if keys is not None:
            yield from block_lines(block, keys.rows)
    if track.visibility is not None:
        yield from block_lines("visibility", np.column_stack([track.visibility.times, track.visibility.shown]))
    yield "}"


def block_lines(block: str, keys: Doubles) -> Iterator[str]:
    """Yields the lines of one block of keyframes."""
    yield f"{block} {len(keys)}"
    yield from rows(keys)


def mesh_lines(mesh: Mesh, texture: str) -> Iterator[str]:
    """Yields the lines of a mesh, with texture coordinates if it has a texture."""
    indices = [mesh.triangles]
    yield f"m vertices {len(mesh.vertices)}"
    yield from rows(mesh.vertices)
    if mesh.normals is not None and mesh.normal_triangles is not None:
        indices.append(mesh.normal_triangles)
        yield f"normals {len(mesh.normals)}"
        yield from rows(mesh.normals)
    if texture:
        uvs, uv_triangles = (np.zeros((1, 2)), np.zeros_like(mesh.triangles))
        if mesh.uvs is not None and mesh.uv_triangles is not None:
            uvs, uv_triangles = mesh.uvs, mesh.uv_triangles
        indices.append(uv_triangles)
        yield f"texturecoords {len(uvs)} {texture}"
        yield from rows(uvs)
    yield f"triangles {len(mesh.triangles)}"
    yield from (" ".join(map(str, row)) for row in np.concatenate(indices, axis=1).tolist())


def keyed_lines(shape: KeyedTriangles) -> Iterator[str]:
    """Yields the lines of animated triangles, one after the other."""
    corners = np.concatenate([shape.positions, shape.normals], axis=-1)
    for number in range(corners.shape[1]):
        yield f"tpa {len(shape.times)}"
        yield from rows(np.column_stack([shape.times, corners[:, number].reshape(-1, 18)]))


def nearest(material: Material) -> Material:
    """Returns the material as AFF's numbers can say it."""
    material = by_phong(material)
    fields = {
        "diffuse": {"specular": BLACK, "transmittance": 0.0, "exponent": 0.0},
        "mirror": {"diffuse": BLACK, "transmittance": 0.0, "exponent": MIRROR_EXPONENT},
        "dielectric": {"diffuse": BLACK, "specular": BLACK, "exponent": 0.0},
    }
    plain = replace(material, kind="nff", emission=BLACK, **fields.get(material.kind, {}))  # type: ignore[arg-type]
    scatters = any(plain.diffuse) or any(plain.specular) or plain.transmittance
    return replace(plain, backdrop=BLACK) if scatters else plain


def material_line(material: Material) -> str:
    """Returns the command that makes a material current."""
    near = nearest(material)
    seen = near.backdrop if any(near.backdrop) else near.ambient
    colors = (*seen, *near.diffuse, *near.specular)
    return f"fm {numbers(colors)} {numbers([near.exponent, near.transmittance, near.ior])}"


def points(document: Document) -> list[PointSource]:
    """Returns the lights that AFF has words for."""
    return [light for light in document.lights if isinstance(light, PointSource)]


def strengths(document: Document) -> list[Color]:
    """Returns the strengths that give each point light, read as one that does not fade, the intensity that it has."""
    sources = points(document)
    if not any(light.fades for light in sources):
        return [light.strength for light in sources]
    steady: list[LightSource] = [replace(light, fades=False) for light in sources]
    own, new = (distances(replace(document, lights=lights)) for lights in (document.lights, steady))
    return [
        scaled(light, 1.0 / math.pi if light.fades else own[light] ** 2, new[as_read])
        for light, as_read in zip(sources, steady, strict=True)
    ]


def distances(document: Document) -> dict[LightSource, float]:
    """Returns the distances at which the reader takes the strengths of a document's lights to be meant."""
    return SceneEvaluator("lights", document).light_distances


def scaled(light: PointSource, factor: float, distance: float) -> Color:
    """Returns a light's strength times a factor over the square of a distance."""
    red, green, blue = (channel * factor / distance**2 for channel in light.strength)
    return (red, green, blue)


def losses(document: Document) -> Iterator[str]:
    """Yields a line for everything that AFF cannot say."""
    used = {part.own_material for part in document.parts}
    for number in sorted(used):
        yield from material_losses(document.materials[number])
    first, *others = document.cameras or [CAMERA]
    if others:
        yield f"cameras left out, since AFF has one: {quoted(others)}"
    if first in document.cameras and document.cameras[first].near < SMALLEST_NEAR:
        yield f"camera {first!r} sees from {SMALLEST_NEAR:g} on, not from {document.cameras[first].near:g}"
    for name, count in Counter(light.plural for light in document.lights if not isinstance(light, PointSource)).items():
        yield f"{name} left out: {count}"
    if document.environment is not None:
        yield "environment left out"
    if first in document.cameras:
        yield from lens_losses(first, document.cameras[first])
    bare = [part for part in document.parts if not is_textured(part, document)]
    unused = [part for part in bare if isinstance(part.shape, Mesh) and part.shape.uvs is not None]
    if unused:
        yield f"texture coordinates left out, since no texture uses them: those of {len(unused)} meshes"
    painted = [part for part in document.parts if is_textured(part, document)]
    if any(isinstance(part.shape, KeyedTriangles) for part in painted):
        yield "textures left out of triangles that have keys of their own"
    if document.settings:
        yield f"proposed settings left out: {', '.join(document.settings)}"


def lens_losses(name: str, camera: Camera) -> Iterator[str]:
    """Yields a line for each thing of a camera that is lost."""
    if camera.height is not None:
        angle = f"an angle of {camera.vertical_fov:g} degrees"
        yield f"camera {name!r} is no longer orthographic and {camera.height:g} high but has {angle}"
    if camera.aperture > 0.0:
        yield f"camera {name!r} is a pinhole; its lens of radius {camera.aperture:g} is left out"


def material_losses(material: Material) -> Iterator[str]:
    """Yields a line for each thing of a material that is lost."""
    if any(material.emission):
        yield f"material {material.name!r} no longer shines; its radiance was {numbers(material.emission)}"
    yield from map_losses(material)
    yield from phong_losses(material)
    if material.kind == "mirror":
        yield f"material {material.name!r} is no longer a perfect mirror but has a shine of {MIRROR_EXPONENT:g}"
    elif material.kind not in ("nff", "diffuse", "dielectric", "metal", "plastic"):
        yield f"material {material.name!r} is no longer of kind {material.kind!r} but of the numbers of AFF"
    if material.is_cut_out:
        yield f"material {material.name!r} is no longer cut out"
    if any(material.backdrop) and not any(nearest(material).backdrop):
        yield f"material {material.name!r} is no longer a backdrop, since it scatters light too"


def is_textured(part: Part, document: Document) -> bool:
    """Returns whether a part's material has a texture."""
    return document.materials[part.own_material].texture >= 0


def quoted(names: Sequence[str]) -> str:
    """Returns names in quotes, to be read by people."""
    return ", ".join(repr(name) for name in names)


def levels(matrix: Doubles) -> list[Doubles]:
    """Returns maps (10,) of scale (3,), axis (3,), degrees and shift (3,) whose product, the outermost first, is a (4,
    4) map.

    One is enough unless the map shears; then it is that of Golub, Reinsch: Singular Value Decomposition and Least
    Squares Solutions (1970) with another turn inside. Products are equal within rounding, and equal to the last bit
    where the map was made of short numbers.
    """
    linear, shift = matrix[:3, :3], matrix[:3, 3]
    scale = np.linalg.norm(linear, axis=0)
    if np.linalg.det(linear) < 0.0:
        scale[0] = -scale[0]
    if scale.all():
        turn = linear / scale
        if np.abs(turn.T @ turn - np.eye(3)).max() < PERPENDICULAR:
            return [level(scale, turn, shift)]
    left, values, right = np.linalg.svd(linear)
    values[2] *= np.linalg.det(left) * np.linalg.det(right)
    left[:, 2] *= np.linalg.det(left)
    right[2] *= np.linalg.det(right)
    return [level(values, left, shift), level(np.ones(3), right, np.zeros(3))]


def level(scale: Doubles, turn: Doubles, shift: Doubles) -> Doubles:
    """Returns the ten numbers of a scale, a turn (3, 3) and a shift: of several that differ by rounding, the
    closest."""
    axis, degrees = axis_and_degrees(quaternion_of(turn))
    angles = [angle for near in rounded(np.array([degrees])) for angle in (near, near - 360.0)]
    wanted = turn * scale
    best, least = np.zeros(10), math.inf
    for factors, vector, angle in itertools.product(rounded(scale), axes(axis), angles):
        error = float(np.abs(compose(factors, quaternion(vector, float(angle[0])), shift)[:3, :3] - wanted).max())
        if error < least:
            best, least = np.concatenate([factors, vector, angle, shift]), error
        if error == 0.0:
            break
    return best


def rounded(values: Doubles) -> list[Doubles]:
    """Returns numbers rounded to several places, the coarsest first."""
    return [np.array([round(value, places) for value in values.tolist()]) for places in PLACES]


def axes(axis: Doubles) -> list[Doubles]:
    """Returns a unit axis as its numbers may have been written: with one of them 1, or of unit length."""
    sizes = np.abs(axis)
    lengths = (sizes.max(), sizes[sizes > NOTHING].min(), 1.0)
    return [near for length in lengths for near in rounded(axis / length)]
