"""What the documents say of the named recipes is what the recipes say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

from app.domain.recipe import CHECKED_AGAINST, CHOICES, NAMED


def test_the_documents_say_of_each_recipe_what_it_was_checked_against(repository: Path) -> None:
    text = (repository / "docs/statistics.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \|$", text, re.MULTILINE))
    assert set(NAMED) == set(CHECKED_AGAINST)
    assert {name: told.get(name) for name in NAMED} == dict(CHECKED_AGAINST)


def test_the_documents_list_every_choice_as_the_recipe_declares_it(repository: Path) -> None:
    text = (repository / "docs/statistics.md").read_text(encoding="utf-8")
    rows = text.partition("| option | values | in `recommended` | effect |\n|---|---|---|---|\n")[2]
    recommended = NAMED["recommended"].as_json()
    assert rows.partition("\n\n")[0].splitlines() == [
        f"| `{name}` | {choice.allowed_values_text} | {_written(recommended[name])} | {choice.wording.sentence} |"
        for name, choice in CHOICES.items()
    ]


def _written(value: object) -> str:
    """A value as it is written in a query."""
    match value:
        case dict():
            return str(value["from"])
        case list():
            return ", ".join(value) or "nothing"
        case None:
            return "auto"
        case bool():
            return str(value).lower()
        case _:
            return str(value)
