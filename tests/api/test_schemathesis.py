"""The application against its own document: generated requests, every check that schemathesis has, in this process."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.python import asgi
from schemathesis.specs.openapi.checks import positive_data_acceptance

from app.web.access import Public
from tests.described import in_full

SEED = 20261120
# What breaks the document is refused. Schemathesis does not take 413 for that by itself: more items than are allowed
# are often more bytes than are allowed, which is seen first.
REFUSALS = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
# NUL is refused in every text, which schemas do not say one by one; `test_hostile.py` sends it everywhere.
CONFIG = SchemathesisConfig.from_dict(
    {"checks": {"negative_data_rejection": {"expected-statuses": REFUSALS}}, "generation": {"allow-x00": False}}
)
# Whether a request is good can depend on what no schema says: which protocols, formats and recipes there are, what fits
# together in a recipe, what stands in a file, what time it is. There, and only there, a good form may be refused.
OF_REPORTS = re.compile(r"GET /v1/(campaigns/\{campaign\}/(reports/|gate)|comparisons/)")
BY_CONTENT = {
    "GET /v1/campaigns",  # which languages and protocols there are to filter by, and where a list goes on
    "POST /v1/campaigns",
    "POST /v1/campaigns/{campaign}/imports",
    "GET /v1/campaigns/{campaign}/ranking",
    "GET /v1/campaigns/{campaign}/ranking.{kind}",
    "GET /v1/campaigns/{campaign}/ranking/segments",
    "POST /v1/campaigns/{campaign}/ranking",
    "PUT /v1/campaigns/{campaign}/recipes/{recipe}",
    "POST /v1/campaigns/{campaign}/exclusions",
    "POST /v1/campaigns/{campaign}/lock",
    "POST /v1/campaigns/{campaign}/judgments",
    "GET /v1/campaigns/{campaign}/reports/recipes",
    "GET /v1/campaigns/{campaign}/reports/recipes.{kind}",
    "GET /v1/series/{series}/ranking",
    "GET /v1/series/{series}/ranking.{kind}",
    "PATCH /v1/campaigns/{campaign}",
    "POST /v1/tokens",
    "PUT /v1/campaigns/{campaign}/raters/{rater}",
    "POST /v1/campaigns/{campaign}/invitations",
    "POST /v1/campaigns/{campaign}/links",
    "POST /v1/campaigns/{campaign}/raters/{rater}/link",  # one Idempotency-Key for two raters is refused
    "POST /v1/me/consent",
    "POST /v1/me/hours/disputes",
    "PUT /v1/campaigns/{campaign}/qualification",
    "PUT /v1/calibration-sets/{set}",
    "POST /v1/campaigns/{campaign}/calibration",
    "POST /v1/campaigns/{campaign}/back-translations",
    "POST /v1/campaigns/{campaign}/carry-over",
    "POST /v1/campaigns/{campaign}/prefills",
    "POST /v1/campaigns/{campaign}/hours/adjustments",
    "POST /v1/campaigns/{campaign}/hours/refusals",
    "POST /v1/campaigns/{campaign}/judgments/void",
    "POST /v1/campaigns/{campaign}/plan",
    "POST /v1/campaigns/{campaign}/plan/replan",
    "POST /v1/campaigns/{campaign}/stability",
    "PUT /v1/campaigns/{campaign}/protocol",
    "PUT /v1/campaigns/{campaign}/questionnaires",
    "PATCH /v1/campaigns/{campaign}/flags",  # flags of the campaign, and something to change
    "PATCH /v1/campaigns/{campaign}/raters",  # raters of the campaign, and something to change
    "POST /v1/campaigns/{campaign}/raters/import",
    "POST /v1/campaigns/{campaign}/webhooks",  # addresses that may be reached
    "POST /v1/campaigns/{campaign}/protocol/preview",
    "GET /v1/protocols/{protocol}/as-custom",  # of one that scores nothing
}


def conforms(
    app: FastAPI,
    headers: dict[str, str],
    examples: int,
    only: str = "",
    *,
    reading: int | None = None,
    wrong_every: int = 1,
    reports_every: int = 1,
) -> dict[str, list[str]]:
    """What each operation broke, in generated requests that fit the document and in some that do not.

    examples: for each operation; reading: for those that only read, where it is another number. wrong_every: requests
    that do not fit go to each so many-th operation; `test_hostile.py` sends some to all. reports_every: of the reports,
    whose routes the kit makes, each so many-th is asked.
    """
    document = schemathesis.openapi.from_dict(in_full(app.openapi()), config=CONFIG)
    document.app = app
    broken: dict[str, list[str]] = {}
    checked = turn = reports = 0
    with asgi.get_client(app, max_stream_events=2) as client:
        for result in document.get_all_operations():
            operation = result.ok()
            if only not in operation.label:
                continue
            if OF_REPORTS.match(operation.label):
                reports += 1
                if reports % reports_every:
                    continue
            turn += 1
            count = reading if reading and operation.label.startswith("GET ") else examples
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)[: 1 if turn % wrong_every else 2]:
                failures = _failures(operation, client, headers, count, mode)
                checked += 1
                if failures:
                    broken.setdefault(operation.label, []).extend(f"{mode.value}: {failure}" for failure in failures)
    assert checked
    return broken


def _failures(operation: Any, client: Any, headers: dict[str, str], examples: int, mode: GenerationMode) -> list[str]:
    found: list[str] = []

    @seed(SEED)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        by_content = operation.label in BY_CONTENT or OF_REPORTS.match(operation.label) or _whole_as_fraction(case.body)
        by_content = by_content or "cursor" in (case.query or {})  # only what a page gave is one
        client.cookies.clear()
        try:
            excluded = [positive_data_acceptance] if by_content else []
            case.call_and_validate(session=client, headers=headers, excluded_checks=excluded)
        except FailureGroup as group:
            found.extend(
                f"{failure.title}: {failure.message}"[:600] + " | " + str(case.as_curl_command())[:300]
                for failure in group.exceptions
            )

    try:
        check()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # an operation without parameters cannot be asked wrongly
    return found


def _whole_as_fraction(value: object) -> bool:
    """Whether a whole number is written as 2.0, which schemas take for an integer and we do not."""
    if isinstance(value, dict):
        return any(map(_whole_as_fraction, value.values()))
    if isinstance(value, list):
        return any(map(_whole_as_fraction, value))
    return isinstance(value, float) and value.is_integer()


def test_the_application_keeps_to_its_document(
    make_app: Callable[..., FastAPI], admin: httpx.Client, populated: dict[str, str]
) -> None:
    headers = {"Authorization": admin.headers["Authorization"]}
    broken = conforms(make_app(), headers, 2, reading=1, wrong_every=12, reports_every=5)
    assert not broken, "\n".join(f"{name}: {line}" for name, lines in broken.items() for line in lines[:3])


@pytest.mark.soak
def test_the_application_keeps_to_its_document_for_long(
    make_app: Callable[..., FastAPI], admin: httpx.Client, populated: dict[str, str]
) -> None:
    broken = conforms(make_app(), {"Authorization": admin.headers["Authorization"]}, 60)
    assert not broken, "\n".join(f"{name}: {line}" for name, lines in broken.items() for line in lines[:3])


@pytest.mark.soak
def test_an_operation_that_does_other_than_it_says_is_caught(make_app: Callable[..., FastAPI]) -> None:
    """The negative control: an answer that does not fit its schema, and an input that the document forbids."""

    def lies(_: Public, n: int = 1) -> JSONResponse:
        return JSONResponse({"n": str(n)})

    app = make_app()
    route = APIRoute("/lies", lies, response_model=dict[str, int], responses={200: {"description": "A number."}})
    app.router.routes.append(route)
    app.openapi().clear()

    broken = conforms(app, {}, 5, only="/lies")

    assert any("schema" in line for line in broken["GET /lies"])
