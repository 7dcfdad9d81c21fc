"""Reader of AFF, the animated format of the BART scenes, and of plain NFF, which it extends.

Lext, Assarsson, Möller: BART: A Benchmark for Animated Ray Tracing (2000); Haines: A Proposal for Standard Graphics
Environments (1987). What the formats leave open is decided so:

* Materials keep the numbers of the file (kind "nff"); shaders see to the conservation of energy. Ambient light and
  colours are left out, for they stand for what photons do; a surface that has nothing else becomes diffuse.
* Lights have no falloff in these formats. Strength c becomes I = pi c d^2 (W/sr) where d is the median distance of
  surface from the lights at the first time of the animation: see `scenes.aff.stage.typical_distance`.
* `angle` is the vertical field of view. An NFF picture is square, so that only the height of its resolution counts;
  an AFF picture is as wide as its resolution says.
* A file without a camera is seen from a three-quarter view, one without lights is lit from beside the camera.
* Spheres and cones become triangles with exact normals.
"""

from pathlib import Path

from scenes.aff.parser import read_document
from scenes.aff.stage import Stage
from scenes.errors import SceneFileError
from scenes.model import Scene


def read(path: Path) -> Scene:
    """The scene of an .aff or .nff file. Raises SceneFileError with the file and line of what is wrong."""
    document = read_document(path)
    stage = Stage(path.stem, document)
    if stage.triangles == 0:
        raise SceneFileError(path, None, "there are no triangles, in this file or in those that it includes")
    start = document.animation.start
    stage.snapshot(start)  # finds what float32 cannot hold before anything is rendered
    return Scene(
        name=stage.name,
        snapshot=stage.snapshot,
        animation=document.animation,
        source=str(path),
        moving_triangles=stage.moving_triangles,
    )
