"""What the guides show is run: modules to extend the program with, and a front-end that keeps the contract."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from app import formats
from app.formats.base import InputFile, JudgmentRow, ReadContext, ReaderLimits, ReadLog
from app.protocols.base import parse_scoring_options
from app.services.access import tokens
from tests.collecting import collect
from tests.load.server import Served, serving
from tests.patience import patient
from tests.spine import Spine, fresh

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "how-to"
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r" -d '(.*?)'$", re.MULTILINE | re.DOTALL)


def programs(guide: str) -> list[str]:
    """The Python of a guide."""
    return PROGRAM.findall((GUIDES / guide).read_text(encoding="utf-8"))


def load(text: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The text as a module, from a file as it would be."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_the_protocol_that_is_shown_scores_its_examples_as_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = load(programs("extend.md")[0], "adequacy", tmp_path, monkeypatch).PROTOCOL
    assert protocol.name == "adequacy"
    assert len(protocol.examples) == 3
    for example in protocol.examples:
        options = parse_scoring_options(protocol, example.options)
        protocol.check(example.payload, example.judged_texts, options)
        assert protocol.score(example.payload, example.judged_texts, options).score == example.score
        assert protocol.payload.model_validate_json(example.payload.model_dump_json()) == example.payload
    fields = [field for widget in protocol.form for field in widget.fields]
    assert sorted(fields) == sorted(set(protocol.payload.model_fields) - {"protocol"})


def test_the_format_that_is_shown_reads_judgments_and_names_bad_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    format = load(programs("extend.md")[1], "pairs", tmp_path, monkeypatch).FORMAT
    log = ReadLog(skip_bad_lines=True)
    file = InputFile("some.tsv", lambda: io.BytesIO(b"A\td1\t1\tr1\t70\nA\td1\tx\tr1\t70\nB\td1\t1\tr1\t80\n"))
    found = [row for row in format.read([file], ReadContext({}, ReaderLimits()), log) if isinstance(row, JudgmentRow)]
    assert [(row.systems, row.position, row.rater, row.payload["score"]) for row in found] == [
        (("A",), 1, "r1", 70.0),
        (("B",), 1, "r1", 80.0),
    ]
    assert [place.loc for place in log.bad] == [("some.tsv", 2)]


@pytest.fixture(scope="module")
def spine(postgres: Any, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        yield found


@pytest.fixture(scope="module")
def served(spine: Spine) -> Iterator[Served]:
    with patient(), serving(spine.url) as found:
        yield found


@pytest.mark.parametrize(("protocol", "texts", "asked"), [("da", 2, 12), ("xsts", 2, 12), ("da_document", 6, 4)])
def test_the_front_end_that_is_shown_judges_all_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spine: Spine, served: Served, protocol: str, texts: int, asked: int
) -> None:
    live = collect(
        spine.database, key=f"guide-{protocol}", protocol=protocol, raters=("anna",), documents=2, segments=3
    )
    with spine.database.transaction() as session:
        secret = tokens.issue_token(session, role="frontend", campaign=live.key).secret
    seen: list[int] = []

    def ask(shown: list[tuple[str, str]]) -> dict[str, object]:
        assert all(label and text for label, text in shown)
        seen.append(len(shown))
        return {"score": 3}

    (text,) = programs("own-front-end.md")
    work = load(text, "front_end", tmp_path, monkeypatch).work
    assert work(served.url, secret, live.key, "anna", ask) == "finished"
    assert seen == [texts] * asked
    assert work(served.url, secret, live.key, "anna", ask) == "finished"
    assert len(seen) == asked
    progress = served.managed(live.key).remote.fetch_body(
        f"/v1/campaigns/{live.key}/progress", accept="application/json"
    )
    assert json.loads(progress)["share"] == 1


def test_the_bodies_of_requests_that_are_shown_are_json() -> None:
    shown = [(guide.name, body) for guide in sorted(GUIDES.glob("*.md")) for body in SHELL.findall(guide.read_text())]
    assert len(shown) > 8
    for name, body in shown:
        try:
            json.loads(body)
        except json.JSONDecodeError as error:
            raise AssertionError(f"{name}: {body[:60]}: {error}") from None


CALL = re.compile(r"^\| (\d+) \| `([A-Z]+) (/v1/[^`]+)` \|", re.MULTILINE)


def test_the_calls_that_open_the_documentation_of_the_interface_are_there_and_counted() -> None:
    page = (ROOT / "docs" / "interface.md").read_text(encoding="utf-8")
    described = json.loads((ROOT / "openapi.json").read_text(encoding="utf-8"))["paths"]
    calls = CALL.findall(page)
    assert [int(n) for n, *_ in calls] == [*range(1, 19), *range(1, 16)]
    assert "the eighteen calls that a front end needs, the fifteen that a manager needs" in page
    assert [one for one in calls if one[1].lower() not in described.get(one[2], {})] == []


FIELDS = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.MULTILINE)
LEAST = {
    "key": "k1",
    "name": "K 1",
    "document": "d1",
    "position": 1,
    "text": "A text.",
    "system": "A",
    "task": "t1",
    "item": "A:d1",
    "rater": "r1",
    "revision": 1,
    "submitted_at": "2026-01-01T00:00:00Z",
    "metric": "bleu",
}


def test_lines_with_the_fields_that_are_said_to_be_needed_are_read_and_with_one_less_are_not() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8").partition("## `jsonl`")[2]
    needed = {
        name: re.findall(r"\w+", "".join(re.findall(r"\*\*(.*?)\*\*", fields))) for name, fields in FIELDS.findall(page)
    }
    assert needed["system"] == needed["rater"] == ["key", "name"]
    for name in ("system", "document", "rater", "segment", "output"):
        whole = {"type": name, **{field: LEAST[field] for field in needed[name]}}
        assert not faults(whole), name
        for field in needed[name]:
            assert faults({key: value for key, value in whole.items() if key != field}), (name, field)


def faults(line: dict[str, object]) -> list[Any]:
    """What is wrong with a file of one line."""
    log = ReadLog(skip_bad_lines=True)
    text = "".join(json.dumps(one) + "\n" for one in ({"type": "plumbline", "version": 1}, line))
    file = InputFile("some.jsonl", lambda: io.BytesIO(text.encode()))
    list(formats.ALL["jsonl"].read([file], ReadContext({}, ReaderLimits()), log))  # type: ignore[misc]
    return log.bad
