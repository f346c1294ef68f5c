"""Post-edits against what is published of them, against sacrebleu, and against obvious twins."""

from __future__ import annotations

import doctest
import random
from collections.abc import Sequence

import numpy as np
import pytest

from app.stats.postediting import closest, edit_matrix, operations, rates, ter_by_reference_count
from app.stats.postediting.edit_matrix import EXTERNAL, OutputReferenceEditMatrix, SegmentTexts
from app.stats.postediting.operations import Tokenization

PLAIN = Tokenization()


def made(n: int, edits: int) -> tuple[str, str]:
    """A text of n words, and the same with its last words replaced."""
    words = [f"w{i}" for i in range(n)]
    return " ".join(words), " ".join([*words[: n - edits], *(f"x{i}" for i in range(edits))])


def of_nine(edits: int, lengths: Sequence[int]) -> OutputReferenceEditMatrix:
    """An output and nine post-edits of it: the first is the closest, the others need more edits."""
    output = made(lengths[0], edits)[1]
    found = [made(lengths[0], 0)[0]]
    found += [" ".join(f"r{n}{i}" for i in range(length)) for n, length in enumerate(lengths[1:])]
    texts = SegmentTexts(0, ((0, output),), tuple((n, text) for n, text in enumerate(found)))
    return edit_matrix.count_edits_to_every_reference(texts, PLAIN)


@pytest.mark.parametrize(
    ("edits", "lengths", "published"),
    [
        # Bentivogli et al. 2018, table 3: 14.43 (27/187, truncated) and 47.87 (45/94).
        (3, (20, 21, 21, 21, 21, 21, 21, 21, 20), 100 * 27 / 187),
        (5, (11, 10, 10, 10, 10, 11, 11, 11, 10), 100 * 45 / 94),
    ],
)
def test_mter_is_the_closest_over_the_average_length_as_published(
    edits: int, lengths: tuple[int, ...], published: float
) -> None:
    found = of_nine(edits, lengths)
    assert rates.collect_mter_edits([found], 0).estimate_rate(0.95).value == pytest.approx(published, abs=1e-12)
    assert rates.collect_hter_edits([found], 0).estimate_rate(0.95).value == pytest.approx(100 * edits / lengths[0])


def test_single_references_give_the_values_that_sacrebleu_gives() -> None:
    # 15.0 and 45.4545 against one reference; 3 edits, references of 20 and 22 tokens: 14.285714.
    assert rates.collect_hter_edits([of_nine(3, (20, 22))], 0).estimate_rate(0.95).value == pytest.approx(15.0)
    assert rates.collect_hter_edits([of_nine(5, (11, 11))], 0).estimate_rate(0.95).value == pytest.approx(
        45.4545, abs=1e-4
    )
    assert rates.collect_mter_edits([of_nine(3, (20, 22))], 0).estimate_rate(0.95).value == pytest.approx(
        14.285714, abs=1e-6
    )


def sentences(seed: int, n: int) -> list[tuple[list[str], list[str]]]:
    rng = random.Random(seed)
    return [
        (
            [rng.choice("abcdef") for _ in range(rng.randint(0, 14))],
            [rng.choice("abcdef") for _ in range(rng.randint(1, 14))],
        )
        for _ in range(n)
    ]


def test_edits_by_kind_add_up_to_what_sacrebleu_counts() -> None:
    from sacrebleu.metrics.ter import TER

    metric = TER(case_sensitive=True)
    shifts = 0
    for text, reference in sentences(7, 150):
        found = operations.count_edit_operations(text, reference)
        known = metric.sentence_score(" ".join(text), [" ".join(reference)])
        assert (found.total_edits, found.length) == (known.num_edits, known.ref_length)
        assert found.insertions - found.deletions == len(reference) - len(text)
        shifts += found.shifts
    assert shifts > 0


def test_edit_distance_is_that_of_the_textbook() -> None:
    for text, reference in sentences(8, 60):
        table = np.zeros((len(text) + 1, len(reference) + 1), dtype=int)
        table[:, 0], table[0] = range(len(text) + 1), range(len(reference) + 1)
        for i, a in enumerate(text, 1):
            for j, b in enumerate(reference, 1):
                table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a != b))
        assert operations.levenshtein_distance(text, reference) == table[-1, -1]


def test_case_and_punctuation_count_as_asked() -> None:
    def edits(tokens: Tokenization) -> int:
        found = edit_matrix.count_edits_to_every_reference(
            SegmentTexts(0, ((0, "Yes , no"),), ((0, "yes, no"),)), tokens
        )
        return int(found.edits[0, 0])

    assert [
        edits(Tokenization()),
        edits(Tokenization(normalized=True)),
        edits(Tokenization(normalized=True, cased=False)),
    ] == [2, 1, 0]


def test_texts_too_long_for_shifts_are_compared_without() -> None:
    words = [f"w{n}" for n in range(operations.LONGEST_SHIFTED + 1)]
    assert operations.count_edit_operations([*words[3:], *words[:3]], words).shifts == 0
    assert operations.count_edit_operations([*words[3:40], *words[:3]], words[:40]).shifts == 1


@pytest.fixture(scope="module")
def world() -> list[OutputReferenceEditMatrix]:
    """Six segments of three systems, each post-edited by changing its own output a little; an external reference."""
    rng = random.Random(3)
    found = []
    for n in range(6):
        source = [f"s{n}w{i}" for i in range(10)]
        outputs, edits = [], []
        for system in range(3):
            worse = [w if rng.random() > 0.3 * (system + 1) / 2 else f"{w}!{system}" for w in source]
            outputs.append((system, " ".join(worse)))
            edits.append((system, " ".join(w.replace(f"!{system}", "") if rng.random() > 0.4 else w for w in worse)))
        found.append(
            edit_matrix.count_edits_to_every_reference(
                SegmentTexts(n % 3, tuple(outputs), tuple(edits), f"quite another translation {n}"), PLAIN
            )
        )
    return found


