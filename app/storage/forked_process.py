"""Do work in a forked copy of this process, so that the memory of what it loads is freed afterwards."""

from __future__ import annotations

import signal
from collections.abc import Callable
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from app.domain.errors import AppError

Result = TypeVar("Result")


def run_in_forked_process(function: Callable[..., Result], *given: Any) -> Result:
    """Run a function in a forked copy of this process, which then ends. For single-threaded processes.

    Raises AppError or OSError if the function does. For any other error, the copy prints the traceback and this process
    exits.
    """
    ours, theirs = Pipe(duplex=False)
    copy = get_context("fork").Process(target=_run_and_send, args=(theirs, function, given))
    copy.start()
    theirs.close()
    try:
        answer: tuple[Result, Exception | None] = ours.recv()
    except EOFError:
        copy.join()
        raise SystemExit(copy.exitcode or 1) from None
    except BaseException:  # this process is told to stop
        copy.terminate()
        raise
    finally:
        copy.join()
        ours.close()
    result, error = answer
    if error is not None:
        raise error
    return result


def _run_and_send(line: Connection, do: Callable[..., Result], given: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to both; the waiting process ends this one
    try:
        line.send((do(*given), None))
    except (AppError, OSError) as error:
        line.send((None, error))
