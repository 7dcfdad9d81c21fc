"""The program as its user calls it, in this process."""

from renderer import cli


def run(*words: object) -> int:
    """Returns the exit status of the program, however it ends."""
    try:
        return cli.main([str(word) for word in words])
    except SystemExit as stop:
        return int(str(stop.code))
