"""The command `tracecore doctor` says what runs on this machine, what is missing, and the remedy."""

import argparse

from renderer.commands.arguments import add_plugin


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes: plugins, whose kernels are listed too."""
    add_plugin(parser)
    parser.epilog = "exit status: 0 if pictures can be made on the CPU, else 1"


def run(_arguments: argparse.Namespace) -> int:
    """Examines and reports; returns the exit status."""
    from renderer.commands import diagnosis as doctor

    findings = doctor.examine()
    print(doctor.report(findings))
    return 0 if doctor.healthy(findings) else 1
