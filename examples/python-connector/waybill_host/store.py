"""The host's memory: one SQLite file. What was written is on the disk when `step` ends.

Lose this file, and the host has another epoch: it then refuses what was sent to the old one.
"""

import json
import sqlite3
import threading
import uuid
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

SCHEMA = """
create table if not exists meta (name text primary key, value text not null);
create table if not exists actions (
  tenant text not null, action text not null, state text not null, record text not null,
  changed_at_ms integer not null, primary key (tenant, action));
create table if not exists tokens (jti text primary key, expires_at_ms integer not null);
"""


@dataclass(frozen=True)
class Work:
    """What was asked for, from the moment before the product is called."""

    capability: str
    request_sha256: str
    # The body as text, for finding out after a crash; dropped once there is a result.
    request: str | None
    credential_revision: str
    approval: str | None
    intent_at_ms: int
    tries: int = 1


@dataclass(frozen=True)
class Record:
    """No work and no outcome: a fence alone. Work without an outcome is an intent."""

    highest_fence: int = 0
    # The highest fence came with a reconcile or a cancel: an execute needs a higher one.
    sealed: bool = False
    work: Work | None = None
    outcome: dict | None = None

    @property
    def state(self) -> str:
        return "finished" if self.outcome else "intent" if self.work else "fenced"


class Store:
    def __init__(self, file: str):
        self._lock = threading.RLock()
        self._db = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        # A commit is synced to the disk, and no second process opens the file.
        self._db.execute("pragma locking_mode = exclusive")
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")
        self._db.executescript(SCHEMA)
        self._db.execute("insert or ignore into meta values ('epoch', ?)", (str(uuid.uuid4()),))
        self.epoch = self._meta("epoch", "")

    @contextmanager
    def step(self):
        """One atomic, durable step; nothing else happens to the store meanwhile."""
        with self._lock:
            self._db.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._db.execute("rollback")
                raise
            self._db.execute("commit")

    def read(self, tenant: str, action: str) -> Record | None:
        with self._lock:
            row = self._db.execute(
                "select record from actions where tenant = ? and action = ?", (tenant, action)
            ).fetchone()
        if row is None:
            return None
        record = Record(**json.loads(row[0]))
        return replace(record, work=Work(**record.work)) if record.work else record

    def write(self, tenant: str, action: str, record: Record, now_ms: int) -> None:
        """Within a step."""
        self._db.execute(
            "insert or replace into actions values (?, ?, ?, ?, ?)",
            (tenant, action, record.state, json.dumps(asdict(record)), now_ms),
        )

    def use_token(self, jti: str, expires_at_ms: int) -> bool:
        """Within a step. False: it was used before."""
        used = self._db.execute(
            "insert or ignore into tokens values (?, ?)", (jti, expires_at_ms)
        )
        return used.rowcount == 1

    def sequence(self) -> int:
        """Of the last lifecycle call that was accepted."""
        return int(self._meta("sequence", "0"))

    def remember_sequence(self, sequence: int) -> None:
        with self.step():
            self._db.execute(
                "insert or replace into meta values ('sequence', ?)", (str(sequence),)
            )

    def prune(self, now_ms: int, changed_before_ms: int) -> None:
        """Forgets expired tokens and old records. An intent without result is never dropped."""
        with self.step():
            self._db.execute("delete from tokens where expires_at_ms < ?", (now_ms,))
            self._db.execute(
                "delete from actions where state <> 'intent' and changed_at_ms < ?",
                (changed_before_ms,),
            )

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _meta(self, name: str, default: str) -> str:
        with self._lock:
            row = self._db.execute("select value from meta where name = ?", (name,)).fetchone()
        return row[0] if row else default
