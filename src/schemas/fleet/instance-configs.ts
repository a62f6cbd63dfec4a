/** What an instance's hosts are configured with: any JSON group, never a secret. */
import { z } from 'zod';
import { canonicalJson } from '../canonical-json';
import { faultless, jsonFault } from './json-values';

const MAX_BYTES = 64 * 1024;

export const InstanceConfig = faultless(z.record(z.string(), z.unknown()), (config) => {
  const fault = jsonFault(config);
  if (fault !== null || Buffer.byteLength(canonicalJson(config)) <= MAX_BYTES) return fault;
  return { path: [], problem: 'must be at most 64 KiB of JSON' };
});
