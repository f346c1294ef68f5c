"""Input of reports on post-edits: the edited texts that count, with all outputs and references of their segments."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from app.domain.recipe import ScoringChoice
from app.protocols.base import CountWidget, Protocol, TextEditWidget
from app.reports.inputs.campaign import find_campaign_protocol, parse_campaign_scoring_options
from app.reports.inputs.exclusions_and_lock import StandingExclusion, load_exclusions_and_lock
from app.reports.inputs.scores import load_scored_ratings, resolve_score_definition
from app.reports.inputs.snapshot import CampaignSnapshot, make_report_header_fields
from app.stats.postediting.edit_matrix import (
    OutputReferenceEditMatrix,
    OwnPostEditDistance,
    SegmentTexts,
    count_edits_to_every_reference,
)
from app.stats.postediting.operations import EditOperations, Tokenization
from app.stats.ratings import RatingRole, Ratings
from app.storage import output_authors, post_edits
from app.storage.db import Session
from app.storage.post_edits import Address

AT_ONCE = 24
"""Number of segments per chunk."""
NOTHING = "there are no post-edits yet that this report counts; collect or import some"
NO_POST_EDITS = "this campaign does not collect post-edits; choose one whose raters correct outputs"
_Row = tuple[int, list[int], list[int], list[list[int]], list[int], list[list[int]]]
_ROWS: TypeAdapter[list[_Row]] = TypeAdapter(list[_Row])


class PostEditsOptions(BaseModel):
    """How texts are split and compared, and which reference is the external one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: Literal["campaign", "words", "characters"] = Field(
        "campaign", description="The units that TER counts; default: as in the campaign's scores."
    )
    case: bool = Field(default=True, description="Distinguish upper and lower case.")
    normalized: bool = Field(default=False, description="Split off punctuation before counting, as Tercom does.")
    reference: str = Field(
        "", max_length=128, description="Name of the external reference; default: the first by name."
    )
    level: float = Field(0.95, gt=0.5, lt=1, description="Level of the intervals.", examples=[0.95])


@dataclass(frozen=True, slots=True)
class PostEdit:
    """One post-edit, credited to one system. address: key and position of the document."""

    system: str
    address: Address
    rater: str
    judgment: int
    text: str
    critical: int


