/** What the package offers to authors of connectors: `import … from 'waybill/host-kit'`. */
export { capability, RateLimited } from './kit/connector';
export type {
  Capability,
  CapabilityWork,
  Recovery,
  RecoveryContext,
  WorkContext,
} from './kit/connector';
export { createHost } from './kit/host';
export type { Host, HostOptions } from './kit/host';
export { manifestOf } from './kit/manifest';
export { runConnector } from './kit/process';
export type { Connector } from './kit/process';
export type { HostStore } from './kit/store';
export { memoryStore } from './kit/stores/memory';
export { sqliteStore } from './kit/stores/sqlite';
export { didOfKey } from '../signing/did-key';
export { generateKeyText, importSigningKey } from '../signing/keys';
export type { FinalOutcome, ManifestCapability } from '../domain/host-protocol';
