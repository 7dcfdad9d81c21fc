"""Reads machine code as a graph: which instruction may follow which, and how few can be issued on a way through it.

NVIDIA's disassembler reads it; like the compiler it needs neither a driver nor a GPU.
"""

from __future__ import annotations

import heapq
import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracecore.errors import DeviceError

REMEDY = "pip install nvidia-cuda-nvdisasm cuda-pathfinder"

Indices = frozenset[int]
Neighbours = tuple[tuple[int, ...], ...]

NOWHERE: Indices = frozenset()

#: Operations of the pipe for comparison, selection, integers but for their products, shifts and logic, which takes half
#: as many lanes a clock as a scheduler issues. NVIDIA: CUDA C++ Programming Guide 13.0, table of arithmetic throughput;
#: Nsight Compute, Pipelines. Moves are left out, as they go to several pipes.
ALU_OPERATIONS = frozenset(
    [
        *("FMNMX", "VIMNMX", "VIMNMX3", "IMNMX", "FSETP", "FSET", "ISETP", "FSEL", "SEL"),
        *("IADD3", "VIADD", "IABS", "LEA", "LOP3", "PLOP3", "SHF", "PRMT"),
    ]
)

#: From sm_70 on.
INSTRUCTION_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class MachineCode:
    """Holds the instructions of an entry point, named by their indices.

    opcodes: such as "LDG.E.128.CONSTANT".
    operands: as the disassembler writes them.
    following: of each instruction, those that may be issued next.
    """

    opcodes: tuple[str, ...]
    operands: tuple[str, ...]
    following: Neighbours

    @classmethod
    def read(cls, instructions: list[Mapping[str, Any]]) -> MachineCode:
        """Reads the disassembler's list: opcode, and operands and a predicate where there are any."""
        return cls(
            opcodes=tuple(instruction["opcode"] for instruction in instructions),
            operands=tuple(instruction.get("operands", "") for instruction in instructions),
            following=tuple(
                tuple(index for index in _following(here, instruction) if index < len(instructions))
                for here, instruction in enumerate(instructions)
            ),
        )

    def indices(self, opcode: str, operands: str | None = None) -> Indices:
        """Returns the instructions whose opcode begins so, with these operands or any."""
        pairs = enumerate(zip(self.opcodes, self.operands, strict=True))
        return frozenset(index for index, (its, own) in pairs if its.startswith(opcode) and operands in (None, own))

    @property
    def alu(self) -> Indices:
        """Returns the instructions that go to the ALU pipe."""
        return frozenset(index for index, its in enumerate(self.opcodes) if its.split(".")[0] in ALU_OPERATIONS)

    def next_to(self, indices: Indices) -> Indices:
        """Returns the instructions that may be issued right after some."""
        return frozenset(following for index in indices for following in self.following[index])

    def after(self, starts: Indices, without: Indices = NOWHERE) -> Indices:
        """Returns the instructions to which ways lead that begin behind `starts` and pass none of `without`."""
        return _reached(self.following, starts, without)

    def around(self, marks: Indices, without: Indices = NOWHERE) -> Indices:
        """Returns the instructions on ways that lead from `marks` back to `marks` and pass none of `without`."""
        return self.after(marks, without) & _reached(_reversed(self.following), marks, without)

    def fewest(self, stops: list[Indices], counted: Indices, without: Indices = NOWHERE) -> int | None:
        """Returns the fewest instructions that are issued on a way from stop to stop, or None if there is no way.

        stops: the way leads from one of the first set, itself not counted, to one of the next, from there to one of the
        set after, and so on.
        counted: only these instructions count.
        without: the way passes none of these.
        Dijkstra: A Note on Two Problems in Connexion with Graphs, 1959.
        """
        first, *rest = stops or [NOWHERE]
        queue = [(0, 0, index) for index in first]
        done: set[tuple[int, int]] = set()
        while queue:
            issued, stop, index = heapq.heappop(queue)
            if stop == len(rest):
                return issued
            if (stop, index) in done:
                continue
            done.add((stop, index))
            for following in self.following[index]:
                if following not in without:
                    arrived = following in rest[stop]
                    heapq.heappush(queue, (issued + (following in counted), stop + arrived, following))
        return None


def disassemble(cubin: bytes) -> dict[str, MachineCode]:
    """Returns the machine code of each entry point. Raises `DeviceError` where there is no disassembler, or one too
    old.
    """
    program = find_disassembler()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run([program, "--emit-json", str(path)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DeviceError(f"{program} cannot read machine code: {done.stderr.strip()}; {REMEDY}")
    _, functions = json.loads(done.stdout)
    return {function["function-name"]: MachineCode.read(function["sass-instructions"]) for function in functions}


def find_disassembler() -> str:
    """Returns the path of NVIDIA's disassembler. Raises `DeviceError` where it is not installed."""
    try:
        from cuda.pathfinder import find_nvidia_binary_utility
    except ImportError as error:
        raise DeviceError(f"no disassembler: {error}; {REMEDY}") from error
    program = find_nvidia_binary_utility("nvdisasm")
    if program is None:
        raise DeviceError(f"no disassembler: nvdisasm is not installed; {REMEDY}")
    return str(program)


def _following(index: int, instruction: Mapping[str, Any]) -> tuple[int, ...]:
    """Returns the instructions that may be issued after one.

    A subroutine is taken to be one instruction, and slow paths, as of a division near the limits of floats, to be never
    called.
    """
    operation, *modifiers = instruction["opcode"].split(".")
    *conditions, target = instruction.get("operands", "").split(",")
    is_certain = "predicate" not in instruction and not conditions and {"DIV", "CONV"}.isdisjoint(modifiers)
    ahead = (index + 1,)
    if operation in ("BRA", "CALL") and target.startswith("0x"):  # sm_80 leaves a loop by a CALL
        there = (int(target, 16) // INSTRUCTION_BYTES,)
        return there if operation == "BRA" and is_certain else ahead + there
    if operation == "CALL" and target.endswith("slowpath"):
        return ()
    ends = operation in ("EXIT", "RET", "BRX", "JMX", "JMP") and "predicate" not in instruction
    return () if ends else ahead


def _reached(neighbours: Neighbours, starts: Indices, without: Indices) -> Indices:
    reached: set[int] = set()
    waiting = [index for start in starts for index in neighbours[start]]
    while waiting:
        index = waiting.pop()
        if index not in reached and index not in without:
            reached.add(index)
            waiting.extend(neighbours[index])
    return frozenset(reached)


def _reversed(neighbours: Neighbours) -> Neighbours:
    before: list[list[int]] = [[] for _ in neighbours]
    for index, its in enumerate(neighbours):
        for neighbour in its:
            before[neighbour].append(index)
    return tuple(map(tuple, before))
