"""Keys of frames: whatever can change a bit of a picture changes its key, whether or not anybody thought of it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, make_dataclass, replace
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
import pytest
from small_scenes import lamp_in_box

from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.film.image_file import FilmTime
from renderer.run.motion import Motion, block_of
from renderer.run.plan import Plan
from renderer.run.resuming import frame_key as keys
from renderer.run.resuming.fingerprint import Fingerprints
from renderer.run.resuming.frame_key import frame_key
from renderer.scene.render_context import SceneView, TracerChoice
from renderer.settings.picture import OF_CLUSTER, UNSHARED, Settings
from renderer.settings.setting import settings_of
from scenes import model
from scenes.lights import DistantLight, PointLight, SpotLight
from scenes.model import Camera, Environment, Material, Snapshot, Texture
from shaders import registry
from shaders.bsdfs import diffuse, nff
from shaders.compilation import compiled
from shaders.registry import register_shader

X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


def everything() -> Snapshot:
    """A scene that has something of every kind."""
    box = lamp_in_box()
    texture = Texture(name="a", pixels=np.zeros((2, 3, 3), np.uint8), alpha=np.zeros((2, 3), np.uint8))
    lights = (
        PointLight(position=X, intensity=Y),
        SpotLight(position=X, direction=Y, intensity=X, inner_angle=20.0, outer_angle=30.0),
        DistantLight(direction=X, irradiance=Y),
    )
    sky = Environment(radiance=np.ones((2, 4, 3), np.float32))
    camera = replace(box.camera, height=2.0)
    return replace(box, textures=(texture,), lights=lights, environment=sky, camera=camera, cameras={"a": box.camera})


SMALL = RenderSettings(width=4, height=3)


@dataclass(frozen=True, kw_only=True)
class ChosenPlan(Plan):
    """A plan whose resolved settings and motion are chosen."""

    resolved: RenderSettings = SMALL
    looks: Motion | None = None

    def driver_settings(self, snapshot: Snapshot) -> RenderSettings:
        return self.resolved

    @property
    def motion(self) -> Motion | None:
        return self.looks


@pytest.fixture(autouse=True)
def _plans_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this class has beside a plan is not walked as a part of it."""
    monkeypatch.setitem(keys.LEFT_OUT, ChosenPlan, dict.fromkeys(("resolved", "looks"), keys.RESOLVED))


def plan(**given: Any) -> Plan:
    """What is asked for, of a size that leaves the rest open."""
    common = {"scene": everything(), "driver": DRIVERS["path"], "settings": Settings(passes=2)}
    return ChosenPlan(**(common | given))


def settings_key(settings: RenderSettings) -> str:
    return frame_key(plan(resolved=settings), everything(), 2)


def changed(value: Any) -> Any:
    """Another value of the same kind, as near as it can be."""
    match value:
        case None:
            return 1
        case bool():
            return not value
        case Enum():
            return next(other for other in type(value) if other is not value)
        case int():
            return value + 1
        case float():
            return math.nextafter(value, math.inf)
        case str():
            return value + "'"
        case np.ndarray():
            other = value.copy()
            other.reshape(-1).view(np.uint8)[-1] ^= 1
            return other
        case tuple():
            return (*value[:-1], changed(value[-1])) if value else (1,)
        case Mapping():
            return {**value, "more": 1.0}
        case _ if is_dataclass(value):
            first = fields(value)[0].name
            return replace(value, **{first: changed(getattr(value, first))})
    raise TypeError(f"this test cannot change a {type(value).__name__}; teach it")


