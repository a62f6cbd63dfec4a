"""Whether a call may be served: what its token says, before the store is asked."""

import re
from dataclasses import dataclass

from .keys import verify

TOKEN_LIMIT_BYTES = 12 * 1024
ACTION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
NUMBER = (int, float)
OPTIONAL_TEXT = (str, type(None))
# Every claim that this host reads, and of what type it is. What else a token says is ignored.
CLAIMS = {
    "iss": str, "aud": str, "exp": NUMBER, "jti": str, "purpose": str, "tenant": str, "action": str,
    "capability": str, "connector": str, "instance": str, "version": str, "manifest_digest": str,
    "replica": str, "incarnation": int, "store_epoch": OPTIONAL_TEXT, "credential_revision": str,
    "fence": int, "begin_anew": bool, "sent_ago_ms": (int, type(None)), "approval": OPTIONAL_TEXT,
    "body_sha256": str,
}


@dataclass
class Identity:
    """What the host knows of itself."""

    tenant: str
    connector: str
    instance: str
    version: str
    replica: str
    manifest_digest: str
    credential_revisions: list
    did: str
    store_epoch: str
    # From registering; None before.
    incarnation: int | None = None
    trust: dict | None = None


def check(token: str, purpose: str, action: str, body_sha256: str, me: Identity, now_ms: int):
    """(claims, refusal). Claims are None where the token cannot be believed; refusal None: go on."""
    claims = _believed(token, me)
    if claims is None:
        return None, "token_invalid"
    return claims, _reason_against(claims, purpose, action, body_sha256, me, now_ms)


def _believed(token: str, me: Identity) -> dict | None:
    if me.trust is None or len(token) > TOKEN_LIMIT_BYTES:
        return None
    claims = verify(token, "waybill-route", me.trust["keys"])
    if claims is None or claims.get("iss") != me.trust["issuer"]:
        return None
    readable = all(isinstance(claims.get(name, ...), kind) for name, kind in CLAIMS.items())
    return claims if readable and ACTION_ID.fullmatch(claims["action"]) else None


def _reason_against(claims, purpose, action, body_sha256, me, now_ms) -> str | None:
    if claims["aud"] != me.did:
        return "wrong_audience"
    # No tolerance: from that instant on Waybill may settle the attempt without us.
    if claims["exp"] * 1000 <= now_ms:
        return "token_expired"
    if claims["body_sha256"] != body_sha256:
        return "wrong_body"
    owned = {
        "purpose": purpose, "action": action, "tenant": me.tenant, "connector": me.connector,
        "instance": me.instance, "version": me.version, "manifest_digest": me.manifest_digest,
        "replica": me.replica,
    }
    if any(claims[name] != value for name, value in owned.items()):
        return "wrong_coordinates"
    # Work goes to the process that was chosen; a question may be about one that ran before.
    incarnation, mine = claims["incarnation"], me.incarnation
    if mine is None or incarnation > mine or (purpose == "execute" and incarnation != mine):
        return "wrong_coordinates"
    if claims["store_epoch"] not in (None, me.store_epoch):
        return "store_lost"
    # What became of an action may be asked also when its credential is no longer good.
    if purpose == "execute" and claims["credential_revision"] not in me.credential_revisions:
        return "credential_revoked"
    return None
