"""Citus, built once from the source that CITUS_SOURCE names, against a copy of the Postgres that the service brings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.storage.embedded import binaries
from app.storage.embedded.account import OsAccount

SOURCE = "CITUS_SOURCE"
OTHER_COMPILER = "-Wmissing-variable-declarations"
"""What the wheel's compiler knows and an older one refuses."""
PARTS_LEFT_OUT = ("--without-libcurl", "--without-lz4", "--without-zstd")


def find_citus(account: OsAccount) -> Path:
    """The folder of the programs of a Postgres that has Citus, which is built where it is not there yet.

    The build lies in the folder of the source, one for each version of Postgres. Skips where there is no source.
    """
    named = os.environ.get(SOURCE)
    if not named:
        pytest.skip(
            f"{SOURCE} names no folder with Citus' source (a tag of github.com/citusdata/citus, 14.0.1 or later)"
        )
    source = Path(named).resolve()
    if not (source / "src/backend/distributed").is_dir():
        pytest.skip(f"{source}, which {SOURCE} names, is not Citus' source")
    if missing := [program for program in ("make", "gcc") if not shutil.which(program)]:
        pytest.skip(f"Citus cannot be built: not installed: {', '.join(missing)}")
    programs = binaries.find_server_program_folder()
    version = binaries.read_program_version(programs)
    build = source / f".build-{version}"
    postgres = build / "wheel/postgres"  # as deep as in the wheel, whose libraries are looked for beside it
    if not (postgres / "built").is_file():
        shutil.rmtree(build, ignore_errors=True)
        (build / "tree").mkdir(parents=True)
        shutil.copytree(programs.parent, postgres, symlinks=True)
        libraries = programs.parents[2] / f"{binaries.WHEEL}.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, build / libraries.name)
        _build(source, build / "tree", postgres)
        (postgres / "built").touch()
    if account.run(["test", "-x", postgres / "bin/postgres"]).returncode != 0:
        pytest.skip(f"{postgres} is where the server's account may not go")
    return postgres / "bin"


def _build(source: Path, tree: Path, postgres: Path) -> None:
    """Some ten minutes of a processor."""
    makefile = next(postgres.rglob("pgxs/src/Makefile.global"))
    makefile.write_text(re.sub(rf"{OTHER_COMPILER}\b", "", makefile.read_text()))
    sys.stdout.write(f"Citus is being built in {tree}\n")
    configure = [source / "configure", f"PG_CONFIG={postgres / 'bin/pg_config'}", *PARTS_LEFT_OUT]
    for command in (configure, ["make", "-s", f"-j{os.cpu_count() or 1}", "install"]):
        made = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        assert made.returncode == 0, f"{made.stdout[-2000:]}\n{made.stderr[-4000:]}"
