"""The Makefile explains itself."""

import re
import subprocess
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
