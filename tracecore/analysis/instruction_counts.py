"""Counts the instructions that a kernel takes for each of its steps, in the machine code that the compiler makes.

A kernel marks where its steps begin (`kernels/steps.cuh`). Compiled with MARKED, each mark is an instruction of no
other use, which is not counted. From a step to the next of its kind there are several ways through the code. The one
with the fewest instructions counts, so that no warp issues fewer and a rate concluded from it is an upper bound. Aila,
Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass, replace

from tracecore.analysis.machine_code import NOWHERE, Indices, MachineCode, disassemble
from tracecore.cuda.nvrtc import compile_source
from tracecore.kernels.source import flatten
from tracecore.kernels.step_records import Step
from tracecore.kernels.strategy import USUAL_STACK, KernelStrategy
from tracecore.rays import Query

Constants = tuple[tuple[str, str], ...]

ENTRY_OF_QUERY = {Query.CLOSEST: "closest_hit", Query.ANY: "any_hit"}


#: Mark of a warp that asks for rays, beside those of steps.
REFILL = len(Step)


@dataclass(frozen=True, kw_only=True)
class StepInstructions:
    """Holds the least numbers of instructions that a warp issues.

    ray: for new rays, from taking them to storing their hits.
    node: for a visit of an inner node.
    leaf: for picking up a leaf.
    triangle: for a test of a triangle that the ray passes by.
    inside: how many more a test takes of a triangle that the ray does not pass by.
    iteration: for an iteration of the loop around all these steps.
    alu: the same of the instructions alone that go to the ALU pipe, on the ways with the fewest of these; None where it
    is not known.

    Each is 0 where the kernel does not mark such a step, or where an iteration cannot be told from a step.
    """

    ray: int
    node: int
    leaf: int
    triangle: int
    inside: int
    iteration: int
    alu: StepInstructions | None = None


def step_instructions(strategy: KernelStrategy, arch: str, query: Query = Query.CLOSEST) -> StepInstructions:
    """Returns the instructions of a kernel in streamed dispatch whose triangles are all solid. They are counted once in
    a process.

    strategy: the kernel.
    arch: the architecture compiled for, such as "sm_90".
    query: which of the kernel's entry points.
    Raises `KernelError` where it does not compile, `DeviceError` where there is no compiler or no disassembler.
    """
    return _count_once(*_marked(strategy, arch), query)


def marked_code(strategy: KernelStrategy, arch: str) -> dict[str, MachineCode]:
    """Returns the machine code of each entry point, compiled with marks, once in a process.

    The parameters and errors are those of `step_instructions`.
    """
    return _compile_once(*_marked(strategy, arch))


def _marked(strategy: KernelStrategy, arch: str) -> tuple[str, str, str, Constants]:
    """Returns all that a kernel's code with marks depends on: source, name, architecture and constants."""
    constants = {**strategy.constants(USUAL_STACK), "MARKED": "1"}
    return flatten(strategy.source), strategy.source.name, arch, tuple(constants.items())


@functools.lru_cache(maxsize=512)
def _count_once(source: str, name: str, arch: str, constants: Constants, query: Query) -> StepInstructions:
    return count(_compile_once(source, name, arch, constants)[ENTRY_OF_QUERY[query]])


@functools.lru_cache(maxsize=256)
def _compile_once(source: str, name: str, arch: str, constants: Constants) -> dict[str, MachineCode]:
    cubin, _ = compile_source(source, name, arch, dict(constants))
    return disassemble(cubin)


# ------------------------------------------------------------------------------------------------- of an entry point


ENTRY: Indices = frozenset({0})


@dataclass(frozen=True, kw_only=True)
class InstructionParts:
    """Divides the instructions that can be reached by what they are for, as in `StepInstructions`; marks are in
    none.
    """

    ray: Indices
    node: Indices
    leaf: Indices
    triangle: Indices
    inside: Indices
    iteration: Indices


def count(code: MachineCode) -> StepInstructions:
    """Returns the instructions of an entry point that was compiled with marks."""
    marked = MarkedCode(code)
    parts = divide(marked)
    return replace(_fewest(marked, parts), alu=_fewest(MarkedCode(code, code.alu), parts))


