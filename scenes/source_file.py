"""Reading the bytes of a file, with errors that say what is wrong with it."""

from pathlib import Path

from scenes.errors import SceneFileError


def check_file(path: Path, max_bytes: int) -> None:
    """Raises SceneFileError unless the path is an ordinary file that is neither empty nor larger than max_bytes."""
    try:
        if not path.exists():
            raise SceneFileError(path, None, "no such file")
        if not path.is_file():
            raise SceneFileError(path, None, "expected an ordinary file")
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        raise SceneFileError(path, None, f"cannot be read: {reason(error)}") from error
    if size == 0:
        raise SceneFileError(path, None, "the file is empty")
    if size > max_bytes:
        raise SceneFileError(path, None, f"the file has {size} bytes, at most {max_bytes} are read")


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """All bytes of a file. Raises SceneFileError as `check_file` does, and where reading fails."""
    check_file(path, max_bytes)
    try:
        return path.read_bytes()
    except OSError as error:
        raise SceneFileError(path, None, f"cannot be read: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """What an exception says, on one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:200] or type(error).__name__
