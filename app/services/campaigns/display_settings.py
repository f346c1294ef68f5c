"""How a campaign's raters see texts: settings that change nothing of what is judged or stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.domain.errors import Place

FLAGS = ("markup", "slider_colors")


@dataclass(frozen=True, slots=True)
class DisplaySettings:
    """markup: texts are shown with the light markup that stands in them; otherwise as they are stored, tags and all.

    slider_colors: sliders show how their values compare with those of the other columns.
    """

    markup: bool = False
    slider_colors: bool = False


AS_STORED = DisplaySettings()


def check_display_settings(settings: Mapping[str, object]) -> Iterator[Place]:
    """The place of each that cannot be used. None is nothing said."""
    for name in FLAGS:
        if not isinstance(settings.get(name), bool | None):
            yield Place(("settings", name), "must be true, false or null")


def get_display_settings(settings: Mapping[str, object]) -> DisplaySettings:
    """What a campaign says of how texts are shown."""
    return DisplaySettings(**{name: settings.get(name) is True for name in FLAGS})
