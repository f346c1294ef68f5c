"""Writing `pearmut`: the test set as a campaign file, and judgments as its log.

A document is `NAME`, its items are `NAME_#_0`, `NAME_#_1` …; a line of the log is one rater's answers to one document,
of all systems that they judged in it. Offsets count what the page makes a place of, and both ends are inclusive: the
conventions of reading (`pearmut`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby

from app.formats.base import CampaignContents, JudgmentRow
from app.formats.kit.strict_json import canonical_json
from app.formats.pearmut.documents import PearmutDocument, PearmutNames, group_documents, read_pearmut_names
from app.formats.pearmut.items import BY_CRITERIA
from app.formats.pearmut.spans import code_point_positions

PROTOCOLS: Mapping[str, str] = {"da": "DA", "esa": "ESA", "mqm": "MQM", BY_CRITERIA: "DA"}
Answer = tuple[int, str, JudgmentRow]


def write_tree(contents: CampaignContents, lost: Counter[str]) -> Iterator[tuple[str, Iterable[bytes]]]:
    """`campaign.json` and, where anything was judged, `annotations.jsonl`; what has no place is counted in `lost`."""
    names = read_pearmut_names(contents.records(), lost)
    yield "campaign.json", _campaign(contents, names, lost)
    lines = _log(contents, names, lost)
    first = next(lines, None)
    if first is not None:
        yield "annotations.jsonl", chain((first,), lines)
    for what in [what for what, n in lost.items() if not n]:
        del lost[what]


def _campaign(contents: CampaignContents, names: PearmutNames, lost: Counter[str]) -> Iterator[bytes]:
    """Campaign, then a document a line, so that nothing but one document is held."""
    info: dict[str, object] = {"assignment": "dynamic", "protocol": PROTOCOLS.get(names.protocol, "DA")}
    sliders = [_slider(one, lost) for one in names.criteria]
    info |= {"sliders": sliders} if sliders else {}
    yield f'{{"campaign_id":{canonical_json(contents.key)},"info":{canonical_json(info)},\n'.encode()
    before = '"data":[\n'
    for document in group_documents(contents.records(), names, Counter(), judgments=False):
        shown = sorted({system for texts in document.outputs.values() for system in texts})
        if not shown:
            lost["documents without outputs"] += 1
            continue
        yield f"{before}{canonical_json(_items(document, shown, names, lost, prefill=True))}".encode()
        before = ",\n"
    yield b"]}\n" if before == ",\n" else b'"data":[]}\n'


def _slider(criterion: Mapping[str, object], lost: Counter[str]) -> dict[str, object]:
    step = criterion.get("step")
    lost["criteria without steps: steps of 1"] += step is None
    bounds = {"min": criterion.get("minimum"), "max": criterion.get("maximum"), "step": 1.0 if step is None else step}
    return {"name": criterion.get("name"), **bounds}


def _items(
    document: PearmutDocument, shown: Sequence[str], names: PearmutNames, lost: Counter[str], *, prefill: bool = False
) -> list[dict[str, object]]:
    """The items of a document, each with the outputs of the same systems."""
    name = names.documents.of(document.key)
    items = []
    for position in range(1, document.length + 1):
        segment, texts = document.segments.get(position), document.outputs.get(position, {})
        item: dict[str, object] = {"item_id": f"{name}_#_{position - 1}"}
        if segment is not None and segment.source is not None:
            item["src"] = segment.source
        references = list((segment.references if segment else None) or {})
        if references and segment is not None and segment.references:
            item["ref"] = segment.references[references[0]]
        item["tgt"] = {names.systems.of(key): texts[key].text if key in texts else "" for key in shown}
        if prefill:
            spans = {
                names.systems.of(key): _marks(one.prefill, one.text, lost)
                for key, one in texts.items()
                if one.prefill is not None
            }
            item |= {"error_spans": spans} if spans else {}
            lost["references beyond the first"] += max(0, len(references) - 1)
            lost["outputs without a text: empty"] += sum(key not in texts for key in shown)
        items.append(item)
    return items


def _log(contents: CampaignContents, names: PearmutNames, lost: Counter[str]) -> Iterator[bytes]:
    for item_i, document in enumerate(group_documents(contents.records(), names, lost, judgments=True)):
        for rater, group in groupby(document.answers, key=lambda one: one.rater):
            rater_answers = list(_counted(group, document, lost))
            if rater_answers:
                yield (
                    canonical_json(_line(names.raters.of(rater), item_i, rater_answers, document, names, lost)) + "\n"
                ).encode()


def _counted(answers: Iterable[JudgmentRow], document: PearmutDocument, lost: Counter[str]) -> Iterator[Answer]:
    """One answer of a rater to each output; another one, in another task, would read as a re-submission."""
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
    document: PearmutDocument,
    names: PearmutNames,
    lost: Counter[str],
) -> dict[str, object]:
    annotation: list[dict[str, object]] = [{} for _ in range(document.length)]
    for position, key, answer in answers:
        output = document.outputs.get(position, {}).get(key)
        annotation[position - 1][names.systems.of(key)] = _answer(answer, output.text if output else None, lost)
    shown = sorted({key for _, key, _ in answers})
    line: dict[str, object] = {"user_id": rater, "item_i": item_i, "annotation": annotation}
    line["item"] = _items(document, shown, names, lost)
    line["actions"] = _actions([answer for _, _, answer in answers], lost)
    return line


def _answer(judgment: JudgmentRow, text: str | None, lost: Counter[str]) -> dict[str, object]:
    payload = judgment.payload
    answer: dict[str, object] = {}
    if "errors" in payload:
        answer["error_spans"] = _marks(payload["errors"], text, lost)
    if "score" in payload:
        answer["score"] = payload["score"]
    if isinstance(payload.get("scores"), Mapping):
        answer["sliders"] = payload["scores"]
    kept = (judgment.meta or {}).get("textfield")
    lost["what else is kept with judgments"] += bool(set(judgment.meta or ()) - {"textfield"})
    return {**answer, "textfield": kept} if kept else answer


def _actions(answers: Sequence[JudgmentRow], lost: Counter[str]) -> list[dict[str, object]]:
    """When the first answer was begun and the last handed in."""
    started = sorted({answer.started_at.timestamp() for answer in answers if answer.started_at})
    ended = sorted({answer.submitted_at.timestamp() for answer in answers if answer.submitted_at})
    lost["times of single answers"] += len(answers) if len(started) > 1 or len(ended) > 1 else 0
    actions: list[dict[str, object]] = [{"action": "load", "time": started[0]}] if started else []
    return actions + ([{"action": "submit", "time": ended[-1]}] if ended else [])


def _marks(errors: object, text: str | None, lost: Counter[str]) -> list[dict[str, object]]:
    """A payload's errors as the page logs them."""
    payload_errors = [one for one in errors if isinstance(one, Mapping)] if isinstance(errors, list | tuple) else []
    places = code_point_positions(text or "")
    marks = []
    for error in payload_errors:
        severity = error.get("severity")
        start, end = _ends(error, places, text is None, lost)
        lost["notes on errors"] += bool(error.get("note"))
        lost["which prefilled error an error came from"] += bool(error.get("prefill"))
        said = {"severity": None if severity == "undecided" else severity, "category": error.get("category") or None}
        marks.append({"start_i": start, "end_i": end, **said})
    return marks


def _ends(error: Mapping[str, object], places: Sequence[int], unknown: bool, lost: Counter[str]) -> tuple[int, int]:
    """Both ends, inclusive, as places of the page; behind the text where the error has none."""
    start, end = error.get("start"), error.get("end")
    placed = isinstance(start, int) and isinstance(end, int)
    if error.get("omission"):
        lost["places of omissions"] += placed
        return len(places), len(places)
    if not isinstance(start, int) or not isinstance(end, int) or error.get("side", "target") != "target":
        lost["errors without a place on the output: behind it"] += 1
        return len(places) + 1, len(places) + 1
    first, last = bisect_left(places, start), bisect_left(places, end) - 1
    if unknown or first >= len(places):
        lost["places of errors in texts that are unknown or shorter"] += 1
        return len(places) + 1, len(places) + 1
    lost["errors of no length: one place"] += last < first
    return first, max(first, last)
