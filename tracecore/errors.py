"""Every error that the co-processor raises."""


class TraceError(Exception):
    """Root of the tracecore's errors."""


class TriangleError(TraceError, ValueError):
    """The triangles given cannot be traced; the message names the first bad one."""


class CutoutError(TraceError, ValueError):
    """The cut-outs given do not fit the triangles, or a mask is too large."""


class RayError(TraceError, ValueError):
    """The ray array given has the wrong shape or type."""


class DeviceError(TraceError):
    """The device asked for cannot be used; the message gives the reason and the remedy."""


class KernelError(TraceError):
    """A kernel is unknown, does not compile, or reported a fault while tracing."""


class PeerError(TraceError):
    """Another tracer cannot be compared with here; the message gives the reason and the remedy."""
