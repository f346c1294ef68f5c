"""Identical outputs are judged once and credited to every system that produced them (Knowles 2021, §2)."""

from __future__ import annotations

from collections.abc import Mapping


def group_systems_by_text(
    fingerprints: Mapping[str, tuple[str, ...] | None], *, share_duplicates: bool
) -> list[tuple[str, ...]]:
    """Group systems by identical texts on one stretch, in the order of the first of each group.

    Parameters
    ----------
    fingerprints : for each system those of its texts, None if it has no output.
    share_duplicates : whether to group at all.

    Examples
    --------
    >>> group_systems_by_text({"a": ("x",), "b": ("y",), "c": ("x",), "d": None}, share_duplicates=True)
    [('a', 'c'), ('b',)]
    """
    if not share_duplicates:
        return [(name,) for name, texts in fingerprints.items() if texts is not None]
    classes: dict[tuple[str, ...], list[str]] = {}
    for name, texts in fingerprints.items():
        if texts is not None:
            classes.setdefault(texts, []).append(name)
    return [tuple(names) for names in classes.values()]
