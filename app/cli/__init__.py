"""The command line: one file per noun, whose `register_commands` adds its commands."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import typer

from app.cli.kit.commands import COMMANDS
from app.domain.errors import AppError

FAILED = 2


def build_cli_app(command: str | None = None) -> typer.Typer:
    """Build the whole command line; for a known command only its file; for an unknown one only the list of commands.

    Importing all commands takes about two seconds, a single one at most half as long, and the list a tenth.
    """
    app = typer.Typer(
        name="plumbline",
        help="Human evaluation of machine translation, from the design to a ranking you can defend.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_group)
    if command is not None and command not in COMMANDS:
        for name, (_, text) in COMMANDS.items():
            app.command(name, help=text)(_group)
        return app
    for file in sorted({file for file, _ in COMMANDS.values()}) if command is None else [COMMANDS[command][0]]:
        import_module(f"{__name__}.{file}").register_commands(app)
    return app


def _built() -> typer.Typer:
    """Build the command line that is needed. Imports create no garbage, and collecting takes a tenth of the start."""
    gc.disable()
    try:
        return build_cli_app(sys.argv[1] if len(sys.argv) > 1 else "")
    finally:
        gc.freeze()
        gc.enable()


def _group() -> None:
    """Human evaluation of machine translation, from the design to a ranking you can defend."""


def main() -> None:
    """Run the command line. Invalid input or state gives a single clear message, and exit code 2."""
    # One thread per process for linear algebra, set before numpy is imported: the work is spread over processes, and
    # threads that waited for each other made a report seven times slower on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _built()()
    except AppError as error:
        print(format_error(error), file=sys.stderr)  # noqa: T201  (this is the command line)
        sys.exit(FAILED)
    except BrokenPipeError:
        # The reader has closed the pipe. Discard what is still buffered, so that Python does not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as error:
        if error.filename is None:
            raise
        print(f"plumbline: {error.filename}: {error.strerror}", file=sys.stderr)  # noqa: T201  (this is the command line)
        sys.exit(FAILED)


def format_error(error: AppError) -> str:
    """Format an error in one line; each wrong place follows on a line of its own.

    >>> format_error(AppError("no"))
    'plumbline: something went wrong: no'
    """
    title = error.title()
    said = title if error.detail in ("", title) else f"{title}: {error.detail}"
    lines = [f"plumbline: {said[0].lower()}{said[1:]}"]
    lines += [f"  {':'.join(map(str, place.loc))}: {place.msg}" for place in error.places]
    return "\n".join(lines)
