"""When the number of edits of an output is one of its tokens rather than of its words."""

from __future__ import annotations

import pytest

from app.reports.postediting_da.score_comparison import does_ter_depend_on_tokenization
from app.stats.postediting.operations import Tokenization

WORDS = Tokenization()


@pytest.mark.parametrize(
    ("output", "closest", "says"),
    [
        pytest.param("Ja, gut, so.", "Ja , gut , so .", True, id="spaces before punctuation are no other words"),
        pytest.param("Donaudampfschiffe fahren", "Donaudampfschiffen fahren", True, id="one letter of a long word"),
        pytest.param("the cat sat on it", "the dog ran on it", False, id="other words are others however counted"),
        pytest.param("the cat sat", "the cat sat", False, id="nothing was edited"),
        pytest.param("the cat sat", "", False, id="everything was deleted: no rate"),
        pytest.param("", "the cat sat", False, id="everything was added"),
    ],
)
def test_a_pair_of_texts_is_suspicious_where_another_way_of_counting_says_something_else(
    output: str, closest: str, says: bool
) -> None:
    assert does_ter_depend_on_tokenization(WORDS, output, closest) is says


def test_what_is_counted_by_character_is_held_against_words() -> None:
    assert does_ter_depend_on_tokenization(
        Tokenization(by_character=True), "Donaudampfschiffe fahren", "Donaudampfschiffen fahren"
    )
    assert not does_ter_depend_on_tokenization(Tokenization(by_character=True), "ab cd", "ab cd")
