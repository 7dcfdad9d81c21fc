"""Holds every error that the co-processor raises."""


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


class PeerError(TraceError):
    """Says that another tracer cannot be compared with here; the message gives the reason and the remedy."""
