"""`tracecore scene`: which scenes come with the program, and what a scene holds."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from renderer.arguments import add_scene

if TYPE_CHECKING:
    from scenes import SceneFacts

SUMMARY = "list the scenes that come with the program, or tell what a scene holds"

EXAMPLES = """\
examples:
  tracecore scene list
  tracecore scene info cornell
  tracecore scene info kitchen.aff --frame 400
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.epilog = EXAMPLES
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="shipped scenes").set_defaults(act=print_list)
    info = actions.add_parser("info", help="what a scene holds, at a frame")
    add_scene(info)
    info.set_defaults(act=print_info)


def run(arguments: argparse.Namespace) -> int:
    """Do the action; returns the exit status."""
    arguments.act(arguments)
    return 0


def print_list(_arguments: argparse.Namespace) -> None:
    """Names and summaries of the shipped scenes."""
    import scenes

    for shipped in scenes.shipped_scenes():
        print(f"{shipped.name:<12} {shipped.summary}")


def print_info(arguments: argparse.Namespace) -> None:
    """What a scene holds at the chosen moment."""
    import scenes
    from renderer.stage import Moment

    scene = scenes.load(arguments.scene)
    facts = scenes.describe(scene, Moment.chosen(arguments).of(scene))
    for name, text in table(facts).items():
        print(f"{name:<10} {text}")


def table(facts: SceneFacts) -> dict[str, str]:
    """Rows to be read by people."""
    width, height = facts.resolution
    textures = ", ".join(f"{name} {across}x{down}" for name, across, down in facts.textures)
    return {
        "scene": f"{facts.name} ({facts.source or 'made by code'})",
        "animation": f"{_count(facts.frames, 'frame')}, time {facts.start:g} to {facts.end:g}; here {facts.time:g}",
        "triangles": f"{facts.triangles}, of which {facts.moving_triangles} move and {facts.degenerate_triangles} "
        f"have no area; {facts.surface:.4g} square metres",
        "extent": f"{_point(facts.lower)} to {_point(facts.upper)} metres",
        "materials": f"{facts.materials} of {', '.join(facts.material_kinds) or 'no kind'}",
        "textures": f"{len(facts.textures)}: {textures}" if textures else "none",
        "lights": f"{_count(facts.point_lights, 'point')}, {_count(facts.emitters, 'triangle')} that shine",
        "camera": f"at {_point(facts.eye)}, looking along {_point(facts.forward)}, "
        f"{facts.vertical_fov:.4g} degrees high, {width}x{height} pixels proposed",
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _point(values: Iterable[float]) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"
