"""This module makes a document of a stage: it walks the prims that are shown, and adds what each of them is."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdLux, UsdSkel

from scenes.document import Document, Origin, Scene, Shape, part_of, triangle_count
from scenes.errors import SceneFileError
from scenes.files.source_file import MAX_PARTS, MAX_TRIANGLES
from scenes.gltf.nodes import inside
from scenes.gltf.pictures import Layout
from scenes.meshes.curves import Turned
from scenes.meshes.geometry import mirrors, rewound
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import IDENTITY, WORLD, Transform, scaling
from scenes.playing.evaluator import scene_of
from scenes.usd.dressing import UsdDressing
from scenes.usd.file import UsdFile
from scenes.usd.lights import LIGHTS, Lamp, LightPrim, mirrored, with_picture
from scenes.usd.meshes import Polygons, compact, material_of
from scenes.usd.motion import Frames, SampledMesh, matrix_of, track_of
from scenes.usd.opening import opened_stage
from scenes.usd.prim_counts import MAX_PRIMS
from scenes.usd.shapes import SHAPES
from scenes.usd.views import add_camera, camera_track
from scenes.views.default_view import SKY

#: Metres of a unit reach so far.
LEAST_UNIT, MOST_UNIT = 1e-6, 1e6
#: Prims that may stand inside one another, and instancers.
MAX_DEPTH, MAX_INSTANCERS = 500, 8
#: Purposes of prims that are not shown.
HIDDEN = (UsdGeom.Tokens.proxy, UsdGeom.Tokens.guide)
#: Children that are looked at, those of instances too. Prototypes of an instancer may stand where nothing else
#: is shown.
CHILDREN = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
OF_PROTOTYPES = Usd.TraverseInstanceProxies(Usd.PrimIsActive & Usd.PrimIsLoaded)


def read_scene(path: Path) -> Scene:
    """Reads the scene of a file. Raises SceneFileError where it cannot be read, or nothing is to be seen in it."""
    document = Document()
    try:
        with opened_stage(path, document.notes) as stage:
            UsdReader(path, stage, document).read()
    except MemoryError as error:
        raise SceneFileError(path, None, "needs more memory than there is") from error
    if not document.triangles:
        raise SceneFileError(path, None, "there are no triangles")
    return scene_of(path.stem, document, str(path))


@dataclass(frozen=True, eq=False)
class Place:
    """Says where a prim stands.

    outer: the transform of the innermost prim around it that moves.
    fixed: (4, 4), where it stands in that.
    matrix: (4, 4), where it stands in the world before anything moves, in the unit of the file.
    depth: how many prims are around it.
    """

    outer: Transform
    fixed: Doubles
    matrix: Doubles
    depth: int = 0


@dataclass(frozen=True, eq=False)
class Piece:
    """Holds a shape with its material, and where it stands in what is to be repeated, (4, 4)."""

    shape: Shape | Turned
    material: int | None
    matrix: Doubles


@dataclass(eq=False)
class UsdReader:
    """Reads a stage into a document. Meshes that stand in several places are made once."""

    path: Path
    stage: Usd.Stage
    document: Document
    shapes: dict[tuple[Any, ...], list[tuple[Shape | Turned, int | None]]] = field(default_factory=dict)
    triangles: int = 0
    prims: int = 0
    has_lamp: bool = False

    def __post_init__(self) -> None:
        unit = UsdGeom.GetStageMetersPerUnit(self.stage)
        self.unit = min(max(unit, LEAST_UNIT), MOST_UNIT) if unit > 0.0 else 0.01
        self.root = scaling(np.full(3, self.unit))
        self.frames = Frames(self.stage)
        self.file = UsdFile(self.path, self.stage, self.document.notes, self.frames.start)
        self.dressing = UsdDressing(self.file, self.document)

    def read(self) -> None:
        self.bake_skins()
        document = self.document
        document.up = "z" if UsdGeom.GetStageUpAxis(self.stage) == UsdGeom.Tokens.z else "y"
        start = Place(inside(WORLD, self.root), IDENTITY, IDENTITY)
        self.walk(self.stage.GetPseudoRoot(), start)
        if document.tracks or any(isinstance(part.shape, SampledMesh) for part in document.parts):
            document.animation = self.frames.span
        if not self.has_lamp:
            document.background, document.is_lit_by_glow = SKY, False

    def bake_skins(self) -> None:
        """Has usd-core give what bends by a skeleton keys of its points, on top of the stage and in no file."""
        skins = [prim for prim in self.stage.Traverse() if prim.IsA(UsdSkel.Root)]
        if not skins:
            return
        session = self.stage.GetSessionLayer()
        session.timeCodesPerSecond = self.frames.per_second  # times of a layer are in its own unit
        self.stage.SetEditTarget(session)
        try:
            first, last = (self.frames.first, self.frames.last) if self.frames.count > 1 else (0.0, 0.0)
            UsdSkel.BakeSkinning(self.stage.Traverse(), Gf.Interval(first, last))
        except Tf.ErrorException:
            self.file.note("what bends by a skeleton stands at rest")

    # --- the walk -----------------------------------------------------------------------------------------------------

    def walk(self, top: Usd.Prim, around: Place) -> None:
        """Adds what is in a prim, and in those in it, those around others first."""
        waiting = [(child, around) for child in reversed(top.GetFilteredChildren(CHILDREN))]
        while waiting:
            prim, outer = waiting.pop()
            self.count(prim, outer)
            if is_hidden(prim, self.file):
                continue
            place = self.placed(prim, outer)
            self.add(prim, place)
            if not prim.IsA(UsdGeom.PointInstancer):
                waiting += [(child, place) for child in reversed(prim.GetFilteredChildren(CHILDREN))]

    def count(self, prim: Usd.Prim, place: Place) -> None:
        """Counts a prim. Raises SceneFileError where there are too many, or it stands too deep."""
        self.prims += 1
        if self.prims > MAX_PRIMS:
            raise SceneFileError(self.path, None, f"over {MAX_PRIMS} prims, with those of instances")
        if place.depth > MAX_DEPTH:
            raise SceneFileError(self.path, None, f"over {MAX_DEPTH} prims stand inside one another")

    def placed(self, prim: Usd.Prim, around: Place) -> Place:
        """Returns where a prim stands that stands in another."""
        here = replace(around, depth=around.depth + 1)
        track = track_of(self.file, self.frames, prim)
        place = UsdGeom.Xformable(prim)
        if not place and track is None:
            return here
        if place and place.GetResetXformStack():
            here = Place(inside(WORLD, self.root), IDENTITY, IDENTITY, here.depth)
        own = matrix_of(place.GetLocalTransformation(self.file.start)) if place else IDENTITY
        if not np.isfinite(own).all():
            self.file.lose(f"the transform of {prim.GetPath()} is left out: it has numbers that are not finite")
            own = IDENTITY
        matrix = here.matrix @ own
        if track is None:
            return Place(here.outer, here.fixed @ own, matrix, here.depth)
        name = str(prim.GetPath())
        self.document.tracks[name] = track
        return Place(inside(here.outer, here.fixed).inner(track=name), IDENTITY, matrix, here.depth)

    def add(self, prim: Usd.Prim, place: Place) -> None:
        """Adds what a prim is, if it is anything that is seen."""
        kind = prim.GetTypeName()
        if kind == "Camera":
            self.add_camera(prim, place)
        elif kind in LIGHTS:
            self.add_light(prim, place)
        elif prim.IsA(UsdGeom.PointInstancer):
            self.add_instances(prim, place)
        elif prim.IsA(UsdGeom.Mesh) or kind in SHAPES:
            for shape, material in self.shapes_of(prim, place.matrix):
                self.add_part(shape, material, inside(place.outer, place.fixed))
            if prim.HasAPI(UsdLux.LightAPI):
                self.file.note("meshes that are lights are seen without their light")
        elif prim.IsA(UsdGeom.Gprim) or prim.HasAPI(UsdLux.LightAPI):
            self.file.note(f"{kind or 'a light'} is left out: there are none here")

    def add_camera(self, prim: Usd.Prim, place: Place) -> None:
        """Adds a camera, and its track if it moves."""
        name = add_camera(self.file, self.document, prim, self.root @ place.matrix)
        if name is not None and is_moving(place.outer):
            track = camera_track(prim, self.frames, self.root)
            if track is not None:
                self.document.tracks[name] = track

    def add_light(self, prim: Usd.Prim, place: Place) -> None:
        """Adds a light, or the surface that it is."""
        self.has_lamp = True
        light = LightPrim(self.file, prim, inside(place.outer, place.fixed), place.matrix, self.unit)
        made = LIGHTS[prim.GetTypeName()](light)
        if isinstance(made, Lamp):
            self.add_lamp(light, made)
        elif not self.document.add_light(replace(made, group=prim.GetName())):
            self.file.note("of several dome lights the first one shines alone")

    def add_lamp(self, light: LightPrim, made: Lamp) -> None:
        """Adds a surface that glows."""
        lamp = with_picture(light, made, self.dressing.pictures)
        shape = mirrored(lamp.shape) if mirrors(light.matrix) else lamp.shape
        surface = lamp.surface
        if not (isinstance(shape, Mesh) and shape.uvs is not None):
            surface = self.dressing.in_one_frame(surface, None)
        self.add_part(shape, self.dressing.material(surface, Layout()), light.transform)

    # --- shapes -------------------------------------------------------------------------------------------------------

    def shapes_of(self, prim: Usd.Prim, matrix: Doubles) -> list[tuple[Shape | Turned, int | None]]:
        """Returns the shapes of a prim, always the same ones for the same prim of a prototype.

        matrix: (4, 4), its place, under which another winding may be in front.
        """
        source = prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim
        is_mirrored = bool(mirrors(matrix))
        path = material_of(prim)
        key = (source.GetPath(), path, is_mirrored)
        if key not in self.shapes:
            self.shapes[key] = list(self.made(prim, path, is_mirrored))
        return self.shapes[key]

    def made(self, prim: Usd.Prim, path: Sdf.Path | None, is_mirrored: bool) -> list[tuple[Shape | Turned, int | None]]:
        """Makes the shapes of a prim. path: of its material."""
        maker = SHAPES.get(prim.GetTypeName())
        if maker is not None:
            shape = maker(self.file, prim)
            return [(mirrored(shape) if is_mirrored else shape, self.dressing.index(prim, path))]
        polygons = Polygons(self.file, prim)
        found: list[tuple[Shape | Turned, int | None]] = []
        groups = list(polygons.groups(path))
        for material, triangles in groups:
            mesh = polygons.mesh_of(triangles)
            mesh = self.dressing.dressed(mesh, polygons, polygons.corners_of(triangles), material)
            mesh = rewound(mesh) if is_mirrored else mesh
            moving = self.sampled(polygons, mesh)
            found.append((moving or (compact(mesh) if len(groups) > 1 else mesh), None))
        return found

    def sampled(self, polygons: Polygons, mesh: Mesh) -> SampledMesh | None:
        """Returns a mesh with keys where its points move, else None."""
        attribute = polygons.mesh.GetPointsAttr()
        if self.frames.count == 1 or not attribute.ValueMightBeTimeVarying():
            return None
        codes = attribute.GetTimeSamples()
        if not self.frames.has_room(len(codes) * mesh.vertices.size):
            self.file.note(f"{polygons.name} does not move, nor what comes after it: there are too many keys")
            return None
        times, points, normals = [], [], []
        for code in codes:
            rows = self.file.rows(attribute, 3, Usd.TimeCode(code))
            if rows is None or rows.shape != polygons.points.shape:
                self.file.note(f"{polygons.name} does not move: it has other points at another time")
                return None
            times.append(self.frames.seconds(code))
            points.append(polygons.refined(rows))
            turned = polygons.normals(Usd.TimeCode(code))
            normals.append(mesh.normals if turned is None else turned.values)
        is_own = polygons.normals() is not None and len({each.shape for each in normals if each is not None}) == 1
        return SampledMesh(mesh, np.array(times), np.array(points), np.array(normals) if is_own else None)

    def add_part(self, shape: Shape | Turned, material: int | None, transform: Transform) -> None:
        """Adds a shape in a place, if it has triangles. Raises where there are too many."""
        part = part_of(shape, transform, Origin(self.path), material)
        count = triangle_count(part.shape)
        self.triangles += count
        if self.triangles > MAX_TRIANGLES or len(self.document.parts) >= MAX_PARTS:
            raise SceneFileError(self.path, None, f"over {MAX_TRIANGLES} triangles or {MAX_PARTS} meshes")
        if count:
            self.document.parts.append(part)

    # --- instances ----------------------------------------------------------------------------------------------------

    def add_instances(self, prim: Usd.Prim, place: Place) -> None:
        """Adds the instances of an instancer."""
        outer = inside(place.outer, place.fixed)
        for piece in self.pieces(prim, place, 0):
            self.add_part(piece.shape, piece.material, inside(outer, piece.matrix))

    def pieces(self, prim: Usd.Prim, place: Place, depth: int) -> list[Piece]:
        """Returns what an instancer repeats, in its own frame. depth: of instancers around it."""
        instancer = UsdGeom.PointInstancer(prim)
        prototypes = instancer.GetPrototypesRel().GetForwardedTargets()
        if depth > MAX_INSTANCERS:
            raise SceneFileError(self.path, None, f"over {MAX_INSTANCERS} instancers stand inside one another")
        indices = self.file.wholes(instancer.GetProtoIndicesAttr())
        try:
            matrices = instancer.ComputeInstanceTransformsAtTime(
                self.file.start, self.file.start, UsdGeom.PointInstancer.ExcludeProtoXform
            )
        except Tf.ErrorException:
            matrices = []
        mask = instancer.ComputeMaskAtTime(self.file.start)
        if mask:
            indices = indices[np.array(mask, np.bool_)] if len(mask) == len(indices) else indices
        if len(matrices) != len(indices):
            self.file.lose(f"{prim.GetPath()} is left out: it has {len(indices)} instances and {len(matrices)} places")
            return []
        if len(indices) > MAX_PARTS:
            raise SceneFileError(self.path, None, f"over {MAX_PARTS} meshes")
        if any(each.ValueMightBeTimeVarying() for each in prim.GetAuthoredAttributes()):
            self.file.note("instances of a PointInstancer do not move")
        own = {number: self.prototype(path, place, depth) for number, path in enumerate(prototypes)}
        if sum(len(own.get(number, ())) for number in indices.tolist()) > MAX_PARTS:
            raise SceneFileError(self.path, None, f"over {MAX_PARTS} meshes")
        return [
            replace(piece, matrix=matrix_of(matrix) @ piece.matrix)
            for number, matrix in zip(indices.tolist(), matrices, strict=True)
            for piece in own.get(number, ())
        ]

    def prototype(self, path: Sdf.Path, place: Place, depth: int) -> list[Piece]:
        """Returns what is in a prototype, in the frame of its instances."""
        top = self.stage.GetPrimAtPath(path)
        found: list[Piece] = []
        waiting = [(top, IDENTITY, place.depth)] if top else []
        while waiting:
            prim, around, level = waiting.pop()
            self.count(prim, replace(place, depth=level))
            if prim != top and is_hidden(prim, self.file):
                continue
            xform = UsdGeom.Xformable(prim)
            matrix = around @ matrix_of(xform.GetLocalTransformation(self.file.start)) if xform else around
            if prim.IsA(UsdGeom.PointInstancer):
                inner = self.pieces(prim, replace(place, depth=level), depth + 1)
                found += [replace(piece, matrix=matrix @ piece.matrix) for piece in inner]
                continue
            if prim.IsA(UsdGeom.Mesh) or prim.GetTypeName() in SHAPES:
                shapes = self.shapes_of(prim, place.matrix @ matrix)
                found += [Piece(shape, material, matrix) for shape, material in shapes]
            elif prim.GetTypeName() in LIGHTS or prim.GetTypeName() == "Camera":
                self.file.note("lights and cameras that an instancer repeats are left out")
            waiting += [(child, matrix, level + 1) for child in reversed(prim.GetFilteredChildren(OF_PROTOTYPES))]
        return found


def is_moving(transform: Transform | None) -> bool:
    """Returns whether a transform, or one around it, has a track."""
    while transform is not None:
        if transform.track:
            return True
        transform = transform.parent
    return False


def is_hidden(prim: Usd.Prim, file: UsdFile) -> bool:
    """Returns whether a prim and all in it are not shown: by its purpose, or while it is invisible at all times."""
    seen = UsdGeom.Imageable(prim)
    if not seen:
        return False
    if file.text(seen.GetPurposeAttr()) in HIDDEN:
        return True
    visibility = seen.GetVisibilityAttr()
    return not visibility.ValueMightBeTimeVarying() and file.text(visibility) == UsdGeom.Tokens.invisible
