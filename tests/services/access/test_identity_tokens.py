"""Which identity and logout tokens count: each claim with its neighbours on both sides."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key, KeySet, OctKey, OKPKey, RSAKey

from app.services.access.identity_tokens import (
    LEEWAY,
    LONGEST,
    OLDEST,
    BadIdentityToken,
    IdentityTokenRules,
    UnknownSigningKey,
    verify_identity_token,
    verify_logout_token,
)

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
T = int(NOW.timestamp())
RULES = IdentityTokenRules("https://id.example.org", "plumbline")
KEY = ECKey.generate_key("P-256", {"kid": "one", "use": "sig"})
KEYS: dict[str, Any] = dict(KeySet([KEY]).as_dict())
USUAL: dict[str, Any] = {"iss": RULES.issuer, "aud": "plumbline", "sub": "ada", "iat": T, "exp": T + 300, "nonce": "n"}
EVENT = "http://schemas.openid.net/event/backchannel-logout"
LOGOUT: dict[str, Any] = {"iss": RULES.issuer, "aud": "plumbline", "iat": T, "exp": T + 120, "jti": "j", "sid": "s"}
LOGOUT["events"] = {EVENT: {}}


def signed(claims: dict[str, Any], key: Key = KEY, **header: Any) -> str:
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode({"alg": "ES256", "kid": "one", **header}, kept, key, algorithms=[header.get("alg", "ES256")])


def read(token: str, keys: Any = None, nonce: str | None = "n", access: str | None = "a") -> Any:
    return verify_identity_token(token, keys or KEYS, RULES, now=NOW, nonce=nonce, access_token=access)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"exp": T - LEEWAY + 1},
        {"iat": T + LEEWAY},
        {"iat": T - OLDEST - LEEWAY + 1},
        {"nbf": T + LEEWAY},
        {"aud": ["plumbline"]},
        {"aud": ["plumbline", "other"], "azp": "plumbline"},
        {"azp": "plumbline"},
        {"sub": "x" * 255},
        {"at_hash": base64.urlsafe_b64encode(hashlib.sha256(b"a").digest()[:16]).decode().rstrip("=")},
    ],
)
def test_a_token_that_says_what_it_must_is_read(changes: dict[str, Any]) -> None:
    assert read(signed({**USUAL, **changes}))["sub"] == {**USUAL, **changes}["sub"]


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://id.example.org/"},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "plumblin"},
        {"aud": ["other"]},
        {"aud": ["plumbline", "other"]},
        {"aud": ["plumbline", "other"], "azp": "other"},
        {"aud": []},
        {"aud": None},
        {"azp": "other"},
        {"exp": T - LEEWAY},
        {"exp": None},
        {"exp": "soon"},
        {"exp": True},
        {"iat": T + LEEWAY + 1},
        {"iat": T - OLDEST - LEEWAY},
        {"iat": None},
        {"nbf": T + LEEWAY + 1},
        {"nonce": "m"},
        {"nonce": None},
        {"nonce": 1},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "x" * 256},
        {"at_hash": base64.urlsafe_b64encode(hashlib.sha256(b"b").digest()[:16]).decode().rstrip("=")},
        {"at_hash": 1},
    ],
)
def test_a_token_that_says_something_else_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadIdentityToken):
        read(signed({**USUAL, **changes}))


def encoded(part: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def test_without_a_signature_of_the_provider_a_token_is_nothing() -> None:
    good = signed(USUAL)
    head, body, tail = good.split(".")
    other = ECKey.generate_key("P-256", {"kid": "one"})
    public = KEY.as_pem(private=False)
    forged = {
        "none": f"{encoded({'alg': 'none'})}.{body}.",
        "none, with the key's name": f"{encoded({'alg': 'None', 'kid': 'one'})}.{body}.",
        "the client's secret": signed(USUAL, OctKey.import_key("s" * 32), alg="HS256"),
        "another key of that name": signed(USUAL, other),
        "other claims": f"{head}.{encoded({**USUAL, 'sub': 'eve'})}.{tail}",
        "half a signature": good[:-10],
        "no signature": f"{head}.{body}.",
        "nothing": "",
        "no token": "a.b.c",
        "five parts": f"{good}.{tail}.{tail}",
        "a header that is no object": f"{encoded([1])}.{body}.{tail}",
        "an unknown algorithm": f"{encoded({'alg': 'ES999', 'kid': 'one'})}.{body}.{tail}",
        "deep": "W" * 9_000 + f".{body}.{tail}",
    }
    for what, token in forged.items():
        with pytest.raises(BadIdentityToken):
            print(what, read(token))  # noqa: T201  (names the one that passes)
    signing = f"{encoded({'alg': 'HS256', 'kid': 'one'})}.{body}"  # the public key as the secret of an HMAC
    mac = base64.urlsafe_b64encode(hmac.digest(public, signing.encode(), "sha256")).decode().rstrip("=")
    with pytest.raises(BadIdentityToken):
        read(f"{signing}.{mac}")


def test_a_token_is_read_up_to_its_longest() -> None:
    def of_length(n: int) -> str:
        short = len(signed({**USUAL, "pad": ""}))
        return signed({**USUAL, "pad": "x" * ((n - short) * 3 // 4)})

    assert len(of_length(LONGEST - 8)) <= LONGEST
    read(of_length(LONGEST - 8))
    assert len(of_length(LONGEST + 8)) > LONGEST
    with pytest.raises(BadIdentityToken, match="too long"):
        read(of_length(LONGEST + 8))


def test_a_key_that_is_not_published_is_told_from_a_bad_signature() -> None:
    new = ECKey.generate_key("P-256", {"kid": "two"})
    with pytest.raises(UnknownSigningKey):
        read(signed(USUAL, new, kid="two"))
    assert read(signed(USUAL, new, kid="two"), KeySet([KEY, new]).as_dict())["sub"] == "ada"
    unnamed = {"keys": [{name: value for name, value in KEYS["keys"][0].items() if name != "kid"}]}
    assert read(jwt.encode({"alg": "ES256"}, USUAL, KEY), unnamed)["sub"] == "ada"
    with pytest.raises(UnknownSigningKey):
        read(jwt.encode({"alg": "ES256"}, USUAL, new), unnamed)


def test_keys_of_other_kinds_and_uses_are_passed_over() -> None:
    rsa, okp = RSAKey.generate_key(2048, {"kid": "r"}), OKPKey.generate_key("Ed25519", {"kid": "o"})
    odd = [{"kty": "AKP", "kid": "one"}, {**KEYS["keys"][0], "use": "enc"}, "no key", {"kty": "oct", "k": "c2VjcmV0"}]
    keys = {"keys": [*odd, *KeySet([rsa, okp, KEY]).as_dict()["keys"]]}
    assert read(signed(USUAL), keys)["sub"] == "ada"
    assert read(signed(USUAL, rsa, alg="RS256", kid="r"), keys)["sub"] == "ada"
    assert read(signed(USUAL, rsa, alg="PS256", kid="r"), keys)["sub"] == "ada"
    assert read(signed(USUAL, okp, alg="Ed25519", kid="o"), keys)["sub"] == "ada"
    half = base64.urlsafe_b64encode(hashlib.sha512(b"a").digest()[:32]).decode().rstrip("=")
    assert read(signed({**USUAL, "at_hash": half}, okp, alg="Ed25519", kid="o"), keys)["at_hash"] == half
    with pytest.raises(UnknownSigningKey):
        read(signed(USUAL), {"keys": odd})


def test_a_refreshed_token_needs_no_nonce() -> None:
    assert read(signed({**USUAL, "nonce": None}), nonce=None)["sub"] == "ada"


@pytest.mark.parametrize("changes", [{}, {"sub": "ada", "sid": None}, {"sub": "ada"}, {"iat": T + LEEWAY}])
def test_a_logout_token_says_who_was_signed_out(changes: dict[str, Any]) -> None:
    told = {**LOGOUT, **changes}
    notice = verify_logout_token(signed(told, typ="logout+jwt"), KEYS, RULES, now=NOW)
    assert (notice.jti, notice.subject, notice.sid) == ("j", told.get("sub"), told["sid"])


@pytest.mark.parametrize(
    "changes",
    [
        {"sid": None},
        {"sid": ""},
        {"sid": "s" * 256},
        {"events": None},
        {"events": {}},
        {"events": {EVENT: None}},
        {"events": [EVENT]},
        {"nonce": "n"},
        {"jti": None},
        {"jti": ""},
        {"aud": "other"},
        {"iss": "https://evil.example"},
        {"iat": T + LEEWAY + 1},
        {"iat": T - OLDEST - LEEWAY},
        {"exp": T - LEEWAY},
        {"exp": None},
    ],
)
def test_another_token_signs_nobody_out(changes: dict[str, Any]) -> None:
    with pytest.raises(BadIdentityToken):
        verify_logout_token(signed({**LOGOUT, **changes}, typ="logout+jwt"), KEYS, RULES, now=NOW)


def test_an_identity_token_is_no_logout_token_nor_the_other_way_round() -> None:
    with pytest.raises(BadIdentityToken):
        verify_logout_token(signed(USUAL), KEYS, RULES, now=NOW)
    with pytest.raises(BadIdentityToken):
        verify_logout_token(signed(LOGOUT, typ="at+jwt"), KEYS, RULES, now=NOW)
    with pytest.raises(BadIdentityToken):
        read(signed(LOGOUT, typ="logout+jwt"))
