"""Ed25519 keys as JWK, `did:key`, and compact JWS with one `typ` for each kind of message."""

import base64
import hashlib
import json
import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


def sha256_hex(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def b64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def from_b64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class HostKey:
    """The host's own key. Waybill knows it by `did`."""

    def __init__(self, jwk_text: str):
        jwk = json.loads(jwk_text)
        if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519" or "d" not in jwk:
            raise ValueError("not a private Ed25519 JWK")
        self._private = Ed25519PrivateKey.from_private_bytes(from_b64url(jwk["d"]))
        public = self._private.public_key().public_bytes_raw()
        self.did = "did:key:z" + base58(b"\xed\x01" + public)
        # RFC 7638: the members that are required, in the order of their names.
        thumbprint = json.dumps(
            {"crv": "Ed25519", "kty": "OKP", "x": b64url(public)}, separators=(",", ":")
        )
        self.kid = b64url(hashlib.sha256(thumbprint.encode()).digest())

    def sign(self, claims: dict, typ: str) -> str:
        header = {"alg": "EdDSA", "kid": self.kid, "typ": typ}
        signed = ".".join(b64url(json.dumps(part, separators=(",", ":")).encode())
                          for part in (header, claims))
        return signed + "." + b64url(self._private.sign(signed.encode()))


def verify(jws: str, typ: str, jwks: dict) -> dict | None:
    """The claims of a message signed by one of these keys, the one that `kid` names; else None."""
    if not COMPACT.fullmatch(jws):
        return None
    try:
        header_part, claims_part, signature_part = jws.split(".")
        header = json.loads(from_b64url(header_part))
        if header.get("alg") != "EdDSA" or header.get("typ") != typ or "crit" in header:
            return None
        for jwk in jwks["keys"]:
            if jwk.get("kid") == header.get("kid") and jwk.get("crv") == "Ed25519":
                key = Ed25519PublicKey.from_public_bytes(from_b64url(jwk["x"]))
                signed = f"{header_part}.{claims_part}".encode()
                key.verify(from_b64url(signature_part), signed)
                claims = json.loads(from_b64url(claims_part))
                return claims if isinstance(claims, dict) else None
    except (InvalidSignature, ValueError, KeyError, AttributeError, RecursionError):
        # Whatever is wrong with a foreign text: it was not signed by such a key.
        pass
    return None


def base58(content: bytes) -> str:
    """For bytes that do not begin with zero, as all of these."""
    rest, digits = int.from_bytes(content, "big"), ""
    while rest:
        rest, digit = divmod(rest, 58)
        digits = ALPHABET[digit] + digits
    return digits
