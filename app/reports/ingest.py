"""A summary of an imported test set: counts, and findings that somebody should check before raters start."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.domain.languages import detect_script, find_scripts_of_language
from app.storage import campaigns, test_sets
from app.storage.db import Session

MOST_EXAMPLES = 20
_TAG = re.compile(r"</?[A-Za-z][^<>]*+>")
_NAME = re.compile(r"<(/?)([A-Za-z][\w:-]*+)([^<>]*+)>")
BROKEN_MARKUP = {"source": "broken markup in a source", "output": "broken markup in an output"}
OTHER_SCRIPT = {
    "source": "source in a script other than that of its language",
    "output": "output in a script other than that of its language",
}
VOID = frozenset({"br", "hr", "img", "input", "meta", "link", "wbr"})


@dataclass(frozen=True, slots=True)
class IngestFinding:
    """Something to check. n: how often it occurs; examples: the first addresses, as `system document:position`."""

    what: str
    n: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SystemOutputCounts:
    """The outputs of one system. missing: test segments without one. identical: equal to another system's."""

    system: str
    outputs: int
    missing: int
    empty: int
    identical: int
    words: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The test set of a campaign, counted and looked through."""

    campaign: str
    data_version: int
    documents: int
    segments: int
    words: int
    references: tuple[str, ...]
    systems: tuple[SystemOutputCounts, ...]
    findings: tuple[IngestFinding, ...]


@dataclass(slots=True)
class _Tally:
    """Counts by system and findings by kind, updated row by row."""

    outputs: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    empty: Counter[str] = field(default_factory=Counter)
    identical: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    examples: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def note(self, what: str, address: str) -> None:
        """Count one more finding of a kind."""
        self.found[what] += 1
        if len(self.examples[what]) < MOST_EXAMPLES:
            self.examples[what].append(address)


def make_ingest_report(session: Session, campaign: str) -> IngestReport:
    """Count the test set and check its texts. Raises NotFound."""
    row = campaigns.load_campaign(session, campaign)
    keys = test_sets.load_active_system_keys(session, row.id)
    tally, wanted = _Tally(), find_scripts_of_language(row.target_language)
    written = find_scripts_of_language(row.source_language)
    segments = words = 0
    names: set[str] = set()
    for segment in test_sets.stream_test_set(session, row.id):
        segments += 1
        names |= set(segment.references)
        words += len((segment.source or "").split())
        address = f"{segment.document}:{segment.position}"
        if segment.source is not None:
            _check_text(tally, segment.source, address, written, "source")
        _count(tally, keys, segment, address, wanted)
    return IngestReport(
        campaign=campaign,
        data_version=row.data_version,
        documents=test_sets.count_test_documents(session, row.id),
        segments=segments,
        words=words,
        references=tuple(sorted(names)),
        systems=tuple(_system(tally, key) for key in keys),
        findings=tuple(IngestFinding(what, n, tuple(tally.examples[what])) for what, n in sorted(tally.found.items())),
    )


def _count(
    tally: _Tally, keys: list[str], segment: test_sets.SegmentWithOutputs, address: str, wanted: frozenset[str] | None
) -> None:
    shared = Counter(text for text in segment.outputs.values() if text)
    for key in keys:
        if key not in segment.outputs:
            tally.missing[key] += 1
            tally.note("output missing", f"{key} {address}")
            continue
        text = segment.outputs[key]
        tally.outputs[key] += 1
        tally.words[key] += len(text.split())
        if not text:
            tally.empty[key] += 1
            tally.note("output empty", f"{key} {address}")
            continue
        if shared[text] > 1:
            tally.identical[key] += 1
            tally.note("output identical to another system's", f"{key} {address}")
        for what in _faults(text, segment):
            tally.note(what, f"{key} {address}")
        _check_text(tally, text, f"{key} {address}", wanted, "output")


def _faults(text: str, segment: test_sets.SegmentWithOutputs) -> Iterator[str]:
    """Yield what is unusual about an output compared with its source and references."""
    if segment.source is not None and text == segment.source and any(char.isalpha() for char in text):
        yield "output identical to the source"
    if text in segment.references.values():
        yield "output identical to a reference"
    if segment.source is not None and Counter(_tags(text)) != Counter(_tags(segment.source)):
        yield "other markup than the source"


def _check_text(tally: _Tally, text: str, address: str, scripts: frozenset[str] | None, noun: str) -> None:
    """Note what is unusual about a text by itself."""
    if not _has_balanced_tags(text):
        tally.note(BROKEN_MARKUP[noun], address)
    script = detect_script(text)
    if scripts is not None and script is not None and script not in scripts:
        tally.note(OTHER_SCRIPT[noun], address)


def _tags(text: str) -> list[str]:
    return [tag.lower() for tag in _TAG.findall(text)]


def _has_balanced_tags(text: str) -> bool:
    """Whether every tag that is opened is closed, in the right order."""
    opened: list[str] = []
    for closing, name, rest in _NAME.findall(text):
        if rest.endswith("/") or name.lower() in VOID:
            continue
        if not closing:
            opened.append(name)
        elif not opened or opened.pop() != name:
            return False
    return not opened


def _system(tally: _Tally, key: str) -> SystemOutputCounts:
    counts = (tally.outputs, tally.missing, tally.empty, tally.identical, tally.words)
    return SystemOutputCounts(key, *(count[key] for count in counts))
