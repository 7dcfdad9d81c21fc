"""What is closed at the end of a `with` block; apart from queues, whose loops `import tracecore` does not need."""

from types import TracebackType
from typing import Self


class Closing:
    """Gives a class with `close` its `with` block."""

    def close(self) -> None:
        """Give back what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Returns the object itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        self.close()
