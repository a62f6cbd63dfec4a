/**
 * Which addresses are called, and which are not: the rule itself, and calls over real sockets with a
 * name server that answers as it is told. Doubled: only that look-up.
 */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import type { AddressPolicy } from '../../src/schemas/target-addresses';
import { STRICT_ADDRESSES } from '../../src/schemas/target-addresses';
import type { LookUp } from '../../src/targets/addresses';
import { addressProblem, approachOf, urlProblem } from '../../src/targets/addresses';
import type { TargetReport } from '../../src/targets/http-target';
import { httpTargets } from '../../src/targets/http-target';

const LOOPBACK: AddressPolicy = { ...STRICT_ADDRESSES, allow: ['127.0.0.0/8'] };
const HTTPS = { https: true, port: 443 };

describe('the rule', () => {
  test.each([...['8.8.8.8', '1.1.1.1', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8']])(
    '%s is public',
    (address) => {
      expect(addressProblem(address, HTTPS, STRICT_ADDRESSES)).toBeNull();
    },
  );

  test.each([
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '127.0.0.1', '127.255.255.254'],
    ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1'],
    ...['192.88.99.1', '192.168.1.1', '198.18.0.1', '198.51.100.1', '203.0.113.1'],
    ...['224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', 'fe80::1', 'fec0::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1'],
    ...['100::1', '2001::1', '2001:db8::1', '2002:7f00:1::', '2001:20::1', '4000::1', '5f00::1'],
    ...['::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::ffff:0:10.0.0.1', '::10.0.0.1'],
    ...['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::8.8.8.8', 'fe80::1%eth0'],
  ])('%s is not', (address) => {
    expect(addressProblem(address, HTTPS, STRICT_ADDRESSES)).toBe('its address is not public');
  });

  test.each([
    '',
    'localhost',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '1.2.3.4.5',
    '[::1]',
  ])('%j is no address, and refused', (text) => {
    expect(addressProblem(text, HTTPS, { ...LOOPBACK, http: true })).toBe('it is no address');
  });

  test('a public address is called over https at the ports that are named', () => {
    const at = (https: boolean, port: number, policy = STRICT_ADDRESSES) =>
      addressProblem('8.8.8.8', { https, port }, policy);
    expect(at(true, 8443)).toBe('port 8443 is not among those that may be called');
    expect(at(true, 22)).toBe('port 22 is not among those that may be called');
    expect(at(false, 443)).toBe('it is not called over https');
    expect(at(false, 80, { ...STRICT_ADDRESSES, http: true, ports: [80, 443] })).toBeNull();
    expect(at(true, 8443, { ...STRICT_ADDRESSES, ports: [8443] })).toBeNull();
  });

  test('what is allowed by name of its range may be private, plain and at any port', () => {
    const plain = { https: false, port: 7300 };
    const policy = { ...STRICT_ADDRESSES, allow: ['10.1.0.0/16', 'fd00::/8', '192.168.1.7'] };
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1', '192.168.1.7']) {
      expect(addressProblem(address, plain, policy)).toBeNull();
    }
    for (const address of ['10.2.0.1', '192.168.1.8', 'fe80::1', '127.0.0.1']) {
      expect(addressProblem(address, plain, policy)).not.toBeNull();
    }
  });

  test('no text makes it throw, and what is no address is never allowed', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4Extended(), fc.ipV6()), (text) => {
        const said = addressProblem(text, HTTPS, LOOPBACK);
        expect(said === null || said.length > 0).toBe(true);
      }),
    );
  });
});

describe('a URL', () => {
  // The URL standard writes each of them out as one dotted address.
  test.each([
    ...['http://127.1/', 'http://2130706433/', 'http://0x7f000001/', 'http://0177.0.0.1/'],
    ...['http://127.0.0.1./', 'http://[::ffff:127.0.0.1]/', 'http://[::1]/', 'http://０.0.0.0/'],
    ...['https://169.254.169.254/latest/meta-data/', 'https://[fd00:ec2::254]/'],
  ])('%s is refused for what it says itself', (url) => {
    expect(urlProblem(url, STRICT_ADDRESSES)).not.toBeNull();
  });

  test.each(['https://hooks.example.test/', 'http://localhost/', 'https://8.8.8.8/'])(
    'nothing speaks against %s before its name is looked up',
    (url) => {
      expect(urlProblem(url, STRICT_ADDRESSES)).toBeNull();
    },
  );

  test('has the port of its scheme unless it names one', () => {
    expect(approachOf('https://a.test/')).toEqual({ https: true, port: 443 });
    expect(approachOf('http://a.test/')).toEqual({ https: false, port: 80 });
    expect(approachOf('http://a.test:8080/')).toEqual({ https: false, port: 8080 });
  });
});

