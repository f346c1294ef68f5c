"""The command line: one file per noun, each found by its `register_commands`."""

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
    """The whole command line; or, of one command, no more of it than its file; or, of none that there is, the list.

    Importing all commands takes some two seconds, one of them half of that or less, and the list a tenth.
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
    """The command line of what is asked for. No import is garbage, and to look for some is a tenth of a start."""
    gc.disable()
    try:
        return build_cli_app(sys.argv[1] if len(sys.argv) > 1 else "")
    finally:
        gc.freeze()
        gc.enable()


def _group() -> None:
    """Human evaluation of machine translation, from the design to a ranking you can defend."""


def main() -> None:
    """Run the command line; what the input or the state does not allow is one clear line and exit code 2."""
    # One thread a process for the linear algebra, set before anything imports numpy: the work is spread over processes,
    # and threads that waited for each other made a report seven times slower on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _built()()
    except AppError as error:
        print(format_error(error), file=sys.stderr)  # noqa: T201  (this is the command line)
        sys.exit(FAILED)
    except BrokenPipeError:
        # Whoever read has gone: what is still held back goes nowhere, not into a complaint at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as error:
        if error.filename is None:
            raise
        print(f"plumbline: {error.filename}: {error.strerror}", file=sys.stderr)  # noqa: T201  (this is the command line)
        sys.exit(FAILED)


def format_error(error: AppError) -> str:
    """An error in one line; the places that are wrong stand on lines of their own below it.

    >>> format_error(AppError("no"))
    'plumbline: something went wrong: no'
    """
    title = error.title()
    said = title if error.detail in ("", title) else f"{title}: {error.detail}"
    lines = [f"plumbline: {said[0].lower()}{said[1:]}"]
    lines += [f"  {':'.join(map(str, place.loc))}: {place.msg}" for place in error.places]
    return "\n".join(lines)
