"""Every list that is read page by page refuses a cursor that no page gave, and takes one whose row is gone."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from app.main import create_app
from app.storage.db import Database
from app.web.deps import ServiceOptions
from app.web.pagination import make_cursor, make_page, parse_cursor, parse_number_cursor
from tests.described import parameters

LARGEST = 2**63 - 1


def pages(database: Database) -> dict[str, dict[str, Any]]:
    """Operations with a cursor by their paths, as the application describes them."""
    found = {}
    document = create_app(database, ServiceOptions()).openapi()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            named = {one["name"]: one for one in parameters(document, operation)}
            if "cursor" in named:
                assert method == "get"
                found[path] = named
    return found


def address(path: str, named: dict[str, Any]) -> str:
    """A path with the examples of its parameters."""
    for name, one in named.items():
        if one["in"] == "path":
            example = one.get("example") or next(iter(one["schema"].get("examples", ["c"])))
            path = path.replace(f"{{{name}}}", str(example))
    return path


def is_number(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "integer"


def test_every_list_refuses_a_cursor_that_never_was(admin: httpx.Client, database: Database) -> None:
    found = pages(database)
    assert len(found) > 20
    for path, named in found.items():
        schema = named["cursor"]["schema"]
        (given,) = schema.get("examples") or named["cursor"].get("examples") or [named["cursor"].get("example")]
        digit = str((int(str(given)[-1]) + 1) % 10)
        never = [
            str(given)[:-1] + digit,
            str(given)[:-4],
            *("1", "9", str(LARGEST)),
            *([] if is_number(schema) else ["x"]),
        ]
        for cursor in never:
            refused = admin.get(address(path, named), params={"cursor": cursor})
            assert refused.status_code == 422, f"{path} {cursor}: {refused.text}"
            assert [one["loc"] for one in refused.json()["errors"]] == [["query", "cursor"]], f"{path} {cursor}"
        taken = admin.get(address(path, named), params={"cursor": given})
        assert taken.status_code in (200, 404), f"{path} {given}: {taken.text}"


@pytest.mark.parametrize("key", ["a", "2024", "a~b", "x" * 128, "8.20"])
def test_a_cursor_is_its_key_with_check_digits_and_one_digit_else_is_none(key: str) -> None:
    cursor = make_cursor(key)
    assert parse_cursor(cursor) == key
    for wrong in (key, cursor[:-1], cursor + "0", f"{cursor[:-1]}{(int(cursor[-1]) + 1) % 10}", cursor[-4:]):
        with pytest.raises(ValueError, match="no page"):
            parse_cursor(wrong)


def test_a_number_begins_at_nought_and_a_page_gives_what_the_next_one_takes() -> None:
    assert parse_number_cursor(0) == 0
    page = make_page([7, 8, 9], 2, str)
    assert page.next is not None
    assert parse_number_cursor(int(page.next)) == 8
    assert make_page([7, 8], 2, str).next is None
    rest = make_page([7], 2, str, reached="30").next
    assert rest is not None
    assert parse_number_cursor(int(rest)) == 30
