/** The proof of each family. */
import type { CaseName } from '../families/family';
import { admissionRevocation } from './admission';
import { baseline } from './baseline';
import type { Proof } from './context';
import { crashWindows } from './crash-windows';
import { clockJump } from './clock-jump';
import { credentialRestore, credentialRevocation } from './credential-revision';
import { databaseOutage, databaseRecovery } from './database';
import { gatewayFailover, gracefulFailover, hostRecovery, leaseExpiry } from './failover';
import { idempotentReplay } from './idempotent-replay';
import { diskFull, ingestOutage, targetDown } from './deliveries';
import { deliveryCrashWindows } from './delivery-windows';
import { frozenWorker } from './frozen-worker';
import {
  cutAnswer,
  foreignKey,
  lateRequest,
  lostAnswer,
  replayedToken,
  slowAnswer,
} from './host-link';
import { gatewayCrashWindows, workerCrashWindows } from './process-windows';
import { tenantIsolation } from './isolation';
import { soak } from './soak';
import { temporalOutage } from './temporal-outage';

export const PROOFS: Readonly<Record<CaseName, Proof>> = {
  baseline,
  'credential-revocation': credentialRevocation,
  'credential-restore': credentialRestore,
  'tenant-isolation': tenantIsolation,
  'gateway-failover': gatewayFailover,
  'graceful-failover': gracefulFailover,
  'lease-expiry': leaseExpiry,
  'host-recovery': hostRecovery,
  'idempotent-replay': idempotentReplay,
  'crash-windows': crashWindows,
  'database-outage': databaseOutage,
  'database-recovery': databaseRecovery,
  'worker-crash-windows': workerCrashWindows,
  'gateway-crash-windows': gatewayCrashWindows,
  'lost-answer': lostAnswer,
  'cut-answer': cutAnswer,
  'slow-answer': slowAnswer,
  'late-request': lateRequest,
  'foreign-key': foreignKey,
  'replayed-token': replayedToken,
  'delivery-crash-windows': deliveryCrashWindows,
  'target-down': targetDown,
  'temporal-outage': temporalOutage,
  'ingest-outage': ingestOutage,
  'disk-full': diskFull,
  'frozen-worker': frozenWorker,
  'clock-jump': clockJump,
  'admission-revocation': admissionRevocation,
  soak,
};
