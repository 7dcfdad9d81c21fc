"""Every kernel through NVIDIA's compiler, which needs no GPU."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracecore.compilation.private_folder import PrivateFolder
from tracecore.cuda import nvrtc
from tracecore.cuda.nvrtc import (
    KernelResources,
    compile_source,
    compile_strategy,
    parse_resources,
    supported_architectures,
)
from tracecore.errors import DeviceError, KernelError
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.layout.bvh2 import LAYOUT

ARCHITECTURES = ("sm_75", "sm_90", "sm_120")

#: Kernel, architecture and whether resident. `tests/gpu.sh` compiles all; otherwise each kernel is compiled once, by
#: turns for one of the architectures and one mode of dispatch, so that six kernels in a row meet all of them.
BUILDS = [
    (name, arch, resident)
    for row, name in enumerate(strategy_names())
    for resident in (False, True)
    for column, arch in enumerate(ARCHITECTURES)
    if "TRACECORE_EVERY_BUILD" in os.environ or (row % 3, row % 2) == (column, resident)
]


@pytest.fixture(scope="module")
def compiler() -> None:
    try:
        supported_architectures()
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Lines to print when all kernels are compiled."""
    lines = [f"\n\n{'kernel':>34} {'arch':>7} {'entry':>12} registers  spilled  shared  stack"]
    yield lines
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("\n".join(lines))


@pytest.mark.usefixtures("compiler")
def test_kernels_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is damaged is made anew, and other options are another kernel."""
    folder, compiled = PrivateFolder(tmp_path), []

    def compiles(*given: Any) -> tuple[bytes, str]:
        compiled.append(given[1:])
        return compile_source(*given)

    monkeypatch.setattr(nvrtc, "cache_folder", lambda package: folder)
    monkeypatch.setattr(nvrtc, "compile_source", compiles)

    def made(arch: str) -> nvrtc.CompiledKernel:
        nvrtc._compile_once.cache_clear()  # as a new process does
        return compile_strategy(find_strategy("while-while"), arch)

    first = made("sm_90")
    assert made("sm_90") == first
    assert len(compiled) == len(folder.names()) == 1
    assert made("sm_80").cubin != first.cubin
    for name in folder.names():
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-1])
    assert made("sm_90") == first
    assert [given[1] for given in compiled] == ["sm_90", "sm_80", "sm_90"]


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(("name", "arch", "resident"), BUILDS)
def test_compiles_without_spills(name: str, arch: str, resident: bool, table: list[str]) -> None:
    compiled = compile_strategy(find_strategy(name), arch, resident=resident)
    assert compiled.cubin.startswith(b"\x7fELF")
    assert set(compiled.resources) == ({"resident"} if resident else {"closest_hit", "any_hit"})
    for row in compiled.resources.values():
        table.append(
            f"{name:>34} {arch:>7} {row.entry:>12} {row.registers:9}  {row.spill_bytes:5} B {row.shared_bytes:5} B "
            f"{row.stack_bytes:4} B"
        )
    for row in compiled.resources.values():
        assert row.spill_bytes == 0


#: One for each way to test triangles.
TESTING = (
    *("while-while", "if-if", "bvh4", "compressed-bvh8", "packet-8", "packet-32-bvh4"),
    *("warp-triangles-8", "grouped-8"),
)


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("name", TESTING)
def test_compiles_with_cutouts_without_spills(name: str) -> None:
    for row in compile_strategy(find_strategy(name), "sm_90", has_cutouts=True).resources.values():
        assert row.spill_bytes == 0


@pytest.mark.usefixtures("compiler")
def test_cutouts_are_compiled_in() -> None:
    row = find_strategy("while-while")
    assert compile_strategy(row, "sm_90", has_cutouts=True).cubin != compile_strategy(row, "sm_90").cubin


@pytest.mark.usefixtures("compiler")
def test_a_struct_of_another_size_does_not_compile() -> None:
    row = find_strategy("while-while")
    wrong = replace(row, layout=replace(LAYOUT, defines={**LAYOUT.defines, "NODE_BYTES": "72"}))
    with pytest.raises(KernelError, match="PackedNode differs from the layout's NODE"):
        compile_strategy(wrong, "sm_90")


@pytest.mark.usefixtures("compiler")
def test_an_error_names_kernel_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text('#include "bvh2.cuh"\n\nint f() { return wrong; }\n')
    with pytest.raises(KernelError, match=r'kernel mine.cu does not compile for sm_90(.|\n)*mine.cu\(3\).*"wrong"'):
        compile_strategy(replace(find_strategy("while-while"), source=tmp_path / "mine.cu"), "sm_90")


@pytest.mark.usefixtures("compiler")
def test_a_strategy_of_a_third_party_compiles(tmp_path: Path) -> None:
    (tmp_path / "first_leaf.cu").write_text(
        '#include "bvh2.cuh"\n'
        "template <bool ANY_HIT> __device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {\n"
        "    const Shear shear = make_shear(ray);\n"
        "    Hit best = nothing_before(ray.t_max);\n"
        "    const bool hit = intersect(load_triangle(scene.triangles, 0, shear.axes), ray, shear, best);\n"
        "    return hit ? best : miss();\n"
        "}\n"
        '#include "rounds.cuh"\n'
    )
    row = replace(find_strategy("while-while"), name="first-leaf", source=tmp_path / "first_leaf.cu", defines={})
    assert set(compile_strategy(row, "sm_90").resources) == {"closest_hit", "any_hit"}


@pytest.mark.usefixtures("compiler")
def test_spills_are_seen() -> None:
    """A kernel squeezed into too few registers is reported as such."""
    source = (
        'extern "C" __global__ void __launch_bounds__(1024, 2) squeezed(float* p) {\n'
        "    float v[64];\n"
        "    for (int i = 0; i < 64; ++i) v[i] = p[i * 37];\n"
        "    for (int r = 0; r < 99; ++r)\n"
        "        for (int i = 0; i < 64; ++i) v[i] = fmaf(v[i], v[(i * 7 + 1) & 63], v[(i * 5 + 3) & 63]);\n"
        "    for (int i = 0; i < 64; ++i) p[i] = v[i];\n"
        "}\n"
    )
    _, log = compile_source(source, "squeezed.cu", "sm_90", {})
    assert parse_resources(log)["squeezed"].spill_bytes > 0


def test_report_of_the_assembler_is_read() -> None:
    log = (
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
        "ptxas info    : Function properties for first\n"
        "    264 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 56 registers, used 1 barriers, 264 bytes cumulative stack size, 512 bytes smem\n"
        "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
        "ptxas info    : Function properties for second\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 4 registers, 384 bytes cmem[0]\n"
    )
    assert parse_resources(log) == {
        "first": KernelResources(entry="first", registers=56, stack_bytes=264, spill_bytes=20, shared_bytes=512),
        "second": KernelResources(entry="second", registers=4, stack_bytes=0, spill_bytes=0, shared_bytes=0),
    }


def test_no_compiler_gives_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy_backends.cuda.libs", None)
    with pytest.raises(DeviceError, match=r"no CUDA compiler: .*; pip install cupy-cuda13x"):
        supported_architectures()
