"""Holds every error that the co-processor raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class TraceError(Exception):
    """Stands at the root of all errors of tracecore."""


class TriangleError(TraceError, ValueError):
    """Says that the triangles given cannot be traced; the message names the first bad one."""


class CutoutError(TraceError, ValueError):
    """Says that the cut-outs given do not fit the triangles, or that a mask is too large."""


class RayError(TraceError, ValueError):
    """Says that the ray array given has the wrong shape or type."""


class DeviceError(TraceError):
    """Says that the device asked for cannot be used; the message gives the reason and the remedy."""


class KernelError(TraceError):
    """Says that a kernel is unknown, does not compile, or reported a fault while tracing."""


class WrongHitError(KernelError):
    """Says that hits of a kernel are not those of another tracer.

    kernel: its name.
    query: what was asked, a `tracecore.rays.Query`.
    rays: (n, 8) float32, of the batch.
    index: of the first wrong ray.
    """

    def __init__(self, kernel: str, query: int, rays: npt.NDArray[np.float32], index: int, words: str) -> None:
        super().__init__(f"kernel {kernel!r} is wrong: {words}")
        self.kernel, self.query, self.rays, self.index = kernel, query, rays, index


class VariableError(TraceError, ValueError):
    """Says that a variable of the environment has a value that it cannot have; the message names both."""


class PeerError(TraceError):
    """Says that another tracer cannot be compared with here; the message gives the reason and the remedy."""
