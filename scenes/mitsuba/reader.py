"""This module makes a document of the elements of a scene: shapes in their places, cameras and lights."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from scenes.document import Document, Origin, Part, part_of, triangle_count
from scenes.files.source_file import MAX_TRIANGLES
from scenes.gltf import new_name
from scenes.materials.microfacets import BLACK, GREY, WHITE, multiplied
from scenes.materials.patterns import Pattern
from scenes.materials.vertex_colors import with_vertex_colors
from scenes.meshes.curves import Turned, changed
from scenes.meshes.geometry import rewound, unit
from scenes.meshes.revolution import mapped_uvs
from scenes.mitsuba.attributes import attribute_colors
from scenes.mitsuba.elements import LimitError, XmlElement, listed, numbers, snake_case
from scenes.mitsuba.emitters import EMITTERS
from scenes.mitsuba.emitters import LEFT_OUT as LEFT_OUT_LIGHTS
from scenes.mitsuba.lens import fov_axis, lens, vertical_fov
from scenes.mitsuba.media import filled
from scenes.mitsuba.properties import Properties
from scenes.mitsuba.reading import Reading
from scenes.mitsuba.shapes import MitsubaShapes
from scenes.mitsuba.surface import MitsubaSurface, with_map
from scenes.mitsuba.surfaces import MitsubaSurfaces
from scenes.mitsuba.textures import MitsubaTextures
from scenes.model import Camera, Doubles, Material, Mesh
from scenes.motion.transforms import IDENTITY, WORLD
from scenes.views.default_view import VERTICAL_FOV
from scenes.views.viewing import DEFAULT_CAMERA, triple

MAX_RESOLUTION = 16_384
SENSORS = ("perspective", "thinlens", "orthographic")
#: Parameters of a camera that say nothing of a still picture, or of one without a lens.
FOR_OTHERS = ("far_clip", "focus_distance", "aperture_radius", "shutter_open", "shutter_close", "jitter", "name")
#: Cameras and meters that are left out.
OTHER_SENSORS = (
    "distant", "fluencemeter", "irradiancemeter", "perspective_rdist", "radiancemeter", "spherical",
    "telecentric",
)  # fmt: skip
#: The surface of a shape that has no BSDF.
PLAIN = MitsubaSurface(Material(name="plain"))
BLACKENED = MitsubaSurface(Material(name="black", diffuse=BLACK))
#: Shapes that are left out.
LEFT_OUT = (
    "bsplinecurve", "deformable", "ellipsoids", "ellipsoidsmesh", "hair", "heightfield", "linearcurve", "sdfgrid",
    "volgrid",
)  # fmt: skip
#: Parameters of a scene that say how rays are traced.
OF_TRACING = ("embree_use_robust_intersection", "allow_thread_reordering")
#: How many sensors of type batch may be in one another.
MAX_BATCHES = 4
#: Paths of an integrator that says nothing, where that is a number, with the emitter at their end: `direct` sees what
#: lamps light.
DEPTHS = {"direct": 2.0}
MOST_BOUNCES = 1024


class MitsubaReader:
    """Takes in the objects of a <scene>. What is wrong with one of them is told with the others."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.document = Document(notes=reading.notes)
        self.textures = MitsubaTextures(reading)
        self.surfaces = MitsubaSurfaces(reading, self.textures)
        self.shapes = MitsubaShapes(reading)
        self.groups: dict[XmlElement, list[Part]] = {}
        self.triangles = 0
        self._rewound: dict[Mesh | Turned, Mesh | Turned] = {}

    def read(self) -> Document:
        """Reads all objects into a document. Raises SceneFileError with all that is wrong."""
        try:
            self.read_objects()
        except LimitError as problem:  # what else is wrong is told with it
            self.reading.problems.append(problem)
        self.reading.check()
        return self.document

    def read_objects(self) -> None:
        properties = Properties(self.reading.scene, self.reading)
        adders: dict[str, Callable[[XmlElement], None]] = {
            "sensor": self.add_sensor,
            "emitter": self.add_emitter,
            "shape": self.add_shape,
            "integrator": partial(propose_bounces, self.document, self.reading),
        }
        for tag in ("bsdf", "medium", "texture", *adders):  # of the first three those are read that a shape refers to
            properties.within(tag)
        for element in properties.objects:
            if element.tag in adders:
                self.reading.attempt(None, adders[element.tag], element)
        properties.left_out("active_sensor")
        properties.finish(*OF_TRACING)

    # --- shapes -------------------------------------------------------------------------------------------------------

    def add_shape(self, element: XmlElement) -> None:
        """Adds what a <shape> shows."""
        kind = element.kind
        if kind in LEFT_OUT:
            self.reading.note_loss(element, f"{element.called} is left out")
        elif kind == "merge":
            self.add_merged(element)
        elif kind == "instance":
            self.document.parts += self.instance(element)
        elif kind != "shapegroup":
            self.document.parts += self.parts(element)

    def add_merged(self, element: XmlElement) -> None:
        """Adds what the shapes in a <shape> of type merge show."""
        properties = Properties(element, self.reading)
        for shape in properties.within("shape"):
            if shape.kind == "merge":
                raise shape.error(f"expected shapes that are no {shape.called} in {element.called}")
            self.reading.attempt(None, self.add_shape, shape)
        properties.finish("name")

    def parts(self, element: XmlElement) -> list[Part]:
        """Makes the meshes of a <shape> in their places."""
        properties = Properties(element, self.reading)
        matrix = properties.matrix("to_world")
        surface = self.looks(properties)
        shapes = self.shapes.meshes(properties)
        if surface.pattern.attribute:
            shapes, surface = self.colored(properties, shapes, surface)
        properties.finish("collapse", "srgb", "name")
        material = self.document.material_index(surface.material, surface.pictures)
        shapes = [changed(shape, partial(mapped_uvs, matrix=surface.to_uv)) for shape in shapes]
        origin = Origin(element.path, element.line)
        return [self.placed(part_of(shape, WORLD, origin, material), matrix) for shape in shapes]

    def colored(
        self, properties: Properties, shapes: list[Mesh | Turned], surface: MitsubaSurface
    ) -> tuple[list[Mesh | Turned], MitsubaSurface]:
        """Returns the one mesh of a shape with the colours of an attribute, and its surface with their texture. Where
        there are none it is grey, which is noted."""
        name, color = surface.pattern.attribute, surface.pattern.color
        has_file = "filename" in properties.named and len(shapes) == 1 and isinstance(shapes[0], Mesh)
        colors = self.reading.attempt(None, attribute_colors, properties.file(), name) if has_file else None
        pattern = Pattern(multiplied(color, GREY))
        if colors is not None and isinstance(shapes[0], Mesh) and len(colors) == len(shapes[0].triangles):
            mesh, texture = with_vertex_colors(shapes[0], colors, name)
            shapes, pattern = [mesh], Pattern(color, texture)
        else:
            properties.reading.note_loss(properties.element, f"the mesh has no {name!r} that is read: it is grey")
        if surface.maps or surface.mask:
            properties.note("beside colours that come with a mesh pictures are left out")
        material = replace(surface.material, diffuse=pattern.color)
        return shapes, replace(surface, material=material, pattern=pattern, mask=None, maps={})

    def looks(self, properties: Properties) -> MitsubaSurface:
        """Returns the surface of a shape, with what it emits. One whose surface cannot be read is plain; one that glows
        and has none is black."""
        bsdfs, emitters = properties.within("bsdf"), properties.within("emitter")
        bare = BLACKENED if emitters else PLAIN
        surface = self.reading.attempt(PLAIN, self.surfaces.surface, bsdfs[-1]) if bsdfs else bare
        surface = filled(surface, properties)
        return self.reading.attempt(surface, self.lit, surface, emitters[-1]) if emitters else surface

    def lit(self, surface: MitsubaSurface, element: XmlElement) -> MitsubaSurface:
        """Returns a surface that emits what an <emitter> in a shape says."""
        properties = Properties(element, self.reading)
        if properties.type in LEFT_OUT_LIGHTS:
            self.reading.note_loss(element, f"{element.called} is left out")
            return surface
        if properties.type != "area":
            raise element.error(f"expected an emitter of type area in a shape, got {element.called}")
        radiance = self.radiance(properties)
        properties.finish("sampling_weight")
        emission = radiance.mean if radiance.texture is None else radiance.color
        lit = replace(surface, material=replace(surface.material, emission=emission))
        return with_map(lit, "emission_map", radiance, properties)

    def radiance(self, properties: Properties) -> Pattern:
        """Returns the radiance of an <emitter>, which may be a texture."""
        element = properties.named.get("radiance")
        if element is None or element.tag != "texture":
            return Pattern(properties.light("radiance", WHITE))
        properties.take("radiance", "texture")
        return self.textures.texture(element)

    def placed(self, part: Part, matrix: Doubles | None) -> Part:
        """Puts a part inside a further transform. What is outside stays outside where it mirrors."""
        if matrix is None:
            return self.counted(part)
        shape = part.curve or part.shape
        assert isinstance(shape, Mesh | Turned)
        inner = IDENTITY if part.transform.matrix is None else part.transform.matrix
        if np.linalg.det(matrix[:3, :3]) < 0.0:
            if shape not in self._rewound:
                self._rewound[shape] = changed(shape, rewound)
            shape = self._rewound[shape]
        return self.counted(part_of(shape, WORLD.inner(matrix=matrix @ inner), part.origin, part.material))

    def counted(self, part: Part) -> Part:
        """Counts the triangles of a part and returns it. Raises SceneFileError where there are too many."""
        self.triangles += triangle_count(part.shape)
        if self.triangles > MAX_TRIANGLES:
            raise LimitError(part.origin.path, part.origin.line, f"over {MAX_TRIANGLES} triangles")
        return part

    def instance(self, element: XmlElement) -> list[Part]:
        """Returns the parts of a <shapegroup> in one more place."""
        properties = Properties(element, self.reading)
        matrix = properties.matrix("to_world")
        groups = properties.within("shape")
        if len(groups) != 1 or groups[0].kind != "shapegroup":
            raise element.error("expected an instance to refer to one shapegroup")
        properties.finish()
        origin = Origin(element.path, element.line)
        return [self.placed(replace(part, origin=origin), matrix) for part in self.group(groups[0])]

    def group(self, element: XmlElement) -> list[Part]:
        """Returns the parts of a <shapegroup>, always the same ones."""
        if element not in self.groups:
            properties = Properties(element, self.reading)
            shapes = properties.within("shape")
            properties.finish("name")
            for shape in shapes:
                if shape.kind in ("shapegroup", "instance"):
                    raise shape.error(f"expected shapes that stand for themselves in a shapegroup, got {shape.called}")
                if shape.kind in LEFT_OUT:
                    self.reading.note_loss(shape, f"{shape.called} is left out")
            found = [shape for shape in shapes if shape.kind not in LEFT_OUT]
            self.groups[element] = [part for shape in found for part in self.parts(shape)]
        return self.groups[element]

    # --- light --------------------------------------------------------------------------------------------------------

    def add_emitter(self, element: XmlElement) -> None:
        """Adds a light that is no shape. One of type area waits for a shape that refers to it."""
        if element.kind == "area" and "id" in element.attributes:
            return
        properties = Properties(element, self.reading)
        if properties.type in LEFT_OUT_LIGHTS:
            self.reading.note_loss(element, f"{element.called} is left out")
            return
        build = EMITTERS.get(properties.type)
        if build is None:
            properties.unknown_type(("area", *EMITTERS))
        sources = build(self.textures, properties)
        properties.finish("sampling_weight", "name")
        for source in sources:
            if not self.document.add_light(replace(source, group=element.attributes.get("id", ""))):
                raise element.error("expected one emitter of type constant, envmap, sky or sunsky at most")

    # --- cameras ------------------------------------------------------------------------------------------------------

    def add_sensor(self, element: XmlElement, depth: int = 0) -> None:
        """Adds a camera, or all of a batch. depth: how many batches it is in."""
        properties = Properties(element, self.reading)
        if properties.type == "batch" and depth < MAX_BATCHES:
            for sensor in properties.within("sensor"):
                self.reading.attempt(None, self.add_sensor, sensor, depth + 1)
            return
        if properties.type not in SENSORS:
            if properties.type not in OTHER_SENSORS:
                properties.unknown_type(SENSORS)
            self.reading.note_loss(element, f"{element.called} is left out; there are: {listed(SENSORS)}")
            return
        matrix = properties.matrix("to_world")
        width, height = self.film_size(properties)
        x, up, forward, eye = (IDENTITY if matrix is None else matrix)[:3, :].T
        forward, left = unit(forward), unit(x)
        if not np.dot(np.cross(up, forward), left) > 0.0:
            raise element.error("to_world of a sensor mirrors or flattens the picture, which is not supported")
        is_parallel = properties.type == "orthographic"
        if is_parallel and not math.isclose(np.linalg.norm(x), np.linalg.norm(up), rel_tol=1e-4):
            raise element.error("to_world of an orthographic sensor stretches the picture, which is not supported")
        aperture, focus = lens(properties)
        name = new_name(element.attributes.get("id", DEFAULT_CAMERA), self.document.cameras)
        self.document.cameras[name] = Camera(
            eye=triple(eye),
            forward=triple(forward),
            up=triple(unit(np.cross(forward, left))),
            vertical_fov=VERTICAL_FOV if is_parallel else vertical_fov(properties, width / height),
            near=max(properties.number("near_clip", 0.0), 0.0),
            resolution=(width, height),
            aperture=aperture,
            focus=focus,
            height=2.0 * float(np.linalg.norm(x)) * height / width if is_parallel else None,
            fov_axis="x" if is_parallel else fov_axis(properties),
        )
        properties.within("sampler")
        properties.left_out("principal_point_offset_x", "principal_point_offset_y", "cone_scale")
        properties.left_out("rolling_shutter_type", "rolling_shutter_duration")
        properties.finish(*FOR_OTHERS)

    def film_size(self, properties: Properties) -> tuple[int, int]:
        """Returns the width and height in pixels of a sensor's film."""
        films = properties.within("film")
        if not films:
            return 768, 576
        film = Properties(films[0], self.reading)
        width, height = film.number("width", 768), film.number("height", 576)
        if exposure := film.number("exposure", 0.0):
            self.document.settings["exposure"] = exposure
        crops = ("crop_offset_x", "crop_offset_y", "crop_width", "crop_height")
        film.left_out(*(name for name in crops if name in film.named))
        if not (1 <= width <= MAX_RESOLUTION and 1 <= height <= MAX_RESOLUTION):
            raise films[0].error(f"expected a film from 1 to {MAX_RESOLUTION} pixels wide, got {width:g} x {height:g}")
        return int(width), int(height)


