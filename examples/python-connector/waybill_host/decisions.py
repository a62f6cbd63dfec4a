"""What may happen to one action's record: pure functions, from a record to (record, answer).

An answer is ("refused", why), ("finished", outcome), ("intent", work), ("begun", work) or ("nothing",).
A record of None leaves the one that is there.
"""

from dataclasses import replace

from .store import Record, Work


def begin(known: Record, fence: int, asked: Work, again: bool, anew: bool):
    """An execute. `again`: its recovery said that doing it once more is safe; `anew`: a person did."""
    late = fence <= known.highest_fence if known.sealed else fence < known.highest_fence
    if late:
        return None, ("refused", "stale_fence")
    if known.work and _other(known.work, asked):
        return None, ("refused", "request_conflict")
    higher = fence > known.highest_fence
    raised = replace(known, highest_fence=fence, sealed=False) if higher else known
    if known.outcome:
        return raised, ("finished", known.outcome)
    if known.work and not again and not (anew and higher):
        return raised, ("intent", known.work)
    tries = known.work.tries + 1 if known.work else 1
    work = replace(asked, tries=tries)
    return Record(highest_fence=fence, work=work), ("begun", work)


def fence_off(known: Record, fence: int, bury: bool):
    """A reconcile or, with `bury`, a cancel: from now on an execute needs a higher fence."""
    if fence < known.highest_fence:
        return None, ("refused", "stale_fence")
    sealed = replace(known, highest_fence=fence, sealed=True)
    if known.outcome:
        return sealed, ("finished", known.outcome)
    if known.work:
        return sealed, ("intent", known.work)
    if not bury:
        return sealed, ("nothing",)
    tombstone = {"kind": "cancelled"}
    return replace(sealed, outcome=tombstone), ("finished", tombstone)


def adopt(known: Record, fence: int, asked: Work):
    """A reconcile with the request: this memory was not there, so it may have begun."""
    if known.work and fence >= known.highest_fence and _other(known.work, asked):
        return None, ("refused", "request_conflict")
    record, answer = fence_off(known, fence, bury=False)
    if answer[0] != "nothing":
        return record, answer
    return replace(record, work=asked), ("intent", asked)


def finish(known: Record, outcome: dict):
    """Written once: the answer is the outcome that stands."""
    if known.outcome:
        return None, known.outcome
    if known.work is None:
        raise RuntimeError("an action that was never begun cannot be finished")
    work = replace(known.work, request=None)
    return replace(known, work=work, outcome=outcome), outcome


def withdraw(known: Record):
    """Takes an intent back that is proven to have had no effect."""
    if known.state != "intent":
        return None, None
    return replace(known, work=None), None


def _other(known: Work, asked: Work) -> bool:
    return (known.capability, known.request_sha256) != (asked.capability, asked.request_sha256)
