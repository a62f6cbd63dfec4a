/**
 * Playing a random test again: a failure prints its seed and path, and
 * `WAYBILL_SEED=… WAYBILL_PATH=… npx jest …` draws the same values.
 */
const given = (name: string): string => process.env[name] ?? '';

export const REPLAY: { readonly seed?: number; readonly path?: string } = {
  ...(given('WAYBILL_SEED') === '' ? {} : { seed: Number(given('WAYBILL_SEED')) }),
  ...(given('WAYBILL_PATH') === '' ? {} : { path: given('WAYBILL_PATH') }),
};
