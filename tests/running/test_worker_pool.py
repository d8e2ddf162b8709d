"""Threads that share out batches and pieces of batches: all is done, nobody waits for nobody, errors come back."""

import threading

import pytest

from markovlogic.running.worker_pool import WorkerPool


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_tasks_may_run_pieces_together_however_few_threads_there_are(threads: int) -> None:
    """More tasks than threads, each with pieces: every thread is busy with a task when the pieces come."""
    done: list[tuple[int, int]] = []
    with WorkerPool(threads) as pool:
        for _ in range(20):
            pool.each(lambda task: pool.together([lambda piece=p: done.append((task, piece)) for p in range(3)]), range(5))
    assert sorted(done) == sorted((task, piece) for task in range(5) for piece in range(3) for _ in range(20))


def test_free_threads_help() -> None:
    """Both pieces wait for each other, which one thread could not do."""
    meeting = threading.Barrier(2)
    with WorkerPool(2) as pool:
        pool.each(lambda _: pool.together([lambda: meeting.wait(60) and None, lambda: meeting.wait(60) and None]), [0])
    assert not meeting.broken


def test_the_first_error_is_raised_after_all_pieces_have_ended() -> None:
    ended = []

    def failing(number: int) -> None:
        ended.append(number)
        raise ValueError(number)

    with WorkerPool(2) as pool, pytest.raises(ValueError, match="1"):
        pool.together([lambda: ended.append(0), lambda: failing(1), lambda: failing(2)])
    assert sorted(ended) == [0, 1, 2]
