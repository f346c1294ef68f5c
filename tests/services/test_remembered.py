"""What a process remembers of its answers stays within bounds, and is found under its own mark only."""

from __future__ import annotations

from app.services.remembered import BESIDE, LARGEST, Answer, Remembered, key_of


def of(body: bytes | None, mark: str = "m") -> Answer:
    return Answer(mark, '"e"', (), "text/plain", body)


def test_an_answer_is_found_under_its_mark_only() -> None:
    known = Remembered()
    known.keep(b"k", of(b"first"))
    assert known.find(b"k", "m") == of(b"first")
    assert known.find(b"k", "another") is None
    assert known.find(b"l", "m") is None


def test_what_was_least_lately_used_is_given_up_and_all_stay_within_bounds() -> None:
    known = Remembered(most=3 * (BESIDE + 100))
    for key in (b"a", b"b", b"c"):
        known.keep(key, of(bytes(100)))
    assert known.find(b"a", "m")
    known.keep(b"d", of(bytes(100)))
    assert [known.find(key, "m") is not None for key in (b"a", b"b", b"c", b"d")] == [True, False, True, True]
    for n in range(50):
        known.keep(b"%d" % n, of(bytes(10 * n)))
        assert known.size <= known.most


def test_one_that_is_too_large_is_not_kept() -> None:
    known = Remembered()
    assert not known.keep(b"k", of(bytes(LARGEST + 1)))
    assert (known.find(b"k", "m"), known.size) == (None, 0)


def test_an_answer_without_a_body_does_not_take_the_place_of_the_same_with_it_but_of_an_older_one() -> None:
    known = Remembered()
    assert known.keep(b"k", of(b"whole"))
    assert not known.keep(b"k", of(None))
    assert known.find(b"k", "m") == of(b"whole")
    known.keep(b"k", of(None, "later"))
    assert known.find(b"k", "later") == of(None, "later")
    assert known.size == BESIDE


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    assert key_of(b"a", b"bc") != key_of(b"ab", b"c")
