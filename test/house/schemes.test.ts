/** The webhook schemes that come with Waybill. */
import { parse } from 'yaml';
import { z } from 'zod';
import { projectFiles, read } from './repository';

const Scheme = z.looseObject({ docs: z.url({ protocol: /^https$/ }).optional() });
const files = projectFiles('schemes').filter((file) => file !== 'schemes/vectors.json');

test.each(files)('%s is named after its vendor and links to the documentation', (file) => {
  expect(file).toMatch(/^schemes\/[a-z][a-z0-9-]*\.yaml$/);
  expect(Scheme.parse(parse(read(file))).docs).toEqual(expect.any(String));
});

test.each(files)('%s begins with a line for people', (file) => {
  expect(read(file)).toMatch(/^# \S/);
});

test('the example of docs/webhook-schemes.md is the shipped scheme of GitHub', () => {
  const [, shown = ''] = /```yaml\n([\s\S]*?)```/.exec(read('docs/webhook-schemes.md')) ?? [];
  expect(parse(shown)).toEqual(parse(read('schemes/github.yaml')));
});