@dataclass(frozen=True, slots=True)
class PostEdits:
    """The post-edits of a campaign, with the texts that they are compared with.

    systems: keys by code, of all systems with an output. reference: name of the external reference, None if there is
    none. addresses: of `texts`, one per segment.
    """

    snapshot: CampaignSnapshot
    tokens: Tokenization
    systems: tuple[str, ...]
    labs: tuple[str | None, ...]
    edits: tuple[PostEdit, ...]
    addresses: tuple[Address, ...]
    texts: tuple[SegmentTexts, ...]
    outputs: dict[tuple[str, str, int], str]
    reference: str | None
    references: tuple[str, ...]
    dropped: tuple[dict[str, Any], ...]
    data_hash: str
    warnings: tuple[str, ...]

    @property
    def report_header_fields(self) -> dict[str, Any]:
        """The fields with which every view begins."""
        return make_report_header_fields(self.snapshot, self.data_hash, self.dropped)

    @property
    def n_chunks(self) -> int:
        """The number of chunks of segments."""
        return -(-len(self.texts) // AT_ONCE)

    def compute_chunk(self, number: int) -> bytes:
        """Return the edits of some segments as bytes."""
        part = self.texts[number * AT_ONCE : (number + 1) * AT_ONCE]
        return _ROWS.dump_json([_pack_segment(count_edits_to_every_reference(texts, self.tokens)) for texts in part])


def find_post_edit_widget(protocol: Protocol[Any]) -> TextEditWidget | None:
    """Return the widget in which raters correct an output; None if there is none."""
    return next((one for one in protocol.form if isinstance(one, TextEditWidget) and one.start == "output"), None)


def load_post_edits(session: Session, snapshot: CampaignSnapshot, options: PostEditsOptions) -> PostEdits:
    """Load the post-edits of a campaign; the result is empty if its raters do not correct outputs."""
    protocol = find_campaign_protocol(snapshot.campaign)
    outputs = {
        address: row.text
        for address, row in output_authors.load_output_ids_and_texts(session, snapshot.campaign_id).items()
    }
    known = post_edits.load_reference_texts(session, snapshot.campaign_id)
    names = tuple(sorted(known))
    reference = (
        options.reference if options.reference in known else (names[0] if names and not options.reference else None)
    )
    corrects = find_post_edit_widget(protocol) is not None
    edits, dropped = _edits(session, snapshot, protocol, outputs) if corrects else ([], Counter[str]())
    systems = tuple(sorted({address[0] for address in outputs} | {one.system for one in edits}))
    labs = post_edits.load_system_labs(session, snapshot.campaign_id)
    addresses, texts = _texts(edits, outputs, systems, known.get(reference or "", {}))
    warnings = [NO_POST_EDITS] if not corrects else [] if edits else [NOTHING]
    if options.reference and reference is None:
        warnings.append(f"there is no reference {options.reference}; there are {', '.join(names) or 'none'}")
    return PostEdits(
        snapshot=snapshot,
        tokens=_tokens(snapshot, options),
        systems=systems,
        labs=tuple(labs.get(key) for key in systems),
        edits=tuple(edits),
        addresses=addresses,
        texts=texts,
        outputs=outputs,
        reference=reference,
        references=names,
        dropped=tuple({"reason": why, "n": n} for why, n in sorted(dropped.items())),
        data_hash=_hash(texts, addresses, systems, edits),
        warnings=tuple(warnings),
    )


def _tokens(snapshot: CampaignSnapshot, options: PostEditsOptions) -> Tokenization:
    own = snapshot.campaign.options.get("tokens", "words") if options.tokens == "campaign" else options.tokens
    return Tokenization(by_character=own == "characters", cased=options.case, normalized=options.normalized)


def _edits(
    session: Session, snapshot: CampaignSnapshot, protocol: Protocol[Any], outputs: dict[tuple[str, str, int], str]
) -> tuple[list[PostEdit], Counter[str]]:
    """Return the post-edits that count, in the order of ratings, and the number left out, by reason."""
    loaded, rows = _load_judgments(session, snapshot, protocol)
    out: dict[tuple[str, str], str] = {}
    for standing in _load_standing_exclusions(session, snapshot):
        out[standing.exclusion.what, standing.exclusion.key] = standing.reason
    payloads = post_edits.load_post_edit_payloads(session, snapshot.campaign_id, np.unique(loaded))
    field = next((one.field for one in protocol.form if isinstance(one, CountWidget)), "")
    dropped: Counter[str] = Counter()
    edits = []
    for n in range(len(rows)):
        address = _address(rows, n)
        if (why := _left_out(rows, n, address, outputs, out)) is not None:
            dropped[why] += 1
            continue
        payload = payloads[int(loaded[n])]
        text = protocol.written(protocol.payload.model_validate(payload)) if protocol.written else ""
        rater = rows.labels.raters[rows.rater[n]]
        edits.append(PostEdit(address[0], address[1:], rater, int(rows.judgment[n]), text, int(payload.get(field, 0))))
    return edits, dropped


def _load_judgments(session: Session, snapshot: CampaignSnapshot, protocol: Protocol[Any]) -> tuple[Any, Ratings]:
    """Load judgments as ratings with their ids, by a measure that every judgment has."""
    measures = protocol.list_judgment_measures(parse_campaign_scoring_options(snapshot.campaign))
    plain = next((one for one in measures if not one.needs_text), measures[0])
    read = resolve_score_definition(snapshot.campaign, ScoringChoice(source="criterion", criterion=plain.name))
    loaded, _ = load_scored_ratings(session, snapshot, read)
    return loaded.judgment_ids, loaded.ratings


def _load_standing_exclusions(session: Session, snapshot: CampaignSnapshot) -> Sequence[StandingExclusion]:
    return load_exclusions_and_lock(session, snapshot.campaign_id, snapshot.version).exclusions


def _address(rows: Ratings, n: int) -> tuple[str, str, int]:
    names, segment = rows.labels, int(rows.segment[n])
    document = names.documents[rows.document[n]]
    position = int(names.segment_position[segment]) if segment >= 0 else 0
    return names.systems[rows.system[n]], document, position


def _left_out(
    rows: Ratings,
    n: int,
    address: tuple[str, str, int],
    outputs: dict[tuple[str, str, int], str],
    out: Mapping[tuple[str, str], str],
) -> str | None:
    names = rows.labels
    keys: Mapping[str, str] = {
        "rater": names.raters[rows.rater[n]],
        "task": names.tasks[rows.task[n]],
        "document": address[1],
        "system": address[0],
    }
    if excluded := next((out[named] for named in keys.items() if named in out), None):
        return excluded
    if rows.role[n] != RatingRole.RATING:
        return "control item"
    if not rows.accepted[n]:
        return "task rejected by quality control"
    return None if address in outputs else "output whose text is not known"


def _texts(
    edits: Sequence[PostEdit],
    outputs: dict[tuple[str, str, int], str],
    systems: Sequence[str],
    external: dict[Address, str],
) -> tuple[tuple[Address, ...], tuple[SegmentTexts, ...]]:
    """Return the segments that were post-edited, with all their outputs."""
    code = {key: n for n, key in enumerate(systems)}
    edited: dict[Address, list[PostEdit]] = {}
    for edit in edits:
        edited.setdefault(edit.address, []).append(edit)
    shown: dict[Address, list[tuple[int, str]]] = {address: [] for address in edited}
    for (system, key, position), text in sorted(outputs.items()):
        if (key, position) in shown:
            shown[key, position].append((code[system], text))
    addresses = tuple(sorted(edited))
    number = {key: n for n, key in enumerate(sorted({address[0] for address in addresses}))}
    texts = tuple(
        SegmentTexts(
            number[at[0]],
            tuple(shown[at]),
            tuple((code[one.system], one.text) for one in edited[at]),
            external.get(at),
        )
        for at in addresses
    )
    return addresses, texts


def _hash(
    texts: Sequence[SegmentTexts], addresses: Sequence[Address], systems: Sequence[str], edits: Sequence[PostEdit]
) -> str:
    digest = hashlib.sha256(json.dumps([list(systems), [one.critical for one in edits]]).encode())
    for at, segment in zip(addresses, texts, strict=True):
        content = [*at, segment.outputs, segment.post_edits, segment.external]
        digest.update(json.dumps(content, ensure_ascii=False).encode() + b"\0")
    return "sha256:" + digest.hexdigest()


def _pack_segment(segment: OutputReferenceEditMatrix) -> _Row:
    own = [[o.system, *_counts(o.operations), o.words, o.characters, o.n_characters] for o in segment.own]
    return (
        segment.document,
        segment.systems.tolist(),
        segment.origin.tolist(),
        segment.edits.tolist(),
        segment.length.tolist(),
        own,
    )


def _counts(o: EditOperations) -> tuple[int, ...]:
    return o.insertions, o.deletions, o.substitutions, o.shifts, o.length


def unpack_segment_edit_chunks(chunks: Sequence[bytes]) -> list[OutputReferenceEditMatrix]:
    """Return the edits that the chunks computed, segment by segment."""
    return [one for part in chunks for one in _unpack_segments(part)]


def _unpack_segments(part: bytes) -> Iterator[OutputReferenceEditMatrix]:
    for document, systems, origin, edits, length, own in _ROWS.validate_json(part):
        yield OutputReferenceEditMatrix(
            document,
            np.array(systems, dtype=np.int32),
            np.array(origin, dtype=np.int32),
            np.array(edits, dtype=np.int32).reshape(len(systems), len(origin)),
            np.array(length, dtype=np.int32),
            tuple(OwnPostEditDistance(o[0], EditOperations(*o[1:6]), *o[6:]) for o in own),
        )
