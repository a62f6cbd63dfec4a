"""Execute, reconcile, cancel, read: intent before effect, and one effect an action."""

import threading
import time
import traceback
from dataclasses import dataclass, field, replace
from typing import Protocol

from . import decisions
from .outcomes import storable
from .store import Record, Store, Work

NOTE_CHARS = 500
LONGEST_WAIT_MS = 24 * 3_600_000
# A recovery may find that nothing began, and the work begins; more rounds need another call.
ROUNDS = 4


class RateLimited(Exception):
    """Raised by `execute` before any effect: the product wants to be left alone for so long."""

    def __init__(self, retry_after_ms: int):
        super().__init__(f"left alone for {retry_after_ms} ms")
        self.retry_after_ms = retry_after_ms


@dataclass
class Context:
    """What a capability knows of the action that it works on."""

    tenant: str
    action: str
    # The same for every try: for a product that takes idempotency keys.
    idempotency_key: str
    credential_revision: str
    approval: str | None
    # Set by a cancel. Stop if that is safe; say `cancelled` only where nothing was effected.
    stop: threading.Event
    # How far it is, for people: a line of text, and a percentage where it can be told.
    progress: object
    # For `recover`: how long ago the product was last called.
    started_ago_ms: int = 0


class Capability(Protocol):
    """What a connector brings for each capability of its manifest."""

    def parse(self, body: str) -> object:
        """The request; raises ValueError where the body is none."""

    def execute(self, context: Context, request) -> dict:
        """Does it. Returns a final outcome; raises where what became of it is not known."""

    def recover(self, context: Context, request) -> dict:
        """Finds out: a final outcome, {"kind": "not_started"} (proof), "repeatable" or "unknown"."""


@dataclass
class Job:
    """Work under way in this process: an execution or a recovery."""

    kind: str
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    # None: it failed, so what it did is not known.
    end: dict | None = None
    progress: dict | None = None

    def report(self, note: str, percent: float | None = None) -> None:
        line = "".join(c if c.isprintable() else " " for c in note)[:NOTE_CHARS]
        share = None if percent is None else round(min(100, max(0, percent)))
        self.progress = {"note": line, "percent": share}

    def running(self) -> dict:
        return {"kind": "running", "progress": self.progress}


@dataclass(frozen=True)
class Call:
    """A call that may be served, as its token says."""

    tenant: str
    action: str
    fence: int
    jti: str
    expires_at_ms: int
    # Then the answer is `running`.
    answer_within_s: float


