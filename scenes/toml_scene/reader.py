"""This module reads a scene file."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from scenes.document import Document, EnvironmentSource, LightSource, Origin, Scene
from scenes.errors import SceneFileError
from scenes.files.source_file import MAX_NAMES, check_file, read_bytes, reason
from scenes.keys.place import Place, shown
from scenes.lights import SOURCES
from scenes.materials.metals import METALS
from scenes.meshes.geometry import unit
from scenes.model import AnimationRange, Camera, Floats, Material, Texture
from scenes.motion.transforms import quaternion, rotation
from scenes.playing.evaluator import scene_of
from scenes.toml_scene.keys import FILE_KEYS, KEY_OF_FIELD, LINEAR, PICTURE_KEYS
from scenes.toml_scene.mesh_files import found
from scenes.toml_scene.objects import Objects
from scenes.toml_scene.placing import UP_TURNS, AxisFrame, GroupTree
from scenes.views.viewing import look_at, triple

MAX_FILE_BYTES = 64_000_000
#: More names of a key than a file of this format can need, of which tomllib takes a time that grows by their square.
LONG_KEY = re.compile(rb"""(?:(?:(?<![\w-])[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){%d}""" % MAX_NAMES)
#: The largest file of a material, of what was measured.
MAX_OWN_BYTES = 100_000_000
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".ppm", ".bmp", ".tga", ".webp")
PICTURES = ("PNG", "JPEG", "PPM", "BMP", "TGA", "WEBP")
#: What materials of some kinds have where the file says nothing, so that their name is enough.
OF_KIND: dict[str, dict[str, Any]] = {
    "mirror": {"specular": (1.0, 1.0, 1.0)},
    "metal": {"specular": (1.0, 1.0, 1.0)},
    "anisotropic": {"specular": (1.0, 1.0, 1.0)},
    "dielectric": {"transmittance": 1.0, "ior": 1.5},
    "plastic": {"ior": 1.5},
    "principled": {"ior": 1.5},
}
#: Kinds that are metals, by name or index.
METALLIC = ("metal", "anisotropic")
#: The one kind of which reflectances may exceed 1: it scales them down.
SCALING_KIND = "nff"
#: Directions as good as unit and perpendicular are taken as they are, so that written cameras are read to the last bit.
TOLERANCE = 1e-9


def read(path: Path) -> Scene:
    """Reads the scene of a .toml file. Raises SceneFileError with the file and the key of what is wrong."""
    return scene_of_tables(parse(path), Place(path))


def scene_of_tables(tables: dict[str, Any], place: Place) -> Scene:
    """Returns the scene that the tables of a file say. place: of the file. Raises as `read`."""
    values = FILE_KEYS.read_at(place, tables)
    document = document_of(values, place)
    if document.triangles == 0:
        raise SceneFileError(place.path, None, "there are no triangles; add an [[object]]")
    return scene_of(values["scene"]["name"] or place.path.stem, document, str(place.path))


def parse(path: Path) -> dict[str, Any]:
    """Reads the tables of a file as TOML has them."""
    data = read_bytes(path, MAX_FILE_BYTES)
    if long := LONG_KEY.search(data):
        line = 1 + data.count(b"\n", 0, long.start())
        raise SceneFileError(path, line, f"expected keys of at most {MAX_NAMES} names with dots between them")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        raise SceneFileError(path, int(found[1]) if found else None, f"is not TOML: {reason(error)}") from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SceneFileError(path, line, "expected text in UTF-8") from error
    except (ValueError, RecursionError) as error:  # numbers of very many digits, and very deep nesting
        raise SceneFileError(path, None, f"is not TOML that can be read: {reason(error)}") from error


def document_of(values: dict[str, Any], place: Place) -> Document:
    """Makes the document of all that a file says. values: of the keys of `FILE_KEYS`."""
    scene = values["scene"]
    frame = AxisFrame(scene["units"], scene["up"])
    check_tracks(values, frame, place)
    hierarchy = GroupTree(values["group"], frame, place.inside("group"))
    for index, group in enumerate(values["group"]):
        hierarchy.transform(group["name"], place.inside("group").item(index))
    settings = {name: value for name, value in values["render"].items() if value is not None}
    if "radius" in settings:
        settings["radius"] *= frame.units
    document = Document(
        cameras={
            name: camera_of(row, frame, place.inside("cameras").inside(name)) for name, row in values["cameras"].items()
        },
        background=scene["background"],
        ambient=scene["ambient"],
        animation=AnimationRange(**values["animation"]),
        settings=settings,
    )
    if values["tracks"]:
        from scenes.toml_scene.tracks import tracks_of  # not where nothing moves

        document.tracks = tracks_of(values["tracks"], place.inside("tracks"))
    if not frame.is_world:
        for name in document.cameras.keys() & document.tracks.keys():
            from scenes.toml_scene.tracks import turned_track

            document.tracks[name] = turned_track(document.tracks[name], frame.matrix, UP_TURNS[frame.up])
    add_materials(document, values["materials"], place.inside("materials"))
    Objects(document, hierarchy, frame, place.inside("object")).add_all(values["object"])
    for index, light in enumerate(values["light"]):
        document.lights.append(light_of(light, hierarchy, place.inside("light").item(index)))
    if values["environment"] is not None:
        document.environment = environment_of(values["environment"], frame, hierarchy, place.inside("environment"))
    return document


def check_tracks(values: dict[str, Any], frame: AxisFrame, place: Place) -> None:
    """Raises unless every track that is named is there. Tracks of cameras are turned with the frame, others are not."""
    for kind in ("group", "object", "light"):
        for index, row in enumerate(values[kind]):
            here = place.inside(kind).item(index).inside("track")
            track = row.get("track")
            if track is not None and track not in values["tracks"]:
                raise here.unknown("track", track, values["tracks"])
            if track in values["cameras"] and not frame.is_world:
                raise here.error("a camera has this name; where units are not metres or z is up, use another track")


def add_materials(document: Document, materials: dict[str, dict[str, Any]], place: Place) -> None:
    """Takes in the materials of a file, with their textures."""
    textures: dict[tuple[Path, str, str, bool], int] = {}
    for name, values in materials.items():
        here = place.inside(name)
        check_reflectances(values, here)
        pictures = {}
        for field, key in PICTURE_KEYS.items():
            asked = values.pop(key)
            if asked is None:
                continue
            path = found(asked["file"], PICTURE_SUFFIXES, here.inside(key))
            is_linear = field in LINEAR if asked["linear"] is None else asked["linear"]
            own = (path, asked["wrap"], asked["filter"], is_linear)
            if own not in textures:
                textures[own] = document.add_texture(texture_of(*own))
            pictures[field] = textures[own]
        for key, value in values["own"].items():
            if isinstance(value, str):
                values["own"][key] = str(own_file(value, here.inside(key)))
        values |= metal_index(values, here)
        values |= {field: values.pop(key) for field, key in KEY_OF_FIELD.items()}
        given = OF_KIND.get(values["kind"], {}) | {key: value for key, value in values.items() if value is not None}
        document.materials.append(Material(**{**given, "name": name, **pictures}))


def own_file(name: str, place: Place) -> Path:
    """Returns the path of a file that a material names. Raises SceneFileError unless it is there and may be read."""
    path = found(name, None, place)
    check_file(path, MAX_OWN_BYTES)
    return path


def metal_index(values: dict[str, Any], place: Place) -> dict[str, Any]:
    """Returns the index eta + i k of a metal by its name, which is taken from the values, or as they have it.

    Raises SceneFileError where a name and numbers are given, or k alone, or where the surface is no metal.
    """
    name = values.pop("metal")
    if name is None:
        if any(values["k"] or ()) and not any(values["eta"] or ()):
            raise place.inside("k").error("expected eta beside it, above 0")
        return {}
    if values["kind"] not in METALLIC:
        raise place.inside("metal").error(f'expected kind = "metal" beside it, got {shown(values["kind"])}')
    if values["eta"] is not None or values["k"] is not None:
        raise place.inside("metal").error("expected either metal or eta and k, got both")
    return {"eta": METALS[name].eta, "k": METALS[name].k}


def texture_of(path: Path, wrap: str, kind: str, is_linear: bool) -> Texture:
    """Reads a texture with its wrap, its kind of filter, and whether it is linear."""
    from scenes.pictures.texture_file import read_texture  # not where there are no pictures

    return replace(read_texture(path, PICTURES), wrap=wrap, filter=kind, is_linear=is_linear)


def check_reflectances(values: dict[str, Any], place: Place) -> None:
    """Raises where a surface gives back more light than it gets."""
    for name in ("diffuse", "specular", "transmittance"):
        most = np.max(values[name]) if values[name] is not None else 0.0
        if most > 1.0 and values["kind"] != SCALING_KIND:
            raise place.inside(name).error(f"expected numbers from 0 to 1, got {most:g}")


def camera_of(values: dict[str, Any], frame: AxisFrame, place: Place) -> Camera:
    """Makes a camera in metres with y up."""
    if (values["target"] is None) == (values["forward"] is None):
        count = "neither" if values["target"] is None else "both"
        raise place.error(f"expected one of target and forward, got {count}")
    turn = frame.matrix[:3, :3] / frame.units
    eye = np.array(values["eye"])
    forward = np.array(values["forward"]) if values["target"] is None else np.array(values["target"]) - eye
    forward = turn @ forward
    up = np.array([0.0, 1.0, 0.0]) if values["up"] is None else turn @ np.array(values["up"])
    products = np.array([forward @ forward - 1.0, up @ up - 1.0, forward @ up])
    if np.abs(products).max() > TOLERANCE:
        forward, up = look_at(np.zeros(3), forward, up)
    if not up.any():
        raise place.error("its directions forward and up leave open how it is turned")
    if values["aperture"] > 0.0 and values["focus"] == 0.0:
        raise place.error("its aperture needs a focus, the distance of what is sharp")
    return Camera(
        eye=triple(frame.matrix[:3, :3] @ eye),
        forward=triple(forward),
        up=triple(up),
        vertical_fov=values["vertical_fov"],
        near=values["near"] * frame.units,
        resolution=values["resolution"],
        aperture=values["aperture"] * frame.units,
        focus=values["focus"] * frame.units,
        height=None if values["height"] is None else values["height"] * frame.units,
        fov_axis=values["fov_axis"],
    )


def light_of(values: dict[str, Any], hierarchy: GroupTree, place: Place) -> LightSource:
    """Makes a light by its kind."""
    transform = hierarchy.transform(values["parent"], place)
    light = SOURCES[values["kind"]].read(values, transform, place)
    return replace(light, group=values["group"] or "")


def environment_of(values: dict[str, Any], frame: AxisFrame, hierarchy: GroupTree, place: Place) -> EnvironmentSource:
    """Makes the environment, whose image has the same axis up as the file."""
    given = [name for name in ("image", "color", "sky") if values[name] is not None]
    if len(given) != 1:
        raise place.error(f"expected one of image, color and sky, got {' and '.join(given) or 'none'}")
    transform = hierarchy.transform(values["parent"], place)
    turn = rotation(UP_TURNS[frame.up]).T @ rotation(quaternion(np.array([0.0, 1.0, 0.0]), values["degrees"]))
    if not np.array_equal(turn, np.eye(4)):
        transform = transform.inner(matrix=turn)
    group = values["group"] or ""
    return EnvironmentSource(radiance(values, frame, place), transform, Origin(place.path), group=group)


def radiance(values: dict[str, Any], frame: AxisFrame, place: Place) -> Floats:
    """Returns radiance: (height, width, 3) of an image or a sky, or (1, 1, 3) of a colour."""
    from scenes.pictures.environment_file import (  # not where there is no environment
        MAX_RADIANCE,
        READERS,
        read_environment,
    )

    if values["image"] is not None:
        return read_environment(found(values["image"], tuple(READERS), place.inside("image")), values["scale"])
    own = [[values["color"]]] if values["sky"] is None else sky_of(values["sky"], frame, place.inside("sky"))
    scaled = np.multiply(own, values["scale"])
    if scaled.max() > MAX_RADIANCE:
        raise place.error(f"expected radiance of at most {MAX_RADIANCE:g}, got {scaled.max():g}")
    return scaled.astype(np.float32)


def sky_of(values: dict[str, Any], frame: AxisFrame, place: Place) -> Floats:
    """Returns the radiance (height, width, 3) of a sky, in the frame of an environment."""
    sun = np.round(rotation(UP_TURNS[frame.up])[:3, :3]) @ values["sun"]
    if not sun.any():
        raise place.inside("sun").error("expected a direction of some length, got 0, 0, 0")
    from scenes.pictures.gradient_sky import GradientSky  # not where there is none

    return GradientSky(**{**values, "sun": unit(sun)}).radiance()
