"""This module has the parser of the command line: errors take one line, long help has two levels, and shells are told
how to complete it (extra `completion`).
"""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from renderer.errors import UsageError
from scenes.keys.place import did_you_mean

#: How argparse tells that a word is none of a few.
INVALID_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")

#: What begins with a minus and is a value all the same, a number or several. Python 3.11 would take -1e3 for an option.
NEGATIVE_NUMBER = re.compile(r"-(\d+\.?\d*|\.\d+)(e[-+]?\d+)?(,[-+.e\d]*)*$", re.IGNORECASE)

#: The word after --help that asks for all of it.
ALL = "all"

#: Shells that it is known for.
SHELLS = ("bash", "zsh")
HELP = (
    "print a script that has a shell complete commands and options, and end: for bash, put it into "
    "~/.local/share/bash-completion/completions/tracecore (extra completion)"
)


class ShowHelp(argparse.Action):
    """Prints the help of a parser and ends the program: the short one, or with the word `all` all of it."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        about = f"show help and exit; --help {ALL} shows every option"
        super().__init__(option_strings, dest, nargs="?", default=argparse.SUPPRESS, metavar=ALL, help=about)

    def __call__(
        self, parser: argparse.ArgumentParser, _namespace: argparse.Namespace, word: Any, _option: str | None = None
    ) -> NoReturn:
        """Print and end."""
        if word != ALL and isinstance(parser, Parser) and parser.usual:
            print(parser.format_short_help(), end="")
        else:
            print(parser.format_help(), end="")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """This is an `ArgumentParser` whose errors take one line, and that wants options in full."""

    #: Makes the epilog when help is asked for; it may import what is heavy.
    make_epilog: Callable[[], str] | None = None

    #: Reads what holds where a command line says nothing, by the names of options, from a file that it names.
    defaults_of: Callable[[Sequence[str]], dict[str, Any]] | None = None

    #: Names of the options of the short help, in its order, and the end of it; without any, all help is shown at once.
    usual: Sequence[str] = ()
    examples = ""

    def __init__(self, **options: Any) -> None:
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(allow_abbrev=False, add_help=False, formatter_class=formatter, **options)
        self.add_argument("-h", "--help", action=ShowHelp)
        self._negative_number_matcher = NEGATIVE_NUMBER

    def format_help(self) -> str:
        """Return all the help, with the epilog that is made now, if it is to be."""
        if self.make_epilog is not None:
            self.epilog = self.make_epilog()
        return super().format_help()

    def format_short_help(self) -> str:
        """Return the help of the arguments and options that most people use."""
        operands = [one for one in self._actions if not one.option_strings]
        options = [one for one in self._actions if one.option_strings]
        named = {one.dest: one for one in options}
        formatter = self._get_formatter()
        formatter.add_usage(" ".join(["%(prog)s", *map(_word, operands), "[options]"]), [], [])
        formatter.add_text(self.description)
        for title, actions in (("arguments", operands), ("options", [named[name] for name in self.usual])):
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(self.examples)
        formatter.add_text(f"{self.prog} --help {ALL} shows all {len(options)} options, and what is written.")
        return formatter.format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the namespace and nothing that is left: an option that there is not is an error of this very parser,
        which knows those that are like it.
        """
        if self.defaults_of is not None:
            self._take_defaults(sys.argv[1:] if args is None else args)
        found, left = super().parse_known_args(args, namespace)
        unknown = [word for word in left if word.startswith("--")]
        if unknown:
            near = did_you_mean(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(left)}{near}")
        return found, left

    def _take_defaults(self, words: Sequence[str]) -> None:
        """Has what a file says be the defaults; an argument that it has can be left out."""
        from scenes.errors import SceneError

        try:
            values = self.defaults_of(words) if self.defaults_of is not None else {}
        except SceneError as error:
            self.exit(2, f"tracecore: error: {error}\n")
        for one in self._actions:
            if one.dest in values:
                is_list = isinstance(one, argparse._AppendAction)
                value = values[one.dest]
                one.default = [value] if is_list and not isinstance(value, list) else value
                one.nargs = one.nargs if one.option_strings else "?"

    def error(self, message: str) -> NoReturn:
        """Print one line on stderr and exit with status 2."""
        wrong = INVALID_CHOICE.search(message)
        near = did_you_mean(wrong[1], re.findall(r"[^\s',]+", wrong[2])) if wrong else ""
        self.exit(2, f"tracecore: error: {message}{near} (see: {self.prog} --help)\n")


def _word(operand: argparse.Action) -> str:
    """Returns what stands for an argument in the line of usage."""
    return f"[{operand.metavar}]" if operand.nargs == "?" else f"{operand.metavar}"


def in_two_levels(parser: argparse.ArgumentParser, usual: str, examples: str) -> None:
    """Has a parser show a short help first.

    usual: names of its options, with spaces between them.
    examples: what the short help ends with.
    """
    if isinstance(parser, Parser):
        parser.usual, parser.examples = usual.split(), examples


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
