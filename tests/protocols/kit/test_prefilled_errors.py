"""Prefilled errors: counted against what was shown, and never showing whose they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.protocols import (
    ALL,
    PrefillOutcomeCounts,
    anonymize_prior_errors,
    assign_error_ids,
    check_answer,
    count_prefill_outcomes,
    count_prefill_outcomes_without_ids,
    get_protocol,
    list_widgets_at_level,
    make_rater_form,
)
from app.protocols.base import JudgedTexts, Span, SpansWidget, parse_scoring_options

SPANS = st.builds(
    Span,
    start=st.integers(0, 3),
    end=st.integers(3, 5),
    severity=st.sampled_from(["minor", "major"]),
    prefill=st.sampled_from(["p1", "p2", "p3", None]),
)
TAKES_PREFILL = [pytest.param(p, id=name) for name, p in ALL.items() if p.accepts_prefill]
AGAIN = get_protocol("mqm_reannotation")
ONE = Span(start=0, end=3, severity="minor", category="Fluency/Grammar", prefill="p1")
TWO = Span(start=4, end=6, severity="major", category="Accuracy/Mistranslation", prefill="p2")
SHOWN = JudgedTexts(source="A dog barks.", text="Der Hund.", prefill=(ONE, TWO))


def esa(*errors: Span) -> object:
    return get_protocol("esa").payload(errors=errors, score=50)


def judged(errors: tuple[Span, ...], deleted: tuple[str, ...] = (), shown: JudgedTexts = SHOWN) -> None:
    AGAIN.check(AGAIN.payload(errors=errors, deleted=deleted), shown, parse_scoring_options(AGAIN, {}))


@given(st.lists(SPANS, max_size=6), st.sets(st.sampled_from(["p1", "p2", "p3"])))
def test_every_error_shown_and_every_error_answered_is_counted_once(errors: list[Span], ids: set[str]) -> None:
    shown = [ONE.model_copy(update={"prefill": name}) for name in sorted(ids)]
    found = count_prefill_outcomes(shown, get_protocol("esa").payload(errors=tuple(errors), score=1))
    assert found.kept + found.changed + found.removed == len(shown)
    assert found.kept + found.changed + found.added == len(errors)


@given(st.lists(SPANS, max_size=6, unique_by=lambda span: span.prefill or id(span)))
def test_errors_without_an_id_get_one_that_no_other_has(errors: list[Span]) -> None:
    shown = assign_error_ids(errors)
    assert len({span.prefill for span in shown} - {None}) == len(errors)
    assert all(after.prefill == before.prefill for before, after in zip(errors, shown, strict=True) if before.prefill)


@given(st.lists(SPANS, max_size=5), st.lists(SPANS, max_size=5))
def test_errors_stored_without_ids_are_counted_once_and_kept_where_an_answer_says_the_same(
    stored: list[Span], errors: list[Span]
) -> None:
    payload = get_protocol("esa").payload(errors=tuple(errors), score=1)
    found, strict = (
        count_prefill_outcomes_without_ids(stored, payload),
        count_prefill_outcomes(assign_error_ids(stored), payload),
    )
    assert found.kept + found.changed + found.removed == len(stored)
    assert found.kept + found.changed + found.added == len(errors)
    bare = [span.model_copy(update={"prefill": None}) for span in stored]
    alone = count_prefill_outcomes_without_ids(bare, get_protocol("esa").payload(errors=tuple(bare), score=1))
    assert alone == PrefillOutcomeCounts(len(stored), 0, 0, 0)
    if all(span.prefill for span in stored) or all(span.prefill for span in errors):
        assert found == strict


def test_what_is_kept_changed_removed_and_added_is_told_apart() -> None:
    noted = ONE.model_copy(update={"note": "indeed"})
    moved = TWO.model_copy(update={"end": 7})
    fresh = Span(severity="major", omission=True)
    third = ONE.model_copy(update={"prefill": "p3"})
    answer = get_protocol("esa").payload(errors=(noted, moved, fresh), score=50)
    assert count_prefill_outcomes((ONE, TWO, third), answer) == PrefillOutcomeCounts(
        kept=1, changed=1, removed=1, added=1
    )


@pytest.mark.parametrize("change", [{"start": 1}, {"severity": "major"}, {"category": None}, {"side": "source"}])
def test_another_place_severity_or_category_is_a_change(change: dict[str, object]) -> None:
    answer = get_protocol("mqm").payload(errors=(ONE.model_copy(update=change),))
    assert count_prefill_outcomes((ONE,), answer) == PrefillOutcomeCounts(kept=0, changed=1, removed=0, added=0)


def test_a_protocol_without_errors_keeps_none() -> None:
    assert count_prefill_outcomes((ONE,), get_protocol("da").payload(score=1)) == PrefillOutcomeCounts(0, 0, 1, 0)


def test_anothers_errors_are_shown_without_the_rater_and_their_words() -> None:
    theirs = (TWO.model_copy(update={"prefill": "old", "note": "says rater-planted"}), ONE)
    shown, priors = anonymize_prior_errors(theirs, prior_rater="rater-planted")
    assert [span.prefill for span in shown] == [prior.id for prior in priors] == ["p1", "p2"]
    assert "planted" not in "".join(span.model_dump_json() for span in shown)
    assert [(prior.prior_rater, prior.prior_error) for prior in priors] == [("rater-planted", 0), ("rater-planted", 1)]
    assert shown[0].severity == "major"


@pytest.mark.parametrize("protocol", TAKES_PREFILL)
@pytest.mark.parametrize("ids", [("p9",), ("p1", "p1")])
def test_an_id_that_was_not_shown_or_stands_twice_is_refused(protocol: object, ids: tuple[str, ...]) -> None:
    one = ALL[protocol.name]
    options = parse_scoring_options(one, one.examples[0].options)
    [spans] = [widget for widget in list_widgets_at_level(one, options, "segment") if isinstance(widget, SpansWidget)]
    mark = ONE.model_copy(update={"severity": spans.severities[0], "category": None})
    errors = tuple(mark.model_copy(update={"prefill": name}) for name in ids)
    payload = one.examples[0].payload.model_copy(update={"errors": errors})
    with pytest.raises(Invalid) as refused:
        one.check(payload, SHOWN, options)
    assert ("errors", len(ids) - 1, "prefill") in [place.loc for place in refused.value.places]
    one.check(payload, JudgedTexts(), options)  # the control: nobody knows what was shown


def test_every_error_shown_is_kept_or_deleted() -> None:
    judged((ONE, TWO))
    judged((), ("p1", "p2"))
    judged((TWO,), ("p1",))
    judged((), shown=JudgedTexts(prefill=()))


@pytest.mark.parametrize(
    ("errors", "deleted", "why"),
    [
        ((ONE,), (), "p2 was shown"),
        ((ONE, TWO), ("p2",), "among the errors, too"),
        ((ONE,), ("p2", "p2"), "twice"),
        ((ONE, TWO), ("p9",), "no error p9 was shown"),
    ],
)
def test_an_error_shown_that_is_lost_or_in_two_places_is_refused(
    errors: tuple[Span, ...], deleted: tuple[str, ...], why: str
) -> None:
    with pytest.raises(Invalid, match=why):
        judged(errors, deleted)


def test_an_error_shown_may_stay_as_no_form_offers_it_and_is_not_made_so() -> None:
    esa = get_protocol("esa")
    options = parse_scoring_options(esa, {})
    form = make_rater_form(esa, options, basis="source")

    def judged(span: Span) -> None:
        check_answer(esa, esa.payload(errors=(span,), score=1), SHOWN, options, form)

    judged(ONE)
    judged(ONE.model_copy(update={"category": None, "severity": "major"}))
    for change in ({"category": "Style/Awkward"}, {"severity": "critical"}, {"prefill": None}):
        with pytest.raises(Invalid):
            judged(ONE.model_copy(update=change))


def test_of_errors_under_one_id_the_later_get_one_of_their_own() -> None:
    shown = assign_error_ids([ONE, ONE, TWO.model_copy(update={"prefill": ""})])
    assert [span.prefill for span in shown] == ["p1", "p2", "p3"]
