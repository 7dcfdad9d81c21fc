"""The folder of files that tests read: scenes by their format, messages of errors, programs and kernels."""

from pathlib import Path

DATA = Path(__file__).parent / "data"


def data_text(name: str) -> str:
    """Returns the text of a file, by its path below the folder."""
    return (DATA / name).read_text(encoding="utf-8")


def messages(name: str, words: dict[str, str]) -> list[tuple[str, ...]]:
    """Returns the rows of a file of messages: a text that is refused, and what is said of it.

    words: texts by their names, for which $NAME stands in the rows; a backslash and n stand for the end of a line.
    """
    rows = []
    for line in data_text(f"messages/{name}.txt").splitlines():
        if not line.startswith("#"):
            text, *said = line.split(" | ")
            for word, meaning in words.items():
                text = text.replace(f"${word} ", meaning).replace(f"${word}", meaning)
            rows.append((text.replace("\\n", "\n"), *said))
    return rows
