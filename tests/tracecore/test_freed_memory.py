"""Arrays are made in memory that was freed before."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from tracecore.freed_memory import keep_freed_memory

if {is_kept}:
    keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    arrays = [np.ones(6 << 17) for _ in range(4)]
    del arrays
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*, is_kept: bool) -> int:
    """Returns how many pages a process was given that makes four arrays of 6 MB each, twenty times."""
    program = FAULTS.format(is_kept=is_kept)
    return int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries do as they do")
def test_memory_of_freed_arrays_is_kept() -> None:
    assert 3 * faults(is_kept=True) < faults(is_kept=False)
