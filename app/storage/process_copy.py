"""Work in a copy of this process, so that the memory of what it loads is given back."""

from __future__ import annotations

import signal
from collections.abc import Callable
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from app.domain.errors import AppError

Result = TypeVar("Result")


def run_in_forked_process(do: Callable[..., Result], *given: Any) -> Result:
    """Do something in a copy of this process, which ends. For processes of one thread.

    Raises AppError or OSError where it does. Of any other error the copy writes the traceback, and this process exits.
    """
    ours, theirs = Pipe(duplex=False)
    copy = get_context("fork").Process(target=_run_and_send, args=(theirs, do, given))
    copy.start()
    theirs.close()
    try:
        answer: tuple[Result, Exception | None] = ours.recv()
    except EOFError:
        copy.join()
        raise SystemExit(copy.exitcode or 1) from None
    except BaseException:  # we are told to stop
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to both; whoever waits ends this one
    try:
        line.send((do(*given), None))
    except (AppError, OSError) as error:
        line.send((None, error))
