"""The warp emulator: what collectives answer, what it complains of, and while-while against brute force."""

import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from brute_answers import answers
from data_files import messages
from judges import assert_same_bits

from tracecore.checks.ray_cases import random_rays, soup
from tracecore.compilation.private_folder import PrivateFolder
from tracecore.dispatch import direct
from tracecore.emulator import library, tracer
from tracecore.emulator.library import compile_library, emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer, Order
from tracecore.errors import DeviceError, KernelError
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy

pytestmark = pytest.mark.skipif(emulator_unavailable_reason() is not None, reason=str(emulator_unavailable_reason()))

Words = npt.NDArray[np.uint32]
ORDERS: tuple[Order, ...] = ("ascending", "descending", "shuffled")
LANE = np.arange(32)

#: Kernels that trace no rays: each thread answers one word. Their own lines begin with line 2.
SCAFFOLD = """
struct Scene { const void* nodes; const void* triangles; float extent; };
struct Launch { const float4* rays; float4* hits; void* report; unsigned* tally; unsigned count; };
__device__ unsigned answer(unsigned i, const Launch& launch);
extern "C" __global__ void closest_hit(const Scene scene, const Launch launch) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned word = answer(i, launch);
    if (i < launch.count) launch.hits[i] = make_float4(__uint_as_float(word), 0.0f, 0.0f, 0.0f);
}
extern "C" __global__ void any_hit(const Scene scene, const Launch launch) {}
constexpr unsigned ALL = 0xffffffffu;
"""
ANSWER = "__device__ unsigned answer(unsigned i, const Launch& launch)"


@dataclass
class Kernels:
    """Makes strategies of source texts."""

    folder: Path

    def strategy(self, text: str, **row: Any) -> KernelStrategy:
        (self.folder / "scaffold.cuh").write_text(SCAFFOLD.replace("\n", " "))
        (self.folder / "mine.cu").write_text('#include "scaffold.cuh"\n' + text)
        row = {"block_size": 32, "defines": {}, **row}
        return replace(find_strategy("while-while"), name="mine", source=self.folder / "mine.cu", **row)

    def run(
        self, body: str, *, before: str = "", threads: int = 32, order: Order = "ascending", seed: int = 0, **row: Any
    ) -> Words:
        """What so many threads answer. body: of `answer`, begins with line 4; before: what stands before it, line 2."""
        text = f"{before}\n{ANSWER} {{\n{body}\n}}\n"
        with EmulatedTracer(soup(1), self.strategy(text, **row), order=order, seed=seed, threads=1) as opened:
            return opened.closest_hit(random_rays(0, threads)).view(np.uint32)[:, 0]


@pytest.fixture
def kernels(tmp_path: Path) -> Kernels:
    return Kernels(tmp_path)


SEGMENT = LANE & ~7

#: Of `v` = 100 + lane: an expression and the lanes that it reads.
SHUFFLES: dict[str, npt.NDArray[Any]] = {
    "__shfl_sync(ALL, v, 5)": np.full(32, 5),
    "__shfl_sync(ALL, v, int(i) + 30)": (LANE + 30) % 32,
    "__shfl_sync(ALL, v, int(i) - 3)": (LANE - 3) % 32,
    "__shfl_sync(ALL, v, 11, 8)": SEGMENT + 3,
    "__shfl_up_sync(ALL, v, 3)": np.where(LANE >= 3, LANE - 3, LANE),
    "__shfl_up_sync(ALL, v, 3, 8)": np.where(LANE % 8 >= 3, LANE - 3, LANE),
    "__shfl_up_sync(ALL, v, 35)": np.where(LANE >= 3, LANE - 3, LANE),
    "__shfl_down_sync(ALL, v, 3)": np.where(LANE < 29, LANE + 3, LANE),
    "__shfl_down_sync(ALL, v, 3, 8)": np.where(LANE % 8 < 5, LANE + 3, LANE),
    "__shfl_down_sync(ALL, v, 35)": np.where(LANE < 29, LANE + 3, LANE),
    "__shfl_xor_sync(ALL, v, 9)": LANE ^ 9,
    "__shfl_xor_sync(ALL, v, -1)": LANE ^ 31,
    "__shfl_xor_sync(ALL, v, 5, 8)": LANE ^ 5,
    "__shfl_xor_sync(ALL, v, 12, 8)": np.where((LANE ^ 12) < SEGMENT + 8, LANE ^ 12, LANE),
    "__shfl_sync(0xfu << (i & ~3u), v, 2, 4)": (LANE & ~3) + 2,
}


