"""Vectors of 512 bits are chosen in time, where there are any and the user has not chosen."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import numba.core.codegen
from numba.core.registry import cpu_target
numba.core.codegen.get_host_cpu_features = lambda: "+avx2,{feature}"
import {module}
from tracecore.compilation.merging import has_widest_vectors
print(cpu_target.target_context.codegen()._tm_features, has_widest_vectors())
"""


CASES = [
    ("+avx512f", {}, "+avx2,+avx512f,-prefer-256-bit True"),
    ("-avx512f", {}, "+avx2,-avx512f False"),
    ("+avx512f", {"NUMBA_CPU_FEATURES": "+sse2"}, "+sse2 False"),
    ("+avx512f", {"NUMBA_CPU_FEATURES": "+avx512f,-prefer-256-bit"}, "+avx512f,-prefer-256-bit True"),
    ("+avx512f", {"NUMBA_CPU_FEATURES": "+avx512f"}, "+avx512f False"),
    ("+avx512f", {"NUMBA_CPU_NAME": "generic"}, " False"),
]
#: Whatever is imported first chooses; how, does not depend on it.
FIRST = ["tracecore.tracers.cpu", "shaders.sampling"]


@pytest.mark.parametrize(
    ("module", "feature", "environment", "expected"),
    [*(("renderer.drivers", *case) for case in CASES), *((module, *CASES[0]) for module in FIRST)],
)
def test_widest_vectors(module, feature, environment, expected):
    """In a process of its own, as Numba reads its settings once."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_CPU")}
    script = [sys.executable, "-c", SCRIPT.format(feature=feature, module=module)]
    done = subprocess.run(script, env=clean | environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip("\n") == expected
