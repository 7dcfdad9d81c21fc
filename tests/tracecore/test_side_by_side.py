"""Jobs that several processes do side by side."""

import os

import pytest

from tracecore.compilation.side_by_side import Helpers, Job

PROCESS = "__import__('os').getpid()"


def by_eval(expressions, count, following=lambda answer: ()):
    """Returns what expressions are."""
    with Helpers(count) as helpers:
        jobs = [Job(eval, (one,)) for one in expressions]
        done = helpers.done(jobs, lambda answer: [Job(eval, (one,)) for one in following(answer)])
    return {job.arguments[0]: answer for job, answer in done.items()}


def test_jobs_are_done_by_other_processes_where_there_are_to_be_several():
    assert by_eval([PROCESS], 1)[PROCESS] == os.getpid()
    assert by_eval([PROCESS], 2)[PROCESS] not in {os.getpid(), None}


@pytest.mark.parametrize("count", [1, 3])
def test_what_follows_from_answers_is_done_once(count):
    found = by_eval(["'2 + 3'", "'6'", "'2 + 3'"], count, lambda answer: [answer] if isinstance(answer, str) else [])
    assert found == {"'2 + 3'": "2 + 3", "2 + 3": 5, "'6'": "6", "6": 6}


def test_a_job_that_is_asked_for_twice_is_done_once():
    done: list[int] = []
    with Helpers(1) as helpers:
        jobs = [Job(done.append, (one,)) for one in (1, 1, 2)]
        helpers.done(jobs, lambda answer: jobs)
    assert done == [1, 2]


def test_processes_go_on_after_some_jobs():
    with Helpers(2) as helpers:
        assert list(helpers.done([Job(eval, ("2",))]).values()) == [2]
        assert list(helpers.done([Job(eval, ("3",))]).values()) == [3]
        assert helpers.done([]) == {}


def test_what_a_process_cannot_do_fails_here():
    with pytest.raises(ZeroDivisionError):
        by_eval(["1 / 0"], 2)


def test_what_is_printed_is_no_answer():
    assert by_eval([f"print('words') or {PROCESS}"], 2) != by_eval([f"print('words') or {PROCESS}"], 1)


def test_the_jobs_of_a_process_that_dies_are_done_here():
    dying = f"{PROCESS} == {os.getpid()} or __import__('os')._exit(3)"
    found = by_eval([dying, *(f"{k} * {k}" for k in range(20))], 2)
    assert found.pop(dying) is True
    assert sorted(found.values()) == [k * k for k in range(20)]
