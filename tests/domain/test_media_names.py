"""A file that is added by its path is found by a text that names the path, whatever is in it."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

import pytest

from app.domain.keys import is_key
from app.domain.media_elements import (
    find_file_name_in_address,
    find_pdf_page_in_name,
    format_media_element,
    make_media_name_from_path,
    parse_media_element,
)

HOSTILE = [
    '"quote\'d".wav',
    "\u202egpj.exe.wav",
    "a/b\\c.wav",
    "a b/ü.wav",
    "<script>.wav",
    "-rf.wav",
    "%2e%2e.wav",
    "a\nb.wav",
    "a;rm -rf.wav",
    "x" * 300 + ".wav",
    "why?.wav",
    "part #1.wav",
    "100%.wav",
    "a?b#c.wav",
]


@pytest.mark.parametrize("path", HOSTILE)
def test_a_hostile_name_becomes_a_key_that_its_text_finds(path: str) -> None:
    name = make_media_name_from_path(path)
    assert name is not None
    element = parse_media_element(f'<audio src="assets/{escape(path)}"></audio>')
    assert is_key(name)
    assert element is not None
    assert element.name == name


@pytest.mark.parametrize("path", ["why?.wav", "part #1.wav", "a b.wav", "report.pdf~page3"])
def test_a_text_may_write_a_name_as_addresses_do_and_as_we_do(path: str) -> None:
    name = make_media_name_from_path(path)
    assert name is not None
    assert parse_media_element(format_media_element(name)) == parse_media_element(f"<img src='assets/{quote(path)}'>")
    assert find_file_name_in_address(f"assets/{quote(path)}?version=2") == name


@pytest.mark.parametrize(
    "address", ["//other/a.wav", "\\\\other\\a.wav", "/\\other/a.wav", "../a.wav", "a\\..\\b.wav", "%2e%2e/a.wav"]
)
def test_an_address_that_leads_elsewhere_names_no_file(address: str) -> None:
    assert find_file_name_in_address(address) is None


@pytest.mark.parametrize("length", [121, 122, 123, 128, 129, 400])
@pytest.mark.parametrize("page", [1, 12, 123_456])
def test_a_page_of_a_file_with_a_long_name_is_still_a_page(length, page):
    path = f"{'r' * (length - 4)}.pdf"
    name = make_media_name_from_path(path, page=page)
    assert is_key(name)
    assert find_pdf_page_in_name(name) == page
    assert find_file_name_in_address(f"{path}#page={page}") == name
    element = parse_media_element(format_media_element(name))
    assert element.name == name
    assert name != make_media_name_from_path(path.replace("rr", "rs", 1), page=page)


@pytest.mark.parametrize("path", ["a report.pdf", "x/Bericht ü.PDF"])
def test_the_text_of_a_page_leads_to_it_whatever_the_file_is_called(path):
    name = make_media_name_from_path(path, page=3)
    assert find_file_name_in_address(f"{path}#page=3") == name
    assert parse_media_element(format_media_element(name)).name == name
