"""Identity tokens and logout tokens of an OpenID provider: the signature is checked first, then every relevant claim.

Sources: OpenID Connect Core 1.0, section 3.1.3.7; Back-Channel Logout 1.0, section 2.6. Requires the extra `sso`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.errors import Invalid, Unauthorized

Claims = Mapping[str, Any]
ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "Ed25519",
)  # only algorithms with public keys: neither `none` nor signatures with the client's secret
LEEWAY = 60  # seconds by which the clocks of provider and database may differ
OLDEST = 600  # maximum age in seconds of a token that was just requested
LONGEST = 16_384  # characters of a token
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"


class JoserfcNotInstalled(Invalid):
    """PLUMBLINE_OIDC_ISSUER is set, but joserfc is not installed; install plumbline[sso]."""

    published = "JoseMissing"


class BadIdentityToken(Unauthorized):
    """The identity provider sent a token that is not valid."""


class UnknownSigningKey(BadIdentityToken):
    """The identity provider signed with a key that it does not publish."""


@dataclass(frozen=True, slots=True)
class IdentityTokenRules:
    """What every token must contain. issuer: who made it. client: for whom."""

    issuer: str
    client: str


@dataclass(frozen=True, slots=True)
class LogoutNotice:
    """Whom the provider signed out. jti: identifies the notice, so that it is carried out only once."""

    jti: str
    subject: str | None
    sid: str | None


def check_joserfc_installed() -> None:
    """Raise JoserfcNotInstalled if the extra is not installed."""
    try:
        import joserfc  # noqa: F401  (only to see whether it is installed)
    except ImportError:
        raise JoserfcNotInstalled from None


def verify_identity_token(
    token: str,
    keys: Claims,
    rules: IdentityTokenRules,
    *,
    now: datetime,
    nonce: str | None,
    access_token: str | None = None,
) -> Claims:
    """Return the claims of a valid identity token. nonce: None for a token from a refresh, which need not have one.

    Raises BadIdentityToken, UnknownSigningKey.
    """
    header, claims = _verify(token, keys)
    _check_times_and_parties(claims, rules, now)
    _require(isinstance(claims.get("sub"), str) and 0 < len(claims["sub"]) <= 255, "sub")
    parties = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    _require(claims.get("azp", rules.client) == rules.client and (len(parties) == 1 or "azp" in claims), "azp")
    if nonce is not None:
        given = claims.get("nonce")
        _require(isinstance(given, str) and hmac.compare_digest(given.encode(), nonce.encode()), "nonce")
    if "at_hash" in claims and access_token is not None:
        _require(claims["at_hash"] == _half_hash(access_token, header["alg"]), "at_hash")
    return claims


def verify_logout_token(token: str, keys: Claims, rules: IdentityTokenRules, *, now: datetime) -> LogoutNotice:
    """Return whom a valid logout token signs out. Raises BadIdentityToken, UnknownSigningKey."""
    header, claims = _verify(token, keys)
    _require(str(header.get("typ", "logout+jwt")).lower() in {"logout+jwt", "jwt"}, "typ")
    _check_times_and_parties(claims, rules, now)
    events = claims.get("events")
    _require(isinstance(events, dict) and isinstance(events.get(LOGOUT_EVENT), dict), "events")
    _require("nonce" not in claims, "nonce")
    jti, subject, sid = (claims.get(name) for name in ("jti", "sub", "sid"))
    _require(isinstance(jti, str) and bool(jti), "jti")
    for value in (subject, sid):
        _require(value is None or (isinstance(value, str) and 0 < len(value) <= 255), "sub or sid")
    _require(subject is not None or sid is not None, "sub or sid")
    return LogoutNotice(str(jti), subject, sid)


def _check_times_and_parties(claims: Claims, rules: IdentityTokenRules, now: datetime) -> None:
    from joserfc import jwt
    from joserfc.errors import JoseError

    registry = jwt.JWTClaimsRegistry(
        now=int(now.timestamp()),
        leeway=LEEWAY,
        iss={"essential": True, "value": rules.issuer},
        aud={"essential": True, "value": rules.client},
        exp={"essential": True},
        iat={"essential": True},
    )
    try:
        registry.validate(dict(claims))
    except JoseError as error:
        raise BadIdentityToken(f"its claims are not as they must be: {error.description}") from None
    _require(claims["iat"] > now.timestamp() - OLDEST - LEEWAY, "iat")


def _verify(token: str, keys: Claims) -> tuple[Claims, Claims]:
    """Return header and claims after checking that the signature is the provider's."""
    from joserfc import jwt
    from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError
    from joserfc.jwk import KeySet

    if len(token) > LONGEST:
        raise BadIdentityToken("it is too long")
    header: Claims = {}
    try:
        header = _header(token)
        read = jwt.decode(token, KeySet.import_key_set(_public_keys(keys, header)), algorithms=ALGORITHMS)
    except InvalidKeyIdError:
        raise UnknownSigningKey from None
    except BadSignatureError:
        # Without a key id, the key may be one that the provider has replaced since.
        raise (BadIdentityToken if "kid" in header else UnknownSigningKey)("its signature is refused") from None
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadIdentityToken(f"its signature is refused: {type(error).__name__}") from None
    return read.header, read.claims


def _header(token: str) -> Claims:
    """Return the header as it was sent; it is not verified yet."""
    first = token.partition(".")[0]
    header = json.loads(base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)))
    if not isinstance(header, dict):
        raise TypeError("header")
    return header


def _public_keys(keys: Claims, header: Claims) -> Any:
    """Return the keys that may have signed this. Raises UnknownSigningKey if there are none.

    Unknown kinds of keys are skipped, because a provider may also publish keys for other uses.
    """
    kinds = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
    kind, kid = kinds.get(str(header.get("alg"))[:2]), header.get("kid")
    fitting = [key for key in keys.get("keys", ()) if isinstance(key, dict) and key.get("use", "sig") == "sig"]
    if kind is None:
        raise BadIdentityToken("its signature is refused: UnsupportedAlgorithm")
    fitting = [key for key in fitting if key.get("kty") == kind and kid in (None, key.get("kid"))]
    if not fitting:
        raise UnknownSigningKey
    return {"keys": fitting}


def _half_hash(text: str, algorithm: str) -> str:
    """Return the left half of a hash, as used in `at_hash`. Ed25519 uses SHA-512."""
    digest = hashlib.new("sha512" if algorithm == "Ed25519" else f"sha{algorithm[2:]}", text.encode()).digest()
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).decode().rstrip("=")


def _require(holds: bool, claim: str) -> None:
    if not holds:
        raise BadIdentityToken(f"its claim {claim} is not as it must be")
