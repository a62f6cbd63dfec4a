"""HTTP: from the bytes of a call to a signed answer."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from . import checks
from .actions import Actions, Call
from .keys import HostKey, sha256_hex
from .store import Work

REQUEST_LIMIT_BYTES = 1024 * 1024
# A host answers before Waybill's time-out, with `running` if need be.
ANSWER_SHARE = 0.8
PURPOSES = {("PUT", ""): "execute", ("POST", "reconcile"): "reconcile",
            ("POST", "cancel"): "cancel", ("GET", ""): "read"}
# For logs and proxies: whoever reads the answer believes the signed part alone.
STATUS = {"token_invalid": 401, "token_expired": 401, "token_replayed": 401, "wrong_audience": 401,
          "rate_limited": 429, "draining": 503, "unknown_capability": 404, "request_invalid": 422,
          "wrong_body": 422}


class Host:
    """What the handlers of all connections share."""

    def __init__(self, me: checks.Identity, key: HostKey, actions: Actions, manifest: bytes):
        self.me, self.key, self.actions, self.manifest = me, key, actions, manifest
        offered = json.loads(manifest)["capabilities"]
        self.timeouts_ms = {each["capabilityId"]: each["timeoutMs"] for each in offered}
        # serving, draining, stopping (begins nothing), superseded (says nothing any more)
        self.phase = "serving"

    def answer(self, purpose: str, action: str, token: str, body: bytes) -> tuple[int, str]:
        now_ms = time.time_ns() // 1_000_000
        body_sha256 = sha256_hex(body)
        claims, refusal = checks.check(token, purpose, action, body_sha256, self.me, now_ms)
        blind = purpose == "reconcile" and len(body) > 0
        if refusal is None:
            verdict = self._perform(claims, body, blind)
        else:
            # Of the action that the answer names; one that names none is about the path's.
            about = (claims["tenant"], claims["action"]) if claims else (self.me.tenant, action)
            verdict = self.actions.refusal(*about, refusal, blind)
        believed = claims or {}
        answer = {
            "iss": self.me.did,
            "iat": now_ms // 1000,
            "in_reply_to": believed.get("jti"),
            "tenant": believed.get("tenant"),
            "action": believed.get("action"),
            "fence": believed.get("fence"),
            "token_sha256": sha256_hex(token.encode()),
            "body_sha256": body_sha256,
            "store_epoch": self.me.store_epoch,
            "outcome": verdict,
        }
        return _status_of(verdict), self.key.sign(answer, "waybill-host-answer")

    def _perform(self, token: dict, body: bytes, blind: bool) -> dict:
        tenant, action, purpose = token["tenant"], token["action"], token["purpose"]
        timeout_ms = self.timeouts_ms.get(token["capability"])
        if timeout_ms is None:
            return self.actions.refusal(tenant, action, "unknown_capability", blind)
        if purpose == "read":
            return self.actions.read(tenant, action)
        expires_at_ms = int(token["exp"] * 1000)
        within_s = timeout_ms / 1000 * ANSWER_SHARE
        call = Call(tenant, action, token["fence"], token["jti"], expires_at_ms, within_s)
        if purpose == "cancel":
            return self.actions.cancel(call)
        if purpose == "reconcile":
            # Sent we do not know when: just now, so that nothing that is missing is proof yet.
            sent_at_ms = time.time_ns() // 1_000_000 - (token["sent_ago_ms"] or 0)
            return self.actions.reconcile(call, _work(token, body, sent_at_ms) if blind else None)
        if self.phase == "stopping":
            return self.actions.refusal(tenant, action, "draining")
        return self.actions.execute(call, _work(token, body, 0), token["begin_anew"])

    def not_ready(self) -> str | None:
        if self.me.trust is None:
            return "not registered yet"
        return None if self.phase == "serving" else self.phase


def listen(host: Host, address: tuple[str, int]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body are two writes: the second must not wait for the first to be acknowledged.
        disable_nagle_algorithm = True
        timeout = 60

        def do_GET(self):
            if self.path == "/health":
                return self._json(200, {"status": "alive"})
            if self.path == "/ready":
                reason = host.not_ready()
                return self._json(503 if reason else 200, {"ready": not reason, "reason": reason})
            if self.path == "/v1/manifest":
                return self._send(200, "application/json; charset=utf-8", host.manifest)
            self._serve()

        def do_PUT(self):
            self._serve()

        def do_POST(self):
            self._serve()

        def _serve(self):
            if host.phase == "superseded":
                # Our memory may not be that of the process that took over.
                return self._json(503, {"error": "superseded"})
            parts = self.path.split("?")[0].split("/")
            known = len(parts) in (4, 5) and parts[:3] == ["", "v1", "actions"]
            purpose = PURPOSES.get((self.command, parts[4] if len(parts) == 5 else ""))
            body = self._body()
            if not known or purpose is None or body is None:
                self.close_connection = True
                return self._json(404 if body is not None else 413, {"error": "unreadable"})
            scheme, _, token = self.headers.get("authorization", "").partition(" ")
            token = token.strip() if scheme.lower() == "bearer" else ""
            try:
                status, jws = host.answer(purpose, unquote(parts[3]), token, body)
            except Exception as error:
                # Unsigned: nobody may take it for the host's word on the action.
                self.log_error("%r", error)
                return self._json(500, {"error": "internal"})
            self._send(status, "application/jose", jws.encode())

        def _body(self) -> bytes | None:
            length = self.headers.get("content-length", "0")
            if not length.isdigit() or int(length) > REQUEST_LIMIT_BYTES:
                return None
            return self.rfile.read(int(length))

        def _json(self, status, value):
            self._send(status, "application/json", json.dumps(value).encode())

        def _send(self, status, content_type, content):
            self.send_response(status)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_request(self, code="-", size="-"):
            pass

    return ThreadingHTTPServer(address, Handler)


def _work(token: dict, body: bytes, intent_at_ms: int) -> Work:
    text = body.decode("utf-8", errors="replace")
    return Work(token["capability"], token["body_sha256"], text, token["credential_revision"],
                token["approval"], intent_at_ms)


def _status_of(verdict: dict) -> int:
    if verdict["kind"] == "refused":
        return STATUS.get(verdict["refusal"], 409)
    return 202 if verdict["kind"] == "running" else 200