def read_document(reading: Reading) -> Document:
    """Reads everything that is to be read. Raises SceneFileError with the file and line of all that is wrong."""
    document = MitsubaReader(reading).read()
    document.show_linearly(reading.files.scene)
    return document


def propose_bounces(document: Document, reading: Reading, integrator: XmlElement) -> None:
    """Proposes as many interactions with surfaces as the paths of an integrator, or of those in it, have at most."""
    for element in nested(integrator):
        depth = DEPTHS.get(element.attributes.get("type", ""), -1.0)
        for child in element.children:
            name = snake_case(child.attributes.get("name", ""))
            if name == "max_depth":
                depth = numbers(child, child.need("value"), 1)[0]
            if name == "hide_emitters" and child.attributes.get("value") == "true":
                reading.note(child, "what glows is seen, though hide_emitters is asked for")
        if 0.0 <= depth < 2.0:
            reading.note(element, f"light is computed that Mitsuba leaves out, by a max_depth of {depth:g}")
        if depth >= 0.0:
            document.settings["max_bounces"] = int(min(max(depth - 1.0, 1.0), MOST_BOUNCES))


def nested(integrator: XmlElement) -> Iterator[XmlElement]:
    """Yields an integrator and those within it."""
    yield integrator
    for child in integrator.children:
        if child.tag == "integrator":
            yield from nested(child)
