/**
 * The conformance suite of the registry's ports. Real: the implementation under test, called through
 * its ports. Set up and looked into through a small fixture; time passes by the fixture's word.
 */
import { capacityConformance } from './conformance/capacity';
import { catalogConformance } from './conformance/catalog';
import { choosingConformance } from './conformance/choosing';
import { movingConformance } from './conformance/moving';
import { resolvingConformance } from './conformance/resolving';
import { replicaConformance } from './conformance/replicas';
import { keepingConformance } from './conformance/keeping';
import { reservingConformance } from './conformance/reserving';
import { rolloutConformance } from './conformance/rollouts';
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
  describe('reading the catalog', () => {
    catalogConformance(now);
  });
  describe('resolving', () => {
    resolvingConformance(now);
  });
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
  describe('moving', () => {
    movingConformance(now);
  });
  describe('rollouts', () => {
    rolloutConformance(now);
  });
  describe('keeping', () => {
    keepingConformance(now);
  });
  describe('replicas', () => {
    replicaConformance(now);
  });
}
