/** Which families a run proves. Nothing is started. */
import { FAMILIES } from '../../src/qualification/families';
import { FAMILY_NAMES } from '../../src/qualification/families/family';
import { HOST_BOUNDARIES } from '../../src/qualification/faults';
import { fullMatrix, planOf, windowsOf } from '../../src/qualification/plan';
import { caseProblems } from '../../src/qualification/run-case';

const chosen = (...cases: string[]) =>
  planOf({ cases, reduced: false }).families.map(({ name }) => name);

test('the full matrix is every family in order, with all five crash windows', () => {
  const { kind, families } = planOf({ cases: [], reduced: false });
  expect(kind).toBe('full');
  expect(families.map(({ name }) => name)).toEqual(FAMILY_NAMES);
  const windows = families.find(({ name }) => name === 'crash-windows');
  expect(windows && windowsOf(windows)).toEqual(HOST_BOUNDARIES);
});

test('every family says what is done and what must be found', () => {
  for (const name of FAMILY_NAMES) {
    const { faults, invariant, acceptance } = FAMILIES[name];
    expect({ name, faults: faults.length > 0 || name === 'baseline' }).toEqual({
      name,
      faults: true,
    });
    expect(invariant).toMatch(/^[A-Z].*\.$/);
    expect(Object.keys(acceptance).length).toBeGreaterThan(1);
  }
});

test('every family with deliveries demands the same of both lanes, each with its own driver', () => {
  const lanes = (lane: string) => {
    const demands = FAMILY_NAMES.flatMap((name) =>
      Object.entries(FAMILIES[name].acceptance)
        .filter(([what]) => what.includes(`${lane}: `))
        .map(([what, accepted]) => `${name}: ${what.replace(`${lane}: `, '')} ${String(accepted)}`),
    );
    // Where the lanes differ: who drives, what needs Temporal, and their own crash windows.
    const isOwn = /who made the first|while it was away|express\.|attempt\.begun/;
    return demands.filter((demand) => !isOwn.test(demand));
  };
  expect(lanes('express')).toEqual(lanes('durable'));
  const families = new Set(lanes('express').map((demand) => demand.split(':')[0]));
  expect([...families]).toEqual([
    ...['delivery-crash-windows', 'target-down', 'temporal-outage', 'ingest-outage', 'disk-full'],
    ...['frozen-worker', 'clock-jump'],
  ]);
});

test('a family that is asked for alone brings what it begins from, after the baseline', () => {
  expect(chosen('host-recovery')).toEqual([
    ...['baseline', 'graceful-failover', 'lease-expiry', 'host-recovery'],
  ]);
  expect(chosen('baseline')).toEqual(['baseline']);
});

test('one crash window can be asked for alone', () => {
  const [, family] = planOf({ cases: ['crash-windows:intent_persisted'], reduced: false }).families;
  if (family === undefined) throw new Error('it is planned');
  expect(windowsOf(family)).toEqual(['intent_persisted']);
  const named = Object.keys(family.acceptance).map((what) => what.split(':')[0]);
  expect([...new Set(named)]).toEqual(['intent_persisted']);
});

test('the reduced plan has two crash windows and the outage', () => {
  const { families } = planOf({ cases: [], reduced: true });
  const names = families.map(({ name }) => name);
  expect(names).toEqual([
    ...['baseline', 'idempotent-replay', 'crash-windows', 'database-outage', 'database-recovery'],
  ]);
  expect(families.flatMap(windowsOf)).toHaveLength(2);
});

test.each(['nothing', 'baseline:intent_persisted', 'crash-windows:somewhere'])(
  'a case that there is not is refused with those that there are: %s',
  (name) => {
    expect(() => planOf({ cases: [name], reduced: false })).toThrow(
      /there are (baseline, .*lease-expiry|crash-windows:before_intent_persistence, )/,
    );
  },
);

test.each([
  [{ seed: 1 }, /^--seed: only together with --soak/],
  [{ soakMs: 600_000, reduced: true }, /^--soak: not together with/],
  [{ soakMs: 600_000, cases: ['baseline'] }, /^--soak: not together with/],
  [{ soakMs: 1_000 }, /^--soak: name 30s or more/],
  [{ reduced: true, cases: ['baseline'] }, /^--case: not together with --reduced/],
])('wishes that exclude each other are refused: %j', (wish, problem) => {
  expect(() => planOf({ cases: [], reduced: false, ...wish })).toThrow(problem);
});

test('a soak without a seed gets one of its own', () => {
  const wish = { cases: [], reduced: false, soakMs: 60_000 };
  const seeds = [planOf(wish), planOf(wish)].map(({ soak }) => soak?.seed);
  expect(seeds[0]).not.toBe(seeds[1]);
  expect(planOf({ ...wish, seed: 5 }).soak).toEqual({ seed: 5, durationMs: 60_000 });
});

test('a case is proved by all of its faults and every finding, and by nothing less', () => {
  const family = fullMatrix().find(({ name }) => name === 'graceful-failover');
  if (family === undefined) throw new Error('it is in the matrix');
  const at = '2026-01-01T00:00:00.000Z';
  const inflicted = family.faults.map((fault) => ({ at, fault: { ...fault } }));
  const findings = Object.entries(family.acceptance).map(([what, accepted]) => {
    return { what, accepted, found: accepted };
  });
  expect(caseProblems(family, { inflicted, findings, error: null })).toEqual([]);
  expect(caseProblems(family, { inflicted: [], findings, error: null })).toEqual([
    'not the faults of the family were inflicted: []',
  ]);
  const [first, ...others] = findings;
  if (first === undefined) throw new Error('it has findings');
  expect(caseProblems(family, { inflicted, findings: others, error: null })).toEqual([
    `${first.what}: was not looked at`,
  ]);
  // What is accepted is the family's: a record cannot bring its own.
  const lenient = [{ ...first, accepted: 'ready', found: 'ready' }, ...others];
  expect(caseProblems(family, { inflicted, findings: lenient, error: null })).toEqual([
    `${first.what}: "ready" instead of "offline"`,
  ]);
  expect(caseProblems(family, { inflicted, findings, error: 'it broke' })).toEqual(['it broke']);
});
