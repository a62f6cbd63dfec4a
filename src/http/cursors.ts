/**
 * Cursors of lists: a place in a list that only this deployment can write, and that counts only for
 * the list, the tenant and the filters it was given out for.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { WaybillError } from '../domain/errors';
import type { TenantId } from '../domain/ids';

/** What a cursor belongs to. */
export interface CursorScope {
  readonly list:
    | 'deliveries'
    | 'actions'
    | 'routes'
    | 'replicas'
    | 'capabilities'
    | 'connectors'
    | 'attempts'
    | 'approvals'
    | 'quotas'
    | 'replays'
    | 'replay-items'
    | 'events'
    | 'event-sinks'
    | 'targets'
    | 'subscriptions';
  readonly tenantId: TenantId;
  readonly filters: Readonly<Record<string, unknown>>;
}

/** The values of the last row of a page by which the list is ordered. */
export type CursorPosition = readonly [string, string];

/** A cursor of another layout is refused, as one that was edited. */
const LAYOUT = 1;

const Position = z.tuple([z.string(), z.string()]);

/** Opaque text for a place in the list. */
export function writeCursor(key: Uint8Array, scope: CursorScope, at: CursorPosition): string {
  const position = JSON.stringify(at);
  return spell(position, authenticate(key, scope, position));
}

/**
 * The place that a cursor names.
 * @throws WaybillError `invalid_cursor` when it was cut, edited, or given out for another list
 */
export function readCursor(key: Uint8Array, scope: CursorScope, cursor: string): CursorPosition {
  const [encoded = '', mac = '', ...more] = cursor.split('.');
  const position = Buffer.from(encoded, 'base64url').toString('utf8');
  const right = authenticate(key, scope, position);
  const given = Buffer.from(mac, 'base64url');
  const authentic = given.length === right.length && timingSafeEqual(given, right);
  // One spelling only: what is given back must be what was given out.
  if (!authentic || more.length > 0 || cursor !== spell(position, right)) {
    throw new WaybillError('invalid_cursor', '', { field: 'cursor' });
  }
  return Position.parse(JSON.parse(position));
}

function spell(position: string, mac: Buffer): string {
  return `${Buffer.from(position, 'utf8').toString('base64url')}.${mac.toString('base64url')}`;
}

function authenticate(
  key: Uint8Array,
  { list, tenantId, filters }: CursorScope,
  position: string,
): Buffer {
  const sorted = Object.entries(filters).sort(([one], [other]) => (one < other ? -1 : 1));
  const said = JSON.stringify([list, LAYOUT, tenantId, sorted, position]);
  return createHmac('sha256', key).update(said).digest();
}
