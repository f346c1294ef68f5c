"""Appraise's names of documents and systems: a test set before the system, marks after the document."""

from __future__ import annotations

import re

TUTORIAL = "tutorial"
DROPPED = {"dup": "filler repetitions (#dup)", "incomplete": "parts of documents (#incomplete)", TUTORIAL: "tutorials"}
VERSION = re.compile(r"[^0-9][0-9]$")  # the part before the dot ends like a version, not like a year


def parse_appraise_document_name(name: str, target: str) -> tuple[str, str, str | None]:
    """Return document, mark of a copy, and why it is left out (None if it is not).

    target: the systems; a first mark that names one of them has no other meaning, whatever it is called.

    >>> parse_appraise_document_name("thelocal.17459#AIRC#bad2", "wmt23.AIRC")
    ('thelocal.17459', 'bad2', None)
    >>> parse_appraise_document_name("d#AIRC#dup1", "wmt23.AIRC")[2]
    'filler repetitions (#dup)'
    >>> parse_appraise_document_name("d#refA", "wmt23.refA")
    ('d', '', None)
    """
    document, *marks = name.split("#")
    if marks and marks[0] in parse_appraise_systems(target).split("+"):
        del marks[0]
    copies = []
    for mark in (mark.casefold() for mark in marks):
        for start, reason in DROPPED.items():
            if mark.startswith(start):
                return document, "", reason
        if mark.startswith(("bad", "ref")):
            copies.append(mark)
    if TUTORIAL in document.casefold():
        return document, "", DROPPED[TUTORIAL]
    return document, "+".join(copies[-1:]), None


def parse_appraise_systems(name: str) -> str:
    """Return the systems of a target, without the test set before the first dot.

    >>> parse_appraise_systems("wmt23.ONLINE-A+wmt23.ONLINE-B")
    'ONLINE-A+ONLINE-B'
    >>> parse_appraise_systems("Gemini-1.5-Pro+GPT-4.1")
    'GPT-4.1+Gemini-1.5-Pro'
    """
    return "+".join(sorted(_system(part) for part in name.strip().split("+") if part))


def _system(name: str) -> str:
    """Return a name without the test set before it; `Gemini-1.5-Pro` has none."""
    test_set, _, system = name.partition(".")
    return name if not system or VERSION.search(test_set) else system
