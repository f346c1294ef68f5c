"""Word alignments in the Pharaoh format: `0-0 1-2`, the index of a source word, then that of an output word.

Words are separated by white space, as in `str.split`, and counted from 0. The format is that of Koehn (2004), *Pharaoh:
a beam search decoder*, which word aligners write today.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

LINK = re.compile(r"(0|[1-9][0-9]{0,5})-(0|[1-9][0-9]{0,5})")
MOST_LINKS = 20_000
NO_SOURCE = "there is no source to align with"
Link = tuple[int, int]


def parse_alignment(alignment: str) -> list[Link]:
    """Parse the links of an alignment, in order. Raises ValueError naming the first one that is invalid or repeated."""
    links: dict[Link, int] = {}
    for n, part in enumerate(alignment.split(), 1):
        match = LINK.fullmatch(part)
        if match is None:
            raise ValueError(f"link {n}: {part[:40]!r} is not like 0-2, a source word and a word of the output")
        link = int(match[1]), int(match[2])
        if link in links:
            raise ValueError(f"link {n}: {part} is there twice, as link {links[link]} too")
        if n > MOST_LINKS:
            raise ValueError(f"more than {MOST_LINKS:,} links")
        links[link] = n
    return list(links)


def canonicalize_alignment(alignment: str) -> str:
    """Return the same links in sorted order. Raises the errors of `parse_alignment`.

    >>> canonicalize_alignment(" 1-0  0-1 ")
    '0-1 1-0'
    """
    return _pharaoh(parse_alignment(alignment))


def find_alignment_fault(alignment: str, *, source: str | None, text: str | None) -> str | None:
    """Return the first link to a word that a text does not have; None if all fit. A text that is None is not checked.

    >>> find_alignment_fault("0-0 2-1", source="the dog", text="der Hund")
    'link 2 (2-1): the source has 2 words, 0 to 1'
    """
    counts = [(name, None if said is None else len(said.split())) for name, said in _named_texts(source, text)]
    for n, link in enumerate(parse_alignment(alignment), 1):
        for word, (name, words) in zip(link, counts, strict=True):
            if words is not None and word >= words:
                there = f"{words} words, 0 to {words - 1}" if words > 1 else f"{words} word{'' if words else 's'}"
                return f"link {n} ({link[0]}-{link[1]}): the {name} has {there}"
    return None


def transfer_alignment_to_edited_text(alignment: str, before: str, after: str) -> str:
    """Transfer the alignment of a text to an edited version of it.

    Words that stay keep their links. Words that replace others take over their links, so that the links do not reveal
    that a text was changed.

    >>> transfer_alignment_to_edited_text("0-0 1-1 2-2", "der Hund bellte", "der alte Kater bellte")
    '0-0 1-1 1-2 2-3'
    """
    links: dict[int, list[int]] = {}
    for source, word in parse_alignment(alignment):
        links.setdefault(word, []).append(source)
    carried_links = {
        (source, word) for word, was in _came_from(before.split(), after.split()) for source in links.get(was, [])
    }
    return _pharaoh(carried_links)


def _came_from(before: list[str], after: list[str]) -> Iterator[Link]:
    """Yield for each kept or replacing word its index in the new text, and the index of the word it comes from."""
    for _, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if i1 < i2:
            yield from ((j, i1 + (j - j1) * (i2 - i1) // (j2 - j1)) for j in range(j1, j2))


def _named_texts(source: str | None, text: str | None) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
    return ("source", source), ("output", text)


def _pharaoh(links: Iterable[Link]) -> str:
    return " ".join(f"{source}-{word}" for source, word in sorted(links))
