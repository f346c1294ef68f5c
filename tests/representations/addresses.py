"""Which representations there are: every report that the interface's document names, in every form that it offers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests import described

REPORTS: Final = ("/reports/", "/ranking", "/gate", "/hours", "/plan", "/comparisons/")
LIVE: Final = ("/me/", "/stream", "/items", "/replan", "/adjustments", "/ingest")
"""What is no report, or tells when it was asked."""
FEW: Final = frozenset({"bootstrap", "draws", "permutations", "studies", "swaps"})
"""Numbers of draws: few will do, since it is whether they stay the same that matters."""
AT_LEAST: Final = 20


@dataclass(frozen=True, order=True)
class Address:
    """One representation: where it is, and what is asked."""

    path: str
    query: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """As it is recorded."""
        said = "&".join(f"{name}={value}" for name, value in self.query)
        return f"{self.path}?{said}" if said else self.path

    @property
    def report(self) -> str:
        """Its name."""
        return self.path.rpartition("/")[2].partition(".")[0]


def addresses(document: Mapping[str, Any], campaign: str, beside: str, systems: tuple[str, ...]) -> Iterator[Address]:
    """All of one campaign, and of its comparison with another.

    Args:
        document: the interface's own, as `/openapi.json` has it.
        campaign: key of the campaign.
        beside: key of the campaign that it is compared with.
        systems: keys of two systems at least, for the gate.
    """
    for path, methods in described.in_full(document)["paths"].items():
        if "get" not in methods or not any(part in path for part in REPORTS) or any(part in path for part in LIVE):
            continue
        parameters = {one["name"]: one for one in described.parameters(document, methods["get"])}
        if any(one["in"] == "path" and name not in {"campaign", "kind"} for name, one in parameters.items()):
            continue
        query = {name: _few(parameters[name]["schema"]) for name in sorted(FEW & set(parameters))}
        query |= {"campaigns": f"{campaign},{beside}"} if "campaigns" in parameters else {}
        query |= {"candidate": systems[0], "baseline": systems[1]} if "candidate" in parameters else {}
        query |= {"permutations": "1000"} if "/ranking" in path else {}
        kinds = _choices(parameters["kind"]) if "kind" in parameters else ("",)
        pictures = _choices(parameters["picture"]) if "picture" in parameters else ("",)
        for kind, picture in itertools.product(kinds, pictures):
            if picture not in {"", pictures[0]} and kind != "svg":
                continue  # a picture is named for nothing where none is asked for
            there = path.replace("{campaign}", campaign).replace("{kind}", kind)
            named = {"picture": picture} if kind == "svg" and picture else {}
            yield Address(there, tuple(sorted({**query, **named}.items())))


def commands(document: Mapping[str, Any], campaign: str, beside: str, systems: Sequence[str]) -> Iterator[list[str]]:
    """The commands that print the same reports on the terminal. Parameters as of `addresses`."""
    yield ["rank", campaign]
    yield ["gate", campaign, "--candidate", systems[0], "--baseline", systems[1]]
    yield ["hours", campaign]
    for address in addresses(document, campaign, beside, tuple(systems)):
        place, _, report = address.path.rpartition("/")
        asked = dict(address.query)
        options = [f"--{name}={value}" for name, value in address.query if name not in {"campaigns", "picture"}]
        if "." in report:
            continue  # another form of a report that is printed already
        if place.endswith("/reports"):
            yield ["report", campaign, report, *options]
        elif place.endswith("/comparisons"):
            yield ["compare", report, *asked["campaigns"].split(","), *options]


def _choices(parameter: Mapping[str, Any]) -> tuple[str, ...]:
    schema = parameter["schema"]
    return tuple(schema["enum"]) if "enum" in schema else (schema["const"],)


def _few(schema: Mapping[str, Any]) -> str:
    return str(max(schema.get("minimum", 0), min(AT_LEAST, schema.get("maximum", AT_LEAST))))
