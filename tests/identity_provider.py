"""A small OpenID provider on loopback with real keys, which does what a test tells it to do."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

CLIENT, SECRET = "plumbline", "s3cret/+"
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


def new_key(kid: str) -> ECKey:
    return ECKey.generate_key("P-256", {"kid": kid, "use": "sig", "alg": "ES256"})


@dataclass
class Asked:
    """An authorization request that somebody agreed to."""

    subject: str
    redirect_uri: str
    nonce: str
    challenge: str


@dataclass
class IdentityProvider:
    """State and behaviour. people: groups by subject. Whoever is not in it is signed out.

    claims: put into identity tokens over what is right; None takes one away. shows_groups: in userinfo, too.
    """

    issuer: str = ""
    people: dict[str, list[str]] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    shows_groups: bool = True
    gives_refresh: bool = True
    access_lasts: bool = True
    document: dict[str, Any] = field(default_factory=dict)
    keys: list[ECKey] = field(default_factory=lambda: [new_key("one")])
    asked: dict[str, Asked] = field(default_factory=dict)
    access: dict[str, str] = field(default_factory=dict)
    refresh: dict[str, str] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    status: int | None = None
    before: Callable[[str], None] = lambda _: None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, path: str) -> int:
        return sum(one == path for one in self.requests)

    def authorize(self, address: str, subject: str) -> dict[str, str]:
        """Agree to what a browser was sent here for: what it is sent back with."""
        given = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.issuer}/authorize?")
        assert given["response_type"] == "code"
        assert given["client_id"] == CLIENT
        assert given["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self.asked[code] = Asked(subject, given["redirect_uri"], given["nonce"], given["code_challenge"])
        return {"code": code, "state": given["state"], "iss": self.issuer}

    def sign(self, claims: dict[str, Any], *, key: ECKey | None = None, **header: Any) -> str:
        key = key or self.keys[-1]
        return jwt.encode({"alg": "ES256", "kid": key.kid, **header}, claims, key)

    def logout_token(self, **changes: Any) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 120, "jti": secrets.token_hex()}
        claims |= {"events": {LOGOUT: {}}, **changes}
        return self.sign({name: value for name, value in claims.items() if value is not None}, typ="logout+jwt")

    def answer(self, path: str, headers: Any, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self.requests.append(path)
        self.before(path)
        if self.status is not None:
            return self.status, {}
        if path == "/.well-known/openid-configuration":
            return 200, self._document()
        if path == "/jwks":
            return 200, KeySet(self.keys).as_dict()
        with self.lock:
            return self._userinfo(headers) if path == "/userinfo" else self._token(headers, form)

    def _document(self) -> dict[str, Any]:
        places = {"authorization": "authorize", "token": "token", "userinfo": "userinfo", "end_session": "end"}
        endpoints = {f"{name}_endpoint": f"{self.issuer}/{path}" for name, path in places.items()}
        whole = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks", **endpoints, **self.document}
        return {name: value for name, value in whole.items() if value is not None}

    def _userinfo(self, headers: Any) -> tuple[int, dict[str, Any]]:
        subject = self.access.get(headers.get("Authorization", "").removeprefix("Bearer "))
        if subject is None or subject not in self.people or not self.access_lasts:
            return 401, {"error": "invalid_token"}
        return 200, {"sub": subject, **({"groups": self.people[subject]} if self.shows_groups else {})}

    def _token(self, headers: Any, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        client = base64.b64encode(f"{CLIENT}:s3cret%2F%2B".encode()).decode()
        if headers.get("Authorization") != f"Basic {client}":
            return 401, {"error": "invalid_client"}
        if form["grant_type"] == "refresh_token":
            subject = self.refresh.pop(form["refresh_token"], None)
            if subject not in self.people:
                return 400, {"error": "invalid_grant"}
            self.access_lasts = True
            return 200, self._give(str(subject), None)
        asked = self.asked.pop(form["code"], None)
        shown = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if asked is None or asked.challenge != shown or asked.redirect_uri != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        return 200, self._give(asked.subject, asked.nonce)

    def _give(self, subject: str, nonce: str | None) -> dict[str, Any]:
        now, access = int(time.time()), secrets.token_urlsafe()
        self.access[access] = subject
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": subject, "iat": now, "exp": now + 300, "nonce": nonce}
        claims |= {"name": f"{subject.title()} Example", "sid": f"session of {subject}"}
        claims |= {"groups": self.people.get(subject, []), **self.claims}
        identity = self.sign({name: value for name, value in claims.items() if value is not None})
        given = {"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": identity}
        if self.gives_refresh:
            given["refresh_token"] = secrets.token_urlsafe()
            self.refresh[given["refresh_token"]] = subject
        return given


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    """A provider that answers on loopback."""
    state = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer({name: values[0] for name, values in parse_qs(body).items()})

        def _answer(self, form: dict[str, str]) -> None:
            status, content = state.answer(self.path, self.headers, form)
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.issuer = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
