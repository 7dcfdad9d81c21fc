"""Names of Numba that its manual does not promise, a reason for each: other modules have them from here alone.

What its manual describes is imported from Numba itself: `numba.types`, `numba.extending`, `numba.core.cgutils`,
`errors` and `event`, and compiler passes (`ir`, `compiler_machinery`). pyproject.toml bounds the versions to those that
`make versions` has tried.

Attributes of these objects that are not promised either: of a `JITCodeLibrary` all that `merging.PartLibrary` replaces
or calls; `_reduce` and `_rebuild` of a `CompileResult`, by which it is kept on disk; `_numba_type_`, which Numba asks
an object for that compiled code calls.
"""

# What is compiled comes back from files; the cache of Numba has an index, and no checksums (`cached`).
from numba.core.caching import NullCache

# Numba compiles to a library of code: ours is merged with its caller's (`merging`).
from numba.core.codegen import JITCodeLibrary, get_host_cpu_features

# The pipeline has one more pass, after the one that annotates types (`merging`); `jit` takes the class of a compiler.
from numba.core.compiler import Compiler, CompileResult

# The lock of the compiler: processes that wait for each other's files are not to hold it (`unit_calls`, `cached`).
from numba.core.compiler_lock import global_compiler_lock

# How many bytes a kernel takes (`gpu_code`).
from numba.core.datamodel import default_manager

# What of an environment is kept on disk (`cached`).
from numba.core.environment import Environment

# A function that Python calls, whose type in compiled code is another function (`merging`).
from numba.core.registry import CPUDispatcher

# Code that comes from a file before anything was compiled needs the symbols of the runtime (`cached`).
from numba.core.runtime.nrt import rtsys

# Types and constants are pickled as Numba pickles them, closures too (`cached`, `unit_calls`).
from numba.core.serialize import dumps
from numba.core.typed_passes import AnnotateTypes

# Operators of vectors, fields of what is borrowed, and calls by address are typed by templates, which `overload` would
# compile as functions (`vector`, `borrowing`, `units`).
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    make_intrinsic_template,
    signature,
)

# Brings the secrets by which Python hashes, as symbols that code from a file may name (`cached`).
from numba.cpython import hashing

#: A module of Numba's that looks for the linear algebra of SciPy when it is imported (`cached`).
ARRAY_MATH = "numba.np.arraymath"

__all__ = [
    "ARRAY_MATH",
    "AbstractTemplate",
    "AnnotateTypes",
    "AttributeTemplate",
    "CPUDispatcher",
    "CompileResult",
    "Compiler",
    "Environment",
    "JITCodeLibrary",
    "NullCache",
    "default_manager",
    "dumps",
    "get_host_cpu_features",
    "global_compiler_lock",
    "hashing",
    "infer_getattr",
    "infer_global",
    "make_intrinsic_template",
    "rtsys",
    "signature",
]
