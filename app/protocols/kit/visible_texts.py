"""Which texts a rater sees, under which labels and in which order, without revealing their origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.domain.errors import Invalid, Place
from app.domain.markup import MarkedUpText, parse_markup_if_present
from app.domain.media_types import ShownMedia
from app.protocols.base import Basis, Protocol

SOURCE, REFERENCE, JUDGED = "Source", "Reference", "Text"
HIDDEN = ("Text 1", "Text 2")


@dataclass(frozen=True, slots=True)
class VisibleTextKinds:
    """What is shown besides the judged text, which is always shown."""

    source: bool
    references: bool


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text as the rater sees it. media: the file shown instead; `text` is then empty.

    side: the side of spans marked in it; None if nothing can be marked, or if a side would reveal which text is the
    source. markup: its layout, if its tags are markup.
    """

    label: str
    text: str | None
    side: Literal["source", "target"] | None
    media: ShownMedia | None = None
    markup: MarkedUpText | None = None


def resolve_visible_text_kinds(protocol: Protocol[Any], basis: Basis) -> VisibleTextKinds:
    """Return what a form on this basis shows. Raises Invalid, naming the bases, if the protocol lacks this one."""
    if basis not in protocol.bases:
        why = f"{protocol.name} is judged on the basis of {' or '.join(protocol.bases)}"
        raise Invalid("the basis does not fit the protocol", places=(Place(("basis",), why),))
    return VisibleTextKinds(source=basis in ("source", "both"), references=basis in ("reference", "both"))


def list_visible_text_labels(protocol: Protocol[Any], basis: Basis, *, n_references: int = 1) -> tuple[str, ...]:
    """Return the labels of the texts on a screen, in order. Raises Invalid like `resolve_visible_text_kinds`."""
    seen = resolve_visible_text_kinds(protocol, basis)
    if protocol.hides_source:
        return HIDDEN
    numbered = tuple(f"{REFERENCE} {n + 1}" for n in range(n_references)) if n_references > 1 else (REFERENCE,)
    shown = numbered if seen.references and n_references else ()
    return ((SOURCE,) if seen.source else ()) + shown + (JUDGED,)


def list_shown_texts(
    protocol: Protocol[Any],
    basis: Basis,
    *,
    source: str | None,
    references: Mapping[str, str],
    text: str | None,
    side_order: Literal[0, 1] = 0,
    source_media: ShownMedia | None = None,
    text_media: ShownMedia | None = None,
    markup: bool = False,
) -> tuple[ShownText, ...]:
    """Return the texts that a rater sees at one address, in the order of the screen.

    side_order: drawn for each item of a protocol that hides which text is which; 1 puts the judged text first. markup:
    tags in the texts are markup. References are in the order of their names, which are not shown.

    Raises Invalid like `resolve_visible_text_kinds`. Also raises it if two texts are to be shown side by side but the
    judged text does not have exactly one counterpart.
    """
    seen = resolve_visible_text_kinds(protocol, basis)
    others = [references[name] for name in sorted(references)] if seen.references else []
    if protocol.hides_source:
        pair = ([(source, source_media)] if seen.source else [(one, None) for one in others]) + [(text, text_media)]
        if len(pair) != len(HIDDEN):
            raise Invalid(f"{protocol.name} shows each text beside one other; there are {len(pair) - 1}")
        ordered = reversed(pair) if side_order else pair
        return tuple(_laid_out(markup, label, one, None, of) for label, (one, of) in zip(HIDDEN, ordered, strict=True))
    named = list_visible_text_labels(protocol, basis, n_references=len(others))
    first = (_laid_out(markup, SOURCE, source, "source", source_media),) if seen.source else ()
    between = zip(named[len(first) : -1], others, strict=True)
    middle = tuple(_laid_out(markup, label, one, None) for label, one in between)
    return (*first, *middle, _laid_out(markup, JUDGED, text, "target", text_media))


def _laid_out(
    markup: bool,
    label: str,
    text: str | None,
    side: Literal["source", "target"] | None,
    media: ShownMedia | None = None,
) -> ShownText:
    """Make a shown text, with its layout if this differs from the stored text."""
    return ShownText(label, text, side, media, parse_markup_if_present(text) if markup else None)
