"""Jobs that several processes do side by side."""

import os

import pytest

from tracecore.compilation.side_by_side import helpers, side_by_side

PROCESS = "__import__('os').getpid()"


def by_eval(jobs, processes, following=lambda answer: ()):
    """Returns what jobs are, which are expressions."""
    return side_by_side(eval, jobs, following, processes)


def test_jobs_are_done_by_other_processes_where_there_are_to_be_several():
    assert by_eval([PROCESS], 1)[PROCESS] == os.getpid()
    assert by_eval([PROCESS], 2)[PROCESS] not in {os.getpid(), None}


@pytest.mark.parametrize("processes", [1, 3])
def test_what_follows_from_answers_is_done_once(processes):
    found = by_eval(
        ["'2 + 3'", "'6'", "'2 + 3'"], processes, lambda answer: [answer] if isinstance(answer, str) else []
    )
    assert found == {"'2 + 3'": "2 + 3", "2 + 3": 5, "'6'": "6", "6": 6}


def test_what_a_process_cannot_do_fails_here():
    with pytest.raises(ZeroDivisionError):
        by_eval(["1 / 0"], 2)


def test_what_is_printed_is_no_answer():
    with helpers(eval, 1) as (jobs, answers):
        jobs.put(("print('words') or 4", None))
        assert answers.get(timeout=60) == ("print('words') or 4", 4)


def test_the_jobs_of_a_process_that_dies_are_done_here():
    dying = f"{PROCESS} == {os.getpid()} or __import__('os')._exit(3)"
    found = by_eval([dying, *(f"{k} * {k}" for k in range(20))], 2)
    assert found.pop(dying) is True
    assert sorted(found.values()) == [k * k for k in range(20)]
