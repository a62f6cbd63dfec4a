/**
 * Ingresses as receiving needs them: looked up by reference, with their scheme compiled, and kept for
 * a moment, so that a burst costs one look-up. What is published takes effect here a second later.
 */
import { LRUCache } from 'lru-cache';
import { findIngress } from '../db/ingresses';
import type { Database } from '../db/database';
import { WaybillError } from '../domain/errors';
import { ingressRef } from '../domain/ids';
import type { IngressConfig } from '../schemas/delivery-rows';
import { compileScheme, type CompiledScheme } from '../signing/webhooks/compile';

/** What can be a reference at all: anything else is unknown without asking the database. */
const REFERENCE = /^[A-Za-z0-9._~-]{1,200}$/;

const MAX_KEPT = 10_000;

export interface OpenIngress {
  readonly ingress: IngressConfig;
  readonly scheme: CompiledScheme;
}

/** @throws WaybillError `unknown_ingress`, `ingress_gone`, `storage_unavailable` */
export type OpenIngresses = (ref: string) => Promise<OpenIngress>;

export function openIngresses(data: Database, keptMs: number): OpenIngresses {
  const read = async (ref: string): Promise<OpenIngress> => {
    const ingress = await findIngress(data, ingressRef(ref));
    if (ingress === null || ingress.scheme === null) throw new WaybillError('unknown_ingress');
    if (ingress.state === 'deactivated') throw new WaybillError('ingress_gone');
    return { ingress, scheme: compileScheme(ingress.scheme) };
  };
  if (keptMs === 0) return (ref) => (REFERENCE.test(ref) ? read(ref) : refuse());
  // Only what is open is kept: guesses of an unauthenticated caller push nothing out.
  const kept = new LRUCache<string, OpenIngress>({ max: MAX_KEPT, ttl: keptMs, fetchMethod: read });
  return async (ref) => (REFERENCE.test(ref) ? await kept.forceFetch(ref) : refuse());
}

function refuse(): never {
  throw new WaybillError('unknown_ingress');
}
