"""Terms of a glossary in texts: as whole words, in scripts with and without spaces."""

from __future__ import annotations

import pytest

from app.domain.glossary import GlossaryTerm, find_terms, preselect_terms

TERMS = tuple(
    GlossaryTerm(term, f"<{term}>")
    for term in ("dog", "hot dog", "C++", "Straße", "كلب", "狗", "U.S.", "dogs and cats")
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A Dog, and a hot  dog.", ["Dog", "dog"]),
        ("a HOT DOG", ["HOT DOG"]),
        ("dogma, underdog, dogs", []),
        ("C++ and C", ["C++"]),
        ("in der STRASSE, Straße", ["Straße"]),
        ("小狗跑", ["狗"]),
        ("كلب كبير وكلبان", ["كلب"]),
        ("the U.S. dog", ["U.S.", "dog"]),
        ("dogs and cats", ["dogs and cats"]),
        ("", []),
    ],
)
def test_terms_are_whole_words_in_any_case(text: str, found: list[str]) -> None:
    terms = find_terms(text, preselect_terms([text], TERMS))

    assert [text[term.start : term.end] for term in terms] == found
