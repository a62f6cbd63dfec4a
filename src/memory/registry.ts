/**
 * The registry in memory, deterministic: the same ports as Postgres, with the clock as a parameter.
 * It is the model that the Postgres one is tested against, and holds nothing beyond its process.
 */
import type {
  ActionLedger,
  ActionTargetResolver,
  CapabilityCatalog,
  FleetStatusProvider,
  RegistryAdministrator,
  RegistryReader,
  RouteOperator,
} from '../domain/registry-ports';
import type { TopologyPreference } from '../domain/routes';
import { memoryLedger } from './actions';
import { memoryCatalog } from './catalog';
import { memoryAdministrator, memoryFleet, memoryReader } from './replicas';
import { memoryOperator } from './repinning';
import { memoryResolver } from './routes';
import type { RegistryState } from './state';

export interface Registry {
  readonly catalog: CapabilityCatalog;
  readonly ledger: ActionLedger;
  readonly resolver: ActionTargetResolver;
  readonly operator: RouteOperator;
  readonly reader: RegistryReader;
  readonly administrator: RegistryAdministrator;
  readonly fleet: FleetStatusProvider;
}

/** All ports over one state; catalog rows are put into the state directly. */
export function memoryRegistry(state: RegistryState, topology: TopologyPreference): Registry {
  return {
    catalog: memoryCatalog(state),
    ledger: memoryLedger(state),
    resolver: memoryResolver(state, topology),
    operator: memoryOperator(state),
    reader: memoryReader(state),
    administrator: memoryAdministrator(state),
    fleet: memoryFleet(state),
  };
}
