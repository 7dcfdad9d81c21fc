"""The command `tracecore scene` says which scenes come with the program and what a scene holds, and writes it to other
files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.commands.arguments import add_plugin, add_replacing, add_scene
from renderer.plain_text import line
from renderer.settings.setting import Definitions

if TYPE_CHECKING:
    from scenes import Scene, SceneFacts

EXAMPLES = """\
examples:
  tracecore scene list
  tracecore scene info cornell
  tracecore scene info kitchen.aff --frame 400
  tracecore scene export cornell --to cornell.glb
"""

FORMATS = """\
what is written, by the end of FILE's name:
  .toml  all of the scene, to be edited and rendered; textures and meshes in files beside it
  .aff   the whole animation, with nested transforms, tracks and lights; textures and shared meshes in files beside it
  .obj   triangles at one moment, with materials (.mtl) and textures (.png) beside it
  .glb   triangles at one moment, with materials, textures, cameras and lights, in one file
  .xml   triangles at one moment, for Mitsuba 3, with materials, cameras and lights; meshes (.ply), textures (.png) and
         the environment (.exr) in files beside it

Of several cameras, the one that --camera names comes first, and is the one of a format that has but one. Files that
the scene is read from are never replaced. A line is printed for each thing that the format cannot say.
"""

EXPORT_EXAMPLES = f"""\
{FORMATS}
examples:
  tracecore scene export cornell --to cornell.glb
  tracecore scene export kitchen.aff --to kitchen.obj --frame 400
  tracecore scene export museum --to exchange/museum.aff
  tracecore scene export vases --to exchange/vases.xml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    shipped = actions.add_parser("list", help="shipped scenes, and formats of files")
    add_plugin(shipped)
    shipped.set_defaults(act=print_list)
    info = actions.add_parser("info", help="what a scene holds, at a frame")
    add_scene(info)
    info.set_defaults(act=print_info)
    about = "write a scene to a file of another format"
    export = actions.add_parser("export", help=about, description=about, epilog=EXPORT_EXAMPLES)
    add_scene(export)
    export.add_argument(
        "--to", type=Path, metavar="FILE", required=True, help="file to write; the end of its name says the format"
    )
    add_replacing(export)
    export.set_defaults(act=write_files)


def run(arguments: argparse.Namespace) -> int:
    """Does the action; returns the exit status."""
    arguments.act(arguments)
    return 0


def print_list(_arguments: argparse.Namespace) -> None:
    """Prints names and summaries of the shipped scenes, and what files may end in."""
    import scenes

    for shipped in scenes.shipped_scenes():
        sizes = shipped.sizes
        chosen = "" if sizes is None else f" ({shipped.name}:SIZE, {sizes.least} to {sizes.most} triangles)"
        print(f"{shipped.name:<12} {shipped.summary}{chosen}")
    print(f"files        whose names end in {' '.join(scenes.READERS)}")


def loaded(arguments: argparse.Namespace) -> Scene:
    import scenes

    parameters = Definitions().read(arguments.define or {})
    return scenes.load(
        arguments.scene, parameters=parameters, allow_outside=arguments.allow_outside, strict=arguments.strict
    )


def print_info(arguments: argparse.Namespace) -> None:
    """Prints what a scene holds at the chosen moment."""
    import scenes
    from renderer.scene.render_context import SceneView

    scene = loaded(arguments)
    facts = scenes.describe(scene, SceneView.chosen(arguments).without_triangles(scene))
    for name, text in table(facts).items():
        print(f"{name:<10} {line(text)}")


def write_files(arguments: argparse.Namespace) -> None:
    """Writes a scene in another format; prints the files, and what they do not contain."""
    from renderer.atomic_file import check_replaceable
    from scenes.export import export, looking_through

    scene = loaded(arguments)
    if arguments.camera is not None:
        scene = looking_through(scene, arguments.camera)
    time = scene.animation.time_of(arguments.frame) if arguments.time is None else arguments.time
    exported = export(scene, arguments.to, time, lambda files: check_replaceable(files, arguments.replace))
    for file in exported.files:
        print(f"written    {line(str(file))}")
    for loss in exported.losses:
        print(f"lost       {line(loss)}")


def table(facts: SceneFacts) -> dict[str, str]:
    """Returns rows on a scene, to be read by people."""
    width, height = facts.resolution
    textures = ", ".join(f"{name} {across}x{down}" for name, across, down in facts.textures)
    holes = f"; {facts.cut_out_triangles} cut out by pictures" if facts.cut_out_triangles else ""
    rows = {
        "scene": f"{facts.name} ({facts.source or 'made by code'})",
        "animation": f"{_count(facts.frames, 'frame')}, time {facts.start:g} to {facts.end:g}; here {facts.time:g}",
        "triangles": f"{facts.triangles}, of which {facts.moving_triangles} move and {facts.degenerate_triangles} "
        f"have no area; {facts.surface:.4g} square metres{holes}",
        "memory": f"about {facts.memory_bytes / 1e9:.2g} GB for {facts.stored_triangles} triangles, placed",
        "extent": f"{_point(facts.lower)} to {_point(facts.upper)} metres",
        "materials": f"{facts.materials} of {', '.join(facts.material_kinds) or 'no kind'}",
        "textures": f"{len(facts.textures)}: {textures}" if textures else "none",
        "lights": _lights(facts),
        "cameras": ", ".join(facts.cameras),
        "camera": f"at {_point(facts.eye)}, looking along {_point(facts.forward)}, "
        f"{_view(facts)}, {width}x{height} pixels proposed",
    }
    if facts.round_shapes:
        rows["round"] = (
            f"{facts.round_shapes} balls, cones, cylinders and discs, of {facts.round_triangles} triangles, "
            f"at most {facts.round_error:g} pixels off"
        )
    if facts.notes:
        rows["notes"] = f"{len(facts.notes)}, told above"
    return rows


def _lights(facts: SceneFacts) -> str:
    """Returns, as text, the lights by kind, of which a scene need not have any."""
    words = [_count(number, f"{kind} light") for kind, number in facts.lights]
    words.append(f"{_count(facts.emitters, 'triangle')} that shine")
    width, height = facts.environment
    if width:
        words.append("an environment of " + ("one colour" if width * height == 1 else f"{width}x{height} pixels"))
    return ", ".join(words)


def _view(facts: SceneFacts) -> str:
    """Returns, as text, how much a camera sees, and through what lens."""
    high = f"{facts.vertical_fov:.4g} degrees" if facts.height is None else f"{facts.height:.4g} metres"
    lens = f", through a lens of radius {facts.aperture:.4g} in focus at {facts.focus:.4g}" if facts.aperture else ""
    return f"{high} high{lens}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _point(values: Iterable[float]) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"
