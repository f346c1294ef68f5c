"""What a campaign requires of raters who listen and watch: the setting `media`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from app.domain.errors import Place

MOST_PLAYS = 100
_KNOWN = frozenset({"hear_all", "most_plays"})


@dataclass(frozen=True, slots=True)
class MediaPlaybackRules:
    """Rules for playing media. hear_all: audio and video must be heard to the end before a task is handed in.

    most_plays: how often each may be played, counted in full lengths; None means no limit.
    """

    hear_all: bool = False
    most_plays: int | None = None

    @classmethod
    def from_settings(cls, settings: Mapping[str, object]) -> Self:
        """Read the rules from a campaign's settings, which were checked when they were set."""
        given = settings.get("media")
        if not isinstance(given, Mapping):
            return cls()
        most = given.get("most_plays")
        return cls(
            given.get("hear_all") is True, most if isinstance(most, int) and not isinstance(most, bool) else None
        )


def list_playback_rule_faults(settings: Mapping[str, object]) -> Iterator[Place]:
    """Yield the parts of the setting that cannot be used. None means that it is not set."""
    given = settings.get("media")
    if given is None:
        return
    if not isinstance(given, Mapping):
        yield Place(("settings", "media"), "must be an object with hear_all and most_plays, or null")
        return
    for name in sorted(set(given) - _KNOWN):
        yield Place(("settings", "media", name), "is not known; there are hear_all and most_plays")
    if not isinstance(given.get("hear_all", False), bool):
        yield Place(("settings", "media", "hear_all"), "must be true or false")
    most = given.get("most_plays")
    whole = isinstance(most, int) and not isinstance(most, bool)
    if most is not None and not (whole and 1 <= most <= MOST_PLAYS):
        yield Place(("settings", "media", "most_plays"), f"must be a whole number from 1 to {MOST_PLAYS}, or null")
