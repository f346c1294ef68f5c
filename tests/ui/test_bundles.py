"""A bundle does what its modules do, and says where they cannot be put into one."""

from __future__ import annotations

import gzip
import subprocess

import pytest
from playwright._impl._driver import compute_driver_executable

from app.ui.assets import asset_address, load_static_files
from app.ui.bundles import IMPORT, bundle_module

SOURCES = {
    "a/page.js": 'import * as one from "./one.js";\nimport { two as zwei, $ } from "../b/two.js";\nlet at = "page";\n'
    "console.log(at, one.at, zwei(), $, await Promise.resolve(3));\n",
    "a/one.js": 'import { two } from "../b/two.js";\nexport const at = `one ${two()}`;\n',
    "b/two.js": "let n = 0;\nexport function two() {\n  return (n += 1);\n}\nexport const $ = 5;\n",
}


def run(source: str) -> str:
    """What a module prints."""
    node, _ = compute_driver_executable()
    ran = subprocess.run(
        [node, "--input-type=module", "-"], input=source, capture_output=True, text=True, timeout=300, check=True
    )
    return ran.stdout.strip()


def test_a_bundle_runs_each_module_once_and_keeps_their_names_apart():
    assert run(bundle_module("a/page.js", SOURCES)) == "page one 1 2 5 3"


def test_modules_that_import_each_other_are_named():
    with pytest.raises(ValueError, match=r"a/x\.js → a/y\.js → a/x\.js"):
        bundle_module("a/x.js", {"a/x.js": 'import { y } from "./y.js";\n', "a/y.js": 'import { x } from "./x.js";\n'})


def test_every_page_of_raters_has_a_bundle_without_imports_that_a_browser_can_read():
    bundles = {name: one.content.decode() for name, one in load_static_files().items() if name.endswith(".bundle.js")}
    assert len(bundles) == sum(name.startswith("rater/page_") for name in load_static_files()) / 2
    for text in bundles.values():
        assert not IMPORT.search(text)
        assert "\nexport " not in text
        run(f"void (async () => {{\n{text}\n}});")


def test_files_go_out_packed_to_who_takes_that(sign_in):
    browser = sign_in()
    address = asset_address("style.css")
    for header, packed in (("gzip", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False), ("identity", False)):
        with browser.stream("GET", address, headers={"Accept-Encoding": header}) as answer:
            raw = b"".join(answer.iter_raw())
        assert answer.headers["vary"] == "Accept-Encoding"
        assert (answer.headers.get("content-encoding") == "gzip") is packed
        assert (gzip.decompress(raw) if packed else raw) == load_static_files()["style.css"].content
