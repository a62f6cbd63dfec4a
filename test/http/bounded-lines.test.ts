/** Real timers, a window of a moment. */
import { BoundedLines } from '../../src/http/bounded-lines';
import { until } from '../support/until';

it('writes so many lines of a key within a window, and then says how many it left out', async () => {
  const lines = new BoundedLines({ lines: 3, windowMs: 200 });
  const written: string[] = [];
  const told: [string, number][] = [];
  const write = (key: string) => {
    const line = () => void written.push(key);
    lines.write(key, line, (leftOut) => void told.push([key, leftOut]));
  };
  for (let n = 0; n < 10; n += 1) write('acme/flooded');
  for (let n = 0; n < 3; n += 1) write('acme/other');
  expect(written.filter((key) => key === 'acme/flooded')).toHaveLength(3);
  expect(written.filter((key) => key === 'acme/other')).toHaveLength(3);
  expect(told).toEqual([]);
  await until('it is told', () => Promise.resolve(told[0]));
  expect(told).toEqual([['acme/flooded', 7]]);
  write('acme/flooded');
  expect(written.filter((key) => key === 'acme/flooded')).toHaveLength(4);
});
