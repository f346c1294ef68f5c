"""Word alignments in the Pharaoh format: what is one, what fits its texts, and what becomes of it in a changed text."""

from __future__ import annotations

import re

import pytest

from app.domain.alignment import (
    MOST_LINKS,
    canonicalize_alignment,
    find_alignment_fault,
    parse_alignment,
    transfer_alignment_to_edited_text,
)

SOURCE, TEXT = "the dog barked", "der\u00a0Hund\n bellte laut"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("0-0 0-0", "link 2: 0-0 is there twice, as link 1 too"),
        ("0-0 1", "link 2: '1' is not like 0-2"),
        ("0-0p", "link 1: '0-0p' is not like"),
        ("-1-0", "link 1"),
        ("00-0", "link 1"),
        ("٣-0", "link 1"),
        ("0-1000000", "link 1"),
        (" ".join(f"{n}-0" for n in range(MOST_LINKS + 1)), f"more than {MOST_LINKS:,} links"),
    ],
)
def test_what_is_no_alignment_names_the_link(said: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}"):
        parse_alignment(said)


def test_links_are_put_in_order_and_none_is_an_alignment_too() -> None:
    assert canonicalize_alignment(" 10-0 2-1\t2-0 ") == "2-0 2-1 10-0"
    assert canonicalize_alignment("") == ""
    assert len(parse_alignment(" ".join(f"{n}-0" for n in range(MOST_LINKS)))) == MOST_LINKS


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("0-0 2-3", None),
        ("0-0 3-3", "link 2 (3-3): the source has 3 words, 0 to 2"),
        ("2-4", "link 1 (2-4): the output has 4 words, 0 to 3"),
    ],
)
def test_a_link_to_a_word_that_is_not_there_is_named_and_the_last_word_is_there(said: str, wrong: str | None) -> None:
    assert find_alignment_fault(said, source=SOURCE, text=TEXT) == wrong


def test_a_text_of_one_word_and_of_none_is_said_so() -> None:
    assert find_alignment_fault("1-0", source="dog", text="Hund") == "link 1 (1-0): the source has 1 word"
    assert find_alignment_fault("0-0", source="dog", text="") == "link 1 (0-0): the output has 0 words"


@pytest.mark.parametrize(
    ("after", "links"),
    [
        ("a b c d", "0-0 1-1 2-2 3-3"),
        ("a x y d", "0-0 1-1 2-2 3-3"),
        ("a x d", "0-0 1-1 3-2"),
        ("a x y z v d", "0-0 1-1 1-2 2-3 2-4 3-5"),
        ("a d", "0-0 3-1"),
        ("a n b c d", "0-0 1-2 2-3 3-4"),
    ],
)
def test_a_changed_text_keeps_the_links_of_what_stays_and_of_what_stood_there(after: str, links: str) -> None:
    assert transfer_alignment_to_edited_text("0-0 1-1 2-2 3-3", "a b c d", after) == links
    assert find_alignment_fault(links, source="a b c d", text=after) is None
