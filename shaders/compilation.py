"""How shading functions are compiled: to be inlined in the loops of whoever calls them, which keep the machine code."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba
from numba.core.codegen import get_host_cpu_features

F = TypeVar("F", bound=Callable[..., object])


def use_widest_vectors() -> None:
    """Have Numba use all 512 bits of vectors where the processor has them, unless the user chose what it has.

    LLVM keeps to 256 on Intel's, as the first ones of them slowed down for wider ones. On Emerald Rapids photons are
    shaded in 16 to 18 ns a ray with 512 bits and in 19 with 256, on all of 16 cores at a time. Numba looks at its
    settings when it sees the first function that is to be compiled: here, or in `tracecore.compiled`.
    """
    features = get_host_cpu_features()  # type: ignore[no-untyped-call]
    chosen = numba.config.CPU_NAME or numba.config.CPU_FEATURES  # type: ignore[attr-defined]
    if chosen is None and "+avx512f" in features.split(","):
        numba.config.CPU_FEATURES = f"{features},-prefer-256-bit"  # type: ignore[attr-defined]


use_widest_vectors()


def compiled(function: F) -> F:
    """Decorator: IEEE arithmetic, no interpreter lock; callers that are cached on disk carry the code with them."""
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True)(function))


def called(function: F) -> F:
    """Decorator: as `compiled`, for what few hits need: it stays out of the loops of those that do not."""
    return cast(F, numba.njit(nogil=True, error_model="numpy")(function))