@pytest.mark.parametrize("order", ORDERS)
def test_shuffles(kernels: Kernels, order: Order) -> None:
    lines = "\n".join(f"    if (launch.count == {32 + k}) return {text};" for k, text in enumerate(SHUFFLES))
    for k, (text, source) in enumerate(SHUFFLES.items()):
        got = kernels.run(f"    const unsigned v = 100 + i % 32;\n{lines}\n    return 0;", threads=32 + k, order=order)
        assert np.array_equal(got[:32], 100 + source), text


@pytest.mark.parametrize(
    ("type_", "value"),
    [("double", "i + 0.1"), ("long long", "(1ll << 40) * i - 7"), ("float", "i * 0.3f"), ("int", "-i")],
)
def test_shuffles_of_all_sizes(kernels: Kernels, type_: str, value: str) -> None:
    body = f"""
    const {type_} mine = {value};
    const unsigned low = __shfl_down_sync(ALL, i, 1);
    i = low;
    const {type_} expected = {value};
    return __shfl_down_sync(ALL, mine, 1) == expected;"""
    assert kernels.run(body).tolist() == [1] * 32


BITONIC_SORT = """
    unsigned key = i * 2654435761u >> 16;
    for (unsigned size = 2; size <= 32; size *= 2) {
        for (unsigned distance = size / 2; distance > 0; distance /= 2) {
            const unsigned other = __shfl_xor_sync(ALL, key, distance);
            const bool wants_less = ((i & distance) == 0) == ((i & size) == 0);
            key = wants_less ? min(key, other) : max(key, other);
        }
    }
    return key;"""
SORTED = np.sort(LANE * 2654435761 % 2**32 >> 16)


@pytest.mark.parametrize("order", ORDERS)
def test_some_lanes_may_meet_while_the_others_wait(kernels: Kernels, order: Order) -> None:
    body = """
    unsigned v = i;
    if (i < 8) {
        if (i < 4) v = __shfl_sync(0xfu, v, 3);
        v += __shfl_sync(0xffu, v, 7);
        __syncwarp();
    } else {
        __syncwarp();
    }
    return v + __shfl_sync(ALL, v, 0);"""
    v = np.where(LANE < 4, 10, np.where(LANE < 8, LANE + 7, LANE))
    assert np.array_equal(kernels.run(body, order=order), v + 10)


def test_lanes_and_warps_take_turns_in_the_order_named(kernels: Kernels) -> None:
    body = """
    const unsigned before = (*launch.tally)++;
    __syncwarp();
    const unsigned after = (*launch.tally)++;
    __syncthreads();
    return before << 16 | after << 8 | (*launch.tally)++;"""
    lane, warp = np.arange(64) % 32, np.arange(64) // 32
    ascending = kernels.run(body, threads=64, block_size=64)
    assert np.array_equal(ascending, 64 * warp + lane << 16 | 64 * warp + lane + 32 << 8 | 128 + np.arange(64))
    descending = kernels.run(body, threads=64, block_size=64, order="descending")
    assert np.array_equal(descending, ascending[::-1])
    shuffled = kernels.run(body, threads=64, block_size=64, order="shuffled")
    assert sorted(shuffled & 255) == list(range(128, 192)) != (shuffled & 255).tolist()


