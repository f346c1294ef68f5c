"""No committed file names a package registry, a path of one machine, or a working arrangement."""

import codecs
import re
from pathlib import Path

import pytest


def rotated(text: str) -> str:
    """Letters moved by 13 places, so that this file passes its own test."""
    return codecs.decode(text, "rot13")


REGISTRIES = rotated("clcv|clgubaubfgrq|aczwf|pengrf")
MIRRORS = rotated("qro|fancfubg")
FOLDERS = rotated("jbex|ebbg|snez")
ASSISTANTS = rotated("pynhqr|naguebcvp|bcranv|pungtcg|pbcvybg|pbqrk")
ARRANGEMENTS = rotated("fhontrag|fgrrevat ercb|pb-nhguberq-ol|trarengrq jvgu")
NAMED = re.compile(
    rf"\b(?:{REGISTRIES})\.[a-z]{{2,3}}\b|\b(?:{MIRRORS})\.debian\b|/(?:{FOLDERS})/|\b(?:{ASSISTANTS})\b|{ARRANGEMENTS}",
    re.IGNORECASE,
)
UNFINISHED = re.compile(r"\b(TO" + "DO|FIX" + r"ME|XX" + r"X)\b")
FOREIGN_TEXT = {Path("LICENSE")}


def hits(text: str, pattern: re.Pattern[str]) -> list[tuple[int, str]]:
    """Line numbers and matches of a pattern."""
    return [(n, found[0]) for n, line in enumerate(text.splitlines(), 1) if (found := pattern.search(line))]


def test_no_committed_file_names_a_registry_a_machine_path_or_an_assistant(repository: Path, files: list[Path]) -> None:
    found = {
        str(path): lines
        for path in files
        if path not in FOREIGN_TEXT
        and (lines := hits((repository / path).read_text(encoding="utf-8", errors="replace"), NAMED))
    }
    assert not found


def test_no_committed_file_is_marked_as_unfinished(repository: Path, files: list[Path]) -> None:
    found = {
        str(path): lines
        for path in files
        if path.suffix in {".py", ".md", ".js", ".html", ".css", ".yml", ".toml"}
        and (lines := hits((repository / path).read_text(encoding="utf-8"), UNFINISHED))
    }
    assert not found


@pytest.mark.parametrize(
    "offence",
    [
        "uggcf://clcv.bet/fvzcyr",
        "svyrf.clgubaubfgrq.bet",
        "uggc://qro.qrovna.bet/qrovna",
        "pq /jbex/znva",
        "ng /ebbg/.pbasvt",
        "nfxrq Pynhqr",
        "Pb-Nhguberq-Ol: fbzrobql",
    ],
)
def test_each_refused_kind_of_word_is_found(offence: str) -> None:
    assert hits(rotated(offence), NAMED)


@pytest.mark.parametrize("harmless", ["a cursor into the list", "below /root is closed", "network/rooting", "Debian's"])
def test_ordinary_words_are_left_alone(harmless: str) -> None:
    assert not hits(harmless, NAMED)
