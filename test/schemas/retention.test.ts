/** Retention as it is written: what is left out, and what cannot be. */
import { DEFAULT_RETENTION, WrittenRetention } from '../../src/schemas/retention';

const problems = (written: unknown) =>
  WrittenRetention.safeParse(written).error?.issues.map(({ path }) => path.join('.')) ?? [];

test('what is left out is as it comes with Waybill', () => {
  expect(WrittenRetention.parse({})).toEqual({ ...DEFAULT_RETENTION, tenants: {} });
  expect(
    WrittenRetention.parse({ failedDays: 200, tenants: { acme: { rejectedDays: 1 } } }),
  ).toEqual({
    ...DEFAULT_RETENTION,
    ...{ failedDays: 200, tenants: { acme: { rejectedDays: 1 } } },
  });
});

test('a payload is kept no longer than its delivery, a delivery no longer than receipts', () => {
  expect(problems({ acknowledgedPayloadDays: 31 })).toEqual(['acknowledgedPayloadDays']);
  expect(problems({ failedDays: 30 })).toEqual(['failedPayloadDays']);
  expect(problems({ receiptDays: 89 })).toEqual(['receiptDays']);
});

test('the same holds for each tenant, over what holds for all', () => {
  expect(problems({ tenants: { acme: { acknowledgedDays: 13 } } })).toEqual([
    'tenants.acme.acknowledgedPayloadDays',
  ]);
  expect(problems({ tenants: { acme: { acknowledgedDays: 500 } } })).toEqual([
    'tenants.acme.receiptDays',
  ]);
  expect(problems({ tenants: { acme: { acknowledgedDays: 500, receiptDays: 500 } } })).toEqual([]);
});

test('unknown fields, names that are none and days that are none are refused', () => {
  expect(problems({ payloadDays: 1 })).toHaveLength(1);
  expect(problems({ tenants: { 'not a name': {} } })).toHaveLength(1);
  expect(problems({ rejectedDays: 0 })).toEqual(['rejectedDays']);
});
