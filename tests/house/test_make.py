"""The Makefile explains itself."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def makefile(repository: Path) -> str:
    return (repository / "Makefile").read_text(encoding="utf-8")


def targets(makefile: str) -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE))


def test_every_target_says_what_it_does(makefile: str) -> None:
    explained = set(re.findall(r"^([a-z][a-z-]*):[^=\n]*## \S", makefile, re.MULTILINE))
    assert targets(makefile) == explained


def test_every_target_is_a_command_and_not_a_file(makefile: str) -> None:
    assert targets(makefile) == set(re.findall(r"^\.PHONY: (\S+)$", makefile, re.MULTILINE))


def test_make_alone_lists_the_targets_and_does_nothing_else(repository: Path, makefile: str) -> None:
    shown = subprocess.run(["make"], cwd=repository, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  make (\S+)", shown, re.MULTILINE)) == targets(makefile)


def test_the_documents_name_only_targets_that_exist(repository: Path, files: list[Path], makefile: str) -> None:
    named = {
        (str(path), target)
        for path in files
        if path.suffix == ".md"
        for target in re.findall(
            r"(?:^|`)make ([a-z-]+)", (repository / path).read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert not {(path, target) for path, target in named if target not in targets(makefile)}


@pytest.mark.parametrize("script", ["setup", "run"])
def test_the_scripts_of_the_house_are_programs_and_parse(repository: Path, script: str) -> None:
    path = repository / ".ci" / script
    assert path.stat().st_mode & 0o111
    shell = path.read_text(encoding="utf-8").splitlines()[0].split("/")[-1].removeprefix("env ")
    assert subprocess.run([shell, "-n", path], check=False).returncode == 0


# Stands in for the Python of the virtual environment: what mypy and pytest answer is told by the environment.
PRETEND = """#!/bin/sh
case "$*" in
*mypy*) exit "$CHECKS" ;;
*pytest*) [ -z "$PYTHONDONTWRITEBYTECODE" ] || exit 9 ;; # each process would compile every test anew
esac
case "$*" in
*pytest*) echo '=== 3 passed ==='; exit "$TESTS" ;;
esac
"""


@pytest.mark.parametrize(("checks", "tests"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_make_test_runs_the_tests_last_and_fails_where_they_or_the_checks_did(
    repository: Path, tmp_path: Path, checks: int, tests: int
) -> None:
    python = tmp_path / "python"
    python.write_text(PRETEND, encoding="utf-8")
    python.chmod(0o755)
    (tmp_path / "contracts").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "contracts").chmod(0o755)
    # Where the tests were begun by make themselves, its level would have the inner make name its folders.
    inherited = {name: value for name, value in os.environ.items() if name not in ("MAKELEVEL", "MFLAGS")}
    environment = {**inherited, "CHECKS": str(checks), "TESTS": str(tests), "MAKEFLAGS": ""}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = ["make", "test", f"PY={python}", f"CONTRACTS={tmp_path / 'contracts'}"]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "=== 3 passed ==="
    assert (done.returncode == 0) == (checks == tests == 0)
    assert ("checks failed" in done.stderr) == bool(checks)


# No apt among them, so that nothing is installed.
PROGRAMS = ("bash", "sh", "make", "python3", "sed", "dirname", "env", "echo")


@pytest.mark.parametrize("status", [0, 1])
def test_the_run_of_ci_is_make_test_with_the_closing_line_last(repository: Path, tmp_path: Path, status: int) -> None:
    recipe = f"test:\n\t@echo a warning >&2; echo '=== 3 passed ==='; exit {status}\n"
    done = run_of_ci(repository, tmp_path, recipe, PROGRAMS)
    assert done.stdout.splitlines()[-1] == "=== 3 passed ==="
    assert "a warning" in done.stdout
    assert (done.returncode == 0) == (status == 0)


# Stands in for a machine whose /dev/shm is closed to all but root.
CLOSED = """#!/bin/sh
case "$*" in *" /dev/shm "*) exit 1 ;; esac
"""


def test_where_shared_memory_is_closed_the_run_of_ci_has_memory_of_its_own(repository: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        pytest.skip("only root can mount, and not in every container")
    recipe = "test:\n\t@stat -f -c 'in %T' $$TMPDIR; echo $$TMPDIR >told; echo '=== 3 passed ==='\n"
    programs = (*PROGRAMS, "unshare", "mktemp", "mount", "chmod", "rmdir", "stat", "true")
    done = run_of_ci(repository, tmp_path, recipe, programs, setpriv=CLOSED)
    assert done.stdout.splitlines()[-2:] == ["in tmpfs", "=== 3 passed ==="]
    assert "memory of their own" in done.stdout
    assert not Path((tmp_path / "told").read_text(encoding="utf-8").strip()).exists()
    assert done.returncode == 0


def test_where_no_memory_can_be_mounted_the_run_of_ci_is_on_disk_and_ends_as_the_tests_do(
    repository: Path, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount, and who is not does not try")
    recipe = "test:\n\t@touch $${TMPDIR:-.}/left; echo '=== 3 passed ==='\n"
    programs = (*PROGRAMS, "mktemp", "chmod", "rmdir", "touch")
    done = run_of_ci(repository, tmp_path, recipe, programs, setpriv=CLOSED, unshare="#!/bin/sh\nexit 1\n")
    assert done.stdout.splitlines()[-1] == "=== 3 passed ==="
    assert "no memory can be mounted" in done.stdout
    assert (done.returncode, (tmp_path / "left").exists()) == (0, True)


def run_of_ci(
    repository: Path, folder: Path, recipe: str, programs: Sequence[str], **made_up: str
) -> subprocess.CompletedProcess[str]:
    """Run .ci/run in a folder, with these programs and a Makefile of this recipe."""
    found, scripts = folder / "bin", folder / ".ci"
    found.mkdir()
    scripts.mkdir()
    shutil.copy(repository / ".ci" / "run", scripts / "run")
    for name in programs:
        real = shutil.which(name)
        assert real
        (found / name).symlink_to(real)
    for name, text in made_up.items():
        (found / name).write_text(text, encoding="utf-8")
        (found / name).chmod(0o755)
    (folder / "Makefile").write_text(recipe, encoding="utf-8")
    return subprocess.run(
        [scripts / "run"],
        env={"PATH": str(found)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