def _fewest(marked: MarkedCode, parts: InstructionParts) -> StepInstructions:
    return StepInstructions(
        ray=marked.fewest_of_a_ray(parts.ray),
        node=marked.fewest(Step.NODE, parts.node, must_load=True),
        leaf=marked.fewest(Step.LEAF, parts.leaf),
        triangle=marked.fewest(Step.TRIANGLE, parts.triangle, must_load=True),
        inside=marked.fewest(Step.INSIDE, parts.inside),
        iteration=marked.fewest_of_an_iteration(parts.iteration),
    )


def divide(marked: MarkedCode) -> InstructionParts:
    """Returns the parts of the code; each instruction is in one.

    Of the loop around all steps, `inside` is what can only be reached through its mark. A step has what lies around it
    without an iteration of the loop; if there is no such way, what lies around it but around no other. The rest of the
    loop belongs to no step.
    """
    outside = marked.reached - marked.loop
    inside = marked.loop - marked.code.after(ENTRY, marked.at(Step.INSIDE))
    steps = marked.loop - inside
    node = steps & marked.own(Step.NODE, {Step.LEAF, Step.TRIANGLE})
    triangle = steps & marked.own(Step.TRIANGLE, {Step.NODE, Step.LEAF}) - node
    leaf = steps & marked.own(Step.LEAF, {Step.NODE}) - node - triangle
    marks = marked.at(*Step, REFILL)
    return InstructionParts(
        ray=outside - marks,
        node=node - marks,
        leaf=leaf - marks,
        triangle=triangle - marks,
        inside=inside - marks,
        iteration=steps - node - leaf - triangle - marks,
    )


class MarkedCode:
    """Holds the code of an entry point, and where its marks are.

    pipe: the instructions that count, None for all.
    """

    def __init__(self, code: MachineCode, pipe: Indices | None = None) -> None:
        self.code = code
        self._pipe = frozenset(range(len(code.opcodes))) if pipe is None else pipe
        self.reached = ENTRY | code.after(ENTRY)
        self._marks = {mark: code.indices("PMTRIG", hex(1 << mark)) & self.reached for mark in (*Step, REFILL)}
        self.steps = self.at(Step.NODE, Step.LEAF, Step.TRIANGLE)
        #: The loop of steps without new rays, and where it is entered; every iteration passes there.
        self.loop = self._around(self.steps, self.at(REFILL))
        self.begin = self.loop & code.next_to(self.reached - self.loop)

    def at(self, *marks: int) -> Indices:
        """Returns where the marks of some numbers are."""
        return NOWHERE.union(*(self._marks[mark] for mark in marks))

    def own(self, mark: int, others: Collection[int]) -> Indices:
        """Returns what lies around a mark and belongs to it."""
        here, refill = self.at(mark), self.at(REFILL)
        without_iteration = self.code.around(here, refill | self.at(*others) | self.begin)
        if without_iteration:
            return without_iteration
        return self.code.around(here, refill | self.at(*others)) - self._around(self.at(*others), refill | here)

    def fewest(self, mark: int, part: Indices, must_load: bool = False) -> int:
        """Returns the fewest instructions of a part that are issued from a mark to the next of its kind.

        must_load: only ways that load from memory count; one that does not is that of a full stack, or of a lane that
        has nothing to test.
        """
        loads = self.code.indices("LDG") & part if must_load else NOWHERE
        return self._fewest([self.at(mark), loads, self.at(mark)], part, self.at(REFILL))

    def fewest_of_an_iteration(self, part: Indices) -> int:
        """Returns the fewest instructions of a part that are issued from the begin of an iteration to the next."""
        return self._fewest([self.begin, self.begin], part, self.at(REFILL))

    def fewest_of_a_ray(self, part: Indices) -> int:
        """Returns the fewest instructions of a part that are issued from loading a ray to loading the next. Where a
        warp has no next ray, they count from its begin to its end.
        """
        loads = self.code.indices("LDG.E.EF") & part  # as ray.cuh loads rays
        if self.code.after(self.steps) & loads:
            return self._fewest([loads, self.steps, loads], part)
        return self._fewest([ENTRY, loads, self.steps, self.code.indices("EXIT")], part)

    def _fewest(self, stops: list[Indices], counted: Indices, without: Indices = NOWHERE) -> int:
        return self.code.fewest([stop for stop in stops if stop], counted & self._pipe, without) or 0

    def _around(self, indices: Indices, without: Indices) -> Indices:
        """Returns what lies around each of some instructions."""
        return NOWHERE.union(*(self.code.around(frozenset({index}), without) for index in indices))
