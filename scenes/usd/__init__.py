"""This package reads scenes of USD, .usda, .usdc, .usd and .usdz (Pixar: Universal Scene Description, 2016), through
usd-core, which is imported when such a file is read.

`opening` opens a stage without surprises, `trial_process` and `prim_counts` find those that would do harm, `reader`
walks its prims; `meshes`, `subdivision` and `shapes` make triangles of them, `surfaces` and `pictures` materials,
`views` and `lights` cameras and lights, `motion` tracks. docs/usd.md says what is read, approximated, noted and
refused.
"""

from pathlib import Path

from scenes.document import Scene
from scenes.errors import SceneFileError
from scenes.files.source_file import check_file

#: The most bytes of one layer.
MAX_FILE_BYTES = 1 << 30


def read(path: Path) -> Scene:
    """Reads the scene of a USD file. Raises SceneFileError where it cannot be read, or usd-core is not installed."""
    check_file(path, MAX_FILE_BYTES)
    try:
        import pxr  # noqa: F401
    except ImportError as error:
        raise SceneFileError(path, None, "USD files need usd-core: pip install 'tracecore[usd]'") from error
    from scenes.usd.reader import read_scene

    return read_scene(path)
