"""Print the software bill of materials of an environment, in CycloneDX: what runs there, with licences and hashes.

    python .ci/sbom.py [SITE-PACKAGES]     # SITE-PACKAGES: of the environment; by default that of this interpreter

It names the package, what it depends on, and what these depend on, but nothing else that is installed. The hashes are
those of constraints.txt. With SOURCE_DATE_EPOCH as its date, the same environment gives the same bytes.
"""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "plumbline"
CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"


def read_hashes(constraints: str) -> dict[str, list[str]]:
    """SHA-256 of the files of each pinned project, by its name."""
    hashes: dict[str, list[str]] = {}
    for entry in re.split(r"(?<!\\)\n", constraints.strip()):
        name = canonicalize_name(Requirement(entry.split("\\")[0].strip()).name)
        hashes.setdefault(name, []).extend(re.findall(r"sha256:([0-9a-f]{64})", entry))
    return hashes


def find_dependencies(installed: Mapping[str, Distribution], root: str) -> dict[str, set[str]]:
    """By project: which installed ones it depends on. Those of the root are taken with every extra that is there."""
    found: dict[str, set[str]] = {}
    all_extras = frozenset(installed[root].metadata.get_all("Provides-Extra") or [])
    waiting: list[tuple[str, frozenset[str]]] = [(root, all_extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        needed = found.setdefault(name, set())
        for requirement in map(Requirement, installed[name].requires or []):
            other = canonicalize_name(requirement.name)
            wanted = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
            )
            if wanted and other in installed:
                needed.add(other)
                waiting.append((other, frozenset(requirement.extras)))
    return found


def read_licenses(distribution: Distribution) -> list[str]:
    """What a project says its licence is: an expression, a name, or its classifiers; a whole text is left out."""
    told = distribution.metadata
    for declared in (told.get("License-Expression"), told.get("License")):
        if declared and "\n" not in declared.strip():
            return [declared.strip()]
    classifiers = [text.split(" :: ") for text in told.get_all("Classifier") or []]
    return sorted({parts[-1] for parts in classifiers if parts[0] == "License"})


def make_component(distribution: Distribution, hashes: Iterable[str]) -> Component:
    """One project as it is installed."""
    name, version = canonicalize_name(distribution.metadata["Name"]), distribution.version
    purl = PackageURL("pypi", None, name, version)
    files = [
        ExternalReference(
            type=ExternalReferenceType.DISTRIBUTION,
            url=XsUri(purl.to_string()),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
        )
        for digest in hashes
    ]
    return Component(
        name=name,
        version=version,
        type=ComponentType.APPLICATION if name == ROOT else ComponentType.LIBRARY,
        bom_ref=purl.to_string(),
        purl=purl,
        licenses=[LicenseFactory().make_from_string(text) for text in read_licenses(distribution)],
        external_references=files,
    )


def make_bom(paths: list[str], constraints: str, date: datetime) -> str:
    """The bill of materials as JSON. paths: where the environment has its packages."""
    installed = {canonicalize_name(one.metadata["Name"]): one for one in distributions(path=paths)}
    dependencies = find_dependencies(installed, ROOT)
    hashes = read_hashes(constraints)
    components = {name: make_component(installed[name], hashes.get(name, [])) for name in sorted(dependencies)}
    bom = Bom(components=[component for name, component in components.items() if name != ROOT])
    bom.metadata.component = components[ROOT]
    bom.metadata.timestamp = date
    for name, others in dependencies.items():
        bom.register_dependency(components[name], [components[other] for other in others])
    told = ",".join(str(component.purl) for component in components.values())
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, told)
    return JsonV1Dot6(bom).output_as_string(indent=1)


if __name__ == "__main__":
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    when = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    sys.stdout.write(make_bom(sys.argv[1:] or sys.path, CONSTRAINTS.read_text(encoding="utf-8"), when) + "\n")
