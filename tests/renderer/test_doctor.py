"""The doctor: what is missing is named with its remedy, and only what the CPU needs makes it fail."""

import importlib.util
import sys
from pathlib import Path

import pytest

from renderer import cli
from renderer.commands import diagnosis as doctor
from renderer.commands.diagnosis import Finding
from tracecore.cuda import device as gpu_device
from tracecore.cuda import nvrtc
from tracecore.cuda.nvrtc import CompiledKernel, KernelResources
from tracecore.kernels.strategies import strategy_names
from tracecore.tracers import gpu


def find(findings: list[Finding], name: str) -> Finding:
    return next(finding for finding in findings if finding.name == name)


def test_this_machine_renders(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    text = capsys.readouterr().out
    for part in ("Python", "cores", "numba", "compile cache", "CPU tracing", "GPU", "[exr]"):
        assert part in text
    assert "BROKEN" not in text
    for part in ("[plot]", "[cluster]", "g++"):  # nothing here uses them
        assert part not in text


def test_kernels_are_listed_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "gpu_unavailable_reason", lambda: "there is no driver")
    text = find(doctor.examine(), "--kernel").text
    assert text.startswith("cpu: bvh8; gpu and emulator: ")
    assert all(name in text for name in strategy_names())


def test_cpu_tracing_is_tried() -> None:
    (finding,) = doctor.cpu_tracing()
    assert finding.fine
    assert finding.needed
    assert "t = 2," in finding.text


def test_missing_extra_is_absent_with_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    finding = find(doctor.extras(), "[exr]")
    assert (finding.mark, finding.remedy) == ("absent", "install it with: pip install OpenEXR")
    assert doctor.healthy(doctor.extras())


def test_missing_package_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "REQUIRED", ("numpy", "no-such-package"))
    found = doctor.packages()
    assert [finding.mark for finding in found] == ["ok", "BROKEN"]
    assert not doctor.healthy(found)
    assert "-> install it with: pip install no-such-package" in doctor.report(found)


def test_old_python_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 1, "final", 0))
    (finding,) = doctor.python()
    assert (finding.mark, finding.remedy) == ("BROKEN", "use Python 3.11 to 3.13")


def test_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracecore.compilation import cached as compiled

    monkeypatch.setattr(compiled, "cache_root", lambda: tmp_path / "wanted")
    monkeypatch.setattr(compiled, "cache_folder", lambda package: tmp_path / "other")
    (finding,) = doctor.compile_cache()
    assert finding.mark == "absent"
    assert "TRACECORE_CACHE" in finding.remedy


def test_examination_that_fails_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_gpu_and_the_default_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    row = KernelResources(entry="closest_hit", registers=48, stack_bytes=512, spill_bytes=16, shared_bytes=0)
    kernel = CompiledKernel(arch="sm_90", cubin=b"", resources={"closest_hit": row})
    monkeypatch.setattr(gpu, "gpu_unavailable_reason", lambda: None)
    monkeypatch.setattr(nvrtc, "compile_strategy", lambda strategy, arch: kernel)
    monkeypatch.setattr(gpu_device, "gpu_name", lambda: "Some GPU")
    monkeypatch.setattr(gpu_device, "device_architecture", lambda: "sm_90")
    assert [(finding.mark, finding.text) for finding in doctor.gpu()] == [
        ("ok", "Some GPU (sm_90)"),
        ("ok", "while-while: closest_hit 48 registers, 16 bytes spilled"),
    ]
