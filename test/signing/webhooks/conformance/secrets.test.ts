/** Asserted, for each shipped scheme: which secrets can be configured, and when each one counts. */
import { secretProblem } from '../../../../src/signing/webhooks/secrets';
import { sent, signedAtMs } from '../../../support/vendors/vendor';
import { compiledOf, conform, judged, outcome } from './conform';

conform('empty secret configured (must be a configuration error)', async (vendor) => {
  const compiled = compiledOf(vendor);
  expect(secretProblem(compiled, vendor.secrets.own)).toBeNull();
  expect(secretProblem(compiled, '')).toBe('the secret is empty');
  const request = sent(vendor.sign());
  const empty = { id: 'empty', value: '' };
  expect(await outcome(vendor, request, { secrets: [empty] })).toBe('unusable_secret');
  const current = { id: 'current', value: vendor.secrets.own };
  const beside = await judged(vendor, request, { secrets: [empty, current] });
  expect(beside).toMatchObject({ ok: true, secretId: 'current' });
});

conform('previous secret during and after the rotation window', async (vendor) => {
  const request = sent(vendor.sign());
  const renewed = sent(vendor.sign({ key: 'other' }));
  const secrets = [
    { id: 'new', value: vendor.secrets.other, notBeforeMs: signedAtMs - 1000 },
    { id: 'old', value: vendor.secrets.own, notAfterMs: signedAtMs },
  ];
  const at = (receivedAtMs: number, which = request) =>
    judged(vendor, which, { secrets, receivedAtMs });
  expect(await at(signedAtMs - 1)).toMatchObject({ ok: true, secretId: 'old' });
  expect(await at(signedAtMs)).toMatchObject({ ok: false, reason: 'signature_mismatch' });
  expect(await at(signedAtMs, renewed)).toMatchObject({ ok: true, secretId: 'new' });
  expect(await at(signedAtMs - 1000, renewed)).toMatchObject({ ok: true, secretId: 'new' });
  expect(await at(signedAtMs - 1001, renewed)).toMatchObject({ reason: 'signature_mismatch' });
  const old = await outcome(vendor, request, { secrets: secrets.slice(1) });
  expect(old).toBe('no_active_secret');
});
