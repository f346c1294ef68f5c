"""Documents say what is so: links lead somewhere, commands, settings and recipes that they name exist."""

import re
from pathlib import Path

import pytest
import yaml

from app.config import Settings
from app.domain.recipe import NAMED

LONGEST_README = 150  # lines
LONGEST_RECORD = 350  # words
LINK = re.compile(r"(?<!!)\[[^]]+\]\(([^)\s]+)\)|!\[[^]]*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def pages(repository: Path, files: list[Path]) -> dict[Path, str]:
    return {path: (repository / path).read_text(encoding="utf-8") for path in files if path.suffix == ".md"}


def test_the_readme_is_short(repository: Path) -> None:
    assert len((repository / "README.md").read_text(encoding="utf-8").splitlines()) < LONGEST_README


def test_links_between_documents_lead_somewhere(repository: Path, pages: dict[Path, str]) -> None:
    broken = [
        f"{path}: {target}"
        for path, text in pages.items()
        for target in (a or b for a, b in LINK.findall(text))
        if not target.startswith(("https://", "#")) and not (repository / path.parent / target.split("#")[0]).exists()
    ]
    assert not broken


def test_every_document_is_linked_from_the_index_or_the_readme(repository: Path, pages: dict[Path, str]) -> None:
    linked = {
        (repository / start.parent / target.split("#")[0]).resolve()
        for start, text in pages.items()
        for target in (a or b for a, b in LINK.findall(text))
        if not target.startswith(("https://", "#"))
    }
    lonely = [str(path) for path in pages if path.parts[0] == "docs" and (repository / path).resolve() not in linked]
    assert not lonely


def test_the_architecture_names_what_there_is_and_every_package(repository: Path, pages: dict[Path, str]) -> None:
    text = pages[Path("docs/architecture.md")]
    packages = {file.parent.name for file in (repository / "app").glob("*/__init__.py")}
    named = {name.removeprefix("app/") for name in re.findall(r"`((?:app/)?[a-z]+/[\w/*.]+)`", text)}
    ours = {name for name in named if name.split("/")[0] in packages}
    assert len(ours) > 30
    assert not [name for name in ours if not list((repository / "app").glob(name))]
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", text, re.MULTILINE)
    packages = {file.parent.name for file in (repository / "app").glob("*/__init__.py")}
    assert {package for package, _ in rows} == packages
    starts = [(package, start) for package, told in rows for start in re.findall(r"`([^`]+)`", told)]
    assert not [
        f"{package}/{start}" for package, start in starts if not (repository / "app" / package / start).exists()
    ]


def test_named_settings_are_those_there_are(repository: Path, pages: dict[Path, str]) -> None:
    there = {f"PLUMBLINE_{name.upper()}" for name in Settings.model_fields}
    example = (repository / ".env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"^#?(PLUMBLINE_[A-Z_]+)=", example, re.MULTILINE)) == there
    operations = set(re.findall(r"^\| `(PLUMBLINE_[A-Z_]+)`", pages[Path("docs/operations.md")], re.MULTILINE))
    assert operations == there
    elsewhere = set(re.findall(r"PLUMBLINE_[A-Z_]+", "\n".join(pages.values())))
    assert not elsewhere - there - {"PLUMBLINE_DEMO_FLAGS"}


def test_commands_in_documents_exist(pages: dict[Path, str], commands: set[str]) -> None:
    shown = {
        (str(path), words)
        for path, text in pages.items()
        for words in re.findall(r"(?:^ {4}(?:\$ )?|`)plumbline ([a-z]+(?: [a-z]+)?)", text, re.MULTILINE)
    }
    unknown = [
        f"{path}: plumbline {words}"
        for path, words in sorted(shown)
        if not {words, words.split()[0]} & commands
        or (any(c.startswith(f"{words.split()[0]} ") for c in commands) and " " in words and words not in commands)
    ]
    assert shown
    assert not unknown


def test_recipes_in_documents_exist(pages: dict[Path, str]) -> None:
    named = set(re.findall(r"(?:--recipe |recipe=)([a-z0-9-]+)", "\n".join(pages.values())))
    assert named
    assert not named - set(NAMED)


def test_decision_records_are_short_and_have_their_parts(pages: dict[Path, str]) -> None:
    records = {path: text for path, text in pages.items() if re.match(r"docs/decisions/\d{4}-", path.as_posix())}
    assert records
    for text in records.values():
        assert len(text.split()) < LONGEST_RECORD
        assert re.search(r"^# \d+\. .+\n\n\d{4}-\d\d-\d\d\n\n\*\*Context\.\*\*", text)
        assert "**Decision.**" in text
        assert "**Consequences.**" in text


def test_the_citation_can_be_read(repository: Path) -> None:
    citation = yaml.safe_load((repository / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(citation)
    assert citation["license"] == "Apache-2.0"


def test_the_changelog_keeps_its_form(pages: dict[Path, str]) -> None:
    text = pages[Path("CHANGELOG.md")]
    assert text.startswith("# Changelog\n")
    releases = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert releases[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", release) for release in releases[1:])
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= kinds


def test_the_licence_is_apache_2(repository: Path) -> None:
    text = (repository / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert len(text.splitlines()) > 200
