/**
 * Cursors of the deliveries list: a place in the list that only this deployment can write, and that
 * counts only for the tenant and the filters it was given out for.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ListPosition } from '../db/delivery-lists';
import { WaybillError } from '../domain/errors';
import type { TenantId } from '../domain/ids';
import { deliveryId } from '../domain/ids';
import type { DeliveryFilters } from '../schemas/api-deliveries';

/** What a cursor belongs to. */
export interface CursorScope {
  readonly tenantId: TenantId;
  readonly filters: DeliveryFilters;
}

/** A cursor of another layout is refused, as one that was edited. */
const LAYOUT = 1;

const Position = z.tuple([z.string(), z.string()]);

/** Opaque text for a place in the list. */
export function writeCursor(key: Uint8Array, scope: CursorScope, at: ListPosition): string {
  const position = JSON.stringify([at.receivedAt, at.deliveryId]);
  return spell(position, authenticate(key, scope, position));
}

/**
 * The place that a cursor names.
 * @throws WaybillError `invalid_cursor` when it was cut, edited, or given out for another list
 */
export function readCursor(key: Uint8Array, scope: CursorScope, cursor: string): ListPosition {
  const [encoded = '', mac = '', ...more] = cursor.split('.');
  const position = Buffer.from(encoded, 'base64url').toString('utf8');
  const right = authenticate(key, scope, position);
  const given = Buffer.from(mac, 'base64url');
  const authentic = given.length === right.length && timingSafeEqual(given, right);
  // One spelling only: what is given back must be what was given out.
  if (!authentic || more.length > 0 || cursor !== spell(position, right)) {
    throw new WaybillError('invalid_cursor', '', { field: 'cursor' });
  }
  const [receivedAt, id] = Position.parse(JSON.parse(position));
  return { receivedAt, deliveryId: deliveryId(id) };
}

function spell(position: string, mac: Buffer): string {
  return `${Buffer.from(position, 'utf8').toString('base64url')}.${mac.toString('base64url')}`;
}

function authenticate(
  key: Uint8Array,
  { tenantId, filters }: CursorScope,
  position: string,
): Buffer {
  const sorted = Object.entries(filters).sort(([one], [other]) => (one < other ? -1 : 1));
  const said = JSON.stringify(['deliveries', LAYOUT, tenantId, sorted, position]);
  return createHmac('sha256', key).update(said).digest();
}
