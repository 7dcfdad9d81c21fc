"""Limits of size: parameters and lines of a function, lines of a file. Larger ones are named here, with reasons."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("renderer", "scenes", "shaders", "tracecore")

MOST_PARAMETERS, MOST_LINES, MOST_FILE_LINES = 5, 50, 500

CALLS = "it is the call that others make, and its options are keyword-only"
LOOP = "it is compiled, and a tuple made of its numbers would cost time in a loop or hide what they are"
DRIVER = "it passes on what a call of another program takes"
PLAN = "its settings would only be put into a class and taken out of it again"

FUNCTIONS = {
    "renderer/bench/dispatch_benchmark.py end_to_end": PLAN,
    "renderer/bench/kernel_benchmark.py compare": PLAN,
    "renderer/bench/simulation.py simulated_bound": PLAN,
    "renderer/bench/simulation.py simulations": PLAN,
    "renderer/camera_paths/camera_rays.py start_eye_paths": LOOP,
    "renderer/commands/bench.py run": "it does one thing after another",
    "renderer/photons/photon_map.py find": LOOP,
    "renderer/photons/photon_map.py gather": LOOP,
    "renderer/photons/shading.py shade_batch": LOOP,
    "renderer/photons/shading.py shade_rays": LOOP,
    "renderer/run/photon_run/trace_until_stored.py trace_until_stored": CALLS,
    "renderer/shading/scattering.py scattered": LOOP,
    "renderer/shading/scattering.py scattered_by_lobes": LOOP,
    "renderer/shading/scattering.py seen_at": LOOP,
    "shaders/textures.py _bilinear": LOOP,
    "tracecore/__init__.py open_tracer": CALLS,
    "tracecore/bvh/binned_sah.py _split": LOOP,
    "tracecore/bvh/refit.py _refit": LOOP,
    "tracecore/bvh/tree_top.py _fill_top": LOOP,
    "tracecore/bvh/tree_top.py _move_link": LOOP,
    "tracecore/cpu/traversal.py _push_children": LOOP,
    "tracecore/cpu/traversal.py trace": LOOP,
    "tracecore/cuda/device_kernel.py DeviceKernel.__init__": CALLS,
    "tracecore/cuda/driver.py CudaDriver.compile_kernel": DRIVER,
    "tracecore/cuda/driver.py CudaDriver.launch_kernel": DRIVER,
    "tracecore/cuda/driver.py CupyDriver.compile_kernel": DRIVER,
    "tracecore/cuda/nvrtc.py compile_strategy": DRIVER,
    "tracecore/dispatch/port.py _note": LOOP,
    "tracecore/dispatch/port.py new_port": PLAN,
    "tracecore/emulator/ring.py EmulatedRing.__init__": CALLS,
    "tracecore/emulator/tracer.py EmulatedTracer.__init__": CALLS,
    "tracecore/peers/warp_mesh.py trace_closest": DRIVER,
    "tracecore/tracers/gpu.py GpuTracer.__init__": CALLS,
    "tracecore/workers/pool.py WorkerPool.__init__": CALLS,
}

#: Numba's modules that its manual describes, and our one module for what else is needed of it.
PROMISED = {"numba.extending"} | {
    f"numba.core.{name}" for name in ("cgutils", "compiler_machinery", "errors", "event", "ir", "types")
}
NUMBA_INSIDE = "tracecore/compilation/numba_inside.py"

FILES = {"renderer/scene/projection.py": "it is one projection, of which each part reads what another one writes"}


def sources():
    """All sources of the packages, by their paths."""
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def functions(body, owner=""):
    """The functions of a body by their names, with those inside of classes and functions."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            if isinstance(node, ast.FunctionDef):
                yield owner + node.name, node
            yield from functions(node.body, f"{owner}{node.name}.")


def is_emitting(node):
    """Whether the function makes machine code: the compiler's own argument comes first there."""
    return any(isinstance(one, ast.Name) and one.id == "emitting" for one in node.decorator_list)


def parameters(node):
    """How many parameters a caller sees."""
    own = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    hidden = own[:1] in (["self"], ["cls"]) or is_emitting(node)
    return len(own) - hidden + len(node.args.kwonlyargs)


def is_large(node):
    """Whether a function is over a limit."""
    return parameters(node) > MOST_PARAMETERS or node.end_lineno - node.lineno + 1 > MOST_LINES


def large_functions(path, source):
    """The names of the functions of a file that are over a limit."""
    return {f"{path} {name}" for name, node in functions(ast.parse(source).body) if is_large(node)}


def test_functions_over_a_limit_are_named():
    large = set().union(*(large_functions(path, source) for path, source in sources().items()))
    assert large <= set(FUNCTIONS)


def test_files_over_the_limit_are_named():
    assert {path for path, source in sources().items() if source.count("\n") > MOST_FILE_LINES} <= set(FILES)


def test_what_is_too_large_is_found():
    many = "def many(a, b, c, d, e, f): ...\n"
    method = "class A:\n    def few(self, a, b, c, d, e): ...\n    def many(self, a, b, c, d, *, e, f): ...\n"
    long = "def long():\n" + "    print()\n" * MOST_LINES
    assert large_functions("a.py", many + method + long) == {"a.py many", "a.py A.many", "a.py long"}


def unpromised(tree):
    """The modules of Numba's that a source imports, but for those that its manual describes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            if node.module == "numba.core":
                modules = [f"numba.core.{one.name}" for one in node.names]
        else:
            continue
        yield from (one for one in modules if one.startswith("numba.") and one not in PROMISED)


def test_what_numba_does_not_promise_is_imported_by_one_module():
    found = {path for path, source in sources().items() if set(unpromised(ast.parse(source)))}
    assert found == {NUMBA_INSIDE}
