"""This module makes a document of the statements of a file, each by the method that `DIRECTIVES` names."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from scenes.document import Document
from scenes.errors import SceneFileError, SceneProblemsError
from scenes.files.source_file import MAX_FAULTS
from scenes.model import Doubles
from scenes.motion.transforms import IDENTITY
from scenes.pbrt.camera import camera, exposure, film_size, handedness
from scenes.pbrt.files import IMPORT_BEGINS, IMPORT_ENDS, PbrtFiles
from scenes.pbrt.lights import UNKNOWN_LIGHT, glow
from scenes.pbrt.materials import PLAIN, Looks
from scenes.pbrt.media import Media
from scenes.pbrt.parameters import Parameters, first_text, parameters_of
from scenes.pbrt.state import TRANSFORMS, State
from scenes.pbrt.textures import PbrtTextures
from scenes.pbrt.tokens import MAX_QUOTE, Statement, UnmadeError, Word
from scenes.pbrt.world import World
from scenes.views.viewing import DEFAULT_CAMERA

#: Blocks may be nested so deep.
MAX_DEPTH = 10_000
#: Surfaces that light meets on its way, at most.
MAX_BOUNCES = 1024
#: What statements say how a picture is made, and not of what.
METHODS = ("Sampler", "PixelFilter", "Accelerator", "Option", "WorldEnd", "TransformTimes")
#: What Attribute gives parameters to.
TARGETS = ("shape", "light", "material", "medium", "texture")


class PbrtReader:
    """Takes in the statements of a file."""

    def __init__(self, path: Path) -> None:
        self.files = PbrtFiles(path)
        self.textures = PbrtTextures(self.files)
        self.looks = Looks(self.files, self.textures)
        self.media = Media(self.files)
        self.world = World(self.files, self.textures)
        self.state = State()
        self.stack: list[tuple[Statement, State]] = []
        self.systems: dict[str, Doubles] = {}
        self.camera: tuple[str, Parameters, Doubles] | None = None
        self.film: Parameters | None = None
        self.is_world = False
        self.within: str | None = None
        self.problems: list[SceneFileError] = []
        self.is_broken = False

    def read(self) -> Document:
        """Reads all statements. Raises SceneFileError with all that is wrong, each with its file and line, but for what
        may follow from it: names that are not there."""
        for found in self.files.statements():
            try:
                if isinstance(found, SceneFileError):
                    raise found
                self.take(found)
            except UnmadeError as error:
                if not self.is_broken:
                    self.problems.append(error)
            except SceneFileError as error:
                self.is_broken = True
                self.problems.append(error)
            if len(self.problems) >= MAX_FAULTS:
                break
        self.finish()
        return self.world.document

    def finish(self) -> None:
        """Raises SceneFileError where anything was wrong, or where a block has no end."""
        self.media.finish()
        if not any(UNKNOWN_LIGHT in message for _, _, message in self.files.notes.losses):
            self.world.document.settings["exposure"] = exposure(self.film)
            self.world.document.show_linearly(self.files.scene)
        if not self.problems and self.stack:
            opened = self.stack[-1][0]
            self.problems.append(opened.error(f"expected an end of what {opened.name} begins"))
        if not self.problems and not self.world.document.parts:
            self.problems.append(SceneFileError(self.files.scene, None, "there are no shapes in the scene"))
        if len(self.problems) == 1:
            raise self.problems[0]
        if self.problems:
            raise SceneProblemsError(self.problems)

    def take(self, statement: Statement) -> None:
        if statement.name in TRANSFORMS:
            self.state = self.state.moved(statement)
        elif statement.name in METHODS:
            return
        elif statement.name in DIRECTIVES:
            DIRECTIVES[statement.name](self, statement)
        else:
            raise statement.error(f"unknown directive {statement.name[:MAX_QUOTE]!r}")

    def named(self, statement: Statement, target: str = "", first: int = 1) -> tuple[str, Parameters]:
        """Returns the type that a statement names, and its parameters.

        target: what Attribute calls it.
        first: how many values come before the parameters.
        """
        kind = first_text(statement, "a type")
        parameters = Parameters(kind, statement.place, parameters_of(statement, first))
        return kind, parameters.beneath(self.state.defaults.get(target, ()))

    def told(self, parameters: Parameters) -> None:
        """Notes the parameters that nobody has taken."""
        for item in parameters.left():
            self.files.tell(item.place, f"the parameter {item.called} of {parameters.kind!r} counts for nothing")

    def need_world(self, statement: Statement, is_world: bool = True) -> None:
        """Raises SceneFileError unless a statement stands on the right side of WorldBegin."""
        if self.is_world != is_world:
            side = "after" if is_world else "before"
            raise statement.error(f"expected {statement.name} {side} WorldBegin")

    # --- blocks and transforms ----------------------------------------------------------------------------------------

    def begin(self, statement: Statement) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise statement.error(f"blocks are nested deeper than {MAX_DEPTH}")
        self.stack.append((statement, self.state))

    def end(self, statement: Statement) -> None:
        """Closes a block: all is as it was before, or after a TransformBegin the transform is."""
        wanted = BLOCKS[statement.name]
        if not self.stack or self.stack[-1][0].name != wanted:
            opened = f"{self.stack[-1][0].name} of line {self.stack[-1][0].place.line}" if self.stack else "none"
            raise statement.error(f"expected {wanted} before {statement.name}, the last that is open is {opened}")
        before = self.stack.pop()[1]
        keeps = wanted == "TransformBegin"
        self.state = replace(self.state, matrix=before.matrix, is_end=before.is_end) if keeps else before

    def attribute(self, statement: Statement) -> None:
        """Gives parameters to all that follows of a kind, in this block."""
        target = first_text(statement, "what its parameters are for")
        if target not in TARGETS:
            raise statement.error(f"expected one of {', '.join(TARGETS)} after Attribute, got {target[:MAX_QUOTE]!r}")
        items = (*parameters_of(statement, 1), *self.state.defaults.get(target, ()))
        self.state = replace(self.state, defaults=self.state.defaults | {target: items})

    def remember(self, statement: Statement) -> None:
        """Gives the transform a name."""
        self.systems[first_text(statement, "a name")] = self.state.matrix

    def recall(self, statement: Statement) -> None:
        """Takes the transform of a name."""
        name = first_text(statement, "the name of a coordinate system")
        if name not in self.systems:
            raise statement.place.unmade("coordinate system", name)
        self.state = replace(self.state, matrix=self.systems[name])

    def reverse(self, _: Statement) -> None:
        """Turns what follows inside out."""
        self.state = replace(self.state, is_reversed=not self.state.is_reversed)

    def choose_moment(self, statement: Statement) -> None:
        """Says for which moment of a motion transforms are."""
        value = statement.values[0][0] if statement.values else None
        if not isinstance(value, Word):
            raise statement.error("expected All, StartTime or EndTime after ActiveTransform")
        self.state = replace(self.state, is_end=value.text == "EndTime")
        if self.state.is_end:
            self.files.tell(statement.place, "what moves stands where it is at the start")

    def color_space(self, statement: Statement) -> None:
        """Notes a colour space other than sRGB."""
        name = first_text(statement, "a colour space")
        if name.lower() != "srgb":
            self.files.tell(statement.place, f"colours of the space {name[:MAX_QUOTE]!r} are taken for linear sRGB")

    # --- camera and film ----------------------------------------------------------------------------------------------

    def set_camera(self, statement: Statement) -> None:
        """Keeps the camera until the film is known."""
        self.need_world(statement, False)
        kind, parameters = self.named(statement)
        matrix = self.state.matrix
        if not abs(np.linalg.det(matrix[:3, :3])) > 0.0:
            raise statement.error("expected a transform of the camera that can be undone")
        self.camera = kind, parameters, matrix
        self.systems["camera"] = np.asarray(np.linalg.inv(matrix), np.float64)

    def set_film(self, statement: Statement) -> None:
        """Keeps the film."""
        self.need_world(statement, False)
        self.film = self.named(statement)[1]
        if "cropwindow" in self.film.named or "pixelbounds" in self.film.named:
            self.files.tell(statement.place, "the whole film is rendered: its cropwindow counts for nothing")

    def set_integrator(self, statement: Statement) -> None:
        """Takes the length of paths; how they are made is ours to choose."""
        parameters = self.named(statement)[1]
        if "maxdepth" in parameters.named:
            depth = int(parameters.number("maxdepth", 0.0))
            self.world.document.settings["max_bounces"] = min(max(depth, 1), MAX_BOUNCES)

    def begin_world(self, statement: Statement) -> None:
        """Makes the camera and begins the world."""
        self.need_world(statement, False)
        self.is_world, self.state = True, replace(self.state, matrix=IDENTITY, is_end=False)
        self.systems["world"] = IDENTITY
        size = film_size(self.film)
        if self.camera is not None:
            kind, parameters, matrix = self.camera
            self.world.to_ours = handedness(matrix)
            if self.film is not None:
                parameters = parameters.beneath(self.film.named.get("diagonal", ()))
            view = camera(kind, parameters, self.world.to_ours @ np.linalg.inv(matrix), size, self.files)
            self.world.document.cameras[DEFAULT_CAMERA] = view
            self.told(parameters)

    # --- the world ----------------------------------------------------------------------------------------------------

    def add_shape(self, statement: Statement) -> None:
        self.need_world(statement)
        kind, parameters = self.named(statement, "shape")
        self.world.add_shape(kind, parameters, self.state, self.within)
        self.told(parameters)

    def add_light(self, statement: Statement) -> None:
        """Takes in a light that is no shape."""
        self.need_world(statement)
        kind, parameters = self.named(statement, "light")
        self.world.add_light(kind, parameters, self.state)
        self.told(parameters)

    def set_lamp(self, statement: Statement) -> None:
        """Says what the shapes that follow emit."""
        self.need_world(statement)
        self.state = replace(self.state, lamp=None)
        kind, parameters = self.named(statement, "light")
        self.state = replace(self.state, lamp=glow(kind, parameters, self.files))
        self.told(parameters)

    def set_material(self, statement: Statement) -> None:
        """Says what the shapes that follow are made of."""
        self.state = replace(self.state, look=PLAIN)
        kind, parameters = self.named(statement, "material")
        self.state = replace(self.state, look=self.looks.look(kind, parameters))
        self.told(parameters)

    def name_material(self, statement: Statement) -> None:
        """Makes a material with a name."""
        name, parameters = self.named(statement, "material")
        self.looks.named[name] = PLAIN
        kind = parameters.text("type", "")
        if not kind:
            raise parameters.error(f'expected "string type" of the material {name[:MAX_QUOTE]!r}')
        self.looks.named[name] = self.looks.look(kind, parameters)
        self.told(parameters)

    def use_material(self, statement: Statement) -> None:
        """Says which named material the shapes that follow are made of."""
        name = first_text(statement, "a material")
        self.state = replace(self.state, look=self.looks.of_name(name, statement.place))

    def add_texture(self, statement: Statement) -> None:
        """Makes a texture with a name."""
        words = [value for value, _ in statement.values[:3] if isinstance(value, str)]
        if len(words) != 3 or words[1] not in ("float", "spectrum"):
            raise statement.error('expected a name, "float" or "spectrum", and a class in quotes after Texture')
        parameters = Parameters(words[2], statement.place, parameters_of(statement, 3))
        parameters = parameters.beneath(self.state.defaults.get("texture", ()))
        self.textures.add(words[0], words[1] == "float", words[2], parameters)
        self.told(parameters)

    def begin_object(self, statement: Statement) -> None:
        """Begins an object, which is seen where instances of it stand."""
        self.need_world(statement)
        if self.within is not None:
            raise statement.error("expected no object within an object")
        self.begin(statement)
        self.within = first_text(statement, "a name")
        self.world.objects[self.within] = []

    def end_object(self, statement: Statement) -> None:
        self.within = None
        self.end(statement)

    def add_instance(self, statement: Statement) -> None:
        """Puts an object into the world."""
        self.need_world(statement)
        if self.within is not None:
            raise statement.error("expected no instance within an object")
        self.world.add_instance(first_text(statement, "the name of an object"), self.state, statement.place)

    def name_medium(self, statement: Statement) -> None:
        """Makes a medium with a name."""
        name, parameters = self.named(statement, "medium")
        self.media.add(name, parameters)
        if self.media.named[name] is not None:
            self.told(parameters)

    def use_media(self, statement: Statement) -> None:
        """Says what is inside of the shapes that follow, and outside: the same, where one name stands alone."""
        names = [value for value, _ in statement.values if isinstance(value, str)]
        if len(names) != len(statement.values) or len(names) not in (1, 2):
            raise statement.error("expected the names of a medium inside and one outside in quotes")
        self.state = replace(self.state, fog=self.media.inside(names[0], names[-1], statement.place))


#: What ends a block, and what begins it.
BLOCKS = {
    "AttributeEnd": "AttributeBegin",
    "TransformEnd": "TransformBegin",
    "ObjectEnd": "ObjectBegin",
    IMPORT_ENDS: IMPORT_BEGINS,
}

DIRECTIVES: dict[str, Callable[[PbrtReader, Statement], None]] = {
    **dict.fromkeys(("AttributeBegin", "TransformBegin", IMPORT_BEGINS), PbrtReader.begin),
    **dict.fromkeys(("AttributeEnd", "TransformEnd", IMPORT_ENDS), PbrtReader.end),
    "ActiveTransform": PbrtReader.choose_moment,
    "AreaLightSource": PbrtReader.set_lamp,
    "Attribute": PbrtReader.attribute,
    "Camera": PbrtReader.set_camera,
    "ColorSpace": PbrtReader.color_space,
    "CoordSysTransform": PbrtReader.recall,
    "CoordinateSystem": PbrtReader.remember,
    "Film": PbrtReader.set_film,
    "Integrator": PbrtReader.set_integrator,
    "LightSource": PbrtReader.add_light,
    "MakeNamedMaterial": PbrtReader.name_material,
    "MakeNamedMedium": PbrtReader.name_medium,
    "Material": PbrtReader.set_material,
    "MediumInterface": PbrtReader.use_media,
    "NamedMaterial": PbrtReader.use_material,
    "ObjectBegin": PbrtReader.begin_object,
    "ObjectEnd": PbrtReader.end_object,
    "ObjectInstance": PbrtReader.add_instance,
    "ReverseOrientation": PbrtReader.reverse,
    "Shape": PbrtReader.add_shape,
    "Texture": PbrtReader.add_texture,
    "WorldBegin": PbrtReader.begin_world,
}


def read_document(path: Path) -> Document:
    """Reads everything that a file says. Raises SceneFileError with the file and line of what is wrong."""
    return PbrtReader(path).read()
