"""Certificates of localhost, by a private authority."""

from __future__ import annotations

import datetime as dt
import ssl
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make_certificates(folder: Path) -> ssl.SSLContext:
    """A private CA, a certificate of localhost by it in `folder`, and what trusts this CA alone.

    The files are tls_certificate and tls_key, and tls_authority for others who are to trust the CA.
    """
    now = dt.datetime.now(dt.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("Private CA", "localhost")]

    def sign(subject: int, *, authority: bool) -> x509.Certificate:
        hosts = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        return (
            x509.CertificateBuilder()
            .subject_name(names[subject])
            .issuer_name(names[0])
            .public_key(keys[subject].public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .sign(keys[0], hashes.SHA256())
        )

    encoding = serialization.Encoding.PEM
    (folder / "tls_certificate").write_bytes(sign(1, authority=False).public_bytes(encoding))
    key = keys[1].private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "tls_key").write_bytes(key)
    authority = sign(0, authority=True).public_bytes(encoding)
    (folder / "tls_authority").write_bytes(authority)
    return ssl.create_default_context(cadata=authority.decode())