class Actions:
    def __init__(self, store: Store, capabilities: dict):
        self._store = store
        self._capabilities = capabilities
        self._jobs: dict[tuple, Job] = {}
        # One decision at a time: each is a short step of the store.
        self._turn = threading.RLock()

    @property
    def in_flight(self) -> int:
        return len(self._jobs)

    def execute(self, call: Call, work: Work, anew: bool) -> dict:
        request = self._parse(work)
        if request is None:
            return self.refusal(call.tenant, call.action, "request_invalid")
        again = False
        for turn in range(ROUNDS):
            step = self._begin(call, request, work, again, anew, first=turn == 0)
            if isinstance(step, dict):
                return step
            end = self._wait(step, call)
            if end and end["kind"] == "refused":
                record = self._store.read(call.tenant, call.action)
                return {**end, "highest_fence": record.highest_fence if record else None}
            found = end and end["kind"] in ("not_started", "repeatable")
            if step.kind == "execution" or not found:
                return _answer(end)
            again = end["kind"] == "repeatable"
        return {"kind": "unknown"}

    def reconcile(self, call: Call, adopted: Work | None) -> dict:
        """`adopted`: the request, of an action that was sent to a memory that is gone."""
        blind = adopted is not None

        def decide(known):
            if adopted is not None:
                return decisions.adopt(known, call.fence, adopted)
            return decisions.fence_off(known, call.fence, bury=False)

        step = self._fence(call, decide, True, blind)
        if isinstance(step, dict):
            return step
        return step.running() if step.kind == "execution" else _answer(self._wait(step, call))

    def cancel(self, call: Call) -> dict:
        def decide(known):
            return decisions.fence_off(known, call.fence, bury=True)

        for turn in range(ROUNDS):
            step = self._fence(call, decide, turn == 0, False)
            if isinstance(step, dict):
                return step
            step.stop.set()
            end = self._wait(step, call)
            # A try that ended without a result is recovered by the next round; where nothing
            # began, that leaves a tombstone.
            if step.kind == "execution":
                over = end is not None and end["kind"] != "refused"
            else:
                over = end is None or end["kind"] != "not_started"
            if over:
                return _answer(end)
        return {"kind": "unknown"}

    def read(self, tenant: str, action: str) -> dict:
        record = self._store.read(tenant, action)
        if record is None or record.state == "fenced":
            return {"kind": "not_started"}
        if record.outcome:
            return record.outcome
        job = self._jobs.get((tenant, action))
        return job.running() if job else {"kind": "unknown"}

    def refusal(self, tenant: str, action: str, why: str, blind: bool = False) -> dict:
        """`started` says whether anything may have begun; blind: nothing may be concluded."""
        record = self._store.read(tenant, action)
        started = blind or why == "store_lost" or bool(record and record.work)
        highest = record.highest_fence if record else None
        return {"kind": "refused", "refusal": why, "started": started, "highest_fence": highest}

    # One decision, and what follows from it: a verdict (dict) or a job to wait for.

    def _begin(self, call, request, work, again, anew, first):
        with self._turn:
            live = self._jobs.get((call.tenant, call.action))
            idle = live is None
            asked = replace(work, intent_at_ms=_now_ms())

            def decide(known):
                return decisions.begin(known, call.fence, asked, again and idle, anew and idle)

            answer = self._update(call, decide, use_token=first)
            if answer[0] == "begun":
                return self._start(call, "execution", lambda job: self._run(call, job, request, answer[1]))
            return self._follow(call, answer, False, live)

    def _fence(self, call, decide, first, blind):
        with self._turn:
            live = self._jobs.get((call.tenant, call.action))
            return self._follow(call, self._update(call, decide, use_token=first), blind, live)

    def _follow(self, call, answer, blind, live):
        match answer:
            case ("refused", why):
                return self.refusal(call.tenant, call.action, why, blind)
            case ("finished", outcome):
                return outcome
            case ("nothing",):
                return {"kind": "not_started"}
            case ("intent", work):
                return live or self._start(call, "recovery", lambda job: self._find_out(call, job, work))

    def _update(self, at, decide, use_token=False):
        with self._turn, self._store.step():
            known = self._store.read(at.tenant, at.action) or Record()
            if use_token and not self._store.use_token(at.jti, at.expires_at_ms):
                return ("refused", "token_replayed")
            record, answer = decide(known)
            if record is not None:
                self._store.write(at.tenant, at.action, record, _now_ms())
            return answer

    def _start(self, call, kind, work) -> Job:
        key, job = (call.tenant, call.action), Job(kind)

        def run():
            try:
                job.end = work(job)
            except Exception:
                traceback.print_exc()
            finally:
                with self._turn:
                    self._jobs.pop(key, None)
                job.ended.set()

        self._jobs[key] = job
        threading.Thread(target=run, daemon=True).start()
        return job

    def _run(self, call, job, request, work) -> dict:
        """The intent is on the disk by now."""
        context = _context(call, job, work)
        try:
            outcome = self._capabilities[work.capability].execute(context, request)
        except RateLimited as limited:
            return self._put_off(call, work, limited)
        return self._update(call, lambda known: decisions.finish(known, storable(outcome)))

    def _put_off(self, call, work, limited) -> dict:
        # This try had no effect; whether an earlier one had is as open as before.
        if work.tries == 1:
            self._update(call, decisions.withdraw)
        wait_ms = min(LONGEST_WAIT_MS, max(0, int(limited.retry_after_ms)))
        return {"kind": "refused", "refusal": "rate_limited", "started": work.tries > 1,
                "retry_after_ms": wait_ms}

    def _find_out(self, call, job, work) -> dict:
        request = self._parse(work)
        if request is None:
            return {"kind": "unknown"}
        context = _context(call, job, work)
        context.started_ago_ms = max(0, _now_ms() - work.intent_at_ms)
        found = self._capabilities[work.capability].recover(context, request)
        if found["kind"] == "not_started":
            self._update(call, decisions.withdraw)
        if found["kind"] in ("not_started", "repeatable", "unknown"):
            return found
        return self._update(call, lambda known: decisions.finish(known, storable(found)))

    def _wait(self, job: Job, call: Call) -> dict | None:
        return job.end if job.ended.wait(call.answer_within_s) else job.running()

    def _parse(self, work: Work):
        try:
            return self._capabilities[work.capability].parse(work.request or "")
        except (ValueError, KeyError, RecursionError):
            return None


def _context(call: Call, job: Job, work: Work) -> Context:
    key = f"{call.tenant}/{call.action}"
    return Context(call.tenant, call.action, key, work.credential_revision, work.approval,
                   job.stop, job.report)


def _answer(end: dict | None) -> dict:
    known = end is not None and end["kind"] not in ("repeatable", "refused")
    return end if known else {"kind": "unknown"}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
