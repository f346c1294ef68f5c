"""The commands of use-pearmuts-pages.md add a campaign and move a running one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.pearmut.campaigns import campaign
from tests.pearmut.test_moving import NAME
from tests.pearmut.test_moving import folder as folder  # a fixture

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "use-pearmuts-pages.md"
COMMANDS = re.findall(r"^    plumbline (pearmut .*)$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_guide_does_what_it_says(
    line: str, database_url: str, folder: Path, tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "campaign.json"
    file.write_text(json.dumps(campaign(campaign_id="added", users=["ann", "bob"])))
    named = {"campaign.json": str(file), "/srv/pearmut": str(folder)}
    assert set(named) & set(line.split())
    answer = command(database_url, *(named.get(word, word) for word in line.split()))
    assert answer.returncode == 0, answer.stderr
    name, said = ("added", "  dashboard ") if "add" in line.split() else (NAME, " answers taken over, 1 reset before")
    assert answer.stdout.decode().startswith(f"{name}: ")
    assert said in answer.stdout.decode()


def test_the_guide_shows_both_commands() -> None:
    assert [line.split()[1] for line in COMMANDS] == ["add", "move"]
