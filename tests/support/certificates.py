"""A certificate for the servers of the tests, on this machine."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificate(path: Path) -> Path:
    """Write a self-signed certificate for 127.0.0.1, with its key, into one PEM file; it expires in a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, path.stem)])
    today = dt.datetime.now(dt.UTC)
    here, names = ipaddress.ip_address("127.0.0.1"), map(x509.DNSName, ("service.example", "service.localhost"))
    alternatives = [x509.IPAddress(here), *names]
    built = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=10)).not_valid_after(today + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, hashes.SHA256())
    )  # fmt: skip
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + built.public_bytes(serialization.Encoding.PEM)
    )
    return path
