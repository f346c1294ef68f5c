"""One sign-in in Chromium at a certified OpenID provider, its removal from the group, and signing out on both sides."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect

from app.services.access.provider_options import IdentityProviderOptions
from app.services.access.provider_roles import parse_group_roles
from tests.browser.conftest import HERE, PATIENCE, USUAL
from tests.load.server import serving

PACKAGE = "oidc-provider@9.13.3"
NEXT = "/campaigns?q=a"


@dataclass(frozen=True)
class Both:
    """The service and its provider. people: the file with everybody's groups."""

    service: str
    provider: str
    people: Path
    database: str

    def let_pass(self, seconds: int) -> None:
        """As if the provider had been asked so long ago."""
        with psycopg.connect(self.database) as connection:
            connection.execute(
                "UPDATE account_sessions SET checked_at = clock_timestamp() - make_interval(secs => %s)", [seconds]
            )


def installed(folder: Path) -> Path:
    """The provider's package, which npm brings where it can."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("no node and npm here")
    (folder / "package.json").write_text("{}")
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not install {PACKAGE} within three minutes")
    if done.returncode:
        pytest.skip(f"npm cannot install {PACKAGE}: {done.stderr.strip()[-200:]}")
    return folder / "node_modules" / "oidc-provider" / "lib" / "index.js"


@pytest.fixture
def both(database_url: str, tmp_path: Path) -> Iterator[Both]:
    package = installed(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    people = tmp_path / "people.json"
    people.write_text(json.dumps({"ada": ["mt"]}))
    issuer = f"http://127.0.0.1:{port}"
    options = IdentityProviderOptions(issuer, "plumbline", "secret", roles=parse_group_roles({"mt": "manager"}))
    with ExitStack() as running:
        served = running.enter_context(serving(database_url, provider=options))
        given = {"PACKAGE": str(package), "PORT": str(port), "SERVICE": served.url, "PEOPLE": str(people)}
        program = [str(shutil.which("node")), str(HERE / "oidc_provider.mjs")]
        output = running.enter_context((tmp_path / "provider.log").open("w"))
        process = running.enter_context(
            subprocess.Popen(program, env={**os.environ, **given}, stdout=subprocess.PIPE, stderr=output, text=True)
        )
        running.callback(process.kill)
        assert process.stdout is not None
        if not any("listening" in line for line in iter(process.stdout.readline, "")):
            pytest.fail((tmp_path / "provider.log").read_text())
        yield Both(served.url, issuer, people, database_url)


def sign_in(page: Page, both: Both) -> None:
    page.goto(f"{both.service}{NEXT}")
    page.get_by_role("link", name="Sign in with your organization’s account").click()
    page.get_by_placeholder("Enter any login").fill("ada")
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


@pytest.mark.soak
def test_a_person_signs_in_at_a_certified_provider_is_shut_out_and_signs_out(chromium: Browser, both: Both) -> None:
    context = chromium.new_context(**USUAL)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    sign_in(page, both)
    expect(page.get_by_role("heading", name="Campaigns", level=1)).to_be_visible()
    assert page.evaluate("fetch('/v1/me').then((answer) => answer.json())")["role"] == "manager"

    both.let_pass(41)
    page.reload()
    expect(page.get_by_role("heading", name="Campaigns", level=1)).to_be_visible()
    both.people.write_text(json.dumps({"ada": []}))
    both.let_pass(41)
    page.reload()
    expect(page.get_by_role("link", name="Sign in with your organization’s account")).to_be_visible()
    page.get_by_role("link", name="Sign in with your organization’s account").click()
    expect(page.get_by_text("None of your groups may use this service")).to_be_visible()

    both.people.write_text(json.dumps({"ada": ["mt"]}))
    page.get_by_role("link", name="Sign in again").click()  # the provider still knows who this is
    expect(page.get_by_role("heading", name="Campaigns", level=1)).to_be_visible()
    left = context.new_page()
    left.goto(f"{both.service}/campaigns")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Yes, sign me out").click()
    page.wait_for_url(f"{both.service}/")
    expect(page.get_by_role("link", name="Sign in with your organization’s account")).to_be_visible()
    left.reload()
    expect(left.get_by_role("link", name="Sign in with your organization’s account")).to_be_visible()

    sign_in(page, both)  # there too, it is asked for anew
    expect(page.get_by_role("heading", name="Campaigns", level=1)).to_be_visible()
    elsewhere = context.new_page()
    elsewhere.goto(f"{both.provider}/session/end")
    elsewhere.get_by_role("button", name="Yes, sign me out").click()
    expect(elsewhere.get_by_text("Sign-out Success")).to_be_visible()
    page.reload()  # ended by the notice that the provider sent
    expect(page.get_by_role("link", name="Sign in with your organization’s account")).to_be_visible()
    context.close()
