"""`tracecore check`: what it tells of kernels that are right, wrong, and worse."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from readme_kernel import kernel_source, registration

from renderer import cli, plugins
from renderer.commands import check
from tracecore.checks import hard_cases
from tracecore.checks.child import Check, ChildFinding, findings, reason
from tracecore.emulator import library
from tracecore.emulator.library import sanitizer_environment
from tracecore.kernels import strategies

pytestmark = pytest.mark.usefixtures("emulator")

#: What the README's kernel does wrong, by the number of triangles in some cases; a name in each line stands for it.
FAULTS = """
    volatile unsigned four[4] = {0, 0, 0, 0};
    if (scene.count == 1) four[3 + (scene.count << 1)] = 1;                   // overrun
    if (scene.count == 5) *reinterpret_cast<volatile unsigned*>(16) = 1;      // wild
    if (scene.count == 288) four[0] = 1 << (scene.count >> 3);                // undefined
    if (scene.count == 297) four[0] = reinterpret_cast<const volatile unsigned*>(scene.triangles + 297)[0];  // beyond
    while (scene.count == 128) four[1] = four[1] + 1;                         // endless
"""

#: A bit of the distance of what has been found.
WRONG_BIT = "if (scene.count == 60 && is_found(best)) best.t = __uint_as_float(__float_as_uint(best.t) ^ 1u);"


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugins and their kernels are forgotten again."""
    monkeypatch.setattr(strategies, "_strategies", dict(strategies._strategies))
    monkeypatch.setattr(plugins, "_loaded", dict(plugins._loaded))


def plugin(folder: Path, name: str, source: str) -> Path:
    """A plugin that brings the kernel of a text, beside it."""
    (folder / "my_kernel.cu").write_text(source)
    text = registration().replace('Path("brute_force.cu")', 'Path(__file__).with_name("my_kernel.cu")')
    (folder / f"{name}.py").write_text(text.replace('"brute-force"', f'"{name}"'))
    return folder / f"{name}.py"


def worse() -> str:
    """The README's kernel with all faults. Whoever takes the same text has no compiler run again."""
    source = kernel_source().replace("    Hit best", f"{FAULTS}    Hit best")
    return source.replace("    return is_found", f"    {WRONG_BIT}\n    return is_found")


def found(file: Path, names: list[str], seconds: float = 60.0) -> list[ChildFinding]:
    """What comes out of cases of a plugin's kernel, which is named as the plugin."""
    order = {"plugins": [str(file)], "kernel": file.stem, "device": "emulator", "seconds": seconds / 2}
    environment = sanitizer_environment()
    if environment is None:
        pytest.skip("g++ has no libasan here")
    return list(
        findings(
            Check(program=check.PROGRAM, order=order, source="my_kernel.cu", environment=environment, seconds=seconds),
            names,
        )
    )


def test_a_kernel_that_is_right_passes_all_cases(tmp_path, monkeypatch, capsys):
    """Of which some are asked for: all take half a minute. The one with faults is right in these."""
    cases, all_cases = ["no-triangles", "soup", "33-rays", "cut-outs-soup"], hard_cases.cases_for
    monkeypatch.setattr(hard_cases, "cases_for", lambda kernel: {name: all_cases(kernel)[name] for name in cases})
    file = plugin(tmp_path, "right", worse())
    assert cli.main(["check", "--plugin", str(file), "--kernels", "right"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines == [f"right: case {name}: ok" for name in ("compiles", *cases)]
    assert last == "right: 5 of 5 cases ok, 0 wrong"


def test_what_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    """A process that crashes ends no other case."""
    source = worse()
    lines = {word: number for number, line in enumerate(source.splitlines(), 1) for word in line.split("// ")[1:]}
    where = {word: f"my_kernel.cu:{lines[word]}" for word in ("overrun", "wild", "undefined", "beyond")}
    texts = {
        "compiles": None,
        "one-triangle": f"in {where['overrun']}",
        "few-triangles": f"SEGV in {where['wild']}",
        "soup": None,
        "edges-of-grid": f"shift exponent 36 .* in {where['undefined']}",
        "duplicates": f"[a-z-]+ in {where['beyond']}",
        "cut-outs-layers": r"closest hit, lanes in order: \d+ of 500 rays differ; ray \d+, .*expected triangle .*, got",
        "33-rays": None,
    }
    came = found(plugin(tmp_path, "worse", source), list(texts))
    assert [finding.name for finding in came] == list(texts)
    for name, text in came:
        expected = texts[name]
        assert (text is None) if expected is None else (text is not None and re.search(expected, text)), (name, text)


def test_after_a_case_that_does_not_end_nothing_more_is_run(tmp_path: Path) -> None:
    came = found(plugin(tmp_path, "endless", worse()), ["axis-aligned-grid", "intervals"], seconds=1.0)
    assert came == [("axis-aligned-grid", "has not ended in 1 s: an endless loop?")]


def test_a_kernel_that_does_not_compile_is_told_once(tmp_path: Path) -> None:
    ((name, text),) = found(plugin(tmp_path, "unfinished", "#include <no/such.cuh>\n"), ["compiles", "soup"])
    assert name == "compiles"
    assert text is not None
    assert re.match(r"kernel 'unfinished' does not compile for the emulator: .*my_kernel\.cu:1", text)


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        ("", -11, "the process was ended by SIGSEGV"),
        ("Traceback\n  line\nImportError: no\n", 1, "the process ended with status 1: ImportError: no"),
        ("a.cu:3:7: runtime error: index 4 out of bounds for type 'int [4]'\n", 1, "index 4 .* in a.cu:3"),
        ("ERROR: AddressSanitizer: heap-buffer-overflow on\n #0 box.cuh:9\n #1 a.cu:12\n", 1, "overflow in a.cu:12"),
        ("ERROR: AddressSanitizer: SEGV on\n #0 box.cuh:9\n", 1, "SEGV in box.cuh:9"),
        ("ERROR: AddressSanitizer: SEGV on\n", 1, "SEGV in an unknown line"),
    ],
)
def test_why_a_process_has_ended(words: str, status: int, text: str) -> None:
    assert re.search(text, reason(words, status, "a.cu"))


def test_without_libraries_for_sanitizers_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """g++ then answers with the name alone."""
    monkeypatch.setattr(library, "_run", lambda command: SimpleNamespace(stdout=f"{command[1].partition('=')[2]}\n"))
    assert sanitizer_environment() is None


def test_what_cannot_be_checked_is_bad_usage(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(strategies, "BUILT_IN", strategies.strategy_names())
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "empty.py").write_text("")
    for arguments, said in (
        (["--plugin", str(tmp_path / "broken.py")], "broken.py:1: ModuleNotFoundError"),
        (["--plugin", str(tmp_path / "none.py")], "cannot load plugin"),
        (["--plugin", str(tmp_path / "empty.py")], "no plugin brings a kernel"),
        (["--kernels", "bvh9"], "unknown kernel"),
    ):
        assert cli.main(["check", *arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith("tracecore: error: ")
        assert error.count("\n") == 1
        assert said in error