def test_blocks_follow_each_other_in_the_order_named(kernels: Kernels) -> None:
    def turns(order: Order, seed: int = 0) -> list[int]:
        body = "return threadIdx.x == 0 ? (*launch.tally)++ : 0;"
        return kernels.run(body, threads=11 * 32, order=order, seed=seed)[::32].tolist()

    assert turns("ascending") == list(range(11))
    assert turns("descending") == list(range(11))[::-1]
    shuffled = [turns("shuffled", seed) for seed in range(3)]
    assert all(sorted(each) == list(range(11)) for each in shuffled)
    assert len({tuple(each) for each in [*shuffled, turns("ascending"), turns("descending")]}) == 5
    assert turns("shuffled", 1) == shuffled[1]


def test_an_atomic_lets_the_other_warp_go_on(kernels: Kernels) -> None:
    body = """
    unsigned first = 0;
    if (i % 32 == 0) {
        first = atomicAdd(launch.tally, 1u);
        first = first << 8 | atomicAdd(launch.tally, 1u);
    }
    return __shfl_sync(ALL, first, 0);"""
    assert kernels.run(body, threads=64, block_size=64).tolist() == [0 << 8 | 2] * 32 + [1 << 8 | 3] * 32


@pytest.mark.parametrize(("order", "shows"), [("ascending", False), ("descending", True), ("shuffled", True)])
def test_a_missing_syncwarp_shows_in_another_order(kernels: Kernels, order: Order, shows: bool) -> None:
    before = "__shared__ unsigned row[32];"
    body = "row[i] = i; {sync} return i == 0 ? 0 : row[i - 1];"
    right = np.maximum(LANE, 1) - 1
    assert np.array_equal(kernels.run(body.format(sync="__syncwarp();"), before=before, order=order), right)
    assert np.array_equal(kernels.run(body.format(sync=""), before=before, order=order), right) != shows


def test_shared_memory_is_poisoned_before_every_block(kernels: Kernels) -> None:
    body = "const unsigned found = shared[threadIdx.x]; __syncwarp(); shared[threadIdx.x] = i; return found;"
    got = kernels.run(body, before="__shared__ unsigned shared[32];", threads=64)
    assert (got == 0xFFFFFFFF).all()


def bits(value: float | np.floating[Any]) -> int:
    return int(np.float32(value).view(np.uint32))


A, B, C = np.float32(1.1), np.float32(1.3), np.float32(-1.43)

