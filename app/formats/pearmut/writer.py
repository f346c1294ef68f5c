"""Write `pearmut`: the test set as a campaign file, and judgments as its logs with the progress of each user.

A document is `NAME`, its items are `NAME_#_0`, `NAME_#_1` …; a line of the log contains one rater's answers to one
document, for all systems that they judged in it. Offsets count the positions of the page, and both ends are inclusive,
as in reading (`pearmut`).

The assignment `dynamic` records for each model who judged it, and needs the same models in all documents. If documents
differ, the assignment is `single-stream`, which records only whole documents: outputs of a document that a user did not
answer are written as unanswered.

Source: `_add_single_campaign`, `_add_existing` of cli.py in zouharvi/pearmut 1.1.6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby

from app.formats.base import CampaignContents, JudgmentRow
from app.formats.kit.strict_json import canonical_json
from app.formats.pearmut.answers import COMMENT, format_answer, format_pearmut_errors
from app.formats.pearmut.documents import (
    NOT_WRITTEN,
    PearmutCampaignToWrite,
    PearmutDocumentToWrite,
    collect_pearmut_campaign_to_write,
    gather_documents_to_write,
)
from app.formats.pearmut.items import BY_CRITERIA, UNANSWERED
from app.formats.pearmut.progress import PearmutProgressBuilder
from app.formats.pearmut.spans import INSTRUCTIONS, MISSING

TOKENS: Mapping[str, object] = {"cESA": [MISSING, INSTRUCTIONS]}
"""Special tokens by the protocol of Pearmut, if they differ from its default."""
PROTOCOLS: Mapping[str, str] = {"da": "DA", "esa": "ESA", "cesa": "cESA", "mqm": "MQM", BY_CRITERIA: "DA"}
OPEN: Mapping[str, object] = {"score": None, "error_spans": [], "textfield": None, UNANSWERED: True}
"""The page needs an entry for each model; without our member, an entry in MQM would be read as free of errors."""
Answer = tuple[int, str, JudgmentRow]


def write_file_tree(contents: CampaignContents, lost: Counter[str]) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield `campaign.json` and, if there are judgments, `annotations.json` and `progress.json`.

    Data without a place is counted in `lost`. Each file must be read before the next.
    """
    names = collect_pearmut_campaign_to_write(contents.records(), lost)
    progress = PearmutProgressBuilder(contents.key, names.alike)
    yield "campaign.json", _campaign(contents, names, progress, lost)
    lines = _log(contents, names, progress, lost)
    first = next(lines, None)
    if first is not None:
        yield "annotations.json", _wrap_lines_in_member(contents.key, chain((first,), lines))
        yield "progress.json", progress.to_json_chunks()
    for what in [what for what, n in lost.items() if not n]:
        del lost[what]


