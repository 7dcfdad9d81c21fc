"""Kernels that fail on purpose, see `faulty.cu`."""

from dataclasses import replace
from pathlib import Path

from tracecore.kernels.strategies import find_strategy, register_strategy, strategy_names
from tracecore.kernels.strategy import KernelStrategy

SOURCE = Path(__file__).with_name("faulty.cu")

#: Ways to fail, by the numbers that the kernel knows them by.
FAULTS = {"wrong-hit": 1, "missing-triangle": 2, "illegal-address": 3, "endless": 4}


def faulty(fault: str, period: int, seed: int = 0) -> KernelStrategy:
    """A kernel that fails so at about one of `period` rays; others of the seed are struck with another one."""
    sound = find_strategy("if-if")
    defines = {**sound.defines, "FAULT": FAULTS[fault], "FAULT_PERIOD": period, "FAULT_SEED": seed}
    return replace(sound, name=f"faulty-{fault}", source=SOURCE, defines=defines)


def registered(fault: str, period: int, seed: int = 0) -> str:
    """The name of such a kernel, which is known by it from now on."""
    kernel = faulty(fault, period, seed)
    return kernel.name if kernel.name in strategy_names() else register_strategy(kernel).name