def neighbours(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Values in which one field of one dataclass differs, at any depth, and the path to it."""
    if is_dataclass(value):
        for field in fields(value):
            if field.name == "cameras":  # a frame is seen through `camera` alone
                continue
            inner, path = getattr(value, field.name), f"{where}.{field.name}"
            for found, other in neighbours(inner, path):
                yield found, replace(value, **{field.name: other})
            if not is_dataclass(inner):
                yield path, replace(value, **{field.name: changed(inner)})
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            for found, other in neighbours(item, f"{where}[{index}]"):
                yield found, (*value[:index], other, *value[index + 1 :])


def test_every_field_of_every_dataclass_of_a_scene_is_in_the_key(monkeypatch):
    monkeypatch.setattr(keys, "get_shader", lambda kind: nff.BSDF)  # there is none of a changed name
    scene = everything()
    key, found = frame_key(plan(), scene, 2), dict(neighbours(scene, "scene"))
    assert [path for path, other in found.items() if frame_key(plan(), other, 2) == key] == []
    reached = {path.rpartition(".")[2] for path in found}
    kinds = (Snapshot, Texture, Material, PointLight, SpotLight, DistantLight, Environment, Camera)
    missing = {field.name for kind in kinds for field in fields(kind)} - reached
    assert missing == {"cameras", "camera", "environment"}
    known = {kind for kind in vars(model).values() if isinstance(kind, type) and is_dataclass(kind)}
    known |= {PointLight, SpotLight, DistantLight}
    assert known - {*kinds} == {model.Mesh, model.AnimationRange}  # of which a snapshot has none


def test_what_a_file_of_a_material_holds_is_in_the_key_of_a_frame(tmp_path):
    (tmp_path / "a.binary").write_bytes(b"one")
    scene = replace(everything(), materials=(Material(own={"file": str(tmp_path / "a.binary")}),))
    before = frame_key(plan(), scene, 2)
    assert frame_key(plan(), scene, 2) == before
    (tmp_path / "a.binary").write_bytes(b"two")
    assert frame_key(plan(), scene, 2) != before


@pytest.mark.parametrize("base", [Texture, Material, Environment, PointLight, Camera, Snapshot])
def test_a_field_that_nobody_thought_of_is_in_the_key(base):
    kind = make_dataclass("Newer", [("novelty", float, 0.0)], bases=(base,), frozen=True, kw_only=True)
    scene = everything()
    parts = {
        Texture: lambda part: replace(scene, textures=(part,)),
        Material: lambda part: replace(scene, materials=(part,)),
        Environment: lambda part: replace(scene, environment=part),
        PointLight: lambda part: replace(scene, lights=(part,)),
        Camera: lambda part: replace(scene, camera=part),
        Snapshot: lambda part: part,
    }
    old = {
        Texture: scene.textures[0],
        Material: scene.materials[0],
        Environment: scene.environment,
        PointLight: scene.lights[0],
        Camera: scene.camera,
        Snapshot: scene,
    }[base]
    values = {field.name: getattr(old, field.name) for field in fields(base)}
    first, second, again = (parts[base](kind(**values, novelty=value)) for value in (0.0, 1.0, 0.0))
    assert frame_key(plan(), first, 2) == frame_key(plan(), again, 2) != frame_key(plan(), second, 2)


def test_every_setting_is_in_the_key_but_those_that_change_no_bit():
    settings = RenderSettings(width=4, height=3, photons=5, radius=0.5, threads=1)
    same = {
        field.name
        for field in fields(settings)
        if settings_key(replace(settings, **{field.name: changed(getattr(settings, field.name))}))
        == settings_key(settings)
    }
    assert same == {"threads", "batch_rays", "shading", "is_logged"}


#: Another value of each setting that is not just a little greater.
OTHERS = {
    "driver": "photon",
    "shading": "auto",
    "progress": "json",
    "output": "a.png",
    "save_photons": "a.npz",
    "load_photons": "a.photons",
    "timeline": "a.json",
    "size": (5, 3),
    "define": {"a": "1"},
    "crop": (0, 0, 1, 1),
    "layers": ("depth",),
    "exr": "multi",
    "tone_map": "linear",
    "white_point": (0.3, 0.3),
    "eye": (0.0, 0.0, 1.0),
    "look_at": (0.0, 0.0, 1.0),
    "up": (0.0, 0.0, 1.0),
    "up_axis": "z",
    "filter": "tent",
    "sampler": "random",
    "update": "refit",
    "guide_share": 0.5,
    "mirrors": "none",
    "ambient": "none",
    "device": "cpu",
    "dispatch": "streamed",
    "batch_rays": 256,
    "builder": "ploc",
    "verify": 0.5,
    "fallback": "cpu",
    "memory": 10**9,
    **dict.fromkeys(("tls_ca", "tls_cert", "tls_key"), "a.pem"),
}


def changed_setting(name: str, value: Any) -> Settings:
    more = {"cluster": "a"} if name in OF_CLUSTER else {}
    return replace(Settings(passes=2), **more, **{name: OTHERS.get(name, "a" if name in NAMES else changed(value))})


#: Settings that are any name.
NAMES = ("camera", "kernel", "cluster")


def test_every_setting_that_decides_the_picture_is_in_the_key_resolved_or_as_it_is(monkeypatch):
    monkeypatch.setattr(keys, "program", lambda *, is_denoised: {})  # the denoiser may not be there
    scene, first = everything(), plan()
    key = frame_key(first, scene, 2)
    differ = {
        name
        for name in settings_of(Settings)
        if frame_key(plan(settings=changed_setting(name, getattr(first.settings, name))), scene, 2) != key
    }
    assert differ == {
        "passes",
        "time_limit",
        "target_noise",
        "layers",
        "exr",
        "denoise",
        "clamp",
        "exposure",
        "tone_map",
        "white_point",
        "shutter",
        "motion_samples",
    }
    of_driver = {field.name for field in fields(RenderSettings)}
    of_scene = {field.name for field in fields(SceneView)} | {"eye", "look_at", "up", "fov", "up_axis"}
    rest = set(settings_of(Settings)) - differ - of_driver - of_scene
    assert rest == {
        *("size", "draft", "filter", "driver"),  # which are resolved by other names
        *("output", "preview", "checkpoint", "resume", "save_photons", "load_photons", "timeline", "quiet", "progress"),
        *("device", "kernel", "dispatch", *UNSHARED, "builder", "verify", "fallback"),
        *("memory", "update"),
    }


def test_every_part_of_a_plan_is_in_the_key_but_those_that_change_no_bit():
    scene, first = everything(), plan(film_time=FilmTime(0, 25.0))
    others = {
        "scene": None,
        "driver": DRIVERS["photon"],
        "settings": Settings(passes=3),
        "resolved": RenderSettings(width=4, height=3, seed=2),
        "looks": None,
        "film_time": FilmTime(1, 25.0),
        "asked": {"seed": 5},
    }
    same = set()
    for field in (field for field in fields(first) if field.init):
        value = others[field.name] if field.name in others else changed(getattr(first, field.name))
        if frame_key(replace(first, **{field.name: value}), scene, 1) == frame_key(first, scene, 1):
            same.add(field.name)
    assert same == {"scene", "load_seconds", "asked", "shared", "looks"}


@pytest.mark.parametrize("passes", [1, 2, 5])
def test_all_times_at_which_the_passes_look_are_in_the_key_and_no_others(passes):
    """With 2 samples passes 0 and 1 have a time each, 2 and 3 one, 4 and 5 one."""
    still = everything()
    choice = TracerChoice()
    looks = Motion(shutter=1.0, samples=2, snapshot_at=lambda time: replace(still, time=time), choice=choice)

    def place(moved, time):
        return replace(looks.snapshot_at(time), background=X if time == moved else Y)

    for block in range(6):
        moved = looks.time_of(block, 0.0, 0)
        first, second = (plan(looks=replace(looks, snapshot_at=partial(place, when))) for when in (None, moved))
        is_seen = block in {block_of(index, 2) for index in range(passes)}
        assert (frame_key(first, still, passes) != frame_key(second, still, passes)) == is_seen


def test_what_the_program_computes_with_is_in_the_key(monkeypatch):
    before = frame_key(plan(), everything(), 2)
    monkeypatch.setattr(keys, "program", lambda *, is_denoised: {"sources": "others"})
    assert frame_key(plan(), everything(), 2) != before


def test_the_key_has_the_sources_of_all_packages_that_compute_a_picture():
    names = set(keys.source_files())
    assert {"renderer/run/plan.py", "renderer/drivers/photon.py", "shaders/registry.py", "tracecore/errors.py"} <= names


@pytest.mark.parametrize("field", ["at_point", "pack", "stores"])
def test_functions_of_shaders_of_ones_own_are_in_the_key(field, monkeypatch):
    monkeypatch.setattr(registry, "_shaders", {"diffuse": diffuse.BSDF})

    def function(share):
        return (lambda _, surface: share) if field == "at_point" else (lambda _: share)

    scene = replace(everything(), materials=(Material(kind="own"),))
    found = []
    for share in (0.1, 0.2, 0.1):
        register_shader(replace(nff.BSDF, name="own", **{field: function(share)}))
        found.append(frame_key(plan(), scene, 2))
    assert found[0] == found[2] != found[1]


PAINT = np.array([0.1, 0.2])


def painted(nff, w):
    return (PAINT[0], PAINT[0], PAINT[1])


@pytest.mark.parametrize("field", ["at_point", "reflectance"])
def test_numbers_that_functions_of_shaders_find_elsewhere_are_in_the_key(field, monkeypatch):
    monkeypatch.setattr(registry, "_shaders", {"diffuse": diffuse.BSDF})
    scene = replace(everything(), materials=(Material(kind="own"),))
    found = []
    for second in (0.2, 0.3, 0.2):
        monkeypatch.setitem(globals(), "PAINT", np.array([0.1, second]))
        functions = {"at_point": painted, "reflectance": compiled(painted)}
        own = {field: functions[field], "simpler": lambda _: None}
        register_shader(replace(nff.BSDF, name="own", **own))
        found.append(frame_key(plan(), scene, 2))
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        ((1,), (1.0,)),
        ((1,), (True,)),
        ((0.0,), (-0.0,)),
        ((), ((),)),
        ((1, 2), [1, 2]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2, np.float32), np.zeros(2, np.int32)),
        (np.zeros(0), None),
        (np.array([0.0, 1.0, 2.0, 3.0])[::2], np.array([0.0, 1.0, 2.0, 3.0])[:2]),
    ],
)
def test_what_looks_alike_has_fingerprints_of_its_own(one, other):
    assert Fingerprints().of(one) != Fingerprints().of(other)
    assert Fingerprints().of(one) == Fingerprints().of(one)
