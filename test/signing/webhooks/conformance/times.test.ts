/** Asserted, for each shipped scheme: what a timestamp is, and how far it may lie from receipt. */
import { maxAheadMs } from '../../../../src/domain/verification';
import {
  milliseconds,
  seconds,
  sent,
  signedAtMs,
  type Vendor,
} from '../../../support/vendors/vendor';
import { conform, judged, outcome, type Instead } from './conform';

const timed = (vendor: Vendor, timestamp: string) =>
  outcome(vendor, sent(vendor.sign({ timestamp })));

const noTime: Instead = {
  because: 'the vendor signs no time',
  check: async (vendor) => {
    const request = sent(vendor.sign());
    const verdict = await judged(vendor, request);
    expect(verdict).toMatchObject({ ok: true, signedAtMs: null, limits: null });
    const late = await outcome(vendor, request, { receivedAtMs: signedAtMs * 2 });
    expect(late).toBe('accepted');
  },
};

const claims: Instead = {
  because: 'its times are claims of the token, which are numbers or refused',
  check: async (vendor) => {
    expect(await timed(vendor, 'soon')).toBe('malformed_timestamp');
    expect(await timed(vendor, '1e30')).toBe('malformed_timestamp');
    expect(await timed(vendor, '-1')).toBe('stale');
    expect(await timed(vendor, milliseconds(signedAtMs))).toBe('stale');
  },
};

const noTolerance: Instead = {
  because: 'the vendor names no tolerance, and the signed time is evidence only',
  check: async (vendor) => {
    const verdict = await judged(vendor, sent(vendor.sign()));
    expect(verdict).toMatchObject({ ok: true, signedAtMs, limits: null });
  },
};

const tokenLife: Instead = {
  because: 'the token says from when and until when it counts',
  check: async (vendor) => {
    const request = sent(vendor.sign());
    const at = (offsetMs: number) =>
      outcome(vendor, request, { receivedAtMs: signedAtMs + offsetMs });
    expect(await at(0)).toBe('accepted');
    expect(await at(-1000)).toBe('stale');
    expect(await at(59_999)).toBe('accepted');
    expect(await at(60_000)).toBe('stale');
  },
};

conform(
  'timestamp missing, not a number, negative, 1e30, seconds where ms is expected',
  async (vendor) => {
    const { time } = vendor;
    const isIso = time?.text(0).includes('T') === true;
    // As JSON, a time in the body is a number or a text.
    const texts =
      time?.place === 'body'
        ? ['"soon"', '-1700000000', '1e30', '1.5']
        : ['soon', '-1', '1e30', '1.5'];
    for (const text of texts) expect(await timed(vendor, text)).toBe('malformed_timestamp');
    expect(await timed(vendor, '')).toBe('missing_timestamp');
    if (time?.header !== undefined) {
      const request = sent(vendor.sign());
      const headers = request.headers.filter(([name]) => name !== time.header);
      expect(await outcome(vendor, { ...request, headers })).toBe('missing_timestamp');
      const twice = [...request.headers, [time.header, '1'] as const];
      expect(await outcome(vendor, { ...request, headers: twice })).toBe('repeated_timestamp');
    }
    const other = time?.text === seconds ? milliseconds(signedAtMs) : seconds(signedAtMs);
    const expected = time?.toleranceS === null ? 'accepted' : 'stale';
    expect(await timed(vendor, other)).toBe(isIso ? 'malformed_timestamp' : expected);
  },
  (vendor) => {
    if (vendor.time?.place === 'claims') return claims;
    return vendor.time === undefined ? noTime : null;
  },
);

conform(
  'timestamp older and newer than the tolerance by one second, and exactly on the edge',
  async (vendor) => {
    const toleranceMs = (vendor.time?.toleranceS ?? 0) * 1000;
    const aheadMs = Math.min(toleranceMs, maxAheadMs);
    const request = sent(vendor.sign());
    const at = (offsetMs: number) =>
      outcome(vendor, request, { receivedAtMs: signedAtMs + offsetMs });
    expect(await at(toleranceMs)).toBe('accepted');
    expect(await at(toleranceMs + 1000)).toBe('stale');
    expect(await at(-aheadMs)).toBe('accepted');
    expect(await at(-aheadMs - 1000)).toBe('stale');
  },
  (vendor) => {
    if (vendor.time === undefined) return noTime;
    if (vendor.time.toleranceS === null) return noTolerance;
    return vendor.time.place === 'claims' ? tokenLife : null;
  },
);

conform(
  'freshness is judged after the signature',
  async (vendor) => {
    const text = vendor.time?.place === 'body' ? '"soon"' : 'soon';
    const forged = sent(vendor.sign({ key: 'other', timestamp: text }));
    expect(await outcome(vendor, forged)).toBe('signature_mismatch');
  },
  (vendor) => (vendor.time === undefined ? noTime : null),
);
