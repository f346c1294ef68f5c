"""What the interface may refuse the forms of pages with: read from the source of the modules that do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import app
import app.main
from app.domain.errors import AppError

ROOT = Path(app.__file__).parent
ROOMS = (
    "api/campaigns.py",
    "api/exclusions.py",
    "api/flags.py",
    "api/imports.py",
    "api/jobs.py",
    "api/kit",
    "api/models",
    "api/ranking.py",
    "design",
    "domain/alignment.py",
    "domain/errors.py",
    "domain/keys.py",
    "domain/questionnaires.py",
    "domain/recipe.py",
    "domain/recipe_field_parsing.py",
    "domain/strict_json.py",
    "formats",
    "protocols",
    "reports",
    "services/access/idempotency.py",
    "services/access/tokens.py",
    "services/campaigns",
    "services/data/public_archive.py",
    "services/data/cloning.py",
    "services/data/import_options.py",
    "services/data/imports.py",
    "services/data/record_import.py",
    "services/data/known_answer_documents.py",
    "services/data/merging.py",
    "services/data/metrics.py",
    "services/data/metrics_files.py",
    "services/data/parallel/dispatch.py",
    "services/data/staging_writer.py",
    "services/data/test_sets.py",
    "services/jobs/jobs.py",
    "services/jobs/report_requests.py",
    "services/media",
    "services/people",
    "services/plans",
    "services/tasks/attention_checks.py",
    "services/tasks/flags.py",
    "services/tasks/preview.py",
    "services/templates",
    "services/webhooks",
    "web/access.py",
    "web/request_bodies.py",
    "web/cookies.py",
    "web/ifmatch.py",
    "web/rater_naming_rights.py",
    "web/pagination.py",
    "web/strict_json.py",
)
"""Modules and packages that check what a form of the pages sends."""
NO_FORM = (
    "reports/kit/columns.py",
    "reports/kit/render",
    "reports/kit/table.py",
    "services/campaigns/calibration",
    "services/campaigns/data_seals.py",
)
"""Modules there that only the command line and front-ends reach."""
REFUSING = frozenset({"Place", "record_bad_line", "refuse_file"})
"""What is called with a place and then what is wrong there."""
NOT_REFUSALS = frozenset({"RuntimeError", "AssertionError", "TypeError", "KeyError", "LookupError"})
OF_PAGES = frozenset({"lines {}: {}"})
"""What pages make of several refusals."""


@cache
def messages() -> frozenset[str]:
    """Every message, with `{}` where a value stands."""
    paths = list(_paths())
    modules = {".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in paths}
    titles = {title for module, title in _titles(AppError) if module in modules}
    return frozenset(titles | {text for path in paths for text in _of_module(path)})


def blank(message: str) -> str:
    """A message with `{}` in every place.

    >>> blank("from {1} to {2}")
    'from {} to {}'
    """
    return re.sub(r"\{\w*\}", "{}", message)


def _paths() -> Iterator[Path]:
    for room in ROOMS:
        place = ROOT / room
        for path in [place] if place.suffix else sorted(place.rglob("*.py")):
            if not path.relative_to(ROOT).as_posix().startswith(NO_FORM):
                yield path


def _of_module(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        yield from (text for text in _said(node) if _reads(text))


def _said(node: ast.AST) -> Iterator[str]:
    """What a place, an error that is raised, or a function that says what is wrong, says."""
    if isinstance(node, ast.Call) and _name(node.func) in REFUSING:
        yield from _texts(node.args[1:])
    elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and _name(node.exc.func) not in NOT_REFUSALS:
        yield from _texts(node.exc.args)
    elif isinstance(node, ast.FunctionDef) and node.returns is not None and "str" in ast.unparse(node.returns):
        for one in ast.walk(node):
            if isinstance(one, ast.Return | ast.Yield) and one.value is not None:
                values = one.value.elts if isinstance(one.value, ast.Tuple) else [one.value]
                yield from (text for text in _texts(values) if text.startswith(BEGINNINGS))
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        yield from (text for text in _texts([node.value]) if text.startswith(BEGINNINGS))


BEGINNINGS = (
    "must ",
    "lacks ",
    "names ",
    "is ",
    "has ",
    "cannot ",
    "there ",
    "was ",
    "does ",
    "could ",
    "contradicts ",
    "needs ",
    "gets ",
)
"""How what is wrong begins; other texts of functions are names."""


def _texts(values: Iterable[ast.AST]) -> Iterator[str]:
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value
        elif isinstance(value, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in value.values)
        elif isinstance(value, ast.IfExp):
            yield from _texts([value.body, value.orelse])
        elif isinstance(value, ast.BoolOp):
            yield from _texts(value.values)


def _reads(text: str) -> bool:
    return bool(re.search(r"[a-z]{2,} [a-z{]", text)) or text.startswith(BEGINNINGS)


def _titles(kind: type[AppError]) -> Iterator[tuple[str, str]]:
    """The title of a problem and those of its kinds, each with the module that has it."""
    yield kind.__module__, kind.title()
    for one in kind.__subclasses__():
        yield from _titles(one)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
