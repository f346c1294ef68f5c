"""What posts need is kept in memory, as much as is said: those that were used longest ago go first."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any, cast

import pytest

from app.protocols.base import Span
from app.services.tasks.answer_context import NO_TEXT, AnswerContextCache, TaskAnswerContext
from app.services.tasks.judging_rules import JudgingRules
from app.services.tasks.task_content import TaskAddressNotFound


def addresses(*n_segments: int) -> TaskAnswerContext:
    """A task with items of so many segments each; the items stand at the positions 1, 3, 5 and so on."""
    starts = array("i", [0])
    for n in n_segments:
        starts.append(starts[-1] + n)
    total = starts[-1]
    return TaskAnswerContext(
        task_id=1,
        campaign_id=1,
        presentation="document",
        items=array("i", [1 + 2 * n for n in range(len(n_segments))]),
        ids=array("q", [100 + n for n in range(len(n_segments))]),
        screens=array("i", [1 + n // 2 for n in range(len(n_segments))]),
        starts=starts,
        segments=array("q", [1000 + n for n in range(total)]),
        source_lengths=array("i", [NO_TEXT, *range(1, total)]),
        text_lengths=array("i", [10 * n for n in range(total)]),
        texts=None,
        prefills={1: (Span(start=0, end=1, severity="minor"),)},
    )


def test_an_address_is_found_among_items_and_segments_and_nowhere_beside_them() -> None:
    task = addresses(2, 3)
    assert [task.has_item(n) for n in range(5)] == [False, True, False, True, False]
    assert (task.item_id(1), task.item_id(3), task.count_item_segments(1), task.count_item_segments(3)) == (
        100,
        101,
        2,
        3,
    )
    assert [task.segments[task.segment_index_at(1, n)] for n in (1, 2)] == [1000, 1001]
    assert [task.segments[task.segment_index_at(3, n)] for n in (1, 2, 3)] == [1002, 1003, 1004]
    assert [task.count_screen_columns(n) for n in (0, 1, 2)] == [0, 2, 0]
    for item, segment in ((2, 1), (0, 1), (1, 0), (1, 3), (3, 4)):
        with pytest.raises(TaskAddressNotFound):
            task.segment_index_at(item, segment)


def test_texts_are_known_by_their_lengths_and_a_source_only_where_it_is_shown() -> None:
    task = addresses(2, 3)
    shown = task.judged_texts_at(1, source=True)
    assert (shown.count_characters("source"), shown.count_characters("target"), len(shown.prefill or ())) == (1, 10, 1)
    assert (
        task.judged_texts_at(1, source=False).count_characters("source"),
        task.judged_texts_at(0, source=True).count_characters("source"),
    ) == (None,) * 2
    assert (
        task.judged_texts_at(0, source=True).count_characters("target"),
        task.judged_texts_at(0, source=True).prefill,
    ) == (
        0,
        (),
    )


@pytest.mark.parametrize(("most", "kept"), [(8, "bc"), (9, "abc"), (3, "c"), (2, "c"), (6, "bc"), (5, "c")])
def test_as_many_segments_are_kept_as_is_said_and_the_last_task_always(most: int, kept: str) -> None:
    tasks = AnswerContextCache(most=most)
    for name in "abc":
        tasks.cache_answer_context(name, addresses(3), 7)
    assert "".join(name for name in "abc" if tasks.find_answer_context(name, 7)) == kept
    assert tasks.segments == 3 * len(kept)


def test_what_was_used_last_stays_and_what_is_kept_anew_counts_once() -> None:
    tasks = AnswerContextCache(most=6)
    tasks.cache_answer_context("a", addresses(3), 7)
    tasks.cache_answer_context("b", addresses(3), 7)
    assert tasks.find_answer_context("a", 7) is not None
    tasks.cache_answer_context("c", addresses(3), 7)
    assert [tasks.find_answer_context(name, 7) is not None for name in "abc"] == [True, False, True]
    tasks.cache_answer_context("a", addresses(2), 8)
    assert tasks.segments == 5
    assert [tasks.find_answer_context("a", rater) is not None for rater in (7, 8, 9)] == [True, True, False]


def test_rules_give_way_to_newer_ones_alone() -> None:
    tasks = AnswerContextCache()
    first = cast("JudgingRules", Rules(1, 1))
    second = cast("JudgingRules", Rules(1, 2))
    assert tasks.cache_judging_rules(second) is second
    assert tasks.cache_judging_rules(first) is second
    tasks.forget_judging_rules(first)
    assert tasks.find_judging_rules(1) is second
    tasks.forget_judging_rules(second)
    assert tasks.find_judging_rules(1) is None


class Rules:
    """As much of a campaign's rules as the memory looks at."""

    def __init__(self, campaign_id: int, settings_version: int) -> None:
        self.campaign_id = campaign_id
        self.settings_version = settings_version


def test_an_example_of_each_size_has_the_lengths_of_its_texts() -> None:
    whole: Any = replace(addresses(1), texts=["eins"])
    assert whole.judged_texts_at(0, source=True).count_characters("target") == 4
