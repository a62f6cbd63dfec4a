"""What a capability returned, made fit to be stored, signed and read."""

import json
import re

RESULT_LIMIT_BYTES = 1024 * 1024
RESULT_LEVELS = 100
DETAIL_CHARS = 2_000


def storable(outcome: dict) -> dict:
    """A result that nobody could read becomes a failure that says that the effect is there."""
    if outcome["kind"] == "failed":
        code = outcome["errorCode"]
        readable = re.fullmatch("[a-z0-9_]{1,64}", code)
        detail = outcome["detail"][:DETAIL_CHARS]
        return {"kind": "failed", "errorCode": code if readable else "connector_error", "detail": detail}
    if outcome["kind"] == "cancelled":
        return {"kind": "cancelled"}
    try:
        size = len(json.dumps(outcome["result"], allow_nan=False).encode())
        readable = _shallow(outcome["result"], RESULT_LEVELS)
    except (TypeError, ValueError, RecursionError):
        readable = False
    if not readable:
        return {"kind": "failed", "errorCode": "result_invalid", "detail": "the effect is there"}
    if size > RESULT_LIMIT_BYTES:
        return {"kind": "failed", "errorCode": "result_too_large", "detail": "the effect is there"}
    return {"kind": "succeeded", "result": outcome["result"]}


def _shallow(value, levels: int) -> bool:
    if not isinstance(value, (dict, list, tuple)):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_shallow(each, levels - 1) for each in inner)
