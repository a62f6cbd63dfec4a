/** Parameters of calls as the typed client takes them. */
import { randomUUID } from 'node:crypto';

export type Given<Value> = Value extends readonly (infer Item)[]
  ? Given<Item>[]
  : Value extends object
    ? { [Name in keyof Value]: Given<Exclude<Value[Name], undefined>> }
    : Value;

/** Without what is undefined; what is within is written as JSON, which leaves it out by itself. */
export function given<Fields extends object>(fields: Fields): Given<Fields> {
  const named = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(named) as Given<Fields>;
}

/** A new Idempotency-Key: a command is one request, however often it goes out. */
export function newKey() {
  return { header: { 'Idempotency-Key': randomUUID() } };
}
