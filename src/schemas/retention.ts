/**
 * How long what is over is kept, by what became of a delivery, and for single tenants otherwise
 * (docs/architecture, "Retention"). A payload goes no later than its row, a row no later than receipts.
 */
import { z } from 'zod';
import { NAME_PATTERN } from '../domain/ids';

const Days = z.int().min(1).max(3_650);

const days = {
  acknowledgedPayloadDays: Days,
  acknowledgedDays: Days,
  failedPayloadDays: Days,
  failedDays: Days,
  deduplicatedDays: Days,
  rejectedDays: Days,
  receiptDays: Days,
};
const EveryDay = z.strictObject(days);
type EveryDay = z.infer<typeof EveryDay>;

/** As the database has it from its first migration. */
export const DEFAULT_RETENTION: EveryDay = {
  acknowledgedPayloadDays: 14,
  acknowledgedDays: 30,
  failedPayloadDays: 90,
  failedDays: 90,
  deduplicatedDays: 14,
  rejectedDays: 14,
  receiptDays: 400,
};

const Tenant = EveryDay.partial();

export const Retention = EveryDay.extend({
  tenants: z.record(z.string().regex(NAME_PATTERN, "must be a tenant's name"), Tenant),
});
export type Retention = z.infer<typeof Retention>;

/** As it is written: what is left out is as it comes with Waybill. */
export const WrittenRetention = EveryDay.partial()
  .extend({ tenants: Retention.shape.tenants.default({}) })
  .transform((written) => Retention.parse({ ...DEFAULT_RETENTION, ...defined(written) }))
  .superRefine(({ tenants, ...all }, context) => {
    check(all, [], context);
    for (const [tenant, own] of Object.entries(tenants)) {
      check(EveryDay.parse({ ...all, ...defined(own) }), ['tenants', tenant], context);
    }
  });

function check(kept: EveryDay, path: string[], context: z.core.$RefinementCtx): void {
  const { acknowledgedDays, failedDays, receiptDays } = kept;
  const refuse = (field: string, message: string): void => {
    context.addIssue({ code: 'custom', path: [...path, field], message });
  };
  if (kept.acknowledgedPayloadDays > acknowledgedDays) {
    refuse('acknowledgedPayloadDays', 'a payload is not kept longer than its delivery');
  }
  if (kept.failedPayloadDays > failedDays) {
    refuse('failedPayloadDays', 'a payload is not kept longer than its delivery');
  }
  if (receiptDays < Math.max(acknowledgedDays, failedDays)) {
    refuse('receiptDays', 'receipts are kept at least as long as what they are about');
  }
}

function defined<Shape extends object>(shape: Shape): Shape {
  return Object.fromEntries(
    Object.entries(shape).filter(([, value]) => value !== undefined),
  ) as Shape;
}