def _wrap_lines_in_member(key: str, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Wrap the lines of a log as the member of an object."""
    before = f"{{{canonical_json(key)}:[\n".encode()
    for line in lines:
        yield before + line
        before = b",\n"
    yield b"]}\n"


def _shown_documents(
    contents: CampaignContents, names: PearmutCampaignToWrite, lost: Counter[str]
) -> Iterator[tuple[PearmutDocumentToWrite, list[str]]]:
    """Yield the documents of the campaign file in order, each with the systems that it shows."""
    for document in gather_documents_to_write(contents.records(), names, lost, judgments=True):
        if systems := document.systems:
            yield document, systems
        else:
            lost["documents without outputs"] += 1


def _campaign(
    contents: CampaignContents, names: PearmutCampaignToWrite, progress: PearmutProgressBuilder, lost: Counter[str]
) -> Iterator[bytes]:
    """Yield the campaign, then one line per document, so that only one document is in memory."""
    protocol = PROTOCOLS.get(names.protocol, "DA")
    info: dict[str, object] = {"assignment": "dynamic" if names.alike else "single-stream", "protocol": protocol}
    sliders = [_slider(one, lost) for one in names.criteria]
    info |= {"sliders": sliders} if sliders else {}
    info |= {"special_tokens": TOKENS[protocol]} if protocol in TOKENS else {}
    info |= {"slider_colors": names.slider_colors} if names.slider_colors is not None else {}
    yield f'{{"campaign_id":{canonical_json(contents.key)},"info":{canonical_json(info)},\n'.encode()
    before = '"data":[\n'
    for document, systems in _shown_documents(contents, names, Counter()):
        progress.add_document([names.systems.assign_alias(key) for key in systems])
        yield f"{before}{canonical_json(_items(document, systems, names, lost, prefill=True))}".encode()
        before = ",\n"
    yield b"]}\n" if before == ",\n" else b'"data":[]}\n'


def _slider(criterion: Mapping[str, object], lost: Counter[str]) -> dict[str, object]:
    step = criterion.get("step")
    lost["criteria without steps: steps of 1"] += step is None
    bounds = {"min": criterion.get("minimum"), "max": criterion.get("maximum"), "step": 1.0 if step is None else step}
    return {"name": criterion.get("name"), **bounds}


def _items(
    document: PearmutDocumentToWrite,
    shown: Sequence[str],
    names: PearmutCampaignToWrite,
    lost: Counter[str],
    *,
    prefill: bool = False,
) -> list[dict[str, object]]:
    """Return the items of a document, each with the outputs of the same systems."""
    name = names.documents.assign_alias(document.key)
    items = []
    for position in range(1, document.last_position + 1):
        segment, texts = document.segments.get(position), document.outputs.get(position, {})
        meta = (segment.meta if segment else None) or {}
        item: dict[str, object] = {key: value for key, value in meta.items() if key not in NOT_WRITTEN}
        item["item_id"] = f"{name}_#_{position - 1}"
        if segment is not None and segment.source is not None:
            item["src"] = segment.source
        references = list((segment.references if segment else None) or {})
        if references and segment is not None and segment.references:
            item["ref"] = segment.references[references[0]]
        item["tgt"] = {names.systems.assign_alias(key): texts[key].text if key in texts else "" for key in shown}
        if prefill:
            spans = {
                names.systems.assign_alias(key): format_pearmut_errors(one.prefill, one.text, lost)
                for key, one in texts.items()
                if one.prefill is not None
            }
            item |= {"error_spans": spans} if spans else {}
            lost["references beyond the first"] += max(0, len(references) - 1)
            lost["outputs without a text: empty"] += sum(key not in texts for key in shown)
        items.append(item)
    return items


def _log(
    contents: CampaignContents, names: PearmutCampaignToWrite, progress: PearmutProgressBuilder, lost: Counter[str]
) -> Iterator[bytes]:
    for item_i, (document, systems) in enumerate(_shown_documents(contents, names, lost)):
        for rater, group in groupby(document.answers, key=lambda one: one.rater):
            answers = list(_first_answers(group, document, lost))
            if answers:
                user, judged = names.raters.assign_alias(rater), sorted({key for _, key, _ in answers})
                line = _line(user, item_i, answers, document, judged if names.alike else systems, names, lost)
                progress.add_document_answers(
                    user, item_i, [names.systems.assign_alias(key) for key in judged], _times(answers)
                )
                yield canonical_json(line).encode()


def _first_answers(
    answers: Iterable[JudgmentRow], document: PearmutDocumentToWrite, lost: Counter[str]
) -> Iterator[Answer]:
    """Yield one answer of a rater to each output; one in another task would be read as a re-submission."""
    seen: set[tuple[int, str]] = set()
    for answer in answers:
        for key in answer.systems:
            place = answer.position or 1, key
            lost["answers of one rater to one output in another task"] += place in seen
            if place not in seen:
                lost["judgments of outputs whose text is unknown: empty"] += key not in document.outputs.get(
                    place[0], {}
                )
                yield (*place, answer)
            seen.add(place)


def _line(
    rater: str,
    item_i: int,
    answers: Sequence[Answer],
    document: PearmutDocumentToWrite,
    shown: Sequence[str],
    names: PearmutCampaignToWrite,
    lost: Counter[str],
) -> dict[str, object]:
    unanswered = {names.systems.assign_alias(key): OPEN for key in shown}
    annotation: list[dict[str, object]] = [dict(unanswered) for _ in range(document.last_position)]
    for position, key, answer in answers:
        output = document.outputs.get(position, {}).get(key)
        annotation[position - 1][names.systems.assign_alias(key)] = format_answer(
            answer.payload, output.text if output else None, lost, answer.meta
        )
    line: dict[str, object] = {"user_id": rater, "item_i": item_i, "annotation": annotation}
    line["item"] = _items(document, shown, names, lost)
    line["actions"] = _actions(answers, lost)
    comments = list(dict.fromkeys(said for _, _, answer in answers if (said := (answer.meta or {}).get(COMMENT))))
    if comments:
        line[COMMENT] = comments[0]
    lost["comments beyond the first on a document"] += max(0, len(comments) - 1)
    return line


def _actions(answers: Sequence[Answer], lost: Counter[str]) -> list[dict[str, object]]:
    """Return actions for the start of the first answer and the hand-in of the last."""
    begun = {answer.started_at for _, _, answer in answers if answer.started_at}
    ended = {answer.submitted_at for _, _, answer in answers if answer.submitted_at}
    lost["times of single answers"] += len(answers) if len(begun) > 1 or len(ended) > 1 else 0
    first, last = _times(answers)
    actions: list[dict[str, object]] = [] if first is None else [{"action": "load", "time": first}]
    return actions if last is None else [*actions, {"action": "submit", "time": last}]


def _times(answers: Sequence[Answer]) -> tuple[float | None, float | None]:
    """Return when the first answer was started and the last handed in, Unix seconds."""
    begun = [answer.started_at.timestamp() for _, _, answer in answers if answer.started_at]
    ended = [answer.submitted_at.timestamp() for _, _, answer in answers if answer.submitted_at]
    return min(begun, default=None), max(ended, default=None)
