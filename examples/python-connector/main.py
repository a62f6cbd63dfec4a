"""The connector's process: one replica, until SIGTERM or Ctrl-C. See README.md."""

import hashlib
import json
import signal
import sys
import threading
import time
from pathlib import Path

from connector import CAPABILITIES
from waybill_host.actions import Actions
from waybill_host.checks import Identity
from waybill_host.keys import HostKey
from waybill_host.lifecycle import Lifecycle, TurnedAway
from waybill_host.serving import Host, listen
from waybill_host.settings import settings
from waybill_host.store import Store

MANIFEST = Path(__file__).with_name("manifest.json").read_bytes()
REMEMBERED_MS = 90 * 24 * 3_600_000


def main() -> int:
    told = settings()
    key, store = HostKey(told.key_text), Store(told.store)
    now_ms = time.time_ns() // 1_000_000
    store.prune(now_ms, now_ms - REMEMBERED_MS)
    described = json.loads(MANIFEST)
    me = Identity(
        tenant=told.tenant, connector=described["connectorId"], instance=told.instance,
        version=described["version"], replica=told.replica,
        manifest_digest=hashlib.sha256(MANIFEST).hexdigest(),
        credential_revisions=told.credential_revisions, did=key.did, store_epoch=store.epoch,
    )
    actions = Actions(store, CAPABILITIES)
    host = Host(me, key, actions, MANIFEST)
    server = listen(host, told.listen)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    asked_to_stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: asked_to_stop.set())

    lifecycle = Lifecycle(told, host, key, store)
    lifecycle.register()

    address = f"http://{told.listen[0]}:{server.server_address[1]}"
    started = {"url": address, "did": me.did, "manifestDigest": me.manifest_digest,
               "storeEpoch": me.store_epoch}
    print(json.dumps(started), flush=True)

    while not asked_to_stop.wait(0.2):
        if lifecycle.superseded.is_set():
            print("another process has registered as this replica, or it is gone", file=sys.stderr)
            return 1
    retire(host, actions, lifecycle, told.retire_s)
    store.close()
    return 0


def retire(host: Host, actions: Actions, lifecycle: Lifecycle, within_s: float) -> None:
    """Nothing new comes, what is open here is finished, and Waybill is told at last."""
    deadline = time.monotonic() + within_s
    host.phase = "draining"
    lifecycle.drain()
    lifecycle.drained.wait(max(0, deadline - time.monotonic()))
    host.phase = "stopping"
    while actions.in_flight and time.monotonic() < deadline:
        time.sleep(0.05)
    lifecycle.offline()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, OSError, TurnedAway) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
