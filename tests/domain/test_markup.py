"""Light markup: what is shown, and that marked stretches are the same words in the stored text and in what is shown."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.markup import BLOCKS, INLINE, MOST_NESTED, has_markup, parse_markup
from tests.examples import few

TAGS = [f"<{end}{name}>" for name in sorted(BLOCKS | INLINE) for end in ("", "/")]
PARTS = st.sampled_from(
    [
        *(*TAGS, "<br>", "<br/>", '<p class="x y">', "<script>", "</div>", "<!-- x -->", '<b title="a>b">'),
        *("&amp;", "&#128512;", "&nosuch;", "&#0;", "<", ">", "&", " ", "\n", "  "),
        *("Hund", "é", "e\u0301", "😀", "كلب", "狗", "\u200f"),
    ]
)
TEXTS = st.lists(PARTS, max_size=24).map("".join)


@pytest.mark.parametrize(
    ("text", "shown", "elements"),
    [
        ("plain", "plain", ()),
        ("<p>a</p>", "a", (("p", 0, 1),)),
        ("<p>a</p>\n<p>b</p>", "a\nb", (("p", 0, 1), ("p", 2, 3))),
        ("a<br>b<br/>c", "a\nb\nc", ()),
        ("a &lt;b&gt; &amp;amp;", "a <b> &amp;", ()),
        ("<ul>\n <li>x</li>\n <li> y </li>\n</ul>", "x\ny", (("ul", 0, 3), ("li", 0, 1), ("li", 2, 3))),
        ("<H1 onclick=x>T</h1>t", "T\nt", (("h1", 0, 1),)),
        ("<b>a<i>b</i></b>", "ab", (("b", 0, 2), ("i", 1, 2))),
        ("<b>a<i>b</b></i>", "a<i>b</i>", (("b", 0, 5),)),
        ("<b>open", "<b>open", ()),
        ("<script>alert(1)</script>", "<script>alert(1)</script>", ()),
        ("<pre> a\n  b </pre>", " a\n  b ", (("pre", 0, 7),)),
        ("<p></p><p> </p>", "", ()),
        (" a <b> b </b> ", " a  b  ", (("b", 3, 6),)),
    ],
)
def test_texts_are_shown_without_their_tags(text: str, shown: str, elements: tuple[tuple[str, int, int], ...]) -> None:
    marked_up = parse_markup(text)
    assert (marked_up.shown, marked_up.elements) == (shown, elements)
    assert has_markup(text) == (shown != text)


@settings(max_examples=few(40))
@given(TEXTS)
def test_a_stretch_comes_back_from_the_stored_text_as_it_was_marked(text: str) -> None:
    marked_up = parse_markup(text)
    assert sum(n for n, _, _ in marked_up.runs) == len(marked_up.shown)
    ends = [0] + [end for _, _, end in marked_up.runs]
    assert all(before <= start < end for before, (_, start, end) in zip(ends, marked_up.runs, strict=False))
    for start in range(len(marked_up.shown)):
        for end in range(start + 1, len(marked_up.shown) + 1):
            assert marked_up.to_shown_range(*marked_up.to_stored_range(start, end)) == (start, end)


@given(TEXTS, st.integers(0, 200), st.integers(1, 200))
def test_a_stretch_of_the_stored_text_keeps_its_words(text: str, start: int, length: int) -> None:
    marked_up = parse_markup(text)
    end = min(start + length, len(text))
    shown = marked_up.to_shown_range(start, end) if start < end else None
    if shown is None:
        return
    kept = marked_up.to_stored_range(*shown)
    assert marked_up.to_shown_range(*kept) == shown
    # What is shown of it says what the stretch says: the same characters one by one, where one stands for one.
    places = [(at, sign) for at, sign in enumerate(marked_up.shown[shown[0] : shown[1]], shown[0])]
    for at, sign in places:
        stored = text[slice(*marked_up.to_stored_range(at, at + 1))]
        assert stored == sign or (sign == "\n" and "<" in stored) or stored.startswith("&")


@given(TEXTS)
def test_nothing_but_tags_is_hidden(text: str) -> None:
    marked_up = parse_markup(text)
    covered = [False] * len(text)
    for n, start, end in marked_up.runs:
        if n == end - start:
            covered[start:end] = [True] * n
    left = "".join(sign for sign, seen in zip(text, covered, strict=True) if not seen and not sign.isspace())
    assert "Hund" not in left
    assert all(sign not in left for sign in "😀é狗كلب")


@given(TEXTS)
def test_elements_lie_within_each_other(text: str) -> None:
    open_until: list[int] = []
    for tag, start, end in parse_markup(text).elements:
        assert tag in BLOCKS | INLINE
        while open_until and open_until[-1] <= start:
            open_until.pop()
        assert start < end <= (open_until[-1] if open_until else end)
        open_until.append(end)
        assert len(open_until) <= MOST_NESTED


def test_deep_nesting_has_an_end() -> None:
    text = "<b>" * 20_000 + "x" + "</b>" * 20_000 + "<b " * 20_000 + "&" * 20_000
    assert len(parse_markup(text).elements) == MOST_NESTED
