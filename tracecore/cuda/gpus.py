"""GPUs by what they can issue."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """What a GPU can issue.

    name: as the vendor gives it, or short.
    multiprocessors: how many it has.
    clock: GHz, the highest in normal use.
    issue: how many instructions of a warp a multiprocessor begins in a clock.
    alu: how many of them the ALU pipes take in a clock (`analysis/machine_code.py`).
    arch: what to compile for, the nearest one that the compiler knows.
    width: how many lanes a warp has.
    """

    name: str
    multiprocessors: int
    clock: float
    issue: float
    alu: float
    arch: str
    width: int = 32

    def instruction_rate(self, width: int) -> float:
        """Returns instructions per second of warps that are so many lanes wide; in all there are as many lanes."""
        return self.clock_rate(width) * self.issue

    def clock_rate(self, width: int) -> float:
        """Returns clocks per second of all multiprocessors, times what warps of so many lanes are of its own."""
        return self.multiprocessors * self.clock * 1e9 * self.width / width


#: By name, as in the vendor's documents: NVIDIA H100 Tensor Core GPU Architecture, 2022 (four schedulers, each begins
#: an instruction a clock), with NVIDIA H200 Tensor Core GPU, data sheet, 2024; NVIDIA Ada GPU Architecture, 2022;
#: NVIDIA A100 Tensor Core GPU Architecture, 2020; NVIDIA CUDA Programming Guide 2.2, 2009 (a warp's instruction takes
#: four clocks of eight processors), with GeForce GTX 285, specifications, 2009. The last one is the GPU of the paper;
#: no compiler of today knows it, so its instructions are those of a later one; its pipes are one. ALU pipes take 64
#: lanes a clock since 2017: NVIDIA CUDA C++ Programming Guide 13.0, arithmetic instructions.
GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu(name="h200", multiprocessors=132, clock=1.98, issue=4.0, alu=2.0, arch="sm_90"),
        Gpu(name="rtx-4090", multiprocessors=128, clock=2.52, issue=4.0, alu=2.0, arch="sm_89"),
        Gpu(name="a100", multiprocessors=108, clock=1.41, issue=4.0, alu=2.0, arch="sm_80"),
        Gpu(name="gtx-285", multiprocessors=30, clock=1.476, issue=0.25, alu=0.25, arch="sm_75"),
    )
}
