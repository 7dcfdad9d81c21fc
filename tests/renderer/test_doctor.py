"""The doctor: what is missing is named with its remedy, and only what the CPU needs makes it fail."""

import importlib.metadata
import platform
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from renderer import cli
from renderer.commands import doctor
from renderer.commands.doctor import Finding
from renderer.scene import tuned_kernels
from tracecore.cuda import device as gpu_device
from tracecore.cuda import nvrtc
from tracecore.cuda.nvrtc import CompiledKernel, KernelResources
from tracecore.kernels.strategies import strategy_names
from tracecore.tracers import gpu

ROOT = Path(__file__).resolve().parents[2]


def find(findings: list[Finding], name: str) -> Finding:
    return next(finding for finding in findings if finding.name == name)


def test_this_machine_renders(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    text = capsys.readouterr().out
    for part in ("Python", "cores", "numba", "compile cache", "CPU tracing", "GPU", "[gpu]", "[exr]", "[denoise]"):
        assert part in text
    assert "BROKEN" not in text
    assert "g++" not in text  # nothing here uses it


def test_kernels_are_listed_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "gpu_unavailable_reason", lambda: "there is no driver")
    text = find(doctor.examine(), "--kernel").text
    assert text.startswith("cpu: bvh8; gpu and emulator: ")
    assert all(name in text for name in strategy_names())


def nowhere(package: str) -> str:
    raise importlib.metadata.PackageNotFoundError(package)


def test_missing_extras_are_absent_with_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", nowhere)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    found = doctor.extras()
    assert {finding.mark for finding in found} == {"absent"}
    remedies = {finding.name: finding.remedy.removeprefix("install it with: pip install ") for finding in found}
    assert remedies["[exr]"] == "OpenEXR"
    assert remedies["[peers]"] == "warp-lang mitsuba embreex"
    assert doctor.healthy(found)
    assert find(found, "[denoise]").text == "render --denoise: pyoidn not installed"


def project() -> dict[str, Any]:
    """What pyproject.toml says of the program."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_versions_of_python_and_packages_are_those_that_are_tested() -> None:
    """`make versions` makes a picture with the oldest packages."""
    assert project()["requires-python"] == ">=" + ".".join(map(str, doctor.OLDEST_PYTHON))
    oldest = (ROOT / "tests" / "oldest-versions.txt").read_text().splitlines()[1:]
    assert [one.partition(",")[0] for one in project()["dependencies"]] == [one.replace("==", ">=") for one in oldest]


def test_the_compiler_is_of_a_version_whose_private_parts_are_known() -> None:
    (numba,) = (one for one in project()["dependencies"] if one.startswith("numba"))
    assert re.fullmatch(r"numba>=[\d.]+,<[\d.]+", numba)


def test_the_doctor_knows_all_extras_and_their_packages() -> None:
    extras = project()["optional-dependencies"]
    asked = {
        extra: tuple(re.match(r"[\w-]+", requirement)[0] for requirement in requirements)  # type: ignore[index]
        for extra, requirements in extras.items()
    }
    del asked["dev"], asked["docs"]  # for those who work on the program
    assert {name: packages for name, (_, packages) in doctor.EXTRAS.items()} == asked
    elsewhere = {"platform_machine != 'aarch64'": "aarch64", "sys_platform != 'darwin'": "Darwin"}
    for extra in asked:
        for requirement in extras[extra]:
            package, _, condition = (part.strip() for part in requirement.partition(";"))
            machines = {machine for machine, not_made in doctor.NOT_MADE_FOR.items() if package.startswith(not_made)}
            assert machines == ({elsewhere[condition]} if condition else set())


def test_missing_package_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "REQUIRED", ("numpy", "no-such-package"))
    found = doctor.packages()
    assert [finding.mark for finding in found] == ["ok", "BROKEN"]
    assert not doctor.healthy(found)
    assert "-> install it with: pip install no-such-package" in doctor.report(found)


def test_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracecore.compilation import private_folder as compiled
    from tracecore.compilation.private_folder import PrivateFolder

    monkeypatch.setattr(compiled, "cache_root", lambda: tmp_path / "wanted")
    monkeypatch.setattr(compiled, "cache_folder", lambda package: PrivateFolder(tmp_path / "other"))
    (finding,) = doctor.compile_cache()
    assert finding.mark == "absent"
    assert "TRACECORE_CACHE" in finding.remedy


def test_examination_that_fails_is_a_finding(monkeypatch, capsys):
    def cpu_tracing() -> list[Finding]:
        raise RuntimeError("no vectors")

    monkeypatch.setattr(doctor, "EXAMINATIONS", (cpu_tracing,))
    assert cli.main(["doctor"]) == 1
    assert "BROKEN  cpu tracing    RuntimeError: no vectors" in capsys.readouterr().out


def test_no_gpu_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "gpu_unavailable_reason", lambda: "there is no driver")
    found = doctor.gpu()
    assert [(finding.mark, finding.text) for finding in found] == [("absent", "there is no driver")]
    assert doctor.healthy(found)


def test_gpu_and_its_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = KernelResources(entry="closest_hit", registers=48, stack_bytes=512, spill_bytes=16, shared_bytes=0)
    kernel = CompiledKernel(arch="sm_90", cubin=b"", resources={"closest_hit": row})
    monkeypatch.setattr(gpu, "gpu_unavailable_reason", lambda: None)
    monkeypatch.setattr(nvrtc, "compile_strategy", lambda strategy, arch: kernel)
    monkeypatch.setattr(gpu_device, "gpu_count", lambda: 1)
    monkeypatch.setattr(gpu_device, "gpu_name", lambda index: "Some GPU")
    monkeypatch.setattr(tuned_kernels, "cache_root", lambda: tmp_path)
    monkeypatch.setattr(gpu_device, "device_architecture", lambda index=None: "sm_90")
    assert [(finding.mark, finding.text) for finding in doctor.gpu()] == [
        ("ok", "Some GPU (sm_90)"),
        ("ok", "while-while: closest_hit 48 registers, 16 bytes spilled"),
        (
            "ok",
            "persistent-if-if (coherent rays, sm_90); persistent-if-if (incoherent rays, sm_90); "
            "persistent-if-if (occlusion rays, sm_90)",
        ),
    ]
    monkeypatch.setattr(gpu_device, "device_architecture", lambda index=None: "sm_120")
    assert "incoherent rays, sm_90 instead of sm_120" in find(doctor.gpu(), "--kernel auto").text
    monkeypatch.setattr(gpu_device, "device_architecture", lambda index=None: "sm_90")
    monkeypatch.setattr(gpu_device, "gpu_count", lambda: 2)
    monkeypatch.setattr(gpu_device, "gpu_name", lambda index: ("Some GPU", "Another GPU")[index or 0])
    assert [(finding.name, finding.text) for finding in doctor.gpu()[:2]] == [
        ("gpu:0", "Some GPU (sm_90)"),
        ("gpu:1", "Another GPU (sm_90)"),
    ]


def test_old_python_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 1, "final", 0))
    (finding,) = doctor.python()
    assert (finding.mark, finding.remedy) == ("BROKEN", "use Python 3.11 or newer")
