"""Who hands memory over to whom in both modes of dispatch: proved by taking each hand-over away in turn.

The emulator's memory is weak here (`emulator/memory.hpp`), its lanes run in random order, and the host looks at the
hits at the very moment when their flag goes up: each run is the same for its seed. One library holds all that is taken
away; the scene's `extent` says what.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from data_files import data_text
from emulated_ring import SHUFFLED, KernelHost
from ring_orders import assert_written, await_order, write_order

from tracecore.checks.ray_cases import Floats, soup
from tracecore.dispatch.ring import RingMemory, say
from tracecore.emulator.library import Host, emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.errors import KernelError
from tracecore.kernels.launch_records import describe_faults
from tracecore.kernels.ring_records import END, FAULT_SHIFT, GO_ON, ONCE
from tracecore.kernels.source import KERNELS
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.rays import RAY_FLOATS, make_rays

#: What a lane does for a ray: some turns, as many as its origin says, and then the answer is the ray itself.
WALK = data_text("kernels/walk.cu")

SYNC = "__syncwarp(WHOLE_WARP)"

#: What can be taken away: what stands in the kernel, what stands there instead, and what follows there.
AWAY = {
    "stop": ("acquire_from_host(*ring.stop)", "current(*ring.stop)", ""),
    "doorbell": ("acquire_from_host(ring.doorbells[slot])", "current(ring.doorbells[slot])", ""),
    "doorbell-of-the-device": ("acquire_from_host(ring.doorbells[slot])", "acquire(ring.doorbells[slot])", ""),
    "scout": (SYNC, "void()", ";  // lane 0 takes over"),
    "queued-released": ("release(ring.state->queued, queued)", "publish(ring.state->queued, queued)", ""),
    "queued-acquired": ("acquire(ring.state->queued)", "current(ring.state->queued)", ""),
    "ticket": (SYNC, "void()", ";  // takes over what lane 0"),
    "fetched": (SYNC, "void()", ";  // all lanes' words"),
    "staged": (SYNC, "void()", ";  // the hits are staged"),
    "delivered": (SYNC, "void()", ";  // lane 0 hands in"),
    "left": ("count_down(request.left)", "atomicSub(&request.left, 1u)", ""),
    "flag": ("release_to_host(flag, answer)", "publish(flag, answer)", ""),
}
INTACT, EVERYTHING, DELIVERY, REPLACEMENT = 0, *range(len(AWAY) + 1, len(AWAY) + 4)


def with_switches(text: str) -> str:
    """The kernel's text in which `away` says what is taken away."""

    def switch(whole: str, instead: str, after: str, *numbers: int) -> None:
        nonlocal text
        assert text.count(whole + after) == 1, whole + after
        is_away = " || ".join(f"away == {number}" for number in numbers)
        text = text.replace(whole + after, f"({is_away} ? {instead} : {whole}){after}")

    for number, (whole, instead, after) in enumerate(AWAY.values(), 1):
        switch(whole, instead, after, number, EVERYTHING)
    switch("deliver(ticket << TICKET_BITS)", "void()", ";", DELIVERY)
    start = "    TicketCursor cursor(ring);\n"
    assert text.count(start) == 1
    return text.replace(start, f"    away = static_cast<unsigned>(scene.extent);\n{start}")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> KernelStrategy:
    """The walk, in which lanes get new rays one by one, and the kernel with switches."""
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("switches")
    (folder / "resident.cuh").write_text(with_switches((KERNELS / "resident.cuh").read_text()))
    (folder / "walk.cu").write_text(WALK)
    (folder / "entry_points.cuh").write_text((KERNELS / "entry_points.cuh").read_text())
    walks = (KERNELS / "walks.cuh").read_text()
    (folder / "walks.cuh").write_text(walks.replace("(REPLACE_BELOW == 0)", f"(away == {REPLACEMENT})"))
    return replace(find_strategy(None), source=folder / "walk.cu", defines={"REPLACE_BELOW": 20})