describe('a call', () => {
  let server: Server;
  let port: number;
  let reached: string[] = [];
  const closers: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      reached.push(request.headers.host ?? '');
      response.shouldKeepAlive = request.url !== '/last';
      response.end('ok');
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    ({ port } = server.address() as AddressInfo);
  });
  beforeEach(() => {
    reached = [];
  });
  afterAll(async () => {
    for (const close of closers) await close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /** A name server with one list of addresses for each time it is asked; the last one stays. */
  function answering(...answers: readonly (readonly string[])[]): {
    lookUp: LookUp;
    asked: number;
  } {
    const server = {
      asked: 0,
      lookUp: ((_host, _options, done) => {
        const found = answers[Math.min(server.asked, answers.length - 1)] ?? [];
        server.asked += 1;
        const family = (address: string) => (address.includes(':') ? 6 : 4);
        done(
          null,
          found.map((address) => ({ address, family: family(address) })),
        );
      }) satisfies LookUp,
    };
    return server;
  }

  function calling(policy: AddressPolicy, lookUp?: LookUp) {
    const targets = httpTargets({
      policy: () => Promise.resolve(policy),
      ...(lookUp === undefined ? {} : { lookUp }),
    });
    closers.push(() => targets.close());
    return (url: string, fresh = false): Promise<TargetReport> =>
      targets.call({
        ...{ url, headers: {}, body: Buffer.from('{}'), timeoutMs: 2_000, success: null, fresh },
        signal: new AbortController().signal,
      });
  }

  test('goes to the address that was checked, under the name of the URL', async () => {
    const names = answering(['127.0.0.1']);
    const report = await calling(LOOPBACK, names.lookUp)(`http://hooks.test:${port}/`);
    expect(report.answer).toMatchObject({ kind: 'answered', status: 200 });
    expect(reached).toEqual([`hooks.test:${port}`]);
    expect(names.asked).toBe(1);
  });

  test.each([
    ['one of its addresses is private', ['8.8.8.8', '10.0.0.1']],
    ['its IPv6 address is loopback', ['8.8.8.8', '::1']],
    ['its address is that of a metadata service', ['169.254.169.254']],
    ['its address is one in IPv6 clothes', ['::ffff:169.254.169.254']],
    ['it has none', []],
  ])('is not made when %s', async (_what, addresses) => {
    const policy = { ...STRICT_ADDRESSES, http: true, ports: [80, port] };
    const report = await calling(policy, answering(addresses).lookUp)(`http://h.test:${port}/`);
    expect(report.answer).toEqual({ kind: 'not_sent', reason: 'address_refused' });
    expect(reached).toEqual([]);
  });

  test('looks a name up once: an answer that changes at once changes nothing', async () => {
    const names = answering(['127.0.0.1'], ['169.254.169.254']);
    const call = calling(LOOPBACK, names.lookUp);
    expect((await call(`http://h.test:${port}/`)).answer).toMatchObject({ status: 200 });
    expect(names.asked).toBe(1);
  });

  test('whose name server never answers ends when connecting may take no longer', async () => {
    const targets = httpTargets({
      ...{ connectTimeoutMs: 100, lookUp: () => undefined },
      policy: () => Promise.resolve(LOOPBACK),
    });
    closers.push(() => targets.close());
    const report = await targets.call({
      ...{ url: 'http://h.test/', headers: {}, body: Buffer.from('{}'), timeoutMs: 10_000 },
      ...{ success: null, signal: new AbortController().signal },
    });
    expect(report.answer).toEqual({ kind: 'not_sent', reason: 'connection_failed' });
  });

  test('over a connection that is kept goes where that was checked; the next one is checked anew', async () => {
    const names = answering(['127.0.0.1'], ['10.0.0.1']);
    const call = calling(LOOPBACK, names.lookUp);
    for (const at of ['', 'last']) {
      expect((await call(`http://h.test:${port}/${at}`)).answer).toMatchObject({ status: 200 });
      // Only then is its connection free for another.
      await new Promise(setImmediate);
    }
    expect([names.asked, reached.length]).toEqual([1, 2]);
    // The server has closed it.
    const { answer } = await call(`http://h.test:${port}/`);
    expect(answer).toEqual({ kind: 'not_sent', reason: 'address_refused' });
    expect([names.asked, reached.length]).toEqual([2, 2]);
  });

  test('that is fresh is checked by itself, whatever is kept', async () => {
    const names = answering(['127.0.0.1'], ['10.0.0.1']);
    const call = calling(LOOPBACK, names.lookUp);
    const url = `http://h.test:${port}/`;
    expect((await call(url)).answer).toMatchObject({ status: 200 });
    await new Promise(setImmediate);
    expect((await call(url, true)).answer).toMatchObject({ reason: 'address_refused' });
    expect([names.asked, reached.length]).toEqual([2, 1]);
  });

  test.each(['http://127.0.0.1', 'http://2130706433', 'http://0x7f.1', 'http://[::ffff:7f00:1]'])(
    'to %s is refused for good, without a look-up',
    async (origin) => {
      const names = answering(['127.0.0.1']);
      const report = await calling(STRICT_ADDRESSES, names.lookUp)(`${origin}:${port}/`);
      expect(report.answer).toEqual({ kind: 'not_sent', reason: 'address_refused', forGood: true });
      expect(report.detail).toBe('nothing was sent: its address is not public');
      expect([reached, names.asked]).toEqual([[], 0]);
    },
  );

  test('uses no connection that another policy has let through', async () => {
    let policy = LOOPBACK;
    const targets = httpTargets({
      policy: () => Promise.resolve(policy),
    });
    closers.push(() => targets.close());
    const call = () =>
      targets.call({
        ...{ url: `http://127.0.0.1:${port}/`, headers: {}, body: Buffer.from('{}') },
        ...{ timeoutMs: 2_000, success: null, signal: new AbortController().signal },
      });
    expect((await call()).answer).toMatchObject({ status: 200 });
    policy = STRICT_ADDRESSES;
    expect((await call()).answer).toMatchObject({ reason: 'address_refused' });
    expect(reached).toHaveLength(1);
  });
});
