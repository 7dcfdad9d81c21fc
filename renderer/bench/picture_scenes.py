"""This module measures pictures of one scene after the other: by drivers on devices, then by peers.

A peer is a module with `render(way, order)` and a row in `PEERS`. One that fails is left out; a line on stderr says so.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from renderer.bench.error_benchmark import Picture, Reference, error_of, reference_picture
from renderer.bench.peer_process import PeerOrder, in_process
from renderer.bench.picture_benchmark import PicturePlan, peer_table, picture_row, table
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


@dataclass(frozen=True, kw_only=True)
class PeerModule:
    """Says where a peer is found.

    module: the module that has `render(way, order)`, which returns pictures in the order of `samples`.
    package: what it needs, by the name that pip knows.
    ways: the device that each of its ways runs on, by name.
    """

    module: str
    package: str
    ways: dict[str, str]


PEERS = {
    "mitsuba": PeerModule(
        module="renderer.bench.mitsuba_pictures",
        package="mitsuba",
        ways={"scalar_rgb": "cpu", "llvm_ad_rgb": "cpu", "cuda_ad_rgb": "gpu"},
    ),
    "luxcore": PeerModule(module="renderer.bench.luxcore_pictures", package="pyluxcore", ways={"PATHCPU": "cpu"}),
}


def peer_rows(names: Sequence[str], devices: Sequence[str], order: PeerOrder, reference: Picture) -> Iterator[Row]:
    """Yields a row for each way of each peer that runs on one of the devices, with the error of its pictures."""
    for name in names:
        for way, device in PEERS[name].ways.items():
            if device not in devices:
                continue
            try:
                made = in_process(PEERS[name].module, way, order)
            except Exception as error:  # whatever a peer raises, or that it has crashed
                reason = " ".join(str(error).split()) or type(error).__name__
                if isinstance(error, ImportError):
                    reason += f"; install it with: pip install {PEERS[name].package}"
                print(f"tracecore: peer '{name}' ({way}) is left out: {reason[:300]}", file=sys.stderr, flush=True)
                continue
            errors = [
                {"passes": one.samples, "seconds": median(one.seconds), "error": error_of(one.linear, reference)}
                for one in made
            ]
            yield {"peer": f"{name} {way}", "device": device, "errors": errors}
