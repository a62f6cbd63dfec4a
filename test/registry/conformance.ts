/**
 * The conformance suite of the registry's ports. Real: the implementation under test, called through
 * its ports. Set up and looked into through a small fixture; time passes by the fixture's word.
 */
import { capacityConformance } from './conformance/capacity';
import { choosingConformance } from './conformance/choosing';
import { replicaConformance } from './conformance/replicas';
import { reservingConformance } from './conformance/reserving';
import { settlingConformance } from './conformance/settling';
import { Rig } from './fixture';
import type { RegistryFixture } from './fixture';

export function registryConformance(make: () => Promise<RegistryFixture>): void {
  let rig: Rig;
  beforeEach(async () => {
    rig = new Rig(await make());
  });
  afterEach(() => rig.fixture.close());

  const now = () => rig;
  describe('reserving', () => {
    reservingConformance(now);
  });
  describe('choosing a host', () => {
    choosingConformance(now);
  });
  describe('settling', () => {
    settlingConformance(now);
  });
  describe('capacity', () => {
    capacityConformance(now);
  });
  describe('replicas', () => {
    replicaConformance(now);
  });
}
