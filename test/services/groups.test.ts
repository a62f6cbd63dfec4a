/** When groups start. Doubled: the statements, which end when they are told to. */
import { Groups } from '../../src/services/groups';

const started: string[][] = [];
let held: Promise<void>;
let release: () => void;

beforeEach(() => {
  started.length = 0;
  held = new Promise((resolve) => (release = resolve));
});

function groups(spacingMs: number, atOnce = 2): Groups<string, string, string> {
  const write = async (items: readonly string[]) => {
    started.push([...items]);
    if (items.includes('held')) await held;
    return items.map((item) => item.toUpperCase());
  };
  return new Groups({
    ...{ atOnce, spacingMs, maxItems: 3 },
    together: (_key, items) => write(items),
    alone: async (item) => (await write([item]))[0] ?? '',
  });
}
const writeAll = (to: Groups<string, string, string>, ...items: string[]) =>
  Promise.all(items.map((item) => to.write('acme', item)));

test('one that comes alone goes at once, and those that come soon after it together', async () => {
  expect(await writeAll(groups(1), 'a', 'b', 'c')).toEqual(['A', 'B', 'C']);
  expect(started).toEqual([['a'], ['b', 'c']]);
});

test('as many as fill a group wait for nothing', async () => {
  const to = groups(200);
  const last = writeAll(to, 'a', 'b', 'c', 'd', 'e').then(() => started.length);
  await writeAll(to, 'f');
  // What is full went before the time; what was left over, and this one, at its end.
  expect(await last).toBe(3);
  expect(started).toEqual([['a'], ['b', 'c', 'd'], ['e', 'f']]);
});

test('a statement that takes long does not hold up what comes after it', async () => {
  const to = groups(1);
  const long = writeAll(to, 'held');
  expect(await writeAll(to, 'a', 'b')).toEqual(['A', 'B']);
  release();
  expect(await long).toEqual(['HELD']);
});

test('no more are under way than are allowed, and what waited goes when one ends', async () => {
  const to = groups(1, 1);
  const long = writeAll(to, 'held');
  const others = writeAll(to, 'a', 'b', 'c', 'd');
  release();
  await Promise.all([long, others]);
  expect(started).toEqual([['held'], ['a', 'b', 'c'], ['d']]);
});

test('keys do not wait for each other', async () => {
  const to = groups(200);
  await Promise.all([to.write('acme', 'a'), to.write('globex', 'b')]);
  expect(started).toEqual([['a'], ['b']]);
});
