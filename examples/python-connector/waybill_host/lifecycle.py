"""Tells Waybill that this host is there: registers, renews its lease, drains, goes offline."""

import json
import random
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from urllib.parse import quote

from .keys import HostKey
from .serving import Host
from .settings import Settings
from .store import Store

CALL_LIFE_S = 60
CALL_TIMEOUT_S = 5
RETRY_S = 1
REGISTER_TRIES = 5


class TurnedAway(Exception):
    """Waybill has no such replica, has another manifest of it, or another process speaks for it."""


class Lifecycle:
    def __init__(self, settings: Settings, host: Host, key: HostKey, store: Store):
        self._settings, self._host, self._key, self._store = settings, host, key, store
        # One call after the other: each names the sequence of the one before.
        self._line = threading.Lock()
        self._stopping = threading.Event()
        self._leaving = threading.Event()
        self._beating: threading.Thread | None = None
        # Nothing is open on this replica any more.
        self.drained = threading.Event()
        # Another process has taken this one's place, or the replica is gone.
        self.superseded = threading.Event()

    def register(self) -> None:
        reply = self._register()
        if reply["kind"] != "accepted":
            raise TurnedAway(reply["kind"])
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self._beating.start()

    def drain(self) -> None:
        self._leaving.set()
        reply = self._call("drain", tries=3)
        # Its lease ran out, or somebody else has taken over: there is nothing left to drain.
        if reply is not None and reply["kind"] != "accepted":
            self.drained.set()

    def offline(self) -> None:
        self._stopping.set()
        self._call("offline", tries=3)

    def _register(self) -> dict:
        # A new process cannot know what its predecessor said last: it is told, and says it again.
        for _ in range(REGISTER_TRIES):
            reply = self._call("register")
            if reply["kind"] != "stale_sequence":
                break
            self._store.remember_sequence(reply["sequence"])
        return reply

    def _beat(self) -> None:
        while not self._stopping.wait(self._pause_s()):
            reply = self._call("heartbeat")
            if reply is not None and reply["kind"] == "must_register":
                # Cut off for longer than the lease: back again, as a new incarnation.
                self._store.remember_sequence(reply["sequence"])
                reply = self._call("register")
                if reply is not None and reply["kind"] == "accepted" and self._leaving.is_set():
                    reply = self._call("drain")
            if reply is not None and reply["kind"] != "accepted":
                self._host.phase = "superseded"
                self.superseded.set()
                return

    def _pause_s(self) -> float:
        # A draining host asks more often whether anything is still open.
        if self._leaving.is_set() and not self.drained.is_set():
            return min(RETRY_S, self._settings.heartbeat_s)
        return self._settings.heartbeat_s * random.uniform(0.8, 1.2)

    def _call(self, operation: str, tries: int | None = None) -> dict | None:
        """Repeats it under the same request id until it is answered. None: given up."""
        request_id = str(uuid.uuid4())
        with self._line:
            while tries is None or tries > 0:
                try:
                    reply = self._try(operation, request_id)
                except TurnedAway:
                    raise
                except Exception as error:
                    print(f"{operation}: {error}", file=sys.stderr)
                    if self._stopping.is_set() and operation != "offline":
                        return None
                    tries = tries and tries - 1
                    time.sleep(RETRY_S)
                    continue
                if reply["kind"] == "accepted":
                    self._accept(reply)
                return reply
        return None

    def _accept(self, reply: dict) -> None:
        self._store.remember_sequence(reply["sequence"])
        self._host.me.incarnation = reply["incarnation"]
        self._host.me.trust = reply.get("trust", self._host.me.trust)
        if reply["status"] == "drained":
            self.drained.set()

    def _try(self, operation: str, request_id: str) -> dict:
        now = int(time.time())
        claims = {
            "iss": self._key.did,
            "sub": self._settings.replica,
            "aud": self._settings.audience,
            "iat": now,
            "exp": now + CALL_LIFE_S,
            "operation": operation,
            "request_id": request_id,
            "previous_sequence": self._store.sequence(),
            "store_epoch": self._store.epoch,
            "manifest_digest": self._host.me.manifest_digest,
            "healthy": self._host.phase in ("serving", "draining"),
            "in_flight": self._host.actions.in_flight,
        }
        replica = quote(self._settings.replica, safe="")
        url = f"{self._settings.lifecycle_url}/v1/hosts/{replica}/{operation}"
        request = urllib.request.Request(
            url,
            method="POST",
            data=self._key.sign(claims, "waybill-host-lifecycle").encode(),
            headers={"content-type": "application/jose"},
        )
        try:
            with urllib.request.urlopen(request, timeout=CALL_TIMEOUT_S) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            problem = json.load(error)
        if "kind" in problem:
            return problem
        if problem.get("code") == "manifest_mismatch":
            # Neither manifest ever changes: asking again is of no use.
            raise TurnedAway(problem.get("detail"))
        raise RuntimeError(problem.get("detail", "the lifecycle service refused the call"))
