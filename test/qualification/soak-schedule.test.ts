/** The schedule of a soak: what is done to the deployment, and when. Nothing is started. */
import { SOUND_LEDGER } from '../../src/qualification/families/soak';
import { soakPlan } from '../../src/qualification/plan';
import { strandOf, soakSchedule } from '../../src/qualification/soak/schedule';

const TEN_MINUTES = { seed: 7, durationMs: 600_000 };

test('is the same for the same seed and length, and another one for another seed', () => {
  expect(soakSchedule(TEN_MINUTES)).toEqual(soakSchedule({ ...TEN_MINUTES }));
  expect(soakSchedule({ ...TEN_MINUTES, seed: 8 })).not.toEqual(soakSchedule(TEN_MINUTES));
  // So it is on every machine and in every version: a report can be repeated.
  expect(soakSchedule(TEN_MINUTES).slice(0, 3)).toEqual([
    { kind: 'link', conduct: 'slow-answer', atMs: 6_921 },
    { kind: 'publish', change: 'express-lane', atMs: 13_827 },
    { kind: 'clock', process: 'worker-2', aheadMs: 3_600_000, atMs: 16_343 },
  ]);
});

test('is in order, mends whatever it breaks, and is over in time', () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const schedule = soakSchedule({ seed, durationMs: 600_000 });
    expect(schedule.map(({ atMs }) => atMs)).toEqual(
      schedule.map(({ atMs }) => atMs).sort((one, other) => one - other),
    );
    expect(schedule.at(-1)?.atMs).toBeLessThanOrEqual(600_000);
    const balance = new Map<string, number>();
    const odd: unknown[] = [];
    const by = (key: string, change: number) => balance.set(key, (balance.get(key) ?? 0) + change);
    for (const fault of schedule) {
      if (fault.kind === 'kill' || fault.kind === 'freeze') by(fault.process, 1);
      if (fault.kind === 'start' || fault.kind === 'wake') by(fault.process, -1);
      if (fault.kind === 'clock') by(`clock of ${fault.process}`, fault.aheadMs === 0 ? -1 : 1);
      if (fault.kind === 'target') by('target', fault.status === null ? -1 : 1);
      if (fault.kind === 'disk') by('disk', fault.full ? 1 : -1);
      if (fault.kind === 'publish') by('lane', fault.change === 'express-lane' ? 1 : -1);
      if ([...balance.values()].some((one) => one !== 0 && one !== 1)) odd.push(fault);
    }
    expect(odd).toEqual([]);
    expect([...balance.values()].every((one) => one === 0)).toBe(true);
  }
});

test('has every kind of fault, of every strand, in ten minutes', () => {
  const schedule = soakSchedule(TEN_MINUTES);
  expect([...new Set(schedule.map(strandOf))].sort()).toEqual([
    ...['disk', 'gateways', 'hosts', 'lane', 'lifecycle', 'link', 'postgres', 'target'],
    ...['temporal', 'workers'],
  ]);
  expect(new Set(schedule.map(({ kind }) => kind)).size).toBe(9);
  const clocks = schedule.flatMap((fault) => (fault.kind === 'clock' ? [fault.process] : []));
  expect([...new Set(clocks)].sort()).toEqual(['gateway-1', 'gateway-2', 'worker-1', 'worker-2']);
});

test('is the data of its case, after the baseline', () => {
  const { families } = soakPlan(TEN_MINUTES);
  expect(families.map(({ name }) => name)).toEqual(['baseline', 'soak']);
  expect(families[1]?.faults).toEqual(soakSchedule(TEN_MINUTES));
  expect(families[1]?.acceptance).toMatchObject(SOUND_LEDGER);
});

test('demands both lanes of the subscription that changes it, unless it is over before that', () => {
  const what = 'lanes of the subscription that changed it';
  const accepted = (durationMs: number) =>
    soakPlan({ seed: 7, durationMs }).families[1]?.acceptance[what];
  expect(accepted(600_000)).toBe('durable express');
  expect(accepted(30_000)).toBe('durable');
});
