"""A message board: what the connector does. The file `board.sqlite` stands for a product."""

import json
import os
import sqlite3
import time

PRODUCT = os.environ.get("BOARD_FILE", "board.sqlite")
# How long the product takes to answer once it has done it: for trying a crash.
LATENCY_S = int(os.environ.get("BOARD_LATENCY_MS", "0")) / 1000
# No request to the product is under way for longer.
PRODUCT_TIMEOUT_MS = 1_000 + int(LATENCY_S * 1000)


def board() -> sqlite3.Connection:
    db = sqlite3.connect(PRODUCT, timeout=5)
    db.execute("create table if not exists messages (id integer primary key, reference, text)")
    return db


def post(reference: str, text: str) -> int:
    db = board()
    with db:
        row = db.execute("insert into messages (reference, text) values (?, ?)", (reference, text))
    db.close()
    time.sleep(LATENCY_S)
    return row.lastrowid


def find(reference: str) -> int | None:
    db = board()
    row = db.execute("select id from messages where reference = ?", (reference,)).fetchone()
    db.close()
    return row[0] if row else None


def posted(message: int) -> dict:
    return {"kind": "succeeded", "result": {"messageId": message}}


class Looked:
    """Both capabilities can be found again by the action's id, their reference at the product."""

    def recover(self, context, request) -> dict:
        message = find(context.action)
        if message is not None:
            return posted(message)
        # Proof only once no request of a lost try can be under way any more.
        gone = context.started_ago_ms > PRODUCT_TIMEOUT_MS
        return {"kind": "not_started" if gone else "unknown"}


class Post(Looked):
    """messages.post: {"text"}"""

    def parse(self, body: str) -> str:
        return text_of(fields_of(body, {"text"}))

    def execute(self, context, text: str) -> dict:
        return posted(post(context.action, text))


class Digest(Looked):
    """digests.build: {"text", "parts"}, a tenth of a second for each part, and then one message."""

    def parse(self, body: str) -> tuple[str, int]:
        fields = fields_of(body, {"text", "parts"})
        parts = fields["parts"]
        if type(parts) is not int or not 1 <= parts <= 600:
            raise ValueError("parts: a whole number from 1 to 600")
        return text_of(fields), parts

    def execute(self, context, request) -> dict:
        text, parts = request
        for part in range(parts):
            context.progress(f"part {part + 1} of {parts}", 100 * part / parts)
            # Nothing is effected before the last part, so it may stop here.
            if context.stop.wait(0.1):
                return {"kind": "cancelled"}
        return posted(post(context.action, text))


def fields_of(body: str, names: set) -> dict:
    fields = json.loads(body)
    if not isinstance(fields, dict) or set(fields) != names:
        raise ValueError(f"an object with {', '.join(sorted(names))}")
    return fields


def text_of(fields: dict) -> str:
    text = fields["text"]
    if not isinstance(text, str) or not 1 <= len(text) <= 500:
        raise ValueError("text: 1 to 500 characters")
    return text


CAPABILITIES = {"messages.post": Post(), "digests.build": Digest()}
