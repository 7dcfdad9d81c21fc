"""This package writes scenes to files. A format is a writer beside its reader and one row in `WRITERS`; here is what
several of them use.

A writer gets a scene, the path of the file to write and a time, for formats without animation. It writes that file, and
others in the same folder if it must, and returns a line for each thing that the format cannot say.
"""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from scenes.document import Scene
from scenes.errors import SceneError
from scenes.files.written_file import WriteError, part_of, put, target_of
from scenes.playing.evaluator import scene_of
from tracecore.on_demand import OnDemand

Writer = Callable[[Scene, Path, float], tuple[str, ...]]

#: Writers of files, by suffix.
WRITERS: OnDemand[Writer] = OnDemand(
    {
        ".toml": "scenes.toml_scene.writer:write_toml",
        ".aff": "scenes.aff.writer:write_aff",
        ".obj": "scenes.wavefront.writer:write_obj",
        ".glb": "scenes.gltf.writer:write_glb",
        ".xml": "scenes.mitsuba.writer:write_mitsuba",
    }
)


@dataclass(frozen=True, kw_only=True)
class Exported:
    """Says what was written and what was lost.

    files: those written, the scene's own first.
    losses: a line for each thing that the files do not say.
    """

    files: tuple[Path, ...]
    losses: tuple[str, ...]


def export(
    scene: Scene, path: Path, frame_time: float, check: Callable[[Iterable[Path]], None] = lambda _: None
) -> Exported:
    """Writes a scene to a file, and to others beside it where the format needs them.

    Files that are there are replaced, each in one step, once all new ones are written.

    path: its suffix says the format.
    frame_time: the time that formats without animation get, in the unit of the scene's animation range.
    check: raises an error where one of these files may not be replaced; it is asked of `path` before anything is done.

    Raises SceneError for a suffix of no format, for a folder that is not there, for a name that is no text, and where a
    file of the scene itself would be replaced; WriteError where a file cannot be written.
    """
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise SceneError(f"no format for {str(path)!r}; scenes are written to files that end in {' '.join(WRITERS)}")
    folder = path.parent
    if not folder.is_dir():
        raise SceneError(f"no folder {str(folder)!r} to write {path.name!r} in; make it first")
    if path.name.encode(errors="replace").decode() != path.name:
        raise SceneError(f"the name of {str(path)!r} is no text, and files of a scene are named in one another")
    check_apart([path], scene.files)
    check([path])
    try:
        with place_of(path) as unfinished:
            losses = writer(scene, Path(unfinished) / path.name, frame_time)
            names = [file.name for file in Path(unfinished).iterdir()]
            names.sort(key=lambda name: (name != path.name, name))
            files = [folder / name for name in names]
            check_apart(files, scene.files)
            check(files)
            for name in reversed(names):  # the scene last, so that what it refers to is there
                put(Path(unfinished) / name, folder / name)
    except OSError as error:
        name = Path(str(error.filename or path)).name  # in the folder of files that were not finished
        raise WriteError(folder / name, error) from error
    rounded = [texture.name for texture in scene.document.textures if texture.colors is not None]
    losses = (*losses, *(f"texture {name!r} is rounded to 8 bits and to the range from 0 to 1" for name in rounded))
    return Exported(files=tuple(folder / name for name in names), losses=losses)


def place_of(path: Path) -> AbstractContextManager[Path | str]:
    """Returns the folder in which the files of a scene are written at first, which is removed in the end: on the disk
    where they shall be, or among the system's temporary files where the path stands for no file."""
    if target_of(path) is None:
        return tempfile.TemporaryDirectory(prefix="tracecore-")
    return part_of(path, is_folder=True)


def check_apart(paths: Sequence[Path], read: Sequence[Path]) -> None:
    """Raises SceneError where a file that shall be written is one of those that were read."""
    for path in paths:
        if any(path.exists() and other.exists() and path.samefile(other) for other in read):
            raise SceneError(f"{path} would be replaced, which the scene is read from; write to another name or folder")


def looking_through(scene: Scene, camera: str) -> Scene:
    """Returns the scene with the camera of a name as its first. Raises SceneError where there is none of this name."""
    scene.at(scene.animation.start).seen_by(camera)
    cameras = scene.document.cameras
    if camera not in cameras:  # the one that a scene without any is given
        return scene
    document = replace(scene.document, cameras={camera: cameras[camera], **cameras})
    return replace(scene_of(scene.name, document, scene.source), files=scene.files)
