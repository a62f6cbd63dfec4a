"""What the process is told by its environment: the variables that `waybill host` knows, too."""

import os
import re
from dataclasses import dataclass

UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Settings:
    replica: str
    tenant: str
    instance: str
    credential_revisions: list
    key_text: str
    store: str
    lifecycle_url: str
    audience: str
    heartbeat_s: float
    retire_s: float
    listen: tuple[str, int]


def settings() -> Settings:
    """Raises ValueError that names the variable."""
    host, _, port = _get("WAYBILL_HOST_LISTEN", "127.0.0.1:7390").rpartition(":")
    return Settings(
        replica=_get("WAYBILL_HOST_REPLICA"),
        tenant=_get("WAYBILL_HOST_TENANT"),
        instance=_get("WAYBILL_HOST_INSTANCE"),
        credential_revisions=[each.strip() for each in _get("WAYBILL_HOST_CREDENTIALS").split(",")],
        key_text=_referred("WAYBILL_HOST_KEY"),
        store=_get("WAYBILL_HOST_STORE"),
        lifecycle_url=_get("WAYBILL_HOST_LIFECYCLE_URL", "http://127.0.0.1:7380").rstrip("/"),
        audience=_get("WAYBILL_LIFECYCLE_AUDIENCE", "urn:waybill:lifecycle"),
        heartbeat_s=_seconds("WAYBILL_HOST_HEARTBEAT", "10s"),
        retire_s=_seconds("WAYBILL_SHUTDOWN_GRACE", "20s"),
        listen=(host.strip("[]"), int(port)),
    )


def _get(name: str, default: str | None = None) -> str:
    value = os.environ.get(name) or default
    if value is None:
        raise ValueError(f"{name} is missing")
    return value


def _referred(name: str) -> str:
    kind, _, place = _get(name).partition(":")
    if kind == "env":
        return _get(place)
    if kind == "file":
        with open(place, encoding="utf-8") as file:
            return file.read()
    raise ValueError(f"{name}: write env:NAME or file:PATH")


def _seconds(name: str, default: str) -> float:
    match = re.fullmatch(r"(\d+)(ms|s|m|h)", _get(name, default))
    if match is None:
        raise ValueError(f"{name}: write a duration such as 250ms, 10s, 5m")
    return int(match[1]) * UNITS_S[match[2]]