#: An expression and its value. f and n are what they are given, unknown to the compiler.
MEANINGS = {
    "__float_as_uint(fminf(f(-0.0f), 0.0f))": bits(-0.0),
    "__float_as_uint(fminf(f(0.0f), -0.0f))": bits(-0.0),
    "__float_as_uint(fmaxf(f(-0.0f), 0.0f))": 0,
    "__float_as_uint(fmaxf(f(0.0f), -0.0f))": 0,
    "__float_as_uint(fminf(f(2.0f), NAN))": bits(2),
    "__float_as_uint(fminf(NAN, f(2.0f)))": bits(2),
    "__float_as_uint(fmaxf(f(-2.0f), NAN))": bits(-2),
    "__float_as_uint(fmaxf(NAN, f(-2.0f)))": bits(-2),
    "__float_as_uint(min(f(2.0f), 1.0f))": bits(1),
    "isnan(fminf(f(0.0f) / 0.0f, NAN))": 1,
    "__float_as_uint(__saturatef(f(1.5f)))": bits(1),
    "__float_as_uint(__saturatef(NAN))": 0,
    "__float_as_uint(f(1.1f) * f(1.3f) + f(-1.43f))": bits(A * B + C),
    "__float_as_uint(fmaf(f(1.1f), f(1.3f), f(-1.43f)))": bits(np.float64(A) * np.float64(B) + np.float64(C)),
    "__float_as_uint(f(1e-38f) * 1e-4f)": bits(np.float32(1e-38) * np.float32(1e-4)),
    "__float_as_uint(f(1.0f) / f(3.0f))": bits(np.float32(1) / np.float32(3)),
    "__float_as_uint(copysignf(f(3.0f), -0.0f))": bits(-3),
    "__float_as_uint(emulator::rough_reciprocal(f(-4.0f)))": bits(-0.25 * (1 - 2.0**-22)),
    "__float_as_uint(emulator::rough_reciprocal(__uint_as_float(n(0x40800001u))))": bits(0.25 * (1 + 2.0**-23)),
    "__float_as_uint(emulator::rough_reciprocal(f(1e-38f)))": bits(np.inf),
    "__float_as_uint(emulator::rough_reciprocal(f(-2e38f)))": bits(-0.0),
    "__float_as_uint(__uint2float_rn(n(0x81000001u)))": bits(2164260864.0),
    "__float_as_int(f(-2.0f)) == int(0xc0000000)": 1,
    "__popc(n(0xf0f0u)) + __popcll(~0ull << n(60))": 12,
    "__ffs(n(0x50)) * 100 + __ffs(n(0))": 500,
    "__clz(n(1)) * 100 + __clz(n(0))": 3132,
    "__clzll(n(1)) * 100 + __ffsll(1ll << n(40))": 6341,
    "__brev(n(0x12345678u))": 0x1E6A2C48,
    "__byte_perm(n(0x33221100u), 0x77665544u, 0x7250u)": 0x77225500,
    "__byte_perm(n(0x33228000u), 0, 0x9081u)": 0xFF000080,
    "__funnelshift_l(n(0x89abcdefu), 0x01234567u, 8)": 0x23456789,
    "__funnelshift_r(n(0x89abcdefu), 0x01234567u, 8)": 0x6789ABCD,
    "min(n(5u), 3) * 10 + max(-2, int(n(7)))": 37,
    "abs(int(n(0u)) - 4)": 4,
    "sizeof(float3) + sizeof(uint2) * 100 + alignof(float4) * 10000 + alignof(uchar4) * 1000000": 4160812,
    "make_uint4(1, 2, n(3), 4).z + make_int2(n(10), 20).y + make_float3(1, 2, 3).x": 24,
}


def test_names_mean_what_they_mean_in_cuda(kernels: Kernels) -> None:
    before = (
        "__device__ float f(float value) { volatile float v = value; return v; } "
        "__device__ unsigned n(unsigned value) { volatile unsigned v = value; return v; } "
        "const float NAN = __uint_as_float(0x7fc00000u);"
    )
    cases = "\n".join(f"    if (i == {k}) return {text};" for k, text in enumerate(MEANINGS))
    got = kernels.run(f"{cases}\n    return 0;", before=before, threads=len(MEANINGS))
    assert dict(zip(MEANINGS, got.tolist(), strict=True)) == MEANINGS


#: What becomes of a 5.
ATOMICS = {
    "atomicAdd(&c, 3)": 8,
    "atomicSub(&c, 3)": 2,
    "atomicOr(&c, 8)": 13,
    "atomicAnd(&c, 4)": 4,
    "atomicXor(&c, 4)": 1,
    "atomicExch(&c, 9)": 9,
    "atomicMin(&c, 3)": 3,
    "atomicMin(&c, 9)": 5,
    "atomicMax(&c, 3)": 5,
    "atomicMax(&c, 9)": 9,
    "atomicInc(&c, 9)": 6,
    "atomicInc(&c, 5)": 0,
    "atomicDec(&c, 9)": 4,
    "atomicDec(&c, 5)": 4,
    "atomicDec(&c, 3)": 3,
    "atomicCAS(&c, 5, 1)": 1,
    "atomicCAS(&c, 4, 1)": 5,
}


@pytest.mark.parametrize("type_", ["unsigned", "int", "unsigned long long"])
def test_atomics(kernels: Kernels, type_: str) -> None:
    cases = "\n".join(f"    if (i == {k}) old = {text};" for k, text in enumerate(ATOMICS))
    body = f"    {type_} c = 5, old = 0;\n{cases}\n    return old * 100 + c;"
    got = kernels.run(body, threads=len(ATOMICS))
    assert dict(zip(ATOMICS, (got - 500).tolist(), strict=True)) == ATOMICS


