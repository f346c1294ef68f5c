"""Simulated raters: answers fit every form, depend on the seed alone, and follow what is planted."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app import protocols
from app.domain.errors import Invalid
from app.protocols import (
    check_answer,
    check_preference,
    find_payload_type,
    list_judged_levels,
    list_screen_preference_widgets,
    make_rater_form,
)
from app.protocols.base import JudgedTexts, Span, parse_scoring_options
from app.simulation import (
    AbandonTask,
    CampaignForSimulation,
    CampaignRaterForms,
    HandInTask,
    OutputForSimulation,
    RaterTraits,
    SendJudgment,
    SimulatedRater,
    encode_rater_model,
    generate_session_actions,
    make_rater_model_template,
    parse_rater_model,
)
from app.simulation.answers import AnswerContext, fill_in_form, make_preference_payload
from app.simulation.draws import SeededRandom
from app.simulation.simulated_rater import TextOpinion
from app.simulation.task_view import (
    AddressOfMissingJudgment,
    DisplayedItem,
    DisplayedScreen,
    DisplayedSegment,
    DisplayedTask,
    DisplayedText,
    LatestOwnAnswer,
)

TEXTS = [
    OutputForSimulation(system, f"d{d}", s, f"Text {d} {s} of {system}, in a few words.")
    for system in ("A", "B", "C")
    for d in range(12)
    for s in (1, 2, 3)
]
ABOUT = CampaignForSimulation("c", "da", {}, "source")
QUALITIES = {"A": 90.0, "B": 70.0, "C": 50.0}


def model(**changes):
    found = make_rater_model_template(ABOUT, TEXTS, ["r1", "r2"], seed=5, qualities=QUALITIES)
    return found.model_copy(update=changes)


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_text_that_stands_in_two_places_is_told_apart_by_its_source():
    same = [OutputForSimulation("A", f"d{n}", 1, "Ja.", source) for n, source in enumerate(("Yes.", "No."))]

    truths = make_rater_model_template(ABOUT, same, ["r1"], seed=1).texts

    assert {key: truth.document for key, truth in truths.items()} == {
        sha("Yes.\0Ja."): "d0",
        sha("No.\0Ja."): "d1",
        sha("Ja."): "d0",
    }


def task(texts, missing=None):
    segments = tuple(
        DisplayedSegment(
            n, (DisplayedText("Source", "One two.", "source"), DisplayedText("Text", text, "target")), None, None
        )
        for n, text in enumerate(texts, 1)
    )
    asked = missing if missing is not None else tuple(AddressOfMissingJudgment(1, n) for n in range(1, len(texts) + 1))
    return DisplayedTask(
        "t_1",
        "document",
        "leased",
        ("segment",),
        (DisplayedScreen(1, (1,), None),),
        (DisplayedItem(1, segments, None),),
        asked,
    )


@pytest.mark.parametrize("name", sorted(protocols.ALL))
@settings(max_examples=60, deadline=None)
@given(
    value=st.floats(0, 100), seed=st.integers(0, 9), text=st.sampled_from(["", "One.", "a b c d e f", "犬が吠えた。"])
)
def test_every_form_is_filled_in_so_that_the_server_takes_it(name, value, seed, text):
    protocol = protocols.get_protocol(name)
    example = protocol.examples[0]
    options = parse_scoring_options(protocol, example.options)
    basis = protocol.bases[0]
    for level in list_judged_levels(protocol, options):
        form = make_rater_form(protocol, options, basis=basis, level=level)
        prefill = example.prefill if level == "segment" and text else None
        source = DisplayedText("Source", "One two.", "source" if basis == "source" else None)
        shown = DisplayedSegment(1, (source, DisplayedText("Text", text, "target")), prefill, None)
        sheet = AnswerContext(shown, TextOpinion(value, None, ("k",)), SeededRandom(seed))
        sent = fill_in_form(name, form, sheet)

        payload = find_payload_type(protocol, level).model_validate(sent)

        fits = JudgedTexts("One two.", text + " " * 99 if prefill else text, prefill or ())
        check_answer(protocol, payload, fits, options, form)


@given(
    values=st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=2, max_size=5), mode=st.sampled_from(["best", "ranking"])
)
def test_columns_are_compared_by_what_is_thought_of_each(values, mode):
    (asked,) = list_screen_preference_widgets(next(one for one in protocols.ALL.values() if one.contrastive), mode)

    sent = make_preference_payload("p", asked, values)

    payload = protocols.PreferencePayload.model_validate(sent)
    check_preference(payload, asked, protocol="p", columns=len(values))
    assert {values[column - 1] for column in payload.preference[0]} == {max(values)}


@pytest.mark.parametrize("name", sorted(name for name, one in protocols.ALL.items() if one.ranks))
def test_better_opinions_score_better_in_every_protocol_that_ranks(name):
    protocol = protocols.get_protocol(name)
    options = parse_scoring_options(protocol, protocol.examples[0].options)
    basis, level = protocol.bases[0], list_judged_levels(protocol, options)[0]
    form = make_rater_form(protocol, options, basis=basis, level=level)
    text = " ".join(f"word{n}" for n in range(30))
    shown = DisplayedSegment(1, (DisplayedText("Text", text, "target"),), None, None)
    measures = protocol.list_judgment_measures(options)
    sign = 1 if measures[0].higher_is_better else -1

    def score(value):
        forms = CampaignRaterForms.from_rater_model(
            model(protocol=name, options=dict(protocol.examples[0].options), basis=basis)
        )
        sheet = AnswerContext(
            shown, TextOpinion(value, None, (str(value),)), SeededRandom(1), lower_is_better=forms.lower
        )
        payload = protocol.payload.model_validate(fill_in_form(name, form, sheet))
        return sign * protocol.score(payload, JudgedTexts("", text, ()), options).score

    scores = [score(value) for value in (5.0, 35.0, 65.0, 99.0)]
    assert scores == sorted(scores)
    assert scores[0] < scores[-1]


def test_the_same_seed_thinks_the_same_and_another_another():
    thought = [SimulatedRater.from_rater_model(model(), "r1").form_opinion(sha(TEXTS[0].text)) for _ in range(2)]
    other = SimulatedRater.from_rater_model(model(seed=6), "r1").form_opinion(sha(TEXTS[0].text))

    assert thought[0] == thought[1] != other


def test_opinions_follow_what_is_planted_and_a_careless_rater_does_not():
    planted = model()
    careless = planted.model_copy(update={"raters": {"r1": RaterTraits(careless=True)}})

    def means(one):
        mind = SimulatedRater.from_rater_model(one, "r1")
        return [fmean(mind.form_opinion(sha(t.text)).value for t in TEXTS if t.system == s) for s in one.true_ranking]

    assert means(planted) == sorted(means(planted), reverse=True)
    assert max(means(careless)) - min(means(careless)) < 15


def test_a_text_that_the_model_does_not_know_is_a_bad_one():
    mind = SimulatedRater.from_rater_model(model(), "r1")

    assert fmean(mind.form_opinion(sha(f"degraded {n}")).value for n in range(50)) < 40


def test_leniency_spread_and_drift_move_what_is_thought():
    def mean(temper, judged=0):
        mind = SimulatedRater.from_rater_model(model(raters={"r1": temper}), "r1")
        mind.judged = judged
        values = [mind.form_opinion(sha(t.text)).value for t in TEXTS]
        return fmean(values), max(values) - min(values)

    plain = mean(RaterTraits())
    assert mean(RaterTraits(leniency=10))[0] > plain[0] + 5
    assert mean(RaterTraits(drift=-2), judged=500)[0] < plain[0] - 5
    assert mean(RaterTraits(spread=0.2, noise=0.2))[1] < plain[1]


def test_known_errors_are_marked_where_they_are_and_some_are_missed():
    error = Span(start=0, end=4, severity="minor")
    texts = [replace(t, errors=(error,)) for t in TEXTS]
    found = make_rater_model_template(ABOUT, texts, ["r1"], seed=1)
    found = found.model_copy(update={"raters": {"r1": RaterTraits(attention=0.7, mistakes=0.0)}})
    mind = SimulatedRater.from_rater_model(found, "r1")

    seen = [mind.form_opinion(sha(t.text)).errors for t in texts]

    assert set(seen) <= {(error,), ()}
    assert 0.5 < sum(map(bool, seen)) / len(seen) < 0.95


def test_a_sitting_judges_what_is_missing_hands_in_and_can_be_taken_up_again():
    forms, texts = CampaignRaterForms.from_rater_model(model()), [t.text for t in TEXTS[:3]]

    acts = list(generate_session_actions(SimulatedRater.from_rater_model(model(), "r1"), task(texts), forms, page="p"))
    rest = list(
        generate_session_actions(
            SimulatedRater.from_rater_model(model(), "r1"),
            task(texts, (AddressOfMissingJudgment(1, 3),)),
            forms,
            page="p",
        )
    )

    assert [one.segment for one in acts if isinstance(one, SendJudgment) and one.seen == 0] == [1, 2, 3]
    assert isinstance(acts[-1], HandInTask)
    assert [one.payload for one in rest if isinstance(one, SendJudgment)] == [
        next(one.payload for one in acts if isinstance(one, SendJudgment) and one.segment == 3)
    ]


@pytest.mark.parametrize("revision", [1, 4])
def test_what_was_set_aside_and_is_asked_again_is_built_on(revision):
    before = LatestOwnAnswer(revision, {"protocol": "da", "score": 1})
    told = task([t.text for t in TEXTS[:2]], (AddressOfMissingJudgment(1, 2), AddressOfMissingJudgment(1)))
    (item,) = told.items
    shown = replace(item, judgment=before, segments=tuple(replace(one, judgment=before) for one in item.segments))
    calm = model(raters={"r1": RaterTraits(revisions=0.0)}, protocol="esa", options={"document_score": True})

    acts = list(
        generate_session_actions(
            SimulatedRater.from_rater_model(calm, "r1"),
            replace(told, items=(shown,)),
            CampaignRaterForms.from_rater_model(calm),
            page="p",
        )
    )

    assert [(one.segment, one.seen) for one in acts if isinstance(one, SendJudgment)] == [
        (2, revision),
        (None, revision),
    ]


def test_a_rater_who_drops_out_leaves_in_the_middle():
    stops = model(raters={"r1": RaterTraits(stops_after=2, revisions=0.0)})

    acts = list(
        generate_session_actions(
            SimulatedRater.from_rater_model(stops, "r1"),
            task([t.text for t in TEXTS[:3]]),
            CampaignRaterForms.from_rater_model(stops),
            page="p",
        )
    )

    assert len([one for one in acts if isinstance(one, SendJudgment)]) == 2
    assert isinstance(acts[-1], AbandonTask)


def judged(raters, rater, texts):
    acts = generate_session_actions(
        SimulatedRater.from_rater_model(raters, rater),
        task(texts),
        CampaignRaterForms.from_rater_model(raters),
        page="p",
    )
    return [one for one in acts if isinstance(one, SendJudgment)]


def test_a_rater_who_reads_a_part_of_a_task_answers_the_rest_without_and_faster():
    texts = [t.text for t in TEXTS[:10]]
    calm = RaterTraits(revisions=0.0, mistakes=0.0)
    whole, part, none = (
        judged(model(raters={"r1": calm.model_copy(update=change)}), "r1", texts)
        for change in ({}, {"reads": 0.4}, {"careless": True})
    )

    assert [one.payload for one in part] == [one.payload for one in (*whole[:4], *none[4:])]
    assert [one.payload for one in whole] != [one.payload for one in part]


def test_one_opinion_throughout_and_anothers_opinions():
    raters = model(raters={"r1": RaterTraits(), "r2": RaterTraits(copies="r1"), "r3": RaterTraits(always=60.0)})
    texts = [t.text for t in TEXTS[:8]]
    first, copied, same = (judged(raters, rater, texts) for rater in ("r1", "r2", "r3"))

    given = {one.segment: one.payload for one in first if one.seen == 0}
    assert {one.segment: one.payload for one in copied if one.seen == 0} == given
    assert {one.payload["score"] for one in same} == {60.0}
    assert len({one["score"] for one in given.values()}) > 4


@pytest.mark.parametrize("copies", ["r9", "r2", "r1"])
def test_who_copies_nobody_there_or_who_copies_is_refused(copies):
    broken = model(raters={"r1": RaterTraits(copies=copies), "r2": RaterTraits(copies="r1")})
    with pytest.raises(Invalid) as refused:
        parse_rater_model(encode_rater_model(broken))
    assert ("raters", "r1", "copies") in [place.loc for place in refused.value.places]


def test_revisions_name_the_revision_that_they_saw():
    often = model(raters={"r1": RaterTraits(revisions=1.0)})
    acting = generate_session_actions(
        SimulatedRater.from_rater_model(often, "r1"),
        task([TEXTS[0].text]),
        CampaignRaterForms.from_rater_model(often),
        page="p",
    )
    seen, came = [], None
    while True:
        try:
            act = acting.send(came)
        except StopIteration:
            break
        came = None
        if isinstance(act, SendJudgment):
            seen.append(act.seen)
            came = 7 + len(seen)

    assert seen == [0, 8]


def test_a_model_survives_its_file_and_a_broken_one_is_named():
    assert parse_rater_model(encode_rater_model(model())) == model()
    with pytest.raises(Invalid) as refused:
        parse_rater_model(encode_rater_model(model()).replace(b'"spread": ', b'"spraed": ', 1))
    assert any("spraed" in place.loc for place in refused.value.places)
    with pytest.raises(Invalid):
        parse_rater_model(encode_rater_model(model(systems={"A": 1.0})))


def test_a_text_of_several_systems_is_worth_what_they_are_on_average():
    same = [OutputForSimulation(system, "d1", 1, "The same.") for system in ("A", "B")]

    truth = make_rater_model_template(ABOUT, same, ["r1"], seed=1).texts[sha("The same.")]

    assert truth.systems == ("A", "B")
