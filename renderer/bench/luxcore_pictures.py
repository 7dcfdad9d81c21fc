"""LuxCore renders pictures by its engine `PATHCPU`, of the triangles that this project reads.

It is handed scenes of diffuse surfaces, mirrors and clear glass, lit by surfaces, points, distant lights and an even
sky: of what else there may be its own kinds are other ones. LuxCoreRender Project: LuxCore API SDK (2018).
"""

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyluxcore  # behind NumPy, which does not load behind its allocator

import scenes
from renderer.bench.peer_process import PeerOrder, PeerPicture
from renderer.errors import RenderError
from scenes.lights import DistantLight, PointLight
from scenes.model import Camera, Color, Light, Material, Snapshot

#: Seconds between two looks at whether a picture is finished.
POLL_SECONDS = 0.001

Properties = dict[str, Any]


def render(way: str, order: PeerOrder) -> list[PeerPicture]:
    """Renders pictures.

    way: an engine of LuxCore.
    order: what is rendered.
    Raises `RenderError` for what is not handed over.
    """
    pyluxcore.Init()
    snapshot = scenes.load(str(order.path)).at(0.0)
    scene = pyluxcore.Scene()
    scene.Parse(parsed(camera_properties(order.camera, order.size)))
    for number, material in enumerate(snapshot.materials):
        add_surface(scene, snapshot, number, material)
    for number, light in enumerate(snapshot.lights):
        scene.Parse(parsed(under(f"scene.lights.light{number}", light_properties(light))))
    if snapshot.environment is not None:
        if snapshot.environment.radiance.shape[:2] != (1, 1):
            raise RenderError("of light from all around only one colour is handed to LuxCore, not a picture")
        color = snapshot.environment.radiance[0, 0].tolist()
        scene.Parse(parsed(under("scene.lights.sky", {"type": "constantinfinite", "color": color})))
    return [picture(scene, way, order, samples) for samples in order.samples]


def parsed(values: Properties) -> Any:
    """Returns properties as LuxCore takes them: each is a list of values."""
    made = pyluxcore.Properties()
    for name, value in values.items():
        made.Set(pyluxcore.Property(name, list(value) if isinstance(value, list | tuple) else [value]))
    return made


def under(prefix: str, values: Properties) -> Properties:
    """Returns properties with a prefix to their names."""
    return {f"{prefix}.{name}": value for name, value in values.items()}


def camera_properties(camera: Camera, size: tuple[int, int]) -> Properties:
    """Returns a pinhole. Its window is one pixel lower, since LuxCore's pictures are one row higher."""
    if camera.aperture > 0.0 or camera.height is not None:
        raise RenderError("lenses and orthographic cameras are not handed to LuxCore")
    high = math.tan(math.radians(0.5 * camera.vertical_fov)) * camera.height_factor(size[0] / size[1])
    wide, row = high * size[0] / size[1], 2.0 * high / size[1]
    target = [float(a + b) for a, b in zip(camera.eye, camera.forward, strict=True)]
    place = {"lookat.orig": camera.eye, "lookat.target": target, "up": camera.up}
    window = {"fieldofview": 90.0, "screenwindow": [-wide, wide, -high - row, high - row]}
    return under("scene.camera", {"type": "perspective", "autofocus.enable": False} | place | window)


def add_surface(scene: Any, snapshot: Snapshot, number: int, material: Material) -> None:
    """Adds the triangles of a material."""
    chosen = snapshot.material_ids == number
    if not chosen.any():
        return
    points = [tuple(point) for point in snapshot.positions[chosen].reshape(-1, 3).tolist()]
    normals = [tuple(normal) for normal in snapshot.normals[chosen].reshape(-1, 3).tolist()]
    corners = [tuple(row) for row in np.arange(len(points)).reshape(-1, 3).tolist()]
    name = f"part{number}"
    scene.DefineMesh(name, points, corners, normals, None, None, None)
    scene.Parse(parsed(under(f"scene.materials.{name}", dict(surface_properties(material)))))
    scene.Parse(parsed(under(f"scene.objects.{name}", {"shape": name, "material": name})))


def surface_properties(material: Material) -> Iterator[tuple[str, Any]]:
    """Yields the properties of a material. Raises `RenderError` for one that is not handed over."""
    is_even = material.kind == "metal" and not any(material.eta)
    if material.pictures or (material.kind in ("metal", "dielectric") and material.roughness > 0.0):
        raise RenderError(f"material '{material.name}' is not handed to LuxCore: it has pictures, or is rough")
    if material.kind == "diffuse":
        yield from {"type": "matte", "kd": material.diffuse}.items()
    elif material.kind == "mirror" or is_even:
        yield from {"type": "mirror", "kr": material.specular}.items()
    elif material.kind == "dielectric":
        share: Color = (material.transmittance,) * 3
        yield from {"type": "glass", "kr": share, "kt": share}.items()
        yield from {"interiorior": material.ior, "exteriorior": 1.0}.items()
    else:
        raise RenderError(f"material '{material.name}' of kind {material.kind} is not handed to LuxCore")
    if any(material.emission):
        yield "emission", material.emission


def light_properties(light: Light) -> Properties:
    """Returns the properties of a light. Raises `RenderError` for one that is not handed over."""
    if isinstance(light, PointLight):  # it takes the power, watts
        power = [4.0 * math.pi * channel for channel in light.intensity]
        return {"type": "point", "position": light.position, "color": power}
    if isinstance(light, DistantLight):
        return {"type": "sharpdistant", "direction": light.direction, "color": light.irradiance}
    raise RenderError(f"lights of kind {light.kind} are not handed to LuxCore: its own fade otherwise")


def picture(scene: Any, way: str, order: PeerOrder, samples: int) -> PeerPicture:
    width, height = order.size
    seconds, linear = [], np.zeros((height, width, 3), np.float32)
    for seed in range(order.repeats):
        session = pyluxcore.RenderSession(pyluxcore.RenderConfig(parsed(engine(way, order, samples, seed)), scene))
        session.Start()
        start = time.perf_counter()
        while not session.HasDone():
            time.sleep(POLL_SECONDS)
            session.UpdateStats()
        session.GetFilm().GetOutputFloat(pyluxcore.FilmOutputType.RGB_IMAGEPIPELINE, linear, 0)
        seconds.append(time.perf_counter() - start)
        session.Stop()
    return PeerPicture(samples=samples, seconds=seconds, linear=linear[::-1].copy())


def engine(way: str, order: PeerOrder, samples: int, seed: int) -> Properties:
    """Returns how a picture is rendered: all paths as long as ours, pixels the mean over their square."""
    depths = dict.fromkeys(("total", "diffuse", "glossy", "specular"), order.max_bounces + 1)
    threads = {} if order.threads is None else {"native.threads.count": order.threads}
    film = {"width": order.size[0], "height": order.size[1], "filter.type": "BOX", "filter.width": 0.5}
    return {
        "renderengine.type": way,
        "renderengine.seed": 1 + seed,
        "sampler.type": "SOBOL",
        "batch.haltspp": samples,
        **under("path.pathdepth", depths),
        **under("film", film | {"imagepipelines.0.0.type": "NOP"}),
        **threads,
    }
