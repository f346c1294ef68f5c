"""What the settings may say about an identity provider, and what they are told otherwise."""

from __future__ import annotations

import pytest

from app.config import Settings, make_identity_provider_options
from app.domain.errors import Invalid
from app.services.access.provider_roles import GroupRole

GOOD = {
    "OIDC_ISSUER": "https://id.example.org/realms/a",
    "OIDC_CLIENT_ID": "plumbline",
    "OIDC_CLIENT_SECRET": "hush",
    "OIDC_ROLES": '{"cn=mt, ou=x": "manager", "r": "viewer/ted", "b": "coordinator/ted/bonn"}',
}


def load(monkeypatch: pytest.MonkeyPatch, **changes: str | None) -> Settings:
    for name, value in {**GOOD, **changes}.items():
        if value is None:
            monkeypatch.delenv(f"PLUMBLINE_{name}", raising=False)
        else:
            monkeypatch.setenv(f"PLUMBLINE_{name}", value)
    return Settings.load()


def test_a_provider_is_what_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    options = make_identity_provider_options(load(monkeypatch, OIDC_SCOPES="openid  offline_access"))
    assert options is not None
    assert (options.issuer, options.client, options.secret) == (GOOD["OIDC_ISSUER"], "plumbline", "hush")
    assert options.scopes == ("openid", "offline_access")
    bound = (GroupRole("r", "viewer", "ted"), GroupRole("b", "coordinator", "ted", "bonn"))
    assert options.roles == (GroupRole("cn=mt, ou=x", "manager"), *bound)
    assert "hush" not in repr(options)
    assert "hush" not in repr(load(monkeypatch))


def test_without_an_issuer_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_identity_provider_options(load(monkeypatch, OIDC_ISSUER=None)) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OIDC_ISSUER", "http://id.example.org"),
        ("OIDC_ISSUER", "id.example.org"),
        ("OIDC_ISSUER", "https://"),
        ("OIDC_ISSUER", "https://[x"),
        ("OIDC_CLIENT_ID", None),
        ("OIDC_ROLES", None),
        ("OIDC_ROLES", "{}"),
        ("OIDC_ROLES", "mt=manager"),
        ("OIDC_ROLES", "[]"),
        ("OIDC_ROLES", '{"mt": 1}'),
        ("OIDC_ROLES", '{"mt": "owner"}'),
        ("OIDC_ROLES", '{"mt": "rater"}'),
        ("OIDC_ROLES", '{"mt": "frontend/ted"}'),
        ("OIDC_ROLES", '{"mt": "coordinator"}'),
        ("OIDC_ROLES", '{"mt": "coordinator/ted"}'),
        ("OIDC_ROLES", '{"mt": "manager/ted/bonn"}'),
        ("OIDC_ROLES", '{"mt": "manager/"}'),
        ("OIDC_ROLES", '{"mt": "manager/a b"}'),
        ("OIDC_SCOPES", "profile"),
    ],
)
def test_a_setting_that_cannot_work_is_named_at_the_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str | None
) -> None:
    with pytest.raises(Invalid) as refused:
        load(monkeypatch, **{name: value})
    assert {place.loc[0] for place in refused.value.places} <= {f"PLUMBLINE_{name}", "PLUMBLINE_OIDC_ISSUER"}
    assert "hush" not in str(refused.value.places)
