"""This module measures pictures of one scene after the other: by drivers on devices, then by peers."""

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from renderer.bench.error_benchmark import Picture, Reference, reference_picture
from renderer.bench.peer_process import PeerOrder
from renderer.bench.picture_benchmark import PicturePlan, peer_table, picture_row, table
from renderer.bench.picture_peers import peer_rows
from renderer.drivers.driver import RenderSettings
from renderer.scene.render_context import SceneView, TracerChoice, context_of, load_for
from scenes.export import export
from scenes.export.text import words
from scenes.model import Snapshot
from scenes.scene import Scene
from tracecore.cuda.device import gpu_unavailable_reason

#: What a scene's file ends in that peers read themselves.
PEER_SUFFIX = ".xml"

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class MeasuredScene:
    """Holds the rows of a scene: those of drivers and those of peers, with its name."""

    name: str
    triangles: int
    pictures: list[Row]
    peers: list[Row]


def devices_here() -> list[str]:
    """Returns the devices that pictures are compared on: those that there are, the fastest first."""
    return ["cpu"] if gpu_unavailable_reason() else ["gpu", "cpu"]


def measured_scenes(arguments: argparse.Namespace) -> Iterator[MeasuredScene]:
    """Yields scene after scene as soon as it is measured, and prints what was found.

    arguments: those of `renderer.commands.bench_pictures`, checked.
    """
    for name in arguments.scenes:
        scene = load_for(arguments, name)
        snapshot = SceneView.chosen(arguments).of(scene)
        pictures, reference = driver_rows(arguments, snapshot)
        peers: list[Row] = []
        if arguments.peers:
            peers = [{"scene": snapshot.name} | row for row in rows_of_peers(arguments, scene, snapshot, reference)]
            print(peer_table(peers), flush=True)
        yield MeasuredScene(name=snapshot.name, triangles=len(snapshot.positions), pictures=pictures, peers=peers)


def driver_rows(arguments: argparse.Namespace, snapshot: Snapshot) -> tuple[list[Row], Picture]:
    """Returns the rows of all drivers on all devices, and the reference, which the first device makes if it must."""
    width, height = arguments.size
    settings = RenderSettings(
        width=width,
        height=height,
        photons=arguments.photons,
        sampler=arguments.sampler,
        threads=arguments.threads,
    )
    plan = PicturePlan(settings=settings, passes=arguments.passes, repeats=arguments.repeat)
    made_by = Reference(
        path=arguments.references and arguments.references / f"{words([snapshot.name])[0]}.npy",
        driver=arguments.reference_driver,
        seconds=arguments.reference_seconds,
    )
    found: list[Row] = []
    reference: Picture | None = None
    for device in arguments.devices:
        choice = TracerChoice(device=device, threads=arguments.threads)
        with context_of(snapshot, choice, load_seconds=0.0) as context:
            if reference is None:
                reference = reference_picture(context, settings, made_by)
            rows = [picture_row(context, driver, plan, reference) for driver in arguments.drivers]
        print(table(rows), flush=True)
        found += rows
    assert reference is not None
    return found, reference


def rows_of_peers(arguments: argparse.Namespace, scene: Scene, snapshot: Snapshot, reference: Picture) -> list[Row]:
    """Returns the rows of all peers on all devices. What an export for them loses is printed."""
    with tempfile.TemporaryDirectory(prefix="tracecore-") as folder:
        path = Path(scene.source)
        if path.suffix.lower() != PEER_SUFFIX:
            exported = export(scene, Path(folder) / f"scene{PEER_SUFFIX}", snapshot.time)
            path = exported.files[0]
            print("\n".join(f"lost       {loss}" for loss in exported.losses), flush=True)
        order = PeerOrder(
            path=path.resolve(),
            camera=snapshot.camera,
            size=arguments.size,
            samples=arguments.samples,
            max_bounces=RenderSettings(width=1, height=1).max_bounces,
            repeats=arguments.repeat,
            threads=arguments.threads,
        )
        return list(peer_rows(arguments.peers, arguments.devices, order, reference))
