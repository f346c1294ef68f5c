"""What the interface refuses with is said in the language of the page: all that a form of the pages can raise."""

from __future__ import annotations

import json
import re

import pytest
from pydantic_core import PydanticKnownError

from app.ui import messages
from app.ui.assets import FOLDER
from app.ui.error_messages import LONGEST, translate_error_message
from tests.ui import refusals
from tests.ui.page_modules import run_module

CATALOGUE = messages.load_catalogue("de", messages.REFUSALS)
GERMAN = messages.load_page_messages("de", "manager/settings")
KINDS = {
    "bool_parsing": {},
    "bool_type": {},
    "date_from_datetime_parsing": {"error": "x"},
    "datetime_from_date_parsing": {"error": "x"},
    "datetime_parsing": {"error": "x"},
    "datetime_type": {},
    "dict_type": {},
    "enum": {"expected": "'a' or 'b'"},
    "extra_forbidden": {},
    "finite_number": {},
    "float_parsing": {},
    "float_type": {},
    "greater_than": {"gt": 1},
    "greater_than_equal": {"ge": 1},
    "int_from_float": {},
    "int_parsing": {},
    "int_parsing_size": {},
    "int_type": {},
    "invalid_key": {},
    "less_than": {"lt": 1},
    "less_than_equal": {"le": 1},
    "list_type": {},
    "literal_error": {"expected": "'a' or 'b'"},
    "missing": {},
    "model_attributes_type": {},
    "model_type": {"class_name": "X"},
    "none_required": {},
    "set_type": {},
    "string_pattern_mismatch": {"pattern": "^a$"},
    "string_too_long": {"max_length": 2},
    "string_too_short": {"min_length": 1},
    "string_type": {},
    "timezone_aware": {},
    "too_long": {"field_type": "List", "max_length": 1, "actual_length": 2},
    "too_short": {"field_type": "List", "min_length": 1, "actual_length": 0},
    "tuple_type": {},
    "union_tag_invalid": {"discriminator": "'kind'", "tag": "x", "expected_tags": "'a'"},
    "union_tag_not_found": {"discriminator": "'kind'"},
    "url_parsing": {"error": "x"},
    "value_error": {"error": "must be in the future"},
}
"""Kinds of faults that pydantic finds in what forms send."""
MADE = frozenset(
    {
        "must be a number, from {1} to {2}, or null",
        "must be a number, more than {1} and at most {2}, or null",
        "Input should be an object",
        "Input should be a valid array",
        "Input should be null",
        "{1} should have at least {2} items after validation, not {3}",
        "{1} should have at most {2} items after validation, not {3}",
    }
)
"""Messages made of parts; what pydantic says of JSON and of several things."""


def test_every_message_that_a_form_can_raise_is_in_the_catalogue():
    assert sorted(refusals.messages() - {refusals.blank(message) for message in CATALOGUE}) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fault_in_a_field_is_in_the_catalogue(kind):
    message = PydanticKnownError(kind, KINDS[kind] or None).message()
    assert translate_error_message(GERMAN, message) is not None, message


def test_the_catalogue_has_nothing_that_no_program_says():
    """Its longest piece without a value stands in the source, or in a message of pydantic."""
    source = "\n".join(path.read_text() for path in refusals.ROOT.rglob("*.py"))
    plain = re.sub(r"[\"']\s*\n\s*f?[\"']", "", source)
    faults = "\n".join(PydanticKnownError(kind, values or None).message() for kind, values in KINDS.items())
    said = plain + faults + "\n".join(refusals.OF_PAGES)
    for message in set(CATALOGUE) - MADE:
        pieces = [piece.strip(" ,:;") for piece in messages.PLACE.split(message)[::2]]
        assert max(pieces, key=len) in said, message


SAID = {
    "must be a number, from 30 to 1,209,600, or null": "muss eine Zahl von 30 bis 1.209.600 oder leer sein",
    "cannot change after the draft; this campaign is open": (
        "lässt sich nur im Entwurf ändern; Stand dieser Kampagne: offen"
    ),
    "lines 2–4, 9: is not enrolled": "Zeilen 2–4, 9: ist nicht eingetragen",
    "Value error, must be in the future": "muss in der Zukunft liegen",
    "1,204 bad line(s); nothing was stored": "1.204 fehlerhafte Zeile(n); nichts wurde gespeichert",
    "there are 3 columns where 10 are needed": "3 Spalten sind da, 10 werden gebraucht",
    "the column map is not valid: columns: system and target go together": (
        "die Spaltenzuordnung ist nicht gültig: columns: system und target gehören zusammen"
    ),
    "nobody says this": None,
    "must be what nobody has translated yet": None,
    "Value error, nobody has translated this": None,
    f"must be one of {', '.join(['a'] * 400)}": None,
}


@pytest.mark.parametrize(("message", "text"), SAID.items())
def test_values_keep_their_places_and_are_said_as_the_page_says_them(message, text):
    assert translate_error_message(GERMAN, message) == text


def test_one_reason_for_many_lines_is_told_once():
    places = [{"loc": ["body", "table", n], "msg": f"line {n}: is not enrolled"} for n in (2, 3, 4, 9)]
    places += [{"loc": ["body", "table", 7], "msg": "line 7: was erased"}]
    places += [{"loc": ["body", "team"], "msg": "is needed"}]
    fields = (FOLDER / "shared" / "fields.js").as_uri()
    merged = run_module(f"""
      const {{ mergeLines }} = await import({json.dumps(fields)});
      console.log(JSON.stringify(mergeLines({json.dumps(places)})));
    """)
    assert merged == [{"loc": ["body", "table"], "msg": "lines 2–4, 9: is not enrolled"}, *places[4:]]


def test_modules_find_the_same_as_the_server():
    known = json.dumps(dict(GERMAN.known))
    script = f"""
      const files = {{ m: {known}, r: {json.dumps(dict(CATALOGUE))} }};
      globalThis.document = {{ documentElement: {{ lang: "de" }}, querySelector: (one) =>
        one.includes("refusals") ? {{ content: "r" }} : one.includes("messages") ? {{ content: "m" }} : null }};
      globalThis.fetch = async (name) => ({{ ok: true, json: async () => files[name] }});
      const page = await import({json.dumps((FOLDER / "shared" / "messages.js").as_uri())});
      await page.loadMessages();
      await page.loadRefusals();
      const said = {json.dumps(list(SAID))}.map((one) => (page.languageOf(one) ? null : page.t(one)));
      console.log(JSON.stringify(said));
    """
    assert run_module(script) == list(SAID.values())


@pytest.mark.parametrize(("length", "is_german"), [(LONGEST, True), (LONGEST + 1, False)])
def test_a_message_too_long_to_compare_stays_as_it_came(length: int, is_german: bool) -> None:
    message = "there is no document "
    message += "x" * (length - len(message))
    assert (translate_error_message(GERMAN, message) is not None) == is_german
