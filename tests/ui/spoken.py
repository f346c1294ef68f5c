"""What pages say: every message of their templates, modules and Python; and words that stand outside the catalogues."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from jinja2 import nodes

from app.ui import messages
from app.ui.assets import FOLDER
from app.ui.pages import TEMPLATES as _TEMPLATES
from app.ui.pages import make_template_environment
from tests.ui.from_services import of_services

TEMPLATES = Path(_TEMPLATES)
PARTS = {"archive/contents", "archive/file", "archive/texts"}
NOT_PAGES = PARTS | {"base", "manager/base", "manager/plain", "manager/parts", "manager/job", "rater/base"}
PAGES = sorted(
    name
    for path in TEMPLATES.rglob("*.html")
    if (name := path.relative_to(TEMPLATES).with_suffix("").as_posix()) not in NOT_PAGES
)
# Modules that a page runs under another name than its own.
RUNS = {"manager/all_audit": "manager/audit", "manager/campaigns": "manager/list"}
PYTHON = sorted(Path(messages.__file__).parent.rglob("*.py"))
MODULES = [FOLDER / "session.js", *sorted((FOLDER / "shared").glob("*.js")), *sorted((FOLDER / "manager").glob("*.js"))]

SAID = re.compile(r'\bt\(\s*"((?:[^"\\]|\\.)*)"')
COUNTED = re.compile(r'\bcount\([^"]*?"([^"]*)",\s*"([^"]*)"')
NAMED = re.compile(r"asset\('([\w/]+\.js)'\)")
IMPORTED = re.compile(r'(?:from|import\()\s*"(\.[^"]+)"')
PLACES = re.compile(r"\{\w+\}")
OTHER_WORDS = {"Plumbline", "en", "de"}  # our name, and codes of languages as examples
ATTRIBUTES = {"title", "aria-label", "aria-description", "placeholder", "alt", "label"}


@cache
def on(page: str) -> frozenset[str]:
    """Every message that a page may say, what all pages say included."""
    found = set(of_services(page))
    for name in _templates(page):
        found |= _of_template(name)
    for path in _modules(page):
        text = path.read_text()
        found |= set(SAID.findall(text)) | {one for pair in COUNTED.findall(text) for one in pair}
    for path in PYTHON:
        of, said = _of_python(path)
        if page in of or (not of and page.startswith("manager/")):
            found |= said
    return frozenset(found)


def own(language: str) -> dict[str, dict[str, str | dict[str, str]]]:
    """What stands in each file of a language, by its place."""
    folder = messages.CATALOGUES / language
    return {
        path.relative_to(folder).with_suffix("").as_posix(): json.loads(path.read_text())
        for path in sorted(folder.rglob("*.json"))
    }


def keys(language: str) -> set[tuple[str, str]]:
    """Every message of a language with its place."""
    return {(place, message) for place, known in own(language).items() for message in known}


def places(text: str) -> list[str]:
    """The places for values in a text."""
    return sorted(set(PLACES.findall(text)))


@cache
def _templates(page: str) -> tuple[str, ...]:
    """A page's template and all that it is made of."""
    found = [f"{page}.html"]
    for name in found:
        tree = make_template_environment().parse((TEMPLATES / name).read_text())
        for node in tree.find_all((nodes.Extends, nodes.Include, nodes.FromImport)):
            assert isinstance(node.template, nodes.Const)
            if node.template.value not in found:
                found.append(node.template.value)
    return tuple(found)


def _of_template(name: str) -> set[str]:
    found = set()
    for call in make_template_environment().parse((TEMPLATES / name).read_text()).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in ("_", "count"):
            found |= {one.value for one in call.args if isinstance(one, nodes.Const)}
    return found


def _modules(page: str) -> list[Path]:
    """The modules of a page with all that they import. A rater's page has those of all the others."""
    names = [FOLDER / "session.js"]
    if page.startswith("rater/"):
        names += sorted((FOLDER / "rater").glob("*.js"))
    for template in (*_templates(page), f"{RUNS.get(page, page)}.html"):
        path = (FOLDER / template).with_suffix(".js")
        names += [path] if path.exists() else []
    for template in _templates(page):
        names += [FOLDER / name for name in NAMED.findall((TEMPLATES / template).read_text())]
    for path in names:
        for name in IMPORTED.findall(path.read_text()):
            there = (path.parent / name).resolve()
            if there not in names:
                names.append(there)
    return names


@cache
def _of_python(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The pages whose templates a module names or whose name it has, and what it marks as messages."""
    tree = ast.parse(path.read_text())
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    pages = {text.removesuffix(".html") for text in texts if re.fullmatch(r"[\w/]+\.html", text)}
    pages |= {f"{path.parent.name}/{path.stem}"} & set(PAGES)
    said = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "mark_translatable"
    }
    return frozenset(pages), frozenset(said)


def literal_words(path: Path) -> list[str]:
    """Texts and attributes of a template that people read and that are no message."""
    tree = make_template_environment().parse(path.read_text())
    reader = _Reader()
    reader.feed("".join(_flat(tree)))
    reader.close()
    return [*reader.found, *_literal_constants(tree)]


def _flat(node: nodes.Node) -> Iterator[str]:
    """A template with all its branches one after the other, and a mark for each value."""
    if isinstance(node, nodes.Output):
        for child in node.nodes:
            yield child.data if isinstance(child, nodes.TemplateData) else "¤"
        return
    attributes = isinstance(node, nodes.Block) and node.name.endswith("_attributes")
    yield "<main" if attributes else ""
    for child in node.iter_child_nodes():
        yield from _flat(child)
    yield ">" if attributes else ""


def _literal_constants(tree: nodes.Template) -> list[str]:
    """Words in what is put out that are said as they are, as in `{{ "some words" if x }}`."""
    found = []
    for output in tree.find_all(nodes.Output):
        for value in output.nodes:
            calls = [value] if isinstance(value, nodes.Call) else []
            said = {
                id(one)
                for call in (*calls, *value.find_all(nodes.Call))
                if isinstance(call.node, nodes.Name) and call.node.name in ("_", "count")
                for one in call.args
            }
            consts = [value] if isinstance(value, nodes.Const) else value.find_all(nodes.Const)
            found += [one.value for one in consts if id(one) not in said and _reads(one.value)]
    return found


def _reads(value: object) -> bool:
    if not isinstance(value, str):
        return False
    return bool(re.match(r"[A-Z][a-z]+\b", value) or re.search(r"[a-z]{2,} [a-z]{2,}", value))


class _Reader(HTMLParser):
    """Words that people read. What stands in `code` is for machines."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.in_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.in_code = tag == "code" or (self.in_code and tag != "pre")
        self.found += [f"{name}: {value}" for name, value in attrs if name in ATTRIBUTES and _has_words(value or "")]

    def handle_endtag(self, tag: str) -> None:
        self.in_code = self.in_code and tag != "code"

    def handle_data(self, data: str) -> None:
        if not self.in_code and _has_words(data):
            self.found.append(" ".join(data.split()))


def _has_words(text: str) -> bool:
    return bool(set(re.findall(r"[^\W\d_]+", text)) - OTHER_WORDS)
