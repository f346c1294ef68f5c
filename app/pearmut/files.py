"""Pearmut's own files: read from its installation, or from a folder in the settings. This package contains none."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from app.domain.errors import Invalid

PAGE = "annotate.html"
INSTRUCTIONS = "PROTOCOL_INSTRUCTIONS"
ABSENT = (
    "Pearmut's pages are not here. Install the package pearmut beside Plumbline, or name the folder of its pages "
    "in PLUMBLINE_PEARMUT_FILES."
)


class PearmutFilesNotFound(Invalid):
    """PLUMBLINE_PEARMUT_FILES names a folder without Pearmut's pages: it has no annotate.html."""


@dataclass(frozen=True, slots=True)
class PearmutPackageFiles:
    """folder: of its pages; None if there are none. instructions: those of its protocols, as HTML."""

    folder: Path | None = None
    instructions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def find_pearmut_package_files(chosen_folder: Path | None) -> PearmutPackageFiles:
    """Find the files in the chosen folder (Pearmut's `static`, or the package), else in the installed package.

    Pearmut itself is never imported. Raises PearmutFilesNotFound if the chosen folder has none.
    """
    if chosen_folder is not None:
        places = [chosen_folder, chosen_folder / "static", chosen_folder / "pearmut" / "static"]
    else:
        spec = find_spec("pearmut")
        places = [Path(spec.origin).parent / "static"] if spec is not None and spec.origin else []
    folder = next((place for place in places if (place / PAGE).is_file()), None)
    if folder is None:
        if chosen_folder is not None:
            raise PearmutFilesNotFound(str(chosen_folder))
        return PearmutPackageFiles()
    return PearmutPackageFiles(folder, _read_instructions(folder.parent / "constants.py"))


def _read_instructions(module: Path) -> dict[str, str]:
    """Return the package's instructions for each protocol: a constant, read without running any code."""
    if not module.is_file():
        return {}
    for statement in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(name, ast.Name) and name.id == INSTRUCTIONS for name in statement.targets
        ):
            value = ast.literal_eval(statement.value)
            return {str(name): str(text) for name, text in value.items()}
    return {}
