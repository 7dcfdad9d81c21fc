"""Instructions that a kernel takes for each of its steps, counted in the machine code that the compiler makes.

A kernel marks where its steps begin (`kernels/steps.cuh`). Compiled with MARKED, each mark is an instruction of no
other use, which is not counted. From a step to the next of its kind there are several ways through the code. The one
with the fewest instructions counts, so that no warp issues fewer and a rate concluded from it is an upper bound. Aila,
Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass

from tracecore.analysis.machine_code import NOWHERE, MachineCode, Places, disassemble
from tracecore.cuda.nvrtc import compile_source
from tracecore.kernels.source import flatten
from tracecore.kernels.step_records import Step
from tracecore.kernels.strategy import USUAL_STACK, KernelStrategy
from tracecore.rays import Query

Constants = tuple[tuple[str, str], ...]

ENTRIES = {Query.CLOSEST: "closest_hit", Query.ANY: "any_hit"}


#: Mark of a warp that asks for rays, beside those of steps.
REFILL = len(Step)


@dataclass(frozen=True, kw_only=True)
class StepInstructions:
    """Instructions that a warp issues at least.

    ray: for new rays, from taking them to storing their hits. node: for a visit of an inner node. leaf: for picking up
    a leaf. triangle: for a test of a triangle that the ray passes by. inside: more of it for one that it does not pass
    by. turn: for a turn of the loop around all these steps. 0: the kernel does not mark such a step, or a turn of the
    loop cannot be told from a step.
    """

    ray: int
    node: int
    leaf: int
    triangle: int
    inside: int
    device_lock: int


def step_instructions(
    strategy: KernelStrategy, arch: str, query: Query = Query.CLOSEST, stack_size: int = USUAL_STACK
) -> StepInstructions:
    """Of a kernel in streamed dispatch, all triangles solid, counted once in a process. arch: such as "sm_90".
    stack_size: as from `stack_for`.

    Raises `KernelError` where it does not compile, `DeviceError` where there is no compiler or no disassembler.
    """
    return _count_once(*_marked(strategy, arch, stack_size), query)


def marked_code(strategy: KernelStrategy, arch: str, stack_size: int = USUAL_STACK) -> dict[str, MachineCode]:
    """Of each entry point, with marks; made once in a process. Raises as `step_instructions`."""
    return _compile_once(*_marked(strategy, arch, stack_size))


def _marked(strategy: KernelStrategy, arch: str, stack_size: int) -> tuple[str, str, str, Constants]:
    """All that its code with marks depends on."""
    constants = {**strategy.constants(stack_size), "MARKED": "1"}
    return flatten(strategy.source), strategy.source.name, arch, tuple(constants.items())


@functools.lru_cache(maxsize=512)
def _count_once(source: str, name: str, arch: str, constants: Constants, query: Query) -> StepInstructions:
    return count(_compile_once(source, name, arch, constants)[ENTRIES[query]])


@functools.lru_cache(maxsize=256)
def _compile_once(source: str, name: str, arch: str, constants: Constants) -> dict[str, MachineCode]:
    cubin, _ = compile_source(source, name, arch, dict(constants))
    return disassemble(cubin)


# ------------------------------------------------------------------------------------------------- of an entry point


ENTRY: Places = frozenset({0})


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The instructions that can be reached, by what they are for, as in `StepInstructions`; marks are in none."""

    ray: Places
    node: Places
    leaf: Places
    triangle: Places
    inside: Places
    device_lock: Places


def count(code: MachineCode) -> StepInstructions:
    """Of an entry point that was compiled with marks."""
    marked = MarkedCode(code)
    parts = divide(marked)
    return StepInstructions(
        ray=marked.fewest_of_a_ray(parts.ray),
        node=marked.fewest(Step.NODE, parts.node, must_load=True),
        leaf=marked.fewest(Step.LEAF, parts.leaf),
        triangle=marked.fewest(Step.TRIANGLE, parts.triangle, must_load=True),
        inside=marked.fewest(Step.INSIDE, parts.inside),
        device_lock=marked.fewest_of_a_turn(parts.device_lock),
    )


def divide(marked: MarkedCode) -> Parts:
    """Each instruction is in one part.

    Of the loop around all steps, `inside` is what can only be reached through its mark. A step has what lies around it
    without a turn of the loop; if there is no such way, what lies around it but around no other. The rest of the loop
    is no step's own.
    """
    outside = marked.reached - marked.loop
    inside = marked.loop - marked.code.after(ENTRY, marked.at(Step.INSIDE))
    steps = marked.loop - inside
    node = steps & marked.own(Step.NODE, {Step.LEAF, Step.TRIANGLE})
    triangle = steps & marked.own(Step.TRIANGLE, {Step.NODE, Step.LEAF}) - node
    leaf = steps & marked.own(Step.LEAF, {Step.NODE}) - node - triangle
    marks = marked.at(*Step, REFILL)
    return Parts(
        ray=outside - marks,
        node=node - marks,
        leaf=leaf - marks,
        triangle=triangle - marks,
        inside=inside - marks,
        device_lock=steps - node - leaf - triangle - marks,
    )


class MarkedCode:
    """An entry point and its marks."""

    def __init__(self, code: MachineCode) -> None:
        self.code = code
        self.reached = ENTRY | code.after(ENTRY)
        self._marks = {mark: code.places("PMTRIG", hex(1 << mark)) & self.reached for mark in (*Step, REFILL)}
        self.steps = self.at(Step.NODE, Step.LEAF, Step.TRIANGLE)
        #: Of steps without new rays, and where it is entered; every turn passes there.
        self.loop = self._around(self.steps, self.at(REFILL))
        self.begin = self.loop & code.next_to(self.reached - self.loop)

    def at(self, *marks: int) -> Places:
        """Where they are."""
        return NOWHERE.union(*(self._marks[mark] for mark in marks))

    def own(self, mark: int, others: Collection[int]) -> Places:
        """What lies around a mark and belongs to it."""
        here, refill = self.at(mark), self.at(REFILL)
        without_turn = self.code.around(here, refill | self.at(*others) | self.begin)
        if without_turn:
            return without_turn
        return self.code.around(here, refill | self.at(*others)) - self._around(self.at(*others), refill | here)

    def fewest(self, mark: int, part: Places, must_load: bool = False) -> int:
        """Of a part, from a mark to the next of its kind. must_load: from memory; a way that does not is that of a full
        stack, or of a lane that has nothing to test."""
        loads = self.code.places("LDG") & part if must_load else NOWHERE
        return self._fewest([self.at(mark), loads, self.at(mark)], part, self.at(REFILL))

    def fewest_of_a_turn(self, part: Places) -> int:
        """Of a part, from a turn to the next."""
        return self._fewest([self.begin, self.begin], part, self.at(REFILL))

    def fewest_of_a_ray(self, part: Places) -> int:
        """Of a part, from loading a ray to loading the next; where a warp has no next, from its begin to its end."""
        loads = self.code.places("LDG.E.EF") & part  # as ray.cuh loads rays
        if self.code.after(self.steps) & loads:
            return self._fewest([loads, self.steps, loads], part)
        return self._fewest([ENTRY, loads, self.steps, self.code.places("EXIT")], part)

    def _fewest(self, stops: list[Places], counted: Places, without: Places = NOWHERE) -> int:
        return self.code.fewest([stop for stop in stops if stop], counted, without) or 0

    def _around(self, places: Places, without: Places) -> Places:
        """What lies around each of them."""
        return NOWHERE.union(*(self.code.around(frozenset({place}), without) for place in places))