#: Lines 4 and 5 of a kernel of 64 threads, what is said of it, and the details in ascending order.
#: By their names: two lines of a kernel, what is wrong with it, and a pattern for where.
ERRORS = {name: row for name, *row in messages("emulator", {})}

RECURSION = (
    "__noinline__ __device__ unsigned recurse(unsigned v, int depth) { volatile unsigned room[60] = {v}; "
    "return depth == 0 ? v : recurse(v + room[depth % 60], depth - 1) + room[0]; }"
)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ERRORS)
def test_complaints(kernels: Kernels, name: str, order: Order) -> None:
    line4, line5, said, details = ERRORS[name]
    with pytest.raises(KernelError, match=f"^kernel 'mine' is wrong: (.|\n)*{re.escape(said)}") as raised:
        kernels.run(f"{line4}\n{line5}\nreturn 0;", before=RECURSION, threads=64, block_size=64, order=order)
    if order == "ascending":
        assert re.search(details, str(raised.value)), raised.value


@pytest.mark.parametrize(
    "loop",
    [
        "while (__ldcg(launch.tally) == 0) {}",
        "while (atomicAdd(launch.tally, 0) == 0) {}",
        "while (launch.tally[0] == 0) __nanosleep(1);",
        "while (__ballot_sync(ALL, 1) != 0) {}",
        "while (launch.tally[0] == 0) __syncthreads();",
    ],
)
def test_an_endless_loop_ends(kernels: Kernels, loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracer, "TIMEOUT", 0.1)
    with pytest.raises(KernelError, match=r"mine\.cu:4: block 0, warp 0, lane \d+: still running after 0.1 s"):
        kernels.run(f"{loop}\nreturn 0;")


def test_after_a_complaint_the_tracer_works_again(kernels: Kernels) -> None:
    body = """
    if (i == 40 && launch.count == 50) return 0;
    if (i == 41 && launch.count == 50) return recurse(i, 150);
    row[threadIdx.x] = i;
    __syncthreads();
    return row[threadIdx.x ^ 63] + __shfl_sync(ALL, i, 0);"""
    text = f"__shared__ unsigned row[64]; {RECURSION}\n{ANSWER} {{{body}}}"
    right = (63 - np.arange(60)) + np.where(np.arange(60) < 32, 0, 32)
    with EmulatedTracer(soup(1), kernels.strategy(text, block_size=64), threads=1) as opened:
        for _ in range(3):
            with pytest.raises(KernelError, match=r"lanes 8-9 have ended; the stack of .* lane 9 overflowed"):
                opened.closest_hit(random_rays(0, 50))
            assert np.array_equal(opened.closest_hit(random_rays(0, 60)).view(np.uint32)[:, 0], right)


def test_threads_trace_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three launches are on their way at once, in any order, and each one's hits come to its own rays."""
    right = answers("soup", 1500)
    gate = threading.Barrier(3, timeout=60.0)
    emulate = library.Library.emulate

    def together(self: library.Library, request: library.Request) -> str | None:
        gate.wait()
        return emulate(self, request)

    monkeypatch.setattr(direct, "BATCH_RAYS", 500)
    monkeypatch.setattr(library.Library, "emulate", together)
    with EmulatedTracer(right.triangles, threads=3) as opened:
        assert_same_bits(opened.closest_hit(right.rays), right.closest, right.rays)


