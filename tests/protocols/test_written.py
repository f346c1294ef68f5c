"""Protocols whose answer is a text: post-edits and back-translations."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from app.domain.errors import Invalid
from app.protocols import ALL, get_protocol
from app.protocols.base import JudgedTexts, parse_scoring_options

EDIT, BACK = get_protocol("postedit"), get_protocol("back_translation")
OUTPUT = JudgedTexts(text="Die Dosis muss zwei Tabletten überschreiten.")
RIGHT = "Die Dosis darf zwei Tabletten nicht überschreiten."


def number(measure: str | None, text: str = RIGHT, shown: JudgedTexts = OUTPUT, **own: object) -> float:
    options = replace(parse_scoring_options(EDIT, own), measure=measure)
    payload = EDIT.payload.model_validate({"text": text, "critical_errors": 2})
    return EDIT.score(payload, shown, options).score


def test_a_post_edit_comes_to_four_numbers() -> None:
    assert number("ter") == pytest.approx(100 * 2 / 7)
    assert number("critical") == 2.0
    assert number("levenshtein") == pytest.approx(100 * 10 / 50)  # m-u-s-s for d-a-r-f, and six characters more
    assert 0 < number("chrf") < 100


def test_an_output_left_as_it_is_cost_nothing_whatever_stands_at_its_ends() -> None:
    same = f"  {OUTPUT.text}\n"
    assert [number(name, same) for name in ("ter", "levenshtein", "chrf")] == [0.0, 0.0, 100.0]


def test_the_number_that_ranks_is_the_managers_choice_and_comes_first() -> None:
    assert number(None) == number("ter")
    assert number(None, rank_by="critical") == 2.0
    for name in ("ter", "critical", "levenshtein", "chrf"):
        measures = EDIT.list_judgment_measures(parse_scoring_options(EDIT, {"rank_by": name}))
        assert measures[0].name == name
        assert {measure.name for measure in measures} == {"ter", "critical", "levenshtein", "chrf"}
        assert [m.name for m in measures if m.higher_is_better] == ["chrf"]


def test_words_or_characters_are_counted_as_the_options_say() -> None:
    shown = JudgedTexts(text="我喜欢猫")
    assert number("ter", "我爱猫", shown) == 100.0
    assert number("ter", "我爱猫", shown, tokens="characters") == pytest.approx(200 / 3)


@pytest.mark.parametrize("measure", ["ter", "levenshtein", "chrf", None])
def test_without_the_output_only_critical_errors_are_known(measure: str | None) -> None:
    with pytest.raises(Invalid, match="not known"):
        number(measure, shown=JudgedTexts())
    assert number("critical", shown=JudgedTexts()) == 2.0


@pytest.mark.parametrize(
    "said",
    [
        {"text": "a"},
        {"critical_errors": 0},
        {"text": None, "critical_errors": 0},
        {"text": "a", "critical_errors": -1},
        {"text": "a", "critical_errors": 1.5},
        {"text": "a", "critical_errors": True},
        {"text": "a" * 20_001, "critical_errors": 0},
    ],
)
def test_what_is_no_post_edit_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        EDIT.payload.model_validate(said)


@pytest.mark.parametrize("name", [name for name, p in ALL.items() if p.written])
def test_a_text_that_no_database_takes_is_refused(name: str) -> None:
    protocol, plain = get_protocol(name), get_protocol(name).examples[0].payload
    with pytest.raises(Invalid, match="null character"):
        protocol.check(plain.model_copy(update={"text": "a\x00b"}), JudgedTexts(), parse_scoring_options(protocol, {}))


@pytest.mark.parametrize("name", [name for name, p in ALL.items() if p.written])
def test_the_text_that_a_rater_wrote_can_be_taken_from_the_answer(name: str) -> None:
    protocol = get_protocol(name)
    assert protocol.written is not None
    assert [protocol.written(e.payload) for e in protocol.examples] == [e.payload.text for e in protocol.examples]


def test_a_back_translation_ranks_nothing_and_counts_its_words() -> None:
    assert [name for name, protocol in ALL.items() if not protocol.ranks] == [BACK.name]
    payload = BACK.payload.model_validate({"text": " The dog  barked.\n"})
    assert BACK.score(payload, JudgedTexts(), parse_scoring_options(BACK, {})).score == 3.0


@pytest.mark.parametrize("text", [" ", "\n\t"])
def test_an_empty_back_translation_is_none(text: str) -> None:
    with pytest.raises(Invalid, match="is empty"):
        BACK.check(BACK.payload.model_validate({"text": text}), JudgedTexts(), parse_scoring_options(BACK, {}))


@pytest.mark.parametrize("link", ["javascript:alert(1)", "http://", "https://a b", 'https://a"b', "ftp://example.org"])
def test_a_link_leads_to_the_web_and_nowhere_else(link: str) -> None:
    with pytest.raises(ValidationError):
        BACK.payload.model_validate({"text": "a", "link": link})
    BACK.payload.model_validate({"text": "a", "link": "https://example.org/x?y=1"})
