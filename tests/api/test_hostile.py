"""No input gives a 5xx. Every address × every field and parameter, taken from the application itself."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI, Query
from fastapi.routing import APIRoute, iter_route_contexts

from app.web.access import Public
from tests.api.direct import anonymous as anonymous  # a fixture
from tests.described import in_full, parameters

T = TypeVar("T")
Serving = Callable[..., AbstractContextManager[httpx.Client]]

ZALGO = "Z" + "\u0351\u036b\u0343\u036a\u0302" * 200
BIDI = "\u202e\u2066abc\u2069\u200f"
DEEP = 100_000
# JSON texts that stand where a value should be. Marked ones can never be accepted, whatever the field.
NEVER = {
    "NUL": '"a\\u0000b"',
    "lone surrogate": '"\\ud800"',
    "other lone surrogate": '"a\\udfffb"',
    "NaN": "NaN",
    "infinity": "-Infinity",
    "1e999": "1e999",
    "2^63": str(2**63),
    "10^400": str(10**400),
    "5,000 digits": "7" * 5000,
    "depth": "[" * DEEP + "]" * DEEP,
    "objects in depth": '{"a":' * DEEP + "1" + "}" * DEEP,
    "the same key twice": '{"a": 1, "a": 2}',
    "raw control": '"\x01"',
}
ODD = {
    "Zalgo": json.dumps(ZALGO),
    "bidi": json.dumps(BIDI, ensure_ascii=False),
    "minus zero": "-0.0",
    "null": "null",
    "true": "true",
    "number": "1.5",
    "empty text": '""',
    "long text": json.dumps("x" * 100_000),
    "list": "[]",
    "mixed list": '[1, "a", null]',
    "object": "{}",
    "spreadsheet": '"=1+1"',
    "line break": '"a\\nb"',
    "keyword": '"__proto__"',
}
BODIES = {
    "nothing": b"",
    "blank": b"  \n",
    "UTF-16": '{"key": "a"}'.encode("utf-16"),
    "UTF-16 without mark": '{"key": "a"}'.encode("utf-16-le"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "no UTF-8": b'{"key": "\xff\xfe"}',
    "encoded surrogate": b'{"key": "\xed\xa0\x80"}',
    "raw NUL": b'{"key": "\x00"}',
    "cut": b'{"key": "a',
    "two values": b"{} {}",
    "only a number": b"1",
    "only null": b"null",
    "only a list": b"[[]]",
    "depth": b"[" * DEEP,
    "gzip": b"\x1f\x8b\x08\x00" + bytes(20),
}
TEXTS = [
    "%00",
    "a%00b",
    "%ED%A0%80",
    "%FF%FE",
    "%C3%28",
    "NaN",
    "inf",
    "1e999",
    "-0.0",
    str(2**63),
    "-" + str(2**63),
    str(10**400),
    "7" * 5000,
    "[" * 3000,
    quote("{}".encode("utf-16")),
    "%EF%BB%BF1",
    quote(ZALGO),
    quote(BIDI),
    "",
    "%20",
    "..%2F..%2Fetc%2Fpasswd",
    "%27%3B%20DROP%20TABLE%20x--",
    "%25s%25n",
    "true",
    "null",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59",
    "*",
    "%E2%80%AE",
]
HEADERS = [
    b"",
    b"\xff\xfe",
    b"a" * 5000,
    b"\x01",
    b"'\"",
    b"*/*;q=" + b"9" * 400,
    b", ,;;==",
    b"W/",
    b"Bearer ",
    b"NaN",
]
FUZZED_HEADERS = [
    "Authorization",
    "Accept",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Cookie",
    "Content-Encoding",
]


class Operation(NamedTuple):
    """One method of one address, as the application knows it."""

    method: str
    path: str
    described: dict[str, Any]
    parameters: list[dict[str, Any]]


def operations(app: FastAPI) -> list[Operation]:
    """Every one, the undocumented included."""
    found, document = [], in_full(app.openapi())
    for context in iter_route_contexts(app.routes):
        described = document["paths"].get(context.path_format, {})
        for method in sorted(context.methods or ()):
            one = described.get(method.lower(), {})
            found.append(Operation(method, context.path_format, one, parameters(document, one)))
    return found


def filled(path: str, values: dict[str, str]) -> str:
    """The address with values for its parameters."""
    return path.format(**{name: values[name] for name in names_in(path)})


def names_in(path: str) -> list[str]:
    return [part.partition("}")[0] for part in path.split("{")[1:]]


class Attack:
    """Sends what is hostile and keeps what broke.

    whole: send everything to every operation; else what several operations share (the same parameter under the same
    schema, the same header to the same method) is sent to one of them, and every place gets one or two of the texts,
    every body one or two of what no body may be: the next place the next, so that each text still comes to each kind of
    place, many times.
    """

    def __init__(self, client: httpx.Client, values: dict[str, str], *, whole: bool = True) -> None:
        self.client, self.values, self.whole = client, values, whole
        self.shared: set[str] = set()
        self.turn = 0
        self.broken: list[str] = []
        self.sent = 0

    def skips(self, *what: object) -> bool:
        """Whether this was sent elsewhere already and once is enough."""
        known = repr(what) in self.shared
        self.shared.add(repr(what))
        return known and not self.whole

    def some(self, all_: Iterable[T], *, of: int = 24) -> list[T]:
        """All that is to be sent to one place."""
        self.turn += 1
        return [one for n, one in enumerate(all_) if self.whole or (n + self.turn) % of == 0]

    def send(self, what: str, operation: Operation, url: str, *, refused: bool = False, **request: Any) -> None:
        # No worker computes here: what takes long is not waited for.
        headers = {"Prefer": "wait=0", **dict(request.pop("headers", None) or {})}
        answer = self.client.request(operation.method, url, headers=headers, **request)
        self.sent += 1
        if answer.status_code >= 500 or (refused and answer.status_code < 400):
            self.broken.append(f"{operation.method} {operation.path}: {what}: {answer.status_code}")

    def everything(self, operation: Operation) -> None:
        """Every field and every parameter of one operation, one at a time."""
        self.paths(operation)
        self.queries(operation)
        self.headers(operation)
        for media_type, media in operation.described.get("requestBody", {}).get("content", {}).items():
            if media_type == "application/json":
                self.bodies(operation, media)
            else:
                self.files(operation)

    def paths(self, operation: Operation) -> None:
        for name in names_in(operation.path):
            for text in self.some(TEXTS):
                self.send(f"{name}={text[:20]}", operation, filled(operation.path, {**self.values, name: text}))

    def queries(self, operation: Operation) -> None:
        url = filled(operation.path, self.values)
        known = {p["name"]: p["schema"] for p in operation.parameters if p["in"] == "query"}
        for name, schema in {**known, "unknown": {}, "%00": {}}.items():
            if self.skips(name, schema):
                continue
            for text in self.some(TEXTS):
                self.send(f"?{name}={text[:20]}", operation, f"{url}?{name}={text}")
            self.send(f"?{name} twice", operation, f"{url}?{name}=1&{name}=2")
        self.send("?many", operation, f"{url}?{'&'.join('a=1' for _ in range(500))}")

    def headers(self, operation: Operation) -> None:
        url = filled(operation.path, self.values)
        for name in FUZZED_HEADERS:
            for value in HEADERS:
                if self.skips(operation.method, name, value):
                    continue
                self.send(f"{name}: {value[:20]!r}", operation, url, headers=[(name.encode(), value)])

    def files(self, operation: Operation) -> None:
        for format in ("jsonl", "mqm-tsv", "wmt-da"):
            every = {**BODIES, **{k: v.encode() for k, v in NEVER.items()}}
            for n, (what, body) in self.some(list(enumerate(every.items())), of=3):
                url = filled(operation.path, {**self.values, "name": f"file{n}"})
                query = f"?format={format}" if "files" not in operation.path else ""
                self.send(f"{format} file: {what}", operation, url + query, content=body)

    def bodies(self, operation: Operation, media: dict[str, Any]) -> None:
        url = filled(operation.path, self.values)
        for what, body in self.some(BODIES.items(), of=12):
            self.send(what, operation, url, refused=True, content=body, headers=JSON)
        for example in media["examples"].values():
            for place in places(example["value"]):
                for what, text in self.some({**NEVER, **ODD}.items()):
                    body = with_text_at(example["value"], place, text)
                    self.send(f"{what} at {place}", operation, url, refused=what in NEVER, content=body, headers=JSON)
            for what, text in self.some(NEVER.items(), of=12):
                self.send(f"{what} as key", operation, url, refused=True, content=f"{{{text}: 1}}", headers=JSON)


JSON = {"Content-Type": "application/json", "If-Match": "*"}  # so that what asks for the state seen reads the body
HOLE = "@hole@"


def places(value: object, here: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in a JSON value, the whole and one unknown field included."""
    yield here
    if isinstance(value, dict):
        yield (*here, "unknown")
        for name, inner in value.items():
            yield from places(inner, (*here, name))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            yield from places(inner, (*here, n))