def test_a_fault_of_the_kernel_is_an_error(kernels: Kernels) -> None:
    source = kernels.folder / "faulty.cu"
    source.write_text(
        '#include "bvh2.cuh"\n#include "fault.cuh"\n'
        "template <bool ANY_HIT> __device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {\n"
        "    if (ray.t_max == 5.0f) faults |= STACK_OVERFLOW;\n    return miss();\n}\n"
        '#include "rounds.cuh"\n'
    )
    rays = random_rays(0, 70)
    with EmulatedTracer(soup(5), replace(find_strategy("while-while"), name="mine", source=source)) as opened:
        assert np.isinf(opened.closest_hit(rays)[:, 0]).all()
        rays[66, 7] = 5.0
        with pytest.raises(KernelError, match=r"kernel 'mine' failed: its traversal stack overflowed"):
            opened.closest_hit(rays)


def test_fibers_by_ucontext_do_the_same(kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FLAGS", (*library.FLAGS, "-DFIBERS_BY_UCONTEXT"))
    for order in ORDERS:
        assert np.array_equal(kernels.run(BITONIC_SORT, order=order), SORTED)
    with pytest.raises(KernelError, match="the stack of 32768 bytes of warp 0, lane 2 overflowed"):
        kernels.run("return i == 2 ? recurse(i, 150) : 0;", before=RECURSION)


@pytest.fixture
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What is compiled from now on, into a folder of its own."""
    folder = PrivateFolder(tmp_path / "libraries")
    done: list[Path] = []
    compile_one = library._compile

    def watched(text: str, file: str) -> str:
        done.append(folder.path / file)
        return compile_one(text, file)

    monkeypatch.setattr(library, "_folder", lambda: folder)
    monkeypatch.setattr(library, "_compile", watched)
    return done


EMPTY = f"{ANSWER} {{ return 0; }}"


def test_a_library_is_compiled_once(kernels: Kernels, compilations: list[Path]) -> None:
    strategy = kernels.strategy(EMPTY)
    first = compile_library(strategy, 32)
    assert compile_library(replace(strategy, name="the same"), 32) == first
    assert compilations == [first]
    assert list(first.parent.iterdir()) == [first]


def test_whatever_changes_is_compiled_again(kernels, compilations, monkeypatch):
    strategy = kernels.strategy(EMPTY)
    compile_library(strategy, 32)
    compile_library(strategy, 64)
    compile_library(replace(strategy, defines={"MINE": 1}), 32)
    compile_library(kernels.strategy(EMPTY.replace("0", "1")), 32)
    scaffold = kernels.folder / "scaffold.cuh"
    scaffold.write_text(scaffold.read_text() + " ")
    compile_library(strategy, 32)
    monkeypatch.setattr(library, "_compiler", lambda: "another g++ on another CPU")
    compile_library(strategy, 32)
    assert len(set(compilations)) == len(compilations) == 6


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-1], lambda data: data[:99] + b"?" + data[100:]]
)
def test_a_library_that_was_damaged_is_compiled_anew(damage, kernels, compilations):
    strategy = kernels.strategy(EMPTY)
    path = compile_library(strategy, 32)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert compile_library(strategy, 32).read_bytes() == whole
    assert len(compilations) == 2


def test_a_library_that_cannot_be_loaded(kernels, compilations, monkeypatch):
    strategy = kernels.strategy(EMPTY)
    compile_library(strategy, 32)
    monkeypatch.setattr(PrivateFolder, "read_checked", lambda *_: b"no library")
    with pytest.raises(DeviceError, match=r"cannot load .*libraries/mine-.*; .*set TRACECORE_CACHE"):
        EmulatedTracer(soup(1), strategy)


@pytest.fixture
def no_compiler_known() -> Iterator[None]:
    library._compiler.cache_clear()
    yield
    library._compiler.cache_clear()


@pytest.mark.usefixtures("no_compiler_known")
def test_a_compiler_that_fails_gives_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\necho what is -Q? >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert re.search(r"here it fails \(what is -Q\?\); install GCC's", emulator_unavailable_reason() or "")


def test_a_compiler_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "COMPILE_TIMEOUT", 0.001)
    with pytest.raises(DeviceError, match=r"g\+\+ has not ended after 0.001 s"):
        library._run(("sleep", "5"))
