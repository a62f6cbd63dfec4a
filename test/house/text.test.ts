/** Words that belong to one machine or to an unfinished thought, in any file of the project. */
import path from 'node:path';
import { findings, projectFiles } from './repository';

const BINARY = ['.png', '.gz', '.zip'];
const own = 'test/house/text.test.ts';
const texts = projectFiles().filter((file) => file !== own && !BINARY.includes(path.extname(file)));

test('no file names a path of one machine', () => {
  const paths = /(?<![\w.*-])\/(work|root|Users)\/|\/home\/[a-z]+\/|\/tmp\/bash/g;
  expect(findings(texts, paths)).toEqual([]);
});

test('no file names the host of a package registry', () => {
  const hosts =
    /registry\.(npmjs|yarnpkg)\.|pypi\.org|pythonhosted\.org|(proxy|sum)\.golang\.org|docker\.io\b/g;
  expect(findings(texts, hosts)).toEqual([]);
});

test('nothing is put off in a comment', () => {
  expect(findings(texts, /\b(TODO|FIXME|XXX|HACK)\b/g)).toEqual([]);
});
