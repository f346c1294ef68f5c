"""Control items: their density in every task, their place, and texts that are really worse."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.design.control_items import add_control_items
from app.design.control_screens import add_control_screens
from app.design.degradation import DonorTexts, compute_replaced_span_length, degrade_text, has_no_word_spaces
from app.design.design_choices import ControlRules, TaskRules
from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.grouping import count_needed_control_items
from app.design.item_order import ItemToPlace
from app.design.plan import Plan
from app.design.repeats import RaterHistory, choose_screen_to_repeat
from app.design.task_packing import PartialTask, TaskCapacity
from app.domain.errors import Invalid
from tests.design.worlds import compiled, rated, sittings, world

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(st.integers(1, 200), st.floats(0, 0.2), st.floats(0, 0.2), st.floats(0, 0.1))
def test_counts_are_the_least_that_reach_every_rate(regular: int, bad: float, repeat: float, reference: float) -> None:
    counts = count_needed_control_items(ControlRules(bad, repeat=repeat, reference=reference), regular)
    total = regular + sum(counts.values())
    rates = {"degraded": bad, "repeat": repeat, "reference": reference}
    for kind, n in counts.items():
        assert n >= rates[kind] * total - 1e-6
        assert n - 1 < rates[kind] * total


def density(plan: Plan, role: str) -> list[float]:
    """Shares of a role in every task, those of a chain taken as one."""
    return [
        sum(item.role == role for item in items) / len(items)
        for items in sittings(plan)
        if any(item.role == "rating" for item in items)
    ]


@few
@given(st.integers(0, 999), st.sampled_from(["psxs", "system_balanced", "none"]), st.booleans())
def test_every_task_holds_its_share_of_controls_and_keeps_its_limit(seed: int, grouping: str, wide: bool) -> None:
    controls = {"bad_reference": {"rate": 0.12}, "repeat": {"rate": 0.1, "min_distance": 6}, "reference": {"rate": 0.1}}
    given_world = world(10, 4, 3, longest=4, seed=seed)
    design = {"grouping": grouping, "controls": controls, "task": {"max_segments": 60 if wide else 30}}
    plan = compiled(design, given_world, seed=seed)
    assert min(density(plan, "degraded")) >= 0.12
    assert min(density(plan, "repeat")) >= 0.1
    assert min(density(plan, "reference")) >= 0.1
    assert max(task.size.segments for task in plan.tasks) <= (60 if wide else 30)
    for task in plan.tasks:
        for item in task.items:
            if item.role in ("degraded", "repeat"):
                original = plan.tasks[item.of.task - 1].items[item.of.position - 1] if item.of else None
                assert original is not None
                assert original.role == "rating"
                assert (original.document, original.first, original.system) == (item.document, item.first, item.system)
                assert plan.tasks[item.of.task - 1].rater == task.rater if item.of else False


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("kinds", [("bad_reference",), ("bad_reference", "repeat", "reference")])
def test_a_group_over_several_tasks_shares_its_controls_over_even_tasks(columns: int, kinds: tuple[str, ...]) -> None:
    """Long documents: two ratings and a control filled a task, so that 27 % were controls where 12 % were asked for."""
    rates = {kind: {"rate": 0.12 if len(kinds) == 1 else 0.06} for kind in kinds}
    documents = tuple(DocumentToPlan(f"d{n}", (9,) * 31, references=("r",)) for n in range(4))
    systems = [System(f"s{n:02}") for n in range(14)]
    outputs = {(d.key, s.key): tuple(f"{d.key}{s.key}{n}" for n in range(31)) for d in documents for s in systems}
    limit = 100 * columns
    design = {"overlap": None, "controls": rates, "task": {"max_segments": limit, "columns": columns}}
    plan = compiled(design, (TestSet(documents, outputs), systems, [Rater("r1"), Rater("r2")]))
    assert max(task.size.segments for task in plan.tasks) <= limit
    held = sittings(plan)
    assert len(held) == 4
    for items in held:
        roles = Counter(item.role for item in items)
        assert roles["rating"] == 14
        needed = count_needed_control_items(plan.design.controls, 14)
        total = 14 + sum(needed.values())
        assert sum(roles[kind] for kind in needed) >= sum(needed.values())
        assert len(items) <= -(-total // columns) * columns
        for kind, count in needed.items():
            assert roles[kind] >= count
    for chain in {task.chain for task in plan.tasks}:
        lengths = [len(task.items) for task in plan.tasks if task.chain == chain]
        assert max(lengths) - min(lengths) <= columns


def distances(plan: Plan) -> list[int]:
    """Segments judged between each repeat and its original."""
    found = []
    for rater in plan.raters:
        start: dict[tuple[int, int], int] = {}
        end: dict[tuple[int, int], int] = {}
        at = 0
        for task in plan.tasks_of_rater(rater):
            for item in task.items:
                start[task.number, item.position] = at
                at += item.last - item.first + 1
                end[task.number, item.position] = at
        for task in plan.tasks_of_rater(rater):
            for item in task.items:
                if item.role == "repeat" and item.of:
                    found += [start[task.number, item.position] - end[item.of.task, item.of.position]]
    return found


@few
@given(st.integers(0, 999), st.sampled_from([{}, {"grouping": "none"}, {"structure": "sr_dc"}]))
def test_repeats_stand_at_their_distance_or_the_plan_says_how_many_do_not(seed: int, kind: dict[str, str]) -> None:
    design = kind | {"controls": {"repeat": {"rate": 0.1, "min_distance": 15}}}
    plan = compiled(design, world(16, 4, 3, longest=4, seed=seed), seed=seed)
    found = distances(plan)
    near = sum(distance < 15 for distance in found)
    said = [int(unmet.what.split()[0]) for unmet in plan.unmet if "too near" in unmet.what]
    assert min(found) >= 0
    assert near == sum(said)
    assert near <= len(plan.raters)  # in a first task only, where nothing was judged before


@pytest.mark.parametrize("make", [add_control_items, add_control_screens])
def test_where_random_controls_are_too_long_the_shortest_are_taken(make: Callable[..., Any]) -> None:
    """Three of 30 items fit in what is left; of 20 draws of three hardly one finds them."""
    lengths = [10] * 27 + [1] * 3
    pieces = [ItemToPlace(f"d{n}", 1, length, length, "rating", "s", ("s",)) for n, length in enumerate(lengths)]
    room = TaskCapacity(TaskRules(max_segments=276), ControlRules(bad_reference=0.09))
    for seed in range(5):
        draft = PartialTask([(piece,) for piece in pieces], list(range(30)))
        screens, short = make(np.random.default_rng(seed), draft, room, {}, RaterHistory())
        shown = [piece for screen in screens for piece in screen]
        assert [one for one in short if one.kind != "distance"] == []
        assert sorted(piece.document for piece in shown if piece.role == "degraded") == ["d27", "d28", "d29"]
        assert sum(piece.size.segments for piece in shown) == 276


def test_what_came_again_comes_again_only_where_nothing_else_is_left() -> None:
    screens = [(ItemToPlace(f"d{n}", 1, 1, 5, "rating", "s", ("s",)),) for n in range(2)]
    room = TaskCapacity(TaskRules(), ControlRules(repeat=0.1, min_distance=0))
    for seed in range(10):
        rng, seen = np.random.default_rng(seed), RaterHistory()
        again = [choose_screen_to_repeat(rng, screens, seen, room, lambda _: True)[0][0].document for _ in range(3)]
        assert sorted(again[:2]) == ["d0", "d1"], seed


def test_a_task_without_room_for_controls_is_refused_with_what_to_do() -> None:
    with pytest.raises(Invalid, match="split documents, raise the limits, or lower the rates"):
        compiled({"controls": {"repeat": {"rate": 0.1}}, "task": {"max_segments": 7}}, world(12, 2, 2, longest=6))
    split = {"controls": {"repeat": {"rate": 0.1}}, "task": {"max_segments": 7, "split_documents": "over_max_segments"}}
    plan = compiled(split, world(12, 2, 2, longest=6))
    assert max(task.size.segments for task in plan.tasks) <= 7


def test_references_are_missing_only_where_documents_have_none() -> None:
    test_set, systems, raters = world(8, 2, 2)
    bare = replace(test_set, documents=tuple(replace(one, references=()) for one in test_set.documents))
    plan = compiled({"controls": {"reference": {"rate": 0.1}}}, (bare, systems, raters))
    assert all(item.role == "rating" for task in plan.tasks for item in task.items)
    assert "lack reference items" in plan.unmet[0].what


@pytest.mark.parametrize(("mix", "bad", "repeat", "reference"), [("70:10:10:10", 10, 10, 10), ("80:5:5:10", 10, 5, 5)])
def test_a_standard_task_is_a_hundred_with_the_published_mix(mix: str, bad: int, repeat: int, reference: int) -> None:
    """Knowles 2021, §2: SR−DC of 70 + 10 + 10 + 10, or 80 : 5 : 5 : 10 (Appraise)."""
    plan = compiled({"structure": "sr_dc", "overlap": None, "controls": {"mix": mix}}, world(120, 5, 3, longest=6))
    full = [task for task in plan.tasks if len(task.items) == 100]
    assert len(full) >= len(plan.tasks) - 3
    for task in full:
        roles = Counter(item.role for item in task.items)
        assert roles == {
            "rating": 100 - bad - repeat - reference,
            "degraded": bad,
            "repeat": repeat,
            "reference": reference,
        }
        shown = Counter(item.system for item in task.items if item.role == "rating")
        assert max(shown.values()) - min(shown.values()) <= 1
        assert all(item.first == item.last for item in task.items)


def test_the_alternate_structure_shows_all_systems_of_each_source() -> None:
    """Knowles 2021, §2: 2018, QC by degraded outputs only."""
    plan = compiled({"structure": "alternate_2018", "overlap": None}, world(40, 5, 3))
    for task in plan.tasks:
        assert {item.role for item in task.items} <= {"rating", "degraded"}
        assert len(task.items) <= 100
        sources: dict[tuple[str, int], set[str]] = defaultdict(set)
        for item in task.items:
            if item.role == "rating":
                sources[item.document, item.first].update(item.systems)
        assert all(len(systems) == 5 for systems in sources.values())


def test_document_tasks_hold_up_to_seventy_regular_segments_and_controls_to_a_hundred() -> None:
    """Knowles 2021, §2: SR+DC."""
    plan = compiled({"structure": "sr_plus_dc", "overlap": None}, world(60, 4, 3, longest=10))
    for task in plan.tasks:
        regular = sum(item.last - item.first + 1 for item in task.items if item.role == "rating")
        assert regular <= 70
        assert task.size.segments <= 100
        assert {"degraded", "repeat", "reference"} <= {item.role for item in task.items}
    assert np.median([task.size.segments for task in plan.tasks]) >= 94
    documents = [item.document for item in plan.tasks[0].items]
    assert documents != sorted(documents)


def test_nine_by_nine_by_603_gives_exactly_67_each() -> None:
    """Bentivogli et al. 2018, §3.1."""
    given_world = world(603, 9, 9, longest=1)
    plan = compiled({"structure": "latin_square", "task": {"max_segments": 100}}, given_world)
    counts = Counter((task.rater, item.system) for task, item in rated(plan))
    assert len(counts) == 81
    assert set(counts.values()) == {67}
    sentences = Counter((task.rater, item.document, item.first) for task, item in rated(plan))
    assert set(sentences.values()) == {1}
    assert len(sentences) == 9 * 603
    outputs = Counter((item.document, item.first, item.system) for _, item in rated(plan))
    assert set(outputs.values()) == {1}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 99), st.integers(2, 5), st.integers(2, 5))
def test_a_remainder_of_a_latin_square_is_shared_to_within_one(seed: int, systems: int, raters: int) -> None:
    if raters > systems:
        with pytest.raises(Invalid, match="at most as many raters"):
            compiled({"structure": "latin_square"}, world(5, systems, raters, seed=seed), seed=seed)
        return
    plan = compiled({"structure": "latin_square"}, world(7, systems, raters, seed=seed), seed=seed)
    outputs = systems * len({(item.document, item.first) for _, item in rated(plan)})
    left = outputs - len(rated(plan))
    said = [unmet.what for unmet in plan.unmet]
    assert said == ([f"{left} outputs are edited by nobody"] if raters < systems else [])
    assert left == outputs * (systems - raters) // systems
    counts = Counter((task.rater, item.system) for task, item in rated(plan))
    held = [counts[rater, system] for rater in plan.raters for system in plan.systems]
    assert max(held) - min(held) <= 1


WORDS = st.text(alphabet="abcdefg", min_size=1, max_size=6)
METHODS = ("span_replacement", "word_mixing", "rotation")


@given(st.lists(st.lists(WORDS, max_size=4), max_size=8), st.sampled_from(("fr", "ja")), st.integers(0, 99))
def test_texts_that_are_split_once_lend_the_words_that_they_lend_one_by_one(
    others: list[list[str]], language: str, seed: int
) -> None:
    """Those that have the words of the text itself, however spaced, lend none; nor do empty ones."""
    text = "un chien aboie"
    donors = ["UNE  PHRASE AUTRE", " un chien  aboie ", text, *map(" ".join, others)]
    once = DonorTexts.from_texts([*donors, *donors], language)
    able = [donor for donor in sorted(set(donors)) if donor.split() and donor.split() != text.split()]
    assert list(once.list_units_of_other_texts(text)) == [
        list(one.strip()) if language == "ja" else one.split() for one in able
    ]
    rngs = [np.random.default_rng(seed) for _ in range(2)]
    for method in ("span_replacement", "word_mixing"):
        made = [
            degrade_text(rng, text, method=method, language=language, donors=given)
            for rng, given in zip(rngs, (once, able), strict=True)
        ]
        assert made[0] == made[1]


@given(st.lists(WORDS, min_size=2, max_size=30, unique=True), st.sampled_from(METHODS), st.integers(0, 99))
def test_a_degraded_text_differs_where_it_says_and_nowhere_else(words: list[str], method: str, seed: int) -> None:
    text = " ".join(words)
    donors = ["UNE PHRASE TOUT AUTRE QUI EST ICI POUR PRETER SES MOTS A QUI EN VEUT", text]
    made = degrade_text(np.random.default_rng(seed), text, method=method, language="fr", donors=donors)
    assert made.text != text
    assert len(made.text.split()) == len(words)
    outside = np.ones(len(made.text), dtype=bool)
    for start, end in made.changed:
        outside[start:end] = False
        assert made.text[start:end].strip() == made.text[start:end] != ""
    kept = "".join(c for c, out in zip(made.text, outside, strict=True) if out).split()
    assert kept == [word for word in words if word in kept][: len(kept)]


@given(st.integers(1, 40), st.integers(0, 50))
def test_span_replacement_takes_the_published_lengths_and_spares_both_ends(length: int, seed: int) -> None:
    """Knowles 2021, §2: 1:1, 2–5:2, 6–8:3, 9–15:4, 16–20:5, more: 6; inside, where there are more than 3 words."""
    table = {1: 1} | dict.fromkeys(range(2, 6), 2) | dict.fromkeys(range(6, 9), 3) | dict.fromkeys(range(9, 16), 4)
    table |= dict.fromkeys(range(16, 21), 5)
    expected = table.get(length, 6)
    assert compute_replaced_span_length(length) == expected
    text = " ".join(f"w{n}" for n in range(length))
    donor = " ".join(f"x{n}" for n in range(50))
    made = degrade_text(
        np.random.default_rng(seed), text, method="span_replacement", language="en", donors=[donor]
    ).text.split()
    new = [n for n, word in enumerate(made) if word.startswith("x")]
    assert len(new) == expected
    if length > 3:
        assert 0 not in new
        assert length - 1 not in new


def test_languages_without_spaces_lose_twice_as_many_characters() -> None:
    assert has_no_word_spaces("ja")
    assert has_no_word_spaces("zh_TW")
    assert not has_no_word_spaces(None)
    assert compute_replaced_span_length(10, characters=True) == 4
    text = "".join(chr(0x4E00 + n) for n in range(24))
    donor = "".join(chr(0x5E00 + n) for n in range(40))
    for seed in range(30):
        rng = np.random.default_rng(seed)
        spans = degrade_text(rng, text, method="span_replacement", language="zh", donors=[donor])
        assert spans.text[0] == text[0]
        assert len(spans.text) == 24
        assert spans.changed[0][1] - spans.changed[0][0] == 8  # 24 characters count as 12 words: 4, twice
        turned = degrade_text(rng, text, method="rotation", language="th")
        (start, end), *_ = turned.changed
        assert end - start == 10
        assert sorted(turned.text) == sorted(text)
        mixed = degrade_text(rng, text, method="word_mixing", language="ja", donors=[donor])
        assert 4 <= mixed.changed[0][1] - mixed.changed[0][0] <= 12


def test_words_are_mixed_once_in_each_sentence() -> None:
    text = "This is one sentence here. And this is another one. A third one follows now."
    donor = "ZA ZB ZC ZD ZE ZF ZG ZH ZI ZJ"
    for seed in range(20):
        made = degrade_text(np.random.default_rng(seed), text, method="word_mixing", language="en", donors=[donor])
        assert len(made.changed) == 3
        assert all(2 <= len(made.text[a:b].split()) <= 6 for a, b in made.changed)


def test_a_text_without_donors_is_refused() -> None:
    with pytest.raises(Invalid, match="others of the language"):
        degrade_text(
            np.random.default_rng(0), "eins zwei", method="span_replacement", language="de", donors=["eins  zwei"]
        )
