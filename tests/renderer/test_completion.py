"""Completion by a shell, and what somebody may have meant."""

import shutil
import subprocess
import sys

import pytest

from renderer import cli


def ended(*words: str) -> int:
    """Exit status of a command line that argparse ends."""
    with pytest.raises(SystemExit) as stop:
        cli.main(list(words))
    return int(str(stop.value.code))


def test_a_shell_completes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert ended("--print-completion", "bash") == 0
    script = capsys.readouterr().out
    assert "bench dispatch" not in script
    assert "bench_dispatch" not in script
    if shutil.which("bash") is None:
        pytest.skip("no bash is installed")
    asked = script + '\nCOMP_WORDS=(tracecore render --tone); COMP_CWORD=2; _shtab_tracecore; echo "${COMPREPLY[@]}"'
    asked += '\nCOMP_WORDS=(tracecore rend); COMP_CWORD=1; COMPREPLY=(); _shtab_tracecore; echo "${COMPREPLY[@]}"'
    shell = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=60, check=False)
    assert shell.stdout.split() == ["--tone-map", "render"], shell.stderr
    assert ended("--print-completion", "zsh") == 0
    assert "#compdef tracecore" in capsys.readouterr().out


def test_completion_without_its_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert ended("--print-completion", "bash") == 2
    assert "shtab is not installed; install it with: pip install shtab" in capsys.readouterr().err
    assert ended("--print-completion", "fish") == 2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["rendr", "cornell"], "did you mean render? (see"),
        (["render", "cornell", "--pases=3"], "unrecognized arguments: --pases=3; did you mean --passes? (see"),
        (["render", "cornell", "--zzzz"], "unrecognized arguments: --zzzz (see: tracecore render --help)"),
        (["render", "cornell", "--tone-map", "linaer"], "did you mean linear? (see"),
        (["scene", "inof", "cornell"], "did you mean info? (see"),
    ],
)
def test_near_misses_of_words(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(*words) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1
