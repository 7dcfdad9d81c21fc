"""The command `tracecore check` tries a kernel of one's own on hard cases, and tells where it differs from the CPU."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from renderer.commands.arguments import add_plugin, names, number
from renderer.errors import UsageError

if TYPE_CHECKING:
    from tracecore.checks.child import Check
    from tracecore.kernels.strategy import KernelStrategy

EXAMPLES = """\
Each case is asked for the nearest and for any hit, and all bits are compared with those of the CPU: empty and tiny
scenes, ties, edges, rays within planes, intervals, numbers that are none, tiny, huge and far scenes, a deep tree, and
cut-outs where the kernel traces them. In the emulator, which needs g++, lanes run in order, then in random order on a
memory that shows late what is not handed over, and then as a kernel that stays and answers a ring. It is compiled with
sanitizers of addresses and of undefined behaviour, in a process of its own: what crashes is told with its line.

A line for each case, and one that counts them. After a case that does not end the others are not run.

exit status: 0 if all cases are right, else 1

examples:
  tracecore check --plugin my_kernel.py
  tracecore check --plugin my_kernel.py --device gpu
  tracecore check --kernels while-while,bvh4
"""

#: The name of the first case, in which nothing is traced.
COMPILES = "compiles"

#: What the process runs in which cases are traced.
PROGRAM = "from renderer.commands.check import answer_cases; answer_cases()"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_plugin(parser)
    parser.add_argument("--kernels", metavar="NAMES", help="separated by commas (default: those that plugins bring)")
    parser.add_argument(
        "--device", choices=("emulator", "gpu"), default="emulator", help="what runs them (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout",
        type=number(0.1, 1e6),
        default=120.0,
        metavar="SECONDS",
        help="that tracing a case may take (default: %(default)g)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs all cases of each kernel and prints what comes out; returns the exit status."""
    from tracecore.kernels.strategies import BUILT_IN, find_strategy, strategy_names

    own = [name for name in strategy_names() if name not in BUILT_IN]
    if not own and not arguments.kernels:
        raise UsageError("no plugin brings a kernel: name the file of one by --plugin, or kernels by --kernels")
    kernels = [find_strategy(name) for name in names(arguments.kernels or ",".join(own), strategy_names(), "kernel")]
    environment = _environment(arguments.device)
    _prepare()
    statuses = [_report(kernel, _check(kernel, arguments, environment)) for kernel in kernels]
    return max(statuses)


def _environment(device: str) -> dict[str, str]:
    """Returns variables for the process. Raises `DeviceError` where the device cannot be used."""
    from tracecore.emulator.library import emulator_unavailable_reason, sanitizer_environment
    from tracecore.errors import DeviceError
    from tracecore.tracers.gpu import gpu_unavailable_reason

    reason = gpu_unavailable_reason() if device == "gpu" else emulator_unavailable_reason()
    if reason is not None:
        raise DeviceError(f"kernels cannot be checked: {reason}")
    if device == "gpu":
        return {}
    variables = sanitizer_environment()
    if variables is None:
        print(
            "tracecore: note: g++ has no libasan and libubsan here, so that wrong addresses may not be found; "
            "install them (such as: apt install libasan8 libubsan1)",
            file=sys.stderr,
        )
    return variables or {}


def _prepare() -> None:
    """Has the CPU's own code compiled by this process, which shows it."""
    from tracecore.checks.ray_cases import random_rays, soup
    from tracecore.kernels.strategies import find_strategy
    from tracecore.tracers.cpu import CpuTracer

    find_strategy(None).build(soup(300))
    with CpuTracer(soup(300), threads=1) as cpu:
        cpu.closest_hit(random_rays(0, 1))


def _check(kernel: KernelStrategy, arguments: argparse.Namespace, environment: dict[str, str]) -> Check:
    from renderer.plugins import loaded_files
    from tracecore.checks.child import Check

    plugins = [str(path) for path in loaded_files()]
    order = {"plugins": plugins, "kernel": kernel.name, "device": arguments.device, "seconds": arguments.timeout / 2}
    return Check(
        program=PROGRAM, order=order, source=kernel.source.name, environment=environment, seconds=arguments.timeout
    )


def _report(kernel: KernelStrategy, check: Check) -> int:
    """Prints a line for each case and the last one; returns the exit status."""
    from tracecore.checks.child import findings
    from tracecore.checks.hard_cases import cases_for

    cases = [COMPILES, *cases_for(kernel)]
    wrong = done = 0
    for finding in findings(check, cases):
        print(f"{kernel.name}: case {finding.name}: {finding.text or 'ok'}", flush=True)
        done += 1
        wrong += finding.text is not None
    left = f", {len(cases) - done} not run" if done < len(cases) else ""
    print(f"{kernel.name}: {done - wrong} of {len(cases)} cases ok, {wrong} wrong{left}", flush=True)
    return int(wrong > 0)


def answer_cases() -> None:
    """Answers the cases that standard input names, in a process that may crash."""
    from renderer.plugins import load_installed, load_plugin
    from tracecore.checks.child import answer
    from tracecore.checks.hard_cases import cases_for, judged, opened
    from tracecore.errors import TraceError
    from tracecore.kernels.strategies import find_strategy

    order = json.load(sys.stdin)
    load_installed()
    for path in order["plugins"]:
        load_plugin(path)
    kernel = find_strategy(order["kernel"])
    cases = cases_for(kernel)

    def run_one(name: str, is_ready: Callable[[], None]) -> str | None:
        try:
            case = cases["one-ray"]() if name == COMPILES else cases[name]()
            with opened(kernel, case, order["device"], order["seconds"]) as ways:
                is_ready()
                return None if name == COMPILES else judged(case, ways)
        except TraceError as error:
            return " ".join(str(error).split())
        except Exception as error:  # of a plugin's own `pack`
            return f"{type(error).__name__}: {' '.join(str(error).split())}"

    answer(order["names"], run_one)
