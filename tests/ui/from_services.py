"""Words of the services that pages say in their own language: they reach them as values."""

from __future__ import annotations

from app import protocols
from app.protocols._forms import LEVEL_SAYS, RESTS_ON


def of_services(page: str) -> set[str]:
    """What a page says that stands in none of its files."""
    if page.startswith("rater/"):
        return of_forms() | {"Reference", "Text", "Text 1", "Text 2"}
    return set()


def of_forms() -> set[str]:
    """What forms say: labels, ticks, points, sentences. Rubrics and categories are the protocols' own, in English."""
    found = {sentence for sentence in (*RESTS_ON.values(), *LEVEL_SAYS.values()) if sentence}
    for protocol in protocols.ALL.values():
        found.add(protocol.instructions)
        for widget in (*protocol.form, *protocol.document_form):
            pairs = (*getattr(widget, "ticks", ()), *getattr(widget, "points", ()))
            found |= {label for _, label in pairs if label and not label.isdigit()}
            found |= {widget.label} if hasattr(widget, "label") else set()
    return found
