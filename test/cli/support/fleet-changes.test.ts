/** What `apply` and `diff` show of very many changes. Nothing is doubled. */
import { changesTable } from '../../../src/cli/support/fleet-changes';

const changes = (count: number) =>
  Array.from({ length: count }, (_, nth) => ({
    ...{ kind: 'Replica' as const, id: `host-${nth}`, tenant: 'acme', action: 'update' as const },
    fields: [{ field: 'capacity', before: 1, after: 2 }],
  }));

test('of a hundred thousand changes the first 500 are shown, and how many there are more', () => {
  const lines = changesTable(changes(100_000)).split('\n');
  expect(lines).toHaveLength(502);
  expect(lines[500]).toMatch(/^update +Replica acme\/host-499 +capacity +1 -> 2$/);
  expect(lines[501]).toBe('… and 99500 more; --json has all of them');
});

test('of 500 all are shown', () => {
  const lines = changesTable(changes(500)).split('\n');
  expect(lines).toHaveLength(501);
});