#: Slots, and rays of each; orders of a run.
SLOTS, SLOT_RAYS, ORDERS = 4, 256, 40


class PlayedHost:
    """The host: it looks at an order's hits as soon as its flag is up, and rings again for other rays.

    The last order is rung when all others are answered, and END said at once. mistake: the first that the device made.
    """

    def __init__(self, memory: RingMemory, seed: int) -> None:
        self.mistake: str | None = None
        self._memory = memory
        self._random = np.random.default_rng(seed)
        self._orders = 0
        self._expected: dict[int, Floats] = {}
        say(memory.stop, GO_ON)
        for slot in range(SLOTS):
            self._ring(slot)
        self._slow_ray()

    def _ring(self, slot: int) -> None:
        random, count = self._random, int(self._random.integers(33, SLOT_RAYS + 1))
        rays = np.zeros((count, RAY_FLOATS), np.float32)
        rays[:, 0] = random.integers(4, size=count) ** 2
        rays[:, 2] = random.integers(1, 1 << 20, size=count)
        rays[:, [1, 4]] = random.random((count, 2))
        rays[:, 7] = 1 + random.random(count)
        self._expected[slot] = np.column_stack([rays[:, [1, 4, 7]], rays[:, 2].astype(np.uint32).view(np.float32)])
        write_order(self._memory, slot, rays)
        self._orders += 1

    def _slow_ray(self) -> None:
        """Let the first order take longer than others can be posted behind it."""
        self._memory.rays[0, 0, 0] = 3000.0

    def act(self) -> None:
        """Take what is answered, and ring again. Nothing is raised here."""
        for slot in [slot for slot in self._expected if self._is_up(slot)]:
            expected = self._expected.pop(slot)
            try:
                assert int(self._memory.flags[slot]) & 0xFFFFFFFF == 0
                assert_written(self._memory, slot, expected)
            except AssertionError as error:
                self.mistake = self.mistake or f"slot {slot}: {error}"
                say(self._memory.stop, END)
            if self._orders < ORDERS - bool(self._expected) and self.mistake is None:
                self._ring(slot)
        if self._orders == ORDERS:
            say(self._memory.stop, END)

    def _is_up(self, slot: int) -> bool:
        return int(self._memory.flags[slot]) >> 32 == int(self._memory.doorbells[slot]) >> 32

    def end(self) -> None:
        """See what has come by the end of the kernel."""
        self.act()
        if self._expected and self.mistake is None:
            self.mistake = f"{len(self._expected)} orders are not answered"


#: Seconds of the emulated clock, which goes on by a microsecond when a lane looks at it.
PATIENCE = 0.1


def mistake_of(kernel: KernelStrategy, away: int, seed: int) -> str | None:
    """What goes wrong in a run, if anything."""
    host = KernelHost(soup(1), kernel, (SLOTS, SLOT_RAYS), patience=PATIENCE)
    host.scene.record["extent"] = away
    played = PlayedHost(host.memory, seed)
    host.run(order=SHUFFLED, seed=seed, is_weak=1, host=Host(played.act))
    played.end()
    return host.error or played.mistake


def test_with_all_hand_overs_all_hits_are_right(kernel: KernelStrategy) -> None:
    for seed in range(8):
        assert mistake_of(kernel, INTACT, seed) is None, seed


@pytest.mark.parametrize("away", [*AWAY, "everything"])
def test_without_one_hand_over_hits_are_wrong(kernel: KernelStrategy, away: str) -> None:
    number = EVERYTHING if away == "everything" else [*AWAY].index(away) + 1
    assert any(mistake_of(kernel, number, seed) for seed in range(6))


def test_a_run_is_the_same_for_its_seed(kernel: KernelStrategy) -> None:
    first, again = (mistake_of(kernel, EVERYTHING, 5) for _ in range(2))
    assert first == again != mistake_of(kernel, EVERYTHING, 6)


