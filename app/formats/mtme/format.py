"""`mtme`: one language pair of a test set of mt-metrics-eval, as files that are identified by their paths.

`sources/PAIR.txt`, `documents/PAIR.docs` (domain, blank, document), `references/PAIR.NAME.txt`,
`system-outputs/PAIR/NAME.txt`, one line per segment; `human-scores/PAIR.NAME.LEVEL.score` and `….seg.rating`, one block
of lines per system, in the order of the segments; likewise `metric-scores/PAIR/NAME.{seg,sys}.score`. A file may be
under any folder; over HTTP, where a name cannot contain a slash, it is written `:`. Scores become judgments only if the
option `human` names them. They have no particular rater, so their NAME is the rater, unless a rating of the same NAME
states one. Scores of automatic metrics are read if the option `metric` names them. Systems with the name of a reference
are human.

A first document `canary` (since WMT24) is not a document: its line is left out of every file with as many lines, and
the first score of every system with as many scores, so that all indices are those of the other lines.

Sources: README of google-research/mt-metrics-eval ("File organization"), ratings.py (exclusive ends, raters).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from app.domain.errors import Invalid, Place
from app.formats.base import CampaignRow, Format, InputFile, LineLocation, ReadContext, ReadLog, Record
from app.formats.kit.parallel_lines import (
    FileRoles,
    LineDocumentMapping,
    count_lines,
    parse_list_option,
    read_line_aligned_files,
)
from app.formats.kit.reading import read_lines, refuse_file
from app.formats.mtme.metrics import MetricScoreFiles
from app.formats.mtme.scores import HumanScoreFiles
from app.formats.mtme.test_set import UNDETERMINED
from app.formats.mtme.writer import write_file_tree

OPTIONS = {
    "language_pair": "the pair to read, such as en-de, where there are several",
    "split": "language_pair: one campaign for each pair",
    "human": "names of the human scores to read as judgments, with commas; da-* is all that begin so",
    "metric": "names of the automatic metrics to read, with commas; * stands for any part of a name",
    "sign": "-1 turns scores round where lower is better in the files (by convention higher is)",
}
ROLES = {
    "source": re.compile(r"(?:.*/)?sources/(?P<pair>[^/.-]++-[^/.]++)\.txt"),
    "docs": re.compile(r"(?:.*/)?documents/(?P<pair>[^/.-]++-[^/.]++)\.docs"),
    "reference": re.compile(r"(?:.*/)?references/(?P<pair>[^/.-]++-[^/.]++)\.(?P<name>[^/.]+)\.txt"),
    "system": re.compile(r"(?:.*/)?system-outputs/(?P<pair>[^/.-]++-[^/.]++)/(?P<name>[^/]+)\.txt"),
    "score": re.compile(r"(?:.*/)?human-scores/(?P<pair>[^/.-]++-[^/.]++)\.(?P<name>[^/]+)\.(?P<level>[a-z]+)\.score"),
    "metric": re.compile(r"(?:.*/)?metric-scores/(?P<pair>[^/.-]++-[^/.]++)/(?P<name>[^/]+)\.(?P<level>[a-z]+)\.score"),
    "rating": re.compile(r"(?:.*/)?human-scores/(?P<pair>[^/.-]++-[^/.]++)\.(?P<name>[^/]+)\.seg\.rating"),
}
CANARY = "canary"
NOT_ASKED_FOR = "files of metric scores that were not asked for (--option metric=NAME)"
NO_DOMAIN = "all"


@dataclass(slots=True)
class _Pair:
    """The files of one language pair. scores and metrics: (name, level) → file; ratings: name → file."""

    name: str
    single: dict[str, InputFile] = field(default_factory=dict)
    references: dict[str, InputFile] = field(default_factory=dict)
    systems: dict[str, InputFile] = field(default_factory=dict)
    scores: dict[tuple[str, str], InputFile] = field(default_factory=dict)
    ratings: dict[str, InputFile] = field(default_factory=dict)
    metrics: dict[tuple[str, str], InputFile] = field(default_factory=dict)

    def roles(self, context: ReadContext) -> FileRoles:
        """Return the roles of the files, and which files begin with the canary."""
        human = frozenset(self.references)
        roles = FileRoles(self.single.get("source"), self.single.get("docs"), self.references, self.systems, human)
        if not _has_canary(roles, context):
            return roles
        counts = {file.name: count_lines(file, context) for file in roles.in_reading_order()}
        return replace(roles, skipped={name: 1 for name, n in counts.items() if n == max(counts.values())})


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield one language pair: its test set, and the requested human scores. Raises Invalid."""
    if "split" in context.options:
        raise Invalid("with the option split the files make several campaigns; this is about one")
    pairs = _pairs(files, context, log)
    wanted = context.options.get("language_pair")
    if wanted is None and len(pairs) > 1:
        what = f"several language pairs in one import: {', '.join(sorted(pairs))}; a campaign has one"
        raise Invalid(f"{what} (--option language_pair=PAIR, or split=language_pair for one campaign each)")
    name = wanted or next(iter(pairs), "")
    if name not in pairs:
        raise Invalid(
            "there are no files of that language pair",
            places=(Place(("options", "language_pair"), f"there are: {', '.join(sorted(pairs)) or 'none'}"),),
        )
    for other in pairs.keys() - {name}:
        log.notes[f"files of {other} that were left out"] += 1
    yield from _records(pairs[name], context, log)


