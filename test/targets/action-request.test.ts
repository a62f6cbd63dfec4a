/** Requests of actions from templates and payloads; pure. */
import fc from 'fast-check';
import { buildAffinity, buildRequest } from '../../src/targets/action-request';

const PAYLOAD = {
  issue: { title: 'It fails', labels: ['bug', 'new'], closed: null, 'a/b': { 'c~d': 1 } },
  repository: { id: 7, full_name: 'acme/web' },
};

describe('a request', () => {
  test('without a template is the payload itself', () => {
    expect(buildRequest(null, PAYLOAD)).toEqual({ kind: 'built', request: PAYLOAD });
  });

  test.each([
    ['a text', { title: { from: '/issue/title' } }, { title: 'It fails' }],
    ['a group', { all: { from: '/repository' } }, { all: PAYLOAD.repository }],
    ['an entry of a list', [{ from: '/issue/labels/1' }], ['new']],
    ['a value that is null', { closed: { from: '/issue/closed' } }, { closed: null }],
    ['a name with slash and tilde', { from: '/issue/a~1b/c~0d' }, 1],
    ['the whole payload', { payload: { from: '' } }, { payload: PAYLOAD }],
  ])('has %s of the payload where the template points', (_name, template, request) => {
    expect(buildRequest(template, PAYLOAD)).toEqual({ kind: 'built', request });
  });

  test('keeps everything else of the template, also groups that only look like a pointer', () => {
    const template = {
      kind: 'bug',
      mail: { from: '/issue/title', to: 'ops' },
      list: [1, null, false],
    };
    expect(buildRequest(template, PAYLOAD)).toEqual({ kind: 'built', request: template });
  });

  test('what the payload puts in is not read as a template again', () => {
    const payload = { deep: { from: '/secret' }, secret: 1 };
    expect(buildRequest({ x: { from: '/deep' } }, payload)).toEqual({
      kind: 'built',
      request: { x: { from: '/secret' } },
    });
  });

  test.each([
    ['/issue/body'],
    ['/issue/labels/2'],
    ['/issue/labels/-'],
    ['/issue/labels/length'],
    ['/issue/labels/01'],
    ['/issue/title/length'],
    ['/issue/closed/by'],
    ['/constructor'],
  ])('is refused where the payload has nothing at %s, and says where', (pointer) => {
    expect(buildRequest({ a: [{ from: pointer }] }, PAYLOAD)).toEqual({ kind: 'missing', pointer });
  });

  test('of a template without pointers is that template, whatever the payload', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (value, payload) => {
        const template = { literal: 'kept', numbers: [value === null ? 0 : 1] };
        expect(buildRequest(template, payload)).toEqual({ kind: 'built', request: template });
      }),
    );
  });

  test('every member of a payload is reached by its pointer', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (payload) => {
        for (const [name, value] of Object.entries(payload)) {
          const from = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
          expect(buildRequest({ from }, payload)).toEqual({ kind: 'built', request: value });
        }
      }),
    );
  });
});

describe('an affinity', () => {
  test('is a text or number of the payload', () => {
    expect(buildAffinity(null, PAYLOAD)).toEqual({ kind: 'built', key: null });
    expect(buildAffinity({ from: '/repository/full_name' }, PAYLOAD)).toMatchObject({
      key: 'acme/web',
    });
    expect(buildAffinity({ from: '/repository/id' }, PAYLOAD)).toMatchObject({ key: '7' });
  });

  test.each([
    ['nothing', {}],
    ['a group', { key: {} }],
    ['an empty text', { key: '' }],
    ['a text that no key can hold', { key: 'x'.repeat(201) }],
    ['a text with NUL', { key: 'a\0b' }],
  ])('is refused where there is %s', (_name, payload) => {
    expect(buildAffinity({ from: '/key' }, payload)).toEqual({ kind: 'missing', pointer: '/key' });
  });
});
