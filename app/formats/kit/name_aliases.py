"""Unique names for keys that a path, a line of two columns or a cell can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

KEPT = "names that a file cannot hold: keys instead"


@dataclass(slots=True)
class KeyAliasesInFile:
    """Aliases of keys: a key's name if `holds` accepts it and no other key has it, otherwise the key adapted to fit."""

    holds: Callable[[str], bool]
    lost: Counter[str]
    names: Mapping[str, str]
    _known: dict[str, str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def assign_alias(self, key: str) -> str:
        """Return the alias of a key."""
        if key in self._known:
            return self._known[key]
        name = self.names.get(key, key)
        if not self.holds(name) or name in self._taken:
            self.lost[KEPT] += 1
            name = "".join(c if self.holds(f"x{c}x") else "_" for c in key)
            while name in self._taken or not self.holds(name):
                name = f"_{name}"
        self._known[key] = name
        self._taken.add(name)
        return name


def is_name_valid_in_path(name: str) -> bool:
    """Return whether a name can be in a path and before a tab on any file system, and be read back unchanged."""
    plain = name == name.strip() and name.isprintable() and not name.startswith(".")
    return plain and not set(name) & set('/\\:*?"<>|') and len(name.encode()) <= 180


def is_name_valid_at_line_end(name: str) -> bool:
    """Return whether a name can be at the end of a line."""
    return name == name.strip() and name.isprintable() and bool(name)
