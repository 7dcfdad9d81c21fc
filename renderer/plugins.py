"""Plugins are files and packages of users that bring shaders, drivers, kernels and readers of scene files.

A plugin is Python that calls `shaders.registry.register_shader`, `renderer.drivers.register_driver`,
`tracecore.kernels.strategies.register_strategy` or `scenes.register_reader` when it is imported. It is a file that is
named to `load_plugin` or `--plugin`, or a module of an installed package that has an entry point in `GROUP`.
"""

import importlib.metadata
import importlib.util
import sys
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType

from renderer.errors import UsageError

#: Entry points of installed packages: each names a module, which is imported.
GROUP = "tracecore.plugins"

#: Plugins that are files, by their paths.
_loaded: dict[Path, ModuleType] = {}


def load_plugin(path: str | Path) -> ModuleType:
    """Import a Python file, once, for what it registers; returns its module.

    path: of the file; other files beside it are found by its `__file__`.

    Raises `UsageError`, one line with the file, the line and what went wrong, where it cannot be imported.
    """
    file = Path(path).resolve()
    if file in _loaded:
        return _loaded[file]
    if file.suffix != ".py" or not file.is_file():
        raise UsageError(f"cannot load plugin '{path}': expected a Python file, whose name ends in .py")
    name = f"tracecore_plugin_{len(_loaded)}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None  # as the name ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UsageError(f"plugin {_place(file, error)}: {_words(error)}") from error
    _loaded[file] = module
    return module


def loaded_files() -> tuple[Path, ...]:
    """Returns the files of plugins that were loaded, in their order."""
    return tuple(_loaded)


@cache
def load_installed() -> None:
    """Import the plugins of installed packages, once in a process.

    Raises `UsageError`, one line with the package, the file, the line and what went wrong, for one that fails.
    """
    for entry in importlib.metadata.entry_points(group=GROUP):
        try:
            entry.load()
        except (Exception, SystemExit) as error:
            package = entry.dist.name if entry.dist else "an installed package"
            raise UsageError(
                f"plugin '{entry.name}' of {package}, {_place(None, error)}: {_words(error)}; mend or uninstall it"
            ) from error


def _place(file: Path | None, error: BaseException) -> str:
    """Return FILE:LINE of an error: the last line of `file` on the way to it, or of whatever file if that is None."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if file is None or frame.filename == str(file)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else str(file)


def _words(error: BaseException) -> str:
    """Return what an error says, on one line."""
    text = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
