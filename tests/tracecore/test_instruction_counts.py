"""Instructions of a kernel's steps, counted in its machine code, which needs no GPU."""

from dataclasses import astuple, replace

import pytest

from tracecore.analysis import machine_code
from tracecore.analysis.instruction_counts import marked_code, step_instructions
from tracecore.analysis.machine_code import INSTRUCTION_BYTES, MachineCode, disassemble
from tracecore.cuda.nvrtc import compile_source, supported_architectures
from tracecore.errors import DeviceError
from tracecore.kernels.source import KERNELS, flatten
from tracecore.kernels.strategies import find_strategy
from tracecore.rays import Query


@pytest.fixture(autouse=True, scope="module")
def tools():
    try:
        supported_architectures()
        machine_code.find_disassembler()
    except DeviceError as error:
        pytest.skip(str(error))


def changed(folder, **extra):
    """The loop while-while with so many more multiply-adds before each visit, or before each test."""
    source = (KERNELS / "while_while.cu").read_text()
    for call, number in extra.items():
        work = "this->best.u = fmaf(this->best.u, this->ray.t_min, 0.5f);" * number
        source = source.replace(f"this->{call}(", f"{work} this->{call}(")
    path = folder / "while_while.cu"
    path.write_text(source)
    return replace(find_strategy("while-while"), name="changed", source=path)


def test_more_arithmetic_in_a_step_is_counted_there(tmp_path):
    for name in ("base", "nodes", "tests"):
        (tmp_path / name).mkdir()
    base = step_instructions(changed(tmp_path / "base", descend=8, test=8), "sm_90")
    nodes = step_instructions(changed(tmp_path / "nodes", descend=24, test=8), "sm_90")
    tests = step_instructions(changed(tmp_path / "tests", descend=8, test=24), "sm_90")
    assert replace(nodes, alu=None) == replace(base, node=base.node + 16, alu=None)
    assert tests.triangle == base.triangle + 16
    others, as_before = replace(tests, triangle=0, alu=0), replace(base, triangle=0, alu=0)
    assert astuple(others) == pytest.approx(astuple(as_before), abs=2)
    assert nodes.alu.node == base.alu.node  # multiply-adds go to another pipe
    assert tests.alu.triangle == pytest.approx(base.alu.triangle, abs=2)


@pytest.mark.parametrize("arch", ["oldest", "sm_80", "sm_90", "sm_120"])
def test_a_binary_tree_takes_what_one_counts_by_hand(arch):
    arch = supported_architectures()[0] if arch == "oldest" else arch
    found = step_instructions(find_strategy("while-while"), arch)
    # 4 loads, 12 multiply-adds, 12 additions, 8 minima and maxima of 3 or 16 of 2, 3 comparisons, a choice, branches
    assert 45 <= found.node <= 75
    # 3 loads and 6 for their addresses, 9 differences, 6 multiply-adds, 3 edge functions of 4, 6 signs, loop
    assert 40 <= found.triangle <= 55
    # 4 products, 2 multiply-adds, a reciprocal of 4 to 8, t, u, v, 3 comparisons
    assert 18 <= found.inside <= 45
    assert 3 <= found.leaf <= 25
    assert 3 <= found.iteration <= 25
    assert 150 <= found.ray <= 350
    # 8 or 16 minima and maxima, 2 or 3 comparisons, a choice of 2, the height of the stack
    assert 12 <= found.alu.node <= 32
    # 6 signs, most of them two at a time, the loop
    assert 4 <= found.alu.triangle <= 12


def test_wider_nodes_take_more():
    binary, four, eight = (
        step_instructions(find_strategy(name), "sm_90") for name in ("while-while", "bvh4", "compressed-bvh8")
    )
    assert 1.8 * binary.node < four.node < 3.0 * binary.node
    assert 1.6 * four.node < eight.node < 3.0 * four.node
    assert four.triangle == pytest.approx(binary.triangle, rel=0.1)


@pytest.mark.parametrize("query", Query)
def test_lanes_that_trace_a_ray_together_share_a_visit(query):
    found = step_instructions(find_strategy("grouped-8"), "sm_90", query)
    assert 45 <= found.node <= 120
    assert 15 <= found.iteration <= 40
    assert 40 <= found.triangle <= 75


def test_marks_leave_the_code_as_it_is():
    strategy = find_strategy("while-while")
    cubin, _ = compile_source(flatten(strategy.source), "while_while.cu", "sm_90", strategy.constants())
    plain = disassemble(cubin)
    for entry, code in marked_code(strategy, "sm_90").items():
        without = [opcode for opcode in code.opcodes if opcode not in ("PMTRIG", "NOP")]
        assert len(without) == len([opcode for opcode in plain[entry].opcodes if opcode != "NOP"])
        assert not plain[entry].indices("PMTRIG")


def code_of(*instructions):
    """Of opcode, operands, and a predicate or nothing."""
    keys = ("opcode", "operands", "predicate")
    return MachineCode.read([dict(zip(keys, each, strict=False)) for each in instructions])


def at(index):
    return hex(index * INSTRUCTION_BYTES)


def test_ways_through_the_code():
    code = code_of(
        ("MOV", "R0,R1"),
        ("BRA", at(5), "@P0"),  # 1
        ("FADD", "R0,R0,R1"),
        ("FADD", "R0,R0,R1"),
        ("CALL.REL.NOINC", "$__internal_0_$__cuda_sm20_rcp_rn_f32_slowpath"),
        ("LDG.E", "R0,[R2]"),  # 5
        ("BRA", f"P1,{at(1)}"),
        ("BRA.DIV", at(9)),
        ("EXIT", "", "@P2"),
        ("BRA", at(9)),  # 9
        ("NOP",),
    )
    assert code.following == ((1,), (2, 5), (3,), (4,), (), (6,), (7, 1), (8, 9), (9,), (9,), ())
    every = frozenset(range(11))
    start, load, end = frozenset({0}), code.indices("LDG"), frozenset({9})
    assert load == {5}
    assert code.after(start) == {1, 2, 3, 4, 5, 6, 7, 8, 9}
    assert code.around(load) == {1, 5, 6}
    assert code.around(load, frozenset({6})) == frozenset()
    assert code.fewest([start, end], every) == 5
    assert code.fewest([start, frozenset({3}), end], every) is None
    assert code.fewest([load, load, end], every, frozenset({8})) == 6
    assert code.fewest([start, end], load) == 1


def test_without_a_disassembler_the_remedy_is_named(monkeypatch):
    import cuda.pathfinder

    monkeypatch.setattr(cuda.pathfinder, "find_nvidia_binary_utility", lambda name: None)
    with pytest.raises(DeviceError, match=r"nvdisasm.*pip install"):
        disassemble(b"")
