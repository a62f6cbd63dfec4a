"""The worked examples of the protocol page, byte by byte, and its limits: python -m unittest"""

import json
import unittest
from pathlib import Path

from waybill_host.checks import Identity, check
from waybill_host.keys import HostKey, sha256_hex, verify
from waybill_host.outcomes import storable

EXAMPLES = Path(__file__).parents[2] / "docs/host-protocol/examples.json"
NOW_MS = 1_767_225_601_000


class WorkedExamples(unittest.TestCase):
    def setUp(self):
        self.examples = json.loads(EXAMPLES.read_text())
        self.key = HostKey(json.dumps(self.examples["keys"]["host"]))

    def test_the_key_has_the_did_of_the_page(self):
        self.assertEqual(self.key.did, self.examples["hostDid"])

    def test_what_is_signed_is_the_text_of_the_page(self):
        for answer in self.examples["answers"].values():
            signed = self.key.sign(answer["claims"], "waybill-host-answer")
            self.assertEqual(signed, answer["jws"])
        for call in self.examples["lifecycle"].values():
            signed = self.key.sign(call["claims"], "waybill-host-lifecycle")
            self.assertEqual(signed, call["jws"])

    def test_the_token_is_believed_and_another_one_is_not(self):
        token, trust = self.examples["token"], self.examples["trust"]
        self.assertEqual(verify(token["jws"], "waybill-route", trust["keys"]), token["claims"])
        self.assertIsNone(verify(token["jws"], "waybill-host-answer", trust["keys"]))
        head, claims, signature = token["jws"].split(".")
        forged = f"{head}.{claims}.{signature[::-1]}"
        self.assertIsNone(verify(forged, "waybill-route", trust["keys"]))

    def test_each_part_of_the_token_is_checked(self):
        token = self.examples["token"]
        body = sha256_hex(self.examples["body"].encode())
        action = token["claims"]["action"]

        def refusal(purpose="execute", path=action, body_sha256=body, now_ms=NOW_MS, **other):
            me = Identity(**{**self.identity(), **other})
            return check(token["jws"], purpose, path, body_sha256, me, now_ms)[1]

        self.assertIsNone(refusal())
        self.assertEqual(refusal(trust=None), "token_invalid")
        self.assertEqual(refusal(did="did:key:z6Mk"), "wrong_audience")
        self.assertEqual(refusal(now_ms=NOW_MS + 40_000), "token_expired")
        self.assertEqual(refusal(body_sha256=sha256_hex(b"")), "wrong_body")
        self.assertEqual(refusal(purpose="cancel"), "wrong_coordinates")
        self.assertEqual(refusal(path="another"), "wrong_coordinates")
        self.assertEqual(refusal(incarnation=4), "wrong_coordinates")
        self.assertEqual(refusal(credential_revisions=["8"]), "credential_revoked")

    def identity(self):
        claims = self.examples["token"]["claims"]
        mine = ("tenant", "connector", "instance", "version", "replica", "manifest_digest")
        return {**{name: claims[name] for name in mine}, "credential_revisions": ["7"],
                "did": self.key.did, "store_epoch": "e", "incarnation": 3,
                "trust": self.examples["trust"]}


class Outcomes(unittest.TestCase):
    def test_what_nobody_could_read_is_a_failure(self):
        deep = []
        for _ in range(100):
            deep = [deep]
        for result, code in ((deep, "result_invalid"), (float("nan"), "result_invalid"),
                             ("x" * 2_000_000, "result_too_large")):
            stored = storable({"kind": "succeeded", "result": result})
            self.assertEqual((stored["kind"], stored["errorCode"]), ("failed", code))
        self.assertEqual(storable({"kind": "succeeded", "result": deep[0]})["result"], deep[0])
        named = storable({"kind": "failed", "errorCode": "Out of paper!", "detail": "x" * 3_000})
        self.assertEqual((named["errorCode"], len(named["detail"])), ("connector_error", 2_000))


if __name__ == "__main__":
    unittest.main()
