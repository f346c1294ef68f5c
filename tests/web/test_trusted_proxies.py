"""Which proxies are trusted: what the setting may say, and what it is told otherwise."""

from __future__ import annotations

import pytest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.cli.serving import web
from app.config import Settings
from app.domain.errors import Invalid

NAME = "PLUMBLINE_TRUSTED_PROXIES"


@pytest.mark.parametrize(
    ("given", "believed", "others"),
    [
        ("127.0.0.1, ::1", ["127.0.0.1", "::1"], ["127.0.0.2", "::2"]),
        ("10.0.0.0/8", ["10.9.9.9"], ["11.0.0.1"]),
        ("10.244.0.7/16", ["10.244.200.1"], ["10.245.0.1"]),
        ("10.0.0.0/255.0.0.0", ["10.9.9.9"], ["11.0.0.1"]),
        ("2001:db8::5/32", ["2001:db8:1::1"], ["2001:db9::1"]),
        ("*", ["203.0.113.7"], []),
        ("", [], ["127.0.0.1"]),
    ],
)
def test_addresses_and_networks_are_trusted_as_they_are_meant(
    monkeypatch: pytest.MonkeyPatch, given: str, believed: list[str], others: list[str]
) -> None:
    monkeypatch.setenv(NAME, given)
    monkeypatch.setattr(web, "_allow_files", lambda: None)
    served = web.make_uvicorn_config()
    assert served.proxy_headers == bool(given)
    hosts = ProxyHeadersMiddleware(lambda *_: None, list(served.forwarded_allow_ips or ())).trusted_hosts  # type: ignore[arg-type]
    assert [address in hosts for address in (*believed, *others)] == [True] * len(believed) + [False] * len(others)


@pytest.mark.parametrize(
    "given", ["nginx", "localhost", "127.0.0.1, nginx", "10.0.0.0/33", "10.0.0", "127.0.0.1:80", "[::1]", "*, 10.0.0.1"]
)
def test_what_would_never_match_is_refused_with_its_place(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(NAME, given)
    with pytest.raises(Invalid) as raised:
        Settings.load()
    assert [place.loc for place in raised.value.places] == [(NAME,)]
    assert "a network such as 10.0.0.0/8" in raised.value.places[0].msg
