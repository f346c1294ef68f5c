"""Which texts raters see, and what they cannot know of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

import pytest

from app.domain.errors import Invalid
from app.protocols import (
    ALL,
    ShownText,
    VisibleTextKinds,
    get_protocol,
    list_shown_texts,
    list_visible_text_labels,
    resolve_visible_text_kinds,
)
from app.protocols.base import ANY_BASIS, Basis, Protocol

BASES = [pytest.param(p, basis, id=f"{name} by {basis}") for name, p in ALL.items() for basis in p.bases]
BLIND = [pytest.param(p, id=name) for name, p in ALL.items() if p.hides_source]
TEXTS: dict[str, Any] = {"source": "S", "references": {"refB": "R2", "refA": "R1"}, "text": "T"}


@pytest.mark.parametrize(
    ("basis", "seen"),
    [
        ("source", VisibleTextKinds(source=True, references=False)),
        ("reference", VisibleTextKinds(source=False, references=True)),
        ("both", VisibleTextKinds(source=True, references=True)),
        ("none", VisibleTextKinds(source=False, references=False)),
    ],
)
def test_the_basis_says_which_texts_are_seen(basis: Basis, seen: VisibleTextKinds) -> None:
    assert resolve_visible_text_kinds(get_protocol("da"), basis) == seen


@pytest.mark.parametrize("protocol", [pytest.param(p, id=n) for n, p in ALL.items() if set(p.bases) != set(ANY_BASIS)])
def test_a_basis_that_a_protocol_does_not_have_is_refused_and_those_it_has_are_named(protocol: Protocol[Any]) -> None:
    for basis in set(ANY_BASIS) - set(protocol.bases):
        with pytest.raises(Invalid) as refused:
            resolve_visible_text_kinds(protocol, basis)
        assert protocol.bases[0] in refused.value.places[0].msg


def test_texts_stand_with_their_labels_and_the_sides_that_spans_name() -> None:
    assert list_shown_texts(get_protocol("mqm"), "both", **TEXTS) == (
        ShownText("Source", "S", "source"),
        ShownText("Reference 1", "R1", None),
        ShownText("Reference 2", "R2", None),
        ShownText("Text", "T", "target"),
    )


@pytest.mark.parametrize(("protocol", "basis"), BASES)
def test_labels_are_those_of_the_texts_in_the_same_order(protocol: Protocol[Any], basis: Basis) -> None:
    texts = list_shown_texts(protocol, basis, source="S", references={"planted": "R"}, text="T")
    assert tuple(text.label for text in texts) == list_visible_text_labels(protocol, basis)
    assert "planted" not in str([asdict(text) for text in texts])
    assert [text.text for text in texts].count("T") == 1


@pytest.mark.parametrize("protocol", BLIND)
def test_two_texts_without_roles_swap_places_by_the_order_drawn_and_say_nothing_else(protocol: Protocol[Any]) -> None:
    def shown(side_order: Literal[0, 1]) -> list[dict[str, object]]:
        texts = list_shown_texts(
            protocol, protocol.bases[0], source="S", references={"r": "S"}, text="T", side_order=side_order
        )
        return [asdict(text) for text in texts]

    first, second = shown(0), shown(1)
    assert [one["text"] for one in first] == ["S", "T"]
    assert [one["text"] for one in second] == ["T", "S"]
    assert [{**one, "text": ""} for one in first] == [{**one, "text": ""} for one in second]


@pytest.mark.parametrize("protocol", BLIND)
def test_a_payload_about_two_texts_names_no_side(protocol: Protocol[Any]) -> None:
    assert set(protocol.payload.model_fields) == {"protocol", "score"}


@pytest.mark.parametrize("references", [{}, TEXTS["references"]])
def test_a_text_stands_beside_exactly_one_reference(references: dict[str, str]) -> None:
    with pytest.raises(Invalid, match=f"there are {len(references)}"):
        list_shown_texts(get_protocol("msts"), "reference", source=None, references=references, text="T")
