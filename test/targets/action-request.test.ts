/** Requests of actions from templates and payloads; pure. */
import fc from 'fast-check';
import { inexactNumber, parsedJson } from '../../src/schemas/json-bytes';
import { buildAffinity, buildRequest, inexactIn } from '../../src/targets/action-request';

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

describe('B017: a number that JavaScript would make another one of', () => {
  const ID = '2868860079149422351';
  const payload = parsedJson(Buffer.from(`{"id":${ID},"n":7,"s":"${ID}","s":"\\"${ID}"}`));

  test('is told where a request has it, and nowhere else', () => {
    const request = (template: object) => {
      const built = buildRequest(template as never, payload);
      return inexactIn(built.kind === 'built' ? built.request : null);
    };
    expect(request({ a: [{ from: '/id' }] })).toBe(ID);
    expect(request({ from: '' })).toBe(ID);
    expect(request({ n: { from: '/n' }, s: { from: '/s' } })).toBeNull();
    expect(buildRequest({ s: { from: '/s' } }, payload)).toEqual({
      ...{ kind: 'built', request: { s: `"${ID}` } },
    });
  });

  test('keeps every digit as the key of a conversation', () => {
    expect(buildAffinity({ from: '/id' }, payload)).toEqual({ kind: 'built', key: ID });
  });

  test.each(['9007199254740993', '-1e400', '1e-400', '1234567890.12345678'])('is %s', (text) => {
    expect(inexactNumber(`{"a":[${text}]}`)).toBe(text);
  });

  test.each(['9007199254740992', '1e21', '0.1', '1.50', '-0', '5e-324', `"${ID}"`, `"\\\\"`])(
    'is not %s',
    (text) => {
      expect(inexactNumber(`[${text},"9007199254740993"]`)).toBeNull();
    },
  );

  test('is none that JSON writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(inexactNumber(text)).toBeNull();
        expect(JSON.stringify(parsedJson(Buffer.from(text)))).toBe(text);
      }),
    );
  });
});
