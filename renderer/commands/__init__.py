"""This package holds the commands, one module each. What they ask of a module is in `renderer.cli`."""

#: All commands in the order of the help, by a name of one word or two. The module of `bench error` is `bench_error`.
COMMANDS = (
    "render",
    "view",
    "compare",
    "denoise",
    "photons",
    "bench",
    "bench dispatch",
    "bench error",
    "bench pictures",
    "bench film",
    "bench gather",
    "bench shading",
    "bench builders",
    "bench embree",
    "bench launches",
    "tune",
    "check",
    "simulate",
    "reproduce",
    "scene",
    "convert",
    "doctor",
)