def with_text_at(value: object, place: tuple[str | int, ...], text: str) -> bytes:
    """The value as JSON, with a text at a place."""
    if not place:
        return text.encode()
    changed: Any = copy.deepcopy(value)
    inner = changed
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = HOLE
    return json.dumps(changed).replace(json.dumps(HOLE), text).encode()


def attacked(attack: Attack, app: FastAPI, only: str = "") -> Attack:
    """Everything against every operation; `only` keeps those whose address has it."""
    for operation in operations(app):
        if only in operation.path:
            before = attack.sent
            attack.everything(operation)
            assert attack.sent > before, f"nothing was sent to {operation}"
    return attack


def test_no_input_gives_a_5xx(app: FastAPI, admin: httpx.Client, populated: dict[str, str]) -> None:
    attack = attacked(Attack(admin, populated, whole=False), app)
    assert attack.sent > 2000
    assert not attack.broken, "\n".join(attack.broken[:20])
    assert admin.get("/readyz").status_code == 200


@pytest.mark.soak
def test_no_input_to_any_address_gives_a_5xx(app: FastAPI, admin: httpx.Client, populated: dict[str, str]) -> None:
    attack = attacked(Attack(admin, populated), app)
    assert attack.sent > 8000
    assert not attack.broken, "\n".join(attack.broken[:20])


@pytest.mark.soak
def test_a_careless_handler_is_caught(app: FastAPI, populated: dict[str, str], admin: httpx.Client) -> None:
    """The negative control: a new address is attacked without anybody listing it, and its mistake found."""

    def careless(_: Public, n: Annotated[str, Query()] = "1") -> int:
        return int(n)

    app.router.routes.insert(0, APIRoute("/careless", careless))
    app.openapi().clear()

    attack = attacked(Attack(admin, populated), app, only="/careless")

    assert any("?n=NaN: 500" in line for line in attack.broken)