def test_closest_post_edits_are_counted_as_by_hand(world: list[OutputReferenceEditMatrix]) -> None:
    lines = {(one.system, one.origin): one for one in closest.count_closest_references(world, [0, 1, 2])}
    for system in range(3):
        for origin in (0, 1, 2, EXTERNAL):
            unique = tied = 0
            for at in world:
                edits = dict(zip(at.origin.tolist(), at.edits[system].tolist(), strict=True))
                least = [o for o, n in edits.items() if n == min(edits.values())]
                unique += least == [origin]
                tied += origin in least and len(least) > 1
            assert (lines[system, origin].unique, lines[system, origin].tied) == (unique, tied)
    assert all(lines[system, EXTERNAL].unique == 0 for system in range(3))


def test_labs_are_compared_by_chances_and_own_post_edits_are_left_out(world: list[OutputReferenceEditMatrix]) -> None:
    lines = closest.count_closest_references(world, [0, 1, 2])
    found = closest.compute_closest_shares_by_lab(lines, ["one", "one", "two"])
    first = next(one for one in found if one.system == 0)
    (same,) = [one for one in lines if (one.system, one.origin) == (0, 1)]
    (other,) = [one for one in lines if (one.system, one.origin) == (0, 2)]
    assert first.same == (same.unique + same.tied) / 6
    assert (first.other, first.n_other) == ((other.unique + other.tied) / 6, 6)
    assert closest.compute_closest_shares_by_lab(lines, [None, None, None]) == []


def test_the_curve_orders_post_edits_from_the_farthest_and_ends_with_all(
    world: list[OutputReferenceEditMatrix],
) -> None:
    drawn = ter_by_reference_count.compute_ter_by_reference_count(world, [0, 1, 2])
    assert drawn is not None
    for line in drawn.systems:
        assert line.single[0] >= line.single[1]
        assert line.origins[2:] == (line.system, EXTERNAL)
        every = rates.collect_mter_edits(world, line.system).estimate_rate(0.95).value
        assert line.growing[2] == pytest.approx(every)
        assert line.single[2] == pytest.approx(rates.collect_hter_edits(world, line.system).estimate_rate(0.95).value)
        enough = [n for n in (1, 2) if line.growing[n - 1] <= line.single[2] + 1e-9]
        assert line.enough == (enough[0] if enough else None)
    assert drawn.single == pytest.approx(np.mean([line.single for line in drawn.systems], axis=0))


def test_every_post_edit_of_an_output_counts_where_it_has_two() -> None:
    # Two systems, two post-edits of each output: 1 + 3 edits over 10 + 10 tokens are 20 %, the closest alone 10 %.
    (text, one), (_, three), (_, five), (_, nine) = (made(10, n) for n in (1, 3, 5, 9))
    found = [
        edit_matrix.count_edits_to_every_reference(
            SegmentTexts(n, ((0, text), (1, text)), ((0, one), (0, three), (1, five), (1, nine))), PLAIN
        )
        for n in range(2)
    ]
    drawn = ter_by_reference_count.compute_ter_by_reference_count(found, [0, 1])
    assert drawn is not None
    first, second = drawn.systems
    assert first.single == pytest.approx((70.0, 20.0))
    assert second.single == pytest.approx((20.0, 70.0))
    for line in drawn.systems:
        assert line.single[1] == pytest.approx(rates.collect_hter_edits(found, line.system).estimate_rate(0.95).value)
    # mTER takes the closest of the other's two: 5 edits are above 20 %, 1 is below 70 %; as are the means, 30 and 45 %.
    assert first.growing == pytest.approx((50.0, 10.0))
    assert (first.enough, second.enough, drawn.enough) == (None, 1, 1)


def test_there_is_no_curve_of_one_system_or_without_shared_segments(world: list[OutputReferenceEditMatrix]) -> None:
    assert ter_by_reference_count.compute_ter_by_reference_count(world, [0]) is None
    assert ter_by_reference_count.compute_ter_by_reference_count(world, [0, 5]) is None
    assert ter_by_reference_count.compute_ter_by_reference_count([], [0, 1]) is None


def test_an_interval_needs_documents_that_differ(world: list[OutputReferenceEditMatrix]) -> None:
    low, high = rates.collect_mter_edits(world, 2).estimate_rate(0.95).interval or (0.0, 0.0)
    assert low < (rates.collect_mter_edits(world, 2).estimate_rate(0.95).value or 0.0) < high
    assert rates.collect_mter_edits(world[:1], 2).estimate_rate(0.95).interval is None
    alike = rates.make_text_edit_counts(iter([(1, 10, 0), (1, 10, 1), (1, 10, 2)]))
    assert alike.estimate_rate(0.95) == rates.EditRate(10.0, None, 3)
    assert rates.make_text_edit_counts(iter([])).estimate_rate(0.95) == rates.EditRate(None, None, 0)


def test_the_examples_in_the_words_beside_the_code_hold() -> None:
    assert doctest.testmod(operations).failed == 0


def test_reports_can_say_what_was_counted() -> None:
    assert "case:mixed" in Tokenization().signature
    assert "nc:6" in operations.chrf_signature()
