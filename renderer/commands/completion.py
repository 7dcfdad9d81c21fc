"""This module prints what a shell needs to complete the command line (extra `completion`)."""

import argparse
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from renderer.errors import UsageError

#: Shells that it is known for.
SHELLS = ("bash", "zsh")

HELP = (
    "print a script that has a shell complete commands and options, and end: for bash, put it into "
    "~/.local/share/bash-completion/completions/tracecore (extra completion)"
)


class PrintCompletion(argparse.Action):
    """Prints the script of a shell and ends the program. make_parser: returns the parser of all commands."""

    def __init__(self, option_strings: list[str], dest: str, make_parser: Callable[[], Any], **more: Any) -> None:
        super().__init__(option_strings, dest, choices=SHELLS, help=HELP, **more)
        self._make_parser = make_parser

    def __call__(
        self, parser: argparse.ArgumentParser, _namespace: argparse.Namespace, shell: Any, _option: str | None = None
    ) -> NoReturn:
        """Print and end."""
        try:
            script = completion(self._make_parser(), str(shell))
        except UsageError as error:
            parser.error(str(error))
        sys.stdout.write(script)
        sys.exit(0)


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """Returns the script of a shell that completes a parser's commands and options, but for second words of commands.

    Raises `UsageError` where the package that writes it is not installed.
    """
    try:
        import shtab
    except ImportError as error:
        raise UsageError("shtab is not installed; install it with: pip install shtab") from error
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            action._choices_actions = [one for one in action._choices_actions if " " not in one.dest]
    return str(shtab.complete(parser, shell))