def read_by_campaign(
    files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Iterator[tuple[str, Iterator[Record]]]:
    """Yield one stream of records for each language pair."""
    if context.options.get("split") != "language_pair":
        raise Invalid("option split: must be language_pair")
    for name, pair in sorted(_pairs(files, context, log).items()):
        yield name, _records(pair, context, log)


def _records(pair: _Pair, context: ReadContext, log: ReadLog) -> Iterator[Record]:
    source, target = (None if code == UNDETERMINED else code for code in pair.name.split("-", 1))
    human = parse_list_option(context.options, "human")
    scores = HumanScoreFiles.find_files(pair.scores, pair.ratings, human, context, log)
    metrics = MetricScoreFiles.find_files(pair.metrics, parse_list_option(context.options, "metric"), context, log)
    first = next(iter((*pair.single.values(), *pair.references.values(), *pair.systems.values())), None)
    if first is None and scores is None and not metrics.files:
        raise Invalid(f"there are no texts and no scores of {pair.name}")
    at = LineLocation(first.name if first else pair.name, 1)
    yield CampaignRow(
        at, scores.protocol if scores else None, source, target, options=scores.campaign_options() if scores else None
    )
    places: list[tuple[str, int]] = []
    if first is not None:
        placing = LineDocumentMapping(_parse_document_line, seen=places.append if scores or metrics.files else None)
        yield from read_line_aligned_files(pair.roles(context), placing, context, log)
    else:
        places = [(key, n) for key, length in context.outline() for n in range(1, length + 1)]
    log.raise_bad_lines()
    with_canary = (scores is not None or bool(metrics.files)) and _has_canary(pair.roles(context), context)
    if scores is not None:
        yield from scores.read_judgments(places, with_canary=with_canary)
        log.raise_bad_lines()
    yield from metrics.read_scores(places, with_canary=with_canary)
    log.raise_bad_lines()


def _parse_document_line(line: str) -> tuple[str, str | None]:
    """Return document and domain of a line `DOMAIN DOCNAME`; a single word is the document."""
    domain, _, name = line.strip().partition("\t") if "\t" in line else line.strip().partition(" ")
    if not name.strip():
        return domain, None
    return name.strip(), None if domain in ("", NO_DOMAIN) else domain


def _has_canary(roles: FileRoles, context: ReadContext) -> bool:
    """Return whether the first document is the canary, or the first source if no file names documents."""
    file = roles.docs or roles.source
    if file is None:
        return False
    quiet = ReadLog(skip_bad_lines=True)
    return any(CANARY in line.casefold() for _, line in islice(read_lines(file, context.limits, quiet, empty=True), 1))


def _pairs(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> dict[str, _Pair]:
    """Return files by language pair and role; files whose path shows none are left out and counted. Raises Invalid."""
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"mtme has no option {unknown[0][:40]!r}; there are {', '.join(OPTIONS)}")
    pairs: dict[str, _Pair] = {}
    for file in files:
        path = file.name.replace(":", "/").removesuffix(".gz")
        role_match = next(((role, match) for role, told in ROLES.items() if (match := told.fullmatch(path))), None)
        if role_match is None:
            log.dropped["files that are neither texts nor human scores of a test set"] += 1
            continue
        role, match = role_match
        if role == "metric" and "metric" not in context.options:
            log.dropped[NOT_ASKED_FOR] += 1
            continue
        if not _note_file(pairs.setdefault(match["pair"], _Pair(match["pair"])), role, match, file):
            refuse_file(
                log,
                LineLocation(file.name, 0),
                f"a second file that is the {role} of {match['pair']}: is it another set?",
            )
    if not pairs:
        raise Invalid(
            "no file is what its path says it should be: sources/PAIR.txt, documents/PAIR.docs, "
            "references/PAIR.NAME.txt, system-outputs/PAIR/NAME.txt, human-scores/PAIR.NAME.LEVEL.score"
        )
    return pairs


def _note_file(pair: _Pair, role: str, match: re.Match[str], file: InputFile) -> bool:
    """Note a file under its role; return False if there is one already."""
    if role in ("source", "docs"):
        return pair.single.setdefault(role, file) is file
    if role in ("score", "metric"):
        by_level = pair.scores if role == "score" else pair.metrics
        return by_level.setdefault((match["name"], match["level"]), file) is file
    by_name = {"reference": pair.references, "system": pair.systems, "rating": pair.ratings}[role]
    return by_name.setdefault(match["name"], file) is file


FORMAT = Format(
    name="mtme",
    title="One language pair of a test set of mt-metrics-eval",
    read=read,
    parts=read_by_campaign,
    write_file_tree=write_file_tree,
    options=OPTIONS,
    paths=True,
)