def test_a_kernel_whose_orders_are_not_finished_gives_up(kernel: KernelStrategy) -> None:
    host = KernelHost(soup(1), kernel, (SLOTS, SLOT_RAYS), patience=PATIENCE)
    host.scene.record["extent"] = DELIVERY
    for slot in (0, 2):
        write_order(host.memory, slot, make_rays(np.ones((40, 3)), [[0.0, 0, 1]]))
    host.run(is_weak=1)  # nobody says END
    assert host.error is None
    for slot in (0, 2):
        assert "has not answered in time" in describe_faults(await_order(host.memory, slot) >> FAULT_SHIFT)
    assert not host.memory.flags[[1, 3]].any()


#: Turns of the first of two tickets: one ray of many, 31 of one.
MANY, FIRST_TICKET = 100, 131


@pytest.mark.parametrize(("away", "replaces"), [(INTACT, True), (REPLACEMENT, False)])
def test_lanes_that_are_done_get_new_rays(kernel: KernelStrategy, away: int, replaces: bool) -> None:
    """A warp whose first ray goes on for long begins with the next ticket before that ray is done, or does not."""
    host = KernelHost(soup(1), kernel, (1, SLOT_RAYS))
    host.threads = 64  # one warp that works
    host.scene.record["extent"] = away
    rays = make_rays(np.tile([1.0, 0, 0], (64, 1)), [[0.0, 0, 1]])
    rays[0, 0] = MANY
    write_order(host.memory, 0, rays)
    say(host.memory.stop, ONCE)
    host.run()
    begun = host.memory.hits[0, 3, :64].view(np.uint32)
    assert begun[:32].max() < FIRST_TICKET
    assert (begun[32:].min() < FIRST_TICKET) == replaces


#: What hands the counters of a launch over to its last block, which reports and clears them.
OF_COUNTERS = ("__syncthreads();", "__threadfence();")

#: A walk that counts: a ray whose t_max is 5 has a fault.
COUNTED_WALK = """
#include "bvh2.cuh"
#include "fault.cuh"
template <bool ANY_HIT> __device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {
    if (ray.t_max == 5.0f) faults |= STACK_OVERFLOW;
    return miss();
}
#include "rounds.cuh"
"""


def wrong_reports(folder: Path, away: str) -> int:
    """How many of some launches of four blocks, on weak memory, report invalid rays or faults wrongly."""
    text = (KERNELS / "streamed.cuh").read_text()
    finish = text[text.index("void finish(") :]
    assert away == "" or finish.count(away) == 1
    (folder / "streamed.cuh").write_text(text.replace(finish, finish.replace(away, "")))
    (folder / "entry_points.cuh").write_text((KERNELS / "entry_points.cuh").read_text())
    (folder / "rounds.cuh").write_text((KERNELS / "rounds.cuh").read_text())
    (folder / "walk.cu").write_text(COUNTED_WALK)
    kernel = replace(find_strategy(None), source=folder / "walk.cu", defines={}, block_size=64)
    rays = make_rays(np.zeros((250, 3)), [[0.0, 0, 1]])
    rays[[3, 70, 140, 249], 4:7] = 0.0
    wrong = 0
    for seed in range(20):
        with EmulatedTracer(soup(1), kernel, order="shuffled", seed=seed, is_weak=True, threads=1) as opened:
            opened.closest_hit(rays)
            wrong += opened.statistics().invalid_rays != 4
            faulty = rays.copy()
            faulty[seed * 12, 7] = 5.0
            try:
                opened.closest_hit(faulty)
                wrong += 1
            except KernelError:
                pass
    return wrong


@pytest.mark.parametrize("away", ["", *OF_COUNTERS])
def test_the_last_block_reports_what_all_have_counted(tmp_path: Path, away: str) -> None:
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    assert (wrong_reports(tmp_path, away) > 0) == (away != "")
