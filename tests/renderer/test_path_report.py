"""A path that is traced alone brings its pixel what it brings it among all, and is told step by step."""

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_scenes import inside_of_lamp_box

from renderer import cli
from renderer.drivers.driver import Radiance
from renderer.errors import UsageError
from renderer.run.picture.pass_source import PassSource
from renderer.run.picture.path_report import PathTrace, trace_path
from renderer.run.render_call import opened, plan_picture
from renderer.settings.picture import Settings
from renderer.settings.setting import PathName, read_path_name
from scenes.model import Material, Snapshot

SIZE = (16, 12)
CHOSEN = Settings(device="cpu", size=SIZE, threads=2, max_bounces=6, exposure=0.0, quiet=True)


def metal_box() -> Snapshot:
    """A box of three kinds of surfaces: with a base alone, with a base and another lobe, and without a base."""
    box = inside_of_lamp_box()
    materials = (
        Material(diffuse=(0.4, 0.5, 0.6)),
        Material(kind="nff", diffuse=(0.3, 0.3, 0.2), specular=(0.4, 0.4, 0.4), exponent=9.0),
        Material(kind="metal", specular=(0.8, 0.7, 0.6), roughness=0.4),
    )
    return replace(box, materials=materials, material_ids=np.arange(12, dtype=np.int32) // 2 % 3)


def both(scene: str | Snapshot, settings: Settings, index: int, pixels: list[int]) -> list[tuple[PathTrace, Radiance]]:
    """Paths of some pixels traced alone, each with what the whole pass has of it."""
    plan = plan_picture(scene, settings)
    with opened(plan) as context:
        with closing(PassSource(context, plan, plan.driver_settings(context.snapshot))) as making:
            first = 0 if making.driver.is_sequential else index
            *_, made = making.passes(iter(range(first, index + 1)))
            whole = made.values.reshape(SIZE[0] * SIZE[1], -1)
        names = [PathName(seed=settings.seed or 0, pass_index=index, pixel=pixel) for pixel in pixels]
        return [(trace_path(context, plan, name), whole[name.pixel_index(*SIZE), :3]) for name in names]


@pytest.mark.parametrize("driver", ["path", "photon", "sppm"])
def test_a_path_alone_has_the_bits_of_the_picture(driver: str) -> None:
    settings = replace(CHOSEN, driver=driver, seed=5)
    for trace, radiance in both(metal_box(), settings, 1, [17, 100, 191]):
        assert trace.radiance.tobytes() == radiance.tobytes()
        assert radiance.any()
        sums = re.findall(r"sum: \((.*?)\)", "\n".join(trace.lines))
        assert len(sums) >= 3
        assert sums[-1] == sums[-2] == ", ".join(f"{value:.9g}" for value in radiance)


def test_a_path_alone_has_the_bits_of_the_picture_in_motion() -> None:
    settings = replace(CHOSEN, driver="sppm", photons=2000, shutter=0.5, motion_samples=2)
    for trace, radiance in both("street", settings, 2, [17, 100]):
        assert trace.radiance.tobytes() == radiance.tobytes()


def test_steps_are_told() -> None:
    """From the box's wall at y = 0.1 the eye looks along y; the lamp is at (0.5, 0.7, 0.4)."""
    settings = replace(CHOSEN, driver="path", max_bounces=2)
    ((trace, _),) = both(inside_of_lamp_box(), settings, 0, [6 * 16 + 8])
    text = "\n".join(trace.lines)
    assert trace.lines[0] == "seed 0, pass 0, pixel 8:6 of test, driver path"
    assert "step 0: from (0.5, 0.1, 0.5) towards" in text
    assert "  throughput (1, 1, 1)\n" in text
    place = re.search(r"meets triangle \d+ at \((.*?)\), distance (\S+), normal \(0, -1, 0\)", text)
    assert place is not None
    assert float(place[1].split(", ")[1]) == pytest.approx(1.0, abs=1e-5)
    assert float(place[2]) == pytest.approx(0.9, abs=0.1)
    assert "  material 0 (diffuse)\n" in text
    assert "goes on by the diffuse lobe, pdf" in text
    assert "ray 0 to a light at (0.5, 0.7, 0.4), free: (" in text
    assert "the path ends here" in text


def test_lobes_are_told() -> None:
    """A metal has a rough lobe alone, a diffuse surface the diffuse one, and the third kind has both."""
    paths = both(metal_box(), replace(CHOSEN, driver="path"), 0, list(range(0, 192, 24)))
    steps = [step for trace, _ in paths for step in "\n".join(trace.lines).split("\nstep ")[1:]]
    ways = [re.search(r"  material \d \((\w+)\)\n(?:.*\n)*  goes on by the (.*) lobe, pdf \d", step) for step in steps]
    found = {way.groups() for way in ways if way is not None}
    assert {way for way in found if way[0] != "nff"} == {("metal", "rough"), ("diffuse", "diffuse")}
    assert ("nff", "rough") in found


def test_a_driver_without_paths_is_refused() -> None:
    with pytest.raises(UsageError, match="driver ao follows no paths"):
        both(inside_of_lamp_box(), replace(CHOSEN, driver="ao", max_bounces=None), 0, [0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0,3,20:30", PathName(seed=0, pass_index=3, pixel=(20, 30))),
        ("18446744073709551615,999999,7", PathName(seed=2**64 - 1, pass_index=999999, pixel=7)),
    ],
)
def test_names_are_read(text: str, expected: PathName) -> None:
    assert read_path_name(text) == expected


def test_a_crop_changes_no_path() -> None:
    """Pixels count from the whole picture's corner, also those outside of the part that is made."""
    settings = replace(CHOSEN, driver="path", seed=5)
    ((whole, _),) = both(metal_box(), settings, 1, [100])
    plan = plan_picture(metal_box(), replace(settings, crop=(2, 3, 5, 4)))
    with opened(plan) as context:
        cropped = trace_path(context, plan, PathName(seed=5, pass_index=1, pixel=100))
    assert cropped == whole._replace(radiance=cropped.radiance)
    assert cropped.radiance.tobytes() == whole.radiance.tobytes()


def test_the_command_prints_a_path_and_writes_no_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = f"render cornell --driver path --device cpu --size 16x12 --debug-path 3,1,8:6 -o {tmp_path}/a.png"
    words += " --shading gpu"  # of the same bits; threads tell the path
    assert cli.main(words.split()) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "seed 3, pass 1, pixel 8:6 of cornell, driver path"
    assert printed[-1].startswith("sum: (")
    assert list(tmp_path.iterdir()) == []
